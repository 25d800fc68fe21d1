"""Student's t and the normal distribution: quantiles, intervals from a standard error, p-values.

Few degrees of freedom have a finite series; SciPy, slow to load, serves the others.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_FEW = 100
_NEARLY_ALL = 1 - 1e-6  # the series adds up to a share: above this one, what is left out of it is mostly rounding


def t_quantile(*, level: float, freedom: float) -> float:
    """How many standard errors an interval of this level reaches to either side.

    >>> round(t_quantile(level=0.95, freedom=4), 6), round(t_quantile(level=0.95, freedom=10_000), 4)
    (2.776445, 1.9602)
    """
    if 1 <= freedom <= _FEW and freedom == int(freedom) and 0 < level < _NEARLY_ALL:
        return _by_series(level, int(freedom))
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def normal_quantile(level: float) -> float:
    """The same with a standard error that is known: the normal distribution.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def student_interval(value: float, error: float, *, freedom: float, level: float) -> tuple[float, float]:
    """Student's t interval from a standard error.

    >>> [round(end, 3) for end in student_interval(0.42, 0.0070711, freedom=4, level=0.95)]
    [0.4, 0.44]
    """
    reach = t_quantile(level=level, freedom=freedom) * error
    return value - reach, value + reach


def t_p_value(t: float, *, freedom: float, tail: str = "two-sided") -> float:
    """p of a value that is t standard errors away from 0; `tail` is the side looked at: two-sided, greater, less.

    >>> round(t_p_value(2.776445, freedom=4), 6), round(t_p_value(-2.776445, freedom=4, tail="less"), 6)
    (0.05, 0.025)
    """
    from scipy.special import stdtr

    if tail == "two-sided":
        return float(2 * stdtr(freedom, -abs(t)))
    return float(stdtr(freedom, -t if tail == "greater" else t))


@lru_cache(maxsize=1024)  # half a millisecond, and comparisons of the same users ask for the same again and again
def _by_series(level: float, n: int) -> float:
    low, high = 0.0, math.atan(NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(n))
    while _inside(high, n) < level:  # an angle of π/2 would hold everything
        low, high = high, (high + math.pi / 2) / 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _inside(middle, n) < level else (low, middle)
    return math.tan(high) * math.sqrt(n)


def _inside(angle: float, freedom: int) -> float:
    """Share of the distribution within ±tan(angle)·√freedom (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    cosine, term, total = math.cos(angle), 1.0, 0.0
    odd = freedom % 2
    for step in range(freedom // 2):
        total += term
        term *= cosine**2 * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * cosine * total)
    return math.sin(angle) * total
