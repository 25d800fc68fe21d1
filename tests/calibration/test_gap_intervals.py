"""Intervals of ece and mce hold the truth, their p-values have their size, and degenerate tables get honest answers."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from gap_worlds import METRICS, World, held, true_gaps
from scipy.stats import beta, binom

import trueval as tv
from trueval.calibration.bins import make_bins
from trueval.calibration.calibration_errors import make_gaps
from trueval.calibration.calibrator import Calibrator
from trueval.calibration.predictions import read_predictions
from trueval.calibration.user_bootstrap import make_clusters

CALIBRATED = {
    "few rows": World(100),
    "many rows": World(2000),
    "rare clicks": World(1000, middle=-4, spread=0.8),
    "users alike": World(1000, users=60, alike=0.3),
    "users not alike": World(1000, users=60),
}
MISCALIBRATED = {
    "too sure": World(600, slope=0.5),
    "slightly too sure": World(2000, slope=0.8),
    "too low": World(600, shift=0.5),
    "rare and too low": World(1000, middle=-4, spread=0.8, shift=0.7),
    "users alike": World(1000, users=60, alike=0.3, slope=0.6, shift=0.3),
}


def least(share: float, rounds: int) -> float:
    """What a share may come down to by chance: three binomial standard errors."""
    return share - 3 * math.sqrt(share * (1 - share) / rounds)


def check(world: World, rounds: int, *, calibrated: bool) -> None:
    for metric, found in held(world, rounds).items():
        assert found["held"] >= least(0.95, rounds), (metric, found)
        if calibrated:
            assert found["rejected"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds), (metric, found)


@pytest.mark.parametrize("name", ["few rows", "rare clicks", "users alike"])
def test_calibrated_tables_quick(name):
    check(CALIBRATED[name], 40, calibrated=True)


@pytest.mark.parametrize("name", ["too sure", "rare and too low"])
def test_miscalibrated_tables_quick(name):
    check(MISCALIBRATED[name], 40, calibrated=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_tables(name):
    check(CALIBRATED[name], 400, calibrated=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISCALIBRATED)
def test_miscalibrated_tables(name):
    check(MISCALIBRATED[name], 300, calibrated=False)


@pytest.mark.slow
def test_the_p_value_of_ece_has_its_size_and_power():
    """Not only at most 5 % of calibrated tables: about 5 %, and nearly all of clearly miscalibrated ones."""
    found = held(World(2000), 500)
    for metric in ("ece", "ece[by=mass]"):
        assert found[metric]["rejected"] >= least(0.05, 500)
    found = held(World(1000, slope=0.5), 50)
    assert min(found[metric]["rejected"] for metric in METRICS) > 0.9


def changes_held(world: World, slope: float, intercept: float, rounds: int) -> dict[str, float]:
    """Share of tables whose interval of the change by a given calibrator holds the true change."""
    calibrator = Calibrator("platt", "probability", slope=slope, intercept=intercept)
    right = dict.fromkeys(METRICS, 0)
    for seed in range(rounds):
        table, q = world.draw(seed)
        found = tv.calibrate(table, validation=calibrator, metrics=list(METRICS), resamples=200, seed=seed)
        moved = table.with_columns(p=pl.Series(calibrator.apply(table["p"])))
        for metric in METRICS:
            truth, change = true_gaps(moved, q, metric) - true_gaps(table, q, metric), found.changes[metric]
            right[metric] += change.low - 1e-12 <= truth <= change.high + 1e-12
    return {metric: count / rounds for metric, count in right.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "slope", "intercept"),
    [
        (World(600, slope=0.5), 0.5, 0.0),
        (World(600), 0.95, 0.02),
        (World(600, shift=0.3), 1.0, 0.6),
        (World(1000, users=60, alike=0.3, slope=0.7), 0.7, 0.0),
    ],
)
def test_intervals_of_changes_hold(world, slope, intercept):
    assert min(changes_held(world, slope, intercept, 100).values()) >= least(0.95, 100)


def test_intervals_of_changes_hold_quick():
    assert min(changes_held(World(300, slope=0.5), 0.5, 0.0, 20).values()) >= least(0.95, 20)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("clicks", [0, 10])
def test_no_click_or_nothing_but_clicks_has_an_exact_interval(metric, clicks):
    """Ten rows of one prediction: the true share is at most 1 - 0.025 ** (1 / 10), by Clopper and Pearson."""
    p = 0.1 if clicks == 0 else 0.9
    found = tv.pointwise(pl.DataFrame({"p": [p] * 10, "y": [int(clicks > 0)] * 10}), [metric])
    upper = beta.ppf(0.975, 1, 10)
    assert found[metric].low == 0
    assert found[metric].high == pytest.approx(max(upper - 0.1, 0.1))
    assert found.gaps[metric].p > 0.5
    one_bin = 2 * binom.pmf(np.arange(11), 10, 0.1) @ np.abs(np.arange(11) / 10 - 0.1) / 2
    assert found.gaps[metric].by_chance == pytest.approx(one_bin, rel=1e-9 if metric.startswith("ece") else 0.05)


def test_an_impossible_gap_is_told_from_chance():
    found = tv.pointwise(pl.DataFrame({"p": [0.9] * 40, "y": [0] * 40}), list(METRICS))
    for metric in METRICS:
        assert found.gaps[metric].p < 0.01
        assert found[metric].low > 0.5


def test_sure_predictions_that_hold_have_no_gap_and_no_error_to_show():
    found = tv.pointwise(pl.DataFrame({"p": [0.0] * 30 + [1.0] * 30, "y": [0] * 30 + [1] * 30}), ["ece", "mce"])
    for metric in ("ece", "mce"):
        assert (found[metric].value, found[metric].low, found.gaps[metric].by_chance) == (0, 0, 0)
        assert 0 < found[metric].high < 0.2  # thirty rows without a miss do not prove that there is none
        assert found.gaps[metric].p == 1


def test_rows_of_one_user_that_go_together_count_once():
    """Ten copies of every row by the same user tell no more than one, to ece and mce either."""
    table, _ = World(300).draw(1)
    table = table.with_columns(user=pl.int_range(300))
    once, tenfold = (tv.pointwise(t, list(METRICS)) for t in (table, pl.concat([table] * 10)))
    for metric in METRICS:
        assert tenfold[metric].value == pytest.approx(once[metric].value)
        assert tenfold[metric].high == pytest.approx(once[metric].high, rel=0.05)
        assert tenfold.gaps[metric].by_chance == pytest.approx(once.gaps[metric].by_chance, rel=0.05)
    bare = tv.pointwise(pl.concat([table.drop("user")] * 10), list(METRICS))
    assert bare["ece"].high < tenfold["ece"].high
    left, right = (tv.pointwise(t, ["ece"]).reliability().table() for t in (table, pl.concat([table] * 10)))
    assert right["observed_high"].to_numpy() == pytest.approx(left["observed_high"].to_numpy(), rel=0.02)


def test_sizes_of_bins_are_those_of_independent_rows_where_users_are_not_alike():
    sizes = []
    for seed in range(20):
        table, _ = World(2000, users=100).draw(seed)
        data = read_predictions(table)
        gaps = make_gaps(data, make_bins(data, by="mass"), make_clusters(data))
        sizes.append(gaps.size.sum() / 2000)
    assert np.mean(sizes) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    ("table", "metrics", "reason"),
    [
        ({"p": [0.1] * 10, "y": [0] * 10}, ["brier", "logloss"], "too few rows with the rarer kind of label: 0"),
        (
            {"p": [0.1, 0.2, 0.3] * 20, "y": [1, 0, 0, *[0] * 57]},
            ["brier", "auc"],
            "rows with the rarer kind of label: 1",
        ),
        ({"p": [0.9] * 10 + [0.1] * 10, "y": [1] * 10 + [0] * 10}, ["auc", "brier"], "all resamples of rows give"),
        ({"p": [0.5], "y": [1]}, ["brier", "ece", "mce"], "a single row"),
        ({"user": [1] * 20, "p": [0.5, 0.4] * 10, "y": [0, 1] * 10}, ["brier", "ece"], "a single user"),
        (
            {"user": [*range(30), 0, 1], "p": [0.1] * 30 + [0.9] * 2, "y": [0] * 15 + [1] * 17},
            ["gauc"],
            "users with both kinds of label: 2",
        ),
    ],
)
def test_where_no_interval_holds_there_is_none_and_the_reason_is_said(table, metrics, reason):
    found = tv.pointwise(pl.DataFrame(table), metrics)
    for metric in metrics:
        assert math.isfinite(found[metric].value)
        assert math.isnan(found[metric].low)
        assert math.isnan(found[metric].high)
    assert any("no interval for" in text and reason in text for text in found.warnings), found.warnings
    assert "[nan" not in str(found)
    quiet = tv.pointwise(pl.DataFrame(table), metrics, interval="none")
    assert not any("no interval" in text for text in quiet.warnings)


@pytest.mark.parametrize("seed", range(5))
def test_no_interval_has_width_zero(seed):
    """Small tables of all kinds: an interval has a width, or there is none."""
    rng = np.random.default_rng(seed)
    for n in (2, 5, 12, 40):
        for rate in (0.0, 0.05, 0.5, 1.0):
            table = pl.DataFrame(
                {
                    "user": rng.integers(0, 1 + n // 2, n),
                    "p": rng.choice([0.05, 0.3, 0.95], n),
                    "y": rng.random(n) < rate,
                }
            )
            for given_table in (table, table.drop("user")):
                for e in tv.pointwise(given_table, resamples=50).estimates.values():
                    assert math.isnan(e.low) or e.low < e.high


def test_the_number_of_threads_changes_no_bit():
    from threadpoolctl import threadpool_limits

    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            table, _ = World(3000, users=700, alike=0.3, slope=0.8).draw(1)
            one = tv.pointwise(table)
            found.append(repr((one.estimates, one.gaps)))
    assert found[0] == found[1]


def auc_held(n: int, middle: float, rounds: int) -> dict[str, tuple[float, float]]:
    """How often intervals of losses and of auc hold the true value, and how often there is one."""
    world = World(n, middle=middle, spread=1.0)
    large, q = World(400_000, middle=middle, spread=1.0).draw(9)
    p = large["p"].to_numpy()
    order = np.argsort(p)
    lost = np.cumsum((1 - q)[order]) - (1 - q)[order] / 2
    truth = {
        "brier": float(np.mean(q * (1 - q))),
        "logloss": float(-np.mean(q * np.log(p) + (1 - q) * np.log1p(-p))),
        "auc": float((q[order] @ lost) / q.sum() / (1 - q).sum()),
    }
    right, known = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for seed in range(rounds):
        found = tv.pointwise(world.draw(seed)[0], list(truth), resamples=400, seed=seed)
        for metric, value in truth.items():
            known[metric] += not math.isnan(found[metric].low)
            right[metric] += found[metric].low <= value <= found[metric].high
    return {metric: (right[metric] / max(known[metric], 1), known[metric] / rounds) for metric in truth}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "middle"), [(40, 0.0), (200, -2.5), (1000, -4.5), (2000, -1.0)])
def test_intervals_of_losses_and_auc_hold(n, middle):
    """93 % where positives are as few as ten: percentiles of so little are rough even when widened."""
    for metric, (share, known) in auc_held(n, middle, 300).items():
        assert share >= least(0.93, 300), (metric, share)
        assert known > 0.8


def test_intervals_of_losses_and_auc_hold_quick():
    for metric, (share, _) in auc_held(200, -2.0, 40).items():
        assert share >= least(0.93, 40), metric
