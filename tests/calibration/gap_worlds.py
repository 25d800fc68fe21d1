"""Tables whose true gaps are known, and how often intervals hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from prediction_worlds import sigmoid
from scipy.special import ndtri

import trueval as tv
from trueval.calibration.metrics import parse_point

METRICS = ("ece", "ece[by=mass]", "mce", "mce[by=mass]")


@dataclass(frozen=True)
class World:
    """n rows whose true log odds are slope · (log odds of p) + shift; rows of a user share a latent factor."""

    n: int
    slope: float = 1.0
    shift: float = 0.0
    middle: float = -0.5
    spread: float = 1.3
    users: int | None = None
    alike: float = 0.0

    def draw(self, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
        """A table, and the true probability of each of its rows."""
        rng = np.random.default_rng(seed)
        x = rng.normal(self.middle, self.spread, self.n)
        q = sigmoid(self.slope * x + self.shift)
        latent = rng.standard_normal(self.n)
        columns = {"p": sigmoid(x)}
        if self.users is not None:
            user = rng.integers(0, self.users, self.n)
            shared = rng.standard_normal(self.users)[user]
            latent = np.sqrt(self.alike) * shared + np.sqrt(1 - self.alike) * latent
            columns["user"] = user
        return pl.DataFrame({**columns, "y": (latent < ndtri(q)).astype(int)}), q


def true_gaps(table: pl.DataFrame, q: np.ndarray, metric: str) -> float:
    """The metric with labels replaced by true probabilities, bin by bin, straight from the definition."""
    spec = parse_point(metric)
    p = table["p"].to_numpy()
    edges = np.linspace(0, 1, 11)
    if spec.parameters["by"] == "mass":
        edges = np.concatenate([[0], np.sort(p)[[len(p) * k // 10 - 1 for k in range(1, 10)]], [1]])
    cell = np.searchsorted(edges[1:-1], p, side="left")
    found = [(np.sum(cell == c), abs(np.mean((p - q)[cell == c]))) for c in np.unique(cell)]
    gaps = np.array([gap for _, gap in found])
    return float(gaps.max() if spec.metric.name == "mce" else gaps @ [n / len(p) for n, _ in found])


def held(world: World, rounds: int, *, first: int = 0) -> dict[str, dict[str, float]]:
    """For every metric the share of tables whose interval holds the truth, is above it, below it, and rejects."""
    counts = {metric: np.zeros(4) for metric in METRICS}
    for seed in range(first, first + rounds):
        table, q = world.draw(seed)
        found = tv.pointwise(table, list(METRICS), resamples=2, seed=seed)
        for metric in METRICS:
            truth, e = true_gaps(table, q, metric), found[metric]
            above, below = e.low > truth + 1e-12, e.high < truth - 1e-12
            counts[metric] += (not above and not below, above, below, found.gaps[metric].p <= 0.05)
    names = ("held", "above", "below", "rejected")
    return {metric: dict(zip(names, (c / rounds).round(4).tolist())) for metric, c in counts.items()}
