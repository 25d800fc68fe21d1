"""Variance reduction with what was known of users before the test (CUPED).

What the past explains is taken out: each arm's value moves by theta times the distance of its past from everybody's.
Theta is fitted within arms and pooled over them, so that the effect of an arm cannot enter it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueval.online.ab.estimates import Estimated


def adjust(estimates: Sequence[Estimated], past: Sequence[np.ndarray]) -> list[Estimated]:
    """Estimates of all arms, adjusted; `past` has one row per user and one column per thing known before.

    Intervals are those of the caller: only value, error and influence change.

    >>> from trueval.online.ab.estimates import mean
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> a, b = adjust([mean(2 * x), mean(2 * x + 3)], [x[:, None], x[:, None] + 1])
    >>> round(b.value - a.value, 6), bool(a.error < 1e-9)  # of the 3 more, 2 are explained by the past
    (1.0, True)
    """
    everybody = np.concatenate(past).mean(axis=0)
    centred = [rows - rows.mean(axis=0) for rows in past]
    influence = [e.influence for e in estimates if e.influence is not None]
    theta = np.linalg.lstsq(np.concatenate(centred), np.concatenate(influence), rcond=None)[0]
    adjusted = []
    for e, own, rows, moved in zip(estimates, influence, past, centred):
        left = own - moved @ theta
        before, after = float((own**2).sum()), float((left**2).sum())
        shrunk = math.sqrt(after / before) if before > 0 else 1.0
        value = e.value - float((rows.mean(axis=0) - everybody) @ theta)
        adjusted.append(replace(e, value=value, error=e.error * shrunk, influence=left))
    return adjusted
