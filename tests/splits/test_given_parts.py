"""Tables that are already split, and a biased log with an unbiased test."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.splits import leakage, split

TRAIN = pl.DataFrame({"user": [1, 1, 2, 3], "item": ["a", "b", "a", "c"]})
TEST = pl.DataFrame({"user": [1, 2], "item": ["c", "b"]})


def test_given_tables_come_back_whole():
    parts = split(TRAIN, "given", test=TEST, validation=TEST[:1])
    assert parts.train.frame.equals(TRAIN)
    assert parts.test.frame.equals(TEST)
    assert len(parts.validation) == 1
    assert parts.report()["rows"] == 7
    assert leakage(parts)["overlap_validation_test"].count == 1


def test_given_tables_must_speak_of_the_same_ids():
    with pytest.raises(DataError, match="user ids are of different types"):
        split(TRAIN, "given", test=TEST.with_columns(pl.col("user").cast(pl.String)))
    with pytest.raises(DataError, match="no item in common"):
        split(TRAIN, "given", test=TEST.with_columns(pl.col("item") + "!"))
    with pytest.raises(DefinitionError, match="tables that are already split"):
        split(TRAIN, "given", test=TEST, min_user=2)


def test_ids_beyond_the_signed_range():
    wide = pl.DataFrame({"user": pl.Series([2**63 + 5, 1], dtype=pl.UInt64), "item": [1, 2]})
    parts = split(pl.DataFrame({"user": [1, 7], "item": [1, 2]}), "given", test=wide)
    assert parts.report()["unseen_users"] == 1
    with pytest.raises(DataError, match="negative"):
        split(pl.DataFrame({"user": [1, -7], "item": [1, 2]}), "given", test=wide)


def random_log(size: int, seed: int, name: str) -> Interactions:
    rng = np.random.default_rng(seed)
    columns = {"user": 12, "item": 12, "value": 5}
    return Interactions.of(pl.DataFrame({c: rng.integers(0, high, size) for c, high in columns.items()}), name=name)


@given(
    sizes=st.tuples(st.integers(30, 90), st.integers(20, 60)),
    seed=st.integers(0, 10**6),
    ratio=st.sampled_from([None, 0.3]),
    sample=st.sampled_from([0.5, 1.0]),
)
def test_unbiased_conserves_rows_and_never_trains_on_a_tested_pair(sizes, seed, ratio, sample):
    mnar, mar = random_log(sizes[0], seed, "mnar"), random_log(sizes[1], seed + 1, "mar")
    try:
        parts = split(mnar, "unbiased", mar=mar, ratio=ratio, sample=sample)
    except DefinitionError as problem:
        assume("no row for" not in problem.what)
        raise
    assert parts.rows == len(mnar) + len(mar)
    assert leakage(parts)["overlap"].count == 0
    assert (parts.observed is None) == (ratio is None)
    reasons = parts.report()["reasons"]
    assert reasons.get("not sampled", 0) == len(mar) - len(parts.test)
    if sample == 1.0:
        assert parts.test.frame.equals(mar.frame)
    order = np.random.default_rng(seed).permutation(len(mnar))
    again = split(mnar.keep(mnar.frame[order]), "unbiased", mar=mar, ratio=ratio, sample=sample)
    assert sorted(again.train.frame.rows()) == sorted(parts.train.frame.rows())


def test_one_coin_decides_for_both_logs():
    """Where the biased log is part of the unbiased one: a fold of all pairs, and train is the rest."""
    mar = Interactions.of(pl.DataFrame({"user": np.repeat(np.arange(40), 40), "item": np.tile(np.arange(40), 40)}))
    known = mar.keep(mar.frame.filter((pl.col("user") + pl.col("item")) % 3 == 0))
    parts = split(known, "unbiased", mar=mar, ratio=0.2, sample=0.2)
    fold = set(parts.test.frame.rows())
    assert set(parts.observed.frame.rows()) == {row for row in known.frame.rows() if row in fold}
    assert set(parts.train.frame.rows()) == {row for row in known.frame.rows() if row not in fold}
    assert abs(len(fold) - 320) < 5 * np.sqrt(1600 * 0.2 * 0.8)
    with pytest.raises(DefinitionError, match=r"sample=0\.2"):
        split(known, "unbiased", mar=mar)
