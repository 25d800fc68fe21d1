"""Arms of unequal size, and looks while the test runs: fair tests fail as seldom as is said."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from ab_worlds import clicks
from scipy import stats

import trueval as tv
from trueval.online.ab.cuped import adjust
from trueval.online.ab.differences import by_permutation, difference
from trueval.online.ab.estimates import AbOptions, Sample, estimate
from trueval.online.ab.metric_declarations import parse_metrics
from trueval.online.ab.sample_ratio import check_sample_ratio
from trueval.online.ab.sequential import always_valid_shares_p, prior_users
from trueval.statistics.arm_permutations import permuted

SIZES = ((30, 300), (300, 30), (100, 1000), (100, 5000), (200, 2000))


def seconds(rng, n):
    return Sample(rng.lognormal(3, 1, n))


def amounts(rng, n):
    return Sample(np.where(rng.random(n) < 0.3, rng.lognormal(2, 1, n), 0.0))


def payers(rng, n):
    own = amounts(rng, n).values
    return Sample(own, (own != 0).astype(float))


KINDS = {
    "ratio": ("x:ratio=a/b", clicks),
    "mean": ("x:mean", seconds),
    "trimmed": ("x:trimmed", seconds),
    "per_user": ("x:per_user", amounts),
    "per_payer": ("x:per_payer", payers),
}


def fair(kind, sizes, rng, resamples=499):
    text, users = KINDS[kind]
    (metric,), pair = parse_metrics(text), tuple(users(rng, n) for n in sizes)
    options = AbOptions(resamples=resamples)
    return difference(metric, *(estimate(metric, s) for s in pair), samples=pair, options=options)


def most(rounds, share=0.05):
    return rounds * share + 3 * math.sqrt(rounds * share * (1 - share))


@pytest.mark.parametrize("sizes", SIZES[:3])
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms(kind, sizes):
    rng = np.random.default_rng(sum(sizes))
    found = [fair(kind, sizes, rng) for _ in range(120)]
    assert sum(d.p < 0.05 for d in found) <= most(120)
    for d in found:
        assert (d.p < 0.05) == (not d.low <= 0 <= d.high)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_in_full(kind, sizes):
    rng = np.random.default_rng(sum(sizes))
    share = np.mean([fair(kind, sizes, rng, 999).p < 0.05 for _ in range(3000)])
    assert 0.035 <= share <= 0.06


def test_welch_gives_false_alarms_there():
    rng = np.random.default_rng(1)
    p = [stats.ttest_ind(seconds(rng, 30).values, seconds(rng, 300).values, equal_var=False).pvalue for _ in range(500)]
    assert np.mean(np.array(p) < 0.05) > 0.07


def test_false_alarms_after_cuped():
    """Half of the variance was there before, and is as skewed as the rest."""
    rng, alarms = np.random.default_rng(2), 0
    (metric,) = parse_metrics("x:mean")
    for _ in range(150):
        past = [rng.lognormal(0, 1, n) for n in (40, 400)]
        pair = tuple(Sample(own + rng.lognormal(0, 1, len(own))) for own in past)
        adjusted = adjust([estimate(metric, s) for s in pair], [own[:, None] for own in past])
        found = difference(metric, *adjusted, samples=pair, options=AbOptions(resamples=499), adjusted=True)
        alarms += found.p < 0.05
    assert alarms <= most(150)


def test_a_true_difference_is_found_and_its_interval_holds_it():
    rng, found, held = np.random.default_rng(3), 0, 0
    (metric,) = parse_metrics("x:mean")
    for _ in range(120):
        pair = Sample(rng.normal(10, 4, 1000)), Sample(rng.normal(11.5, 4, 100))
        d = difference(metric, *(estimate(metric, s) for s in pair), samples=pair, options=AbOptions(resamples=499))
        found += d.p < 0.05
        held += d.low <= 1.5 <= d.high
        assert d.relative_low < d.relative < d.relative_high
        assert (d.relative_low <= 0 <= d.relative_high) == (d.low <= 0 <= d.high)
    assert found > 0.85 * 120  # a t-test has a power of 0.95
    assert held >= 120 - most(120)


def test_the_arms_may_change_places():
    rng = np.random.default_rng(4)
    pair = seconds(rng, 40), seconds(rng, 400)
    (metric,) = parse_metrics("x:mean")
    there, back = (difference(metric, *(estimate(metric, s) for s in own), samples=own) for own in (pair, pair[::-1]))
    assert there.p == back.p
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_order_of_users_changes_nothing():
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 1, 300)
    found = permuted(values, None, 30, resamples=499, seed=1).drawn
    assert np.array_equal(found, permuted(values[::-1], None, 30, resamples=499, seed=1).drawn)


def test_every_division_is_as_likely():
    """Of six users all 15 pairs: the permutation distribution is that of the pairs, counted out."""
    from itertools import combinations

    values = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
    exact = []
    for pair in combinations(range(6), 2):
        one, other = values[list(pair)], np.delete(values, pair)
        exact.append(stats.ttest_ind(one, other, equal_var=False).statistic)
    drawn = permuted(values, None, 2, resamples=20_000, seed=0).drawn
    for t in exact:
        share = np.mean(drawn <= t + 1e-9)
        assert share == pytest.approx(np.mean(np.array(exact) <= t + 1e-9), abs=0.015)


@pytest.mark.parametrize(
    ("sizes", "users", "permutes"),
    [((30, 300), seconds, True), ((300, 300), seconds, False), ((400, 300), seconds, False),
     ((2000, 40_000), lambda rng, n: Sample(rng.normal(0, 1, n)), False), ((2000, 40_000), seconds, True),
     ((12_000, 40_000), seconds, False)],
)  # fmt: skip
def test_when_users_are_permuted(sizes, users, permutes):
    rng = np.random.default_rng(6)
    pair = tuple(users(rng, n) for n in sizes)
    one, other = (estimate(parse_metrics("x:mean")[0], s) for s in pair)
    assert by_permutation(one, other, math.hypot(one.error, other.error), pair) == permutes


def test_what_was_permuted_is_told():
    """Of arms of equal size nothing is said of divisions."""
    rng = np.random.default_rng(12)
    table = pl.DataFrame(
        {"arm": ["a"] * 300 + ["b"] * 60, "x": rng.lognormal(0, 1, 360), "y": rng.lognormal(0, 1, 360)}
    )
    asked = {"arm": "arm", "metrics": "x:mean,y:median", "resamples": 500, "expected_shares": {"a": 5, "b": 1}}
    found = tv.ab_test(table, **asked)
    said = "arms of unequal size: compared with random divisions of the users between them"
    assert {name: text.endswith(said) for name, text in found.definitions.items()} == {"x": True, "y": False}
    for text in (str(found), found.to_html(), found.to_json()):
        assert text.count(said.split(":")[0]) == text.count("random divisions") > 0
    assert {c["metric"]: c["permuted"] for c in found.record()["comparisons"]} == {"x": True, "y": False}
    equal = table.with_columns(arm=pl.Series(["a", "b"] * 180))
    assert "random divisions" not in str(tv.ab_test(equal, **{**asked, "expected_shares": None}))


# ---- the sample ratio at every look ------------------------------------------------------------------------------


def stopped(tests, looks, shares, sequential):
    """How many fair tests fail the check of the sample ratio at any look, every 200 users."""
    rng, found = np.random.default_rng(7), 0
    for _ in range(tests):
        counts = rng.multinomial(200, shares, size=looks).cumsum(axis=0)
        names = [f"arm {n}" for n in range(len(shares))]
        found += any(
            check_sample_ratio(
                dict(zip(names, row)), expected_shares=dict(zip(names, shares)), sequential=sequential
            ).failed
            for row in counts.tolist()
        )
    return found


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.25, 0.25, 0.5)])
def test_fair_tests_are_not_stopped_at_any_of_thirty_looks(shares):
    assert stopped(400, 30, shares, 5000) <= most(400, 0.01)
    assert stopped(400, 30, shares, None) > most(400, 0.01)


def found_at_looks(kind, sizes, looks, rng):
    """Whether a fair test shows a difference at any look."""
    text, users = SKEWED[kind]
    (metric,), pair = parse_metrics(text), tuple(users(rng, n) for n in sizes)
    options = AbOptions(sequential=sum(sizes), resamples=999)
    for look in range(1, looks + 1):
        until = [
            Sample(s.values[: n * look // looks], None if s.below is None else s.below[: n * look // looks])
            for s, n in zip(pair, sizes)
        ]
        d = difference(metric, *(estimate(metric, s, options=options) for s in until), samples=until, options=options)
        assert (d.p < 0.05) == (not d.low <= 0 <= d.high)
        if d.p < 0.05:
            return True
    return False


SKEWED = {
    "mean": ("x:mean", lambda rng, n: Sample(rng.lognormal(3, 1.5, n))),
    "per_user": ("x:per_user", amounts),
    "conversion": ("x:conversion", lambda rng, n: Sample((rng.random(n) < 0.02).astype(float))),
    "ratio": ("x:ratio=a/b", clicks),
}


@pytest.mark.parametrize("kind", SKEWED)
def test_arms_of_unequal_size_are_fair_at_every_look(kind):
    """Ten to one: normal tails found a difference in one fair test of ten."""
    rng = np.random.default_rng(11)
    assert sum(found_at_looks(kind, (2000, 200), 15, rng) for _ in range(100)) <= most(100)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3000, 300), (300, 3000), (30_000, 3000)])
@pytest.mark.parametrize("kind", SKEWED)
def test_arms_of_unequal_size_are_fair_at_every_look_in_full(kind, sizes):
    rng = np.random.default_rng(sum(sizes))
    assert np.mean([found_at_looks(kind, sizes, 30, rng) for _ in range(200)]) <= 0.05


def test_a_true_difference_is_found_at_some_look():
    rng, (metric,) = np.random.default_rng(13), parse_metrics("x:mean")
    options, held = AbOptions(sequential=2200, resamples=999), 0
    for _ in range(40):
        pair = Sample(rng.lognormal(0, 0.5, 2000)), Sample(rng.lognormal(0.2, 0.5, 200))
        d = difference(metric, *(estimate(metric, s) for s in pair), samples=pair, options=options)
        truth = (math.exp(0.2) - 1) * math.exp(0.125)
        held += d.low <= truth <= d.high
        assert d.permuted
        assert d.p < 0.05 or d.value < truth
    assert held >= 38


def test_a_mismatch_stops_a_test_with_looks():
    found = check_sample_ratio({"a": 2700, "b": 2300}, sequential=5000)
    assert found.failed
    assert found.record()["test"] == "always-valid"


def test_the_likelihood_ratio_is_that_of_a_dirichlet_prior():
    rho = prior_users(5000, level=0.95)
    counts, shares = [70, 30], [0.6, 0.4]
    prior, null = stats.betabinom(100, rho * 0.6, rho * 0.4).pmf(70), stats.binom(100, 0.6).pmf(70)
    assert always_valid_shares_p(counts, shares) == pytest.approx(min(1.0, null / prior))
    many = [700, 300]
    prior, null = stats.betabinom(1000, rho * 0.6, rho * 0.4).pmf(700), stats.binom(1000, 0.6).pmf(700)
    assert always_valid_shares_p(many, shares) == pytest.approx(null / prior)
    assert null / prior < 0.05


def test_balance_holds_at_every_look():
    """Ten looks at fair tests with a segment and a number: none is stopped, and p is larger than that of one look."""
    rng, found = np.random.default_rng(8), {True: 0, False: 0}
    for _ in range(12):
        table = pl.DataFrame({
            "arm": rng.choice(["a", "b"], 3000), "x": rng.normal(0, 1, 3000), "age": rng.normal(0, 1, 3000),
            "where": rng.choice(["n", "s"], 3000),
        })  # fmt: skip
        for users in range(300, 3001, 300):
            result = tv.ab_test(
                table[:users], arm="arm", metrics="x:mean", balance="age", segments="where", sequential=3000
            )
            found[result.stopped] += 1
        once = tv.ab_test(table, arm="arm", metrics="x:mean", balance="age", segments="where")
        for check, other in zip(result.balance, once.balance, strict=True):
            assert check.p > other.p or check.p == other.p == 1
    assert not found[True]


def test_an_imbalance_is_found_with_looks():
    rng = np.random.default_rng(9)
    arm = rng.choice(["a", "b"], 3000)
    table = pl.DataFrame({
        "arm": arm, "x": rng.normal(0, 1, 3000), "age": rng.normal(0, 1, 3000) + (arm == "a") * 0.5,
        "where": np.where((arm == "a") & (rng.random(3000) < 0.3), "n", "s"),
    })  # fmt: skip
    result = tv.ab_test(table, arm="arm", metrics="x:mean", balance="age,where", sequential=3000)
    assert result.stopped
    assert {check.name for check in result.imbalances} == {"age", "where"}
