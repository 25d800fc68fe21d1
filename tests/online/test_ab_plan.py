"""Planning against statsmodels, and against itself."""

from __future__ import annotations

import json

import pytest
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import power_proportions_2indep, samplesize_proportions_2indep_onetail

import trueval as tv
from trueval.errors import DefinitionError
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
