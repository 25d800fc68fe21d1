"""Quantiles of Student's t. Few degrees of freedom have a finite series; SciPy, slow to load, serves the others."""

from __future__ import annotations

import math
from statistics import NormalDist

_FEW = 100


def t_reach(level: float, freedom: float) -> float:
    """How many standard errors an interval of this level reaches to either side.

    >>> round(t_reach(0.95, 4), 6), round(t_reach(0.95, 10_000), 4)
    (2.776445, 1.9602)
    """
    if freedom > _FEW or freedom != int(freedom) or freedom < 1:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, (1 + level) / 2))
    n = int(freedom)
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
