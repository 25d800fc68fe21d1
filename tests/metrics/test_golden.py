"""Worked values of metrics.md (sections 1, 2, 3, 7) and of the golden file (F, G, K), as literals and arithmetic."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from metric_worlds import World

import trueval as tv
from trueval.errors import DataError
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.measurements import measure_facts
from trueval.evaluation.outcome import random_values, summarise
from trueval.facts.one_relevant_bounds import one_relevant_bounds
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import concat, condense, one_relevant
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs


def close(x):
    """The golden file has six decimals."""
    return pytest.approx(x, abs=6e-7)


def value(metric: str, facts: RankingFacts) -> float:
    return compute(parse(metric), facts, Inputs()).value()


def per_user(metric: str, facts: RankingFacts) -> list[float]:
    found = compute(parse(metric), facts, Inputs()).per_unit
    assert found is not None
    return found.tolist()


# ---- 1. rating error


@pytest.mark.parametrize(("name", "truth"), [("mae", 0.75), ("mse", 1.25), ("rmse", 1.118034)])
def test_rating_error(name, truth):
    assert tv.rating_error(name, [4, 2, 5, 3], [5, 2, 3, 3]) == close(truth)


def test_rating_error_per_user():
    users, predicted, actual = ["a", "a", "a", "b"], [4, 2, 5, 3], [5, 2, 3, 6]
    assert tv.rating_error("mae[average=macro]", predicted, actual, users=users) == close(((1 + 0 + 2) / 3 + 3) / 2)
    assert tv.rating_error("mse[average=macro]", predicted, actual, users=users) == close((5 / 3 + 9) / 2)
    assert tv.rating_error("rmse[average=macro]", predicted, actual, users=users) == close((math.sqrt(5 / 3) + 3) / 2)
    assert tv.rating_error("rmse", predicted, actual, users=users) == close(math.sqrt((1 + 4 + 9) / 4))


# ---- 2. top-k accuracy

RUNNING = (list("ABCDE"), set("BCEG"))
DCG, IDCG = 1 / math.log2(3) + 1 / 2 + 1 / math.log2(6), 1 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5)


@pytest.mark.parametrize(
    ("metric", "truth"),
    [
        ("hit@5", 1),
        ("hit@1", 0),
        ("precision@5", 3 / 5),
        ("precision@10", 3 / 10),
        ("precision@10[denom=list]", 3 / 5),
        ("precision@10[denom=achievable]", 3 / 4),
        ("precision@2[denom=achievable]", 1 / 2),
        ("recall@5", 3 / 4),
        ("recall@2", 1 / 4),
        ("recall@2[cap=true]", 1 / 2),
        ("recall@9[cap=true]", 3 / 4),
        ("f1@5", 2 * 0.6 * 0.75 / (0.6 + 0.75)),
        ("fbeta@5[beta=2]", 5 * 0.6 * 0.75 / (4 * 0.6 + 0.75)),
        ("fbeta@5[beta=0]", 3 / 5),
        ("rr", 1 / 2),
        ("mrr@5", 1 / 2),
        ("rr@1", 0),
        ("ap@5", (1 / 2 + 2 / 3 + 3 / 5) / 4),
        ("map", 0.441667),
        ("ap@3[denom=min]", (1 / 2 + 2 / 3) / 3),
        ("ap@5[denom=hits]", (1 / 2 + 2 / 3 + 3 / 5) / 3),
        ("ap@5[denom=k]", (1 / 2 + 2 / 3 + 3 / 5) / 5),
        ("ap@9[denom=list]", 0.441667),
        ("dcg@5", 1.518),
        ("ndcg@5", 0.592512),
        ("ndcg", DCG / IDCG),
        ("ndcg@3", (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2)),
        ("ndcg@3[ideal=full]", (1 / math.log2(3) + 1 / 2) / IDCG),
        ("ndcg@5[ideal=k]", DCG / (IDCG + 1 / math.log2(6))),
        ("rprecision", 2 / 4),
        ("rbp", 0.2 * (0.8 + 0.8**2 + 0.8**4)),
        ("err", (0.5 / 2) + 0.5 * (0.5 / 3) + 0.25 * (0.5 / 5)),
    ],
)
def test_running_example(metric, truth):
    tolerance = 5e-4 if truth == 1.518 else 6e-7
    assert tv.measure(metric, *RUNNING) == pytest.approx(truth, abs=tolerance)


def test_dcg_of_the_running_example():
    assert (round(DCG, 3), round(IDCG, 3)) == (1.518, 2.562)


def test_graded_toy():
    ranked, judged = list("abcde"), {"a": 3, "c": 1, "e": 2}
    dcg, ideal = 7 + 1 / 2 + 3 / math.log2(6), 7 + 3 / math.log2(3) + 1 / 2
    assert (round(dcg, 3), round(ideal, 3), round(dcg / ideal, 3)) == (8.661, 9.393, 0.922)
    assert tv.measure("dcg@5[gain=exp]", ranked, judged) == close(dcg)
    assert tv.measure("ndcg@5[gain=exp]", ranked, judged) == close(dcg / ideal)
    assert tv.measure("dcg@5", ranked, judged) == close(3 + 1 / 2 + 2 / math.log2(6))
    assert tv.measure("dcg@5[gain=binary]", ranked, judged) == close(1 + 1 / 2 + 1 / math.log2(6))
    assert tv.measure("dcg@5", ranked, judged, threshold=2) == close(3 + 2 / math.log2(6))


def test_auc_toy():
    # relevant .9 .6, irrelevant .7 .4 .3: five of six pairs are in order
    toy = {"scores": [0.9, 0.7, 0.6, 0.4, 0.3], "complete": True}
    assert tv.measure("auc", list("aXbYZ"), {"a", "b"}, **toy) == close(5 / 6)
    assert tv.measure("auc[against=judged]", list("aXbYZ"), {"a": 1, "b": 1, "X": 0}, **toy) == 0.5
    # a tie between b and Y counts one half
    tied = {"scores": [0.9, 0.7, 0.6, 0.6, 0.3], "complete": True}
    assert tv.measure("auc", list("aXbYZ"), {"a", "b"}, **tied) == close(4.5 / 6)


# ---- F: the 1R readings

F_1R = World(
    {
        "u1": [[i] for i in ("n1", "r1", "r2", "n2", "r3", "n3", "n4", "n5")],
        "u2": [[i] for i in ("m1", "m2", "s1", "m3", "m4", "m5")],
        "u3": [[i] for i in ("t1", "k1", "t2", "k2", "k3", "k4", "k5")],
        "u4": [[i] for i in ("r1", "n1", "r2", "n2", "n3", "r3", "n4", "n5")],
    },
    {
        "u1": {"r1": 1, "r2": 1, "r3": 1},
        "u2": {"s1": 1},
        "u3": {"t1": 1, "t2": 1},
        "u4": {"r1": 1, "r2": 1, "r3": 1},
    },
)


@pytest.mark.parametrize(
    ("n", "one", "lower", "upper", "ar", "most"),
    [
        (1, 0.222222, 0.222222, 0.555556, 0.5, 1),
        (2, 0.333333, 0.166667, 0.333333, 0.375, 1 / 2),
        (3, 0.296296, 0.259259, 0.296296, 0.583333, 1 / 3),
    ],
)
def test_one_relevant_precision(n, one, lower, upper, ar, most):
    facts = F_1R.facts()
    assert value(f"precision@{n}", facts) == close(ar)
    assert value(f"precision@{n}", one_relevant(facts)) == close(one)
    assert one_relevant_bounds(facts, n) == close((lower, one, upper))
    assert max(per_user(f"precision@{n}", one_relevant(facts))) == close(most)


def test_one_relevant_ranks():
    ranks = {"u1": {"r1": (2, 2), "r2": (3, 2), "r3": (5, 3)}, "u2": {"s1": (3, 3)}, "u3": {"t1": (1, 1), "t2": (3, 2)},
             "u4": {"r1": (1, 1), "r2": (3, 2), "r3": (6, 4)}}  # fmt: skip
    facts = F_1R.facts()
    alone = one_relevant(facts)
    names = facts.items.values
    found: dict[str, dict[str, tuple[int, int]]] = {user: {} for user in ranks}
    before = {(int(u), int(i)): int(r) for u, i, r in zip(facts.unit, facts.item, facts.rank)}
    for u, i, r in zip(alone.unit_user, alone.item, alone.rank):
        found[F_1R.users[u]][names[int(i)]] = before[u, i], int(r)
    assert found == ranks


def test_one_relevant_random_precision_is_one_over_t():
    measured = measure_facts(one_relevant(F_1R.facts()), {"p": parse("precision@1")}, population="all", inputs=Inputs())
    assert set(one_relevant(F_1R.facts()).targets) == {6}
    assert random_values(measured)["p"] == close(0.166667)
    # AR: the mean over users of R / |T|
    measured = measure_facts(F_1R.facts(), {"p": parse("precision@3")}, population="all", inputs=Inputs())
    assert random_values(measured)["p"] == close((3 / 8 + 1 / 6 + 2 / 7 + 3 / 8) / 4)


def test_in_one_relevant_ap_is_rr_and_grades_do_not_matter():
    alone = one_relevant(F_1R.facts())
    assert per_user("ap", alone) == per_user("rr", alone)
    graded = alone.changed(value=np.arange(1.0, 1 + len(alone)))
    assert per_user("ndcg@3", graded) == pytest.approx(per_user("ndcg@3", alone))


def test_percentiles_are_averaged_not_pooled():
    """P1R: (test pairs, hits at 1) of three percentiles are (3, 2), (2, 1), (1, 0)."""
    parts = []
    for stratum, (pairs, hits) in enumerate([(3, 2), (2, 1), (1, 0)]):
        users = [f"u{at}" for at in range(pairs)]
        lists = {user: [["a"], ["x"]] if at < hits else [["x"], ["a"]] for at, user in enumerate(users)}
        facts = one_relevant(World(lists, {user: {"a": 1} for user in users}).facts())
        parts.append(facts.changed(stratum=np.full(pairs, stratum, np.int32)))
    measured = measure_facts(concat(parts), {"p": parse("precision@1")}, population="all", inputs=Inputs())
    found = summarise(measured, users=parts[0].users, intervals=IntervalMethod("none", 0, 0))
    assert found.estimates["p"].value == close((2 / 3 + 1 / 2 + 0) / 3) == close(0.388889)
    assert measured.values["p"].value() == close(0.5)
    assert random_values(measured)["p"] == close(0.5)


# ---- G: false positives, full and condensed

LABELS = {"A": [None, 1, 0, None, 1, 0, 1], "B": [0, None, None, 1], "C": [None, 1, None]}
G = World(
    {user: [[f"{user}{at}"] for at in range(len(labels))] for user, labels in LABELS.items()},
    {
        user: {f"{user}{at}": label for at, label in enumerate(labels) if label is not None}
        for user, labels in LABELS.items()
    },
)
G_METRICS = ["precision@3", "antiprecision@3", "recall@3", "fallout@3", "unjudged@3"]
G_TRUTH = {
    False: [(0.333333, 0, 0.333333), (0.333333, 0.333333, 0), (0.333333, 0, 1), (0.5, 1, 0),
            (0.333333, 0.666667, 0.666667)],
    True: [(0.666667, 0.5, 1), (0.333333, 0.5, 0), (0.666667, 1, 1), (0.5, 1, 0), (0, 0, 0)],
}  # fmt: skip
G_MEANS = {False: (0.222222, 0.222222, 0.444444, 0.5, 0.555556), True: (0.722222, 0.277778, 0.888889, 0.5, 0)}


@pytest.mark.parametrize("condensed", [False, True])
def test_false_positives(condensed):
    facts = condense(G.facts()) if condensed else G.facts()
    for metric, truth, mean in zip(G_METRICS, G_TRUTH[condensed], G_MEANS[condensed]):
        assert per_user(metric, facts) == close(truth)
        assert value(metric, facts) == close(mean)
    assert per_user("anti(precision)@3", facts) == per_user("antiprecision@3", facts)
    # C has no judged non-relevant item: its fallout is 0, and undefined as a recall of such items
    assert per_user("anti(recall)@3", facts) == pytest.approx((0.5, 1, math.nan), nan_ok=True)


@pytest.mark.parametrize("condensed", [False, True])
def test_false_positives_of_a_run(condensed):
    result = tv.evaluate_run(
        G.run_table(), G.test_table(), metrics=G_METRICS, population="judged", condensed=condensed, interval="none"
    )
    for metric, mean in zip(G_METRICS, G_MEANS[condensed]):
        estimate = result["run", metric]
        assert (estimate.value, estimate.n, estimate.undefined) == (close(mean), 3, 0)


def test_condensed_antiprecision_is_what_precision_leaves():
    facts = condense(G.facts())
    for k in range(1, 6):
        pairs = zip(per_user(f"precision@{k}", facts), per_user(f"anti(precision)@{k}", facts))
        assert [p + a for p, a in pairs] == pytest.approx([1, 1, 1])


# ---- D: incomplete judgements


def labelled(labels: list[int | None], r: int, n: int) -> tuple[list[str], dict[str, int]]:
    """A list with these labels (None, -1: no judgement), and what else was judged but not shown."""
    judged = {f"i{at}": label for at, label in enumerate(labels) if label in (0, 1)}
    for label, total in ((1, r), (0, n)):
        judged |= {f"missing {label} {at}": label for at in range(total - list(judged.values()).count(label))}
    return [f"i{at}" for at in range(len(labels))], judged


@pytest.mark.parametrize(
    ("labels", "r", "n", "truth"),
    [
        ([0, 1, None, 1, 0, 1], 4, 3, 0.416667),
        ([0, 0, 0, 1, 1], 2, 5, 0.0),  # the cap: -0.5 without it
        ([None, 1, 1, None], 4, 0, 0.5),
        ([0, None, 0], 0, 2, math.nan),
        ([1, 1, 0, 0], 2, 2, 1.0),
        ([0, 1, 1, 1, 1], 6, 4, 0.5),
    ],
)
def test_bpref(labels, r, n, truth):
    assert tv.measure("bpref", *labelled(labels, r, n)) == pytest.approx(truth, abs=6e-7, nan_ok=True)


@pytest.mark.parametrize(
    ("labels", "r", "pool", "truth"),
    [
        ([0, 1, None, 1, 0, 1], 4, "judged", 0.375001),
        ([0, 1, -1, 1, 0, 1], 4, "all", 0.427085),
        ([-1, 1], 1, "all", 0.75),
        ([None, 1], 1, "judged", 0.5),
        ([1, 0, 1], 2, "judged", 0.833333),
    ],
)
def test_infap(labels, r, pool, truth):
    assert tv.measure(f"infap[pool={pool}]", *labelled(labels, r, 0)) == pytest.approx(truth, abs=2e-6)


# ---- K and 7. beyond accuracy


def test_atop():
    # ranks 1, 4 and 10 of ten
    assert tv.measure("atop", list("abcdefghij"), {"a", "d", "j"}, complete=True) == close(0.555556)


@pytest.mark.parametrize(("metric", "truth"), [("err[gmax=4]", 0.473938), ("err[gmax=3]", 0.890462),
                                               ("err", 0.890462), ("err@2[gmax=4]", 0.4375)])  # fmt: skip
def test_err(metric, truth):
    assert tv.measure(metric, list("abcd"), {"a": 3, "b": 0, "c": 1, "d": 2}) == close(truth)


@pytest.mark.parametrize(("p", "truth"), [(0.5, 0.65625), (0.8, 0.40992), (0.95, 0.13585)])
def test_rbp(p, truth):
    assert tv.measure(f"rbp[p={p}]", list("abcde"), {"a", "c", "e"}) == pytest.approx(truth, abs=6e-6)


def test_serendipity():
    popular = {"B": 9, "X": 8, "Y": 7, "Z": 6, "W": 5}
    toy = (list("ABCDE"), set("BCEG"))
    assert tv.measure("serendipity@5", *toy, popularity=popular) == close(0.4)
    assert tv.measure("serendipity@5[denom=unexpected]", *toy, popularity=popular) == close(0.5)
    assert tv.measure("precision@5", *toy) == 0.6
    # what the user has in train is not what the baseline would show: A moves up into it
    more = {**popular, "A": 4}
    assert tv.measure("serendipity@5", *toy, popularity=more, profile={"B"}) == close(3 / 5)


KNOWN = {"A": 9, "B": 5, "C": 1}


@pytest.mark.parametrize(
    ("metric", "items", "truth"),
    [
        ("novelty@1", "A", 0.152003),
        ("novelty@1", "B", 1.0),
        ("novelty@1", "C", 3.321928),
        ("novelty@3", "ABC", (0.152003 + 1 + 3.321928) / 3),
        ("epc@1[relevance=false]", "A", 0.1),
        ("epc@1[relevance=false]", "B", 0.5),
        ("epc@1[relevance=false]", "C", 0.9),
        ("efd@1[relevance=false]", "A", 0.736966),
        ("efd@1[relevance=false]", "B", 1.584963),
        ("efd@1[relevance=false]", "C", 3.906891),
        ("epc@3[relevance=false]", "ABC", 0.406144),
        ("epc@3", "ABC", 0.359216),
        ("efd@3", "ABC", 1.385989),
        ("average_popularity@3", "ABC", 5.0),
        ("popularity_rank@2", "BC", 2.5),
    ],
)
def test_novelty(metric, items, truth):
    assert tv.measure(metric, list(items), {"B", "C"}, popularity=KNOWN, users=10) == close(truth)


def test_novelty_of_rare_and_of_unknown_items():
    assert tv.measure("novelty@1", ["a"], {"a"}, popularity={"a": 1}, users=100) == close(6.643856)
    # an item that nobody has takes the share 1/(2·|U|): one bit more
    assert tv.measure("novelty@1", ["b"], {"a"}, popularity={"a": 1, "b": 0}, users=100) == close(7.643856)
    assert tv.measure("cold@2", ["a", "b"], {"a"}, popularity={"a": 1, "b": 0}, users=100) == 0.5


def test_diversity():
    # cosines AB .5, AC 0, BC .5
    features = {"A": [1, 1, 0, 0], "B": [1, 0, 1, 0], "C": [0, 0, 1, 1]}
    assert tv.measure("ild@3", list("ABC"), {"A"}, features=features) == close(0.666667)
    assert tv.measure("ild@2", list("ABC"), {"A"}, features=features) == close(0.5)
    # shared aspects of all aspects: 1/3, 0, 1/3
    assert tv.measure("ild@3[similarity=jaccard]", list("ABC"), {"A"}, features=features) == close(
        (2 / 3 + 1 + 2 / 3) / 3
    )
    assert math.isnan(tv.measure("ild@1", list("ABC"), {"A"}, features=features))


def test_profile_distance():
    # distances .3, .7 and .8 from the one item of the profile
    features = {"P": [1, 0], **{item: [c, math.sqrt(1 - c * c)] for item, c in {"A": 0.7, "B": 0.3, "C": 0.2}.items()}}
    toy = {"features": features, "profile": {"P"}}
    assert tv.measure("epd@3[relevance=false]", list("ABC"), {"A"}, **toy) == close(0.535752)
    discounts = [1, 1 / math.log2(3), 1 / 2]
    aware = (0.7 * discounts[1] + 0.8 * discounts[2]) / sum(discounts)
    assert tv.measure("epd@3", list("ABC"), {"B", "C"}, **toy) == close(aware)


@pytest.mark.parametrize(("counts", "truth"), [((8, 2), 0.72), ((6, 3, 1), 0.6), ((2, 2, 2, 2, 2), 0), ((10,), 0.8)])
def test_gini_coverage_and_entropy(counts, truth):
    """Ten users get one item each, out of a catalogue of five."""
    shown = [item for item, count in zip("abcde", counts) for _ in range(count)]
    recs = pl.DataFrame({"user": range(10), "item": shown, "rank": [1] * 10})
    test = pl.DataFrame({"user": range(10), "item": ["a"] * 10})
    metrics = ["gini@1", "coverage@1", "entropy@1", "gini@1[exposure=true]"]
    result = tv.evaluate_run(recs, test, items=list("abcde"), metrics=metrics, interval="none")
    shares = [count / 10 for count in counts]
    assert result["run", "gini@1"].value == close(truth) == close(result["run", "gini@1[exposure=true]"].value)
    assert result["run", "coverage@1"].value == len(counts) / 5
    assert result["run", "entropy@1"].value == close(-sum(p * math.log2(p) for p in shares))


def test_exposure_weighs_places():
    recs = pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "rank": [1, 2]})
    test = pl.DataFrame({"user": [1], "item": ["a"]})
    result = tv.evaluate_run(recs, test, metrics="gini@2[exposure=true],gini@2", interval="none")
    second = 1 / math.log2(3)
    assert result["run", "gini@2[exposure=true]"].value == close((1 - second) / (2 * (1 + second)))
    assert result["run", "gini@2"].value == 0


def test_head_middle_and_tail():
    counts = dict(zip("abcdefghij", range(10, 0, -1)))  # a is the head, b to e the middle, the others the tail
    shares = [
        tv.measure(f"{m}_share@4", ["a", "b", "i", "j"], {"a"}, popularity=counts) for m in ("head", "mid", "tail")
    ]
    assert shares == [1 / 4, 1 / 4, 2 / 4]
    assert tv.measure("tail_coverage@4", ["a", "b", "i", "j"], {"a"}, popularity=counts) == 2 / 5
    assert tv.measure("popularity_rank@4", ["a", "b", "i", "j"], {"a"}, popularity=counts) == (1 + 2 + 9 + 10) / 4
    median = "popularity_rank@4[average=median]"
    assert tv.measure(median, ["a", "b", "i", "j"], {"a"}, popularity=counts) == (2 + 9) / 2
    assert tv.measure(median, ["a", "b", "i"], {"a"}, popularity=counts) == 2


def test_data_quality():
    assert tv.measure("unjudged@4", list("abcd"), {"a": 1, "b": 0}) == 2 / 4
    assert tv.measure("list_length@3", list("abcd"), {"a"}) == 3
    assert tv.measure("list_length", list("abcd"), {"a"}) == 4
    assert tv.measure("seen@4", list("abcd"), {"a"}, profile={"b", "x"}) == 1 / 4


def test_measure_refuses_what_is_no_list():
    with pytest.raises(tv.TruevalError, match="twice"):
        tv.measure("hit@1", ["a", "b", "a"], {"a"})
    with pytest.raises(tv.TruevalError, match="one score per item"):
        tv.measure("hit@1", ["a", "b"], {"a"}, scores=[1])
    for scores in ([1, 2], [2, math.nan]):
        with pytest.raises(tv.TruevalError, match="descend"):
            tv.measure("hit@1", ["a", "b"], {"a"}, scores=scores)


def test_measure_weights_by_propensities():
    shown = tv.measure("ips(precision)@2", ["A", "B"], {"A", "B"}, propensity={"A": 0.8, "B": 0.2})
    assert shown == pytest.approx((1 / 0.8 + 1 / 0.2) / 2)
    for wrong in ({"A": 0.8}, {"A": 0.8, "B": 0.0}, {"A": 0.8, "B": 1.5}):
        with pytest.raises(DataError, match="every relevant item needs a propensity"):
            tv.measure("ips(precision)@2", ["A", "B"], {"A", "B"}, propensity=wrong)
