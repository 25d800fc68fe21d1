"""Topics and tastes fitted to logs: what was planted is found, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import trueval as tv
from trueval.kernels import use_kernels, use_threads
from trueval.simulation import topic_fit
from trueval.simulation.log_shape import SPECTRUM, spectrum_share
from trueval.simulation.taste_fit import fit_tastes
from trueval.simulation.topic_fit import fit_affinities, gamma_shape, visits_of_met

USERS, ITEMS = 300, 120


def planted(strength: float, seed: int = 0, *, active: float = 0.6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs met by popularity, and `strength` times as often in the user's own third of the items; all affinities."""
    rng = np.random.default_rng(seed)
    affinity = np.where(np.arange(USERS)[:, None] % 3 == np.arange(ITEMS) % 3, strength, 1.0)
    rate = active * rng.uniform(0.3, 1.0, (USERS, 1)) * (np.arange(1, ITEMS + 1) + 5.0) ** -0.5 * affinity
    user, item = np.nonzero(rng.random(rate.shape) < np.minimum(rate, 0.95))
    return user, item, affinity


def fitted(user: np.ndarray, item: np.ndarray, seed: int = 1) -> topic_fit.Topics | None:
    return fit_affinities(user, item, np.ones((USERS, 1)), np.ones((ITEMS, 1)), seed=seed)


def test_planted_topics_are_found() -> None:
    user, item, affinity = planted(4.0, active=1.2)
    topics = fitted(user, item)
    assert topics is not None
    assert topics.gain > 0.05
    found = topics.users @ topics.items.T
    own, other = found[affinity > 1].mean(), found[affinity == 1].mean()
    assert own / other == pytest.approx(4.0, rel=0.35)
    rate = np.bincount(user)[:, None] * np.bincount(item, minlength=ITEMS)  # about 1 on average, as it is met
    assert (rate * found).sum() / rate.sum() == pytest.approx(1.0, rel=0.15)


def test_where_there_are_none_none_are_found() -> None:
    user, item, _ = planted(1.0)
    assert fitted(user, item) is None


def test_the_order_of_rows_and_threads_change_nothing() -> None:
    log = tv.simulate("world", users=150, items=60, ratings=1200, taste=2.0, seed=3).log
    for columns in (["user", "item", "value", "time"], ["user", "item", "value"], ["user", "item"]):
        rows = log.frame.select(columns)
        one = tv.simulate("like", rows, seed=2)
        with use_threads(1):
            other = tv.simulate("like", rows.sample(fraction=1.0, shuffle=True, seed=5), seed=2)
        assert one.log.frame.equals(other.log.frame)
        assert one.complete.tobytes() == other.complete.tobytes()


def test_compiled_and_plain_loops_give_the_same_bits() -> None:
    user, item, _ = planted(4.0)
    rng = np.random.default_rng(1)
    states, tastes = [], []
    for kernels in ("plain", "compiled"):
        with use_kernels(kernels):
            state = topic_fit._State.start(user, item, np.ones((USERS, 2)), np.ones((ITEMS, 2)), 5, 3)
            for _ in range(9):
                state.sweep()
            states.append(state)
            rest = np.random.default_rng(1).standard_normal(len(user)) + rng.random() * 0
            tastes.append(fit_tastes(user, item, rest + (user % 2) * (item % 2), users=USERS, items=ITEMS, seed=1))
    assert (states[0].own == states[1].own).all()
    assert (states[0].other == states[1].other).all()
    assert (states[0].chances(user, item) == states[1].chances(user, item)).all()
    assert (tastes[0].users == tastes[1].users).all()
    assert (tastes[0].items == tastes[1].items).all()


@pytest.mark.parametrize("rate", [1e-12, 0.01, 0.7, 3.0])
def test_visits_of_pairs_that_were_met(rate: float) -> None:
    """Quantiles of the Poisson distribution without 0."""
    coin = np.linspace(0.001, 0.999, 101)
    none = np.exp(-rate)
    expected = np.maximum(stats.poisson.ppf(none + coin * -np.expm1(-rate), rate), 1)
    assert (visits_of_met(np.full(len(coin), rate), coin) == expected).all()


@pytest.mark.parametrize("shape", [0.1, 0.8, 5.0])
def test_shapes_of_gamma_distributions(shape: float) -> None:
    values = np.random.default_rng(2).gamma(shape, 1 / shape, 20_000)
    fit = stats.gamma.fit(values / values.mean(), floc=0)
    assert gamma_shape(values / values.mean()) == pytest.approx(fit[0], rel=0.01)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_planted_tastes_are_found(share: float) -> None:
    """The share of the variance that they explain, and their direction."""
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(USERS * ITEMS, 12_000, replace=False), ITEMS)
    own, other = rng.standard_normal((USERS, 2)), rng.standard_normal((ITEMS, 2)) * np.sqrt(share / 2)
    truth = own @ other.T
    rest = truth[user, item] + np.sqrt(1 - share) * rng.standard_normal(len(user))
    found = fit_tastes(user, item, rest, users=USERS, items=ITEMS, seed=1)
    assert found is not None
    assert found.noise == pytest.approx(np.sqrt(1 - share), rel=0.05)
    made = found.users @ found.items.T
    assert made.std() == pytest.approx(truth.std(), rel=0.12)
    assert np.corrcoef(made.ravel(), truth.ravel())[0, 1] > 0.65


def test_noise_is_no_taste() -> None:
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.choice(USERS * ITEMS, 8000, replace=False), ITEMS)
    assert fit_tastes(user, item, rng.standard_normal(8000), users=USERS, items=ITEMS, seed=1) is None


def test_share_of_the_top_singular_values() -> None:
    """Against the definition on a dense table, small and large."""
    for users, items, rows in ((30, 25, 300), (200, 150, 4000)):
        rng = np.random.default_rng(users)
        pairs = np.divmod(rng.choice(users * items, rows, replace=False), items)
        table = np.zeros((users, items))
        table[pairs] = 1
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        values = np.linalg.svd((table - expected) / np.sqrt(expected), compute_uv=False) ** 2
        log = tv.Interactions.of(pl.DataFrame({"user": pairs[0], "item": pairs[1]}))
        assert spectrum_share(log) == pytest.approx(values[:10].sum() / values.sum())


def test_a_world_has_the_co_occurrence_of_its_log() -> None:
    """What people meet together, of a log in which they do; and nothing more of a log in which they do not."""
    for strength, own in ((6.0, True), (1.0, False)):
        user, item, _ = planted(strength)
        rows = pl.DataFrame({"user": user, "item": item, "value": 1 + (user + 7 * item) % 5})
        table = {name: (data, world) for name, data, world in tv.simulate("like", rows, seed=1).fit.rows}
        data, world = table[SPECTRUM]
        flat = spectrum_share(tv.Interactions.of(pl.DataFrame(dict(zip(("user", "item"), planted(1.0, 5)[:2])))))
        assert (data > 1.2 * flat) is own
        assert world == pytest.approx(data, rel=0.15)


def test_without_ratings_what_people_meet_together_is_what_they_like() -> None:
    user, item, affinity = planted(6.0)
    world = tv.simulate("like", pl.DataFrame({"user": user, "item": item}), liked=0.3, seed=1)
    liked = world.liked(world.users.values)
    own = affinity[world.users.values.to_numpy()[:, None], world.items.values.to_numpy()] > 1
    assert liked[own].mean() > 2 * liked[~own].mean()
    assert liked.mean() == pytest.approx(0.3, abs=0.06)
    assert len(world.log) == pytest.approx(len(user), rel=0.05)
    table = {name: (data, world) for name, data, world in world.fit.rows}
    assert table[SPECTRUM][1] == pytest.approx(table[SPECTRUM][0], rel=0.3)
