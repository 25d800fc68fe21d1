"""Compatibility presets as records: what they change, what they leave, what they refuse.

That their values are those of the libraries is tested in tests/presets, by running the libraries.
"""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.compat import PRESETS, find_preset
from trueval.metrics.grammar import parse
from trueval.metrics.registry import find

LIBRARIES = ["trec_eval", "ranx", "recbole", "lenskit", "rectools", "replay", "recommenders", "spark"]
TEN = [f"r{j}" for j in range(10)]


def evaluate(compat: str | None, lists: dict, judged: dict, metrics: list[str] | str, **options) -> tv.Result:
    recs = [(user, item, rank) for user, shown in lists.items() for rank, item in enumerate(shown, 1)]
    test = [(user, item, float(v)) for user, rows in judged.items() for item, v in rows.items()]
    return tv.evaluate_run(
        pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row"),
        pl.DataFrame(test, schema=["user", "item", "value"], orient="row"),
        metrics=metrics, compat=compat, interval="none", **options,
    )  # fmt: skip


def one_value(compat: str | None, shown: list[str], judged: dict, metric: str, **options) -> float:
    return evaluate(compat, {"u": shown}, {"u": judged}, metric, **options)["run", metric].value


def test_there_are_eight():
    assert sorted(PRESETS) == sorted(LIBRARIES)


# metrics.md, observed values: one row per case, one column per library, in the order above
OBSERVED = [
    ("ap@5", TEN[:5], dict.fromkeys(TEN, 1), [0.5, 0.5, 1, 1, 0.5, 1, 0.5, 1]),
    ("ap@5[denom=min]", TEN[:5], dict.fromkeys(TEN, 1), [1] * 8),  # map_at_k of recommenders
    ("recall@5", TEN[:5], dict.fromkeys(TEN, 1), [0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 0.5]),
    ("recall@5", list("ab"), dict.fromkeys("abc", 1), [2 / 3] * 8),
    ("ap@5", list("ax"), dict.fromkeys("abc", 1), [1 / 3, 1 / 3, 1 / 3, 0.5, 1 / 3, 1 / 3, 1 / 3, 1 / 3]),
    ("precision@5", list("ax"), dict.fromkeys("abc", 1), [0.2, 0.2, 0.2, 0.5, 0.2, 0.2, 0.2, 0.2]),
    ("ndcg@10", ["x", "a", *TEN[2:]], {"a": 1}, [0.63093] * 3 + [1, 0.139] + [0.63093] * 3),
    ("ndcg@5", list("axbyz"), dict.fromkeys("abc", 1), [0.704] * 3 + [0.620, 0.509] + [0.704] * 3),
]


@pytest.mark.parametrize("at", range(8), ids=LIBRARIES)
def test_observed_values(at):
    for metric, shown, judged, values in OBSERVED:
        digits = {0.63093: 5e-6, 0.704: 5e-4, 0.620: 5e-4, 0.509: 5e-4, 0.139: 5e-4}.get(values[at], 1e-12)
        found = one_value(LIBRARIES[at], shown, judged, metric)
        assert found == pytest.approx(values[at], abs=digits), (metric, shown)


def test_ndcg_of_lenskit_is_capped_by_k_not_by_the_list():
    assert one_value("lenskit", ["a", "b"], dict.fromkeys("abc", 1), "ndcg@5") == pytest.approx(0.760, abs=5e-4)


# ---- who is averaged over

LISTS = {"good": ["a", "x"], "bare": ["a", "x"], "stranger": ["a"]}
JUDGED = {"good": {"a": 5}, "missing": {"a": 5}, "bare": {"a": 1}}  # nobody got a list for `missing`
METRICS = ["precision@1", "recall@1", "ap@1", "ndcg@1", "hit@1", "rr"]


@pytest.mark.parametrize(
    ("library", "n", "exceptions"),
    [
        ("trec_eval", 2, {}),  # judged users with a list; one without relevant items counts 0
        ("ranx", 3, {}),  # judged users
        ("spark", 3, {}),
        ("recbole", 2, {}),  # users with relevant items; without a list 0
        ("rectools", 2, {}),
        ("replay", 2, {}),
        ("lenskit", 3, {}),  # users with a list, judged or not
        ("recommenders", 2, {"precision@1": 1, "recall@1": 1, "ap@1": 1}),  # common users; test users for ndcg
    ],
)
def test_populations(library, n, exceptions):
    result = evaluate(library, LISTS, JUDGED, METRICS, threshold=3)
    for metric in METRICS:
        users = exceptions.get(metric, n)
        estimate = result["run", metric]
        value = 1 if (library, metric) == ("trec_eval", "ndcg@1") else 1 / users  # its gains know no threshold
        assert (estimate.n, estimate.value) == (users, pytest.approx(value)), metric


def test_our_own_rules_stay_without_a_preset():
    result = evaluate(None, LISTS, JUDGED, METRICS, threshold=3)
    assert {(result["run", m].n, result["run", m].value) for m in METRICS} == {(2, 0.5)}
    judged = evaluate(None, LISTS, JUDGED, METRICS, threshold=3, population="judged")
    assert (judged["run", "recall@1"].n, judged["run", "recall@1"].undefined) == (2, 1)
    assert (judged["run", "hit@1"].n, judged["run", "hit@1"].value) == (3, pytest.approx(1 / 3))


@pytest.mark.parametrize("library", ["ranx", "recommenders", "lenskit"])
def test_pooled_values_stay_pooled(library):
    """Two of three found by one user, none of one by the other; nobody else is in the test set."""
    lists, judged = {"u": ["a", "b"], "v": ["x"]}, {"u": dict.fromkeys("abc", 1), "v": {"a": 1}}
    assert evaluate(library, lists, judged, "recall@2[cap=false]")["run", "recall@2"].value == pytest.approx(1 / 3)
    pooled = "recall@2[average=pooled,cap=false]"
    assert evaluate(library, lists, judged, pooled).table()["value"][0] == pytest.approx(2 / 4)


# ---- equal scores

TIED = pl.DataFrame({"user": "u", "item": [9, 10, 2], "score": [0.5, 0.5, 0.5]})


def first_of(compat: str, run: pl.DataFrame, **options) -> set:
    """Items that stand first in the list of u, each asked for as the only relevant one."""
    found = set()
    for item in run["item"]:
        test = pl.DataFrame({"user": ["u"], "item": [item]})
        result = tv.evaluate_run(run, test, metrics="hit@1", compat=compat, interval="none", **options)
        found |= {item} if result["run", "hit@1"].value == 1 else set()
    return found


@pytest.mark.parametrize(
    ("library", "first"),
    [("trec_eval", 9), ("replay", 10), ("recommenders", 9), ("ranx", 9), ("lenskit", 9), ("spark", 9)],
)
def test_order_of_equal_scores(library, first):
    """trec_eval goes by ids as texts, RePlay by ids, both falling; the others keep the order given."""
    assert first_of(library, TIED) == {first}
    backwards = {"trec_eval": 9, "replay": 10}.get(library, 2)
    assert first_of(library, TIED.reverse()) == {backwards}


def test_trec_eval_does_not_look_at_ranks_and_compares_scores_with_32_bits():
    ranked = TIED.with_columns(rank=pl.Series([2, 3, 1]))
    assert first_of("trec_eval", ranked) == {9}
    close = TIED.with_columns(score=pl.Series([0.1, 0.1 + 1e-12, 0.1 + 2e-12]))
    assert first_of("trec_eval", close) == {9}


def test_another_rule_for_ties_is_kept_and_the_rule_is_told():
    test = pl.DataFrame({"user": ["u"], "item": [2]})
    told = tv.evaluate_run(TIED, test, metrics="hit@1", compat="trec_eval", interval="none")
    assert told.manifest["ties"] == "trec_eval"
    asked = tv.evaluate_run(TIED, test, metrics="hit@1", compat="trec_eval", ties="expected", interval="none")
    assert (asked.manifest["ties"], asked["run", "hit@1"].value) == ("expected", pytest.approx(1 / 3))


@pytest.mark.parametrize("rule", ["trec_eval", "descending id", "rnadom"])
def test_rules_for_ties_that_cannot_be_asked_for(rule):
    test = pl.DataFrame({"user": ["u"], "item": [2]})
    with pytest.raises(tv.TruevalError, match="unknown rule for ties"):
        tv.evaluate_run(TIED, test, metrics="hit@1", ties=rule)


# ---- what is asked for explicitly stays


@pytest.mark.parametrize(
    ("library", "metric"),
    [
        ("recbole", "ap@5[denom=hits]"),
        ("recommenders", "ap@5[denom=min]"),
        ("recommenders", "ndcg@5[gain=exp]"),
        ("lenskit", "precision@5[denom=achievable]"),
        ("lenskit", "rbp@5[p=0.5]"),
        ("rectools", "ndcg@5[ideal=full]"),
        ("rectools", "ap@5[denom=k]"),
    ],
)
def test_explicit_parameters_stay(library, metric):
    preset = find_preset(library)
    assert preset is not None
    asked = parse(metric)
    applied = preset.apply(asked)
    kept = {name: v for name, v in asked.parameters.items() if v != asked.metric.parameters[name].default}
    assert kept.items() <= applied.parameters.items()
    assert (applied.k, applied.transforms) == (asked.k, asked.transforms)


def test_explicit_defaults_stay():
    """The raw gains of recommenders, or the AP of RecBole divided by R."""
    assert one_value("recommenders", ["b", "a"], {"a": 3, "b": 1}, "ndcg@2[gain=linear]") < 1
    assert one_value("recbole", TEN[:5], dict.fromkeys(TEN, 1), "ap@5[denom=relevant]") == 0.5


def test_transforms_keep_their_preset():
    preset = find_preset("lenskit")
    assert preset is not None
    applied = preset.apply(parse("anti(precision)@5"))
    assert (applied.parameters["denom"], applied.transforms) == ("list", ("anti",))


# ---- records


def test_a_preset_is_in_the_manifest():
    result = evaluate("replay", LISTS, JUDGED, ["ap@5"], threshold=3)
    assert result.manifest["compat"] == "replay"
    assert "denom=min" in result.manifest["definitions"]["ap@5"]
    ours = evaluate(None, LISTS, JUDGED, ["ap@5"], threshold=3)
    assert "denom=relevant" in ours.manifest["definitions"]["ap@5"]


def test_unknown_preset():
    with pytest.raises(tv.TruevalError, match="no compatibility preset 'trec_evel'") as caught:
        evaluate("trec_evel", LISTS, JUDGED, METRICS)
    assert "trec_eval" in caught.value.do
    assert find_preset(None) is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_preset_names_metrics_and_parameters_that_exist(library):
    preset = PRESETS[library]
    for name, values in [*preset.parameters.items(), *preset.uncut.items()]:
        for parameter, choice in values.items():
            assert find(name).parameter(parameter).read(str(choice), name=parameter, metric=name) == choice
    for name in {*preset.refused, *(preset.listed - {"*"}), *preset.levelless}:
        assert find(name).name == name


@pytest.mark.parametrize("library", LIBRARIES)
def test_refused_metrics_say_why(library):
    for name, reason in PRESETS[library].refused.items():
        with pytest.raises(tv.TruevalError) as caught:
            evaluate(library, LISTS, JUDGED, name if find(name).cutoff == "none" else f"{name}@5")
        assert caught.value.found == reason
