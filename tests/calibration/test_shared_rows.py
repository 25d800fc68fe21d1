"""The guard: rows that come back without ids, with other columns, in another order or form; and clean tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from prediction_worlds import sigmoid, world

import trueval as tv
from trueval.calibration.calibrate import Calibration
from trueval.calibration.predictions import read_predictions
from trueval.calibration.shared_rows import KnownRows, find_reuse
from trueval.errors import DataError

SEEN = r"share rows|fitted on rows of the test table"
FORMS = {
    "without ids": lambda t: t.drop("user", "item"),
    "without users": lambda t: t.drop("user"),
    "another column": lambda t: t.drop("user", "item").with_columns(time=pl.int_range(pl.len()), page=pl.lit("x")),
    "other names and order": lambda t: t.select(clicked="label", page=pl.lit(1), ctr="prediction"),
    "ids coded anew": lambda t: t.with_columns(pl.col("user") + 10_000, pl.col("item") + 5_000_000),
    "another time": lambda t: t.with_columns(time=pl.int_range(pl.len()) + 7),
    "weights": lambda t: t.drop("user", "item").with_columns(weight=pl.lit(2.0)),
    "single precision": lambda t: t.drop("user", "item").with_columns(pl.col("prediction").cast(pl.Float32)),
    "six digits": lambda t: t.drop("user", "item").with_columns(pl.col("prediction").round(6)),
    "words": lambda t: t.drop("user", "item").with_columns(pl.col("label").cast(pl.Boolean)),
}


def reused(share: float, n: int = 1500, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A test table of which a share of the rows comes from the validation table."""
    validation, fresh = world(n, seed, slope=0.5), world(n, seed + 1000, slope=0.5, first=500)
    fresh = fresh.with_columns(pl.col("item") + n)
    k = round(n * share)
    both = pl.concat([validation.sample(k, seed=seed, shuffle=True), fresh[k:]]).sample(
        fraction=1, shuffle=True, seed=3
    )
    return validation, both


def calibrated(test: pl.DataFrame, validation: object) -> Calibration:
    return tv.calibrate(test, validation=validation, metrics=["auc"], interval="none")


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_the_validation_part_are_recognised(form, share):
    validation, test = reused(share)
    if form == "another time":
        validation = validation.with_columns(time=pl.lit(1))
    with pytest.raises(DataError, match=SEEN) as caught:
        calibrated(FORMS[form](test), validation)
    assert "do:" in str(caught.value)


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "six digits"])
def test_a_calibrator_recognises_rows_after_it_was_saved(form, share, tmp_path):
    validation, test = reused(share, n=6000)
    tv.fit_calibrator(validation).save(tmp_path / "c.json")
    with pytest.raises(DataError, match="fitted on rows"):
        calibrated(FORMS[form](test), str(tmp_path / "c.json"))


@pytest.mark.parametrize("form", FORMS)
def test_clean_tables_pass_without_a_warning(form, tmp_path):
    validation, test = reused(0.0)
    if form == "another time":
        validation = validation.with_columns(time=pl.lit(1))
    assert calibrated(FORMS[form](test), validation).warnings == []
    assert calibrated(FORMS[form](test), tv.fit_calibrator(validation)).warnings == []


def test_a_test_part_that_is_a_small_piece_of_the_validation_part_is_recognised():
    validation, _ = reused(1.0, n=5000)
    with pytest.raises(DataError, match="200 rows"):
        calibrated(validation[:200].drop("user", "item"), validation)


def kinds(name: str, seed: int) -> tuple[KnownRows, KnownRows]:
    """Two tables with no row in common, alike for good reasons."""
    rng = np.random.default_rng(seed)

    def rows(p: np.ndarray) -> KnownRows:
        p = np.sort(p)
        return KnownRows(p, (rng.random(len(p)) < p).astype(float))

    n, m = 1200, int(rng.integers(300, 1500))
    items, crowd = sigmoid(rng.normal(-1, 1.2, 800)), rng.dirichlet(np.full(800, 0.3))
    rare, many = sigmoid(rng.normal(-4, 0.8, 1200)), sigmoid(rng.normal(0, 3.0, 1200))
    drawn = {
        "continuous": lambda k: sigmoid(rng.normal(-0.5, 1.3, k)),
        "twenty values": lambda k: rng.integers(1, 20, k) / 20,
        "three digits": lambda k: sigmoid(rng.normal(-0.5, 1.3, k)).round(3),
        "one value for an item": lambda k: rng.choice(items, k),
        "popular items": lambda k: rng.choice(items, k, p=crowd),
        "every item once": lambda k: rng.choice(items, min(k, 800), replace=False),
        "every item once, rare clicks": lambda k: rng.choice(rare, min(k, 1200), replace=False),
        "every item once, nearly sure": lambda k: rng.choice(many, min(k, 1200), replace=False),
        "single precision": lambda k: rng.random(k).astype(np.float32).astype(float),
    }[name]
    return rows(drawn(n)), rows(drawn(m))


CLEAN = [
    "continuous", "twenty values", "three digits", "one value for an item", "popular items", "every item once",
    "every item once, rare clicks", "every item once, nearly sure", "single precision",
]  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_tables_alike_for_good_reasons_are_not_refused(name):
    """Of 150 pairs none; a rule that refuses 2 % of clean tables would pass all with probability 0.05."""
    found = [find_reuse(*kinds(name, seed)).verdict for seed in range(150)]
    assert found.count("same") == 0
    if name.startswith("every item once"):
        assert set(found) <= {"other", "unknown"}
        assert name != "every item once" or found.count("other") == 150


TELLING = ["continuous", "three digits", "one value for an item", "every item once", "single precision"]


@pytest.mark.parametrize("name", TELLING)
def test_half_of_the_rows_are_seen_where_predictions_tell(name):
    for seed in range(30):
        one, two = kinds(name, seed)
        k = len(one.value) // 2
        back = np.random.default_rng(seed).choice(len(one.value), k, replace=False)
        rest = slice(None, max(1, len(two.value) - k))
        value = np.concatenate([one.value[back], two.value[rest]])
        label = np.concatenate([one.label[back], two.label[rest]])
        order = np.argsort(value)
        assert find_reuse(one, KnownRows(value[order], label[order])).verdict == "same"


def test_coarse_predictions_without_ids_are_said_to_tell_nothing():
    validation, test = (
        world(1500, s).drop("user", "item").with_columns(pl.col("prediction").round(1).clip(0.1, 0.9)) for s in (1, 2)
    )
    found = calibrated(test, validation)
    assert any("too coarse" in text for text in found.warnings)
    with pytest.raises(DataError, match="fitted on rows"):  # the whole table is told all the same
        calibrated(test.sample(fraction=1, shuffle=True, seed=2), test)


def test_the_verdict_does_not_depend_on_the_order_of_tables_or_rows():
    validation, test = reused(0.3)
    one, two = (read_predictions(t) for t in (validation, test))
    assert find_reuse(KnownRows.of(one), KnownRows.of(two)) == find_reuse(KnownRows.of(two), KnownRows.of(one))


def test_many_rows_are_kept_as_a_sample() -> None:
    """A table of which all rows are known can be made smaller; the same rows are in the sample of any of its orders."""
    rng = np.random.default_rng(3)
    value, label = rng.random(5000), rng.integers(0, 2, 5000).astype(float)
    order = rng.permutation(5000)
    sample, other = KnownRows(value, label).sample(), KnownRows(value[order], label[order]).sample()
    assert 0 < len(sample.value) <= 2000
    assert sorted(sample.value) == sorted(other.value)
