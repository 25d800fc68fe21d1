"""How much of the spread of several means over the same users is noise: what choosing the best of them gains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class NoiseShare(NamedTuple):
    """The share of the spread that noise explains, a lower bound of it (95 % confidence), and p of "at most half"."""

    share: float
    at_least: float
    p: float


def noise_share(values: np.ndarray, *, level: float = 0.95) -> NoiseShare:
    """The share of the variance of column means that comes from the choice of rows; rows are users, columns systems.

    F of the analysis of variance with repeated measures has the variance between columns over what rows alone would
    make of it: 1/F is the share of noise, and 1 − 1/F the reliability (generalisability) of the means. The best
    column's lead over their mean is expected to shrink by this share on new rows. Columns are taken as a sample of
    systems that might have been tried, normal about their mean, and degrees of freedom are those of columns whose
    errors depend on each other (Box 1954, with the trace of the squared covariance estimated without bias).

    Parameters
    ----------
    values : array, rows by columns
        No NaN; at least two rows and two columns.
    level : number, default 0.95
        Confidence of the lower bound.

    Returns
    -------
    NoiseShare
        NaN where nothing varies. `p` is that of a share of at most one half: small where noise explains more.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((200, 100))
    >>> found = noise_share(noise)
    >>> found.at_least > 0.5, found.p < 0.001
    (True, True)
    >>> noise_share(noise + np.arange(100)).share < 0.01
    True
    """
    from scipy.special import fdtr, fdtri

    n, m = values.shape
    if n < 2 or m < 2:
        return NoiseShare(np.nan, np.nan, np.nan)
    means = values.mean(axis=0)
    between = n * float(means.var(ddof=1))
    rest = values - means - values.mean(axis=1, keepdims=True) + values.mean()
    within = float((rest**2).sum()) / ((n - 1) * (m - 1))
    if not within > 0:
        return NoiseShare(np.nan, np.nan, np.nan)
    if not between > 0:
        return NoiseShare(1.0, np.nan, np.nan)
    free = _freedom(rest)
    ratio = between / within
    least = min(1.0, float(fdtri(free, free * (n - 1), 1 - level)) / ratio)
    return NoiseShare(min(1.0, 1 / ratio), least, float(fdtr(free, free * (n - 1), ratio / 2)))


def _freedom(rest: np.ndarray) -> float:
    """How many independent columns of equal variance would vary as much together; at most one less than there are."""
    n, m = rest.shape
    products = rest.T @ rest if m <= n else rest @ rest.T  # the same trace of its square
    trace, square = float((rest**2).sum()) / (n - 1), float((products**2).sum()) / (n - 1) ** 2
    if n > 2:
        square = (square - trace**2 / (n - 1)) * (n - 1) ** 2 / ((n - 2) * (n + 1))
    return float(np.clip(trace**2 / square, 1.0, m - 1)) if square > 0 else float(m - 1)
