"""The oracle against worked values: literals of the golden file (section named beside) and arithmetic."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import naive_metrics as naive
from oracles.naive_metrics import bias_variance, expected, sampled_expectation, system_value, value

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "golden_full.json"
RUNNING = {"B": 1, "C": 1, "E": 1, "G": 1}
DIGITS = 6e-7


def close(x):
    return pytest.approx(x, abs=DIGITS)


def labelled(labels, r, n):
    """Item names and judgements of a row of labels (1, 0, else unjudged) plus what was not retrieved."""
    ranked = [f"i{rank}" for rank in range(len(labels))]
    judged = {item: label for item, label in zip(ranked, labels) if label in (0, 1)}
    for label, total in ((1, r), (0, n)):
        missing = total - sum(x == label for x in judged.values())
        judged |= {f"missing{label}-{at}": label for at in range(missing)}
    return ranked, judged


# ---- metrics.md 2: running example, toys, library rules


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("hit", 1),
        ("precision", 3 / 5),
        ("recall", 3 / 4),
        ("f1", 2 * 0.6 * 0.75 / 1.35),
        ("rr", 1 / 2),
        ("mrr", 1 / 2),
        ("ap", (1 / 2 + 2 / 3 + 3 / 5) / 4),
        ("map", 0.441667),
        ("ndcg", 0.592512),
        ("dcg", 1 / math.log2(3) + 1 / 2 + 1 / math.log2(6)),
        ("rprecision", 2 / 4),
    ],
)
def test_running_example(name, truth):
    assert value(name, "ABCDE", RUNNING, k=5) == close(truth)


def test_parameters_of_the_running_example():
    def at(k, name, **params):
        return value(name, "ABCDE", RUNNING, k=k, **params)

    assert at(10, "precision", denom="list") == close(3 / 5)
    assert at(10, "precision") == close(3 / 10)
    assert at(3, "precision", denom="achievable") == close(2 / 3)
    assert at(10, "precision", denom="achievable") == close(3 / 4)
    assert at(3, "recall", cap=True) == close(2 / 3)
    assert at(5, "fbeta", beta=2) == close(5 * 0.6 * 0.75 / (4 * 0.6 + 0.75))
    assert at(1, "rr") == 0
    assert at(3, "ap", denom="min") == close((1 / 2 + 2 / 3) / 3)
    assert at(3, "ap", denom="hits") == close((1 / 2 + 2 / 3) / 2)
    assert at(3, "ap", denom="k") == close((1 / 2 + 2 / 3) / 3)
    assert at(5, "ap", denom="k") == close((1 / 2 + 2 / 3 + 3 / 5) / 5)


def test_graded_ndcg():
    # metrics.md 2, graded toy: relevance by rank 3 0 1 0 2
    judged = dict(zip("abcde", [3, 0, 1, 0, 2]))
    assert value("dcg", "abcde", judged, k=5, gain="exp") == pytest.approx(8.661, abs=5e-4)
    assert value("ndcg", "abcde", judged, k=5, gain="exp") == pytest.approx(0.922, abs=5e-4)
    linear = 3 + 1 / 2 + 2 / math.log2(6)
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert value("ndcg", "abcde", judged, k=5) == close(linear / best)
    assert value("ndcg", "abcde", judged, k=1, ideal="full") == close(3 / best)
    assert value("ndcg", "abcde", judged, k=1) == 1
    assert value("ndcg", "abcde", judged, k=2, ideal="k") == close(3 / (3 + 3 / math.log2(3)))
    assert value("dcg", "abcde", judged, k=5, threshold=2) == close(3 + 2 / math.log2(6))


# each row: R = 10 and k = 5 with five hits, then [a, x] with Rel {a, b, c} (metrics.md, presets)
@pytest.mark.parametrize(
    ("denom", "five_hits", "short"), [("relevant", 0.5, 1 / 3), ("min", 1, 1 / 3), ("list", 1, 0.5)]
)
def test_ap_of_the_libraries(denom, five_hits, short):
    ten = dict.fromkeys(range(10), 1)
    assert value("ap", range(5), ten, k=5, denom=denom) == close(five_hits)
    assert value("ap", "ax", dict.fromkeys("abc", 1), k=5, denom=denom) == close(short)


def test_other_values_of_the_libraries():
    ten = dict.fromkeys(range(10), 1)
    assert value("recall", range(5), ten, k=5) == 0.5
    assert value("recall", range(5), ten, k=5, cap=True) == 1
    assert value("precision", "ax", dict.fromkeys("abc", 1), k=5) == 0.2
    assert value("precision", "ax", dict.fromkeys("abc", 1), k=5, denom="list") == 0.5
    second, abc = ["x", "a", *range(8)], dict.fromkeys("abc", 1)
    assert value("ndcg", second, {"a": 1}, k=10) == pytest.approx(0.63093, abs=5e-6)
    assert value("ndcg", second, {"a": 1}, k=10, discount="lenskit") == 1
    assert value("ndcg", second, {"a": 1}, k=10, ideal="k") == pytest.approx(0.139, abs=5e-4)
    assert value("ndcg", "axbyz", abc, k=5) == pytest.approx(0.704, abs=5e-4)
    assert value("ndcg", "axbyz", abc, k=5, discount="lenskit") == pytest.approx(0.620, abs=5e-4)
    assert value("ndcg", "axbyz", abc, k=5, ideal="k") == pytest.approx(0.509, abs=5e-4)


def test_auc():
    # metrics.md 2: relevant .9 .6, others .7 .4 .3; then the same with only one of the others judged
    assert value("auc", "aXbYZ", {"a": 1, "b": 1}, targets=5) == close(5 / 6)
    assert value("auc", "aXbYZ", {"a": 1, "b": 1, "X": 0}, targets=5, against="judged") == 0.5
    assert math.isnan(value("auc", "aXbYZ", {"a": 1, "b": 1}, targets=5, against="judged"))


def test_atop_err_rbp():
    # golden K_misc
    ranked, judged = range(1, 11), {1: 1, 4: 1, 10: 1}
    assert value("atop", ranked, judged, targets=10) == close(0.555556)
    assert value("atop", ranked, judged, targets=10, weights={1: 0.1, 4: 0.2, 10: 0.5}) == close(0.291667)
    grades = dict(zip("abcd", [3, 0, 1, 2]))
    assert value("err", "abcd", grades, gmax=4) == close(0.473938)
    assert value("err", "abcd", grades, gmax=3) == close(0.890462)
    assert value("err", "abcd", grades, gmax=4, k=2) == close(0.4375)
    for p, truth in ((0.5, 0.65625), (0.8, 0.40992), (0.95, 0.13585)):
        assert value("rbp", "abcde", dict.fromkeys("ace", 1), p=p) == close(truth)


# ---- metrics.md 3 and 4

G = {  # golden G_false_positive: labels, R, N, then full and condensed P, antiP, recall, fallout, unjudged @3
    "A": (
        [None, 1, 0, None, 1, 0, 1],
        3,
        2,
        [1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 3],
        [2 / 3, 1 / 3, 2 / 3, 1 / 2, 0],
    ),
    "B": ([0, None, None, 1], 1, 1, [0, 1 / 3, 0, 1, 2 / 3], [1 / 2, 1 / 2, 1, 1, 0]),
    "C": ([None, 1, None], 1, 0, [1 / 3, 0, 1, 0, 2 / 3], [1, 0, 1, 0, 0]),
}


@pytest.mark.parametrize("user", "ABC")
def test_false_positives(user):
    labels, r, n, full, condensed = G[user]
    ranked, judged = labelled(labels, r, n)
    names = ["precision", "antiprecision", "recall", "fallout", "unjudged"]
    assert [value(name, ranked, judged, k=3) for name in names] == close(full)
    assert [value(name, ranked, judged, k=3, condensed=True) for name in names] == close(condensed)
    assert value("anti(precision)", ranked, judged, k=3) == close(full[1])
    if n:
        assert value("anti(recall)", ranked, judged, k=3) == close(full[3])


@pytest.mark.parametrize(
    ("labels", "r", "n", "truth"),
    [  # golden D_bpref_infAP, except R0 where the spec says undefined and trec_eval 0
        ([0, 1, None, 1, 0, 1], 4, 3, 0.416667),
        ([0, 0, 0, 1, 1], 2, 5, 0),
        ([None, 1, 1, None], 4, 0, 0.5),
        ([0, None, 0], 0, 2, math.nan),
        ([1, 1, 0, 0], 2, 2, 1),
        ([0, 1, 1, 1, 1], 6, 4, 0.5),
    ],
)
def test_bpref(labels, r, n, truth):
    assert value("bpref", *labelled(labels, r, n)) == pytest.approx(truth, abs=DIGITS, nan_ok=True)


@pytest.mark.parametrize(
    ("labels", "r", "pool", "truth"),
    [  # golden D_bpref_infAP; -1 is pooled and unjudged, None not pooled
        ([0, 1, None, 1, 0, 1], 4, "judged", 0.375001),
        ([0, 1, -1, 1, 0, 1], 4, "all", 0.427085),
        ([-1, 1], 1, "all", 0.75),
        ([None, 1], 1, "judged", 0.5),
        ([1, 0, 1], 2, "all", 0.833333),
        ([1, 0, 1], 2, "judged", 0.833333),
    ],
)
def test_infap(labels, r, pool, truth):
    ranked, judged = labelled(labels, r, labels.count(0))
    assert value("infap", ranked, judged, pool=pool) == close(truth)
    if pool == "judged":
        assert value("ap", ranked, judged) == pytest.approx(truth, abs=1e-5)


# ---- metrics.md 1, 5, 6

COUNTS = {"A": 100, "B": 25, "C": 4, "Dd": 64, "E": 1}
STRATIFIED = {
    "u1": (["A", "C"], dict.fromkeys(["A", "B", "C"], 1)),
    "u2": (["A"], dict.fromkeys(["A", "Dd", "E"], 1)),
}


@pytest.mark.parametrize(
    ("beta", "one", "two", "mean", "pooled"),
    [  # golden E_stratified_recall
        (0, 0.666667, 0.333333, 0.5, 0.5),
        (0.5, 0.75, 0.081633, 0.415816, 0.345679),
        (1, 0.866667, 0.00975, 0.438208, 0.203678),
    ],
)
def test_stratified_recall(beta, one, two, mean, pooled):
    weights = naive.item_weights(COUNTS, beta=beta)
    assert [value("recall", *user, weights=weights) for user in STRATIFIED.values()] == close([one, two])
    assert naive.stratified_recall(STRATIFIED, weights=weights, aggregate="mean") == close(mean)
    assert naive.stratified_recall(STRATIFIED, weights=weights) == close(pooled)


def test_gamma_is_another_way_to_say_beta():
    # golden E_stratified_recall, gamma_to_beta
    for gamma, beta in ((0, 0), (1, 0.5), (3, 0.75), (math.inf, 1)):
        assert naive.item_weights(COUNTS, gamma=gamma) == naive.item_weights(COUNTS, beta=beta)


@pytest.mark.parametrize(
    ("gamma", "recall", "dcg", "auc"),
    [  # golden J_yang
        (-1, 0.583333, 0.563814, 0.758333),
        (1, 0.575641, 0.512007, 0.726026),
        (1.69, 0.542856, 0.502544, 0.714056),
    ],
)
def test_snips(gamma, recall, dcg, auc):
    users = {"u1": [(100, 0), (25, 2), (4, 5)], "u2": [(64, 4), (1, 1)]}
    assert naive.snips_value("recall", users, gamma=gamma, k=3) == close(recall)
    assert naive.snips_value("dcg", users, gamma=gamma) == close(dcg)
    assert naive.snips_value("auc", users, gamma=gamma, n_items=10) == close(auc)


def test_rating_errors_and_pointwise():
    # metrics.md 1; the second user shows that macro is not micro
    pairs = list(zip([4, 2, 5, 3], [5, 2, 3, 3]))
    assert [naive.rating_error(n, {"u": pairs}) for n in ("mae", "mse", "rmse")] == close([0.75, 1.25, 1.118034])
    users = {"u": pairs, "v": [(1, 5)]}
    assert naive.rating_error("mae", users) == close((3 + 4) / 5)
    assert naive.rating_error("mae", users, macro=True) == close((0.75 + 4) / 2)
    # metrics.md 10: two bins of five, predicted .8 and .2, clicked 3 and 1
    clicks = [(0.8, 1)] * 3 + [(0.8, 0)] * 2 + [(0.2, 1)] + [(0.2, 0)] * 4
    assert naive.pointwise("ece", {"u": clicks}) == close(0.10)
    two = {"u": [(0.9, 1), (0.1, 0)], "v": [(0.2, 1), (0.2, 0), (0.7, 0), (0.1, 0)], "w": [(0.5, 1)]}
    assert naive.pointwise("gauc", two) == close((2 * 1 + 4 * 0.5) / 6)
    assert naive.pointwise("brier", {"u": [(0.9, 1), (0.4, 0)]}) == close((0.01 + 0.16) / 2)
    assert naive.pointwise("logloss", {"u": [(0.5, 1), (0.25, 0)]}) == close((math.log(2) + math.log(4 / 3)) / 2)


# ---- metrics.md 7


def test_novelty_family():
    # golden K_misc novelty and diversity; A is not relevant
    seen, judged = {"A": 9, "B": 5, "C": 1}, {"B": 1, "C": 1}

    def of(name, **params):
        return value(name, "ABC", judged, popularity=seen, **params)

    assert of("novelty", n_users=10) == close((0.152003 + 1 + 3.321928) / 3)
    assert of("epc", n_users=10, discount="none", aware=False) == close(0.5)
    assert of("epc", n_users=10, aware=False) == close(0.406144)
    assert of("epc", n_users=10) == close(0.359216)
    assert of("efd") == close(1.385989)
    assert of("efd", discount="exp", aware=False) == close(1.907449)
    assert value("novelty", ["x"], {}, popularity={"x": 1}, n_users=100) == close(6.643856)
    assert value("novelty", ["new"], {}, popularity={"x": 1}, n_users=100) == close(math.log2(200))

    apart = {"A": 0.3, "B": 0.7, "C": 0.8}
    profile = {"profile": ["p"], "similarity": lambda item, _: 1 - apart[item]}
    assert value("epd", "ABC", judged, discount="none", aware=False, **profile) == close(0.6)
    assert value("epd", "ABC", judged, aware=False, **profile) == close(0.535752)


def test_diversity_and_serendipity():
    # golden K_misc
    cosines = {("A", "B"): 0.5, ("A", "C"): 0.0, ("B", "C"): 0.5}
    assert value("ild", "ABC", {}, similarity=lambda a, b: cosines[a, b]) == close(0.666667)
    assert value("serendipity", "ABCDE", RUNNING, k=5, baseline="BXYZW") == close(0.4)
    assert value("serendipity", "ABCDE", RUNNING, k=5, baseline="BXYZW", denom="unexpected") == close(0.5)
    # the baseline takes two of B, C and X, each with a chance of 2/3: B and C are 1/3 unexpected, E is wholly
    assert value("serendipity", "ABCDE", RUNNING, k=5, baseline=["VWY", "BCX"]) == close((1 / 3 + 1 / 3 + 1) / 5)
    # the baseline is cut at k as well: at k = 3 it no longer shows C
    assert value("serendipity", "ABCDE", RUNNING, k=3, baseline="BXYC") == close(1 / 3)


def test_system_metrics():
    # golden K_misc gini; the lists give a, b, c counts 3, 2, 1 and two items nothing
    assert [naive.gini([8, 2, 0, 0, 0]), naive.gini([6, 3, 1, 0, 0])] == close([0.72, 0.6])
    lists = {"u": "abz", "v": "ab", "w": "ca"}
    common = {"k": 2, "catalogue": "abczy", "popularity": {"a": 50, "b": 20, "c": 9, "y": 3, "z": 1}}
    member = {"head": "a", "mid": "b", "tail": "cyz"}
    common["strata"] = {name: {item: float(item in own) for item in "abcyz"} for name, own in member.items()}
    assert system_value("coverage", lists, **common) == close(3 / 5)
    assert system_value("gini", lists, **common) == close(naive.gini([3, 2, 1, 0, 0]))
    bits = 1 / 2 * math.log2(2) + 1 / 3 * math.log2(3) + 1 / 6 * math.log2(6)
    assert system_value("entropy", lists, **common) == close(bits)
    third = system_value("exposure_gini", {"u": "abc"}, catalogue="abcd")
    assert third == close(naive.gini([1, 1 / math.log2(3), 1 / 2, 0]))
    assert system_value("mean_popularity_rank", lists, **common) == close((1 * 3 + 2 * 2 + 3) / 6)
    assert system_value("median_popularity_rank", lists, **common) == close(1.5)
    assert system_value("average_popularity", lists, **common) == close((150 + 40 + 9) / 6)
    shares = [system_value(f"{stratum}_share", lists, **common) for stratum in ("head", "mid", "tail")]
    assert shares == close([3 / 6, 2 / 6, 1 / 6])
    assert system_value("tail_coverage", lists, **common) == close(1 / 3)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any))
def test_gini_is_what_the_lorenz_curve_says(counts):
    curve = naive.lorenz(counts)
    area = sum((low + high) / 2 for low, high in itertools.pairwise(curve)) / len(counts)
    assert naive.gini(counts) == pytest.approx(1 - 2 * area)


# ---- what is undefined, what is zero


@pytest.mark.parametrize("name", ["recall", "f1", "ap", "ndcg", "rprecision", "auc", "atop", "bpref", "infap"])
def test_undefined_without_relevant_items(name):
    assert math.isnan(value(name, "ab", {"a": 0}))


@pytest.mark.parametrize("name", ["hit", "precision", "recall", "f1", "rr", "ap", "ndcg", "dcg", "rbp", "bpref"])
@pytest.mark.parametrize("k", [5, None])
def test_no_recommendations_score_zero(name, k):
    assert value(name, [], {"a": 1}, k=k) == 0


def test_what_an_empty_denominator_means():
    undefined = [
        value("precision", "ab", {"a": 0}, denom="achievable"),
        value("ndcg", "a", {"a": 0}, threshold=0),  # relevant, and yet no gain to be had
        value("atop", "a", {"a": 1}),
        value("bpref", "a", {"a": 0}),
        value("novelty", "", {}, popularity={}, n_users=1),
        value("unjudged", "", {}),
        value("seen", "", {}, train="a"),
        value("ild", "a", {}, similarity=naive.jaccard),
        value("epd", "a", {"a": 1}, profile="", similarity=naive.jaccard),
        naive.gini([0, 0]),
        naive.entropy([0, 0]),
        naive.rating_error("mae", {"u": []}),
        naive.pointwise("gauc", {"u": [(0.5, 1)]}),
        naive.stratified_recall({"u": ("a", {"a": 0})}, weights={"a": 1}),
        naive.stratified_recall({"u": ("a", {"a": 0})}, weights={"a": 1}, aggregate="mean"),
        system_value("tail_coverage", {"u": "a"}, strata={"tail": {"a": 0.0}}),
        system_value("average_popularity", {"u": ""}, popularity={}),
    ]
    assert all(math.isnan(x) for x in undefined)
    zero = [
        value("ap", "ab", {"c": 1}, denom="hits"),
        value("antiprecision", "", {"a": 0}),
        value("ndcg", "", {"a": 1}, ideal="k"),
        value("serendipity", "a", {"a": 1}, baseline="a", denom="unexpected"),
        value("epc", "", {"a": 1}, popularity={}, n_users=1),
        naive.cosine({}, {"x": 1}),
        naive.jaccard("", ""),
    ]
    assert zero == [0] * len(zero)


def test_edges():
    assert value("atop", "ab", {"b": 1}, targets=2) == 0
    assert value("atop", "ab", {"a": 1, "z": 1}, targets=2) == 0.5  # z was not a target
    assert value("auc", "ab", {"a": 1, "z": 1}, targets=2) == 0.5
    assert value("seen", "abcd", {}, train="ax") == 0.25
    assert value("length", "abcd", {}, k=3) == 3
    assert value("unjudged", "ab", {"a": 1}, k=4, denom="k") == 0.25
    assert naive.cosine({"x": 3, "y": 4}, {"x": 1}) == close(0.6)
    assert naive.snips_value("recall", {"u": [(1, 3)]}, gamma=1, k=3) == 0  # three above: rank 4
    assert naive.pointwise("logloss", {"u": [(0.0, 1)]}) == math.inf
    # four bins: .3 and .4 share one, 1.0 belongs to the last
    halves = {"u": [(0.3, 1), (0.4, 0), (0.8, 1), (1.0, 0)]}
    assert naive.pointwise("ece", halves, bins=4) == close((0.3 + 0.8) / 4)
    assert value("dcg", "ab", {"b": 1}, discount="lenskit") == 1
    assert value("dcg", "abc", {"c": 1}, discount="lenskit") == close(1 / math.log2(3))


def test_refusals():
    with pytest.raises(ValueError, match="twice"):
        value("hit", "aa", {})
    with pytest.raises(ValueError, match="complete"):
        value("auc", "ab", {"a": 1}, targets=3)
    with pytest.raises(ValueError, match="stratified"):
        value("ndcg", "ab", {"a": 1}, weights={"a": 1})
    with pytest.raises(ValueError, match="orders"):
        expected("hit", [range(9)], {})


# ---- ties

worlds = st.tuples(
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 7), st.integers(0, 3), min_size=1),
)


def tie_blocks(scores):
    return [[i for i, s in enumerate(scores) if s == level] for level in sorted(set(scores), reverse=True)]


@given(worlds, st.sampled_from(["precision", "recall", "rr", "ap", "ndcg", "auc", "atop"]))
def test_expected_lies_between_worst_and_best(world, name):
    groups, judged = tie_blocks(world[0]), world[1]
    options = {"threshold": 2} | ({} if name in ("auc", "atop") else {"k": 3})
    middle = expected(name, groups, judged, **options)
    low, high = (
        value(name, order(groups, judged, threshold=2), judged, **options)
        for order in (naive.worst_order, naive.best_order)
    )
    if math.isnan(middle):
        assert math.isnan(low)
        assert math.isnan(high)
    else:
        assert low - 1e-12 <= middle <= high + 1e-12


def test_a_constant_scorer_scores_like_random():
    judged = {0: 1, 1: 1, 2: 0}
    block = [[0, 1, 2, 3, 4, 5]]
    assert expected("auc", block, judged) == close(0.5)
    assert expected("auc", block, judged, against="judged") == close(0.5)
    assert expected("atop", block, judged) == close(0.5)
    assert expected("precision", block, judged, k=2) == close(2 / 6)
    assert expected("hit", block, judged, k=2) == close(1 - (4 * 3) / (6 * 5))


# ---- 1R

F = {  # golden F_1R
    "u1": (["n1", "r1", "r2", "n2", "r3", "n3", "n4", "n5"], ["r1", "r2", "r3"]),
    "u2": (["m1", "m2", "s1", "m3", "m4", "m5"], ["s1"]),
    "u3": (["t1", "k1", "t2", "k2", "k3", "k4", "k5"], ["t1", "t2"]),
    "u4": (["r1", "n1", "r2", "n2", "n3", "r3", "n4", "n5"], ["r1", "r2", "r3"]),
}
AR = {user: (ranked, dict.fromkeys(relevant, 1)) for user, (ranked, relevant) in F.items()}
ONE = {user: ([[item] for item in ranked], judged) for user, (ranked, judged) in AR.items()}


@pytest.mark.parametrize(
    ("n", "one", "lower", "upper", "ar"),
    [
        (1, 0.222222, 0.222222, 0.555556, 0.5),
        (2, 0.333333, 0.166667, 0.333333, 0.375),
        (3, 0.296296, 0.259259, 0.296296, 0.583333),
    ],
)
def test_one_relevant_precision_and_its_bounds(n, one, lower, upper, ar):
    assert naive.one_relevant_mean("precision", ONE, k=n) == close(one)
    assert naive.lemma_bounds(AR, k=n) == close((lower, upper))
    assert sum(value("precision", *user, k=n) for user in AR.values()) / len(AR) == close(ar)


def test_one_relevant_ranks():
    ranks = {}
    for user, (groups, judged) in ONE.items():
        for item, blocks in naive.one_relevant(groups, judged):
            ranks[f"{user}/{item}"] = [AR[user][0].index(item) + 1, blocks.index([item]) + 1]
    assert ranks == {
        "u1/r1": [2, 2],
        "u1/r2": [3, 2],
        "u1/r3": [5, 3],
        "u2/s1": [3, 3],
        "u3/t1": [1, 1],
        "u3/t2": [3, 2],
        "u4/r1": [1, 1],
        "u4/r2": [3, 2],
        "u4/r3": [6, 4],
    }
    # ap is rr when only one item is relevant
    assert naive.one_relevant_mean("ap", ONE) == close(naive.one_relevant_mean("rr", ONE))


def test_percentiles():
    # golden F3_P1R: pairs and hits (3, 2), (2, 1), (1, 0)
    assert naive.percentile_mean([[1, 1, 0], [1, 0], [0]]) == close(0.388889)


@given(worlds, st.integers(1, 4))
def test_the_lemma_holds(world, k):
    ranked, judged = list(range(len(world[0]))), world[1]
    if not naive.relevant_items(judged):
        return
    low, high = naive.lemma_bounds({"u": (ranked, judged)}, k=k)
    one = naive.one_relevant_mean("precision", {"u": ([[i] for i in ranked], judged)}, k=k)
    assert low - 1e-12 <= one <= high + 1e-12


# ---- sampled metrics: golden I_sampled_metrics

RANKS = {"A": [100] * 5, "B": [40, 40, 8437, 9266, 4482], "C": [212, 2, 743, 5342, 1548]}
EXACT = {
    "A": [0.990099, 0.01, 0.15019, 0],
    "B": [0.554755, 0.01009, 0.12166, 0],
    "C": [0.843144, 0.101379, 0.208033, 0.2],
}
SAMPLED = {  # the metric of m = 99 draws, expected, with replacement
    "A": [0.990099, 0.636592, 0.728989, 1.0],
    "B": [0.554755, 0.340739, 0.447337, 0.4],
    "C": [0.843144, 0.326169, 0.459986, 0.569422],
}
CORRECTED = [  # n = 20, m = 5, uniform prior, with replacement
    ("ndcg", None, 0.1, [0.817559, 0.208609, 0.276635, 0.278685, 0.245967, 0.226807]),
    ("ndcg", None, 0.01, [0.9176, -0.064665, 0.484338, 0.248465, 0.216783, 0.232263]),
    ("ndcg", None, 0, [0.968271, -0.366206, 1.029644, -0.212994, 0.394873, 0.21486]),
    ("recall", 3, 0.1, [1.024449, -0.09009, -0.201984, 0.010429, 0.040867, -0.004713]),
    ("ndcg", None, 1, [0.616166, 0.379642, 0.316491, 0.279791, 0.256595, 0.238156]),
]


@pytest.mark.parametrize("system", "ABC")
def test_expected_sampled_metrics(system):
    names = [("auc", None), ("ap", None), ("ndcg", None), ("recall", 10)]
    for (name, k), exact, sampled in zip(names, EXACT[system], SAMPLED[system]):
        full = [naive.rank_metric(name, r, pool=10_000, k=k) for r in RANKS[system]]
        drawn = [sampled_expectation(name, r, n=10_000, m=99, k=k) for r in RANKS[system]]
        assert sum(full) / 5 == close(exact)
        assert sum(drawn) / 5 == close(sampled)


def test_sampled_ndcg_of_the_small_world_tells_the_conventions_apart():
    truth = [1.0, 0.909221, 0.701911, 0.505158, 0.356207]
    ranks = [1, 2, 5, 10, 20]
    assert [sampled_expectation("ndcg", r, n=20, m=5) for r in ranks] == close(truth)
    without = [sampled_expectation("ndcg", r, n=20, m=5, replacement=False) for r in ranks]
    assert max(abs(a - b) for a, b in zip(without, truth)) > 0.009


@pytest.mark.parametrize(("name", "k", "gamma", "truth"), CORRECTED)
def test_bias_variance(name, k, gamma, truth):
    assert bias_variance(name, n=20, m=5, gamma=gamma, k=k) == close(truth)


def objective(f, *, n, m, gamma, replacement):
    total = 0.0
    for r in range(1, n + 1):
        chances = naive.sampled_ranks(r, n=n, m=m, replacement=replacement)
        mean = sum(p * x for p, x in zip(chances, f))
        variance = sum(p * (x - mean) ** 2 for p, x in zip(chances, f))
        total += ((mean - naive.rank_metric("ndcg", r, pool=n)) ** 2 + gamma * variance) / n
    return total


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("gamma", [0, 0.1, 1])
def test_bias_variance_is_the_minimum_it_claims_to_be(replacement, gamma):
    world = {"n": 12, "m": 4, "gamma": gamma, "replacement": replacement}
    f = bias_variance("ndcg", **world)
    for at, step in itertools.product(range(5), (-0.01, 0.01)):
        moved = [x + step * (i == at) for i, x in enumerate(f)]
        assert objective(moved, **world) > objective(f, **world)


def test_sampled_ranks_by_trying_every_sample():
    n, m, rank = 6, 3, 3  # the others are 1 … 5, of which 1 and 2 are ranked above
    for replacement, samples in (
        (True, list(itertools.product(range(1, n), repeat=m))),
        (False, list(itertools.combinations(range(1, n), m))),
    ):
        seen = [1 + sum(other < rank for other in sample) for sample in samples]
        tried = [seen.count(at) / len(samples) for at in range(1, m + 2)]
        assert naive.sampled_ranks(rank, n=n, m=m, replacement=replacement) == pytest.approx(tried)
        rescaled = [naive.rescaled_rank(r, n=n, m=m) for r in seen]
        assert sum(rescaled) / len(rescaled) == pytest.approx(rank)


def test_rescaled_ranks():
    estimates = [naive.rescaled_rank(r, n=20, m=5) for r in range(1, 7)]
    assert estimates == close([1.0, 4.8, 8.6, 12.4, 16.2, 20.0])
    assert [math.floor(x) for x in estimates] == [1, 4, 8, 12, 16, 20]


def test_mapped_cutoffs():
    # golden I_sampled_metrics, Li_mapping_N1000_n100, for k = 1, 5, 10
    for a, truth in (
        (None, [1.0, 41.363636, 91.818182]),
        (1, [10.99, 50.95, 100.9]),
        (0.5, [8.865767, 48.636766, 98.678362]),
        (0.2, [7.54511, 47.224975, 97.330492]),
    ):
        assert [naive.mapped_cutoff(k, n_items=1000, pool=100, a=a) for k in (1, 5, 10)] == close(truth)


def test_weighted_draws():
    # golden I_sampled_metrics, popularity_sampling: p and s are scored above, so the true rank is 3
    proposal, above = {"p": 0.5, "q": 0.3, "r": 0.15, "s": 0.05}, {"p", "s"}
    draws = ["p", "p", "q", "s"]
    assert naive.weighted_rank(draws, above=above, proposal=proposal) == close(7.0)
    assert naive.rescaled_rank(1 + sum(x in above for x in draws), n=5, m=4) == close(4.0)
    mean = naive_mean = 0.0
    for sample in itertools.product(proposal, repeat=4):
        chance = math.prod(proposal[item] for item in sample)
        mean += chance * naive.weighted_rank(sample, above=above, proposal=proposal)
        naive_mean += chance * naive.rescaled_rank(1 + sum(x in above for x in sample), n=5, m=4)
    assert mean == close(3.0)
    assert naive_mean == close(3.2)


def test_fifteen_digits_where_the_golden_file_is_at_hand():
    if not GOLDEN.exists():
        pytest.skip(f"no {GOLDEN}: the literals above hold the same values to six digits")
    toy = json.loads(GOLDEN.read_text())["I_sampled_metrics"]["toy_n20_m5"]
    labels = ["BV_NDCG(gamma=0.1)", "BV_NDCG(gamma=0.01)", "LS_NDCG(gamma=0)", "BV_Recall@3(gamma=0.1)"]
    labels.append("BV_gamma1_NDCG = E[M(r)|rt]")
    for label, (name, k, gamma, _) in zip(labels, CORRECTED):
        assert bias_variance(name, n=20, m=5, gamma=gamma, k=k) == pytest.approx(toy[label], abs=1e-11)
    truth = toy["expected_sampled_NDCG(r=1,2,5,10,20)"]
    mine = [sampled_expectation("ndcg", r, n=20, m=5) for r in (1, 2, 5, 10, 20)]
    assert mine == pytest.approx(truth, abs=1e-13)
