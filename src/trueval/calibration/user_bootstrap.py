"""Intervals by bootstrap over users, or over rows where users are unknown.

Every metric is a function of sums over rows. Sums are kept for each group of users, resamples are weights of
the groups, and one matrix product gives the sums of all resamples: ten million rows cost one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trueval.calibration.predictions import Predictions
from trueval.evaluation.estimate import Estimate
from trueval.kernels.seeds import derive
from trueval.statistics.percentiles import percentile_bounds
from trueval.statistics.resampling import MOST_GROUPS, draw_users, one_thread, random_groups

if TYPE_CHECKING:
    from trueval.calibration.calibration_errors import GapRange

# With fewer users (or rows) of the rarer label than this, resamples tell too little of the others there could be.
FEWEST = 5
BOTH = "both kinds of label"


@dataclass(frozen=True)
class Clusters:
    """The group of every row; groups are what is drawn."""

    group: np.ndarray
    n_groups: int
    n: int
    of: str  # "users" or "rows"
    seed: int = 0

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

    def at_most(self, groups: int) -> Clusters:
        """No more groups than this (two at least): whole groups are put together."""
        groups = max(2, groups)
        if groups >= self.n_groups:
            return self
        return replace(self, group=self.group % groups, n_groups=groups)

    @property
    def description(self) -> str:
        """What is drawn, in words."""
        grouped = f", in {self.n_groups:,} random groups" if self.n > self.n_groups else ""
        return f"{self.n:,} {self.of}{grouped}"


def make_clusters(data: Predictions, *, seed: int = 0) -> Clusters:
    """Who is drawn together: a user's rows, or single rows where there are no users.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> table = pl.DataFrame({"user": [7, 5, 7], "p": [0.1, 0.2, 0.3], "y": [0, 1, 1]})
    >>> make_clusters(read_predictions(table)).description
    '2 users'
    """
    n = len(data) if data.users is None else len(data.users)
    # Rows are sorted by content and users by id, so that this depends on what they are, not on where they stand.
    group = np.arange(n, dtype=np.int32)
    if n > MOST_GROUPS:
        group = random_groups(n, np.random.default_rng(int(derive(seed, "groups")))).astype(np.int32)
    of_row = group if data.user is None else group[data.user]
    return Clusters(of_row, min(n, MOST_GROUPS), n, "rows" if data.user is None else "users", seed)


@dataclass(frozen=True)
class Summed:
    """A metric as a function of sums: `finish` takes rows of summed statistics and gives a value for each."""

    statistics: np.ndarray  # by group
    finish: Callable[[np.ndarray], np.ndarray]
    value: float
    n: int
    undefined: int = 0
    # For absolute gaps, which noise makes larger: what chance does to them (see gaps.py).
    gap_range: Callable[[], GapRange] | None = None
    smooth: bool = True  # whether resamples show how it varies: a maximum that rests on one row does not
    # What the interval rests on: users (or rows) with the rarer kind of label; of gauc, users with both kinds.
    rarest: int | None = None
    rests_on: str = "the rarer kind of label"

    def resampled(self, draws: np.ndarray) -> np.ndarray:
        """The value for each row of draws, moved by what the statistics had to round."""
        if not np.isfinite(self.value) or not len(draws):
            return np.full(len(draws), np.nan)
        whole = float(self.finish(self.statistics.sum(axis=0)[None])[0])
        return self.finish(product(draws, self.statistics)) + (self.value - whole)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A matrix product on one thread: sums of several threads differ in their last bits with the number of threads.

    >>> product(np.eye(2), np.ones((2, 1))).tolist()
    [[1.0], [1.0]]
    """
    with one_thread():
        return left @ right


def draw(clusters: Clusters, *, resamples: int, seed: int) -> np.ndarray:
    """How often each group is in each resample; nothing where a single group leaves nothing to draw."""
    groups = clusters.n_groups
    if groups < 2 or resamples < 1:
        return np.empty((0, groups))
    return np.concatenate(list(draw_users(groups, seed=seed, resamples=resamples)))


def bounds(resampled: np.ndarray, *, n: int | None = None) -> tuple[float, float]:
    """The middle 95 % of the resamples that are finite, made wider as Student's t is where they rest on n observations.

    >>> bounds(np.append(np.arange(1001.0), np.inf)), bounds(np.arange(1001.0), n=10)
    ((25.0, 975.0), (8.6, 991.4))
    """
    return percentile_bounds(resampled[np.isfinite(resampled)], 0.95, observations=n)


def no_interval(summed: Summed, draws: np.ndarray, *, of: str) -> str:
    """Why a value has no interval although one was asked for; empty where it has one."""
    if not np.isfinite(summed.value):
        return ""  # infinite and undefined values have warnings of their own
    if not len(draws):
        return f"a single {of.removesuffix('s')} says nothing about variation"
    if summed.gap_range is not None:
        return ""
    if summed.rarest is not None and summed.rarest < FEWEST:
        return f"too few {of} with {summed.rests_on}: {summed.rarest:,}, at least {FEWEST} are needed"
    values = summed.resampled(draws)
    known = values[np.isfinite(values)]
    if not len(known) or np.ptp(known) <= 1e-12 * max(1.0, abs(summed.value)):
        return f"all resamples of {of} give the same value, so its error cannot be estimated"
    return ""


def estimate(summed: Summed, draws: np.ndarray, *, of: str, gap: GapRange | None = None) -> Estimate:
    """The value with its 95 % interval, where there is one that holds."""
    low = high = float("nan")
    if gap is not None:
        low, high = gap.low, gap.high
    elif len(draws) and not no_interval(summed, draws, of=of):
        low, high = bounds(summed.resampled(draws), n=summed.rarest)
    return Estimate(summed.value, low, high, summed.n, summed.undefined)
