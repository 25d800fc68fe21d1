"""An interval belongs to its test: it holds the differences that the test does not reject, and the true one at its
level."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
import scipy.stats

import trueval as tv
from trueval.statistics.permutation_test import sign_flip_tests
from trueval.statistics.significance_tests import signed_ranks, typical_shift

TAILS = ["two-sided", "greater", "less"]


@pytest.mark.parametrize("n", [6, 9, 14, 25])
def test_the_shift_is_between_walsh_averages(n):
    """Without ties and zeros: the median of the means of all pairs, and two of them by the exact distribution."""
    own = np.random.default_rng(n).normal(0.3, 1, n)
    walsh = np.sort([(one + other) / 2 for one, other in itertools.combinations_with_replacement(own, 2)])
    estimate, low, high = typical_shift(own, 0.95)
    assert estimate == pytest.approx(np.median(walsh), abs=1e-6)

    def reached(shift):  # the rank sum, counted as means of pairs above the shift
        return np.count_nonzero(walsh > shift)

    for end, side in ((low, -1), (high, 1)):
        inside, outside = end - side * 1e-6, end + side * 1e-6
        assert scipy.stats.wilcoxon(own - inside, mode="exact").pvalue >= 0.05
        assert scipy.stats.wilcoxon(own - outside, mode="exact").pvalue < 0.05
        assert reached(inside) != reached(outside)  # an end is a mean of a pair


@pytest.mark.parametrize("seed", range(20))
def test_the_shift_holds_zero_where_the_test_does_not_reject(seed):
    """With zeros and ties, as metrics have them."""
    rng = np.random.default_rng(seed)
    own = rng.choice([-0.5, 0.0, 0.0, 0.25, 1.0], int(rng.integers(8, 120))) + rng.choice([0.0, 0.1])
    _, low, high = typical_shift(own, 0.95)
    if not np.isnan(low):
        assert (low <= 0 <= high) == (signed_ranks(own) >= 0.05)


def test_those_who_do_not_differ_do_not_shift():
    """Users without a difference are no evidence about how much the others differ."""
    gains = np.random.default_rng(1).normal(0.5, 0.1, 40)
    alone, with_zeros = typical_shift(gains, 0.95), typical_shift(np.append(gains, np.zeros(200)), 0.95)
    assert alone == pytest.approx((0.5, 0.47, 0.53), abs=0.02)
    assert with_zeros == pytest.approx(alone, abs=0.02)


def naive_p(own, shift, tail):
    """Every pattern of signs."""
    moved = own - shift
    sums = np.array([moved @ signs for signs in itertools.product([1, -1], repeat=len(own))])
    seen = moved.sum()
    slack = 1e-9
    if tail == "two-sided":
        return np.mean(np.abs(sums) >= abs(seen) - slack)
    return np.mean(sums >= seen - slack if tail == "greater" else sums <= seen + slack)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("zeros", [0, 3])
def test_the_ends_of_the_permutation_interval_are_where_p_is_alpha(tail, zeros):
    own = np.append(np.random.default_rng(5).normal(0.4, 1, 14 - zeros), np.zeros(zeros))
    if np.count_nonzero(own) <= 12:
        own = np.append(own, [0.7, -0.2])
    column = own[:, None]
    _, low, high = sign_flip_tests(column, np.ones(column.shape, bool), [tail], level=0.9, seed=1, resamples=40_000)[0]
    for end in (low, high):
        if np.isinf(end):
            assert tail != "two-sided"
            continue
        assert naive_p(own, end, tail) == pytest.approx(0.1, abs=0.012)


def test_users_without_a_part_have_no_part_in_the_interval():
    rng = np.random.default_rng(2)
    own = rng.normal(0.2, 1, 60)
    alone = sign_flip_tests(own[:, None], np.ones((60, 1), bool), ["two-sided"], level=0.95, seed=3)[0]
    columns = np.zeros((90, 2))
    columns[:60, 0], columns[30:, 1] = own, rng.normal(0, 1, 60)
    members = np.zeros((90, 2), bool)
    members[:60, 0] = members[30:, 1] = True
    among = sign_flip_tests(columns, members, ["two-sided"] * 2, level=0.95, seed=3)[0]
    assert among == pytest.approx(alone, abs=0.03)  # other draws, the same test


def drawn_values(rng, kind, n):
    """Differences of users with a mean (and, where it is symmetric, a shift) of 0.1."""
    if kind == "normal":
        return rng.normal(0.1, 0.3, n)
    return np.where(
        rng.random(n) < 0.5, 0.0, rng.normal(0.2, 0.4, n)
    )  # half do not differ: a mean of .1, a shift of .2


def coverage(kind, n, worlds):
    """How often the interval of the shift and that of the mean hold the true ones."""
    rng = np.random.default_rng([n, len(kind)])
    shift, held = 0.1 if kind == "normal" else 0.2, np.zeros(2)
    for world in range(worlds):
        own = drawn_values(rng, kind, n)
        _, low, high = typical_shift(own, 0.95)
        held[0] += low <= shift <= high
        flips = sign_flip_tests(
            own[:, None], np.ones((n, 1), bool), ["two-sided"], level=0.95, seed=world, resamples=499
        )
        held[1] += flips[0].low <= 0.1 <= flips[0].high
    return held / worlds


@pytest.mark.parametrize("kind", ["normal", "half do not differ"])
@pytest.mark.parametrize("n", [30, 100])
def test_intervals_hold_the_truth(kind, n):
    held = coverage(kind, n, worlds=300)
    assert np.all(np.abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 300)), held


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "half do not differ"])
@pytest.mark.parametrize("n", [30, 100, 300])
def test_intervals_hold_the_truth_at_full_size(kind, n):
    held = coverage(kind, n, worlds=4000)
    assert np.all((held > 0.93) & (held < 0.97)), held


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation", "bootstrap"])
@pytest.mark.parametrize("alternative", ["two-sided", "better", "worse"])
def test_verdict_and_interval_agree(test, alternative):
    """On one comparison without a correction: better or worse exactly where the interval does not hold zero."""
    rng = np.random.default_rng(11)
    for _ in range(12):
        n = int(rng.integers(14, 60))
        users = pl.DataFrame({"user": np.arange(n), "item": 0})
        hits = {name: rng.random(n) < share for name, share in (("a", rng.uniform(0.2, 0.9)), ("b", 0.5))}
        runs = {name: users.with_columns(item=pl.Series(np.where(hit, 0, 1)), rank=1) for name, hit in hits.items()}
        (c,) = tv.evaluate_run(runs, users, metrics="hit@1").compare(
            "b", test=test, alternative=alternative, correct="none"
        )
        if np.isnan(c.low):
            continue
        open_side = {"better": c.high, "worse": c.low}.get(alternative, np.inf)
        assert abs(open_side) in (1, np.inf)  # as far as two values can differ
        assert (c.p < 0.05) == (not c.low <= 0 <= c.high), c
