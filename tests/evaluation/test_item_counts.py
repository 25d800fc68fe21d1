"""How often items were recommended: counted once, and the same however the users are cut into parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.engines.plan import MeasurementPlan
from trueval.evaluation.item_counts import ItemCounts

USERS, K = 500, 8


@pytest.fixture(scope="module")
def recs() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.permutation(60)[:K] for _ in range(USERS)])
    score = np.tile(np.repeat([3.0, 2.0, 1.0, 0.5], 2), USERS)  # every two are equal
    return pl.DataFrame({"user": np.repeat(np.arange(USERS), K), "item": items, "score": score})


@pytest.fixture(scope="module")
def test() -> pl.DataFrame:
    return pl.DataFrame({"user": np.arange(USERS), "item": np.arange(USERS) % 60})


def counts_of(result: tv.Result) -> tuple[ItemCounts, int]:
    (system,) = result.evaluation.systems.values()
    assert system.recommended is not None
    return system.recommended.counts, system.recommended.catalogue


@pytest.mark.parametrize(
    ("ties", "metrics"),
    [("random", "ndcg@3"), ("random", "ndcg@3,coverage@5,gini@3"), ("random", "rr"), ("expected", "ndcg@3")],
)
def test_streamed_and_whole_are_the_same(recs, test, tmp_path, monkeypatch, ties, metrics):
    recs.write_parquet(tmp_path / "recs.parquet")
    options = {"metrics": metrics, "ties": ties, "interval": "none"}
    whole, size = counts_of(tv.evaluate_run(recs, test, **options))
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 37 * K)
    pieces = []
    merge = MeasurementPlan.merge
    monkeypatch.setattr(MeasurementPlan, "merge", lambda plan, parts: merge(plan, (pieces.extend(parts), pieces)[1]))
    parts, same_size = counts_of(tv.evaluate_run(tmp_path / "recs.parquet", test, sorted_by_user=True, **options))
    assert len(pieces) > 5
    np.testing.assert_array_equal(whole.item, parts.item)
    np.testing.assert_array_equal(whole.count, parts.count)
    assert (whole.depth, size) == (parts.depth, same_size)


def test_counts_against_polars(recs, test):
    found, _ = counts_of(tv.evaluate_run(recs.drop("score").with_columns(rank=pl.int_range(K).over("user") + 1), test,
                                         metrics="ndcg@5", interval="none"))  # fmt: skip
    expected = recs.group_by("user", maintain_order=True).head(5).group_by("item").len().sort("item")
    np.testing.assert_array_equal(found.item, expected["item"].to_numpy())  # ids from 0 on are their own codes
    np.testing.assert_array_equal(found.count, expected["len"].to_numpy())
    assert found.depth == 5


def test_expected_counts_are_halves_where_a_cut_parts_two_equals(recs, test):
    found, _ = counts_of(tv.evaluate_run(recs, test, metrics="ndcg@3", ties="expected", interval="none"))
    weight = pl.Series("w", [1.0, 1.0, 0.5, 0.5, 0, 0, 0, 0] * USERS)
    expected = recs.with_columns(weight).group_by("item").agg(pl.col("w").sum()).filter(pl.col("w") > 0).sort("item")
    np.testing.assert_allclose(found.count, expected["w"].to_numpy())


def test_a_metric_that_counts_changes_nothing(recs, test):
    plain, _ = counts_of(tv.evaluate_run(recs, test, metrics="ndcg@5", interval="none"))
    beside, _ = counts_of(tv.evaluate_run(recs, test, metrics="ndcg@5,gini@5", interval="none"))
    np.testing.assert_array_equal(plain.count, beside.count)


def test_no_counts_where_ties_leave_the_list_open(recs, test):
    found = tv.evaluate_run(recs, test, metrics="ndcg@3", interval="none", ties="worst")
    assert found.evaluation.systems["run"].recommended is None


def test_no_counts_where_lists_are_no_recommendations(recs, test):
    found = tv.evaluate_run(recs, test, metrics="ndcg@5", interval="none", condensed=True)
    assert found.evaluation.systems["run"].recommended is None
    with pytest.raises(tv.TruevalError, match="not known how often"):
        found.plot("popularity")
