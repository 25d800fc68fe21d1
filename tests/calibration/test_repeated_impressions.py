"""Impressions in which a pair of user and item comes again: other rows, unless all that is known of them is equal."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError

METRICS = ["brier", "logloss", "auc", "gauc", "ece"]


def impressions(n: int, seed: int, *, static: bool = False, day: int = 0) -> pl.DataFrame:
    """So many impressions of 20 users and 5 items; `static` predictions are those of the pair, whenever it is shown."""
    rng = np.random.default_rng(seed)
    user, item = rng.integers(0, 20, n), rng.integers(0, 5, n)
    chance = np.random.default_rng(9).uniform(0.1, 0.9, (20, 5))[user, item]
    noise = 0 if static else rng.uniform(-0.1, 0.1, n)
    return pl.DataFrame({
        "user": user, "item": item, "prediction": chance + noise, "label": (rng.random(n) < chance).astype(int),
        "time": day * 10_000 + np.arange(n),
    })  # fmt: skip


TEST, VALIDATION = impressions(900, 1, day=1), impressions(1100, 2)


def naive_auc(p: np.ndarray, y: np.ndarray) -> float:
    wins = [(a > b) + (a == b) / 2 for a in p[y == 1] for b in p[y == 0]]
    return float(np.mean(wins))


def naive_values(p: np.ndarray, y: np.ndarray, user: np.ndarray) -> dict[str, float]:
    """From the formulas; gauc is the mean of the users' values, weighted by their rows."""
    own = [
        (naive_auc(p[user == u], y[user == u]), (user == u).sum())
        for u in np.unique(user)
        if 0 < y[user == u].mean() < 1
    ]
    return {
        "brier": float(np.mean((p - y) ** 2)),
        "logloss": float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))),
        "auc": naive_auc(p, y),
        "gauc": sum(a * n for a, n in own) / sum(n for _, n in own),
    }


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_values_and_intervals_are_those_of_the_rows(static: bool, timed: bool) -> None:
    """Nothing but the checks looks at items: with an item of its own for every row, all is as with repeated pairs."""
    test, validation = (impressions(n, n, static=static, day=n % 7) for n in (900, 1100))
    assert test.select("user", "item").is_duplicated().all()
    if not timed:
        test, validation = test.drop("time"), validation.drop("time")
    found = tv.calibrate(test, validation=validation, metrics=METRICS, resamples=50)
    alone = [t.with_columns(item=pl.int_range(pl.len()) + n) for n, t in ((0, test), (10_000, validation))]
    single = tv.calibrate(alone[0], validation=alone[1], metrics=METRICS, resamples=50)
    for side in ("before", "after"):
        for metric in METRICS:
            one, other = (getattr(result, side)[metric] for result in (found, single))
            assert (one.value, one.low, one.high) == (other.value, other.low, other.high)
            assert one.low <= one.value <= one.high or metric == "ece"
    for side, column in (("before", "prediction"), ("after", "calibrated")):
        p, y, user = (found.frame[name].to_numpy() for name in (column, "label", "user"))
        for metric, value in naive_values(p, y, user).items():
            assert getattr(found, side)[metric].value == pytest.approx(value, abs=1e-12), (side, metric)
    doubts = [text for text in found.warnings if "rows of" in text]
    assert len(doubts) == (static and not timed)


def test_the_interval_is_over_users_not_over_rows() -> None:
    """Rows of a user that come again ten times are no new users: the interval hardly becomes narrower."""
    again = pl.concat([TEST.with_columns(pl.col("time") + 10_000 * day) for day in range(10)])
    once, often = (
        tv.calibrate(table, validation=VALIDATION, metrics=["brier"], resamples=400).before["brier"]
        for table in (TEST, again)
    )
    assert often.value == pytest.approx(once.value, abs=1e-12)
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=1e-9)


@pytest.mark.parametrize("number", [1, 7, 900])
@pytest.mark.parametrize("form", ["as it was", "single precision", "ids as text and sorted", "without time"])
def test_rows_that_are_in_both_parts_are_refused_and_counted(number: int, form: str) -> None:
    leaked = pl.concat([VALIDATION, TEST[:number]])
    test = TEST
    if form == "single precision":
        leaked = leaked.with_columns(pl.col("prediction").cast(pl.Float32).cast(pl.Float64))
    elif form == "ids as text and sorted":
        leaked, test = (
            t.with_columns(pl.format("u{}", "user").alias("user")).sort("prediction") for t in (leaked, test)
        )
    elif form == "without time":
        leaked = leaked.drop("time")
    with pytest.raises(DataError, match=r"share rows|fitted on rows") as caught:
        tv.calibrate(test, validation=leaked)
    assert f"{number:,} row" in caught.value.found or number == 1
    if form == "without time":
        assert "really shown twice, name it with columns={'validation.time': …}" in caught.value.do
        renamed = leaked.with_columns(shown_at=0)
        with pytest.raises(DataError, match=r"share rows|fitted on rows") as caught:
            tv.calibrate(test, validation=renamed)
        assert "columns={'validation.time': 'shown_at'} (--columns validation.time=shown_at)" in caught.value.do


def test_one_pair_at_one_time_with_another_prediction_is_said() -> None:
    """Two slots of one page, or one impression predicted twice: nobody but the reader knows."""
    slots = TEST[:40].with_columns(prediction=pl.col("prediction") / 2)
    found = tv.calibrate(TEST, validation=pl.concat([VALIDATION, slots]), metrics=["brier"], interval="none")
    assert [text for text in found.warnings if text.startswith("40 rows of predictions have user, item and time")]


def test_the_command_takes_impressions(trueval, tmp_path) -> None:
    TEST.write_csv(tmp_path / "test.csv")
    VALIDATION.write_csv(tmp_path / "validation.csv")
    ran = trueval("calibrate", tmp_path / "test.csv", "--validation", tmp_path / "validation.csv")
    assert ran.code == 0, ran.err
