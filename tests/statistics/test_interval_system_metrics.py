"""Intervals of coverage, Gini and the like: what leaving users out gives, and how often it holds the truth."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import trueval as tv
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.jackknife import estimate_tallies, leave_out
from trueval.metrics.metric_values import Added, Tally
from trueval.statistics.inequality import gini_index
from trueval.statistics.jackknife import GROUPS, JackknifeReplicates, group_users, pairs
from trueval.statistics.percentiles import percentile_bounds
from trueval.statistics.resampling import draw_users

ITEMS, LENGTH = 150, 5
DRAWING = IntervalMethod("bootstrap", 0, 1000)


def bits(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum())


FINISH = {"coverage": lambda counts: np.count_nonzero(counts) / ITEMS, "gini": gini_index, "entropy": bits}
# How likely items are to be shown: evenly (a random recommender), by Zipf's law, and mostly the head.
WORLDS = {"even": 0.0, "zipf": 1.0, "head": 2.0}


def lists(world: str, users: int, rng: np.random.Generator) -> np.ndarray:
    """Each user's items: without replacement, likely ones first (by exponential arrival)."""
    rate = 1 / np.arange(1, ITEMS + 1) ** WORLDS[world]
    arrival = rng.exponential(size=(users, ITEMS)) / rate
    return np.argpartition(arrival, LENGTH, axis=1)[:, :LENGTH]


def tallies_of(shown: np.ndarray) -> dict[str, Tally]:
    counts = np.bincount(shown.ravel(), minlength=ITEMS).astype(float)
    rows = Added("all", np.repeat(np.arange(len(shown)), shown.shape[1]), shown.ravel(), None)
    return {name: Tally(counts, finish, (rows,), (0, np.inf)) for name, finish in FINISH.items()}


def covered(world: str, *, users: int, worlds: int, truths: int) -> dict[str, float]:
    """Share of worlds whose interval holds the expected value over samples of as many users."""
    rng = np.random.default_rng(11)
    values = [[t.value() for t in tallies_of(lists(world, users, rng)).values()] for _ in range(truths)]
    truth = dict(zip(FINISH, np.mean(values, axis=0)))
    held = dict.fromkeys(FINISH, 0)
    for _ in range(worlds):
        tallies = tallies_of(lists(world, users, rng))
        left_out = leave_out(tallies, np.arange(users), DRAWING)
        for name, e in estimate_tallies(tallies, left_out, users, DRAWING).items():
            held[name] += e.low <= truth[name] <= e.high
    return {name: number / worlds for name, number in held.items()}


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_of_system_metrics_cover(world):
    worlds = 80
    room = 3 * np.sqrt(0.95 * 0.05 / worlds)
    for name, found in covered(world, users=80, worlds=worlds, truths=400).items():
        assert 0.94 - room <= found <= min(1.0, 0.97 + room), name


@pytest.mark.slow
@pytest.mark.parametrize(("world", "users"), list(itertools.product(WORLDS, (60, 300))), ids=str)
def test_intervals_of_system_metrics_cover_in_full(world, users):
    if (world, users) == ("even", 300):
        pytest.skip("every item is shown to somebody, in nearly every world")
    for name, found in covered(world, users=users, worlds=800, truths=4000).items():
        assert 0.92 <= found <= 0.985, name


def test_percentiles_of_resamples_would_not_cover():
    """What leaving out is for: a resample holds 63 % of the users, and covers less."""
    rng, users, held = np.random.default_rng(12), 80, 0
    truth = np.mean([tallies_of(lists("zipf", users, rng))["coverage"].value() for _ in range(300)])
    weights = np.concatenate(list(draw_users(users, seed=0, resamples=200))) > 0
    for _ in range(40):
        shown = lists("zipf", users, rng)
        drawn = [len(np.unique(shown[chosen])) / ITEMS for chosen in weights]
        low, high = percentile_bounds(np.array(drawn), 0.95)
        held += low <= truth <= high
    assert held < 10


def test_leaving_out_is_what_a_loop_finds():
    shown = lists("zipf", 130, np.random.default_rng(0))
    tallies = tallies_of(shown)
    group = group_users(130, GROUPS, seed=0)
    for name, found in leave_out(tallies, np.arange(130), DRAWING).items():
        for g in (0, 7, 49):
            assert found.one[g] == pytest.approx(tallies_of(shown[group != g])[name].value())
        for place, (a, b) in enumerate(zip(*pairs(GROUPS))):
            if place % 50 == 3:
                assert found.two[place] == pytest.approx(tallies_of(shown[~np.isin(group, (a, b))])[name].value())


def test_a_mean_has_its_standard_error():
    """For a metric that is a mean, pairs have no effect, and the error is the classical one."""
    x = np.random.default_rng(1).normal(size=40)
    group = group_users(40, 40, seed=0)
    order = np.argsort(group)
    one = (x.sum() - x[order]) / 39
    a, b = pairs(40)
    two = (x.sum() - x[order][a] - x[order][b]) / 38
    found = JackknifeReplicates(float(x.mean()), one, two)
    assert found.error() == pytest.approx(x.std(ddof=1) / np.sqrt(40), rel=0.02)


@pytest.mark.parametrize(("groups", "cancel"), [(5, False), (9, False), (13, False), (7, True), (11, True)])
def test_the_effects_of_pairs_are_taken_off_by_half(groups, cancel):
    """A value that is a sum over groups and over pairs of groups: without i and j it lacks what i and j add together.

    The variance is that of leaving out one group, less half the sum of the squared effects of pairs, but at least a
    third of it: that is what is left where the effects of the pairs of each group cancel each other.
    """
    rng = np.random.default_rng(groups)
    alone, apart = rng.normal(size=groups), np.abs(np.subtract.outer(range(groups), range(groups)))
    circle = np.where(np.minimum(apart, groups - apart) % 2, 3.0, -3.0)  # neighbours +, those next to them -, …
    together = np.triu(circle if cancel else rng.normal(size=(groups, groups)) * 0.4, 1)

    def without(*left: int) -> float:
        stay = np.array([g not in left for g in range(groups)])
        return float(alone[stay].sum() + together[np.ix_(stay, stay)].sum())

    left_out = list(zip(*pairs(groups)))
    one, two = (np.array([without(*some) for some in of]) for of in ([(g,) for g in range(groups)], left_out))
    first = (groups - 1) / groups * sum((x - one.mean()) ** 2 for x in one)
    effects = [together[min(a, b), max(a, b)] for a, b in left_out]
    second = np.mean(np.square(effects)) * groups * (groups - 1) / 2
    expected = max(first - second / 2, first / 3)
    assert JackknifeReplicates(without(), one, two).error() == pytest.approx(np.sqrt(expected), rel=1e-9)
    assert (expected == first / 3) == cancel  # both sides of the rule are tried


def test_differences_of_systems_are_paired():
    shown = lists("zipf", 100, np.random.default_rng(2))
    left = leave_out(tallies_of(shown), np.arange(100), DRAWING)
    right = leave_out(tallies_of(shown[:, :4]), np.arange(100), DRAWING)
    apart = np.hypot(left["gini"].error(), right["gini"].error())
    assert (left["gini"] - left["gini"]).error() == 0
    assert (left["gini"] - right["gini"]).error() < 0.7 * apart


def random_run(users: int, seed: int) -> pl.DataFrame:
    shown = lists("zipf", users, np.random.default_rng(seed))
    ranks = np.tile(np.arange(1, LENGTH + 1), users)
    return pl.DataFrame({"user": np.repeat(np.arange(users), LENGTH), "item": shown.ravel(), "rank": ranks})


METRICS = "coverage@5,gini@5,gini@5[exposure=true],entropy@3,popularity_rank@5,tail_coverage@5"


def evaluated(run: pl.DataFrame, *, path: str | None = None, **options: object) -> tv.Result:
    users = run["user"].unique().sort()
    test = run.filter(pl.col("rank") == 1).select("user", "item")
    train = pl.DataFrame({"user": users, "item": (users * 5) % 11})
    return tv.evaluate_run(
        path or run, test, train=train, items=list(range(ITEMS)), seen="allow", metrics=METRICS, **options
    )


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
def test_every_system_metric_has_an_interval(interval):
    found = evaluated(random_run(60, 0), interval=interval)
    for metric in METRICS.split(","):
        e = found["run", metric]
        assert e.low < e.value < e.high, metric
    assert found["run", "coverage@5"].low >= 0
    assert found["run", "coverage@5"].high <= 1


def test_row_order_threads_and_pieces_change_nothing(tmp_path, monkeypatch):
    run = random_run(200, 3)
    expected = evaluated(run).table()
    shuffled = evaluated(run.sample(fraction=1.0, shuffle=True, seed=1), threads=3).table()
    assert shuffled.equals(expected)
    run.write_parquet(tmp_path / "run.parquet")
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 100)
    streamed = evaluated(run, path=str(tmp_path / "run.parquet"), sorted_by_user=True).table()
    assert_frame_equal(streamed, expected, rel_tol=1e-12)


def test_groups_of_users_have_intervals_of_their_own():
    run = random_run(90, 4)
    users = pl.DataFrame({"user": np.arange(90), "half": np.where(np.arange(90) < 45, "a", "b")})
    found = evaluated(run, users=users, by="half").by("half").filter(pl.col("metric") == "coverage@5")
    assert (found["low"] < found["value"]).all()
    assert (found["value"] < found["high"]).all()
    alone = evaluated(run.filter(pl.col("user") < 45))["run", "coverage@5"]
    first = found.row(0, named=True)
    assert (first["value"], first["low"], first["high"]) == (alone.value, alone.low, alone.high)


def test_without_intervals_nothing_is_kept_by_user():
    found = evaluated(random_run(30, 5), interval="none")
    assert np.isnan(found["run", "coverage@5"].low)
    assert not found.evaluation.system("run").jackknife


def test_one_user_has_no_interval():
    result = evaluated(random_run(1, 6))
    found = result["run", "coverage@5"]
    assert found.value == LENGTH / ITEMS
    assert np.isnan(found.low)
    assert "there is only one user: intervals are undefined" in result.warnings
