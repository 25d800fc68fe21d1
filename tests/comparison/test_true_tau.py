"""τ of true scores: against brute force, and by simulation of worlds in which it is known."""

from __future__ import annotations

import numpy as np
import pytest
from comparison_worlds import world

import trueval as tv
from trueval.api import Result
from trueval.comparison.tau import taus
from trueval.comparison.true_tau import Draws, true_taus

RELATED = {"weakly": 0.3, "strongly": 0.95}
APART = {"close": 0.5, "middling": 2.0, "far": 10.0}  # standard deviation of true scores in standard errors


def brute_force(x: np.ndarray, covariance: np.ndarray, rng: np.random.Generator, tries: int) -> float:
    """The mean of τ by drawing everything from what is assumed beforehand and weighing it by what was seen."""
    number = len(x) // 2
    centre = np.eye(number) - 1 / number
    noise = np.kron(np.eye(2), centre) @ covariance @ np.kron(np.eye(2), centre)
    unit = np.sqrt([np.trace(part) / (number - 1) for part in (noise[:number, :number], noise[number:, number:])])
    spread = np.abs(rng.standard_cauchy((tries, 2))) * unit
    r = np.sin(np.pi / 2 * rng.uniform(-1, 1, tries))
    a, b = rng.standard_normal((2, tries, number))
    a, b = spread[:, :1] * a, spread[:, 1:] * (r[:, None] * a + np.sqrt(1 - r[:, None] ** 2) * b)
    # differences from the first system: the level of all systems is not known
    differences = np.kron(np.eye(2), np.hstack([-np.ones((number - 1, 1)), np.eye(number - 1)]))
    residual = (x - np.hstack([a, b])) @ differences.T
    precision = np.linalg.inv(differences @ covariance @ differences.T)
    weight = np.exp(-0.5 * np.einsum("ni,ij,nj->n", residual, precision, residual))
    return float((weight * taus(a, b)[0]).sum() / weight.sum())


@pytest.mark.parametrize("shared", [0.0, 0.8])
@pytest.mark.parametrize("x", [[0.0, 1, 2, 0.3, 1.5, 1], [0.0, 2, -1, 1, 0, 2.5], [0.0, 0.1, 0.2, -2, 0, 1]])
def test_against_brute_force(x, shared):
    covariance = np.kron([[1, shared], [shared, 1]], np.eye(3) + 0.5)
    expected = brute_force(np.array(x), covariance, np.random.default_rng(1), 1_000_000)
    draws = Draws.of(3, draws=4000, seed=0)
    found = true_taus(np.array(x[:3]), np.array(x[3:]), covariance, users=10**6, draws=draws)[0].mean()
    assert found == pytest.approx(expected, abs=0.05)  # 256 nodes and 4,000 draws; τ has a spread of 0.6


def scores_of_users(true: np.ndarray, users: int, shared: float, rng: np.random.Generator) -> np.ndarray:
    """Values by ranking, system and user: skewed, alike for a user, shared by the rankings; errors of means are 1."""
    own, both, level = (rng.exponential(1, shape) - 1 for shape in ((2, len(true[0]), users),) * 2 + ((2, 1, users),))
    both[1] = both[0]
    noise = np.sqrt(shared) * both + np.sqrt(1 - shared) * own
    return true[:, :, None] + np.sqrt(users) * (np.sqrt(0.5) * noise + np.sqrt(0.5) * level)


def true_scores(number: int, apart: float, related: float, rng: np.random.Generator) -> np.ndarray:
    a, b = rng.standard_normal((2, number))
    return apart * np.stack([a, related * a + np.sqrt(1 - related**2) * b])


def trial(true: np.ndarray, users: int, shared: float, rng: np.random.Generator) -> np.ndarray:
    """For both τ: the true one, the observed one, the estimate, and whether the interval holds the true one."""
    values = scores_of_users(true, users, shared, rng)
    metrics = ("ndcg@10", "recall@10")
    result = Result(world({f"s{j}": dict(zip(metrics, values[:, j])) for j in range(true.shape[1])}))
    found = result.agreement(resamples=400, seed=int(rng.integers(2**30)))
    rows = []
    for kind, tau in zip((found.tau, found.top), taus(true[:1], true[1:])):
        held = kind.low[0, 1] - 1e-9 <= tau[0] <= kind.high[0, 1] + 1e-9
        rows.append([tau[0], kind.observed[0, 1], kind.value[0, 1], held, kind.high[0, 1] - kind.low[0, 1]])
    return np.array(rows)


def simulated(
    number: int, apart: float, related: float, users: int, rounds: int, *, shared: float = 0.8, baseline: bool = False
) -> np.ndarray:
    """Means over worlds: by kind of τ; true, observed, estimate, coverage, width."""
    rng = np.random.default_rng([number, users, int(10 * apart), int(100 * related)])
    found = []
    for _ in range(rounds):
        true = true_scores(number, apart, related, rng)
        if baseline:
            true[:, 0] -= 8  # a system that is far worse than the others on both
        found.append(trial(true, users, shared, rng))
    return np.mean(found, axis=0)


def least(nominal: float, rounds: int, z: float) -> float:
    """A coverage that a binomial of so many rounds is seldom below."""
    return float(nominal - z * np.sqrt(nominal * (1 - nominal) / rounds))


def test_the_shared_error_is_taken_out_quick():
    """Close systems, weakly related metrics: the observed τ says too much, the estimate does not."""
    found = simulated(6, APART["close"], 0.0, 100, rounds=60)
    assert found[0, 1] > found[0, 0] + 0.2
    assert abs(found[0, 2] - found[0, 0]) < 0.12  # means of 60 differences that have a spread of about 0.3
    assert (found[:, 3] > least(0.95, 60, 3.3)).all()


def test_intervals_hold_the_true_tau_quick():
    found = simulated(5, APART["middling"], RELATED["strongly"], 60, rounds=60)
    assert (found[:, 3] > least(0.95, 60, 3.3)).all()
    assert (found[:, 4] < 1.6).all()  # and say something


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 5, 10, 20])
def test_coverage_over_worlds(number):
    """The table: coverage of 95 % intervals, and the means of true, observed and estimated τ-b and top-weighted τ.

    Every world's coverage is within the binomial error (3.5 standard errors, there being 36 · 2 of them) of 93 %:
    the model's spreads and correlations are estimated from a few systems, and that is not nominal to the digit.
    """
    rounds = 80 if number < 20 else 30
    print("\n systems users systems are related   (true, observed, estimate, coverage, width) of τ-b | top-weighted τ")
    for users in (50, 200, 2000):
        for apart, wide in APART.items():
            for related, r in RELATED.items():
                found = simulated(number, wide, r, users, rounds)
                cells = ["".join(f"{value:9.2f}" for value in row) for row in found]
                print(f"{number:8}{users:6} {apart:12}{related:9}{' |'.join(cells)}")
                assert (found[:, 3] > least(0.93, rounds, 3.5)).all()
                if apart == "far":
                    assert np.abs(found[:, 2] - found[:, 0]).max() < (0.12 if number == 3 else 0.06)
                if apart == "close":
                    assert (found[:, 4] > 1).all()  # nothing can be told, and nothing is


@pytest.mark.slow
def test_errors_that_are_not_shared_only_take_agreement_away():
    """As of two tests with different users: the observed τ is too low, the estimate is not."""
    found = simulated(10, APART["middling"], RELATED["strongly"], 200, rounds=120, shared=0.0)
    assert found[0, 1] < found[0, 0] - 0.1
    assert abs(found[0, 2] - found[0, 0]) < 0.06
    assert (found[:, 3] > least(0.95, 120, 3.3)).all()


@pytest.mark.slow
def test_a_hopeless_baseline_does_not_make_the_others_agree():
    found = simulated(10, APART["close"], RELATED["weakly"], 200, rounds=120, baseline=True)
    assert found[0, 1] > found[0, 0] + 0.1  # observed
    assert found[0, 2] < found[0, 0] + 0.05
    assert (found[:, 3] > least(0.95, 120, 3.3)).all()


def test_other_users_need_no_correction_for_shared_errors():
    """Two tests of different users: covariances between them are 0, and errors of either only take agreement away."""
    from trueval.comparison.sampling_noise import sampling_noise
    from trueval.data.ids import Ids

    rng = np.random.default_rng(5)
    true = true_scores(5, 2.0, 0.95, rng)
    values = scores_of_users(true, 50, 0.8, rng)
    parts = {
        name: [world({f"s{j}": {"ndcg@10": values[k, j]} for j in range(5)}, users=range(first, first + 50))]
        for name, first, k in (("a", 0, 0), ("b", 50, 1), ("c", 0, 0))
    }
    wanted = [(name, "ndcg@10") for name in parts]
    ids = Ids.of(*(next(iter(p[0].systems.values())).users.values for p in parts.values()))
    noise = sampling_noise(parts, wanted, [f"s{j}" for j in range(5)], ids)
    assert (noise.of(wanted[0], wanted[1]) == 0).all()
    # 100 users in all, 50 of them in each: the variance of a mean of 50
    expected = np.cov(values[0]) / 50 * (49 / 50) * (100 / 99)
    np.testing.assert_allclose(noise.of(wanted[0], wanted[0]), expected)
    np.testing.assert_allclose(noise.of(wanted[0], wanted[2]), expected)
    found = tv.agreement({name: Result(p[0]) for name, p in parts.items()})
    assert found["a: ndcg@10", "c: ndcg@10"] == 1  # the same values of the same users


def test_seeds_add_their_own_error():
    """Scores that jump from seed to seed are as unsure as that, however many users there are."""
    rng = np.random.default_rng(8)

    def result(jump: float) -> Result:
        parts = {}
        for seed in range(4):
            level = 0.02 * np.arange(5) + jump * rng.standard_normal(5)
            parts[f"seed {seed}"] = world(
                {f"s{j}": {m: level[j] + rng.normal(0, 0.1, 2000) for m in ("ndcg@10", "recall@10")} for j in range(5)}
            )
        return Result(parts["seed 0"], repeats=parts)

    steady, jumping = (result(jump).agreement() for jump in (0.0, 0.05))
    assert steady.tau.low[0, 1] == 1
    assert jumping.tau.high[0, 1] - jumping.tau.low[0, 1] > 0.5
