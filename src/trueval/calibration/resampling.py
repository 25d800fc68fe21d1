"""Intervals by bootstrap over users, or over rows where users are unknown.

Every metric is a function of sums over rows. Sums are kept for each group of users, resamples are weights of
the groups, and one matrix product gives the sums of all resamples: ten million rows cost one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.calibration.predictions import Predictions
from trueval.evaluation.estimate import Estimate
from trueval.kernels.seeds import derive

# More users (or rows) than this are put into that many random groups, which are then drawn whole: the width of
# an interval is known to 1/√(2·2000), or 1.6 %.
MOST_GROUPS = 2000


@dataclass(frozen=True)
class Clusters:
    """The group of every row; groups are what is drawn."""

    group: np.ndarray
    n_groups: int
    n: int
    of: str  # "users" or "rows"

    @staticmethod
    def one(data: Predictions) -> Clusters:
        """All rows together, where no interval is wanted."""
        return Clusters(np.zeros(len(data), np.int32), 1, len(data), "rows")

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums of some values over the rows of each group."""
        return np.bincount(self.group, values, minlength=self.n_groups)

    def table(self, place: np.ndarray, n_places: int, values: np.ndarray) -> np.ndarray:
        """Sums by group (row) and place (column)."""
        cell = self.group.astype(np.int64) * n_places + place
        return np.bincount(cell, values, minlength=self.n_groups * n_places).reshape(self.n_groups, n_places)

    @property
    def told(self) -> str:
        """What is drawn, in words."""
        grouped = f", in {self.n_groups:,} random groups" if self.n > self.n_groups else ""
        return f"{self.n:,} {self.of}{grouped}"


def make_clusters(data: Predictions, *, seed: int = 0) -> Clusters:
    """Who is drawn together: a user's rows, or single rows where there are no users.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> make_clusters(read_predictions(pl.DataFrame({"user": [7, 5, 7], "p": [0.1, 0.2, 0.3], "y": [0, 1, 1]}))).told
    '2 users'
    """
    n = len(data) if data.users is None else len(data.users)
    # Rows are sorted by content and users by id, so that this depends on what they are, not on where they stand.
    group = np.arange(n, dtype=np.int32)
    if n > MOST_GROUPS:
        group = (np.random.default_rng(int(derive(seed, "groups"))).permutation(n) % MOST_GROUPS).astype(np.int32)
    of_row = group if data.user is None else group[data.user]
    return Clusters(of_row, min(n, MOST_GROUPS), n, "rows" if data.user is None else "users")


@dataclass(frozen=True)
class Summed:
    """A metric as a function of sums: `finish` takes rows of summed statistics and gives a value for each."""

    statistics: np.ndarray  # by group
    finish: Callable[[np.ndarray], np.ndarray]
    value: float
    n: int
    undefined: int = 0
    # For sums of absolute gaps, which noise makes larger: the value of resamples in which every true gap is 0.
    by_chance: Callable[[np.ndarray], np.ndarray] | None = None

    def resampled(self, draws: np.ndarray) -> np.ndarray:
        """The value for each row of draws, moved by what the statistics had to round."""
        if not np.isfinite(self.value) or not len(draws):
            return np.full(len(draws), np.nan)
        whole = float(self.finish(self.statistics.sum(axis=0)[None])[0])
        return self.finish(draws @ self.statistics) + (self.value - whole)


def draw(clusters: Clusters, *, resamples: int, seed: int) -> np.ndarray:
    """How often each group is in each resample; nothing where a single group leaves nothing to draw."""
    groups = clusters.n_groups
    if groups < 2 or resamples < 1:
        return np.empty((0, groups))
    rng = np.random.default_rng(int(derive(seed, "bootstrap")))
    place = rng.integers(0, groups, size=(resamples, groups)) + groups * np.arange(resamples)[:, None]
    return np.bincount(place.ravel(), minlength=resamples * groups).reshape(resamples, groups).astype(np.float64)


def bounds(value: float, resampled: np.ndarray, *, reflect: bool = False, level: float = 0.95) -> tuple[float, float]:
    """The interval around a value: percentiles of the resamples, or these reflected at the value.

    Resampled labels scatter around the observed shares, which scatter around the true ones: an absolute gap
    grows by the same amount twice. Reflecting takes that growth off; the value itself stays inside.

    >>> bounds(0.1, np.array([0.1, 0.2, 0.3]), level=1.0)
    (0.1, 0.3)
    """
    known = resampled[np.isfinite(resampled)]
    if not len(known) or not np.isfinite(value):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = (float(x) for x in np.quantile(known, [tail, 1 - tail]))
    if reflect:
        low, high = min(2 * value - high, value), max(2 * value - low, value)
    return low, high


def estimate(summed: Summed, draws: np.ndarray) -> Estimate:
    """The value with its interval.

    An interval of gaps begins at 0 where gaps of this size could be chance: reflecting does not help there, since
    a true gap of 0 cannot be undershot.
    """
    gaps = summed.by_chance is not None
    low, high = bounds(summed.value, summed.resampled(draws), reflect=gaps)
    if summed.by_chance is not None and len(draws):
        chance = bounds(summed.value, summed.by_chance(draws @ summed.statistics))[1]
        low, high = 0.0 if summed.value <= chance else max(0.0, low), min(1.0, high)
    return Estimate(summed.value, low, high, summed.n, summed.undefined)
