"""A system of one's own for experiment.toml: anything with fit(train) and score(users) will do."""

from __future__ import annotations

import numpy as np

from trueval.recommenders.protocol import TrainSet


class Companions:
    """Popularity among companions: users who rated the same one of the most popular items."""

    def __init__(self, groups: int = 8, weight: float = 0.5) -> None:
        self.groups, self.weight = groups, weight

    def fit(self, train: TrainSet) -> Companions:
        """`train.log` has the codes of users and items of every train row; ids are `train.users`, `train.items`."""
        rated = np.zeros((len(train.users), len(train.items)), np.float32)
        rated[train.log.user, train.log.item] = 1
        first = np.argsort(-train.popularity, kind="stable")[: self.groups]
        self.everybody = rated.mean(axis=0)
        self.group = np.argmax(rated[:, first], axis=1)  # the first of these items that the user has rated
        means = [rated[self.group == g].mean(axis=0) if (self.group == g).any() else self.everybody
                 for g in range(self.groups)]  # fmt: skip
        self.companions = np.stack(means)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        """One row per user asked for, one column per item; higher is better."""
        return self.weight * self.companions[self.group[users]] + (1 - self.weight) * self.everybody
