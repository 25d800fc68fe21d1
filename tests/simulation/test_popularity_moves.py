"""Worlds like a log follow how its popularity moves: as far as it does, and not as far as chance seems to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.simulation.fit_table import compare_logs
from trueval.simulation.log_shape import moved_popularity
from trueval.simulation.periods import ByPeriods, TimesInPeriods
from trueval.simulation.popularity_moves import drawn_shares, halving

USERS, ITEMS = 500, 80
HALVES = "popularity that moves between halves"


def made_log(early: np.ndarray, *, seed: int = 1, whole: bool = False) -> pl.DataFrame:
    """A log of two halves of the time; `early` is the share of each item's rows that falls in the first half.

    Users come in one half; or in both (`whole`).
    """
    rng = np.random.default_rng(seed)
    popular = 1 / (np.arange(ITEMS) + 10.0)
    popular = rng.permutation(popular) / popular.mean() * 0.2
    sides = 2 * np.stack([early, 1 - early])
    p = popular * (np.ones((USERS, 1)) if whole else sides[np.arange(USERS) % 2])
    user, item = np.nonzero(rng.random((USERS, ITEMS)) < p)
    half = rng.random(len(user)) >= early[item] if whole else user % 2
    time = 1_000_000 * half + rng.integers(0, 1_000_000, len(user))
    return pl.DataFrame({"user": user, "item": item, "value": rng.integers(1, 6, len(user)), "time": time})


def spread_by_lot(rows: pl.DataFrame, parts: int = 2) -> float:
    """The standard deviation of what moves in a log whose times are drawn by lot."""
    found = [
        moved_popularity(Interactions.of(rows.with_columns(pl.col("time").shuffle(seed=seed))), parts)
        for seed in range(60)
    ]
    return float(np.std(found))


# ---- the law -------------------------------------------------------------------------------------------------------


def test_the_law_of_known_shares_is_found() -> None:
    """15 % of the items come, 5 % go, the others' shares are beta distributed with 16 rows' strength."""
    rng = np.random.default_rng(4)
    number, rows = 6000, rng.integers(5, 60, 6000)
    kind = rng.random(number)
    share = np.where(kind < 0.15, 0.0, np.where(kind < 0.2, 1.0, rng.beta(8, 8, number)))
    before = rng.binomial(rows, share)[:, None]
    after = rows[:, None] - before
    law = halving(before, after, np.random.default_rng(0))
    assert law.parts.sum() == pytest.approx(1)
    assert law.mean[0] == pytest.approx(0.5, abs=0.02)
    assert law.parts[:2] == pytest.approx([0.15, 0.05], abs=0.025)  # few rows: some U-shaped part passes for both
    drawn = law.drawn(before, after, np.random.default_rng(1))[:, 0]
    # Draws from what is known have the law of the truth: its moments, among all and with the rows seen.
    error = np.sqrt(2 / number) * 4
    assert drawn.mean() == pytest.approx(share.mean(), abs=error * share.std())
    assert drawn.std() == pytest.approx(share.std(), rel=error)
    seen = before[:, 0] / rows
    assert np.cov(drawn, seen)[0, 1] == pytest.approx(np.cov(share, seen)[0, 1], rel=error)
    stay = (share > 0) & (share < 1)
    assert drawn[stay].std() == pytest.approx(share[stay].std(), rel=error)
    assert seen[stay].std() > 1.15 * share[stay].std()  # what is seen has chance in it


def test_times_by_lot_move_nothing() -> None:
    rows = np.random.default_rng(3).integers(2, 400, 1500)
    halves = np.random.default_rng(5).binomial(rows, 0.5)
    shares = drawn_shares(np.stack([halves, rows - halves], axis=1), np.random.default_rng(0))[:, 0]
    by_chance = np.sqrt(0.25 / rows)
    assert np.sqrt(np.mean((shares - 0.5) ** 2)) < 0.25 * np.sqrt(np.mean(by_chance**2))


def test_absence_before_the_first_row_is_believed_as_far_as_rows_tell() -> None:
    """Of 400 items 100 come in the second half. One that had 200 rows since is new; one of a single row need not be."""
    rng = np.random.default_rng(6)
    rows = np.full(400, 200)
    before = np.where(np.arange(400) < 100, 0, rng.binomial(rows, 0.5))
    counts = np.concatenate([np.stack([before, rows - before], axis=1), np.repeat([[0, 1]], 200, axis=0)])
    shares = drawn_shares(counts, np.random.default_rng(0))[:, 0]
    assert (shares[:100] == 0).mean() > 0.97
    assert shares[100:400].min() > 0.2
    # By Bayes: 1/4 of the items are new, and an old one has its single row late as often as early.
    new = 0.25 / (0.25 + 0.75 * 0.5)
    assert (shares[400:] == 0).mean() == pytest.approx(new, abs=4 * np.sqrt(new * (1 - new) / 200) + 0.03)


# ---- worlds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strong", [0.98, 0.8, 0.65])
@pytest.mark.parametrize("whole", [False, True])
def test_a_world_has_the_moves_of_its_log(strong: float, whole: bool) -> None:
    """Half of the items have `strong` of their rows in the first half of the time, the others in the second.

    What moves is then about the difference of two shares of N / 2 rows each, of variance s (1 − s) / (N / 2); the world
    has the log's chance and its own.
    """
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, strong, 1 - strong), whole=whole)
    world = tv.simulate("like", rows, seed=3)
    data, found = (moved_popularity(log) for log in (Interactions.of(rows), world.log))
    spread = np.sqrt(2 * strong * (1 - strong) / (len(rows) / 2))
    assert data > 0.1
    assert abs(found - data) < 4 * np.sqrt(2) * spread + 0.01
    # And it is the same items that move.
    halves = [
        log.frame.with_columns(late=pl.col("time") >= 1_000_000)
        .group_by("item")
        .agg(pl.col("late").mean())
        .sort("item")
        for log in (Interactions.of(rows), world.log)
    ]
    both = halves[0].join(halves[1], on="item")
    assert np.corrcoef(both["late"], both["late_right"])[0, 1] > 0.75


@pytest.mark.parametrize("whole", [False, True])
def test_a_log_whose_popularity_stays_gives_a_world_whose_popularity_stays(whole: bool) -> None:
    rows = made_log(np.full(ITEMS, 0.5), whole=whole)
    found = [moved_popularity(tv.simulate("like", rows, seed=seed).log) for seed in range(9)]
    assert abs(np.mean(found)) < 4.5 * spread_by_lot(rows) / 3


def test_shuffled_times_take_the_moves_away() -> None:
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, 0.9, 0.1))
    shuffled = rows.with_columns(pl.col("time").shuffle(seed=2))
    found = [moved_popularity(tv.simulate("like", shuffled, seed=seed).log) for seed in range(9)]
    assert abs(np.mean(found)) < 4.5 * spread_by_lot(rows) / 3
    assert moved_popularity(tv.simulate("like", rows, seed=1).log) > 0.5


def test_numbers_of_rows_stay_those_of_the_log() -> None:
    """Of users, of items, and of users in each half, on average."""
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, 0.9, 0.1), whole=True)
    world = tv.simulate("like", rows, seed=3)
    every = np.arange(len(world.users))[:, None], np.arange(len(world.items))
    p = world.probability(*every)
    assert p.sum(axis=1) == pytest.approx(np.bincount(world.users.codes(rows["user"])), rel=0.01)
    assert p.sum(axis=0) == pytest.approx(np.bincount(world.items.codes(rows["item"])), rel=0.01)
    assert isinstance(world.seen, ByPeriods)
    a, w = world.seen.activities, world.seen.weights
    cells = (p / np.einsum("ut,it->ui", a, w))[..., None] * a[:, None, :] * w[None]
    half = len(a[0]) // 2
    late = rows.filter(pl.col("time") >= rows["time"].median())["user"]
    wanted = np.bincount(world.users.codes(late), minlength=len(a))
    assert cells[:, :, half:].sum(axis=(1, 2)) == pytest.approx(wanted, abs=0.6)  # one row at the very middle


def test_rows_in_another_order_give_the_same_world() -> None:
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, 0.9, 0.1)).with_columns(pl.col("time") // 1000)  # many ties
    one, other = (tv.simulate("like", log, seed=2) for log in (rows, rows.sample(fraction=1, shuffle=True, seed=5)))
    assert one.log.frame.equals(other.log.frame)
    assert (one.seen.weights == other.seen.weights).all()


def test_times_stay_in_the_spans_of_users() -> None:
    rows = made_log(np.full(ITEMS, 0.7))
    world = tv.simulate("like", rows, seed=2)
    spans = [frame.group_by("user").agg(pl.min("time").alias("a"), pl.max("time").alias("b")) for frame in (
        rows, world.log.frame)]  # fmt: skip
    both = spans[0].join(spans[1], on="user")
    assert ((both["a"] <= both["a_right"]) & (both["b_right"] <= both["b"])).all()
    assert dict(world.fit.distances)["times (Kolmogorov–Smirnov)"] < 1.95 / np.sqrt(len(rows) / 2)  # at 0.1 %


@pytest.mark.parametrize("stamps", [1, 2, 3])
def test_few_different_times(stamps: int) -> None:
    """Rows of one time stay together; where all have one time, so do those of the world."""
    rows = made_log(np.full(ITEMS, 0.5)).with_columns(time=pl.col("user") % stamps * 100 + 7)
    world = tv.simulate("like", rows, seed=2)
    assert isinstance(world.times, TimesInPeriods) == (stamps > 1)
    assert set(world.log.frame["time"]) == set(rows["time"])
    assert abs(moved_popularity(world.log)) < 0.06


def test_redrawn_saved_and_read(tmp_path: Path) -> None:
    world = tv.simulate("like", made_log(np.full(ITEMS, 0.7)), seed=2)
    world.save(tmp_path / "world")
    read = tv.World.load(tmp_path / "world")
    every = np.arange(len(world.users))[:, None], np.arange(len(world.items))
    assert (read.probability(*every) == world.probability(*every)).all()
    assert (read.times.of(*every) == world.times.of(*every)).all()
    one, other = read.redrawn(9).log.frame, world.redrawn(9).log.frame
    assert one.equals(other)
    assert not one.equals(world.log.frame)
    both = one.join(world.log.frame, on=["user", "item"])
    assert len(both) > 100
    assert (both["time"] == both["time_right"]).all()
    assert (both["value"] == both["value_right"]).all()


@pytest.mark.parametrize("value_bias", [0.0, 0.3])
def test_opposed_worlds_keep_the_moves_and_the_rows_of_users(value_bias: float) -> None:
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, 0.9, 0.1))
    world, opposed = (tv.simulate(kind, rows, value_bias=value_bias, seed=2) for kind in ("like", "opposed"))
    spread = np.sqrt(2 * 0.9 * 0.1 / (len(rows) / 2))
    assert abs(moved_popularity(opposed.log) - moved_popularity(world.log)) < 4 * np.sqrt(2) * spread + 0.02
    assert len(opposed.log) == pytest.approx(len(world.log), rel=0.06)
    assert sorted(opposed.seen.weight) == pytest.approx(sorted(world.seen.weight), rel=0.02)


def test_worlds_with_periods_run_in_loops() -> None:
    world = tv.simulate("like", made_log(np.full(ITEMS, 0.7)), seed=2)
    rounds = tv.feedback_loop(world, "popularity", rounds=2, observe=False)
    assert len(rounds.table()) >= 2


# ---- the table -----------------------------------------------------------------------------------------------------


def test_what_moves_by_hand() -> None:
    """100 rows of a, then 100 of b: all of it moves; by lot, 2 · mean |X − 25| / 50 …: about 0.056 does."""
    rows = pl.DataFrame({"user": range(200), "item": ["a"] * 100 + ["b"] * 100, "time": range(200)})
    log = Interactions.of(rows)
    by_lot = np.mean([abs(2 * x / 100 - 1) for x in np.random.default_rng(0).hypergeometric(100, 100, 100, 20_000)])
    assert moved_popularity(log) == pytest.approx(1 - by_lot, abs=0.08)
    eighths = moved_popularity(log, 8)  # one step in seven moves all
    assert 1 / 7 - 0.25 < eighths < 1 / 7
    assert moved_popularity(Interactions.of(rows.drop("time"))) is None
    assert moved_popularity(Interactions.of(rows.head(3))) is None


def test_the_table_of_fit_shows_the_moves() -> None:
    rows = made_log(np.where(np.arange(ITEMS) % 2 == 0, 0.9, 0.1))
    log, still = Interactions.of(rows), Interactions.of(rows.with_columns(pl.col("time").shuffle(seed=1)))
    found = {name: values for name, *values in compare_logs(log, still).rows}
    assert found[HALVES] == [moved_popularity(log), moved_popularity(still)]
    assert "popularity that moves between eighths" in found
    assert "0: popularity stays" in str(compare_logs(log, still))
    plain = compare_logs(*(Interactions.of(rows.drop("time")) for _ in range(2)))
    assert "0: popularity stays" not in str(plain)


@pytest.mark.data
@pytest.mark.parametrize("name", ["ml-100k", "ml-1m"])
def test_worlds_like_movielens(name: str, data_folder: Callable[[str], Path]) -> None:
    """Numbers of rows fit, and popularity moves as far as in the data: 0.06 and 0.05 between halves."""
    world = tv.simulate("like", tv.read(data_folder(name)), seed=0)
    found = {name: values for name, *values in world.fit.rows}
    for row in (HALVES, "popularity that moves between eighths"):
        assert found[row][1] == pytest.approx(found[row][0], abs=0.015 if name == "ml-100k" else 0.006)
    assert found[HALVES][0] > 0.04
    distances = dict(world.fit.distances)
    if name == "ml-1m":
        assert distances["ratings per item (Kolmogorov–Smirnov)"] < 0.03
        assert distances["ratings per user (Kolmogorov–Smirnov)"] < 0.03
    assert distances["times (Kolmogorov–Smirnov)"] < 0.03
