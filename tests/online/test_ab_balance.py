"""Were the arms made by chance: every check against SciPy, false alarms, and imbalances that must be found."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.balance import MIN_EXPECTED, THRESHOLD, BalanceCheck, check_balance, of_counts
from trueval.online.ab.covariates import Covariate, grouped


def ads_table(n: int = 6000, seed: int = 0, lost: float = 0.0) -> pl.DataFrame:
    """A test of an ad. A share of Firefox users is lost with the ad, the same share of Safari users without it."""
    rng = np.random.default_rng(seed)
    ad = rng.random(n) < 0.5
    browser = rng.choice(["Chrome", "Firefox", "Safari"], n, p=[0.5, 0.25, 0.25])
    kept = ~(((browser == "Firefox") & ad | (browser == "Safari") & ~ad) & (rng.random(n) < lost))
    day = rng.integers(0, 10, n)
    return pl.DataFrame(
        {
            "user": np.arange(n),
            "arm": np.where(ad, "ad", "none"),
            "bought": rng.random(n) < 0.1,
            "browser": browser,
            "country": rng.choice(["at", "it", "de"], n),
            "spent_before": rng.lognormal(1, 1.5, n),
            "date": np.datetime64("2026-03-01") + day.astype("timedelta64[D]"),
            "day": day,
        }
    ).filter(pl.Series(kept))


def named(found, name: str, group: str = "") -> BalanceCheck:
    return next(check for check in found.balance if (check.name, check.group) == (name, group))


def test_checks_against_scipy():
    frame = ads_table()
    found = tv.ab_test(
        frame, arm="arm", metrics="bought", segments="country", balance="browser", pre="spent_before", time="date"
    )
    for name in ("browser", "country", "date"):
        table = frame.group_by(name, "arm").len().pivot("arm", index=name).drop(name).to_numpy()
        reference = scipy.stats.chi2_contingency(table, correction=False)
        assert (named(found, name).statistic, named(found, name).p) == pytest.approx(reference[:2])
    parts = [frame.filter(pl.col("arm") == arm)["spent_before"].to_numpy() for arm in ("none", "ad")]
    reference = scipy.stats.kruskal(*parts)
    assert (named(found, "spent_before").statistic, named(found, "spent_before").p) == pytest.approx(reference)
    spread = math.sqrt((parts[0].var(ddof=1) + parts[1].var(ddof=1)) / 2)
    assert (
        f"{(parts[1].mean() - parts[0].mean()) / spread:+.2f} standard deviations"
        in named(found, "spent_before").detail
    )
    for column, group in (("country", "at"), ("date", "2026-03-04")):
        own = frame.filter(pl.col(column).cast(pl.String) == group)
        reference = scipy.stats.binomtest(int((own["arm"] == "ad").sum()), len(own), 0.5)
        assert named(found, column, group).p == pytest.approx(reference.pvalue)
    assert len([check for check in found.balance if check.asked]) == 4 + 3 + 10
    p = sorted(check.p for check in found.balance if check.asked)
    assert min(check.p_corrected for check in found.balance if check.asked) == pytest.approx(min(1, len(p) * p[0]))


def test_sample_ratio_of_a_group_with_given_shares_and_three_arms():
    arm = np.repeat([0, 1, 2], [80, 15, 5])
    segment = grouped("land", "segment", np.full(100, "x"))
    found = check_balance([segment], arm, {"a": 0.8, "b": 0.1, "c": 0.1})
    tails = [
        2 * min(scipy.stats.binom.cdf(k, 100, s), scipy.stats.binom.sf(k - 1, 100, s))
        for k, s in ((80, 0.8), (15, 0.1), (5, 0.1))
    ]
    assert [check.p for check in found] == pytest.approx([min(1, 3 * min(tails))])


def test_rare_groups_are_put_together():
    counts = np.array([[500, 500], [300, 320], [3, 5], [9, 2]])
    found = of_counts("browser", "covariate", counts, ["x", "y", "p", "q"], "ab")[0]
    assert found.p == pytest.approx(scipy.stats.chi2_contingency(counts[:2], correction=False)[1])
    counts = np.array([[500, 500], [9, 8], [7, 9], [6, 1]])
    found = of_counts("browser", "covariate", counts, ["x", "p", "q", "r"], "ab")[0]
    pooled = np.array([[500, 500], [22, 18]])
    assert found.p == pytest.approx(scipy.stats.chi2_contingency(pooled, correction=False)[1])
    assert of_counts("browser", "covariate", counts[:1], ["x"], "ab") == []
    assert MIN_EXPECTED == 10


def test_losses_that_cancel_stop_the_verdict_once_the_column_is_named():
    frame = ads_table(20_000, lost=0.3)
    assert tv.ab_test(frame, arm="arm", metrics="bought").sample_ratio.p > 0.01  # nothing to see over all
    for options in ({"balance": "browser"}, {"segments": "browser"}):
        found = tv.ab_test(frame, arm="arm", metrics="bought", **options)
        assert found.stopped
        assert found.comparisons[0].verdict == "no verdict"
        assert found.verdict.startswith("no verdict: mismatch of the arms in browser")
        assert "browser over the arms: " in str(found)
    groups = {check.group for check in found.imbalances}
    assert groups == {"", "Firefox", "Safari"}
    ignored = tv.ab_test(frame, arm="arm", metrics="bought", balance="browser", ignore_mismatch=True)
    assert ignored.comparisons[0].verdict != "no verdict"
    assert "mismatch of the arms in browser" in ignored.verdict
    assert "was ignored on request" in ignored.verdict


def test_a_column_nobody_named_gives_a_caution():
    frame = ads_table(20_000, lost=0.3)
    found = tv.ab_test(frame, arm="arm", metrics="bought")
    assert not found.stopped
    assert found.verdict.startswith("Caution: the arms differ in browser;")
    assert sum("browser differs between the arms" in warning for warning in found.warnings) == 1
    assert "--balance browser makes it stop the verdict" in " ".join(found.warnings)
    flat = " ".join(str(found).split())
    assert (
        "also checked, although not declared as known before the test: date, browser, country: MISMATCH in browser"
        in flat
    )
    record = next(check for check in found.record()["balance"] if check["name"] == "browser")
    assert record["failed"]
    assert not record["asked"]
    sound = tv.ab_test(ads_table(), arm="arm", metrics="bought")
    assert "date, browser, country: none below 0.001" in " ".join(str(sound).split())


def test_what_is_not_checked_unasked():
    """Outcomes, names of the arm, columns that change from row to row, and those with very many values."""
    frame = ads_table(2000).with_columns(
        page=pl.when(pl.col("arm") == "ad").then(pl.lit("new page")).otherwise(pl.lit("old page")),
        city=pl.format("city {}", pl.col("user") % 60),
        outcome=pl.when(pl.col("arm") == "ad").then(1.0).otherwise(0.0) + pl.col("spent_before"),
    )
    events = pl.concat([frame.with_columns(event=pl.lit("view")), frame.with_columns(event=pl.lit("buy"))])
    found = tv.ab_test(events, arm="arm", metrics="bought")
    assert {check.name for check in found.balance} == {"date", "browser", "country"}
    assert found.warnings == ()


def test_a_day_on_which_the_arms_went_wrong():
    frame = ads_table(20_000)
    broken = (pl.col("day") == 3) & (pl.col("arm") == "ad") & (pl.col("user") % 5 < 2)
    frame = frame.filter(~broken)
    by_date = tv.ab_test(frame, arm="arm", metrics="bought", time="date", expected_shares={"ad": 0.49, "none": 0.51})
    by_number = tv.ab_test(frame, arm="arm", metrics="bought", time="day", expected_shares={"ad": 0.49, "none": 0.51})
    assert by_date.stopped
    assert {check.group for check in by_date.imbalances} == {"", "2026-03-04"}
    assert {check.group for check in by_number.imbalances} == {"", "3"}
    guessed = tv.ab_test(frame, arm="arm", metrics="bought", ignore_mismatch=True)
    assert any("date" in warning and "--time date makes it stop" in warning for warning in guessed.warnings)


def test_the_day_of_a_user_is_that_of_the_first_event():
    frame = ads_table(3000)
    later = frame.with_columns(pl.col("date") + pl.duration(days=4))
    once = tv.ab_test(frame, arm="arm", metrics="bought", time="date")
    twice = tv.ab_test(pl.concat([later, frame]), arm="arm", metrics="bought", time="date")
    assert [c for c in once.balance if c.role == "day"] == [c for c in twice.balance if c.role == "day"]


def test_times_that_cannot_be_read():
    frame = ads_table(500).with_columns(date=pl.lit("some day"))
    found = tv.ab_test(frame, arm="arm", metrics="bought")
    assert "date could not be read as times: sample ratios were not checked by day" in found.notes
    with pytest.raises(DataError, match="times are missing"):
        tv.ab_test(frame, arm="arm", metrics="bought", time="date")


def test_numbers_with_gaps_and_numbers_of_groups():
    gap = pl.when((pl.col("arm") == "none") | (pl.col("user") % 4 > 0)).then("spent_before")
    frame = ads_table(4000).with_columns(gap.alias("spent_before"), level=pl.col("user") % 3)
    found = tv.ab_test(frame, arm="arm", metrics="bought", balance="spent_before,level")
    assert [check.name for check in found.imbalances] == ["spent_before known"]
    assert named(found, "level").test == "chi-squared"


def test_a_balance_column_must_belong_to_users():
    frame = ads_table(200)
    double = pl.concat([frame, frame.with_columns(browser=pl.lit("other"))])
    with pytest.raises(DataError, match="must have one value per user"):
        tv.ab_test(double, arm="arm", metrics="bought", balance="browser")
    with pytest.raises(DataError, match="did you mean browser"):
        tv.ab_test(frame, arm="arm", metrics="bought", balance="browsr")


@pytest.mark.parametrize("role", ["pre", "segments", "balance"])
def test_an_outcome_is_not_from_before(role):
    with pytest.raises(DefinitionError, match="bought is compared between the arms, so it cannot also be known before"):
        tv.ab_test(ads_table(200), arm="arm", metrics="share=bought", **{role: "bought"})


@pytest.mark.parametrize("ids", [True, False])
def test_same_bits_whatever_the_order_of_rows(ids):
    frame = ads_table(1000).drop([] if ids else ["user"])
    options = {
        "arm": "arm",
        "metrics": "bought",
        "balance": "browser,spent_before",
        "segments": "country",
        "time": "date",
    }
    one = tv.ab_test(frame, **options).record()
    assert tv.ab_test(frame.sample(fraction=1, shuffle=True, seed=5), **options).record() == one


def groups(name: str, role: str, values: np.ndarray) -> Covariate:
    found, codes = np.unique(values, return_inverse=True)
    return Covariate(name, role, codes, tuple(map(str, found)))


def sound_checks(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> tuple[BalanceCheck, ...]:
    """All kinds of checks of a test whose arms were made by chance: rare groups, days, and a long tail."""
    arm = rng.choice(len(shares), n, p=shares)
    covariates = [
        groups("country", "segment", rng.choice(8, n, p=2.0 ** -np.array([1, 2, 3, 4, 5, 6, 7, 7]))),
        groups("date", "day", rng.integers(0, 14, n)),
        groups("browser", "covariate", rng.integers(0, 30, n)),
        Covariate("spent", "before", np.where(rng.random(n) < 0.9, 0, rng.lognormal(3, 2, n))),
    ]
    return check_balance(covariates, arm, {str(place): share for place, share in enumerate(shares)})


WORLDS = [(1000, (0.5, 0.5)), (1000, (0.9, 0.1)), (3000, (0.4, 0.3, 0.3)), (200, (0.5, 0.5))]


def alarms(n: int, shares: tuple[float, ...], runs: int) -> tuple[float, dict[str, float]]:
    """How often any check fails, and how often p < 0.01 by test."""
    rng = np.random.default_rng(21)
    failed, low, made = 0, {}, {}
    for _ in range(runs):
        found = sound_checks(rng, n, shares)
        failed += any(check.failed for check in found)
        for check in found:
            low[check.test] = low.get(check.test, 0) + (check.p < 0.01)
            made[check.test] = made.get(check.test, 0) + 1
    return failed / runs, {test: low[test] / made[test] for test in low}


def allowed(share: float, runs: int) -> float:
    """A share and three of its standard errors."""
    return share + 3 * math.sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize(("n", "shares"), WORLDS)
def test_sound_tests_rarely_alarm(n, shares):
    any_failed, low = alarms(n, shares, 600)
    assert any_failed <= allowed(THRESHOLD, 600)
    assert all(share <= allowed(0.01, 600) for share in low.values())


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shares"), WORLDS)
def test_sound_tests_rarely_alarm_over_many_runs(n, shares):
    any_failed, low = alarms(n, shares, 10_000)
    assert any_failed <= allowed(THRESHOLD, 10_000)
    assert all(share <= allowed(0.01, 10_000) for share in low.values())


@pytest.mark.parametrize("lost", [0.3, 0.5])
def test_planted_losses_are_found(lost):
    """Of 1,500 Firefox users, a fifth to a third fewer in an arm than in the other: 6 standard errors and more."""
    for seed in range(20):
        found = tv.ab_test(ads_table(6000, seed, lost), arm="arm", metrics="bought", balance="browser")
        assert found.stopped
        assert found.imbalances[0].name == "browser"
