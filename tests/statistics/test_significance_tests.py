"""The tests themselves: worked examples, other libraries, and every sign pattern gone through."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from trueval.comparison.mean_error import mean_of
from trueval.errors import DefinitionError
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.permutation_test import sign_flips
from trueval.statistics.power import power, t_power
from trueval.statistics.significance_tests import Studentised, signed_ranks, studentised, t_test
from trueval.statistics.student import t_quantile

SIDES = ["two-sided", "greater", "less"]
FEW = st.lists(st.sampled_from([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.25]), min_size=2, max_size=9)


def by_t(differences):
    mean = mean_of(np.array(differences))
    return mean, t_quantile(level=0.95, freedom=mean.free) * mean.error, t_test(mean.value, mean.error, mean.free)


def test_worked_example_of_gains():
    """Gains +.01, -.01, +.02, -.01, 0: mean .002, SE .0058, t .34, p .75, interval [-.014, .018]."""
    mean, reach, p = by_t([0.01, -0.01, 0.02, -0.01, 0.0])
    assert f"{mean.value:.3f}" == "0.002"
    assert f"{mean.error:.4f}" == "0.0058"
    assert f"{mean.value / mean.error:.2f}" == "0.34"
    assert f"{p:.2f}" == "0.75"
    assert [f"{mean.value - reach:.3f}", f"{mean.value + reach:.3f}"] == ["-0.014", "0.018"]


def test_worked_example_of_small_gains():
    mean, reach, _ = by_t([0.012, -0.006, 0.011, -0.004, 0.002])
    assert [f"{mean.value - reach:.3f}", f"{mean.value + reach:.3f}"] == ["-0.007", "0.013"]


@pytest.mark.parametrize("side", SIDES)
def test_t_is_scipys(side):
    rng = np.random.default_rng(1)
    for n in (2, 5, 40):
        a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, n)
        mean = mean_of(a - b)
        expected = stats.ttest_rel(a, b, alternative=side)
        assert t_test(mean.value, mean.error, mean.free, side) == pytest.approx(expected.pvalue, rel=1e-10)
        low, high = stats.ttest_rel(a, b).confidence_interval(0.9)
        reach = t_quantile(level=0.9, freedom=mean.free) * mean.error
        assert (mean.value - reach, mean.value + reach) == pytest.approx((low, high), rel=1e-10)


def test_t_without_spread():
    """Ten equal values: their signs are all that is known of how they vary."""
    assert t_test(0.0, 0.0, 9) == 1
    assert t_test(0.1, 0.0, 9) == 2 / 2**10
    assert t_test(0.1, 0.0, 9, "less") == 1
    assert t_test(-0.1, 0.0, 9, "less") == 1 / 2**10
    assert t_test(0.1, 0.0, 5000) > 0


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_is_scipys_without_ties(side):
    rng = np.random.default_rng(2)
    for n in (1, 4, 12, 50):
        differences = rng.normal(0.3, 1, n)
        expected = stats.wilcoxon(differences, alternative=side, method="exact").pvalue
        assert signed_ranks(differences, side) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_of_many_is_scipys_with_ties_and_zeros(side):
    rng = np.random.default_rng(3)
    differences = rng.integers(-3, 5, 400) / 4
    expected = stats.wilcoxon(
        differences, zero_method="pratt", alternative=side, method="asymptotic", correction=False
    ).pvalue
    assert signed_ranks(differences, side) == pytest.approx(expected, rel=1e-9)


def naive_signed_ranks(differences, side):
    """Pratt: rank all sizes, drop zeros, then every sign pattern of the rest is as likely."""
    ranks = stats.rankdata(np.abs(differences))[np.array(differences) != 0]
    signs = np.sign([d for d in differences if d])
    seen = ranks[signs > 0].sum()
    sums = np.array([sum(r for r, up in zip(ranks, pattern) if up) for pattern in product((0, 1), repeat=len(ranks))])
    above, below = np.mean(sums >= seen - 1e-9), np.mean(sums <= seen + 1e-9)
    return {"greater": above, "less": below, "two-sided": min(1, 2 * min(above, below))}[side]


@given(FEW, st.sampled_from(SIDES))
def test_wilcoxon_of_few_is_exact_with_ties_and_zeros(differences, side):
    assert signed_ranks(np.array(differences), side) == pytest.approx(naive_signed_ranks(differences, side))


@given(FEW, st.sampled_from(SIDES))
def test_sign_flips_of_few_go_through_all(differences, side):
    d = np.array(differences)
    sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=len(d))])
    seen, slack = d.sum(), 1e-9
    expected = {
        "two-sided": np.mean(np.abs(sums) >= abs(seen) - slack),
        "greater": np.mean(sums >= seen - slack),
        "less": np.mean(sums <= seen + slack),
    }[side]
    assert sign_flips(d[:, None], [side], seed=0)[0] == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_sign_flips_are_scipys(side):
    rng = np.random.default_rng(4)
    d = rng.normal(0.25, 1, 10)
    reference = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", alternative=side, n_resamples=np.inf, vectorized=True
    )
    assert sign_flips(d[:, None], [side], seed=0)[0] == pytest.approx(reference.pvalue, rel=1e-9)
    d = rng.normal(0.15, 1, 100)
    reference = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", alternative=side, n_resamples=20_000, vectorized=True, rng=rng
    )
    drawn = sign_flips(d[:, None], [side], seed=0, resamples=20_000)[0]
    assert drawn == pytest.approx(reference.pvalue, abs=5 * np.sqrt(reference.pvalue / 20_000) + 1e-4)


def test_sign_flips_are_never_zero_and_repeat():
    d = np.abs(np.random.default_rng(5).normal(3, 1, (60, 2)))
    first = sign_flips(d, ["two-sided"] * 2, seed=7, resamples=999)
    assert first.tolist() == [1 / 1000] * 2
    weak = np.random.default_rng(5).normal(0.1, 1, (60, 2))
    runs = [sign_flips(weak, ["two-sided"] * 2, seed=seed, resamples=999).tolist() for seed in (7, 7, 8)]
    assert runs[0] == runs[1] != runs[2]


def test_many_users_are_drawn_like_the_normal_limit():
    d = np.random.default_rng(8).normal(0.03, 1, 3000)
    z = d.sum() / np.sqrt((d**2).sum())
    p = sign_flips(d[:, None], ["two-sided"], seed=2, resamples=20_000)[0]
    assert p == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.012)


def test_columns_do_not_change_each_other():
    d = np.random.default_rng(6).normal(0.1, 1, (60, 3))
    together = sign_flips(d, ["two-sided"] * 3, seed=1, resamples=500)
    alone = [sign_flips(d[:, [c]], ["two-sided"], seed=1, resamples=500)[0] for c in range(3)]
    assert together.tolist() == alone


def naive_bootstrap_t(d, times):
    """Every resample written out: how many of its own standard errors its mean is away from that of all."""
    found = []
    for row in times:
        x = np.repeat(d, row)
        spread = x.std()
        found.append(np.inf if spread < 1e-9 else (x.mean() - d.mean()) / (spread / np.sqrt(len(x))))
    return np.array(found)


def sums_of(d, times):
    away = d - d.mean()
    return np.stack([times @ away, times @ away**2, times.sum(axis=1)], axis=1)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0]), min_size=4, max_size=12), st.integers(0, 999))
def test_bootstrap_t_is_what_it_says(values, seed):
    d = np.array(values)
    if d.std() == 0:
        return
    times = np.random.default_rng(seed).multinomial(len(d), np.full(len(d), 1 / len(d)), 199)
    found, naive = studentised(d, sums_of(d, times)), naive_bootstrap_t(d, times)
    seen = d.mean() / (d.std() / np.sqrt(len(d)))
    assert found.seen == pytest.approx(seen)
    assert found.drawn == pytest.approx(naive, rel=1e-6, abs=1e-9)
    both = (1 + np.count_nonzero(np.abs(naive) >= abs(seen) - 1e-9)) / 200
    assert found.p() == both
    for side, sign in (("greater", 1), ("less", -1)):  # one side is half of both
        assert found.p(side) == pytest.approx(both / 2 if sign * seen > 0 else 1 - both / 2)


@given(st.floats(0, 4), st.integers(0, 99), st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999]), st.sampled_from([99, 500]))
def test_bootstrap_p_and_interval_agree(seen, seed, level, resamples):
    drawn = np.round(np.random.default_rng(seed).standard_t(5, resamples), 1)  # many equal
    found = Studentised(round(seen, 1), drawn)
    assert (found.p() < 1 - level) == (found.seen > found.reach(level))


@given(
    st.lists(st.integers(0, 1000).map(lambda x: x / 1000), min_size=1, max_size=12),
    st.sampled_from(["holm", "bonferroni", "bh"]),
)
def test_corrections_are_statsmodels(p, correct):
    name = {"bh": "fdr_bh"}.get(correct, correct)
    expected = multipletests(p, method=name)[1]
    assert corrected(np.array(p), correct) == pytest.approx(expected, abs=1e-12)
    assert corrected(np.array(p), "none").tolist() == p


def test_undefined_p_do_not_count():
    assert corrected(np.array([0.02, np.nan, 0.5]), "holm")[0] == pytest.approx(0.04)
    assert np.isnan(corrected(np.array([np.nan]), "bh")[0])
    with pytest.raises(DefinitionError, match="unknown correction"):
        corrected(np.array([0.1]), "hom")


@pytest.mark.parametrize("users", [3, 10, 100, 6040])
@pytest.mark.parametrize("effect", [0.01, 0.1, 0.5, 2.0])
def test_power_is_statsmodels(users, effect):
    expected = TTestPower().power(effect, users, 0.05)
    if np.isnan(expected):  # so certain that statsmodels gives up
        expected = 1.0
    assert t_power(effect, users) == pytest.approx(expected, abs=1e-7)


def test_power_finds_the_third_from_two():
    sd = 0.3
    difference = power(sd=sd, users=250, power=0.9)
    assert power(sd=sd, users=250, difference=difference) == pytest.approx(0.9, abs=1e-9)
    assert power(sd=sd, difference=difference, power=0.9) == pytest.approx(250, rel=1e-9)
    expected = TTestPower().solve_power(effect_size=0.2, power=0.8, alpha=0.01)
    assert power(sd=1, difference=-0.2, alpha=0.01) == pytest.approx(expected, rel=1e-6)
    for wrong in ({"sd": 0.0, "users": 10}, {"sd": 1.0}, {"sd": 1.0, "users": 1}, {"sd": 1.0, "users": 9, "power": 1.0},
                  {"sd": 1.0, "users": 9, "power": 0.5, "difference": 0.1}, {"sd": 1.0, "users": 9, "power": 0.01},
                  {"sd": float("nan"), "users": 9}):  # fmt: skip
        with pytest.raises(DefinitionError):
            power(**wrong)
