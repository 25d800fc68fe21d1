"""In 1R designs every value belongs to a user and an item, and both are named: in memory, in files, in comparisons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.report.saved_results import load_result

USERS, ITEMS = 40, 25
DESIGNS = ["1R-TI-AN", "1R-AI-NN8", "1R-TI-NN5-resample", "P1R3-TI-AN", "U1R"]


@pytest.fixture(scope="module")
def scores() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {name: rng.random((USERS, ITEMS)) for name in ("one", "two")}


@pytest.fixture(scope="module")
def parts() -> tv.Parts:
    rng = np.random.default_rng(6)
    user, item = np.nonzero(rng.random((USERS, ITEMS)) < 0.4)
    names = {"user": [f"u{u:02}" for u in user], "item": [f"i{i:02}" for i in item]}
    log = pl.DataFrame({**names, "value": rng.integers(1, 6, len(user)).astype(float)})
    return tv.split(log, "uniform_test", ratio=0.3)


def evaluated(parts: tv.Parts, scores: dict[str, np.ndarray], design: str, **options: object) -> tv.Result:
    def place(names: np.ndarray) -> np.ndarray:
        return np.array([int(name[1:]) for name in names])

    systems = {name: tv.Function(lambda users, own=own: own[place(users)], ids=True) for name, own in scores.items()}
    return tv.evaluate(parts, systems, design=design, metrics=["rr", "hit@3"], threshold=3, **options)


def relevant_pairs(parts: tv.Parts) -> set[tuple[str, str]]:
    return set(parts.test.frame.filter(pl.col("value") >= 3).select("user", "item").rows())


@pytest.mark.parametrize("design", DESIGNS)
def test_every_value_names_its_user_and_item(parts, scores, design):
    found = evaluated(parts, scores, design, interval="none").per_user
    assert found.columns[:3] == ["system", "user", "item"]
    for (_,), own in found.group_by("system"):
        pairs = own.select("user", "item").rows()
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == relevant_pairs(parts)


def test_the_values_are_those_of_the_pairs_that_are_named(parts, scores):
    """Recomputed one by one: the rank of the item among the test items that its user has neither seen nor liked."""
    found = evaluated(parts, scores, "1R-TI-AN", interval="none").per_user
    seen, liked = set(parts.train.frame.select("user", "item").rows()), relevant_pairs(parts)
    offered = sorted(set(parts.test.frame["item"]))
    for system, user, item, rr in found.select("system", "user", "item", "rr").rows():
        row = scores[system][int(user[1:])]
        others = [i for i in offered if (user, i) not in seen and (user, i) not in liked]
        rank = 1 + sum(row[int(i[1:])] > row[int(item[1:])] for i in others)
        assert rr == pytest.approx(1 / rank)


def test_designs_with_one_value_per_user_have_no_item(parts, scores):
    assert "item" not in evaluated(parts, scores, "AR-TI-AN", interval="none").per_user.columns


@pytest.mark.parametrize("design", DESIGNS)
def test_items_are_named_in_files_and_when_they_are_read_again(tmp_path: Path, parts, scores, design):
    result = evaluated(parts, scores, design, interval="t")
    result.save(tmp_path / "saved")
    again = load_result(tmp_path / "saved")
    keys = ["system", "user", "item"]
    assert again.per_user().sort(keys).equals(result.per_user.sort(keys))
    assert pl.read_parquet(tmp_path / "saved" / "results.parquet").columns[:3] == keys
    before, after = result.compare("one"), tv.compare(tmp_path / "saved", baseline="one")
    assert [c.record() for c in after] == [c.record() for c in before]


def test_the_files_of_an_experiment_name_them(tmp_path: Path):
    rng = np.random.default_rng(1)
    user, item = np.nonzero(rng.random((30, 20)) < 0.4)
    log = pl.DataFrame({"user": user, "item": item})
    designs = ["AR-TI-AN", "1R-TI-AN"]
    chosen = {"data": {"path": log}, "evaluation": {"designs": designs, "metrics": "rr"}, "systems": {"popularity": {}}}
    result = tv.run(chosen, tmp_path / "out")
    whole = pl.read_parquet(tmp_path / "out" / "results.parquet")
    named = whole.filter(pl.col("design") == "1R-TI-AN")
    assert named["item"].null_count() == 0
    assert whole.filter(pl.col("design") == "AR-TI-AN")["item"].null_count() == len(whole) - len(named)
    own = pl.read_parquet(tmp_path / "out" / "designs" / "1R-TI-AN" / "results.parquet")
    assert own.select("user", "item").equals(result["1R-TI-AN"].per_user.select("user", "item"))


@pytest.mark.parametrize("design", ["1R-TI-AN", "P1R3-TI-AN"])
@pytest.mark.parametrize("lost", ["rows", "values"])
def test_systems_are_compared_over_the_pairs_that_both_have(tmp_path: Path, parts, scores, design, lost):
    """Where one lacks a pair of a user, the other's value of this pair does not count either."""
    evaluated(parts, scores, design, interval="t").save(tmp_path / "saved")
    path = tmp_path / "saved" / "results.parquet"
    told = pl.read_parquet_metadata(path)["trueval"]
    frame = pl.read_parquet(path).with_row_index()
    some = (pl.col("system") == "one") & (pl.col("index") % 3 == 0)
    frame = frame.filter(~some) if lost == "rows" else frame.with_columns(rr=pl.when(some).then(None).otherwise("rr"))
    frame = frame.sample(fraction=1, shuffle=True, seed=1).drop("index")  # the order of rows says nothing
    frame.write_parquet(path, metadata={"trueval": told})
    (rr,) = tv.compare(tmp_path / "saved", baseline="two", metrics="rr")
    sides = [frame.filter(pl.col("system") == name).drop_nulls("rr") for name in ("one", "two")]
    both = sides[0].join(sides[1], on=["user", "item"], suffix="_two")
    differences = both.select(pl.col("rr") - pl.col("rr_two")).to_series()
    if design == "1R-TI-AN":
        assert rr.difference == pytest.approx(differences.mean())
    else:  # the mean over percentiles of means over pairs
        by = both.with_columns(apart=differences).group_by("percentile").agg(pl.col("apart").mean())
        assert rr.difference == pytest.approx(by["apart"].mean())
    assert rr.n == both["user"].n_unique()
    plain = sides[0]["rr"].mean() - sides[1]["rr"].mean()
    assert abs(rr.difference - plain) > 1e-4  # what users alone would give is something else
