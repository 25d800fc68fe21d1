"""Compatibility presets: the values and the populations of eight libraries (metrics.md, observed rules)."""

from __future__ import annotations

import math

import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.compat import PRESETS, find_preset
from trueval.metrics.grammar import parse

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


# one row per case, one column per library, in the order above
OBSERVED = [
    ("ap@5", TEN[:5], dict.fromkeys(TEN, 1), [0.5, 0.5, 1, 1, 0.5, 1, 0.5, 1]),
    ("ap@5[denom=min]", TEN[:5], dict.fromkeys(TEN, 1), [1] * 8),  # map_at_k of recommenders
    ("recall@5", TEN[:5], dict.fromkeys(TEN, 1), [0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 0.5]),
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


def test_the_observed_ndcg_as_arithmetic():
    five = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    abc = dict.fromkeys("abc", 1)
    assert one_value("trec_eval", list("axbyz"), abc, "ndcg@5") == pytest.approx((five[0] + five[2]) / sum(five[:3]))
    assert one_value("rectools", list("axbyz"), abc, "ndcg@5") == pytest.approx((five[0] + five[2]) / sum(five))
    lenskit = (1 + 1 / math.log2(3)) / (1 + 1 + 1 / math.log2(3))
    assert one_value("lenskit", list("axbyz"), abc, "ndcg@5") == pytest.approx(lenskit)
    ten = sum(1 / math.log2(rank + 1) for rank in range(1, 11))
    assert one_value("rectools", ["x", "a", *TEN[2:]], {"a": 1}, "ndcg@10") == pytest.approx(five[1] / ten)


@pytest.mark.parametrize("library", LIBRARIES)
def test_gains(library):
    """Grades count in trec_eval, ranx and LensKit; the others take relevance as yes or no."""
    graded = one_value(library, ["b", "a"], {"a": 3, "b": 1}, "ndcg@2")
    second = 1 / math.log2(3)
    linear, binary = (1 + 3 * second) / (3 + second), 1.0
    if library == "lenskit":  # its first two places count the same
        assert graded == 1
    elif library == "rectools":
        assert graded == pytest.approx(binary)
    else:
        assert graded == pytest.approx(linear if library in ("trec_eval", "ranx") else binary)
    # ndcg_burges of ranx, the graded forms of recommenders and Spark
    exp = one_value(library, ["x", "b", "a"], {"a": 2, "b": 1}, "ndcg@3[gain=exp]")
    if library not in ("lenskit", "rectools"):
        assert exp == pytest.approx((second + 3 / 2) / (3 + second))


def test_grades_count_in_lenskit():
    third = 1 / math.log2(3)
    found = one_value("lenskit", ["b", "x", "a"], {"a": 3, "b": 1}, "ndcg@3")
    assert found == pytest.approx((1 + 3 * third) / (3 + 1))
    assert one_value("lenskit", ["b", "x", "a"], {"a": 3, "b": 1}, "dcg@3") == pytest.approx(1 + 3 * third)


@pytest.mark.parametrize("library", ["recbole", "spark", "replay", "trec_eval"])
def test_without_a_cutoff_ap_divides_by_all_relevant_items(library):
    assert one_value(library, TEN[:5], dict.fromkeys(TEN, 1), "ap") == 0.5


def test_plain_ndcg_of_trec_eval_has_an_uncut_ideal():
    found = one_value("trec_eval", ["a"], dict.fromkeys("abc", 1), "ndcg")
    assert found == pytest.approx(1 / sum(1 / math.log2(rank + 1) for rank in (1, 2, 3)))


def test_lenskit_counts_what_was_shown():
    abc = dict.fromkeys("abc", 1)
    assert one_value("lenskit", ["a", "b"], abc, "recall@5") == 1  # two shown, two found
    assert one_value("lenskit", ["a", "b"], abc, "ndcg@5") == 1
    assert one_value("lenskit", ["a", "x", "b"], abc, "ap@2") == 0.5
    assert one_value("lenskit", ["a", "x", "b"], abc, "precision@2") == 0.5


# ---- who is averaged over

LISTS = {"good": ["a", "x"], "bare": ["a", "x"], "stranger": ["a"]}
JUDGED = {"good": {"a": 5}, "missing": {"a": 5}, "bare": {"a": 1}}  # nobody got a list for `missing`
METRICS = ["precision@1", "recall@1", "ap@1", "ndcg@1", "hit@1", "rr"]


@pytest.mark.parametrize(
    ("library", "n", "exceptions"),
    [
        ("trec_eval", 3, {}),  # a user without relevant items counts, as 0
        ("ranx", 3, {}),
        ("spark", 3, {}),
        ("recbole", 2, {}),  # test users; without a list 0
        ("rectools", 2, {}),
        ("replay", 2, {}),
        ("lenskit", 1, {}),  # users with lists
        ("recommenders", 2, {"precision@1": 1, "recall@1": 1, "ap@1": 1}),  # common users; test users for ndcg
    ],
)
def test_populations(library, n, exceptions):
    result = evaluate(library, LISTS, JUDGED, METRICS, threshold=3)
    for metric in METRICS:
        users = exceptions.get(metric, n)
        estimate = result["run", metric]
        assert (estimate.n, estimate.value) == (users, pytest.approx(1 / users)), metric


def test_our_own_rules_stay_without_a_preset():
    result = evaluate(None, LISTS, JUDGED, METRICS, threshold=3)
    assert {(result["run", m].n, result["run", m].value) for m in METRICS} == {(2, 0.5)}
    judged = evaluate(None, LISTS, JUDGED, METRICS, threshold=3, population="judged")
    assert (judged["run", "recall@1"].n, judged["run", "recall@1"].undefined) == (2, 1)
    assert (judged["run", "hit@1"].n, judged["run", "hit@1"].value) == (3, pytest.approx(1 / 3))


def test_without_relevant_items_every_metric_is_zero_in_trec_eval():
    metrics = ["ap", "ndcg", "recall@5", "rprecision", "f1@5", "precision@5", "rr"]
    result = evaluate("trec_eval", {"u": ["a"], "v": ["x"]}, {"u": {"a": 1}, "v": {"x": 0}}, metrics)
    values = result.per_user.filter(user="v").select(metrics).row(0)
    assert values == (0.0,) * len(metrics)


# ---- what is asked for explicitly stays


@pytest.mark.parametrize(
    ("library", "metric"),
    [
        ("recbole", "ap@5[denom=hits]"),
        ("recommenders", "ap@5[denom=min]"),
        ("recommenders", "ndcg@5[gain=exp]"),
        ("lenskit", "precision@5[denom=achievable]"),
        ("lenskit", "recall@5[cap=true]"),
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


def test_a_preset_is_in_the_manifest():
    result = evaluate("replay", LISTS, JUDGED, ["ap@5"], threshold=3)
    assert result.manifest["compat"] == "replay"
    assert "denom=min" in result.manifest["definitions"]["ap@5"]
    ours = evaluate(None, LISTS, JUDGED, ["ap@5"], threshold=3)
    assert "denom=relevant" in ours.manifest["definitions"]["ap@5"]


def test_unknown_preset():
    with pytest.raises(tv.TruevalError, match="no compatibility preset 'trec_evel'") as caught:
        evaluate("trec_evel", LISTS, JUDGED, METRICS)
    assert "trec_eval" in caught.value.found
    assert find_preset(None) is None


def test_every_preset_names_parameters_that_exist():
    for preset in PRESETS.values():
        for rules in (preset.parameters, preset.uncut):
            for name, values in rules.items():
                known = parse(f"{name}@5").metric.parameters
                for parameter, choice in values.items():
                    assert choice in known[parameter].choices
