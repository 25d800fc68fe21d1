"""The position-based click model: how likely each position is to be looked at, with standard errors.

P(click) = θ(position)·γ(item). Every item brings a γ of its own, and with few rows per item no estimate of it is any
good: likelihoods over all θ and γ then give a wrong θ however many items there are. Given how often an item was
clicked at all, its γ says nothing about where: the share of its clicks at position p is n_p·θ_p / Σ_q n_q·θ_q in
expectation. The equations

    Σ over items of (clicks at p - clicks of the item · n_p·θ_p / Σ_q n_q·θ_q) = 0   for every p

hold at the true θ for any number of rows per item (Hausman, Hall & Griliches 1984; Wooldridge 1999). They are the
gradient of a concave function of log θ, which Newton's method maximises in a few steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from trueval.kernels import blocks
from trueval.propensity.clicks import Cells, check_linked

_TOGETHER = 1 << 14  # items whose shares are dense at once


@dataclass(frozen=True)
class FittedPositions:
    """Examination of each position, 1 at the best, with standard errors, and whether the steps were enough.

    `rows` and `items` are those by which positions are compared: of items shown at several and clicked.
    """

    table: pl.DataFrame  # position, p, error
    rows: int
    items: int
    converged: bool


def fit_positions(clicks: pl.DataFrame, *, steps: int = 200, tolerance: float = 1e-10) -> FittedPositions:
    """Examination θ of each position from (item, position, click) rows.

    Refused where the rows do not determine θ: positions that no item links, positions without a click.

    >>> slots = {"item": [0] * 8 + [1] * 8, "position": ([1] * 4 + [2] * 4) * 2}
    >>> clicks = [1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0]  # all and half of item 0's, half and a quarter of 1's
    >>> fit_positions(pl.DataFrame({**slots, "click": clicks})).table["p"].round(3).to_list()
    [1.0, 0.5]
    """
    cells = Cells.of(clicks)
    check_linked(cells)
    used = cells.telling()
    if len(cells.positions) == 1:
        return FittedPositions(pl.DataFrame({"position": cells.positions, "p": [1.0], "error": [0.0]}), 0, 0, True)
    theta, converged = _solve(used, steps, tolerance)
    best = int(np.argmax(theta))
    error = theta / theta[best] * _log_errors(used, theta, best)
    table = pl.DataFrame({"position": cells.positions, "p": theta / theta[best], "error": error})
    return FittedPositions(table, int(used.n.sum()), len(np.unique(used.item)), converged)


def _shares(cells: Cells, theta: np.ndarray) -> sparse.csr_array:
    """Where the clicks of each item are expected: rows of items, columns of positions, rows add up to 1."""
    weight = cells.n * theta[cells.place]
    of_item = np.bincount(cells.item, weight)
    return cells.matrix(weight / of_item[cells.item])


def _solve(cells: Cells, steps: int, tolerance: float) -> tuple[np.ndarray, bool]:
    """Newton's method on log θ of all positions but one, whose θ stays as it is; steps that overshoot are halved."""
    at_place, of_item = np.bincount(cells.place, cells.c), np.bincount(cells.item, cells.c)
    log_theta = np.zeros(len(cells.positions))
    free = np.arange(len(log_theta)) != int(np.argmax(at_place))
    height = _height(cells, log_theta)
    for _ in range(steps):
        shares = _shares(cells, np.exp(log_theta))
        gradient = (at_place - of_item @ shares)[free]
        move = np.linalg.solve(_curvature(shares, of_item)[np.ix_(free, free)], gradient)
        if np.abs(move).max() < tolerance:
            return np.exp(log_theta), True
        length = 1.0
        while True:
            tried = log_theta.copy()
            tried[free] += length * move
            new = _height(cells, tried)
            if new >= height - 1e-9 * (1 + abs(height)) or length < 1e-9:  # less than that is rounding
                break
            length /= 2
        log_theta, height = tried, new
    return np.exp(log_theta), False


def _height(cells: Cells, log_theta: np.ndarray) -> float:
    """What is maximised: the log-likelihood of where each item's clicks are, given their number."""
    log_theta = log_theta - log_theta.max()
    of_item = np.bincount(cells.item, cells.n * np.exp(log_theta)[cells.place])
    clicked = cells.c > 0
    return float(cells.c[clicked] @ (log_theta[cells.place] - np.log(of_item)[cells.item])[clicked])


def _curvature(shares: sparse.csr_array, of_item: np.ndarray) -> np.ndarray:
    return np.diag(of_item @ shares) - _products(shares, shares, of_item)


def _products(left: sparse.csr_array, right: sparse.csr_array, weight: np.ndarray) -> np.ndarray:
    """Σ over items of weight · left' · right, position by position; some items at a time, dense on one side."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for part in blocks(len(weight), _TOGETHER):
        total += left[part].T @ (right[part].toarray() * weight[part, None])
    return total


def _log_errors(cells: Cells, theta: np.ndarray, best: int) -> np.ndarray:
    """Standard errors of log(θ / θ of the best position), by the variance of the clicks in the equations.

    Where the rows are too few for the variance to come out positive, it is taken to be as large as it can be: the
    clicks themselves.
    """
    found = _log_variances(cells, theta, best, _click_variances(cells, theta))
    most = _log_variances(cells, theta, best, cells.c)
    return np.sqrt(np.where(found > 1e-6 * most, found, most))


def _click_variances(cells: Cells, theta: np.ndarray) -> np.ndarray:
    """The variance of the clicks of each cell, without bias.

    For n rows with c clicks it is c(n - c)/(n - 1). One row by itself tells nothing of its variance θγ - (θγ)², but
    the item's other rows do: any two rows q and r are both clicked with probability γ²·θ_q·θ_r, so that γ² is the
    number of such pairs over the sum of θ_q·θ_r.
    """
    of_place, weight = theta[cells.place], cells.n * theta[cells.place]
    clicks = np.bincount(cells.item, cells.c)
    pairs = np.bincount(cells.item, weight) ** 2 - np.bincount(cells.item, weight * of_place)
    square = clicks * (clicks - 1) / pairs
    single = cells.c - of_place**2 * square[cells.item]
    return np.where(cells.n > 1, cells.c * (cells.n - cells.c) / np.maximum(cells.n - 1, 1), single)


def _log_variances(cells: Cells, theta: np.ndarray, best: int, varies: np.ndarray) -> np.ndarray:
    """Variances of log(θ / θ of the best position) where the clicks of each cell have those of `varies`."""
    shares, of_item = _shares(cells, theta), np.bincount(cells.item, cells.c)
    cross = _products(cells.matrix(varies), shares, np.ones(len(of_item)))
    own = _products(shares, shares, np.bincount(cells.item, varies))
    spread = np.diag(np.bincount(cells.place, varies)) - cross - cross.T + own
    free = np.arange(len(theta)) != best
    inverse = np.linalg.inv(_curvature(shares, of_item)[np.ix_(free, free)])
    variance = np.zeros(len(theta))
    variance[free] = np.diag(inverse @ spread[np.ix_(free, free)] @ inverse)
    return variance
