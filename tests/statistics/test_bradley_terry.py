"""Strengths against an optimisation of the likelihood as the formulas have it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from trueval.statistics.bradley_terry import fit_strengths


def counts(seed: int, objects: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    wins = rng.integers(1, 15, (objects, objects)).astype(float)
    tied = np.triu(rng.integers(0, 6, (objects, objects)), 1).astype(float) * ties
    np.fill_diagonal(wins, 0)
    return wins, tied + tied.T


def by_hand(wins: np.ndarray, ties: np.ndarray, added: float) -> tuple[np.ndarray, float]:
    """Davidson's likelihood, term by term, maximised by a general method."""
    objects = len(wins)

    def loss(x: np.ndarray) -> float:
        strength, nu, total = np.exp(np.append(x[: objects - 1], 0.0)), np.exp(x[-1]), 0.0
        for i in range(objects):
            for j in range(i + 1, objects):
                draw = nu * np.sqrt(strength[i] * strength[j])
                whole = strength[i] + strength[j] + draw
                total += (wins[i, j] + added) * np.log(strength[i] / whole)
                total += (wins[j, i] + added) * np.log(strength[j] / whole)
                total += ties[i, j] * np.log(draw / whole) if ties[i, j] else 0.0
        return -total

    found = minimize(loss, np.append(np.zeros(objects - 1), -1.0), method="BFGS", options={"gtol": 1e-9})
    strength = np.append(found.x[: objects - 1], 0.0)
    return strength - strength.mean(), float(found.x[-1])


@pytest.mark.parametrize(
    ("objects", "ties", "added"), [(2, True, 0.0), (4, True, 0.0), (5, True, 0.2), (4, False, 0.0)]
)
def test_strengths_maximise_the_likelihood(objects: int, ties: bool, added: float) -> None:
    wins, tied = counts(objects, objects, ties)
    strength, log_tie = by_hand(wins, tied, added)
    found = fit_strengths(wins[None], tied[None], added=added)
    assert found.log_strength[0] == pytest.approx(strength, abs=2e-5)
    if ties:
        assert found.log_tie[0] == pytest.approx(log_tie, abs=2e-5)
    else:
        assert found.log_tie[0] == -np.inf


def test_sets_are_fitted_each_for_itself() -> None:
    alone = [fit_strengths(*(one[None] for one in counts(seed, 3, True))).log_strength[0] for seed in (1, 2)]
    both = fit_strengths(*(np.stack(one) for one in zip(counts(1, 3, True), counts(2, 3, True))))
    assert both.log_strength == pytest.approx(np.stack(alone), abs=1e-8)


def test_who_always_wins_has_a_finite_strength() -> None:
    wins = np.triu(np.full((4, 4), 12.0), 1)
    found = fit_strengths(wins[None], np.zeros((1, 4, 4))).log_strength[0]
    assert np.isfinite(found).all()
    assert (np.diff(found) < -1).all()


def test_all_ties_are_equal_strengths() -> None:
    found = fit_strengths(np.zeros((1, 3, 3)), 5.0 * (1 - np.eye(3))[None])
    assert found.log_strength[0] == pytest.approx([0, 0, 0], abs=1e-9)


def test_strengths_of_two_have_the_bias_of_the_log_odds_removed() -> None:
    """With 1/k added for k = 2, log-odds are those of Haldane and Anscombe: log((w + 1/2) / (l + 1/2))."""
    wins = np.array([[[0.0, 9.0], [4.0, 0.0]]])
    found = fit_strengths(wins, np.zeros((1, 2, 2))).log_strength[0]
    assert found[0] - found[1] == pytest.approx(np.log(9.5 / 4.5))
