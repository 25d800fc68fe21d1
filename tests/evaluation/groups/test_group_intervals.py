"""Gaps and ratios: intervals that cover, also where groups are equal and the extremes are picked by chance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.group_values import Spread
from trueval.evaluation.group_values import spread as spread_of


def spread(values: np.ndarray, drawn: np.ndarray | None, names: list[str]) -> Spread:
    """Of groups whose own intervals are not looked at."""
    return spread_of([Estimate(float(v), np.nan, np.nan, 100) for v in values], drawn, names)


def simulated(rates: list[float], *, users: int, repeats: int, seed: int) -> tuple[float, float]:
    """How often the intervals of gap and ratio hold the truth, users of a group being hit at a known rate."""
    rng = np.random.default_rng(seed)
    truth = np.array(rates)
    names = [str(g) for g in range(len(rates))]
    gaps = ratios = 0
    for _ in range(repeats):
        values = rng.binomial(users, truth) / users
        drawn = rng.binomial(users, values, size=(300, len(rates))) / users  # the bootstrap of a mean of 0s and 1s
        found = spread(values, drawn, names)
        gaps += found.gap.low <= truth.max() - truth.min() <= found.gap.high
        ratios += found.ratio.low <= truth.min() / truth.max() <= found.ratio.high
    return gaps / repeats, ratios / repeats


@pytest.mark.parametrize("rates", [[0.3, 0.3], [0.3, 0.4], [0.3] * 5, [0.2, 0.3, 0.3, 0.5]], ids=str)
def test_intervals_cover(rates):
    for covered in simulated(rates, users=200, repeats=300, seed=1):
        assert covered > 0.92


@pytest.mark.slow
@pytest.mark.parametrize("rates", [[0.3, 0.3], [0.3, 0.4], [0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]], ids=str)
def test_intervals_cover_at_length(rates):
    for covered in simulated(rates, users=300, repeats=4000, seed=2):
        assert covered > 0.94


def test_the_naive_interval_would_not_cover():
    """What the reach is for: percentiles of the resampled gap itself never hold a gap of nothing."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(100):
        values = rng.binomial(200, 0.3, size=5) / 200
        drawn = rng.binomial(200, values, size=(300, 5)) / 200
        held += np.quantile(drawn.max(axis=1) - drawn.min(axis=1), 0.025) <= 0
    assert held == 0


def test_two_groups_have_the_interval_of_their_difference():
    rng = np.random.default_rng(0)
    drawn = rng.normal([0.6, 0.4], 0.01, size=(4000, 2))
    found = spread(np.array([0.6, 0.4]), drawn, ["a", "b"])
    reach = 1.96 * np.sqrt(2) * 0.01
    assert (found.gap.low, found.gap.high) == pytest.approx((0.2 - reach, 0.2 + reach), abs=0.002)
    assert 0 < found.ratio.low < 2 / 3 < found.ratio.high < 1
    assert found.ratio.value == pytest.approx(2 / 3)


def test_degenerate_spreads():
    alone = spread(np.array([0.5]), None, ["a"])
    assert np.isnan(alone.gap.value)
    assert alone.gap.n == 1
    zero = spread(np.array([0.5, 0.0]), np.array([[0.4, 0.0], [0.6, 0.0]]), ["a", "b"])
    assert (zero.gap.value, zero.ratio.value, zero.lowest) == (0.5, 0, "b")
    assert np.isnan(zero.ratio.low)
    assert np.isnan(spread(np.array([0.5, -0.5]), None, ["a", "b"]).ratio.value)
    rare = spread(np.array([0.5, 0.01]), np.array([[0.5, 0.0]] * 9 + [[0.5, 0.02]]), ["a", "b"])
    assert (rare.ratio.low, rare.ratio.high) == (0, 1)  # a group that may be at 0 may be any factor away
    same = spread(np.array([0.5, 0.5]), np.full((10, 2), 0.5), ["a", "b"])
    assert (same.gap.low, same.gap.high, same.ratio.low, same.ratio.high) == (0, 0, 1, 1)


def hits(users: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    side = np.arange(users) % 2
    hit = rng.random(users) < np.where(side, 0.6, 0.4)
    recs = pl.DataFrame({"user": range(users), "item": np.where(hit, "a", "b"), "rank": 1})
    test = pl.DataFrame({"user": range(users), "item": ["a"] * users})
    return recs, test, pl.DataFrame({"user": range(users), "side": side})


def test_evaluated_intervals_are_those_of_the_bootstrap():
    recs, test, users = hits(400, 0)
    result = tv.evaluate_run(recs, test, users=users, by="side", metrics="hit@1", resamples=2000)
    values = result.by("side")["value"].to_numpy()
    errors = np.sqrt(values * (1 - values) / 200)
    gap = result.gaps("side").row(0, named=True)
    reach = 1.96 * np.sqrt((errors**2).sum())
    assert gap["gap_high"] - gap["gap"] == pytest.approx(reach, rel=0.1)
    assert gap["gap"] - gap["gap_low"] == pytest.approx(reach, rel=0.1)
    half = (result.by("side")["high"] - result.by("side")["low"]).to_numpy() / 2
    assert half == pytest.approx(1.96 * errors, rel=0.1)
    by_t = tv.evaluate_run(recs, test, users=users, by="side", metrics="hit@1", interval="t", resamples=2000)
    assert by_t.by("side")["low"].to_list() == pytest.approx(result.by("side")["low"].to_list(), abs=0.01)
    assert by_t.gaps("side").equals(result.gaps("side"))


def test_users_with_many_units_are_resampled_whole():
    """In 1R a user's units come and go together: 20 equal units of each user make the interval no narrower."""
    rng = np.random.default_rng(0)
    good = rng.random(80) < 0.5
    train = pl.DataFrame({"user": range(80), "item": range(100, 180)})
    test = pl.DataFrame({"user": np.repeat(np.arange(80), 20), "item": np.tile(np.arange(20), 80)})
    log = {"train": tv.Interactions.of(train), "test": tv.Interactions.of(test)}
    parts = tv.Parts(log["train"], log["test"])
    scores = np.where(np.arange(100) < 20, 1.0, 0.0) * np.where(good, 1, -1)[:, None]
    users = pl.DataFrame({"user": range(80), "side": np.arange(80) % 2})
    result = tv.evaluate(
        parts, {"m": scores}, design="1R-AI-AN", metrics="hit@10", by="side", users=users, min_group=40
    )
    rows = result.by("side")
    assert rows["n"].to_list() == [800, 800]
    for value, low, high in rows.select("value", "low", "high").rows():
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(value * (1 - value) / 40), rel=0.15)
    assert rows["compared"].all()
