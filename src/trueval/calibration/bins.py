"""Bins of predictions: of equal width, of equal mass, or one for each distinct prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.calibration.predictions import Predictions
from trueval.errors import DefinitionError, suggest

BY = ("width", "mass", "value")
MOST_BINS = 100_000


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

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> data = read_predictions(pl.DataFrame({"p": [0.1, 0.1, 0.1, 0.9], "y": [0, 0, 1, 1]}))
    >>> make_bins(data, bins=2, by="width").high.tolist(), make_bins(data, bins=2, by="mass").high.tolist()
    ([0.5, 1.0], [0.1, 1.0])
    """
    if by not in BY:
        raise DefinitionError(f"unknown kind of bins {by!r}", where="by", do=suggest(by, BY))
    if isinstance(bins, bool) or not bins >= 1 or not bins <= MOST_BINS or bins != int(bins):
        raise DefinitionError(
            f"the number of bins must be a whole number from 1 to {MOST_BINS:,}", found=str(bins)[:40],
            do='10 to 20 are usual; by="value" has a bin for each distinct prediction',
        )  # fmt: skip
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
    targets = passed[-1] * np.arange(1, bins) / bins
    at = np.searchsorted(passed, targets * (1 - 1e-12))  # a share that is reached but for rounding is reached
    inner = np.unique(data.value[at])
    return np.concatenate([[0.0], inner[inner < data.value[-1]], [1.0]])
