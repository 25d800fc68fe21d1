"""Losses of single predictions, and Brier's taken apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from trueval.calibration.bins import make_bins
from trueval.calibration.calibration_errors import make_gaps
from trueval.calibration.predictions import Predictions
from trueval.calibration.user_bootstrap import make_clusters
from trueval.errors import DefinitionError


def check_clip(clip: float | None) -> None:
    """A clip is a probability small enough to change little.

    >>> check_clip(1e-6)
    """
    if clip is not None and not 0 < clip < 0.5:
        raise DefinitionError("clip must lie between 0 and 0.5", found=repr(clip), do="for example clip=1e-6")


def clipped(probability: np.ndarray, clip: float | None) -> np.ndarray:
    """Probabilities kept within [clip, 1 - clip], where there is a clip.

    >>> clipped(np.array([0.0, 0.5, 1.0]), 0.1).tolist()
    [0.1, 0.5, 0.9]
    """
    return probability if clip is None else np.clip(probability, clip, 1 - clip)


def log_losses(data: Predictions, *, clip: float | None = None) -> np.ndarray:
    """-log of the probability given to what happened, row by row; infinite where that was 0.

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> log_losses(read_predictions(pl.DataFrame({"p": [0.5, 1.0, 1.0], "y": [1, 1, 0]}))).round(3).tolist()
    [0.693, inf, 0.0]
    """
    p = clipped(data.value, clip)
    with np.errstate(divide="ignore"):
        # log1p keeps what 1 - p would round away for a tiny p
        return np.abs(np.where(data.label == 1, np.log(p), np.log1p(-p)))


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Brier's score in parts: brier = reliability - resolution + uncertainty + within_variance - 2 within_covariance.

    The last two say how predictions differ inside the bins; they vanish where each bin holds one prediction.
    `reliability_by_chance` is the reliability that is expected if every prediction is right: labels are drawn, so
    that it is above 0 even then.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    reliability_by_chance: float

    @property
    def within(self) -> float:
        """What the differences inside bins add."""
        return self.within_variance - 2 * self.within_covariance

    def record(self) -> dict[str, float]:
        """As plain data."""
        return asdict(self)


def brier_parts(data: Predictions, *, bins: int = 10, by: str = "value") -> BrierParts:
    """Take Brier's score apart (Murphy 1973; terms within bins: Stephenson, Coelho and Jolliffe 2008).

    >>> import polars as pl
    >>> from trueval.calibration.predictions import read_predictions
    >>> p, y = [0.8] * 5 + [0.2] * 5, [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]
    >>> parts = brier_parts(read_predictions(pl.DataFrame({"p": p, "y": y})))
    >>> [round(x, 6) for x in (parts.brier, parts.reliability, parts.resolution, parts.uncertainty)]
    [0.22, 0.02, 0.04, 0.24]
    """
    made = make_bins(data, bins=bins, by=by)
    share = data.weights / data.weights.sum()
    p, y = data.value, data.label
    mass = made.total(share)
    safe = np.where(mass > 0, mass, 1)
    predicted, observed = made.total(share * p) / safe, made.total(share * y) / safe
    base = float(share @ y)
    gaps = make_gaps(data, made, make_clusters(data))
    away = p - predicted[made.of_row]  # centred first: differences of squares would lose digits
    return BrierParts(
        brier=float(share @ (p - y) ** 2),
        reliability=float(mass @ (predicted - observed) ** 2),
        resolution=float(mass @ (observed - base) ** 2),
        uncertainty=base * (1 - base),
        within_variance=float(share @ away**2),
        within_covariance=float(share @ (away * (y - observed[made.of_row]))),
        reliability_by_chance=float(gaps.weight @ gaps.noise**2),
    )
