"""Reliability: what was predicted and what happened, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.calibration.bins import make_bins
from trueval.calibration.calibration_errors import Gaps, make_gaps
from trueval.calibration.predictions import Predictions
from trueval.calibration.user_bootstrap import make_clusters
from trueval.data.exported_tables import Tabular, frame_html
from trueval.statistics.binomial import wilson_interval


@dataclass(frozen=True)
class Reliability(Tabular):
    """What was predicted and what happened, bin by bin (empty bins are left out)."""

    by: str
    bin: np.ndarray  # number of the bin, from 1
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    weight: np.ndarray
    gaps: Gaps

    @property
    def predicted(self) -> np.ndarray:
        """Mean prediction."""
        return self.gaps.predicted

    @property
    def observed(self) -> np.ndarray:
        """Share of positives."""
        return self.gaps.observed

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Wilson's 95 % interval of the observed share, for as many independent rows as the bin is worth."""
        return wilson_interval(self.observed, self.gaps.size)

    @property
    def gap(self) -> np.ndarray:
        """Mean prediction minus observed share."""
        return self.gaps.gap

    @property
    def ece(self) -> float:
        """Expected calibration error: mean absolute gap, by the weight of the bins."""
        return float(np.abs(self.gap) @ self.gaps.weight)

    @property
    def mce(self) -> float:
        """Maximum calibration error: the largest absolute gap."""
        return float(np.abs(self.gap).max())

    @property
    def ece_by_chance(self) -> float:
        """The ECE that these predictions are expected to show if they are right, for labels are drawn."""
        return self.gaps.ece_by_chance

    def table(self) -> pl.DataFrame:
        """One row per bin, with Wilson's 95 % interval of the observed share."""
        low, high = self.interval
        return pl.DataFrame(
            {
                "bin": self.bin, "low": self.low, "high": self.high, "n": self.n, "weight": self.weight,
                "predicted": self.predicted, "observed": self.observed,
                "observed_low": low, "observed_high": high, "gap": self.gap,
            }
        )  # fmt: skip

    def _repr_html_(self) -> str:
        chance = f"{self.ece_by_chance:.4f} is expected by chance if every prediction is right"
        return frame_html(f"mean gap {self.ece:.4f}; {chance}", self.table(), rows=40)


def reliability(data: Predictions, *, bins: int = 10, by: str = "mass") -> Reliability:
    """Compare predictions with what happened, bin by bin.

    >>> from trueval.calibration.predictions import read_predictions
    >>> p, y = [0.8] * 5 + [0.2] * 5, [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]
    >>> found = reliability(read_predictions(pl.DataFrame({"p": p, "y": y})), bins=2)
    >>> found.predicted.round(2).tolist(), found.observed.tolist(), round(found.ece, 6)
    ([0.2, 0.8], [0.2, 0.6], 0.1)
    """
    made = make_bins(data, bins=bins, by=by)
    weight = made.total(data.weights)
    kept = np.flatnonzero(weight > 0)
    return Reliability(
        by=by,
        bin=kept + 1,
        low=made.low[kept],
        high=made.high[kept],
        n=np.bincount(made.of_row, minlength=len(made))[kept],
        weight=weight[kept],
        gaps=make_gaps(data, made, make_clusters(data)),
    )
