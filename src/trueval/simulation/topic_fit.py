"""Topics fitted to a log: who meets what beyond what popularity, activity and time explain.

Observed pairs are those with at least one visit; visits of a pair are Poisson, with a rate that is the product of what
popularity, activity and time make it and of the pair's affinity: the inner product of topics of the user and of the
item, with gamma priors around equal ones. Topics are drawn from their posterior by Gibbs sampling (Zhou 2015, edge
partition model), and not taken as their means: a world is to have as much structure as the log, and users of few
rows are to spread as the others do. How many topics there are is what predicts held-out rows best (the most of those
that do about as well).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueval.kernels import blocks, choose
from trueval.kernels.hashing import mixed
from trueval.kernels.seeds import derive
from trueval.simulation.pair_draws import as_coins, coins, pair_coins, pair_keys

NUMBERS = (4, 8, 16, 32)  # of topics, from which one is chosen
_HELD_OUT, _ROWS_TO_CHOOSE = 0.1, 250_000
_SWEEPS, _AVERAGED = 80, 20  # of which the last ones predict held-out rows
_MOST_SWEEPS, _VISITED = 120, 80_000_000  # of the last fit; rows × sweeps, about
_NEAR = 2.0  # standard errors: of numbers that predict about as well the largest has the finest structure
_LEAST, _CHUNK = 1e-12, 1_000_000
_MOST_VISITS = 50


@dataclass(frozen=True)
class Topics:
    """Topics of users and items: the affinity of a pair is their inner product, about 1 on average.

    `gain` is how much better they predict held-out rows than popularity, activity and time alone (mean log-likelihood).
    """

    users: np.ndarray = field(repr=False)
    items: np.ndarray = field(repr=False)
    gain: float = 0.0


def fit_affinities(
    user: np.ndarray, item: np.ndarray, come: np.ndarray, popular: np.ndarray, *, seed: int
) -> Topics | None:
    """Topics drawn from what a log tells of them; None where they predict held-out rows no better than none.

    Parameters
    ----------
    user, item : arrays
        The distinct pairs of the log, as codes.
    come, popular : arrays
        When users come and items are popular: users × periods and items × periods (one period for no times).
    seed : int
        Seed of all draws.

    Returns
    -------
    Topics or None
        Of all users and items.
    """
    number, gain = _chosen_number(user, item, come, popular, seed)
    if number == 1:
        return None
    sweeps = int(np.clip(_VISITED // len(user), 20, _MOST_SWEEPS))
    state = _State.start(user, item, come, popular, number, int(derive(seed, "topics")))
    for _ in range(sweeps):
        state.sweep()
    sums = np.maximum((state.own * state.per_user()).sum(axis=1), _LEAST)
    own, active = state.own / sums[:, None], state.activity * sums
    per_item = np.einsum("it,tk->ik", state.popular, np.einsum("ut,uk->tk", state.come * active[:, None], own))
    other = state.other / np.maximum((state.other * per_item).sum(axis=1, keepdims=True), _LEAST)
    scale = own.mean()  # affinities do not depend on it
    return Topics((own / scale).astype(np.float32), (other * (scale * active.sum())).astype(np.float32), gain)


def _chosen_number(
    user: np.ndarray, item: np.ndarray, come: np.ndarray, popular: np.ndarray, seed: int
) -> tuple[int, float]:
    """The number of topics that predicts held-out rows best, and by how much better than one topic.

    Of several that do so about as well, the largest: priors keep from it what the log does not have.
    """
    users, items = len(come), len(popular)
    if len(user) > _ROWS_TO_CHOOSE:
        order = np.argsort(coins(seed, "users to choose topics", users), kind="stable")
        rows = np.cumsum(np.bincount(user, minlength=users)[order])
        some = np.zeros(users, bool)
        some[order[: int(np.searchsorted(rows, _ROWS_TO_CHOOSE)) + 1]] = True
        user, item = user[some[user]], item[some[user]]
        code = np.cumsum(some) - 1
        user, come = code[user], come[some]
    held = pair_coins(seed, "held out of topics", user, item) < _HELD_OUT
    if not held.any() or held.all():
        return 1, 0.0
    alone = _State.start(user[~held], item[~held], come, popular, 1, 0).chances(user[held], item[held])
    found: dict[int, np.ndarray] = {1: np.log(np.maximum(alone, 1e-300))}  # log-likelihood of every held-out row
    for number in NUMBERS:
        if number > min(users, items) // 2:
            break
        state = _State.start(user[~held], item[~held], come, popular, number, int(derive(seed, f"{number} topics")))
        likelihood = np.zeros(int(held.sum()))
        for at in range(_SWEEPS):
            state.sweep()
            if at >= _SWEEPS - _AVERAGED:
                likelihood += state.chances(user[held], item[held]) / _AVERAGED
        found[number] = np.log(np.maximum(likelihood, 1e-300))
    best = max(found, key=lambda number: float(found[number].mean()))
    if best == 1:
        return 1, 0.0
    error = np.sqrt(held.sum())
    near = [
        number for number, own in found.items()
        if (found[best] - own).mean() <= _NEAR * (found[best] - own).std() / error
    ]  # fmt: skip
    return max(near), float((found[max(near)] - found[1]).mean())


@dataclass
class _State:
    """One state of the sampler: rate = activity · Σ_t come · popular · weight · Σ_k own · other."""

    user: np.ndarray
    item: np.ndarray
    come: np.ndarray  # users × periods, shares
    popular: np.ndarray  # items × periods, in relation to the item's mean
    timing: np.ndarray  # Σ_t come · popular of each row
    activity: np.ndarray
    weight: np.ndarray
    own: np.ndarray  # users × topics
    other: np.ndarray
    seed: int
    keys: np.ndarray
    size: np.ndarray  # mean of each topic over users
    firm: tuple[float, float] = (0.5, 0.5)  # shapes of the gamma priors of users and items
    turn: int = 0

    @staticmethod
    def start(
        user: np.ndarray, item: np.ndarray, come: np.ndarray, popular: np.ndarray, number: int, seed: int
    ) -> _State:
        """Activities and weights as the rows are, and topics drawn at random (one topic: 1)."""
        come = come / np.maximum(come.sum(axis=1, keepdims=True), _LEAST)
        popular = popular / np.maximum((popular * come.mean(axis=0)).sum(axis=1, keepdims=True), _LEAST)
        timing = np.zeros(len(user))
        for one, other in zip(come.T, popular.T):
            timing += one[user] * other[item]
        rng = np.random.default_rng(seed)
        own, other = (
            np.ones((len(side), 1)) if number == 1 else rng.gamma(0.5, 2.0, (len(side), number)) + _LEAST
            for side in (come, popular)
        )
        weight = (np.bincount(item, minlength=len(popular)) + 0.5) / len(user)
        activity = np.bincount(user, minlength=len(come)).astype(float) / number
        keys = pair_keys(derive(seed, "visits of topics"), user, item)
        return _State(
            user, item, come, popular, np.maximum(timing, _LEAST), activity, weight, own, other, seed, keys,
            np.ones(number),
        )  # fmt: skip

    def per_user(self) -> np.ndarray:
        """Σ_i of the rates of each user and topic, for an activity and a topic of 1."""
        weights = self.popular * self.weight[:, None]
        return np.asarray(np.einsum("ut,tk->uk", self.come, np.einsum("it,ik->tk", weights, self.other)))

    def per_item(self) -> np.ndarray:
        """Σ_u of the rates of each item and topic, for a weight and a topic of 1."""
        active = self.come * self.activity[:, None]
        return np.asarray(np.einsum("it,tk->ik", self.popular, np.einsum("ut,uk->tk", active, self.own)))

    def sweep(self) -> None:
        """Draw visits and their topics, then topics of users and of items; activities and weights follow."""
        by_user, by_item = self._visits()
        rng = np.random.default_rng(int(derive(self.seed, f"sweep {self.turn}")))
        spread = self.per_user()
        firm, loose = self.firm
        self.own = rng.standard_gamma(firm + by_user) / (firm / self.size + self.activity[:, None] * spread) + _LEAST
        self.size = np.maximum(self.own.mean(axis=0), 1e-3)
        self.activity = by_user.sum(axis=1) / (self.own * spread).sum(axis=1)
        spread = self.per_item()
        self.other = rng.standard_gamma(loose + by_item) / (loose + self.weight[:, None] * spread) + _LEAST
        self.weight = (by_item.sum(axis=1) + 0.5) / (self.other * spread).sum(axis=1)
        if self.turn > 5:
            self.firm = gamma_shape(self.own / self.size), gamma_shape(self.other / self.other.mean())
        self.turn += 1

    def chances(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """P(item | user) of some pairs."""
        affinity = np.empty(len(user))
        choose("world_fit", len(user) * self.own.shape[1]).pair_affinities(user, item, self.own, self.other, affinity)
        timing = np.zeros(len(user))
        for one, other in zip(self.come.T, self.popular.T):
            timing += one[user] * other[item]
        return np.asarray(self.weight[item] * timing * affinity / (self.own * self.per_user()).sum(axis=1)[user])

    def _visits(self) -> tuple[np.ndarray, np.ndarray]:
        kernels = choose("world_fit", len(self.user) * self.own.shape[1])
        counts = tuple(np.zeros(side.shape, np.int64) for side in (self.own, self.other))
        turn = np.uint64(int(derive(self.seed, f"visits {self.turn}")))
        for part in blocks(len(self.user), _CHUNK):
            user, item, rate = self.user[part], self.item[part], np.empty(len(self.user[part]))
            kernels.pair_affinities(user, item, self.own, self.other, rate)
            rate *= self.activity[user] * self.weight[item] * self.timing[part]
            keys = mixed(self.keys[part] ^ turn)
            number = visits_of_met(rate, as_coins(mixed(keys)))
            kernels.allocate_visits(user, item, self.own, self.other, number, keys, *counts)
        return counts[0], counts[1]


def visits_of_met(rate: np.ndarray, coin: np.ndarray) -> np.ndarray:
    """Poisson numbers of visits to pairs that have at least one, by inversion; at most 50.

    >>> visits_of_met(np.array([1e-9, 2.0, 2.0]), np.array([0.5, 0.1, 0.9])).tolist()
    [1, 1, 4]
    """
    number = np.ones(len(rate), np.int64)
    chance = np.where(rate > 1e-9, rate / np.maximum(np.expm1(rate), 1e-300), 1.0)
    reached, more = chance.copy(), np.flatnonzero(coin > chance)
    while len(more):
        number[more] += 1
        chance[more] *= rate[more] / number[more]
        reached[more] += chance[more]
        more = more[(coin[more] > reached[more]) & (number[more] < _MOST_VISITS)]
    return number


def gamma_shape(values: np.ndarray) -> float:
    """The shape of gamma distributed values whose mean is 1, by maximum likelihood (between 0.02 and 1,000).

    >>> round(gamma_shape(np.random.default_rng(0).gamma(0.4, 2.5, 100_000)), 1)
    0.4
    """
    from scipy.special import polygamma, psi

    apart = max(float(values.mean() - np.log(np.maximum(values, 1e-300)).mean() - 1), 1e-4)
    shape = (3 - apart + np.sqrt((apart - 3) ** 2 + 24 * apart)) / (12 * apart)
    for _ in range(5):
        shape -= (np.log(shape) - psi(shape) - apart) / (1 / shape - polygamma(1, shape))
    return float(np.clip(shape, 0.02, 1000.0))
