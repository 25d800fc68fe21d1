"""Planning against statsmodels, and against itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep, samplesize_proportions_2indep_onetail

import trueval as tv
from trueval.errors import DefinitionError
from trueval.online.ab.differences import difference
from trueval.online.ab.estimates import AbOptions, Sample, estimate
from trueval.online.ab.metric_declarations import parse_metrics
from trueval.online.ab.plan import chance


@pytest.mark.parametrize(("baseline", "effect"), [(0.1, 0.01), (0.19, -0.0095), (0.5, 0.1), (0.02, 0.002)])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_rates_against_statsmodels(baseline, effect, power):
    plan = tv.ab_plan(baseline=baseline, effect=effect, power=power)
    wanted = samplesize_proportions_2indep_onetail(effect, baseline, power, alpha=0.05)
    assert plan.users_per_arm == pytest.approx(wanted, abs=1)
    reference = power_proportions_2indep(effect, baseline, plan.users_per_arm, alpha=0.05, return_results=False)
    assert chance(baseline, effect, plan.users_per_arm) == pytest.approx(reference, abs=1e-6)
    assert reference >= power - 1e-6


@pytest.mark.parametrize(("sd", "effect"), [(30.0, 1.0), (2.0, 1.5), (1.0, -0.3)])
@pytest.mark.parametrize("arms", [2, 4])
def test_means_against_statsmodels(sd, effect, arms):
    plan = tv.ab_plan(baseline=20, sd=sd, effect=effect, arms=arms)
    solved = TTestIndPower().solve_power(effect_size=abs(effect) / sd, power=0.8, alpha=0.05 / (arms - 1))
    assert plan.users_per_arm == pytest.approx(solved, abs=1)
    assert plan.users == arms * plan.users_per_arm


def test_one_user_less_is_not_enough():
    plan = tv.ab_plan(baseline=0.3, effect=0.05)
    assert chance(0.3, 0.05, plan.users_per_arm) >= 0.8 > chance(0.3, 0.05, plan.users_per_arm - 1)


@pytest.mark.parametrize("sd", [None, 3.0])
def test_the_visible_effect_needs_these_users(sd):
    seen = tv.ab_plan(baseline=0.2, sd=sd, users=20_000)
    assert tv.ab_plan(baseline=0.2, sd=sd, effect=seen.effect).users == pytest.approx(20_000, abs=4)


SPLITS = ((10, 1), (1, 10), (3, 1), (50, 1))


@pytest.mark.parametrize(("baseline", "effect"), [(0.1, 0.01), (0.19, -0.0095), (0.02, 0.01)])
@pytest.mark.parametrize("split", SPLITS)
def test_rates_in_unequal_arms_against_statsmodels(baseline, effect, split):
    """statsmodels counts the users of the new arm; the ratio is that of the control to them."""
    plan, ratio = tv.ab_plan(baseline=baseline, effect=effect, split=split), split[0] / split[1]
    wanted = samplesize_proportions_2indep_onetail(effect, baseline, 0.8, ratio=ratio, alpha=0.05)
    control, new = plan.users_by_arm
    assert new == pytest.approx(wanted, abs=split[1])
    assert control == pytest.approx(wanted * ratio, abs=split[0])
    reference = power_proportions_2indep(effect, baseline, new, ratio=control / new, alpha=0.05, return_results=False)
    assert chance(baseline, effect, new, control=control) == pytest.approx(reference, abs=1e-6)
    assert reference >= 0.8 - 1e-6


@pytest.mark.parametrize("split", SPLITS)
def test_means_in_unequal_arms_against_statsmodels(split):
    """statsmodels has the degrees of freedom of a common variance, Welch's are fewer: up to three users."""
    plan = tv.ab_plan(baseline=20, sd=30, effect=1, split=f"{split[0]}:{split[1]}")
    solved = TTestIndPower().solve_power(effect_size=1 / 30, power=0.8, alpha=0.05, ratio=split[0] / split[1])
    assert plan.users_by_arm[1] == pytest.approx(solved, abs=3 * max(split[1] / split[0], 1))
    assert plan.users == sum(plan.users_by_arm)
    assert plan.users_per_arm == min(plan.users_by_arm)


@pytest.mark.parametrize(("new", "control"), [(5, 50), (8, 80), (80, 8), (10, 30)])
def test_the_power_of_welchs_test_in_few_users(new, control):
    """The degrees of freedom of a common variance would promise .83 to .84, those of the smaller arm up to .81."""
    rng, shift = np.random.default_rng(7), 3 * math.sqrt(1 / new + 1 / control)
    arms = rng.normal(shift, 1, (20_000, new)), rng.normal(0, 1, (20_000, control))
    seen = np.mean(stats.ttest_ind(*arms, axis=1, equal_var=False).pvalue < 0.05)
    assert chance(0, shift, new, control=control, sd=1) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize("sd", [None, 3.0])
def test_the_variance_of_the_difference_decides(sd):
    """For small effects only 1/n of the control + 1/n of the new arm counts."""
    equal = tv.ab_plan(baseline=0.3, sd=sd, effect=0.003)
    for split in SPLITS:
        own = tv.ab_plan(baseline=0.3, sd=sd, effect=0.003, split=split).users_by_arm
        assert sum(1 / n for n in own) == pytest.approx(2 / equal.users_per_arm, rel=0.01)


def test_several_new_arms_and_given_users():
    plan = tv.ab_plan(baseline=0.3, effect=0.02, split=(6, 3, 1))
    pair = tv.ab_plan(baseline=0.3, effect=0.02, split=(6, 1), metrics=2)
    assert (plan.arms, plan.comparisons) == (3, 2)
    assert plan.users_by_arm == (pair.users_by_arm[0], 3 * pair.users_by_arm[1], pair.users_by_arm[1])
    seen = tv.ab_plan(baseline=0.3, users=plan.users, split="0.6:0.3:0.1", daily_users=100)
    assert seen.users_by_arm == plan.users_by_arm
    assert seen.effect == pytest.approx(0.02, rel=0.01)
    assert seen.days == -(-seen.users // 100)
    assert tv.ab_plan(baseline=0.3, effect=0.02, split="1:1") == tv.ab_plan(baseline=0.3, effect=0.02)


@pytest.mark.parametrize("sd", [None, 3.0])
def test_the_ab_test_finds_the_effect_as_often_as_planned(sd):
    """By the test that users run; the arms are so small that users are permuted."""
    rng, rounds = np.random.default_rng(1), 250
    baseline, effect = (0.2, 0.15) if sd is None else (10.0, 1.2)
    plan = tv.ab_plan(baseline=baseline, sd=sd, effect=effect, split="10:1")
    (metric,) = parse_metrics("x:conversion" if sd is None else "x:mean")
    found = 0
    for _ in range(rounds):
        pair = []
        for n, mean in zip(plan.users_by_arm, (baseline, baseline + effect)):
            pair.append(Sample((rng.random(n) < mean).astype(float) if sd is None else rng.normal(mean, sd, n)))
        estimates = (estimate(metric, s) for s in pair)
        found += difference(metric, *estimates, samples=tuple(pair), options=AbOptions(resamples=499)).p < 0.05
    assert abs(found / rounds - 0.8) < 3 * math.sqrt(0.8 * 0.2 / rounds)


def test_relative_effects_days_and_variance_reduction():
    plan = tv.ab_plan(baseline=0.2, effect="5%", daily_users=1000)
    assert plan.effect == pytest.approx(0.01)
    assert plan.days == -(-plan.users // 1000)
    cuped = tv.ab_plan(baseline=20, sd=30, effect=1, variance_reduction=0.5)
    assert cuped.users_per_arm == pytest.approx(tv.ab_plan(baseline=20, sd=30, effect=1).users_per_arm / 2, rel=0.001)
    assert json.loads(json.dumps(plan.record()))["relative"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"baseline": 0.1}, "an effect or a number of users"),
        ({"baseline": 0.1, "effect": 0.01, "users": 100}, "an effect or a number of users"),
        ({"baseline": 12, "effect": 1}, "a baseline rate must lie between 0 and 1"),
        ({"baseline": 0.1, "effect": 0.95}, "not between 0 and 1"),
        ({"baseline": 0.1, "effect": "much"}, "a number or a percentage"),
        ({"baseline": 0.1, "effect": 0}, "must not be 0"),
        ({"baseline": 0.1, "effect": 0.01, "power": 1.0}, "power must be"),
        ({"baseline": 0.1, "effect": 0.01, "arms": 1}, "arms must be"),
        ({"baseline": 0.1, "effect": 0.01, "arms": 10**9}, "arms must be"),
        ({"baseline": 0.1, "effect": 0.01, "split": "10"}, "each of 2 to 1,000 arms"),
        ({"baseline": 0.1, "effect": 0.01, "split": (10, 0)}, "a number above 0"),
        ({"baseline": 0.1, "effect": 0.01, "split": "10:nan"}, "a number above 0"),
        ({"baseline": 0.1, "effect": 0.01, "split": "10/1"}, "colons between them"),
        ({"baseline": 0.1, "effect": 0.01, "split": "1e9:1"}, "more than a million times"),
        ({"baseline": 0.1, "effect": 0.01, "split": "8:1:1", "arms": 2}, "the split is of 3 arms, not of 2"),
        ({"baseline": 0.1, "users": 20, "split": "10:1"}, "at least two users"),
        ({"baseline": 0.9, "users": 22, "split": "10:1"}, "20 in the control, 2 in the new arm"),
        ({"baseline": 0.1, "effect": 0.01, "daily_users": 0}, "daily_users must be"),
        ({"baseline": 1, "sd": 0, "effect": 0.01}, "sd must be"),
        ({"baseline": 0.1, "users": 3}, "at least two users"),
        ({"baseline": 0.1, "users": 4}, "cannot detect any change"),
        ({"baseline": 1, "sd": 1e12, "effect": 1e-9}, "no number of users is large enough"),
    ],
)
def test_plans_that_make_no_sense(options, word):
    with pytest.raises(DefinitionError, match=word):
        tv.ab_plan(**options)
