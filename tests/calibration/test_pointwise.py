"""Pointwise metrics: agreement with scikit-learn and with naive forms, invariants, intervals, errors."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_worlds import sigmoid, tables, world
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import trueval as tv
from trueval.calibration.bins import make_bins, reliability, wilson
from trueval.calibration.losses import brier_parts
from trueval.calibration.metrics import POINTWISE, parse_point
from trueval.calibration.predictions import read_predictions
from trueval.calibration.resampling import MOST_GROUPS
from trueval.errors import DataError, DefinitionError

TOY = pl.DataFrame({"p": [0.8] * 5 + [0.2] * 5, "y": [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]})
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
    estimates = [tv.pointwise(world(n, s, slope=slope), ["ece"], resamples=resamples)["ece"] for s in range(worlds)]
    return sum(e.low <= truth <= e.high for e in estimates) / worlds


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_intervals_of_ece_hold_the_true_value(slope):
    assert covered(slope, worlds=30, n=600, resamples=200) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.8, 0.5])
def test_intervals_of_ece_hold_the_true_value_in_full(slope):
    assert 0.9 <= covered(slope, worlds=400, n=2000, resamples=500) <= 1


def test_the_gap_of_chance_is_what_perfect_predictions_show():
    seen = [reliability(read_predictions(world(1000, seed))) for seed in range(60)]
    assert np.mean([r.ece for r in seen]) == pytest.approx(np.mean([r.ece_by_chance for r in seen]), rel=0.1)


def test_wilson_against_scipy():
    from scipy.stats import binomtest

    low, high = wilson(np.array([0.3, 1.0]), np.array([20.0, 8.0]))
    for place, (hits, n) in enumerate([(6, 20), (8, 8)]):
        exact = binomtest(hits, n).proportion_ci(method="wilson")
        assert (low[place], high[place]) == pytest.approx((exact.low, exact.high))


@given(tables(), st.integers(1, 6))
def test_bins_of_equal_mass_part_no_ties_and_are_as_even_as_ties_allow(table, bins):
    data = read_predictions(table)
    made = make_bins(data, bins=bins, by="mass")
    for value in set(data.value.tolist()):
        assert len(set(made.of_row[data.value == value].tolist())) == 1
    heaviest_tie = max(data.weights[data.value == v].sum() for v in data.value)
    assert made.total(data.weights).max() <= data.weights.sum() / bins + heaviest_tie
    assert len(made) <= bins


def test_infinite_logloss_is_said_and_can_be_bounded():
    table = pl.DataFrame({"p": [0.0, 0.5, 1.0, 1.0], "y": [1, 0, 1, 0]})
    found = tv.pointwise(table, ["logloss"])
    assert found["logloss"].value == math.inf
    assert math.isnan(found["logloss"].low)
    assert "2 rows give probability 0" in found.warnings[0]
    assert found.to_dict()["metrics"]["logloss"]["value"] is None
    bounded = tv.pointwise(table, ["logloss"], clip=0.01)
    expected = -(2 * math.log(0.01) + math.log(0.5) + math.log(0.99)) / 4
    assert bounded["logloss"].value == pytest.approx(expected)
    assert "3 of 4 rows were clipped" in bounded.warnings[0]


def test_users_with_one_class_are_counted():
    table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "p": [0.1, 0.2, 0.4, 0.3, 0.5], "y": [0, 1, 1, 1, 0]})
    found = tv.pointwise(table)
    assert (found["gauc"].value, found["gauc"].n, found["gauc"].undefined) == (1.0, 1, 2)
    assert any("2 of 3 users" in text for text in found.warnings)


def test_one_class_leaves_auc_undefined():
    found = tv.pointwise(pl.DataFrame({"p": [0.1, 0.2], "y": [0, 0]}))
    assert math.isnan(found["auc"].value)
    assert (found["auc"].n, found["auc"].undefined) == (0, 2)
    assert "undefined" in str(found)


def test_scores_have_an_area_but_no_loss():
    table = pl.DataFrame({"score": [-3.0, 2.0, 7.0], "y": [0, 1, 1]})
    assert tv.pointwise(table, ["auc"])["auc"].value == 1
    with pytest.raises(DataError, match="not probabilities") as caught:
        tv.pointwise(table, ["auc", "brier"])
    assert "row 1: prediction -3.0" in caught.value.found
    assert "3 rows" in caught.value.found


@pytest.mark.parametrize(
    ("columns", "what", "found"),
    [
        ({"p": [0.5, 1.5], "y": [0, 1]}, "not probabilities", "row 2: prediction 1.5"),
        ({"p": [0.5, -0.1], "y": [0, 1]}, "not probabilities", "row 2: prediction -0.1"),
        ({"p": [0.5, math.nan], "y": [0, 1]}, "finite numbers", "row 2: prediction nan"),
        ({"p": [0.5, None], "y": [0, 1]}, "finite numbers", "row 2: prediction None"),
        ({"p": ["0.5", "high"], "y": [0, 1]}, "must be numbers", "row 2: prediction 'high'"),
        ({"p": [0.5, 0.4], "y": [0, 2]}, "labels must be 0 or 1", "row 2: label 2"),
        ({"p": [0.5, 0.4], "y": [-1, 1]}, "labels must be 0 or 1", "row 1: label -1"),
        ({"p": [0.5, 0.4], "y": [0, None]}, "labels must be 0 or 1", "row 2: label None"),
        ({"p": [0.5, 0.4], "y": ["no", "yes"]}, "labels must be 0 or 1", "row 1: label 'no'"),
        ({"p": [0.5, 0.4], "y": [0, 1], "weight": [1, -1]}, "not be negative", "row 2: weight -1"),
        ({"p": [0.5, 0.4], "y": [0, 1], "weight": [0, 0]}, "all weights are 0", ""),
        ({"p": [0.5, 0.4], "y": [0, 1], "user": [None, 1]}, "user ids are missing", "row 1"),
        ({"p": [0.5, 0.4]}, "there is no label column", "columns p"),
        ({"q": [0.5, 0.4], "y": [0, 1]}, "there is no prediction column", "columns q, y"),
        ({"p": [0.5], "pred": [0.5], "y": [1]}, "more than one column looks like the prediction", "p, pred"),
        ({"p": [], "y": []}, "the table is empty", "0 rows"),
    ],
)
def test_bad_tables(columns, what, found):
    with pytest.raises(DataError, match=what) as caught:
        tv.pointwise(pl.DataFrame(columns, strict=False))
    assert found in caught.value.found


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("ecce", "unknown pointwise metric"),
        ("ece[bin=3]", "no parameter 'bin'"),
        ("ece[bins=2.5]", "whole number"),
        ("ece[bins=0]", "must be from 1"),
        ("ece[by=size]", "cannot be 'size'"),
        ("brier[bins=3]", "no parameter"),
        ("ece[bins=3,bins=4]", "once"),
        ("ece@10", "name"),
    ],
)
def test_bad_metrics(metric, what):
    with pytest.raises(DefinitionError, match=what):
        tv.pointwise(TOY, [metric])


def test_bad_choices():
    with pytest.raises(DefinitionError, match="the same metric twice"):
        tv.pointwise(TOY, ["ece", "ece[bins=10]"])
    with pytest.raises(DefinitionError, match="no metric"):
        tv.pointwise(TOY, [])
    for clip in (0, 0.5, -1, math.nan):
        with pytest.raises(DefinitionError, match="clip"):
            tv.pointwise(TOY, clip=clip)
    with pytest.raises(DefinitionError, match="interval"):
        tv.pointwise(TOY, interval="t")
    with pytest.raises(DataError, match="gauc needs to know the users"):
        tv.pointwise(TOY, ["gauc"])
    with pytest.raises(DefinitionError, match="too many bins"):
        tv.pointwise(world(8000, 1), ["ece[by=value]"], columns="user=")
    with pytest.raises(DefinitionError, match="whole number"):
        tv.pointwise(TOY).reliability(bins=0)


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


def test_pandas_and_files_give_the_same(tmp_path):
    table = world(200, 9)
    expected = repr(tv.pointwise(table, resamples=20).estimates)
    assert repr(tv.pointwise(table.to_pandas(), resamples=20).estimates) == expected
    for name in ("t.csv", "t.parquet", "t.jsonl", "t.tsv"):
        path = tmp_path / name
        suffix = path.suffix
        writers = {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson", ".tsv": "write_csv"}
        extra = {"separator": "\t"} if suffix == ".tsv" else {}
        getattr(table, writers[suffix])(path, **extra)
        assert repr(tv.pointwise(str(path), resamples=20).estimates) == expected, name


def test_a_result_prints_and_tells_its_definitions():
    found = tv.pointwise(world(500, 10, slope=0.5), resamples=50)
    text = str(found)
    assert "logloss ↓" in text
    assert "◆" in text
    assert "ece[by=mass] = " in text
    assert "95 % bootstrap over 30 users" in text
    assert found.table().columns == ["metric", "value", "low", "high", "n", "undefined"]
    diagram = found.reliability(bins=5).table()
    assert diagram["n"].sum() == 500
    assert set(diagram.columns) >= {"bin", "n", "predicted", "observed", "observed_low", "observed_high"}
