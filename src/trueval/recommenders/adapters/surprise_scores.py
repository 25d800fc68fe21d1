"""Estimates of Surprise's own algorithms for every item at once, from what a fitted algorithm holds.

Each formula is that of the algorithm's `estimate`; users and items are its inner ids, all of them known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Scorer = Callable[[np.ndarray], np.ndarray]


def _biased(model: Any, p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """μ + b_u + b_i + p_u·q_i as one inner product."""
    bu, bi = np.asarray(model.bu), np.asarray(model.bi)
    user = np.column_stack([p, model.trainset.global_mean + bu, np.ones(len(bu))])
    return user, np.column_stack([q, np.ones(len(bi)), bi])


def _svd(model: Any) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.asarray(model.pu), np.asarray(model.qi)
    return _biased(model, p, q) if model.biased else (p, q)


def _svdpp(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """The user's vector is p_u + |I_u|^(-1/2) Σ_j y_j over the items that the user rated."""
    user, item, _ = _ratings(model.trainset.ur)
    number = np.bincount(user, minlength=model.trainset.n_users)
    y = np.asarray(model.yj)
    implied = np.column_stack([np.bincount(user, weights=y[item, f], minlength=len(number)) for f in range(y.shape[1])])
    return _biased(model, np.asarray(model.pu) + implied / np.sqrt(number)[:, None], np.asarray(model.qi))


def _baseline(model: Any) -> tuple[np.ndarray, np.ndarray]:
    none = np.empty((model.trainset.n_users, 0)), np.empty((model.trainset.n_items, 0))
    return _biased(model, *none)


def _slope_one(model: Any) -> Scorer:
    """Mean of the user plus the mean deviation from those of the user's items that somebody rated together."""
    freq, dev, mean = np.asarray(model.freq), np.asarray(model.dev), np.asarray(model.user_mean)

    def score(users: np.ndarray) -> np.ndarray:
        rows = []
        for user in users:
            rated = [j for j, _ in model.trainset.ur[int(user)]]
            together = freq[:, rated] > 0
            number = together.sum(axis=1)
            rows.append(mean[user] + np.where(together, dev[:, rated], 0).sum(axis=1) / np.maximum(number, 1))
        return np.array(rows)

    return score


def _co_clustering(model: Any) -> Scorer:
    """Mean of the co-cluster, plus how the user and the item differ from the means of their clusters."""
    cluster_u, cluster_i = np.asarray(model.cltr_u), np.asarray(model.cltr_i)
    item = np.asarray(model.item_mean) - np.asarray(model.avg_cltr_i)[cluster_i]
    user = np.asarray(model.user_mean) - np.asarray(model.avg_cltr_u)[cluster_u]
    both = np.asarray(model.avg_cocltr)
    return lambda users: both[np.ix_(cluster_u[users], cluster_i)] + user[users, None] + item[None, :]


def _neighbours(model: Any) -> Scorer:
    """The k most similar neighbours who rated, in Surprise's names: x are users and y items, or the other way round.

    Only neighbours of positive similarity count, so the others may be dropped before the k best are taken. Equally
    similar ones come in the order in which their ratings came.
    """
    y, x, rating = _ratings(model.yr)
    offset, scale, base = _centring(model)
    value = rating - offset(x, y)
    if scale is not None:
        value = value / scale[x]
    sim = np.asarray(model.sim)

    def combine(target: np.ndarray, near: np.ndarray, values: np.ndarray, number: int) -> tuple[np.ndarray, ...]:
        """Weighted means of the values by target, and the number behind each."""
        weight = np.bincount(target, weights=near, minlength=number)
        total = np.bincount(target, weights=near * values, minlength=number)
        count = np.bincount(target, minlength=number)
        with np.errstate(invalid="ignore"):
            return np.where(count >= max(model.min_k, 1), total / weight, np.nan), count

    def of_user(user: int) -> np.ndarray:
        """x = the user; neighbours are users, y = every item."""
        order = np.unique(-sim[user], return_inverse=True)[1]  # place by falling similarity, ties together
        kept = np.flatnonzero(sim[user][x] > 0)
        kept = kept[_stable(order[x[kept]], sim.shape[0])]
        kept = kept[_stable(y[kept], model.n_y)]
        kept = kept[_place_in_group(y[kept]) < model.k]
        return combine(y[kept], sim[user][x[kept]], value[kept], model.n_y)[0]

    starts = np.searchsorted(y, np.arange(model.n_y + 1))

    def of_items(user: int) -> np.ndarray:
        """y = the user; neighbours are the user's items, x = every item."""
        own = slice(starts[user], starts[user + 1])
        near = sim[:, x[own]]
        best = np.argsort(-near, axis=1, kind="stable")[:, : model.k]
        target, place = np.nonzero(np.take_along_axis(near, best, axis=1) > 0)
        chosen = best[target, place]
        return combine(target, near[target, chosen], value[own][chosen], model.n_x)[0]

    by_users = model.sim_options["user_based"]

    def score(users: np.ndarray) -> np.ndarray:
        means = np.array([(of_user if by_users else of_items)(int(user)) for user in users])
        if scale is not None:
            means = means * (scale[users][:, None] if by_users else scale[None, :])
        return np.where(np.isnan(means), base(users)[1], base(users)[0] + np.nan_to_num(means))

    return score


def _centring(model: Any) -> tuple[Callable[..., Any], np.ndarray | None, Callable[..., tuple[Any, Any]]]:
    """What is subtracted from a neighbour's rating, what it is divided by, and what the mean is added to:
    for each user the start of an estimate with neighbours, and the estimate without."""
    mean = model.trainset.global_mean
    by_users = model.sim_options["user_based"]
    if type(model).__name__ == "KNNBasic":
        return lambda x, y: 0.0, None, lambda users: (0.0, mean)
    if type(model).__name__ == "KNNBaseline":
        bu, bi = np.asarray(model.bu), np.asarray(model.bi)
        bx, by = (bu, bi) if by_users else (bi, bu)
        return lambda x, y: mean + bx[x] + by[y], None, lambda users: (mean + bu[users][:, None] + bi[None, :],) * 2
    means = np.asarray(model.means)
    scale = np.asarray(model.sigmas) if type(model).__name__ == "KNNWithZScore" else None
    own = (lambda users: means[users][:, None]) if by_users else (lambda users: means[None, :])
    return lambda x, y: means[x], scale, lambda users: (own(users), own(users))


def _ratings(by: dict[int, list[tuple[int, float]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratings by owner, each owner's in the order in which they came: owner, other, rating."""
    owner = np.repeat(sorted(by), [len(by[one]) for one in sorted(by)])
    rows = [row for one in sorted(by) for row in by[one]]
    return owner, np.array([other for other, _ in rows]), np.array([rating for _, rating in rows])


def _stable(keys: np.ndarray, number: int) -> np.ndarray:
    """A stable order of small integers; those of 16 bits are sorted by their digits, much faster."""
    return np.argsort(keys.astype(np.uint16) if number <= 1 << 16 else keys, kind="stable")


def _place_in_group(groups: np.ndarray) -> np.ndarray:
    """0, 1, 2… within each run of equal numbers."""
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(first, np.diff(np.append(first, len(groups))))


FACTORS = {"SVD": _svd, "NMF": _svd, "SVDpp": _svdpp, "BaselineOnly": _baseline}
SCORES: dict[str, Callable[[Any], Scorer]] = {
    "SlopeOne": _slope_one,
    "CoClustering": _co_clustering,
    **dict.fromkeys(("KNNBasic", "KNNWithMeans", "KNNBaseline", "KNNWithZScore"), _neighbours),
}
