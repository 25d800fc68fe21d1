"""The power of popularity with which ratings were observed, where a random sample tells what is liked."""

from __future__ import annotations

import numpy as np

_UNSEEN = 0.5  # ratings that an item without any counts as
_FARTHEST = 3.0


def popularity_power(popularity: np.ndarray, liked: np.ndarray, observed: np.ndarray) -> float:
    """q of observed ~ Poisson(c · liked · popularity^q), by maximum likelihood; from −3 to 3.

    Parameters
    ----------
    popularity : array
        Ratings of each item in the train part.
    liked : array
        Likes of each item in a random sample; items without any tell nothing.
    observed : array
        Likes of each item in the observed test part. Those of train would explain their own noise.

    Returns
    -------
    float
        The power; 0 where observation does not depend on popularity. NaN where no item has both.

    Examples
    --------
    >>> round(popularity_power(np.array([1.0, 4.0]), np.array([10.0, 10.0]), np.array([5.0, 10.0])), 3)
    0.5
    """
    from scipy.optimize import minimize_scalar

    usable = liked > 0
    logs, liked, observed = np.log(np.maximum(popularity[usable], _UNSEEN)), liked[usable], observed[usable]
    if not observed.sum() or np.ptp(logs) == 0:
        return float("nan")

    def loss(q: float) -> float:
        expected = q * logs + np.log(liked)
        top = expected.max()
        return float(observed.sum() * (top + np.log(np.exp(expected - top).sum())) - observed @ (q * logs))

    found = minimize_scalar(loss, bounds=(-_FARTHEST, _FARTHEST), method="bounded", options={"xatol": 1e-6})
    return float(found.x)
