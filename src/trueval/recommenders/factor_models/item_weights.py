"""Weights of AllRank-Pop: by the popularity of the item, of ratings that were made or of missing ones."""

from __future__ import annotations

import numpy as np

from trueval.errors import DataError
from trueval.recommenders.protocol import TrainSet

WEIGHTINGS = ("increasing", "decreasing")


def item_weights(
    train: TrainSet, weights: str, *, beta_w: float, w_m: float, threshold: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of a rating and of a missing rating, by item.

    decreasing: a rating weighs c·(1/(N+_i + 1))^β with Σ_ratings weight = number of ratings, a missing one w_m;
    increasing: a rating weighs 1, a missing one c·(N+_i + 1)^β with mean w_m over all items. Without the 1, which
    the paper has in decreasing weights alone, nothing would keep the predictions low of items that nobody liked.
    Relevant are ratings that reach the threshold (the evaluation's, if none is given; else those above 0).

    >>> from trueval.recommenders.factor_models.matrices import train_of_table
    >>> train = train_of_table([[5, 4, np.nan], [5, np.nan, np.nan], [5, np.nan, np.nan]])
    >>> item_weights(train, "increasing", beta_w=1, w_m=0.2)[1].round(3).tolist()
    [0.343, 0.171, 0.086]
    >>> item_weights(train, "decreasing", beta_w=1, w_m=0.2)[0].round(3).tolist()
    [0.8, 1.6, 3.2]
    """
    n_items = len(train.items)
    ones = np.ones(n_items)
    popularity = relevant_counts(train, threshold)
    if beta_w and not popularity.any():
        assert train.log.value is not None
        raise DataError(
            "weights by popularity need relevant ratings",
            where="train",
            found=f"no rating is relevant; the highest is {train.log.value.max():g}",
            do="lower the threshold",
        )
    if weights == "decreasing":
        falling = (1.0 / (popularity + 1.0)) ** beta_w
        return falling * (len(train.log.item) / falling[train.log.item].sum()), w_m * ones
    rising = (popularity + 1.0) ** beta_w
    return ones, rising * (w_m / rising.mean())


def relevant_counts(train: TrainSet, threshold: float | None) -> np.ndarray:
    """N+_i, the number of relevant train ratings of each item: users or, where the log counts them, rows."""
    value = train.log.value
    assert value is not None
    least = train.threshold if threshold is None else threshold
    relevant = value > 0 if least is None else value >= least
    return train.item_counts(relevant).astype(np.float64)
