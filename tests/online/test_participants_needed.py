"""Participants that a study takes, against sums of SciPy's distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import trueval as tv
from trueval.errors import TruevalError


def power_of_first_places(n: int, chance: float, share: float) -> float:
    needed = next(k for k in range(n + 2) if k > n or binom.sf(k - 1, n, chance) <= 0.05)
    return float(binom.sf(needed - 1, n, share))


def power_of_signs(n: int, share: float, alpha: float) -> float:
    return float(sum(binom.pmf(k, n, share) for k in range(n + 1) if binomtest(k, n).pvalue <= alpha))


def test_participants_for_a_share_of_first_places() -> None:
    plan = tv.study_plan(systems=5, share=0.4)
    powers = {n: power_of_first_places(n, 0.2, 0.4) for n in range(5, 120)}
    assert plan.participants == max(n for n, power in powers.items() if power < 0.8) + 1
    assert plan.power == pytest.approx(powers[plan.participants])
    assert binom.sf(plan.needed - 1, plan.participants, 0.2) <= 0.05 < binom.sf(plan.needed - 2, plan.participants, 0.2)


def test_power_of_the_published_study() -> None:
    """20 participants and two of five systems named: 13 first places are needed."""
    plan = tv.study_plan(systems=5, named=2, share=0.85, participants=20)
    assert plan.needed == 13
    assert plan.power == pytest.approx(float(binom.sf(12, 20, 0.85)))
    assert plan.friedman is None


def test_participants_for_a_preference() -> None:
    plan = tv.study_plan(prefer=0.65)
    powers = {n: power_of_signs(n, 0.65, 0.05) for n in range(60, 140)}
    assert plan.participants == max(n for n, power in powers.items() if power < 0.8) + 1
    assert plan.power == pytest.approx(powers[plan.participants])
    assert tv.study_plan(prefer=0.35).participants == plan.participants


@pytest.mark.parametrize("systems", [2, 5])
def test_preferences_that_are_needed(systems: int) -> None:
    """The fewest that the two-sided sign test calls significant, of all pairs of systems together at 5 %."""
    plan = tv.study_plan(prefer=0.7, systems=systems)
    alpha = 0.05 / (systems * (systems - 1) / 2)
    n = plan.participants
    assert plan.chance == 0.5
    assert plan.needed == min(k for k in range(n // 2, n + 1) if binomtest(k, n).pvalue <= alpha)


def test_ties_and_several_systems_take_more() -> None:
    plain, tied, several = (
        tv.study_plan(prefer=0.7, **more).participants for more in ({}, {"ties": 0.3}, {"systems": 4})
    )
    assert plain < tied
    assert plain < several
    n, share = 40, 0.7
    expected = sum(binom.pmf(m, n, 0.8) * power_of_signs(m, share, 0.05) for m in range(1, n + 1))
    assert tv.study_plan(prefer=share, ties=0.2, participants=n).power == pytest.approx(expected, abs=1e-6)


def test_lost_participants_are_invited_too() -> None:
    plan = tv.study_plan(prefer=0.8, lost=0.25)
    assert plan.invited == int(np.ceil(plan.participants / 0.75))


def test_power_of_friedman_is_that_of_simulated_studies() -> None:
    plan = tv.study_plan(systems=4, share=0.5, participants=25, seed=1)
    rng = np.random.default_rng(99)
    from scipy.stats import friedmanchisquare

    strength = np.array([np.log(0.5 * 3 / 0.5), 0, 0, 0])
    found = [friedmanchisquare(*(strength + rng.gumbel(size=(25, 4))).T).pvalue < 0.05 for _ in range(400)]
    assert plan.friedman == pytest.approx(np.mean(found), abs=0.08)
    assert "simulated" in str(plan)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"share": 0.5, "prefer": 0.6}, {"systems": 5, "share": 0.2}, {"systems": 1, "share": 0.5}, {"prefer": 0.5},
        {"prefer": 1.2}, {"prefer": 0.7, "lost": 1.0}, {"prefer": 0.7, "power": 0.01}, {"prefer": 0.7, "level": 2.0},
        {"systems": 3, "share": 0.9, "named": 3}, {"prefer": 0.5001}, {"prefer": 0.7, "participants": 0},
    ],
)  # fmt: skip
def test_impossible_plans_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(TruevalError):
        tv.study_plan(**options)  # type: ignore[arg-type]
