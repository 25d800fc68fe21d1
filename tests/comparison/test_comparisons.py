"""Comparisons of systems: what is paired with what, which way is better, and in which words."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from comparison_worlds import evaluation_of, system_of, world
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

import trueval as tv
from trueval.api import Result
from trueval.errors import DataError, DefinitionError
from trueval.metrics.metric_values import Ratio

RNG = np.random.default_rng(11)
BASE = RNG.random(60)
VALUES = {
    "pop": {"ndcg@10": BASE, "unjudged@10": BASE},
    "same": {"ndcg@10": BASE, "unjudged@10": BASE},
    "good": {"ndcg@10": BASE + RNG.normal(0.2, 0.1, 60), "unjudged@10": BASE + RNG.normal(0.2, 0.1, 60)},
    "alike": {"ndcg@10": BASE + RNG.normal(0.0, 0.1, 60), "unjudged@10": BASE + RNG.normal(0, 0.1, 60)},
}


def compare(values=None, baseline="pop", **options):
    return Result(world(VALUES if values is None else values)).compare(baseline, **options)


def by_name(found):
    return {(c.system, c.metric): c for c in found}


def test_t_against_scipy_and_statsmodels():
    found = compare()
    p = []
    for c in found:
        a, b = np.array(VALUES[c.system][c.metric]), np.array(VALUES["pop"][c.metric])
        if c.system == "same":
            p.append(1.0)
            assert (c.p, c.difference, c.verdict) == (1.0, 0.0, "not shown")
            continue
        test = stats.ttest_rel(a, b)
        p.append(test.pvalue)
        assert c.p == pytest.approx(test.pvalue, rel=1e-9)
        assert c.difference == pytest.approx((a - b).mean())
        assert (c.low, c.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
        assert c.effect == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
        assert (c.wins, c.losses) == (sum(a > b), sum(a < b))
    assert [c.p_corrected for c in found] == pytest.approx(multipletests(p, method="holm")[1].tolist())
    assert {c.family for c in found} == {6}


def test_direction_of_the_metric():
    """A larger share of unjudged items has no better side; a larger false-positive share is worse."""
    values = {"pop": {"anti(precision)@10": BASE}, "more": {"anti(precision)@10": BASE + 0.1 + 0.01 * BASE}}
    (c,) = compare(values)
    assert c.verdict == "worse"
    assert (c.wins, c.losses) == (0, 60)
    assert "more is worse than pop on anti(precision)@10 by 0.10" in c.sentence
    verdicts = by_name(compare())
    assert verdicts["good", "ndcg@10"].verdict == "better"
    assert verdicts["good", "unjudged@10"].verdict == "different"


def test_one_sided_tests():
    values = {"pop": {"ndcg@10": BASE, "anti(precision)@10": BASE, "unjudged@10": BASE}}
    shifted = BASE + RNG.normal(0.03, 0.1, 60)
    values["new"] = dict.fromkeys(values["pop"], shifted)
    for alternative in ("better", "worse"):
        found = by_name(compare(values, alternative=alternative, correct="none"))
        up = {"better": "greater", "worse": "less"}[alternative]
        down = {"better": "less", "worse": "greater"}[alternative]
        for metric, side in (("ndcg@10", up), ("anti(precision)@10", down), ("unjudged@10", "two-sided")):
            expected = stats.ttest_rel(shifted, BASE, alternative=side).pvalue
            assert found["new", metric].p == pytest.approx(expected), metric
        assert found["new", "unjudged@10"].alternative == "two-sided"


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation", "bootstrap"])
def test_identical_runs_and_repeated_seeds(test):
    found, again = (compare(test=test, seed=3, resamples=500) for _ in range(2))
    assert repr(found.rows) == repr(again.rows)
    assert all(c.p == 1 and c.difference == 0 for c in found if c.system == "same")
    assert all(0 < c.p <= 1 for c in found)
    assert {c.test for c in found} == {test}
    verdicts = by_name(found)
    assert verdicts["good", "ndcg@10"].verdict == "better"
    assert verdicts["alike", "ndcg@10"].verdict == "not shown"


def test_ranks_that_contradict_the_mean_show_nothing():
    """A few users gain very much, all others lose a little."""
    new = BASE - 0.01 * (1 + BASE)
    new[:3] += 5
    (c,) = compare({"pop": {"ndcg@10": BASE}, "new": {"ndcg@10": new}}, test="wilcoxon")
    assert c.difference > 0
    assert c.p < 0.001
    assert c.verdict == "not shown"
    assert "opposite directions" in c.sentence


def test_tests_agree_with_scipy_through_the_whole():
    a, b = np.array(VALUES["alike"]["ndcg@10"]), BASE
    c = by_name(compare(test="wilcoxon"))["alike", "ndcg@10"]
    assert c.p == pytest.approx(stats.wilcoxon(a - b, zero_method="pratt", method="exact").pvalue)
    c = by_name(compare(test="permutation", resamples=20_000))["alike", "ndcg@10"]
    assert c.p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.02)
    c = by_name(compare(test="bootstrap", resamples=20_000))["alike", "ndcg@10"]
    drawn = np.random.default_rng(1).choice(a - b, (20_000, 60))
    away = (drawn.mean(axis=1) - (a - b).mean()) / (drawn.std(axis=1) / np.sqrt(60))
    reach = np.quantile(np.abs(away), 0.95) * (a - b).std() / np.sqrt(60)
    assert (c.low, c.high) == pytest.approx(((a - b).mean() - reach, (a - b).mean() + reach), abs=0.002)


def test_pairs_by_id_whatever_the_order_and_the_other_users():
    """Users of the two systems differ, in number and order; only those of both count."""
    pop = system_of({"ndcg@10": [0.1, 0.2, 0.3, 0.4]}, users=["d", "a", "c", "b"])
    new = system_of({"ndcg@10": [0.9, 0.5, 0.6, 0.8]}, users=["x", "b", "a", "d"])
    (c,) = Result(evaluation_of({"pop": pop, "new": new})).compare("pop")
    assert c.n == 3
    assert c.difference == pytest.approx(np.mean([0.6 - 0.2, 0.5 - 0.4, 0.8 - 0.1]))


def test_undefined_values_are_left_out_in_pairs():
    values = {"pop": {"ndcg@10": [0.1, np.nan, 0.3, 0.5]}, "new": {"ndcg@10": [0.2, 0.9, np.nan, 0.7]}}
    (c,) = compare(values)
    assert (c.n, c.difference) == (2, pytest.approx(0.15))


def test_too_few_users_say_so():
    (c,) = compare({"pop": {"ndcg@10": [0.1]}, "new": {"ndcg@10": [0.3]}})
    assert np.isnan([c.p, c.p_corrected, c.low, c.high, c.detectable]).all()
    assert c.verdict == "not shown"
    assert "cannot be compared on ndcg@10: only one user" in c.sentence
    (c,) = compare({"pop": {"ndcg@10": [0.1, np.nan]}, "new": {"ndcg@10": [np.nan, 0.3]}})
    assert "no user" in c.sentence
    assert c.n == 0
    (c,) = compare({"pop": {"ndcg@10": [0.1]}, "new": {"ndcg@10": [0.1]}})
    assert c.p == 1
    for test in ("wilcoxon", "permutation", "bootstrap"):
        (c,) = compare({"pop": {"ndcg@10": [0.1]}, "new": {"ndcg@10": [0.3]}}, test=test)
        assert np.isnan(c.p)
        assert c.verdict == "not shown"


def leave_one_out(statistic, n):
    """Jackknife standard error, written out."""
    without = np.array([statistic(np.delete(np.arange(n), i)) for i in range(n)])
    return np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())


def test_pooled_ratios_are_compared_by_what_users_add():
    n = 25
    hits, size = RNG.integers(0, 5, (2, n)).astype(float), RNG.integers(5, 9, n).astype(float)
    systems = {
        name: system_of({}, ratios={"recall@10": Ratio(own, size)}, users=range(n)) for name, own in zip("ab", hits)
    }
    (c,) = Result(evaluation_of(systems)).compare("b")
    assert c.difference == pytest.approx((hits[0].sum() - hits[1].sum()) / size.sum())
    error = leave_one_out(lambda rows: (hits[0] - hits[1])[rows].sum() / size[rows].sum(), n)
    assert c.error == pytest.approx(error)
    assert c.p == pytest.approx(2 * stats.t.sf(abs(c.difference) / error, n - 1))
    assert c.wins == sum(hits[0] > hits[1])


def test_roots_are_compared_by_what_users_add():
    n = 30
    squares, size = RNG.random((2, n)), RNG.integers(1, 9, n).astype(float)
    systems = {
        name: system_of({}, ratios={"rmse": Ratio(own * size, size, np.sqrt)}, users=range(n))
        for name, own in zip("ab", squares)
    }
    (c,) = Result(evaluation_of(systems)).compare("b")

    def rmse(own, rows):
        return np.sqrt((own * size)[rows].sum() / size[rows].sum())

    everyone = np.arange(n)
    assert c.difference == pytest.approx(rmse(squares[0], everyone) - rmse(squares[1], everyone))
    error = leave_one_out(lambda rows: rmse(squares[0], rows) - rmse(squares[1], rows), n)
    assert c.error == pytest.approx(error)
    drawn = Result(evaluation_of(systems)).compare("b", test="bootstrap")[0]
    assert (drawn.low, drawn.high) == pytest.approx((c.low, c.high), abs=0.4 * (c.high - c.low))


def test_several_target_sets_of_a_user_are_one_cluster():
    """Means over target sets: the difference is that of the values shown, users vary together."""
    users = np.repeat(np.arange(12), RNG.integers(1, 6, 12))
    x, y = RNG.random((2, len(users)))
    systems = {name: system_of({"ndcg@10": own}, users=users) for name, own in (("a", x), ("b", y))}
    (c,) = Result(evaluation_of(systems)).compare("b")
    assert c.difference == pytest.approx(x.mean() - y.mean())
    error = leave_one_out(lambda rows: (x - y)[np.isin(users, rows)].mean(), 12)
    assert (c.error, c.n) == (pytest.approx(error), 12)


def test_means_over_percentiles():
    users = np.tile(np.arange(15), 4)
    stratum = np.repeat(np.arange(4), 15)
    x, y = RNG.random((2, 60))
    systems = {name: system_of({"ndcg@10": own}, users=users, stratum=stratum) for name, own in (("a", x), ("b", y))}
    (c,) = Result(evaluation_of(systems)).compare("b")

    def mean(rows):
        kept = np.isin(users, rows)
        return np.mean([(x - y)[kept & (stratum == s)].mean() for s in range(4)])

    assert c.difference == pytest.approx(mean(np.arange(15)))
    assert c.error == pytest.approx(leave_one_out(mean, 15))


def test_what_would_be_shown():
    found = by_name(compare({k: {"ndcg@10": v["ndcg@10"]} for k, v in VALUES.items() if k in ("pop", "alike")}))
    c = found["alike", "ndcg@10"]
    d = np.array(VALUES["alike"]["ndcg@10"]) - BASE
    expected = TTestPower().solve_power(nobs=60, power=0.8, alpha=0.05) * d.std(ddof=1)
    assert c.detectable == pytest.approx(expected, rel=1e-5)
    assert c.power(c.detectable) == pytest.approx(0.8)
    assert f"60 users could detect a difference of {expected:.4f} with 80 % power" in c.sentence
    all_of_them = by_name(compare())["alike", "ndcg@10"]  # one of six has to be found at a sixth of the level
    assert all_of_them.detectable > c.detectable
    assert by_name(compare(correct="none"))["alike", "ndcg@10"].detectable == pytest.approx(c.detectable)


def test_words():
    words = {(c.system, c.metric): c.sentence for c in compare()}
    good = by_name(compare())["good", "ndcg@10"]
    assert words["good", "ndcg@10"] == (
        f"good is better than pop on ndcg@10 by {good.difference:.4f} [{good.low:.4f}, {good.high:.4f}], "
        "p < 0.0001 (Holm over 6; t-test, 60 users)."
    )
    assert words["same", "ndcg@10"] == "same and pop have the same ndcg@10 for every user (60 users)."
    assert words["alike", "ndcg@10"].startswith("There is no significant difference between alike and pop on ndcg@10: ")
    assert "differs from pop" in words["good", "unjudged@10"]
    one_sided = by_name(compare(alternative="better"))["alike", "ndcg@10"].sentence
    assert one_sided.startswith("alike is not significantly better than pop on ndcg@10")


def test_choice_of_metrics_changes_the_family():
    found = compare(metrics="ndcg@10")
    assert {c.metric for c in found} == {"ndcg@10"}
    assert {c.family for c in found} == {3}
    with pytest.raises(DefinitionError, match="was not measured"):
        compare(metrics="ndcg@5")
    with pytest.raises(DefinitionError, match="unknown metric"):
        compare(metrics="ndgc@5")


def test_options_that_do_not_exist():
    for options in ({"test": "z"}, {"correct": "hom"}, {"alternative": "greater"}, {"level": 95}, {"resamples": 3},
                    {"baseline": "popp"}):  # fmt: skip
        with pytest.raises(DefinitionError):
            compare(**options)
    with pytest.raises(DataError, match="nothing to compare"):
        compare({"pop": VALUES["pop"]})


def test_the_first_system_is_the_baseline():
    assert compare(baseline=None).baseline == "pop"


def test_json_is_json_and_keeps_the_contract():
    record = json.loads(compare().to_json())
    wanted = {"metric", "system", "baseline", "difference", "low", "high", "p", "p_corrected", "verdict"}
    assert set(record["comparisons"][0]) >= wanted
    assert record["systems"]["good"]["metrics"]["ndcg@10"].keys() == {"value", "low", "high", "n", "undefined"}
    one = json.loads(compare({"pop": {"ndcg@10": [0.1]}, "new": {"ndcg@10": [0.3]}}).to_json())
    assert one["comparisons"][0]["p"] is None


def test_table_has_a_row_per_comparison():
    frame = compare().table()
    assert frame.height == 6
    assert frame.schema["difference"] == pl.Float64


def test_evaluations_compare_users_of_different_vocabularies():
    """With everyone in the population, each run brings its own users, and codes differ between runs."""
    test = pl.DataFrame({"user": ["c", "d", "e"], "item": [1, 2, 3]})
    one = pl.DataFrame({"user": ["a", "c", "d", "e"], "item": [1, 1, 2, 9], "rank": 1})
    two = pl.DataFrame({"user": ["c", "d", "e", "z"], "item": [1, 9, 9, 1], "rank": 1})
    result = tv.evaluate_run({"one": one, "two": two}, test, metrics="unjudged@1", population="all", interval="none")
    (c,) = result.compare("two")
    assert c.n == 3  # c, d and e; c and e are alike
    assert (c.wins, c.ties, c.losses) == (0, 2, 1)
