"""What gaps between predictions and observed shares mean: by chance, tests of calibration, and intervals.

A sum or a maximum of absolute gaps is above 0 however good predictions are, for labels are drawn. A bootstrap cannot
tell by how much where bins are small: a bin of one row has one gap in all of its resamples. So bins are taken as what
they are, hits among a number of trials:

- The size of a bin is that of independent rows of equal weight with the same precision: divided by the design effect
  of weights (Kish) and, where users are known, of rows of one user that go together (Rao and Scott 1981).
- ece, p-value and lower end: shares are drawn around predictions moved towards what was observed by a part t of the
  gaps. p is how often t = 0 (calibrated) shows an ece as large as the observed one; the lower end is the ece of the t
  at which that happens in 2.5 % of the draws, and 0 where it happens more often at t = 0.
- ece, upper end: the distance of each bin's exact limit from its gap, added up in squares (Zou and Donner 2008).
- mce: p is the smallest exact p-value of any bin, corrected for their number (Šidák), and the lower end the largest
  gap that is left when every bin has its limit at that level. The upper end is the largest upper limit of any bin.

Both are of the bins as they are: the truth is the gap between the mean prediction and the mean true probability of the
rows of each bin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueval.calibration.bins import Bins
from trueval.calibration.predictions import Predictions
from trueval.calibration.user_bootstrap import Clusters, product
from trueval.kernels.seeds import derive
from trueval.statistics.binomial import binomial_p, clopper_pearson, drawn_shares, mean_distance, wilson_interval

_TAIL = 0.025
_DRAWS = 2000
_MOST = 2_000_000  # draws times bins, but no fewer draws than _FEWEST
_FEWEST = 400
_HALVINGS = 14
_MOST_CELLS = 10_000_000  # of groups by bins


@dataclass(frozen=True)
class GapRange:
    """What a value would be by chance, how likely one as large is then, and the 95 % interval."""

    by_chance: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class Gaps:
    """Bins that hold rows: share of the weight, mean prediction, share of positives, size in independent rows."""

    weight: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    size: np.ndarray
    noise: np.ndarray  # standard deviation of `observed` if every prediction were right
    residuals: np.ndarray | None = None  # by group of users and bin, centred; None where rows are independent
    seed: int = 0

    @property
    def gap(self) -> np.ndarray:
        """Mean prediction minus observed share."""
        return self.predicted - self.observed

    @property
    def ece_by_chance(self) -> float:
        """The ece that is expected if every prediction is right."""
        p = self.predicted
        matched = p * (1 - p) / np.where(self.noise > 0, self.noise, np.inf) ** 2
        return float(self.weight @ mean_distance(np.maximum(matched, 1.0), p))

    @cached_property
    def deviates(self) -> np.ndarray:
        """Standard normal deviates of the observed shares, a column for each bin.

        Bins that hold rows of the same users vary together as the residuals of these users do.
        """
        bins = len(self.weight)
        draws = max(_FEWEST, min(_DRAWS, _MOST // bins))
        rng = np.random.default_rng(int(derive(self.seed, "gaps")))
        own = rng.standard_normal((draws, bins))
        if self.residuals is None:
            return own
        scale = np.sqrt((self.residuals**2).sum(axis=0))
        known = scale > 1e-12 * np.abs(self.residuals).max(initial=0.0)
        pushed = rng.standard_normal((draws, len(self.residuals)))
        own[:, known] = -product(pushed, self.residuals[:, known] / scale[known])  # residuals are p - y
        return own

    def drawn(self, part: float = 0.0) -> np.ndarray:
        """Absolute gaps in draws where the true gaps are a part of the observed ones."""
        return np.abs(self.predicted - drawn_shares(self.deviates, self.size, self.predicted - part * self.gap))

    def _limits(self, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """Exact limits of the observed shares."""
        return clopper_pearson(self.observed * self.size, self.size, tail=tail)

    def ece(self) -> GapRange:
        """The mean gap: by chance, p-value and interval."""
        value = float(self.weight @ np.abs(self.gap))

        def as_large(part: float) -> float:
            reached = product(self.drawn(part), self.weight) >= value - 1e-12
            return float((reached.sum() + 1) / (len(reached) + 1))

        p = as_large(0.0)
        low = 0.0 if p > _TAIL else value * _crossing(as_large)
        below, above = self._limits(_TAIL)
        furthest = np.maximum(np.abs(self.predicted - below), np.abs(self.predicted - above))
        reach = self.weight * (furthest - np.abs(self.gap)) * np.where(self.gap < 0, 1, -1)
        width = float(np.sqrt((reach**2).sum()) if self.residuals is None else product(self.deviates, reach).std())
        return GapRange(self.ece_by_chance, p, low, min(1.0, value + width))

    def mce(self) -> GapRange:
        """The largest gap: by chance, p-value and interval."""
        bins = len(self.weight)
        smallest = float(binomial_p(self.observed * self.size, self.size, self.predicted).min())
        p = float(-np.expm1(bins * np.log1p(-min(smallest, 1 - 1e-16))))
        each = -np.expm1(np.log1p(-_TAIL) / bins)
        below, above = self._limits(float(each) / 2)
        low = float(np.maximum(0.0, np.maximum(self.predicted - above, below - self.predicted)).max())
        below, above = self._limits(_TAIL)
        high = float(np.maximum(np.abs(self.predicted - below), np.abs(self.predicted - above)).max())
        return GapRange(float(self.drawn().max(axis=1).mean()), p, low, high)


def base_rate(data: Predictions, clusters: Clusters) -> tuple[float, float, float]:
    """The share of positives, with Wilson's 95 % interval for as many independent rows as the table is worth.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> from trueval.calibration.user_bootstrap import make_clusters
    >>> data = read_predictions(pl.DataFrame({"p": [0.1] * 10, "y": [0] * 10}))
    >>> [round(x, 4) for x in base_rate(data, make_clusters(data))]
    [0.0, 0.0, 0.2775]
    """
    one = Bins(np.zeros(len(data), np.int64), np.zeros(1), np.ones(1))
    share = float(data.weights @ data.label / data.weights.sum())
    gaps = make_gaps(data.with_values(np.full(len(data), share)), one, clusters)  # predictions do not matter
    low, high = wilson_interval(gaps.observed, gaps.size)
    return float(gaps.observed[0]), float(low[0]), float(high[0])


def _crossing(as_large: Callable[[float], float]) -> float:
    """The part at which values as large as the observed one make up a tail; at 1 they are the rule."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if as_large(middle) <= _TAIL else (low, middle)
    return low


def make_gaps(data: Predictions, made: Bins, clusters: Clusters) -> Gaps:
    """Gaps of bins, their sizes as the weights of rows and the agreement of one user's rows leave them.

    >>> import polars as pl
    >>> from trueval.calibration.bins import make_bins
    >>> from trueval.calibration.predictions import read_predictions
    >>> from trueval.calibration.user_bootstrap import make_clusters
    >>> rows = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "p": [0.5] * 6, "y": [1, 1, 0, 0, 1, 1]})
    >>> for table in (rows, rows.drop("user")):  # a user's two rows are always alike, and tell no more than one
    ...     data = read_predictions(table)
    ...     print(make_gaps(data, make_bins(data, bins=1), make_clusters(data)).size.round(6).tolist())
    [3.0]
    [6.0]
    """
    w, p = data.weights, data.value
    weight = made.total(w)
    kept = weight > 0
    total = weight[kept]
    observed, predicted = made.total(w * data.label)[kept] / total, made.total(w * p)[kept] / total
    squared = made.total(w * w)[kept]
    noise = np.sqrt(made.total(w * w * p * (1 - p))[kept]) / total
    effect, residuals = np.ones(len(total)), None
    if clusters.of == "users":
        gap = np.zeros(len(made))
        gap[kept] = predicted - observed
        away = w * (p - data.label - gap[made.of_row])
        clusters = clusters.at_most(_MOST_CELLS // len(made))
        residuals = clusters.table(made.of_row, len(made), away)[:, kept]
        group_weight = clusters.table(made.of_row, len(made), w)[:, kept]
        effect = _design_effects(residuals, group_weight, made.total(away**2)[kept], squared)
    size = np.maximum(1.0, total**2 / squared / effect)
    return Gaps(total / total.sum(), predicted, observed, size, noise * np.sqrt(effect), residuals, clusters.seed)


def _design_effects(
    residuals: np.ndarray, group_weight: np.ndarray, apart: np.ndarray, squared: np.ndarray
) -> np.ndarray:
    """How much more the share of a bin varies than that of independent rows.

    One correlation of two rows of a user in a bin is estimated from all bins, for small ones know too little; bins
    differ in how many such pairs they hold.
    """
    groups = (group_weight > 0).sum(axis=0)
    several = groups > 1
    together = (residuals**2).sum(axis=0) * np.where(several, groups / np.maximum(groups - 1, 1), 1.0)
    pairs = (group_weight**2).sum(axis=0) - squared
    of_pairs = float((apart / squared * pairs)[several].sum())
    if of_pairs <= 1e-12 * float(apart.sum()):
        return np.ones(len(squared))
    correlation = float(np.clip((together - apart)[several].sum() / of_pairs, 0, 1))
    return 1 + correlation * pairs / squared
