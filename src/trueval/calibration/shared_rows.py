"""Whether two tables hold the same rows, judged by predictions and labels alone.

Ids may be missing, renamed or coded anew, columns added, rows shuffled, numbers stored shorter: what a row predicted
and what happened stay. The rule has two steps, so that tables that are alike for good reasons pass:

1. Predictions coincide more often than they do within a table. Coarse predictions coincide all the time; how often
   those of the larger table would be met in so many rows of its own kind is known without bias (rarefaction).
   Counted are coincidences beyond that: at least ten, 5 % of the smaller table, and four standard deviations.
2. Where a prediction occurs once in each table, the labels agree. One prediction for an item, made on two days, is the
   same with labels of its own: they disagree as often as labels of neighbouring predictions do. Labels of the same
   row never disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.calibration.predictions import Predictions

_LEAST = 10  # coincidences beyond those expected
_SHARE = 0.05  # of the smaller table
_DEVIATIONS = 4.0
_NEIGHBOURS = 50  # pairs whose labels say how often labels disagree by chance
_TELLING = 8.0  # expected disagreements from which on labels tell rows apart
_CHANCE = 1e-3
_COARSE = 0.9  # share of coincidences to be expected above which predictions tell nothing
_SAMPLE = 2000  # rows that a calibrator keeps to recognise


@dataclass(frozen=True)
class KnownRows:
    """Predictions and labels of some rows of a table; those whose hash is at most `limit`."""

    value: np.ndarray
    label: np.ndarray
    limit: int = (1 << 64) - 1

    @staticmethod
    def of(data: Predictions) -> KnownRows:
        """All rows of a table."""
        return KnownRows(data.value, data.label)

    def upto(self, limit: int) -> KnownRows:
        """The rows whose hash is at most this: a sample of predictions, the same in every table."""
        if limit >= self.limit:
            return self
        kept = _hashes(self.value) <= np.uint64(limit)
        return KnownRows(self.value[kept], self.label[kept], limit)

    def sample(self) -> KnownRows:
        """So few rows that they can be kept in a file; all rows of a prediction are in it or none."""
        if len(self.value) <= _SAMPLE:
            return self
        return self.upto(int(np.sort(_hashes(self.value))[_SAMPLE - 1]))


@dataclass(frozen=True)
class Reuse:
    """What was found: rows that coincide beyond expectation, and whether they are the same rows."""

    verdict: str  # "same", "other", "unknown" (rows coincide, labels do not tell) or "coarse"
    rows: int = 0  # coincidences beyond those expected
    of: int = 0  # rows of the smaller table


def find_reuse(one: KnownRows, two: KnownRows) -> Reuse:
    """Compare two tables by content.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(400)
    >>> first, second = (KnownRows(p[at], (p[at] > 0.5).astype(float)) for at in (slice(0, 200), slice(200, 400)))
    >>> find_reuse(first, second).verdict, find_reuse(first, first).rows
    ('other', 200)
    """
    limit = min(one.limit, two.limit)
    one, two = one.upto(limit), two.upto(limit)
    small, large = sorted((one, two), key=lambda rows: len(rows.value))
    if not len(small.value):
        return Reuse("other")
    values = same_digits(small.value, large.value)
    if _equal_tables(values, small.label, large.label):
        return Reuse("same", len(small.value), len(small.value))
    found, expected, deviation = _coincidences(*values)
    beyond = found - expected
    if beyond < max(_LEAST, _SHARE * len(small.value), _DEVIATIONS * deviation):
        coarse = expected > _COARSE * len(large.value)
        return Reuse("coarse" if coarse else "other", 0, len(small.value))
    rows = min(round(beyond), len(small.value))
    return Reuse(_labels_tell(*values, small.label, large.label), rows, len(small.value))


def _coincidences(small: np.ndarray, large: np.ndarray) -> tuple[int, float, float]:
    """Rows of the larger table whose prediction the smaller one has; how many if both were of one kind; deviation."""
    from scipy.special import gammaln

    value, times = np.unique(large, return_counts=True)
    found = int(times[np.isin(value, small)].sum())
    n, m = len(large), min(len(small), len(large) - 1)
    left = n - times - m
    log_missed = gammaln(n - times + 1) - gammaln(np.maximum(left, 0) + 1) - gammaln(n) + gammaln(n - m)
    met = np.clip(1 - np.where(left >= 0, np.exp(log_missed), 0.0), 0, 1)  # rounding of large logarithms
    met[times == 1] = 0.0
    return found, float(times @ met), float(np.sqrt(2 * (times**2) @ (met * (1 - met))))


def _labels_tell(small: np.ndarray, large: np.ndarray, label: np.ndarray, other: np.ndarray) -> str:
    """Whether labels of predictions that occur once in each table disagree as those of different rows do."""
    from scipy.special import pdtr

    (value, at, times), (value_too, at_too, times_too) = (
        np.unique(x, return_index=True, return_counts=True) for x in (small, large)
    )
    value, at, value_too, at_too = value[times == 1], at[times == 1], value_too[times_too == 1], at_too[times_too == 1]
    _, mine, theirs = np.intersect1d(value, value_too, assume_unique=True, return_indices=True)
    left, right = label[at[mine]], other[at_too[theirs]]
    if not len(left):
        return "unknown"
    window = np.arange(len(left)) * max(1, len(left) // _NEIGHBOURS) // len(left)
    size = np.bincount(window)
    p, q = np.bincount(window, left) / size, np.bincount(window, right) / size
    expected, found = float(size @ (p + q - 2 * p * q)), int((left != right).sum())
    if found < expected / 2 and pdtr(found, expected) < _CHANCE:
        return "same"
    return "other" if expected >= _TELLING else "unknown"


def _equal_tables(values: tuple[np.ndarray, np.ndarray], label: np.ndarray, other: np.ndarray) -> bool:
    if len(label) != len(other):
        return False
    orders = [np.lexsort((y, x)) for x, y in zip(values, (label, other))]
    same_values = np.array_equal(values[0][orders[0]], values[1][orders[1]])
    return bool(same_values and np.array_equal(label[orders[0]], other[orders[1]]))


def same_digits(one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with the digits of the one that has fewer: a table may come back in single precision, or rounded."""
    for shorter in (lambda x: x.astype(np.float32).astype(np.float64), *(_rounded(d) for d in range(9, 3, -1))):
        short = [bool(np.array_equal(shorter(x), x)) for x in (one, two)]
        if short[0] != short[1]:
            one, two = shorter(one), shorter(two)
    return one, two


def _rounded(digits: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.round(x, digits)


def _hashes(value: np.ndarray) -> np.ndarray:
    """Hashes of predictions in single precision (splitmix64), the same in every version and on every machine."""
    x = (value.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)  # + 0 makes -0 a 0
    with np.errstate(over="ignore"):
        x += np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
