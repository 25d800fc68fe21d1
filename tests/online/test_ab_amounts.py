"""Amounts that are 0 for most users: what is compared, against SciPy and statsmodels, and how often it holds."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportions_ztest

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.differences import Difference, difference
from trueval.online.ab.estimates import Sample, estimate
from trueval.online.ab.metric_declarations import parse_metrics


def revenue_table(n: int = 4000, rates: tuple[float, float] = (0.04, 0.06), seed: int = 0) -> pl.DataFrame:
    """Two arms of n users; few pay, and these pay log-normal amounts."""
    rng = np.random.default_rng(seed)
    arm = np.arange(2 * n) % 2
    paid = rng.random(2 * n) < np.array(rates)[arm]
    return pl.DataFrame(
        {
            "user": np.arange(2 * n),
            "arm": np.array(["control", "banner"])[arm],
            "amount": np.where(paid, rng.lognormal(3, 1, 2 * n), 0.0),
            "dwell": rng.lognormal(3, 1, 2 * n),
        }
    )


def amounts(frame: pl.DataFrame, arm: str) -> np.ndarray:
    return frame.filter(pl.col("arm") == arm)["amount"].to_numpy()


def test_an_amount_of_few_payers_becomes_three_metrics():
    frame = revenue_table()
    found = tv.ab_test(frame, arm="arm", metrics="revenue=amount,dwell")
    assert [str(m) for m in found.metrics] == [
        "revenue:per_user=amount", "revenue payers:payers=amount", "revenue per payer:per_payer=amount",
        "dwell:trimmed(0.1)=dwell",
    ]  # fmt: skip
    a, b = amounts(frame, "control"), amounts(frame, "banner")
    per_user, payers, per_payer, _ = found.comparisons
    welch = scipy.stats.ttest_ind(b, a, equal_var=False)
    assert per_user.difference == pytest.approx(b.mean() - a.mean())
    assert welch.pvalue < per_user.p < 2 * welch.pvalue < 1e-5  # fewer degrees of freedom; exactly so below
    counts, users = [(x != 0).sum() for x in (a, b)], [len(a), len(b)]
    assert payers.p == pytest.approx(proportions_ztest(counts, users)[1])
    over_payers = scipy.stats.ttest_ind(b[b != 0], a[a != 0], equal_var=False)
    span = over_payers.confidence_interval()
    assert (per_payer.p, per_payer.low, per_payer.high) == pytest.approx((over_payers.pvalue, span.low, span.high))
    assert per_payer.n == sum(counts)
    # all of them count in the correction
    p = sorted(c.p for c in found.comparisons)
    assert min(c.p_corrected for c in found.comparisons) == pytest.approx(4 * p[0])


def test_degrees_of_freedom_are_those_of_payers():
    frame = revenue_table(300)
    a, b = amounts(frame, "control"), amounts(frame, "banner")
    found = tv.ab_test(frame, arm="arm", metrics="revenue:per_user=amount").comparisons[0]
    parts = [x.var(ddof=1) / len(x) for x in (a, b)]
    freedom = sum(parts) ** 2 / sum(v**2 / ((x != 0).sum() - 1) for v, x in zip(parts, (a, b)))
    t = (b.mean() - a.mean()) / math.sqrt(sum(parts))
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))
    reach = scipy.stats.t.ppf(0.975, freedom) * math.sqrt(sum(parts))
    assert (found.low, found.high) == pytest.approx((found.difference - reach, found.difference + reach))


def test_the_output_says_what_was_chosen_and_why():
    frame = revenue_table()
    zeros = int((frame["amount"] == 0).sum())
    text = str(tv.ab_test(frame, arm="arm", metrics="revenue=amount,dwell"))
    flat = " ".join(text.split())
    assert f"revenue: {zeros:,} of 8,000 users ({zeros / 80:.1f} %, all arms together) have exactly 0" in flat
    assert "the mean per user, the share of payers and the mean per payer are compared" in flat
    assert "dwell: the trimmed mean is compared, because fewer than half of the users share a value" in flat
    assert "see :trimmed" not in flat  # that would ignore the payers


def test_the_choice_rests_on_all_arms_together():
    """Half of all users pay nothing, all of them in one arm: the names of the arms do not matter to the choice."""
    frame = revenue_table(1000, (0.1, 1.0))
    assert [m.kind for m in tv.ab_test(frame, arm="arm", metrics="x=amount").metrics] == ["trimmed"]
    shuffled = frame.with_columns(pl.col("arm").shuffle(seed=1))
    assert [m.kind for m in tv.ab_test(shuffled, arm="arm", metrics="x=amount").metrics] == ["trimmed"]
    frame = revenue_table(1000, (0.1, 0.6))
    for table in (frame, frame.with_columns(pl.col("arm").shuffle(seed=1))):
        kinds = [m.kind for m in tv.ab_test(table, arm="arm", metrics="x=amount").metrics]
        assert kinds == ["per_user", "payers", "per_payer"]


@pytest.mark.parametrize(
    ("metric", "word"),
    [
        ("x:median=amount", "the median is 0 whatever the payers do"),
        ("x:quantile(0.9)=amount", "the 0.9 quantile is 0 whatever the payers do"),
        ("x:trimmed=amount", "the trimmed mean ignores 100 % of the payers"),
        ("x:trimmed(0.02)=amount", "of the payers, those who pay most"),
        ("x:mannwhitney=amount", "ranks say little about sums"),
    ],
)
def test_a_statistic_that_ignores_payers_is_said(metric, word):
    found = tv.ab_test(revenue_table(), arm="arm", metrics=metric, resamples=200)
    assert any(word in warning for warning in found.warnings)
    one = found.comparisons[0]
    assert not (one.low == one.high == 0)  # never an interval from 0 to 0
    assert all(np.isnan(value.low) for value in found.values if value.value == 0)
    assert "[0.0000, 0.0000]" not in str(found)


def test_a_quantile_above_the_zeros_sees_payers():
    found = tv.ab_test(revenue_table(), arm="arm", metrics="x:quantile(0.99)=amount", resamples=200)
    assert not any("whatever" in warning for warning in found.warnings)


def test_events_without_an_amount_add_nothing():
    """Views have no amount, purchases do: the same as a table of sums with 0."""
    frame = revenue_table(500, (0.1, 0.2)).with_columns(pl.col("amount").ceil())  # whole numbers add up exactly
    amount = pl.when(pl.col("amount") > 0).then("amount")
    events = pl.concat([frame.with_columns(amount), frame.with_columns(amount=pl.lit(None, pl.Float64))])
    one, other = (tv.ab_test(table, arm="arm", metrics="revenue=amount") for table in (events, frame))
    assert one.comparisons == other.comparisons
    empty = events["amount"].null_count()
    assert f"amount is empty in {empty:,} of 2,000 rows: such a row adds nothing to the sum of its user" in one.notes
    with pytest.raises(DataError, match="missing or not finite"):  # a row per user: nobody knows what is meant
        tv.ab_test(frame.with_columns(amount), arm="arm", metrics="revenue=amount")
    broken = events.with_columns(amount=pl.lit(float("nan")))
    with pytest.raises(DataError, match="missing or not finite"):
        tv.ab_test(broken, arm="arm", metrics="revenue=amount")


def test_an_arm_without_payers():
    frame = revenue_table(500, (0.0, 0.05))
    found = tv.ab_test(frame, arm="arm", metrics="revenue=amount")
    assert [m.kind for m in found.metrics] == ["per_user", "payers"]
    assert "revenue per payer is left out: an arm has fewer than two payers" in found.notes
    none = next(v for v in found.values if v.metric == "revenue" and v.arm == "control")
    assert (none.value, math.isnan(none.low)) == (0.0, True)
    with pytest.raises(DataError, match="fewer than two users of arm control"):
        tv.ab_test(frame, arm="arm", metrics="revenue:per_payer=amount")


def test_segments_past_and_looks_at_any_time_take_payers_too():
    frame = revenue_table().with_columns(
        before=pl.col("amount") + pl.col("dwell"),
        land=pl.when(pl.col("user") < 60).then(pl.lit("x")).otherwise(pl.lit("y")),
    )
    found = tv.ab_test(
        frame, arm="arm", metrics="revenue=amount", pre="before", segments="land", min_group=2, ignore_mismatch=True
    )
    assert all(c.variance_reduction > 0 for c in found.comparisons)
    assert {c.metric for c in found.segments if c.group == "y"} == {m.name for m in found.metrics}
    looks = tv.ab_test(frame, arm="arm", metrics="revenue=amount", sequential=5000)
    assert all(c.low < c.difference < c.high for c in looks.comparisons)


def test_refunds_are_no_reason_to_fail():
    frame = revenue_table().with_columns(
        pl.when(pl.col("user") % 500 == 0).then(-20.0).otherwise("amount").alias("amount")
    )
    found = tv.ab_test(frame, arm="arm", metrics="revenue=amount")
    assert [m.kind for m in found.metrics] == ["per_user", "payers", "per_payer"]
    assert all(c.low < c.difference < c.high for c in found.comparisons)


def test_few_payers_and_empty_denominators_are_said():
    found = tv.ab_test(revenue_table(300), arm="arm", metrics="revenue=amount")
    assert any("paid, fewer than 50" in warning for warning in found.warnings)
    rare = pl.col("user") < 40
    frame = revenue_table(300).with_columns(
        below=rare.cast(pl.Int64), above=(rare & (pl.col("user") % 3 == 0)).cast(pl.Int64)
    )
    found = tv.ab_test(frame, arm="arm", metrics="r=above/below")
    assert any("20 users of arm control have a denominator above 0" in warning for warning in found.warnings)
    odd = frame.with_columns(above=pl.lit(1) + pl.col("above"))
    assert any("without below" in w for w in tv.ab_test(odd, arm="arm", metrics="r=above/below").warnings)
    point = frame.with_columns(above=pl.when(pl.col("arm") == "control").then(0).otherwise("above"))
    found = tv.ab_test(point, arm="arm", metrics="r=above/below")
    assert any("the value of arm control has no interval" in warning for warning in found.warnings)


def test_names_of_the_three_must_be_free():
    with pytest.raises(DefinitionError, match="two metrics have the name 'x payers'"):
        tv.ab_test(revenue_table(), arm="arm", metrics="x=amount,x payers:mean=dwell")


# Simulations: log-normal amounts of 2 to 10 % payers; the effect is 30 % more payers.

LIFT, SIGMA = 0.3, 1.0


def one_test(rng: np.random.Generator, sizes: tuple[int, int], rate: float, lift: float, kind: str) -> Difference:
    metric = parse_metrics(f"x:{kind}")[0]
    pair = []
    for n, share in zip(sizes, (rate, rate * (1 + lift))):
        values = np.zeros(n)
        paid = rng.binomial(n, share)
        values[:paid] = rng.lognormal(3, SIGMA, paid)
        pair.append(Sample(values))
    control, arm = (estimate(metric, sample) for sample in pair)
    return difference(metric, control, arm, samples=(pair[0], pair[1]))


def rates(sizes: tuple[int, int], rate: float, runs: int, kind: str = "per_user") -> tuple[float, float]:
    """How often p < 0.05 without an effect, and how often the interval holds the true effect."""
    rng = np.random.default_rng(11)
    truth = LIFT * rate * math.exp(3 + SIGMA**2 / 2)
    false = sum(one_test(rng, sizes, rate, 0.0, kind).p < 0.05 for _ in range(runs))
    tests = (one_test(rng, sizes, rate, LIFT, kind) for _ in range(runs))
    held = sum(found.low <= truth <= found.high for found in tests)
    return false / runs, held / runs


def margin(runs: int) -> float:
    """Three standard errors of a share of 5 %."""
    return 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1])
@pytest.mark.parametrize(("n", "runs"), [(200, 1000), (2000, 600)])
def test_size_and_coverage_of_the_mean_per_user(n, runs, rate):
    size, coverage = rates((n, n), rate, runs)
    assert size <= 0.05 + margin(runs)
    assert coverage >= 0.95 - margin(runs)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1])
@pytest.mark.parametrize(("n", "runs"), [(200, 10_000), (2000, 10_000), (20_000, 4000)])
def test_size_and_coverage_of_the_mean_per_user_over_many_runs(n, runs, rate):
    size, coverage = rates((n, n), rate, runs)
    assert size <= 0.05 + margin(runs)
    assert coverage >= 0.95 - margin(runs)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "rate"), [((2500, 10_000), 0.02), ((10_000, 2500), 0.02), ((1000, 4000), 0.05)])
def test_unequal_arms_with_fifty_payers_lose_little(sizes, rate):
    """Skewness does not cancel in arms of unequal size: with 50 payers in the smaller one, 2 % of coverage is lost."""
    runs = 6000
    size, coverage = rates(sizes, rate, runs)
    assert size <= 0.07 + margin(runs)
    assert coverage >= 0.93 - margin(runs)


def single_arm_coverage(n: int, rate: float, runs: int) -> tuple[float, float]:
    """How often the interval of one arm holds its mean: on the log scale, and Student's to equal sides."""
    rng, held = np.random.default_rng(12), np.zeros(2)
    truth = rate * math.exp(3 + SIGMA**2 / 2)
    log, plain = parse_metrics("x:per_user,y:mean")
    for _ in range(runs):
        values = np.where(rng.random(n) < rate, rng.lognormal(3, SIGMA, n), 0.0)
        spans = [estimate(metric, Sample(values)) for metric in (log, plain)]
        held += [e.low <= truth <= e.high for e in spans]
    return held[0] / runs, held[1] / runs


def test_the_log_scale_holds_where_equal_sides_do_not():
    log, plain = single_arm_coverage(1000, 0.02, 1000)
    assert log >= 0.92 - margin(1000)  # some 20 payers
    assert plain < 0.89
