"""Platt's sigmoid and isotonic regression: what they fit, what they keep, how they are saved."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from prediction_worlds import sigmoid, tables, world
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import trueval as tv
from trueval.calibration.calibrator import Calibrator
from trueval.calibration.predictions import read_predictions
from trueval.calibration.reliability import reliability
from trueval.errors import DataError, DefinitionError, OutputError


def scores(n: int, seed: int, slope: float, intercept: float) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(1, 4, n)
    return pl.DataFrame({"score": x, "label": (rng.random(n) < sigmoid(slope * x + intercept)).astype(int)})


def test_platt_recovers_known_parameters():
    of_scores = tv.fit_calibrator(scores(200_000, 1, 0.3, -0.7))
    assert (of_scores.input, of_scores.slope, of_scores.intercept) == (
        "score",
        pytest.approx(0.3, abs=0.01),
        pytest.approx(-0.7, abs=0.02),
    )
    of_probabilities = tv.fit_calibrator(world(200_000, 2, slope=0.6, intercept=0.4))
    assert of_probabilities.input == "probability"
    assert of_probabilities.slope == pytest.approx(0.6, abs=0.02)
    assert of_probabilities.intercept == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_agrees_with_logistic_regression_on_platts_targets(weighted):
    """A target between 0 and 1 is the same as a positive and a negative row with that much weight each."""
    table = scores(300, 3, 0.4, -0.2)
    w = np.random.default_rng(4).integers(1, 5, 300).astype(float) if weighted else np.ones(300)
    if weighted:
        table = table.with_columns(weight=pl.Series(w))
    y, x = table["label"].to_numpy(), table["score"].to_numpy()
    up, down = w[y == 1].sum(), w[y == 0].sum()
    target = np.where(y == 1, (up + 1) / (up + 2), 1 / (down + 2))
    twice = np.concatenate([x, x])[:, None]
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    model.fit(twice, np.repeat([1, 0], 300), sample_weight=np.concatenate([w * target, w * (1 - target)]))
    found = tv.fit_calibrator(table)
    assert found.slope == pytest.approx(model.coef_[0, 0], rel=1e-4)
    assert found.intercept == pytest.approx(model.intercept_[0], rel=1e-4)


def test_platt_stays_finite_where_a_threshold_separates():
    table = pl.DataFrame({"score": np.arange(20.0), "y": [0] * 10 + [1] * 10})
    found = tv.fit_calibrator(table)
    assert 0 < found.slope < 100
    assert math.isfinite(found.intercept)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_platt_does_not_mind_the_scale_of_scores(scale):
    table = scores(5000, 5, 0.4, -0.2)
    one = tv.fit_calibrator(table).apply(table["score"])
    other = table.with_columns(pl.col("score") * scale + 3 * scale)
    again = tv.fit_calibrator(other, input="score").apply(other["score"])
    assert again == pytest.approx(one, abs=1e-7)


@given(tables(least=2))
def test_isotonic_agrees_with_scikit_learn(table):
    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    model.fit(table["prediction"], table["label"], sample_weight=table["weight"])
    fitted = model.predict(table["prediction"])
    assume(fitted.max() - fitted.min() > 1e-9)
    found = tv.fit_calibrator(table, method="isotonic")
    anywhere = np.linspace(0, 1, 101)
    assert found.apply(table["prediction"]) == pytest.approx(fitted, abs=1e-9)
    assert found.apply(anywhere) == pytest.approx(model.predict(anywhere), abs=1e-9)


@given(tables(least=2))
def test_isotonic_in_sample_leaves_no_gap(table):
    try:
        found = tv.fit_calibrator(table, method="isotonic")
    except DataError:
        assume(False)
    moved = table.with_columns(prediction=found.apply(table["prediction"]).round(12))
    assert reliability(read_predictions(moved), by="value").ece < 1e-9


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_ranking_is_kept(method):
    table = world(3000, 6, slope=0.5)
    found = tv.fit_calibrator(table, method=method)
    p = np.sort(np.random.default_rng(7).random(5000))
    steps = np.diff(found.apply(p))
    assert (steps > 0).all() if method == "platt" else (steps >= 0).all()
    if method == "isotonic":
        assert (steps == 0).any()
        assert "ties" in found.description


def test_a_falling_relation_is_an_error_that_says_what_it_means():
    table = world(500, 8).with_columns(label=1 - pl.col("label"))
    with pytest.raises(DataError, match="higher predictions go with fewer positives") as caught:
        tv.fit_calibrator(table)
    assert "slope is -" in caught.value.found
    assert "upside down" in caught.value.found
    strictly = pl.DataFrame({"p": [0.1, 0.2, 0.8, 0.9], "y": [1, 1, 0, 0]})
    with pytest.raises(DataError, match="do not go with more positives"):
        tv.fit_calibrator(strictly, method="isotonic")


def test_log_odds_of_certainty_need_a_clip():
    table = pl.DataFrame({"p": [0.0, 0.3, 0.7, 1.0, 0.6, 0.2], "y": [0, 1, 0, 1, 1, 0]})
    with pytest.raises(DataError, match="exactly 0 or 1 are infinite") as caught:
        tv.fit_calibrator(table)
    assert "2 of 6 rows" in caught.value.found
    found = tv.fit_calibrator(table, clip=1e-3)
    assert found.apply([0.0, 1e-3]).tolist() == found.apply([1e-3, 0.0]).tolist()
    assert 0 < found.apply([0.0])[0] < found.apply([1.0])[0] < 1
    without = tv.fit_calibrator(pl.DataFrame({"p": [0.3, 0.7, 0.6, 0.2], "y": [1, 0, 1, 0]}))
    assert without.apply([0.0, 1.0]).tolist() == [0, 1]


def test_input_can_be_said():
    table = world(2000, 9)
    assert tv.fit_calibrator(table, input="score").input == "score"
    with pytest.raises(DataError, match="not probabilities"):
        tv.fit_calibrator(scores(50, 1, 1, 0), input="probability")
    with pytest.raises(DefinitionError, match="unknown input"):
        tv.fit_calibrator(table, input="logit")
    with pytest.raises(DefinitionError, match="unknown method"):
        tv.fit_calibrator(table, method="beta")


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"p": [0.1, 0.2], "y": [1, 1]}, "all labels of the validation part are equal"),
        ({"p": [0.1, 0.2, 0.3], "y": [1, 1, 0], "weight": [1, 1, 0]}, "all labels of the validation part are equal"),
        ({"p": [0.1, 0.1], "y": [1, 0]}, "are equal"),
    ],
)
@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_nothing_to_fit_on(columns, what, method):
    with pytest.raises(DataError, match=what):
        tv.fit_calibrator(pl.DataFrame(columns), method=method)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize(
    ("given", "what"),
    [([0.5, math.nan], "finite"), ([0.5, None], "numbers"), ([0.5, 1.5], "takes probabilities"), (["a"], "numbers")],
)
def test_apply_refuses_what_is_no_prediction(method, given, what):
    found = tv.fit_calibrator(world(300, 10), method=method)
    with pytest.raises(DataError, match=what):
        found.apply(given)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_saved_and_loaded(method, tmp_path):
    found = tv.fit_calibrator(world(2000, 11, slope=0.5), method=method, clip=1e-6)
    found.save(tmp_path / "calibrator.json")
    again = tv.Calibrator.load(tmp_path / "calibrator.json")
    p = np.linspace(0, 1, 1001)
    assert again.apply(p).tolist() == found.apply(p).tolist()
    assert again.fitted_on == found.fitted_on
    assert [f.name for f in tmp_path.iterdir()] == ["calibrator.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"trueval": "facts"}, {"version": 9}, {"slope": -1.0}, {"slope": None}, {"method": "beta"}, {"input": "auto"},
        {"method": "isotonic", "knots": []}, {"method": "isotonic", "knots": [[0, 0.5], [1, 0.2]]},
        {"method": "isotonic", "knots": [[0, 0.5], [0, 0.7]]}, {"method": "isotonic", "knots": [[0, 0.5, 1]]},
    ],
)  # fmt: skip
def test_a_broken_file_is_no_calibrator(change, tmp_path):
    record = Calibrator("platt", "probability", slope=2.0).to_dict() | change
    path = tmp_path / "c.json"
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="this is not a calibrator"):
        tv.Calibrator.load(path)


def test_files_that_cannot_be_read_or_written(tmp_path):
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(DataError, match="this is not a calibrator"):
        tv.Calibrator.load(tmp_path / "c.json")
    with pytest.raises(DataError, match="could not be read"):
        tv.Calibrator.load(tmp_path / "none.json")
    with pytest.raises(OutputError, match="could not be written"):
        Calibrator("platt", "score", slope=1.0).save(tmp_path / "no" / "c.json")
