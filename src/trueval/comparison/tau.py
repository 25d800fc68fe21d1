"""Kendall's τ between rankings of systems: τ-b, and one that counts the top more."""

from __future__ import annotations

import numpy as np


def taus(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """τ-b and top-weighted τ of pairs of score vectors: one row each, one column per system, higher is better.

    For every two systems i and j, s_ij is 1, 0 or -1 as i is above, equal to or below j. τ-b is the cosine of the
    two vectors s: Σ s·s' / √(Σ s² Σ s'²). The top-weighted τ is the same with every pair counted 1/r_i + 1/r_j, r
    being the rank in the first ranking (ties share the mean of their ranks), averaged with that by the ranks in the
    second. Both are 1 where the orders are the same and undefined where one ranking ties all systems.

    >>> exchanged_at_the_top, exchanged_at_the_end = [[3, 4, 2, 1.0]], [[4, 3, 1, 2.0]]
    >>> [[round(float(tau[0]), 3) for tau in taus(np.array([[4, 3, 2, 1.0]]), np.array(other))]
    ...  for other in (exchanged_at_the_top, exchanged_at_the_end)]
    [[0.667, 0.52], [0.667, 0.813]]
    """
    i, j = np.triu_indices(one.shape[1], 1)
    a, b = (np.sign(scores[:, i] - scores[:, j]) for scores in (one, other))
    plain = _cosine(a, b, np.ones_like(a))
    ranks = (_ranks(scores) for scores in (one, other))
    weights = [1 / r[:, i] + 1 / r[:, j] for r in ranks]
    return plain, (_cosine(a, b, weights[0]) + _cosine(a, b, weights[1])) / 2


def chance_of_tau(tau: float, systems: int) -> float:
    """The share of all orders of so many systems whose τ with a given one is at least this (no ties).

    >>> chance_of_tau(1.0, 3), chance_of_tau(1 / 3, 3)  # one order of six; three of six
    (0.16666666666666666, 0.5)
    """
    orders = np.ones(1)  # by the number of pairs in the other order, one system after the other
    for number in range(2, systems + 1):
        orders = np.convolve(orders, np.ones(number)) / number
    pairs = systems * (systems - 1) / 2
    return float(min(1.0, orders[: int(np.floor((1 - tau) / 2 * pairs + 1e-9)) + 1].sum()))


def _cosine(a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> np.ndarray:
    sizes = (weight * a * a).sum(axis=1) * (weight * b * b).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(sizes > 0, (weight * a * b).sum(axis=1) / np.sqrt(sizes), np.nan), -1, 1)


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Ranks from 1 for the highest score; ties share the mean of their ranks."""
    above = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2)
    return above + (equal + 1) / 2
