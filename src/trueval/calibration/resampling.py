"""Intervals by bootstrap over users, or over rows where users are unknown.

Every metric is a function of sums over rows. Sums are kept for each group of users, resamples are weights of
the groups, and one matrix product gives the sums of all resamples: ten million rows cost one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.calibration.bins import Z
from trueval.calibration.predictions import Predictions
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.resampling import draw_users
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

    def chance(self, draws: np.ndarray) -> float:
        """The mean value of resamples in which every true gap is 0; 0 for metrics that are no gaps."""
        if self.by_chance is None or not len(draws):
            return 0.0
        values = self.by_chance(draws @ self.statistics)
        return float(values[np.isfinite(values)].mean())


def draw(clusters: Clusters, *, resamples: int, seed: int) -> np.ndarray:
    """How often each group is in each resample; nothing where a single group leaves nothing to draw."""
    groups = clusters.n_groups
    if groups < 2 or resamples < 1:
        return np.empty((0, groups))
    return np.concatenate(list(draw_users(groups, seed=seed, resamples=resamples)))


def bounds(resampled: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of the resamples.

    >>> bounds(np.arange(1001.0))
    (25.0, 975.0)
    """
    known = resampled[np.isfinite(resampled)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def gap_bounds(value: float, resampled: np.ndarray, *, less: float = 0.0, more: float = 0.0) -> tuple[float, float]:
    """An interval for a value that chance has moved up by at most `less`, or down by at most `more`.

    Noise never makes a sum of absolute gaps smaller on average, and adds at most what it would add to gaps of 0:
    the truth lies between the value and the value less that, give or take 1.96 standard deviations. Percentiles
    would be centred on the value plus that noise once more.

    >>> gap_bounds(0.5, np.array([0.5, 0.5]), less=0.1)
    (0.4, 0.5)
    """
    known = resampled[np.isfinite(resampled)]
    if not len(known) or not np.isfinite(value):
        return float("nan"), float("nan")
    reach = Z * float(known.std())
    return value - less - reach, value + more + reach


def estimate(summed: Summed, draws: np.ndarray) -> Estimate:
    """The value with its 95 % interval."""
    resampled = summed.resampled(draws)
    if summed.by_chance is None:
        low, high = bounds(resampled)
    else:
        low, high = gap_bounds(summed.value, resampled, less=summed.chance(draws))
        low, high = max(0.0, low), min(1.0, high)
    if np.isnan(resampled).all():
        low = high = float("nan")
    return Estimate(summed.value, low, high, summed.n, summed.undefined)
