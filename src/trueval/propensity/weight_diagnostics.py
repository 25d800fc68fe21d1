"""Whether weights of 1 / propensity leave enough to estimate from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How far a weighted estimate can be trusted: a few large weights mean few effective observations."""

    n: int
    effective: float
    mean: float
    largest: float
    top_share: float  # of the weight, held by the largest 1 % of rows
    clipped: float = 0.0  # share of rows whose weight was cut
    removed: float = 0.0  # share of the weight that cutting removed

    @staticmethod
    def of(p: np.ndarray, clip: float | None = None) -> Diagnostics:
        """Diagnostics of the weights 1/p.

        >>> Diagnostics.of(np.array([0.5, 0.5])).effective
        2.0
        """
        full = 1 / p
        w = full if clip is None else np.minimum(full, clip)
        top = np.sort(w)[::-1][: max(1, len(w) // 100)]
        return Diagnostics(
            len(w), float(w.sum() ** 2 / (w**2).sum()), float(w.mean()), float(w.max()), float(top.sum() / w.sum()),
            float((full > w).mean()), float(1 - w.sum() / full.sum()),
        )  # fmt: skip
