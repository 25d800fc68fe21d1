"""Sampled ranks and the ways back from them, against the formulas done slowly and the golden numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import naive_metrics as naive
from trueval.design.sampled_ranks import (
    bias_variance,
    expected_sampled,
    mapped_cutoff,
    rank_metric,
    read_metric,
    rescaled_rank,
    sampled_ranks,
    weighted_rank,
)
from trueval.errors import DefinitionError
from trueval.kernels import choose

WORLDS = st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1)))
NAMED = st.sampled_from([("auc", None), ("ap", None), ("ndcg", None), ("recall", 1), ("recall", 3), ("ndcg", None)])


def close(values):
    return pytest.approx(values, abs=6e-7)


@given(world=WORLDS, replacement=st.booleans())
def test_chances_of_sampled_ranks(world, replacement):
    n, m = world
    found = sampled_ranks(np.arange(1, n + 1), pool=n - 1, sample=m, replacement=replacement)
    truth = [naive.sampled_ranks(r, n=n, m=m, replacement=replacement) for r in range(1, n + 1)]
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-15)


def test_chances_of_sampled_ranks_by_drawing_every_sample():
    pool, m, rank = 6, 3, 3
    drawn = [1 + sum(other < rank for other in sample) for sample in itertools.combinations(range(1, pool + 1), m)]
    truth = [drawn.count(r) / len(drawn) for r in range(1, m + 2)]
    assert sampled_ranks(np.array([rank]), pool=pool, sample=m)[0] == pytest.approx(truth)
    # large pools do not overflow, and the mean is that of the law
    wide = sampled_ranks(np.array([1, 5000, 20_001]), pool=20_000, sample=500)
    assert wide.sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-9)
    assert wide @ np.arange(501) == pytest.approx([0, 500 * 4999 / 20_000, 500], rel=1e-9)


@given(world=WORLDS, named=NAMED, replacement=st.booleans())
def test_expected_values_on_a_sample(world, named, replacement):
    (n, m), (name, k) = world, named
    found = expected_sampled(name, np.arange(1, n + 1), pool=n - 1, sample=m, k=k, replacement=replacement)
    truth = [naive.sampled_expectation(name, r, n=n, m=m, k=k, replacement=replacement) for r in range(1, n + 1)]
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-12)


def test_expected_values_on_a_sample_golden():
    # golden I_sampled_metrics: n = 10000, m = 99 with replacement
    ranks = {"A": [100] * 5, "B": [40, 40, 8437, 9266, 4482], "C": [212, 2, 743, 5342, 1548]}
    wanted = {
        "A": [0.990099, 0.636592, 0.728989, 1.0],
        "B": [0.554755, 0.340739, 0.447337, 0.4],
        "C": [0.843144, 0.326169, 0.459986, 0.569422],
    }
    for name, ranked in ranks.items():
        found = [
            expected_sampled(metric, np.array(ranked), pool=9999, sample=99, replacement=True).mean()
            for metric in ("auc", "ap", "ndcg", "recall@10")
        ]
        assert found == close(wanted[name])


@settings(max_examples=25)
@given(
    world=st.integers(2, 25).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, min(n - 1, 8)))), named=NAMED,
    gamma=st.sampled_from([0.01, 0.1, 0.5, 1.0]), replacement=st.booleans(),
)  # fmt: skip
def test_bias_variance_solves_what_the_oracle_solves(world, named, gamma, replacement):
    (n, m), (name, k) = world, named
    found = bias_variance(name, pool=n - 1, sample=m, gamma=gamma, k=k, replacement=replacement)
    truth = naive.bias_variance(name, n=n, m=m, gamma=gamma, k=k, replacement=replacement)
    np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("metric", "gamma", "replacement", "truth"),
    [  # golden I_sampled_metrics, n = 20, m = 5
        ("ndcg", 0.1, True, [0.817559, 0.208609, 0.276635, 0.278685, 0.245967, 0.226807]),
        ("ndcg", 0.01, True, [0.9176, -0.064665, 0.484338, 0.248465, 0.216783, 0.232263]),
        ("ndcg", 0, True, [0.968271, -0.366206, 1.029644, -0.212994, 0.394873, 0.21486]),
        ("recall@3", 0.1, True, [1.024449, -0.09009, -0.201984, 0.010429, 0.040867, -0.004713]),
        ("ndcg", 1, True, [0.616166, 0.379642, 0.316491, 0.279791, 0.256595, 0.238156]),
        ("ndcg", 0.1, False, [0.840100, 0.230812, 0.297015, 0.275927, 0.240095, 0.228130]),
        ("ndcg", 1, False, [0.640666, 0.391183, 0.314628, 0.276387, 0.252786, 0.236430]),
    ],
)
def test_bias_variance_golden(metric, gamma, replacement, truth):
    assert bias_variance(metric, pool=19, sample=5, gamma=gamma, replacement=replacement) == close(truth)
    as_function = bias_variance(
        lambda rank: rank_metric(metric, rank, size=20), pool=19, sample=5, gamma=gamma, replacement=replacement
    )
    assert as_function == close(truth)


def test_a_sample_of_everything_needs_no_correction():
    ranks = np.arange(1, 13)
    for metric in ("ndcg@4", "rr", "auc", "precision@3", "hit@2"):
        truth = rank_metric(metric, ranks, size=12)
        for gamma in (0, 0.3, 1):
            assert bias_variance(metric, pool=11, sample=11, gamma=gamma) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("replacement", [False, True])
def test_less_gamma_less_bias(replacement):
    ranks = np.arange(1, 201)
    truth = rank_metric("ndcg", ranks, size=200)
    chances = sampled_ranks(ranks, pool=199, sample=20, replacement=replacement)
    errors, spreads = [], []
    for gamma in (0.0, 0.01, 0.1, 1.0):
        f = bias_variance("ndcg", pool=199, sample=20, gamma=gamma, replacement=replacement)
        errors.append(np.mean((chances @ f - truth) ** 2))
        spreads.append(np.mean(chances @ f**2 - (chances @ f) ** 2))
    assert errors == sorted(errors)
    assert spreads == sorted(spreads, reverse=True)
    naively = chances @ rank_metric("ndcg", np.arange(1, 22), size=21)
    assert errors[2] < np.mean((naively - truth) ** 2) / 20
    assert (naively - truth)[1:].min() > 0  # sampled values flatter


@pytest.mark.parametrize("replacement", [False, True])
def test_a_prior_weighs_ranks(replacement):
    """γ = 1 is E[M | r̃] by Bayes' rule; for other γ no other values have a smaller objective."""
    rng = np.random.default_rng(2)
    prior = rng.dirichlet(np.ones(31))
    ranks = np.arange(1, 32)
    chances = sampled_ranks(ranks, pool=30, sample=6, replacement=replacement)
    truth = rank_metric("ndcg@5", ranks, size=31)
    how = {"pool": 30, "sample": 6, "replacement": replacement, "prior": prior}
    posterior = (chances * prior[:, None]).T @ truth / (prior @ chances)
    assert bias_variance("ndcg@5", gamma=1, **how) == pytest.approx(posterior)

    def objective(f, gamma):
        mean = chances @ f
        return prior @ ((mean - truth) ** 2 + gamma * (chances @ f**2 - mean**2))

    for gamma in (0.01, 0.3):
        best = bias_variance("ndcg@5", gamma=gamma, **how)
        others = [objective(best + 0.01 * rng.standard_normal(7), gamma) for _ in range(50)]
        assert objective(best, gamma) < min(others)
    uniform = bias_variance("ndcg@5", **(how | {"prior": np.full(31, 1 / 31)}))
    assert uniform == pytest.approx(bias_variance("ndcg@5", **(how | {"prior": None})))
    with pytest.raises(DefinitionError, match="chance for each rank"):
        bias_variance("ndcg@5", **(how | {"prior": prior[:5]}))


def test_solutions_are_remembered_but_not_shared():
    first = bias_variance("rr", pool=30, sample=6)
    first[:] = 7
    assert bias_variance("rr", pool=30, sample=6)[0] < 1.5


@given(world=WORLDS)
def test_rescaled_ranks_are_unbiased(world):
    n, m = world
    rescaled = rescaled_rank(np.arange(1, m + 2), pool=n - 1, sample=m)
    assert rescaled == pytest.approx([naive.rescaled_rank(r, n=n, m=m) for r in range(1, m + 2)])
    for replacement in (False, True):
        chances = sampled_ranks(np.arange(1, n + 1), pool=n - 1, sample=m, replacement=replacement)
        assert chances @ rescaled == pytest.approx(np.arange(1, n + 1))


def test_rescaled_ranks_golden():
    estimates = rescaled_rank(np.arange(1, 7), pool=19, sample=5)
    assert estimates == close([1.0, 4.8, 8.6, 12.4, 16.2, 20.0])
    assert np.floor(estimates).tolist() == [1, 4, 8, 12, 16, 20]
    assert math.isnan(rescaled_rank(np.array([1]), pool=19, sample=0)[0])


@pytest.mark.parametrize(
    ("a", "truth"),
    [
        (None, [1.0, 41.363636, 91.818182]),
        (1, [10.99, 50.95, 100.9]),
        (0.5, [8.865767, 48.636766, 98.678362]),
        (0.2, [7.54511, 47.224975, 97.330492]),
    ],
)
def test_mapped_cutoffs_golden(a, truth):
    assert [mapped_cutoff(k, pool=999, sample=99, a=a) for k in (1, 5, 10)] == close(truth)
    assert [naive.mapped_cutoff(k, n_items=1000, pool=100, a=a) for k in (1, 5, 10)] == close(truth)


PROPOSAL = {"p": 0.5, "q": 0.3, "r": 0.15, "s": 0.05}
ABOVE = {"p", "s"}  # so the true rank is 3


def estimate(draws, **how) -> float:
    q = np.array([PROPOSAL[item] for item in draws])
    return float(weighted_rank(np.array([item in ABOVE for item in draws]), q, **how))


def test_weighted_draws_with_replacement():
    assert estimate(["p", "p", "q", "s"]) == close(7.0)  # golden, popularity_sampling
    mean = 0.0
    for draws in itertools.product(PROPOSAL, repeat=3):
        found = estimate(draws)
        assert found == pytest.approx(naive.weighted_rank(draws, above=ABOVE, proposal=PROPOSAL))
        mean += math.prod(PROPOSAL[item] for item in draws) * found
    assert mean == pytest.approx(3)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_weighted_draws_without_replacement_are_unbiased(size):
    mean = chance_of_all = wrong = 0.0
    for draws in itertools.permutations(PROPOSAL, size):
        chance, left = 1.0, 1.0
        for item in draws:
            chance *= PROPOSAL[item] / left
            left -= PROPOSAL[item]
        chance_of_all += chance
        mean += chance * estimate(draws, replacement=False)
        wrong += chance * estimate(draws)
    assert chance_of_all == pytest.approx(1)
    assert mean == pytest.approx(3)
    assert size == 1 or abs(wrong - 3) > 0.01  # the other form would be biased here


def test_weighted_draws_of_our_own_sampler_are_unbiased():
    # 30 items, weights like popularity, the 8 heaviest are above: rank 9. One row per unit, in the order drawn.
    weights = 1 / np.arange(1, 31)
    units, size = 3000, 6
    out, pool = np.zeros((units, size), np.int32), np.zeros(units, np.int64)
    choose("sampling", 10**9).sample_units(
        np.arange(30, dtype=np.int32), np.cumsum(weights), np.zeros(units + 1, np.int64), np.empty(0, np.int32),
        np.arange(units), np.uint64(4), size, 30, 0, units, out, pool,
    )  # fmt: skip
    q = weights / weights.sum()
    found = weighted_rank(out < 8, q[out], replacement=False)
    error = found.std(ddof=1) / math.sqrt(units)
    assert abs(found.mean() - 9) < 3.3 * error
    assert error < 0.1
    naively = rescaled_rank(1 + (out < 8).sum(axis=1), pool=30, sample=size).mean()
    assert naively > 12  # popular items crowd the sample


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: bias_variance("ndgc", pool=9, sample=3), "did you mean ndcg"),
        (lambda: bias_variance("recall", pool=9, sample=3), "cutoff of recall is required"),
        (lambda: bias_variance("auc@3", pool=9, sample=3), "cutoff of auc is none"),
        (lambda: bias_variance("ndcg@0", pool=9, sample=3), "1 or more"),
        (lambda: bias_variance("ndcg@x", pool=9, sample=3), "1 or more"),
        (lambda: bias_variance("ndcg@5", pool=9, sample=3, k=4), "one whole number"),
        (lambda: bias_variance("ndcg", pool=9, sample=3, gamma=1.5), "gamma"),
        (lambda: bias_variance("ndcg", pool=2, sample=3), "larger than"),
        (lambda: sampled_ranks(np.array([1]), pool=2, sample=3), "larger than"),
        (lambda: mapped_cutoff(0, pool=99, sample=9), "1 to 10"),
        (lambda: mapped_cutoff(3, pool=99, sample=9, a=0), "above 0"),
        (lambda: weighted_rank(np.ones(3), np.ones(2)), "every draw"),
        (lambda: weighted_rank(np.ones(2), np.array([0.5, 0.0])), "above 0"),
        (lambda: weighted_rank(np.ones(2), np.array([0.6, 0.6]), replacement=False), "more than 1"),
    ],
)
def test_what_cannot_be_is_refused(call, told):
    with pytest.raises(DefinitionError, match=told):
        call()


def test_metric_names():
    assert read_metric("rr") == ("rr", None)
    assert read_metric("recall", 5) == ("recall", 5)
    assert rank_metric("precision@4", np.array([4, 5]), size=9).tolist() == [0.25, 0.0]
    assert math.isnan(rank_metric("auc", np.array([1]), size=1)[0])
