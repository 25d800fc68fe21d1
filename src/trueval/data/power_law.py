"""The shifted power law of popularity: |R(i_k)| = c1 + β·(c2 + k)^(−α), k the rank (Bellogín et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.errors import DataError

_WHOLE = 5_000  # items up to which every rank is fitted; of more, cells of ranks
_GROWTH = 0.002  # of a cell, relative to its rank
_ALPHAS = (0.2, 0.5, 1.0, 1.5, 2.5, 5.0)
_SHIFTS = (0.0, 0.003, 0.03, 0.1, 0.5)  # of the number of items
_STARTS = 3  # of these, the best ones are followed
_STEEPEST = 50.0


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """The curve. Of a fit, `explained` is the share of the variance of the numbers of ratings that it explains."""

    alpha: float
    beta: float
    c1: float
    c2: float
    explained: float = math.nan

    def __call__(self, rank: np.ndarray) -> np.ndarray:
        """Number of ratings at popularity ranks, from 1.

        >>> PowerLaw(1.0, 10.0, 2.0, 0.0, 1.0)(np.array([1, 5])).tolist()
        [12.0, 4.0]
        """
        return self.c1 + self.beta * (self.c2 + np.asarray(rank, np.float64)) ** -self.alpha

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        names = ("alpha", "beta", "c1", "c2", "explained")
        return {name: None if (value := getattr(self, name)) != value else value for name in names}


def fit_power_law(counts: np.ndarray) -> PowerLaw:
    """Fit the curve to numbers of ratings by least squares, c1, c2 and β not below 0.

    For given α and c2 the best c1 and β are those of a linear regression; α and c2 are searched from the best points of
    a grid. α and c2 belong together: curves with both larger are nearly the same over many items, so that α alone says
    less of a data set than its Gini index does. It also depends on how the curve is fitted, which the paper does not
    say: on MovieLens 1M (published: about 1.4) this way gives 1.37, c1 of any sign 0.29, and a Poisson likelihood with
    c1 = 0 gives 6.1. This way was chosen because it meets the published number. Where all items have as many ratings,
    α is 0.

    Parameters
    ----------
    counts : array of numbers
        Ratings of each item, in any order. Items without any count as well.

    Returns
    -------
    PowerLaw
        The parameters, and the share of the variance that the curve explains.

    Raises
    ------
    TruevalError
        For fewer than five items.

    Examples
    --------
    >>> law = fit_power_law(3 + 5000 * (20 + np.arange(1, 2001)) ** -1.2)
    >>> [round(float(value), 2) for value in (law.alpha, law.beta, law.c1, law.c2, law.explained)]
    [1.2, 5000.0, 3.0, 20.0, 1.0]
    """
    ordered = np.sort(np.asarray(counts, np.float64))[::-1]
    if len(ordered) < 5:
        raise DataError("a power law of four parameters needs at least five items", found=f"{len(ordered)} items")
    if ordered[0] == ordered[-1]:
        return PowerLaw(0.0, 0.0, float(ordered[0]), 0.0, float("nan"))
    rank, mean, weight = _cells(ordered)
    whole = float(((ordered - ordered.mean()) ** 2).sum())

    def loss(place: np.ndarray) -> float:
        return _linear(*_inside(place, len(ordered)), rank, mean, weight)[2] / whole

    grid = [np.array([np.log(a), np.log(1 + s * len(ordered))]) for a in _ALPHAS for s in _SHIFTS]
    best = min((_searched(loss, start) for start in sorted(grid, key=loss)[:_STARTS]), key=loss)
    alpha, c2 = _inside(best, len(ordered))
    c1, beta, _ = _linear(alpha, c2, rank, mean, weight)
    law = PowerLaw(alpha, beta, c1, c2, 0.0)
    left = ordered - law(np.arange(1, len(ordered) + 1))
    return PowerLaw(alpha, beta, c1, c2, float(1 - left @ left / whole))


def _searched(loss: Any, start: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    options = {"maxiter": 2000, "xatol": 1e-6, "fatol": 1e-13}
    # a simplex may come to rest beside the bottom of a narrow valley: from there once more
    for _ in range(2):
        start = minimize(loss, start, method="Nelder-Mead", options=options).x
    return start


def _inside(place: np.ndarray, size: int) -> tuple[float, float]:
    """α and c2 of a point of the search, which may go anywhere."""
    alpha = float(np.exp(np.clip(place[0], -10, np.log(_STEEPEST))))
    return alpha, float(np.exp(np.clip(place[1], 0.0, np.log(100.0 * size + 1))) - 1)


def _linear(
    alpha: float, c2: float, rank: np.ndarray, mean: np.ndarray, weight: np.ndarray
) -> tuple[float, float, float]:
    """Best c1 and β (neither below 0) for given α and c2, and the weighted sum of squares that is left."""
    first = c2 + 1
    curve = ((c2 + rank) / first) ** -alpha  # 1 at the first rank, so that nothing overflows
    total = weight.sum()
    middle, level = weight @ curve / total, weight @ mean / total
    spread = weight @ (curve - middle) ** 2
    slope = (weight * (curve - middle)) @ (mean - level) / spread if spread > 0 else 0.0
    c1 = level - slope * middle
    if c1 < 0:
        c1, slope = 0.0, (weight * curve) @ mean / ((weight * curve) @ curve)
    left = mean - c1 - slope * curve
    with np.errstate(over="ignore"):
        beta = float(slope * np.float64(first) ** alpha)
    return float(c1), beta, float(weight @ left**2)


def _cells(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks, numbers of ratings and weights: every item, or of many items the means of narrow cells of ranks."""
    size = len(ordered)
    if size <= _WHOLE:
        return np.arange(1.0, size + 1), ordered, np.ones(size)
    edges = [0]
    while edges[-1] < size:
        edges.append(min(size, edges[-1] + max(1, int(_GROWTH * edges[-1]))))
    begins = np.array(edges[:-1])
    number = np.diff(edges)
    return begins + (number + 1) / 2, np.add.reduceat(ordered, begins) / number, number.astype(np.float64)
