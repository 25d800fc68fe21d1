"""Ratings without a threshold: 1 star counts as relevant, and that is the first thing said; counts and grades pass."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.rating_scale import looks_like_ratings

RNG = np.random.default_rng(5)
RATINGS = {
    "ml-100k": ([1, 2, 3, 4, 5], [6110, 11370, 27145, 34174, 21201]),
    "cm100k, falling": ([1, 2, 3, 4], [41115, 32845, 23336, 6288]),
    "half stars": ([x / 2 for x in range(1, 11)], [1, 3, 1, 7, 5, 20, 12, 28, 8, 15]),
    "0 to 10": (list(range(11)), [2, 3, 2, 4, 6, 10, 14, 22, 20, 10, 7]),
    "1 to 10, mostly 10": (list(range(1, 11)), [1, 1, 1, 1, 2, 4, 8, 16, 20, 46]),
    "0 to 5": (list(range(6)), [5, 6, 11, 27, 34, 21]),
    "without 1": ([2, 3, 4, 5], [11, 27, 34, 21]),
}
OTHERS = {
    "likes": ([1], [100]),
    "all 5": ([5], [100]),
    "binary": ([0, 1], [60, 40]),
    "likes and dislikes": ([-1, 1], [60, 40]),
    "by sign": ([-10, -5, 0, 5, 10], [5, 10, 5, 10, 5]),
    "qrels 0 to 2": ([0, 1, 2], [80, 15, 5]),
    "qrels 0 to 4": ([0, 1, 2, 3, 4], [60, 15, 10, 10, 5]),
    "grades 1 to 3": ([1, 2, 3], [30, 40, 30]),
    "only the high ones": ([3.5, 4, 4.5, 5], [12, 28, 8, 15]),
    "only 4 and 5": ([4, 5], [28, 15]),
    "few counts": ([1, 2, 3, 4], [60, 25, 10, 5]),
    "seconds": ([0.3, 1.7, 4.9], [1, 1, 1]),
    "percent": ([20, 40, 60, 80, 100], [1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize(("values", "rows"), RATINGS.values(), ids=RATINGS)
def test_ratings(values, rows):
    assert looks_like_ratings(np.array(values, float), np.array(rows))


@pytest.mark.parametrize(("values", "rows"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_rating(values, rows):
    assert not looks_like_ratings(np.array(values, float), np.array(rows))


@pytest.mark.parametrize(
    "draw",
    [lambda n: RNG.zipf(2.0, n), lambda n: RNG.geometric(0.5, n), lambda n: 1 + RNG.poisson(RNG.gamma(0.3, 8, n))],
    ids=["zipf", "geometric", "overdispersed"],
)
@pytest.mark.parametrize("size", [300, 3000, 30000])
def test_counts_of_all_kinds_are_no_ratings(draw, size):
    for _ in range(20):
        values, rows = np.unique(draw(size).astype(float), return_counts=True)
        assert not looks_like_ratings(values, rows)


def world(values: list[float]) -> tuple[pl.DataFrame, pl.DataFrame]:
    test = pl.DataFrame({"user": np.arange(len(values)) // 2, "item": np.arange(len(values)) % 7, "value": values})
    run = pl.DataFrame({"user": [0, 1, 2], "item": [0, 2, 4], "rank": [1, 1, 1]})
    return run, test


def test_it_is_the_first_warning_of_runs_and_names_the_remedy():
    run, test = world([1.0, 5.0, 2.0, 4.0, 3.0, 5.0, 4.0, 5.0])
    found = tv.evaluate_run(run, test, metrics="rr", interval="none").warnings
    assert found[0].startswith("the test values look like ratings (1 to 5)")
    assert "25 % of them are rated only 1 to 2" in found[0]
    assert "--threshold 4 (threshold=4)" in found[0]
    assert "no recommendations" in found[1]
    for more in ({"threshold": 4}, {"threshold": 1}):  # said in so many words
        assert "ratings" not in str(tv.evaluate_run(run, test, metrics="rr", interval="none", **more).warnings)
    plain = tv.evaluate_run(run, test.drop("value"), metrics="rr", interval="none")
    assert "ratings" not in str(plain.warnings)


@pytest.mark.parametrize("folds", [1, 2])
def test_it_is_the_first_warning_of_systems(folds):
    rng = np.random.default_rng(0)
    pairs = [(u, i) for u in range(30) for i in rng.permutation(20)[:8].tolist()]
    log = tv.read(pl.DataFrame(pairs, schema=["user", "item"], orient="row").with_columns(
        value=pl.Series(rng.integers(1, 6, len(pairs)).astype(float))))  # fmt: skip
    parts = tv.split(log, "holdout", ratio=0.3) if folds == 1 else tv.split(log, "kfold", n=folds)
    found = tv.evaluate(parts, ["popularity"], metrics="ndcg@5", interval="none").warnings
    assert "look like ratings (1 to 5)" in found[0]
    assert "ratings" not in str(tv.evaluate(parts, ["popularity"], metrics="ndcg@5", threshold=4).warnings)


def test_command_line(trueval, tmp_path):
    run, test = world([0.5, 5.0, 2.0, 4.5, 3.0, 5.0, 4.0, 5.0])
    run.write_csv(tmp_path / "run.csv")
    test.write_csv(tmp_path / "test.csv")
    shown = trueval("evaluate", tmp_path / "run.csv", "--test", tmp_path / "test.csv", "--metrics", "rr")
    assert shown.out.partition("! ")[2].startswith("the test values look like ratings (0.5 to 5)")
