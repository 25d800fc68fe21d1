"""Evaluate models of other libraries, a run file and a baseline side by side.

    python examples/other_libraries.py            (needs: pip install 'trueval[implicit,surprise]')

A small world is made up, split, and given to: a model of implicit that is fitted here, an algorithm of Surprise that
was fitted before, factors from a file, and lists that somebody else made.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import surprise
from implicit.als import AlternatingLeastSquares

import trueval as tv


def make_log(users: int = 300, items: int = 120, seed: int = 0) -> pl.DataFrame:
    """Ratings 1 to 5: people rate more of what they like, and more of what is popular."""
    rng = np.random.default_rng(seed)
    liking = rng.normal(size=(users, 4)) @ rng.normal(size=(4, items)) / 2
    popular = -np.log(np.arange(1, items + 1))
    chance = 1 / (1 + np.exp(-(liking + popular + 1.5)))
    user, item = np.nonzero(rng.random((users, items)) < chance)
    value = np.clip(np.round(3 + liking[user, item] + rng.normal(0, 0.7, len(user))), 1, 5)
    return pl.DataFrame({"user": [f"u{u:03d}" for u in user], "item": [f"i{i:03d}" for i in item], "value": value})


def fitted_elsewhere(train: pl.DataFrame) -> surprise.SVD:
    """An algorithm of Surprise, fitted with Surprise alone. It keeps the ids that it was given."""
    reader = surprise.Reader(rating_scale=(1, 5))
    rows = [(user, item, value, None) for user, item, value in train.select("user", "item", "value").iter_rows()]
    return surprise.SVD(n_factors=10, random_state=1).fit(surprise.Dataset(reader).construct_trainset(rows))


def write_factors(train: pl.DataFrame, path: Path) -> None:
    """Factors of a truncated SVD in a file, with the ids of their rows."""
    users, items = train["user"].unique().sort(), train["item"].unique().sort()
    matrix = np.zeros((len(users), len(items)))
    matrix[users.search_sorted(train["user"]), items.search_sorted(train["item"])] = train["value"]
    left, size, right = np.linalg.svd(matrix, full_matrices=False)
    ids = {"user_ids": np.array(users.to_list()), "item_ids": np.array(items.to_list())}
    np.savez(path, users=left[:, :8] * size[:8], items=right[:8].T, **ids)


def write_run(train: pl.DataFrame, path: Path) -> None:
    """Lists that somebody else made: here, for everybody the 60 items with the best mean rating."""
    best = train.group_by("item").agg(score=pl.mean("value") - 1 / pl.len()).sort("score", descending=True).head(60)
    train.select("user").unique().sort("user").join(best, how="cross").write_csv(path)


def main(folder: Path) -> tv.Result:
    """Everything beside everything, under one design."""
    parts = tv.split(make_log(), "holdout", ratio=0.2, seed=1)
    train = parts.train.frame
    write_factors(train, folder / "factors.npz")
    write_run(train, folder / "lists.csv")
    systems = {
        "popularity": "popularity",
        "implicit ALS": AlternatingLeastSquares(factors=12, iterations=10, num_threads=1),  # fitted on train, in a copy
        "Surprise SVD": fitted_elsewhere(train),  # scored as it is
        "factors from a file": tv.Factors.read(folder / "factors.npz"),
        "somebody's lists": tv.Run(folder / "lists.csv"),
    }
    return tv.evaluate(parts, systems, metrics=["ndcg@10", "recall@10", "coverage@10"], threshold=4, seed=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        result = main(Path(name))
    result.show(baseline="popularity")
    print("\nWhat the manifest says of each system:")
    for system, described in result.manifest["systems"].items():
        print(f"  {system}: {described.get('definition', described['system'])}; {described.get('parameters', {})}")
