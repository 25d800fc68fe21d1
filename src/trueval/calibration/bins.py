"""Bins of predictions, and what a reliability diagram shows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.calibration.predictions import Predictions
from trueval.errors import DefinitionError, suggest

BY = ("width", "mass", "value")
Z = 1.959963984540054  # 97.5 % point of the normal distribution


@dataclass(frozen=True)
class Bins:
    """The bin of every row, and where bins begin and end: from `low` (excluded) to `high` (included)."""

    of_row: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.low)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums of some values over the rows of each bin."""
        return np.bincount(self.of_row, values, minlength=len(self))


def make_bins(data: Predictions, *, bins: int = 10, by: str = "width") -> Bins:
    """Put predictions into bins.

    by "width": `bins` equal parts of [0, 1]. by "mass": parts of equal weight (as nearly as ties allow, for
    equal predictions are never parted). by "value": one bin for each distinct prediction. A prediction on
    an edge belongs to the bin below it.

    >>> from trueval.calibration.predictions import read_predictions
    >>> data = read_predictions(pl.DataFrame({"p": [0.1, 0.1, 0.1, 0.9], "y": [0, 0, 1, 1]}))
    >>> make_bins(data, bins=2, by="width").high.tolist(), make_bins(data, bins=2, by="mass").high.tolist()
    ([0.5, 1.0], [0.1, 1.0])
    """
    if by not in BY:
        raise DefinitionError(f"bins cannot be made by {by!r}", found=suggest(by, BY))
    if isinstance(bins, bool) or bins != int(bins) or bins < 1:
        raise DefinitionError("the number of bins must be a whole number of at least 1", found=str(bins))
    if by == "value":
        first = data.first_of_ties
        of_row = np.zeros(len(data), np.int64)
        of_row[first[1:]] = 1
        return Bins(np.cumsum(of_row), data.value[first], data.value[first])
    edges = np.linspace(0, 1, int(bins) + 1) if by == "width" else _mass_edges(data, int(bins))
    ends = np.searchsorted(data.value, edges[1:-1], side="right")  # predictions are sorted
    sizes = np.diff(np.concatenate([[0], ends, [len(data)]]))
    return Bins(np.repeat(np.arange(len(sizes)), sizes), edges[:-1], edges[1:])


def _mass_edges(data: Predictions, bins: int) -> np.ndarray:
    """Edges at the predictions where each further 1/bins of the weight is reached; equal edges are one."""
    passed = np.cumsum(data.weights)
    wanted = passed[-1] * np.arange(1, bins) / bins
    at = np.searchsorted(passed, wanted * (1 - 1e-12))  # a share that is reached but for rounding is reached
    inner = np.unique(data.value[at])
    return np.concatenate([[0.0], inner[inner < data.value[-1]], [1.0]])


@dataclass(frozen=True)
class Reliability:
    """What was predicted and what happened, bin by bin (empty bins are left out)."""

    by: str
    bin: np.ndarray  # number of the bin, from 1
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    weight: np.ndarray
    predicted: np.ndarray  # mean prediction
    observed: np.ndarray  # share of positives
    noise: np.ndarray  # standard deviation of `observed` if every prediction were right
    effective: np.ndarray  # size of an unweighted sample with the same precision

    @property
    def gap(self) -> np.ndarray:
        """Mean prediction minus observed share."""
        return self.predicted - self.observed

    @property
    def ece(self) -> float:
        """Expected calibration error: mean absolute gap, by the weight of the bins."""
        return float(np.abs(self.gap) @ self.weight / self.weight.sum())

    @property
    def mce(self) -> float:
        """Maximum calibration error: the largest absolute gap."""
        return float(np.abs(self.gap).max())

    @property
    def ece_by_chance(self) -> float:
        """About the ECE that these predictions would show if they were perfectly calibrated.

        Labels are drawn, so observed shares differ from predictions even then: a normal deviate of standard
        deviation s is off by s·√(2/π) on average.
        """
        return float(np.sqrt(2 / np.pi) * (self.noise @ self.weight) / self.weight.sum())

    def table(self) -> pl.DataFrame:
        """One row per bin, with Wilson's 95 % interval of the observed share."""
        low, high = wilson(self.observed, self.effective)
        return pl.DataFrame(
            {
                "bin": self.bin, "low": self.low, "high": self.high, "n": self.n, "weight": self.weight,
                "predicted": self.predicted, "observed": self.observed,
                "observed_low": low, "observed_high": high, "gap": self.gap,
            }
        )  # fmt: skip


def reliability(data: Predictions, *, bins: int = 10, by: str = "mass") -> Reliability:
    """Compare predictions with what happened, bin by bin.

    >>> from trueval.calibration.predictions import read_predictions
    >>> p, y = [0.8] * 5 + [0.2] * 5, [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]
    >>> found = reliability(read_predictions(pl.DataFrame({"p": p, "y": y})), bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist(), round(found.ece, 6)
    ([0.2, 0.8], [0.2, 0.6], 0.1)
    """
    made = make_bins(data, bins=bins, by=by)
    w, p = data.weights, data.value
    weight = made.total(w)
    kept = np.flatnonzero(weight > 0)
    weight = weight[kept]
    squared = made.total(w * w)[kept]
    return Reliability(
        by=by,
        bin=kept + 1,
        low=made.low[kept],
        high=made.high[kept],
        n=np.bincount(made.of_row, minlength=len(made))[kept],
        weight=weight,
        predicted=made.total(w * p)[kept] / weight,
        observed=made.total(w * data.label)[kept] / weight,
        noise=np.sqrt(made.total(w * w * p * (1 - p))[kept]) / weight,
        effective=weight**2 / squared,
    )


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval of a share among n independent trials.

    >>> low, high = wilson(np.array([0.0]), np.array([10.0]))
    >>> low.tolist(), high.round(4).tolist()
    ([0.0], [0.2775])
    """
    z2 = Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z / (1 + z2 / n) * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return np.where(share <= 0, 0.0, np.maximum(middle - reach, 0)), np.where(
        share >= 1, 1.0, np.minimum(middle + reach, 1)
    )
