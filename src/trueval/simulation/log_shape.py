"""The shape of a log in a few numbers: how unequal, how sparse, how the ratings lie, how popularity drifts."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.statistics.inequality import gini_index

_ENOUGH = 10  # ratings from which the mean of an item is compared


def ks_distance(one: np.ndarray, other: np.ndarray) -> float:
    """The Kolmogorov–Smirnov distance: the largest difference of two distribution functions.

    >>> ks_distance(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6]))
    0.5
    """
    one, other = np.sort(one), np.sort(other)
    points = np.concatenate([one, other])
    left, right = (np.searchsorted(side, points, side="right") / len(side) for side in (one, other))
    return float(np.abs(left - right).max())


def half_distance(log: Interactions, *, seed: int = 0) -> float | None:
    """How much of the popularity moves from the earlier half of a log to the later one, beyond chance.

    Half the sum of absolute differences of the items' shares, less the same of two halves drawn by chance.
    """
    if not log.has("time") or len(log) < 4:
        return None
    item = log.frame.sort("time", "user", "item")["item"].rank("dense").to_numpy() - 1
    later = np.arange(len(item)) >= len(item) // 2
    by_chance = np.random.default_rng(seed).permutation(later)
    return float(_moved(item, later) - _moved(item, by_chance))


def _moved(item: np.ndarray, later: np.ndarray) -> float:
    sides = [np.bincount(item[side], minlength=int(item.max()) + 1) / max(side.sum(), 1) for side in (later, ~later)]
    return float(np.abs(sides[0] - sides[1]).sum() / 2)


def shape_of(log: Interactions) -> dict[str, float | None]:
    """The properties of a log that `compare_logs` compares, by name."""
    pairs = log.frame.unique(["user", "item"], keep="last", maintain_order=True)
    users, items = (pairs.group_by(role).len()["len"].to_numpy() for role in ("user", "item"))
    ordered = np.sort(items)[::-1]
    shape: dict[str, float | None] = {
        "rows": float(len(pairs)),
        "users": float(len(users)),
        "items": float(len(items)),
        "density": len(pairs) / (len(users) * len(items)),
        "Gini of items": gini_index(items),
        "Gini of users": gini_index(users),
        "share of the top 1 % of items": float(ordered[: max(1, round(len(items) / 100))].sum() / len(pairs)),
        "share of the top 10 % of items": float(ordered[: max(1, round(len(items) / 10))].sum() / len(pairs)),
    }
    for name, counts in (("ratings per item", items), ("ratings per user", users)):
        shape |= {f"{name}, {q} %": float(np.quantile(counts, q / 100)) for q in (10, 50, 90, 99)}
    if "value" in pairs.columns and pairs["value"].n_unique() > 1:
        shape |= _of_ratings(pairs)
    shape["popularity that moves between halves"] = half_distance(log)
    return shape


def _of_ratings(pairs: pl.DataFrame) -> dict[str, float | None]:
    value = pairs["value"].to_numpy()
    items, users = (
        pairs.group_by(role).agg(n=pl.len(), mean=pl.col("value").mean()).filter(pl.col("n") >= _ENOUGH)
        for role in ("item", "user")
    )
    tied = None
    if len(items) > 2 and items["n"].n_unique() > 1 and items["mean"].n_unique() > 1:
        tied = float(np.corrcoef(np.log(items["n"].to_numpy()), items["mean"].to_numpy())[0, 1])
    return {
        "mean rating": float(value.mean()),
        "spread of ratings": float(value.std()),
        "spread of item means": float(np.std(items["mean"].to_numpy())) if len(items) > 2 else None,
        "spread of user means": float(np.std(users["mean"].to_numpy())) if len(users) > 2 else None,
        "correlation of popularity and mean": tied,
    }
