"""The area under the ROC curve, of all rows and of each user, with ties counted half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.calibration.predictions import Predictions


def area(data: Predictions) -> float:
    """The chance that a random positive is predicted above a random negative, ties counting half.

    NaN where one of the two is missing.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> toy = pl.DataFrame({"p": [0.9, 0.6, 0.7, 0.4, 0.3], "y": [1, 1, 0, 0, 0]})
    >>> round(area(read_predictions(toy)), 6)
    0.833333
    """
    weight = data.weights
    positive = np.add.reduceat(weight * data.label, data.first_of_ties)
    negative = np.add.reduceat(weight * (1 - data.label), data.first_of_ties)
    return float(area_of_counts(positive[None], negative[None])[0])


def area_of_counts(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Areas from the weight of positives and negatives at ascending predictions, one for each row.

    >>> area_of_counts(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [1.0, 0.5]
    """
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    won = (positive * below).sum(axis=1)
    return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1), np.nan)


@dataclass(frozen=True)
class UserAreas:
    """The area of each user (NaN with one class only) and the weight of the user's impressions."""

    area: np.ndarray
    weight: np.ndarray


def areas_by_user(data: Predictions) -> UserAreas:
    """Each user's own area.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> toy = pl.DataFrame({"user": ["a", "a", "b"], "p": [0.2, 0.1, 0.5], "y": [1, 0, 1]})
    >>> areas_by_user(read_predictions(toy)).area.tolist()
    [1.0, nan]
    """
    assert data.user is not None
    assert data.users is not None
    n_users = len(data.users)
    # Rows are sorted by prediction already: sorting (user, place) sorts by user and prediction.
    key = (data.user.astype(np.int64) << 32) | np.arange(len(data))
    key.sort()
    user, row = (key >> 32).astype(np.int32), key & 0xFFFFFFFF
    value, weight = data.value[row], data.weights[row]
    won = weight * data.label[row]
    changes = (user[1:] != user[:-1]) | (value[1:] != value[:-1])
    first = np.flatnonzero(np.concatenate([[True], changes]))
    positive, negative = np.add.reduceat(won, first), np.add.reduceat(weight - won, first)
    owner = user[first]
    positives, negatives = (np.bincount(owner, x, minlength=n_users) for x in (positive, negative))
    passed = np.cumsum(negative) - negative / 2
    before_user = np.cumsum(negatives) - negatives
    pairs_won = np.bincount(owner, positive * (passed - before_user[owner]), minlength=n_users)
    pairs = positives * negatives
    known = pairs > 0
    # `passed` runs over all users, so that weights which are no whole numbers leave a little rounding
    own = np.clip(pairs_won / np.where(known, pairs, 1), 0, 1)
    return UserAreas(np.where(known, own, np.nan), positives + negatives)
