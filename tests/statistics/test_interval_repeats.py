"""Evaluations over folds and seeds: means, deviations, and intervals over them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import trueval as tv
from trueval.evaluation.estimate import Sums, estimate_all
from trueval.evaluation.interval_method import IntervalMethod, describe_interval
from trueval.evaluation.repeats import Repeated, _without_users, nested_error
from trueval.metrics.metric_values import same
from trueval.statistics.jackknife import JackknifeReplicates

METRICS = "ndcg@5,coverage@5"


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    items = np.minimum(rng.geometric(0.05, size=900), 60)
    return pl.DataFrame({"user": rng.integers(0, 60, size=900), "item": items}).unique(maintain_order=True)


@pytest.fixture(scope="module")
def folds(log: pl.DataFrame) -> list[tv.Parts]:
    return tv.split(log, "kfold", n=5)


def test_the_toy_of_five_folds():
    found = Repeated.of([0.40, 0.41, 0.42, 0.43, 0.44])
    assert (round(found.mean, 3), round(found.sd, 4), round(found.error, 5)) == (0.420, 0.0158, 0.00707)
    assert (round(found.low, 3), round(found.high, 3)) == (0.400, 0.440)


def test_gains_that_do_not_suffice():
    found = Repeated.of([0.01, -0.01, 0.02, -0.01, 0.0])
    assert (round(found.mean, 3), round(found.error, 4)) == (0.002, 0.0058)
    assert (round(found.low, 3), round(found.high, 3)) == (-0.014, 0.018)
    other = Repeated.of([0.012, -0.006, 0.011, -0.004, 0.002])
    assert (round(other.low, 3), round(other.high, 3)) == (-0.007, 0.013)


def test_folds_have_a_mean_a_deviation_and_students_t(folds):
    result = tv.evaluate(folds, ["popularity"], metrics=METRICS, interval="t")
    single = [tv.evaluate(fold, ["popularity"], metrics=METRICS, interval="none") for fold in folds]
    for metric in METRICS.split(","):
        values = np.array([one["popularity", metric].value for one in single])
        e = result["popularity", metric]
        low, high = stats.t(4, values.mean(), stats.sem(values)).interval(0.95)
        assert (e.value, e.low, e.high, e.n) == pytest.approx((values.mean(), low, high, 5))
        row = result.per_repeat.filter(pl.col("metric") == metric).row(0, named=True)
        assert row["sd"] == pytest.approx(values.std(ddof=1))
        assert [row[f"fold {k}"] for k in range(1, 6)] == pytest.approx(values.tolist())
    assert "95 % Student t over folds (5), users fixed" in str(result)
    assert f"{single[2]['popularity', 'ndcg@5'].value:.4f}" in str(result)  # every fold is shown
    assert result.manifest["repeats"]["names"] == [f"fold {k}" for k in range(1, 6)]
    assert result.per_user["repeat"].n_unique() == 5
    assert result.to_dict()["repeats"][0]["fold 1"] == pytest.approx(single[0]["popularity", "ndcg@5"].value)


def test_seeds_repeat_what_is_random(folds):
    result = tv.evaluate(folds[0], ["random", "popularity"], metrics="ndcg@5", seed=[3, 4, 5])
    apart = [tv.evaluate(folds[0], ["random"], metrics="ndcg@5", seed=s)["random", "ndcg@5"].value for s in (3, 4, 5)]
    assert result["random", "ndcg@5"].value == pytest.approx(np.mean(apart))
    assert result.manifest["seed"] == [3, 4, 5]
    assert len(set(apart)) == 3


def test_seeds_of_a_fold_are_no_new_folds(folds):
    """Folds and seeds: as many repeats as folds, each with the mean over its seeds."""
    result = tv.evaluate(folds[:3], ["random"], metrics="ndcg@5", seed=[0, 1], interval="t")
    values = [
        np.mean([tv.evaluate(fold, ["random"], metrics="ndcg@5", seed=s)["random", "ndcg@5"].value for s in (0, 1)])
        for fold in folds[:3]
    ]
    e, expected = result["random", "ndcg@5"], Repeated.of(values)
    assert (e.value, e.low, e.high, e.n) == pytest.approx((expected.mean, expected.low, expected.high, 3))


def test_one_fold_has_no_interval_and_that_is_said(folds):
    result = tv.evaluate(folds[:1], ["popularity"], metrics="ndcg@5", interval="t")
    assert np.isnan(result["popularity", "ndcg@5"].low)
    assert any("interval over folds needs" in note for note in result.warnings)


def test_nested_over_one_fold_is_over_users(folds):
    result = tv.evaluate(folds[:1], ["popularity"], metrics="ndcg@5")
    users = tv.evaluate(folds[0], ["popularity"], metrics="ndcg@5", interval="t")["popularity", "ndcg@5"]
    found = result["popularity", "ndcg@5"]
    assert (found.low, found.high) == pytest.approx((users.low, users.high))
    assert any("do not include variation between folds" in note for note in result.warnings)


def test_a_system_without_chance_has_an_interval_over_users_whatever_the_seeds(folds):
    """Three seeds repeat the same value: an interval over seeds alone would have no width."""
    options = {"metrics": "ndcg@5", "ties": "expected"}
    result = tv.evaluate(folds[0], ["popularity"], **options, seed=[1, 2, 3])
    users = tv.evaluate(folds[0], ["popularity"], **options, interval="t")["popularity", "ndcg@5"]
    found = result["popularity", "ndcg@5"]
    assert (found.low, found.high) == pytest.approx((users.low, users.high))
    assert "95 % Student t over users and seeds (3)" in str(result)
    alone = tv.evaluate(folds[0], ["popularity"], **options, seed=[1, 2, 3], interval="t")
    assert np.isnan(alone["popularity", "ndcg@5"].low)
    assert any("no interval: nothing varies here" in note for note in alone.warnings)


def test_windows_are_called_so(log):
    timed = log.with_columns(time=pl.int_range(pl.len()))
    windows = tv.split(timed, "rolling", windows=3, ratio=0.5)
    names = tv.evaluate(windows, ["popularity"], metrics="ndcg@5").manifest["repeats"]
    assert names["of"] == "windows"


@pytest.mark.parametrize("interval", ["nested", "bootstrap", "bca"])
def test_users_count_too_where_asked(folds, interval):
    result = tv.evaluate(folds, ["popularity"], metrics=METRICS, interval=interval)
    for metric in METRICS.split(","):
        e = result["popularity", metric]
        assert e.low < e.value < e.high
    assert result["popularity", "coverage@5"].low >= 0
    assert "users" in describe_interval(result.manifest)


def test_drawing_users_keeps_all_values_of_a_user_together():
    """The mean over repeats of the same users is the mean of the users' own means: the intervals are equal."""
    from trueval.evaluation.repeats import _over_users

    values = np.random.default_rng(0).random((50, 4))
    repeats = [Sums(values[:, [s]], np.ones((50, 1)), same, 50, 0) for s in range(4)]
    together = Sums(values.mean(axis=1)[:, None], np.ones((50, 1)), same, 50, 0)
    for method in ("bootstrap", "bca"):
        intervals = IntervalMethod(method, 0, 500)
        expected = estimate_all([together], intervals)[0]
        found = _over_users(repeats, intervals, np.eye(4))
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_the_nested_error_of_users_apart_is_that_of_the_repeats():
    """Where no user is in two repeats and repeats differ more than users explain, t over repeats is right."""
    rng = np.random.default_rng(1)
    shift = np.array([0.0, 3.0, -3.0, 6.0])
    repeats = []
    for s in range(4):
        inside = (np.arange(80) % 4 == s).astype(float)
        repeats.append(Sums((rng.normal(shift[s], 1, size=80) * inside)[:, None], inside[:, None], same, 20, 0))
    values = [float(s.value()[0]) for s in repeats]
    assert nested_error(repeats)[0] == pytest.approx(Repeated.of(values).error, rel=1e-6)


def test_compare_takes_the_repeats(folds):
    result = tv.evaluate(folds, ["popularity", "random"], metrics="ndcg@5")
    found = result.compare("random")[0]
    values = [result["popularity", "ndcg@5"].value, result["random", "ndcg@5"].value]
    assert found.difference == pytest.approx(values[0] - values[1], abs=0.02)  # over users of both, not folds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interval": "folds"}, "unknown interval"), ({"seed": []}, "nothing to repeat"),
        ({"seed": [1, 1]}, "twice"), ({"by": "activity"}, "not available"), ({"level": 0}, "between 0 and 1"),
    ],
    ids=str,
)  # fmt: skip
def test_nonsense_over_folds_is_refused(folds, options, words):
    with pytest.raises(tv.TruevalError, match=words):
        tv.evaluate(folds, ["popularity"], metrics="ndcg@5", **options)


def test_no_parts_at_all_are_refused():
    for wrong in ([], "parts"):
        with pytest.raises(tv.TruevalError):
            tv.evaluate(wrong, ["popularity"])


def test_nested_belongs_to_repeats(folds):
    with pytest.raises(tv.TruevalError, match="unknown interval"):
        tv.evaluate(folds[0], ["popularity"], metrics="ndcg@5", interval="nested")


@pytest.mark.parametrize("interval", ["nested", "bootstrap"])
def test_a_system_metric_varies_by_repeats_only_where_these_are_drawn(interval):
    """Users alone: the mean error of the jackknife, on its groups less one. Nested: and on top that of the repeats, by
    Welch and Satterthwaite."""
    rng = np.random.default_rng(2)
    replicates = [JackknifeReplicates(value, value + rng.normal(0, 0.01, 20), np.empty(0)) for value in (0.4, 0.5, 0.7)]
    values = Repeated.of([own.value for own in replicates])
    ends = _without_users(replicates, values, IntervalMethod(interval, 0, 1000, 0.95))
    users = np.mean([np.sqrt(19 / 20 * ((own.one - own.one.mean()) ** 2).sum()) for own in replicates]) ** 2
    repeats = np.var([0.4, 0.5, 0.7], ddof=1) / 3 if interval == "nested" else 0.0
    free = (users + repeats) ** 2 / (users**2 / 19 + repeats**2 / 2)
    reach = stats.t.ppf(0.975, free) * np.sqrt(users + repeats)
    assert (ends.low, ends.high) == pytest.approx((values.mean - reach, values.mean + reach))
