"""Pointwise metrics: agreement with scikit-learn and with naive forms, invariants, intervals, errors."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_worlds import TOY, sigmoid, tables, world
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import trueval as tv
from trueval.calibration.bins import make_bins
from trueval.calibration.losses import brier_parts
from trueval.calibration.metrics import POINTWISE, parse_point
from trueval.calibration.predictions import read_predictions
from trueval.calibration.reliability import reliability
from trueval.statistics.resampling import MOST_GROUPS

ALL = ["logloss", "brier", "auc", "gauc", "ece", "ece[by=mass]", "ece[by=value]", "mce", "ece[bins=3]"]


def values(table: pl.DataFrame, metrics: list[str] = ALL) -> dict[str, float]:
    return {k: e.value for k, e in tv.pointwise(table, metrics, interval="none").estimates.items()}


def test_the_documents_toy():
    """Two bins of five: predicted .8 and observed 3/5, predicted .2 and observed 1/5."""
    found = values(TOY, ["ece", "ece[by=mass]", "ece[by=value]", "ece[bins=2]", "mce"])
    assert found == pytest.approx(
        {"ece": 0.1, "ece[by=mass]": 0.1, "ece[by=value]": 0.1, "ece[bins=2]": 0.1, "mce": 0.2}
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(weighted):
    table = world(3000, 1).with_columns(pl.col("prediction").round(2).clip(0.01, 0.99))
    w = np.random.default_rng(2).random(3000) + 0.1 if weighted else None
    if weighted:
        table = table.with_columns(weight=pl.Series(w))
    y, p = table["label"].to_numpy(), table["prediction"].to_numpy()
    found = values(table, ["logloss", "brier", "auc"])
    assert found["logloss"] == pytest.approx(log_loss(y, p, sample_weight=w), rel=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=w), rel=1e-12)
    assert found["auc"] == pytest.approx(roc_auc_score(y, p, sample_weight=w), rel=1e-12)


def test_a_row_without_weight_has_no_say_in_logloss():
    """By itself it would be infinite, and 0·∞ is no number."""
    table = pl.DataFrame({"prediction": [0.8, 0.4, 1.0, 0.0], "label": [1, 0, 0, 1], "weight": [1.0, 3.0, 0.0, 0.0]})
    expected = -(math.log(0.8) + 3 * math.log(0.6)) / 4
    found = tv.pointwise(table, ["logloss"], interval="none")
    assert found.estimates["logloss"].value == pytest.approx(expected, rel=1e-12)
    assert not any("infinite" in text for text in found.warnings)
    heavier = tv.pointwise(table.with_columns(weight=pl.Series([1.0, 3.0, 0.0, 0.5])), ["logloss"], interval="none")
    assert heavier.estimates["logloss"].value == math.inf
    assert any("1 row gives probability 0" in text for text in heavier.warnings)


@pytest.mark.parametrize(("by", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_reliability_agrees_with_calibration_curve(by, strategy):
    """Sizes that ten bins divide, for scikit-learn interpolates quantiles and we do not."""
    table = world(4000, 3)
    observed, predicted = calibration_curve(table["label"], table["prediction"], n_bins=10, strategy=strategy)
    found = reliability(read_predictions(table), bins=10, by=by)
    assert found.observed == pytest.approx(observed, rel=1e-12)
    assert found.predicted == pytest.approx(predicted, rel=1e-12)


def naive_auc(rows: list[tuple[float, int, float]]) -> float:
    pairs = [(p, q, v * w) for p, y, v in rows for q, z, w in rows if y == 1 and z == 0]
    if not pairs:
        return math.nan
    return sum(w * ((p > q) + (p == q) / 2) for p, q, w in pairs) / sum(w for *_, w in pairs)


def naive_ece(rows: list[tuple[float, int, float]], bins: int, worst: bool = False) -> float:
    """Bins of equal width, closed above; predictions on the grid of twentieths."""
    cells: dict[int, list[tuple[float, int, float]]] = {}
    for p, y, w in rows:
        cells.setdefault(max(0, math.ceil(round(p * 20) * bins / 20) - 1), []).append((p, y, w))
    gaps = [(sum(w for *_, w in c), abs(sum(w * (p - y) for p, y, w in c))) for c in cells.values()]
    if worst:
        return max(gap / weight for weight, gap in gaps)
    return sum(gap for _, gap in gaps) / sum(weight for weight, _ in gaps)


@given(tables())
def test_against_naive_forms(table):
    rows = table.select("prediction", "label", "weight").rows()
    found = values(table, ["auc", "gauc", "ece[bins=4]", "mce[bins=5]", "brier", "logloss"])
    total = sum(w for *_, w in rows)
    by_user = {u: frame.select("prediction", "label", "weight").rows() for (u,), frame in table.group_by("user")}
    own = [(sum(w for *_, w in r), naive_auc(r)) for r in by_user.values()]
    own = [(w, a) for w, a in own if not math.isnan(a)]
    expected = {
        "auc": naive_auc(rows),
        "gauc": sum(w * a for w, a in own) / sum(w for w, _ in own) if own else math.nan,
        "ece[bins=4]": naive_ece(rows, 4),
        "mce[bins=5]": naive_ece(rows, 5, worst=True),
        "brier": sum(w * (p - y) ** 2 for p, y, w in rows) / total,
        "logloss": sum(-w * math.log(p if y else 1 - p) for p, y, w in rows) / total,
    }
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(tables(), st.sampled_from(["width", "mass", "value"]), st.integers(1, 7))
def test_brier_is_the_sum_of_its_parts(table, by, bins):
    parts = brier_parts(read_predictions(table), bins=bins, by=by)
    assert parts.brier == pytest.approx(
        parts.reliability - parts.resolution + parts.uncertainty + parts.within_variance - 2 * parts.within_covariance,
        abs=1e-12,
    )
    if by == "value":
        assert abs(parts.within) < 1e-12
    assert min(parts.reliability, parts.resolution, parts.within_variance) >= 0


@given(tables())
def test_a_whole_weight_is_so_many_rows(table):
    repeated = table.select(pl.exclude("weight").repeat_by("weight")).explode(pl.all())
    assert values(table) == pytest.approx(values(repeated), abs=1e-12, nan_ok=True)


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_users_change_no_bit(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    shuffled = table[order].with_columns(user=pl.format("user {}", "user"))
    left, right = (tv.pointwise(t, ALL, resamples=20).estimates for t in (table, shuffled))
    assert repr(left) == repr(right)


def test_a_large_table_in_groups_does_not_depend_on_the_order_of_rows():
    table = world(3 * MOST_GROUPS, 4).drop("user", "item").with_columns(pl.col("prediction").round(3))
    left = tv.pointwise(table, ["logloss", "auc", "ece"], resamples=50)
    right = tv.pointwise(table.sample(fraction=1, shuffle=True, seed=1), ["logloss", "auc", "ece"], resamples=50)
    assert repr(left.estimates) == repr(right.estimates)
    assert "random groups" in left.manifest["interval"]


def test_groups_give_the_width_that_theory_gives():
    n = 40_000
    table = world(n, 5, users=10 * MOST_GROUPS)
    for given_table in (table, table.drop("user")):
        e = tv.pointwise(given_table, ["brier"])["brier"]
        error = ((table["prediction"] - table["label"]) ** 2).std() / math.sqrt(n)
        assert (e.high - e.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_the_interval_of_auc_has_the_width_that_theory_gives():
    """DeLong's variance from the placements of positives and negatives; far more values than bins of the sums."""
    table = world(6000, 6).drop("user")
    y, p = table["label"].to_numpy(), table["prediction"].to_numpy()
    up, down = np.sort(p[y == 1]), np.sort(p[y == 0])
    beaten = np.searchsorted(down, up) / len(down)
    beating = 1 - np.searchsorted(up, down) / len(up)
    error = math.sqrt(beaten.var() / len(up) + beating.var() / len(down))
    e = tv.pointwise(table, ["auc"])["auc"]
    assert (e.high - e.low) / 2 == pytest.approx(1.96 * error, rel=0.08)
    assert (e.high + e.low) / 2 == pytest.approx(e.value, abs=error / 4)


def test_rows_of_one_user_are_drawn_together():
    """Ten copies of every row by the same user tell no more than one."""
    table = world(300, 7, users=300).with_columns(user=pl.int_range(300))
    once, tenfold = (tv.pointwise(t, ["brier", "auc"])["brier"] for t in (table, pl.concat([table] * 10)))
    assert tenfold.value == pytest.approx(once.value)
    assert tenfold.high - tenfold.low == pytest.approx(once.high - once.low, rel=1e-9)


def covered(slope: float, *, worlds: int, n: int, resamples: int) -> float:
    """Share of worlds whose interval of ECE (bins of equal width) holds the true one."""
    x = np.random.default_rng(99).normal(-0.5, 1.3, 400_000)
    p, q = sigmoid(x), sigmoid(slope * x)
    cell = np.minimum((p * 10).astype(int), 9)
    truth = np.abs(np.bincount(cell, p) - np.bincount(cell, q)).sum() / len(x)
    truth = 0.0 if slope == 1 else truth
    estimates = [
        tv.pointwise(world(n, s, slope=slope, users=n), ["ece"], resamples=resamples)["ece"] for s in range(worlds)
    ]
    return sum(e.low <= truth <= e.high for e in estimates) / worlds


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_intervals_of_ece_hold_the_true_value(slope):
    assert covered(slope, worlds=40, n=600, resamples=200) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.8, 0.5])
def test_intervals_of_ece_hold_the_true_value_in_full(slope):
    assert covered(slope, worlds=400, n=2000, resamples=500) >= 0.95


def test_the_gap_of_chance_is_what_perfect_predictions_show():
    seen = [reliability(read_predictions(world(1000, seed))) for seed in range(60)]
    assert np.mean([r.ece for r in seen]) == pytest.approx(np.mean([r.ece_by_chance for r in seen]), rel=0.1)


@given(tables(), st.integers(1, 6))
def test_bins_of_equal_mass_part_no_ties_and_are_as_even_as_ties_allow(table, bins):
    data = read_predictions(table)
    made = make_bins(data, bins=bins, by="mass")
    for value in set(data.value.tolist()):
        assert len(set(made.of_row[data.value == value].tolist())) == 1
    heaviest_tie = max(data.weights[data.value == v].sum() for v in data.value)
    assert made.total(data.weights).max() <= data.weights.sum() / bins + heaviest_tie
    assert len(made) <= bins


@pytest.mark.parametrize("name", list(POINTWISE))
def test_ranges_and_directions_hold(name):
    metric = POINTWISE[name].name
    low, high = POINTWISE[name].range
    table = world(500, 8)
    good, bad = (
        table.with_columns(prediction=pl.col("label") * 0.9 + 0.05),
        table.with_columns(prediction=0.95 - pl.col("label") * 0.9),
    )
    found = {key: tv.pointwise(t, [metric], interval="none")[metric].value for key, t in (("good", good), ("bad", bad))}
    assert all(low <= value <= high for value in found.values())
    assert (found["good"] > found["bad"]) == (POINTWISE[name].better == "higher")
    assert str(parse_point(metric)) == metric
