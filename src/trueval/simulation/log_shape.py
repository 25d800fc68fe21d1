"""The shape of a log in a few numbers: how unequal, how sparse, how the ratings lie, how popularity drifts."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.simulation.pair_draws import coins
from trueval.statistics.inequality import gini_index

TOP = 10  # singular values that tell how much people meet together
_MOST_ROWS = 3_000_000  # of which singular values are computed
_ENOUGH = 10  # ratings from which the mean of an item is compared
_LOTS = 5  # draws by lot, whose mean is what chance alone moves
SPECTRUM = "share of the top ten singular values"
MOVES = {"popularity that moves between halves": 2, "popularity that moves between eighths": 8}


def ks_distance(one: np.ndarray, other: np.ndarray) -> float:
    """The Kolmogorov–Smirnov distance: the largest difference of two distribution functions.

    >>> ks_distance(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6]))
    0.5
    """
    one, other = np.sort(one), np.sort(other)
    points = np.concatenate([one, other])
    left, right = (np.searchsorted(side, points, side="right") / len(side) for side in (one, other))
    return float(np.abs(left - right).max())


def moved_popularity(log: Interactions, parts: int = 2, *, seed: int = 0) -> float | None:
    """How much of the popularity moves from one part of a log's time to the next, beyond chance; the mean of all steps.

    Parts have equal numbers of rows. What moves is half the sum of absolute differences of the items' shares of rows:
    the share of the rows that would have to be of other items, for the popularity of one part to be that of the next.
    What moves between parts drawn by lot is subtracted: about 0 remains where nothing moves, and a little less than 0
    where rows are evener than by lot, since nobody has an item twice. None without times, and for very few rows.

    >>> rows = {"user": [*range(200)] * 2, "item": ["a"] * 200 + ["b"] * 150 + ["a"] * 50, "time": range(400)}
    >>> round(moved_popularity(Interactions.of(pl.DataFrame(rows))), 1)
    0.7
    """
    if not log.has("time") or len(log) < 2 * parts:
        return None
    item = log.frame.sort("time", "user", "item")["item"].rank("dense").to_numpy() - 1
    part = np.arange(len(item)) * parts // len(item)
    rng = np.random.default_rng(seed)
    chance = [_moved(item, rng.permutation(part), parts) for _ in range(_LOTS)]
    return float(_moved(item, part, parts) - np.mean(chance))


def _moved(item: np.ndarray, part: np.ndarray, parts: int) -> float:
    counts = np.bincount(item.astype(np.int64) * parts + part, minlength=(int(item.max()) + 1) * parts)
    shares = counts.reshape(-1, parts) / np.bincount(part, minlength=parts)
    return float(np.abs(np.diff(shares, axis=1)).sum(axis=0).mean() / 2)


def spectrum_share(log: Interactions) -> float:
    """How much of what users and items have in common, beyond margins, lies in ten dimensions.

    Of the table of pairs, 1 where there is a row, less what margins alone lead to expect, each over the root of that
    expectation (as in correspondence analysis): the share of the ten largest singular values, squared, in the sum of
    all. Where users meet items by popularity and activity alone, it is what chance makes of it. Of more than three
    million rows those of some users are taken, who are drawn by lot. NaN for logs without anything beyond margins.

    >>> rows = [(user, item) for user in range(40) for item in range(40) if user % 4 == item % 4]
    >>> log = Interactions.of(pl.DataFrame(rows, schema=["user", "item"], orient="row"))
    >>> round(spectrum_share(log), 6)
    1.0
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    pairs = log.frame.select("user", "item").unique().sort("user", "item")
    user = pairs["user"].rank("dense").to_numpy().astype(np.int64) - 1
    if len(user) > _MOST_ROWS:
        order = np.argsort(coins(0, "users of the spectrum", int(user.max()) + 1), kind="stable")
        enough = int(np.searchsorted(np.cumsum(np.bincount(user)[order]), _MOST_ROWS))
        some = np.isin(user, order[:enough])
        pairs, user = pairs.filter(pl.Series(some)), np.unique(user[some], return_inverse=True)[1]
    item = pairs["item"].rank("dense").to_numpy().astype(np.int64) - 1
    weight = 1 / np.sqrt(np.bincount(user)[user] * np.bincount(item)[item].astype(float))
    table = csr_array((weight, (user, item)))
    total = float((weight**2).sum()) - 1  # of the largest singular value, 1, which margins make
    if total < 1e-9 or len(user) < 2:
        return float("nan")
    number = min(TOP + 1, min(table.shape))
    if min(table.shape) <= 4 * (TOP + 1):
        values = np.linalg.svd(table.toarray(), compute_uv=False)[:number]
    else:
        start = np.sqrt(np.bincount(user if table.shape[0] <= table.shape[1] else item).astype(float))
        start *= 0.5 + coins(0, "start of the spectrum", len(start))
        values = np.sort(svds(table, number, v0=start, return_singular_vectors=False))[::-1]
    return float(((values**2).sum() - 1) / total)


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
    shape[SPECTRUM] = spectrum_share(log)
    for name, parts in MOVES.items():
        if parts == 2 or log.has("time"):
            shape[name] = moved_popularity(log, parts)
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
