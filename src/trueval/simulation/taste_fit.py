"""Factors of taste fitted to ratings: what users and items like together beyond what each of them explains alone.

Factors are drawn from their posterior by Gibbs sampling (Salakhutdinov and Mnih 2008, with the spread of each factor
estimated), so that the tastes of a world spread as those of the log do. How many there are is what predicts held-out
ratings best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.kernels import choose
from trueval.kernels.seeds import derive
from trueval.simulation.pair_draws import coins, pair_coins

NUMBERS = (2, 4, 8)
_HELD_OUT, _ROWS_TO_CHOOSE = 0.1, 50_000
_SWEEPS, _AVERAGED = 30, 12
_FIRST = 0.3  # spread of the factors of items at first, in standard deviations of the ratings


@dataclass(frozen=True)
class FittedTastes:
    """Factors of users and items, and the standard deviation of what they leave unexplained."""

    users: np.ndarray
    items: np.ndarray
    noise: float


def fit_tastes(
    user: np.ndarray, item: np.ndarray, rest: np.ndarray, *, users: int, items: int, seed: int
) -> FittedTastes | None:
    """Factors drawn from what ratings tell of them; None where they predict held-out ratings no better than none.

    `rest` is what users and items alone leave unexplained of the ratings of distinct pairs.

    >>> rng = np.random.default_rng(0)
    >>> own, other = rng.standard_normal((300, 1)), rng.standard_normal((100, 1))
    >>> user, item = np.divmod(rng.choice(30_000, 6000, replace=False), 100)
    >>> rest = (own[user] * other[item]).sum(axis=1) + 0.5 * rng.standard_normal(6000)
    >>> found = fit_tastes(user, item, rest, users=300, items=100, seed=1)
    >>> round(found.noise, 1)
    0.5
    """
    number = _chosen_number(user, item, rest, users, items, seed)
    if not number:
        return None
    state = _Sampler(user, item, rest, users, items, number, int(derive(seed, "tastes")))
    for _ in range(_SWEEPS):
        state.sweep()
    return FittedTastes(state.own.T, state.other.T, float(np.sqrt(state.variance)))


def _chosen_number(user: np.ndarray, item: np.ndarray, rest: np.ndarray, users: int, items: int, seed: int) -> int:
    """The number of factors that predicts held-out ratings best; 0 where none does better than their mean."""
    if len(user) > _ROWS_TO_CHOOSE:
        order = np.argsort(coins(seed, "users to choose tastes", users), kind="stable")
        rows = np.cumsum(np.bincount(user, minlength=users)[order])
        some = np.zeros(users, bool)
        some[order[: int(np.searchsorted(rows, _ROWS_TO_CHOOSE)) + 1]] = True
        rest, user, item = rest[some[user]], user[some[user]], item[some[user]]
    held = pair_coins(seed, "held out of tastes", user, item) < _HELD_OUT
    if held.sum() < 2 or held.all():
        return 0
    best, least = 0, float((rest[held] ** 2).sum())
    for number in NUMBERS:
        if number > min(users, items) // 2:
            break
        state = _Sampler(user[~held], item[~held], rest[~held], users, items, number, int(derive(seed, f"{number}")))
        mean = np.zeros(int(held.sum()))
        for at in range(_SWEEPS):
            state.sweep()
            if at >= _SWEEPS - _AVERAGED:
                mean += np.einsum("kr,kr->r", state.own[:, user[held]], state.other[:, item[held]]) / _AVERAGED
        off = float(((rest[held] - mean) ** 2).sum())
        if off >= least:
            break
        best, least = number, off
    return best


class _Sampler:
    """rest ≈ Σ_k own · other + noise: users' factors ~ N(0, 1), items' ~ N(0, spread²) of each factor."""

    def __init__(
        self, user: np.ndarray, item: np.ndarray, rest: np.ndarray, users: int, items: int, number: int, seed: int
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.user, self.item = user, item
        self.variance = max(float(rest.var()), 1e-12)
        self.spread = np.full(number, _FIRST**2 * self.variance / number)
        self.own = self.rng.standard_normal((number, users))
        self.other = self.rng.standard_normal((number, items)) * np.sqrt(self.spread)[:, None]
        self.rest = rest - np.einsum("kr,kr->r", self.own[:, user], self.other[:, item])
        self.kernels = choose("world_fit", len(user) * number * _SWEEPS)

    def sweep(self) -> None:
        """Draw every factor of users and items, given the others; then spreads and noise."""
        for k in range(len(self.own)):
            own, other = self.own[k], self.other[k]
            self.kernels.add_products(self.user, self.item, own, other, 1.0, self.rest)
            own[:] = self._drawn(self.user, self.item, other, 1.0, len(own))
            other[:] = self._drawn(self.item, self.user, own, self.spread[k], len(other))
            self.kernels.add_products(self.user, self.item, own, other, -1.0, self.rest)
            self.spread[k] = max((other**2).sum() / self.rng.chisquare(len(other)), 1e-12)
        self.variance = max(float((self.rest**2).sum() / self.rng.chisquare(len(self.rest))), 1e-12)

    def _drawn(
        self, owner: np.ndarray, partner: np.ndarray, factor: np.ndarray, spread: float, number: int
    ) -> np.ndarray:
        squares, products = np.zeros(number), np.zeros(number)
        self.kernels.sum_by_owner(owner, partner, factor, self.rest, squares, products)
        precision = 1 / spread + squares / self.variance
        return np.asarray(products / self.variance / precision + self.rng.standard_normal(number) / np.sqrt(precision))
