"""What an item earns: reward models for the direct method and for doubly robust estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trueval.kernels.seeds import derive
from trueval.online.ope.log_rows import LogRows, target_mass, target_pairs
from trueval.online.ope.policy import Policy

FOLDS = 5


class RewardModel(Protocol):
    """Expected rewards by case and item."""

    def predict(self, case: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Expected reward of items in cases, both by code."""
        ...

    def pulls(self, rows: LogRows, policy: Policy) -> np.ndarray | None:
        """How much the policy's expected reward moves with each row's reward, times the number of rows.

        One line per position: the part of the expected reward that is earned there. None if it costs too much.
        """
        ...

    @property
    def constant(self) -> bool:
        """Whether all items are expected to earn the same, so that no policy differs from another."""
        ...

    def without_shrinkage(self, rows: LogRows) -> tuple[RewardModel, np.ndarray]:
        """The model (nearly) without the bias of shrinking, and how far each row's reward is from it."""
        ...


@dataclass(frozen=True)
class CellSums:
    """Number and sum of the rewards by item and position, and the mean of all."""

    n: np.ndarray
    total: np.ndarray
    mean: float


@dataclass(frozen=True)
class CellMeans:
    """Mean reward by item and position, shrunken to the item's and the position's means as far as noise demands."""

    value: np.ndarray  # items × positions
    by_cell: np.ndarray  # how far a cell's own mean counts
    by_item: np.ndarray  # how far an item's own mean counts
    case_place: np.ndarray
    own: CellSums

    @property
    def constant(self) -> bool:
        """Whether the means of items, and of items at positions, differ no more than chance."""
        return not (self.by_item.any() or self.by_cell.any())

    def without_shrinkage(self, rows: LogRows) -> tuple[CellMeans, np.ndarray]:
        """Every mean counts wholly; rows of a mean of their own are as far from it as from that of the others.

        Items that were shown once have no others: their row is compared with the mean of all.
        """
        many = self.own.n.shape[1]
        by_item, by_cell = self.own.n.sum(axis=1) > 0, (self.own.n > 0) & (many > 1)
        bare = _cell_means(self.own, by_item.astype(np.float64), by_cell.astype(np.float64), self.case_place)
        n = self.own.n[rows.item, rows.place]
        residual = rows.reward - bare.predict(rows.case, rows.item)
        left_out = np.divide(n, n - 1, out=np.zeros_like(n), where=n > 1) * residual
        return bare, np.where(n > 1, left_out, rows.reward - self.own.mean)

    def predict(self, case: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Expected reward of items in cases."""
        return self.value[item, self.case_place[case]]

    def pulls(self, rows: LogRows, policy: Policy) -> np.ndarray:
        """The model is linear in the rewards once the shrinkage is fixed; these are its coefficients."""
        mass = target_mass(rows, policy)
        n = rows.exposures.astype(np.float64)
        own, rest = mass * self.by_cell, mass * (1 - self.by_cell)
        cell = np.divide(own, n, out=np.zeros_like(own), where=n > 0)
        of_item = n.sum(axis=1)[:, None]
        shared = np.divide(rest * self.by_item[:, None], of_item, out=np.zeros_like(own), where=of_item > 0)
        lines = []
        for place in range(n.shape[1]):
            pull = shared[rows.item, place] - (rest[:, place] @ self.by_item) / len(rows)
            here = rows.place == place
            pull[here] += cell[rows.item[here], place] + rest[:, place].sum() / n[:, place].sum()
            lines.append(pull * len(rows))
        return np.stack(lines)


def fit_cells(rows: LogRows, used: np.ndarray | None = None) -> CellMeans:
    """Fit the cell means on some rows.

    Shrinkage is empirical Bayes: a mean of n rewards counts n / (n + within / between), the two variances taken
    from the analysis of variance. Where means differ no more than chance, they are not used at all.
    """
    many, items = len(rows.positions), len(rows.items)
    pick = slice(None) if used is None else used
    cell, reward = (rows.item * many + rows.place)[pick], rows.reward[pick]
    n = np.bincount(cell, minlength=items * many).reshape(items, many).astype(np.float64)
    total = np.bincount(cell, reward, minlength=items * many).reshape(items, many)
    mean = float(reward.mean())
    of_place = _ratio(total.sum(axis=0), n.sum(axis=0), mean)
    item_n, item_mean = n.sum(axis=1), _ratio(total.sum(axis=1), n.sum(axis=1), mean)
    square = float((reward**2).sum())
    by_item = _shrinkage(item_n, item_mean, mean, square - float((item_n * item_mean**2).sum()))
    prior = (by_item * (item_mean - mean))[:, None] + of_place[None]
    cell_mean = _ratio(total, n, mean)
    by_cell = np.zeros_like(n)
    if many > 1:
        by_cell = _shrinkage(n, cell_mean, prior, square - float((n * cell_mean**2).sum()))
    return _cell_means(CellSums(n, total, mean), by_item, by_cell, rows.case_place)


def _cell_means(own: CellSums, by_item: np.ndarray, by_cell: np.ndarray, case_place: np.ndarray) -> CellMeans:
    """The model in which the means of items and of cells count so far."""
    n, total, mean = own.n, own.total, own.mean
    of_place = _ratio(total.sum(axis=0), n.sum(axis=0), mean)
    item_mean = _ratio(total.sum(axis=1), n.sum(axis=1), mean)
    prior = (by_item * (item_mean - mean))[:, None] + of_place[None]
    value = by_cell * _ratio(total, n, mean) + (1 - by_cell) * prior
    return CellMeans(value, by_cell, by_item, case_place, own)


def _ratio(total: np.ndarray, n: np.ndarray, otherwise: float) -> np.ndarray:
    return np.divide(total, n, out=np.full(np.shape(total), otherwise), where=n > 0)


def _shrinkage(n: np.ndarray, mean: np.ndarray, prior: np.ndarray | float, within_square: float) -> np.ndarray:
    """How far each group's mean counts against the prior: n / (n + within variance / between variance)."""
    rows, groups = n.sum(), int((n > 0).sum())
    if groups < 2 or rows <= groups:
        return np.zeros_like(n)
    within = max(within_square, 0.0) / (rows - groups)
    spread = float((n * (mean - prior) ** 2).sum()) - (groups - 1) * within
    between = max(spread, 0.0) / (rows - float((n**2).sum()) / rows)
    return n / (n + within / between) if between > 1e-12 * max(within, 1e-300) else np.zeros_like(n)


def expected(models: Sequence[RewardModel], rows: LogRows, policy: Policy) -> np.ndarray:
    """Expected reward of what the policy would show, by model and case."""
    found = np.zeros((len(models), len(rows.cases)))
    for case, item, probability in target_pairs(rows, policy):
        for place, model in enumerate(models):
            found[place] += np.bincount(case, probability * model.predict(case, item), minlength=found.shape[1])
    return found


def folds(rows: LogRows, *, seed: int) -> np.ndarray:
    """The fold of each row, clusters whole: a model never predicts rewards that it was fitted on."""
    rng = np.random.default_rng(int(derive(seed, "off-policy folds")))
    order = rng.permutation(rows.clusters) % min(FOLDS, rows.clusters)
    return order if rows.cluster is None else order[rows.cluster]
