"""Strengths from comparisons of two: the model of Bradley and Terry, with ties as Davidson (1970) has them.

With strengths π = e^λ and a readiness ν to see no difference, of two objects

    P(i preferred) = π_i / (π_i + π_j + ν √(π_i π_j)),   P(no difference) = ν √(π_i π_j) / (π_i + π_j + ν √(π_i π_j)).

A tie then counts as half a preference either way, and the log-likelihood has one maximum in λ and log ν. Unlike the
model of Rao and Kupper, the order of strengths is that of the shares of preferences plus half the ties. Without any
tie ν is 0 and the model that of Bradley and Terry.

An object that is always preferred would have an infinite strength, and strengths from few comparisons are too far
apart. Both is mended by adding preferences that were not given: 1/k either way between every two of k objects that
were compared, which is what Firth's correction adds where all pairs tell as much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_STEPS = 100
_WIDEST = 2.0  # a step of Newton's method
_RANGE = 30.0  # of log ν: beyond, ties are certain or never seen


class Strengths(NamedTuple):
    """Logarithms of strengths, whose mean is 0, a row for each set of comparisons; and the logarithm of ν."""

    log_strength: np.ndarray
    log_tie: np.ndarray


def fit_strengths(wins: np.ndarray, ties: np.ndarray, *, added: float | None = None) -> Strengths:
    """Strengths by maximum likelihood, of many sets of comparisons at once: sets by objects by objects.

    `wins[s, i, j]` is how often i was preferred to j, `ties[s, i, j]` (the same as `ties[s, j, i]`) how often there was
    no difference. `added` is added to both wins of every two objects that are compared in any of the sets; 1/k unless
    given, 0 for maximum likelihood alone.

    >>> wins = np.array([[[0.0, 30.0], [10.0, 0.0]]])
    >>> fitted = fit_strengths(wins, np.zeros((1, 2, 2)), added=0)
    >>> float(np.exp(fitted.log_strength[0] @ [1, -1]).round(6))  # 30 to 10
    3.0
    """
    objects = wins.shape[1]
    together = ((wins + wins.transpose(0, 2, 1) + ties) > 0).any(axis=0)
    wins = wins + (1 / objects if added is None else added) * together
    forth, back, tied, turned = _by_pair(wins, ties)
    log_strength, log_tie = np.zeros((len(wins), objects)), np.zeros(len(wins))
    some = tied.sum(axis=1) > 0
    log_tie[~some] = -np.inf
    for _ in range(_STEPS):
        slope, bend = _derivatives(forth, back, tied, log_strength @ turned.T, log_tie, turned)
        bend[:, :objects, :objects] += 1 / objects  # strengths are known up to a constant: their sum stays
        bend[~some, objects, objects] = 1.0
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        step *= np.minimum(1, _WIDEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
        log_strength += step[:, :objects]
        log_tie[some] = np.clip(log_tie[some] + step[some, objects], -_RANGE, _RANGE)
        if np.abs(step).max() < 1e-10:
            break
    return Strengths(log_strength - log_strength.mean(axis=1, keepdims=True), log_tie)


def strength_covariance(wins: np.ndarray, ties: np.ndarray, fitted: Strengths) -> np.ndarray:
    """Covariances of the errors of fitted strengths as the model has them, if all comparisons are independent.

    It is the inverse of the information in the comparisons that were made; preferences that were added tell nothing.

    >>> wins = np.array([[[0.0, 20.0], [20.0, 0.0]]])
    >>> fitted = fit_strengths(wins, np.zeros((1, 2, 2)))
    >>> strength_covariance(wins, np.zeros((1, 2, 2)), fitted)[0].round(6).tolist()  # 40 / 4 for the difference
    [[0.025, -0.025], [-0.025, 0.025]]
    """
    objects = wins.shape[1]
    forth, back, tied, turned = _by_pair(wins, ties)
    _, bend = _derivatives(forth, back, tied, fitted.log_strength @ turned.T, fitted.log_tie, turned)
    return np.linalg.pinv(bend[:, :objects, :objects], hermitian=True)


def _by_pair(wins: np.ndarray, ties: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Preferences forth and back and ties of every two objects, and which difference of strengths a pair tells of."""
    objects = wins.shape[1]
    i, j = np.triu_indices(objects, 1)
    turned = np.zeros((len(i), objects))
    turned[np.arange(len(i)), i], turned[np.arange(len(i)), j] = 1.0, -1.0
    return wins[:, i, j], wins[:, j, i], ties[:, i, j], turned


def _derivatives(
    forth: np.ndarray, back: np.ndarray, tied: np.ndarray, gap: np.ndarray, log_tie: np.ndarray, turned: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First and, with the sign turned, second derivatives of the log-likelihood by all λ and by log ν."""
    terms = np.stack([gap / 2, -gap / 2, np.broadcast_to(log_tie[:, None], gap.shape)])
    terms = np.exp(terms - terms.max(axis=0))
    chance = terms / terms.sum(axis=0)
    number = forth + back + tied
    expected = (chance[0] - chance[1]) / 2
    by_gap = (forth - back) / 2 - number * expected
    objects = turned.shape[1]
    slope = np.empty((len(gap), objects + 1))
    slope[:, :objects] = by_gap @ turned
    slope[:, objects] = (tied - number * chance[2]).sum(axis=1)
    bend = np.empty((len(gap), objects + 1, objects + 1))
    curve = number * ((chance[0] + chance[1]) / 4 - expected**2)
    bend[:, :objects, :objects] = np.einsum("sp,pi,pj->sij", curve, turned, turned)
    bend[:, :objects, objects] = bend[:, objects, :objects] = -(number * expected * chance[2]) @ turned
    bend[:, objects, objects] = np.maximum((number * chance[2] * (1 - chance[2])).sum(axis=1), 1e-12)
    return slope, bend
