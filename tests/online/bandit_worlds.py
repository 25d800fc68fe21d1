"""Small worlds of logged bandit feedback whose true values are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class World:
    """Cases (context × position), items, what the live and the target policy show, what items earn."""

    live: np.ndarray  # cases × items
    target: np.ndarray
    earns: np.ndarray  # probability of a click
    contexts: int
    positions: int

    @property
    def value(self) -> float:
        """True value of the target policy per shown item, cases being equally likely."""
        return float((self.target * self.earns).sum(axis=1).mean())

    @property
    def policy(self) -> pl.DataFrame:
        """The target policy as a table."""
        cases, items = self.target.shape
        case, item = np.repeat(np.arange(cases), items), np.tile(np.arange(items), cases)
        return pl.DataFrame({**self.keys(case), "item": item, "probability": self.target.ravel()})

    def keys(self, case: np.ndarray) -> dict[str, np.ndarray]:
        return {"group": case // self.positions, "position": case % self.positions + 1}

    def log(self, rows: int, seed: int, *, clusters: int | None = None) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        case = rng.integers(0, len(self.live), rows)
        item = (rng.random(rows)[:, None] > np.cumsum(self.live, axis=1)[case]).sum(axis=1)
        item = np.minimum(item, self.live.shape[1] - 1)
        click = (rng.random(rows) < self.earns[case, item]).astype(int)
        frame = pl.DataFrame({**self.keys(case), "item": item, "click": click, "propensity": self.live[case, item]})
        if clusters is not None:
            frame = frame.with_columns(user=pl.Series(rng.integers(0, clusters, rows)))
        return frame


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def world(seed: int = 0, *, contexts: int = 3, positions: int = 2, items: int = 6, sharp: float = 1.0) -> World:
    """A world in which the target policy likes what earns more than the live one does."""
    rng = np.random.default_rng(seed)
    cases = contexts * positions
    taste = rng.normal(size=(cases, items))
    earns = 1 / (1 + np.exp(-(taste - 1)))
    return World(softmax(sharp * rng.normal(size=(cases, items))), softmax(sharp * taste), earns, contexts, positions)
