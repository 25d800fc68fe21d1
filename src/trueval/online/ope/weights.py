"""Weights that turn what the live policy earned into what the target policy would have earned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.errors import DefinitionError
from trueval.online.ope.log_rows import LogRows, target_mass
from trueval.online.ope.policy import Policy
from trueval.online.ope.propensities import Chances

ALL, SLATE = "all", "slate"


@dataclass(frozen=True, slots=True)
class PositionWeights:
    """One weighted mean: Σ weight·reward / Σ base, or, self-normalised, / Σ weight·norm, which is 1 on average."""

    weight: np.ndarray
    base: np.ndarray
    norm: np.ndarray
    scale: float = 1.0  # what the weights add up to on average, which a clip is relative to


@dataclass(frozen=True)
class Weighting:
    """Weights of the rows for every scope: all rows, one position, the slate (the sum over positions)."""

    rows: LogRows
    ratio: np.ndarray | None  # target probability / propensity of each row
    by_place: np.ndarray | None = None  # rows × positions, from a position-based model
    examination: np.ndarray | None = None  # of each row

    @property
    def scopes(self) -> list[str]:
        """What can be estimated: all rows, and where positions are known each of them and their sum."""
        if len(self.rows.positions) < 2:
            return [ALL]
        return [ALL, *(f"position {p}" for p in self.rows.positions), SLATE]

    def at(self, place: int) -> np.ndarray:
        """1 for the rows of a position, else 0."""
        return (self.rows.place == place).astype(np.float64)

    def parts(self, scope: str) -> list[PositionWeights]:
        """The weighted means whose sum is the scope's value."""
        if self.by_place is not None:
            return [self._pooled(scope)]
        assert self.ratio is not None
        one = np.ones(len(self.rows))
        if scope == ALL:
            return [PositionWeights(self.ratio, one, one)]
        places = range(len(self.rows.positions)) if scope == SLATE else [self.scopes.index(scope) - 1]
        return [PositionWeights(self.ratio * self.at(place), self.at(place), one) for place in places]

    def _pooled(self, scope: str) -> PositionWeights:
        """With a position-based model a row tells about every position: its place and its item act apart."""
        assert self.by_place is not None
        assert self.examination is not None
        shares = np.bincount(self.rows.place) / len(self.rows)
        look = np.bincount(self.rows.place, self.examination) / np.bincount(self.rows.place)
        if scope == ALL:
            amount = shares
        elif scope == SLATE:
            amount = np.ones(len(shares))
        else:
            amount = np.eye(len(shares))[self.scopes.index(scope) - 1]
        norm = self.examination / float(look @ amount)
        return PositionWeights(self.by_place @ amount, np.ones(len(self.rows)), norm, float(amount.sum()))


def weighting(rows: LogRows, policy: Policy, chances: Chances) -> Weighting:
    """Target probability over propensity; with chances of being looked at, exposure over exposure."""
    if chances.examination is None:
        return Weighting(rows, rows.frame["target probability"].to_numpy() / rows.frame["chance"].to_numpy())
    if policy.table is None or not set(policy.keys) <= {"position"}:
        raise DefinitionError(
            "the position-based model needs the policy's probabilities by item and position alone",
            found=policy.source,
            do="give the target as a table of item, position and probability, or other propensities",
        )
    look = rows.frame["chance"].to_numpy()
    of_place = np.bincount(rows.place, look) / np.bincount(rows.place)
    shares = np.bincount(rows.place) / len(rows)
    display_share = rows.exposures / len(rows)  # share of rows by item and position
    target_exposure = target_mass(rows, policy) / shares * of_place  # chance to be shown at, and looked at
    exposure = display_share @ of_place
    gain = np.divide(
        target_exposure, exposure[:, None], out=np.zeros_like(target_exposure), where=exposure[:, None] > 0
    )
    return Weighting(rows, None, gain[rows.item], look)


def tuned_clip(weight: np.ndarray, reward: np.ndarray) -> float:
    """The clip with the smallest mean squared error, if rewards went with the weights no further than they do.

    Clipping at c leaves a variance of mean(min(w, c)²)·mean(r²)/n and loses mean((w - c)+) times a level of
    reward: the log's own or the self-normalised one, whichever is higher. What the cut rows earned themselves is
    not used, for it is as noisy as the estimate that clipping is to calm. The largest weight is a candidate.

    >>> tuned_clip(np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    1.0
    >>> tuned_clip(np.array([1.0] * 99 + [50.0]), np.ones(100)) < 50
    True
    """
    positive = weight[weight > 0]
    if not len(positive):
        return float("inf")
    size = np.abs(reward)
    level = max(float(size.mean()), float(weight @ size / weight.sum()))
    square = float((reward**2).mean())
    largest = float(positive.max())
    candidates = np.append(np.geomspace(min(float(np.median(positive)), largest), largest, 100)[:-1], largest)

    ascending, n = np.sort(positive), len(weight)
    below = np.searchsorted(ascending, candidates, side="right")  # weights that a clip leaves alone
    sums, squares = (np.append(0.0, np.cumsum(ascending**power)) for power in (1, 2))
    above = len(ascending) - below
    lost = (sums[-1] - sums[below] - candidates * above) / n * level
    errors = (squares[below] + candidates**2 * above) / n * square / n + lost**2
    return float(candidates[len(errors) - 1 - int(np.argmin(errors[::-1]))])
