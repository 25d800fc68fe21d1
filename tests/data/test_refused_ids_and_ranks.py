"""Users without an id, and ranks that are no places in a list."""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv

TEST = pl.DataFrame({"user": [1, 2], "item": [1, 1]})


@pytest.mark.parametrize("rank", [[-1, 1], [-2, 0], [1.5, 2.0], [1e300, 1.0], [float("nan"), 1.0], [None, 1]])
@pytest.mark.parametrize("as_file", [True, False])
def test_ranks_that_are_no_places(rank, as_file, tmp_path):
    recs = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rank": rank})
    if as_file:
        recs.write_parquet(tmp_path / "recs.parquet")
    with pytest.raises(tv.TruevalError, match=r"rank[^$]*found:"):
        tv.evaluate_run(tmp_path / "recs.parquet" if as_file else recs, TEST, metrics="rr", sorted_by_user=as_file)


def test_users_without_an_id(tmp_path):
    recs = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [1, 2]})
    users = pl.DataFrame({"user": [1, None], "group": ["a", "b"]})
    users.write_parquet(tmp_path / "users.parquet")
    users.write_csv(tmp_path / "users.csv")
    for source in (users, tmp_path / "users.parquet", tmp_path / "users.csv"):
        with pytest.raises(tv.TruevalError, match=r"user ids are missing[^$]*row 2"):
            tv.evaluate_run(recs, TEST, metrics="rr", users=source, by="group")


def test_items_without_an_id(tmp_path):
    recs = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [1, 2]})
    items = pl.DataFrame({"item": [1, None, 2], "group": ["a", "b", "c"]})
    items.write_parquet(tmp_path / "items.parquet")
    items.write_csv(tmp_path / "items.csv")
    for source in (items, tmp_path / "items.parquet", tmp_path / "items.csv"):
        with pytest.raises(tv.TruevalError, match=r"item ids are missing[^$]*row 2"):
            tv.evaluate_run(recs, TEST, metrics="rr", items=source)


@pytest.mark.parametrize("engine", ["whole", "sorted"])
def test_a_place_without_an_item_keeps_what_is_below_where_it_is(tmp_path, engine):
    """Its row is no advice: without it the third item would be the second. What is advised gives 1/3."""
    recs = pl.DataFrame({"user": [1, 1, 1], "item": ["a", None, "c"], "rank": [1, 2, 3]})
    recs.write_parquet(tmp_path / "recs.parquet")
    test = pl.DataFrame({"user": [1], "item": ["c"]})
    options = {"metrics": "rr", "interval": "none", "items": pl.DataFrame({"item": ["a", "b", "c"]})}
    options |= {"sorted_by_user": True} if engine == "sorted" else {}
    for source in (tmp_path / "recs.parquet", *([recs] if engine == "whole" else [])):
        with pytest.raises(tv.TruevalError, match="item ids are missing") as refused:
            tv.evaluate_run(source, test, invalid="miss", **options)
        assert "fill them with an id that is not in the catalogue" in refused.value.do
    recs.with_columns(pl.col("item").fill_null("none")).write_parquet(tmp_path / "filled.parquet")
    found = tv.evaluate_run(tmp_path / "filled.parquet", test, invalid="miss", **options)
    assert found["filled", "rr"].value == pytest.approx(1 / 3)
