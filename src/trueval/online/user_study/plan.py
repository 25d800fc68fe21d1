"""Planning a study: how many participants it takes, or what so many can show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.render.numbers import level_percent, percent, rounded
from trueval.render.shown import Shown

_MOST = 100_000  # participants that are planned for
_STUDIES = 2000  # simulated, for the power of Friedman's test
_CELLS = 4_000_000  # ranks that are simulated at once


@dataclass(frozen=True, slots=True)
class StudyPlan(Shown):
    """Participants, and the power of the tests with so many.

    `participants` are those whose answers count; `invited` allows for those who are lost. `power` is exact, that of
    Friedman's test (`friedman`) is simulated.
    """

    test: str  # first places or preference
    systems: int
    chance: float  # under the null hypothesis
    share: float  # in truth
    participants: int
    invited: int
    power: float
    needed: int  # of first places or preferences, to be significant
    friedman: float | None
    comparisons: int
    level: float
    ties: float
    lost: float

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        share, chance = percent(self.share, 0), percent(self.chance, 0)
        if self.test == "first places":
            what = f"that {share} of them rank the named systems first ({chance} by chance)"
            how = f"exact binomial test, one-sided, level {level_percent(self.level)}: at least {self.needed:,} first"
        else:
            what = f"that {share} of those with a preference prefer one system to another"
            several = f", Holm over {self.comparisons} pairs (first step)" if self.comparisons > 1 else ""
            how = f"exact sign test, two-sided, level {level_percent(self.level)}{several}"
            how += f"; {percent(self.ties, 0)} see no difference" if self.ties else ""
        lines = [
            f"With {self.participants:,} participants the study shows, with probability {percent(self.power)}, {what}",
            f"({how})",
        ]
        if self.lost:
            lines.append(f"invite {self.invited:,}: {percent(self.lost, 0)} leave or fail a check")
        if self.friedman is not None:
            lines.append(
                f"Friedman's test of all {self.systems} systems: probability {rounded(self.friedman)}, simulated with "
                f"{_STUDIES:,} studies in which one system comes first with this share and the others are equal"
            )
        return "\n".join(lines) + "\n"


@checked
def study_plan(
    *,
    systems: int = 2,
    share: float | None = None,
    prefer: float | None = None,
    named: int = 1,
    participants: int | None = None,
    ties: float = 0.0,
    lost: float = 0.0,
    power: float = 0.8,
    level: float = 0.95,
    seed: int = 0,
) -> StudyPlan:
    """Plan a user study: the participants that it takes, or the power of so many.

    Parameters
    ----------
    systems : int, default 2
        Number of systems that are compared.
    share : number, optional
        Share of participants who, in truth, rank one of the `named` systems first. Give this or `prefer`.
    prefer : number, optional
        Share of participants, among those with a preference, who in truth prefer one system to another. The level is
        that of the first step of Holm's correction over all pairs of systems.
    named : int, default 1
        Number of systems that are named before the study.
    participants : int, optional
        Number of participants, to compute the power. Default: computed, such that this and every larger number has
        the power.
    ties : number, default 0.0
        Share of participants who see no difference, with `prefer`.
    lost : number, default 0.0
        Share of the people invited who leave, or whose answers do not count.
    power : number, default 0.8
        Probability of finding the difference.
    level : number, default 0.95
        1 minus the significance level.
    seed : int, default 0
        Seed of the simulated studies.

    Returns
    -------
    StudyPlan
        `participants`, `invited`, `power`, `needed`. Prints as sentences.

    Raises
    ------
    TruevalError
        Where not exactly one of `share` and `prefer` is given, and for shares that are not above chance.

    Examples
    --------
    >>> plan = study_plan(systems=5, share=0.4)
    >>> plan.participants, plan.needed
    (38, 13)
    >>> study_plan(prefer=0.65).participants
    97
    """
    _check(systems, share, prefer, named, participants, ties, lost, power, level)
    pairs = systems * (systems - 1) // 2
    if share is not None:
        chance, truth, alpha = named / systems, share, 1 - level

        def reached(n: int) -> float:
            return _upper(n, _needed(n, chance, alpha), truth)
    else:
        assert prefer is not None
        chance, truth, alpha = 0.5, max(prefer, 1 - prefer), (1 - level) / pairs

        def reached(n: int) -> float:
            return _preferred(n, truth, ties, alpha)

    people = _enough(reached, power) if participants is None else participants
    friedman = None
    if share is not None and named == 1 and systems > 2 and people <= _MOST // 100:
        friedman = _friedman_power(people, systems, share, level, seed)
    return StudyPlan(
        "first places" if share is not None else "preference", systems, chance, truth, people,
        math.ceil(people / (1 - lost) - 1e-9), reached(people), _needed(people, chance, alpha / (1 + (share is None))),
        friedman, 1 if share is not None else pairs, level, ties, lost,
    )  # fmt: skip


def _needed(n: int, chance: float, alpha: float) -> int:
    """The fewest successes of n that are significant; n + 1 where none are."""
    from scipy.special import bdtrc

    at_least = np.append(1.0, bdtrc(np.arange(n), n, chance))  # chance of 0, 1, … n or more
    below = np.flatnonzero(at_least <= alpha * (1 + 1e-12))
    return int(below[0]) if len(below) else n + 1


def _upper(n: int, least: int, share: float) -> float:
    """Chance of at least so many."""
    from scipy.special import bdtrc

    return 1.0 if least <= 0 else 0.0 if least > n else float(bdtrc(least - 1, n, share))


def _preferred(n: int, share: float, ties: float, alpha: float) -> float:
    """Power of the two-sided sign test, the number of those with a preference being chance."""
    if not ties:
        least = _needed(n, 0.5, alpha / 2)
        return _upper(n, least, share) + _upper(n, least, 1 - share)
    from scipy.special import bdtr

    upto = bdtr(np.arange(n + 1), n, 1 - ties)
    weight = np.diff(upto, prepend=0.0)
    some = np.flatnonzero(weight > 1e-9)
    return float(sum(weight[m] * _preferred(int(m), share, 0.0, alpha) for m in some))


def _enough(reached: Callable[[int], float], power: float) -> int:
    """The smallest number from which on the power is always reached: exact tests have steps, and dips after them."""
    high = 8
    while reached(high) < power or reached(high + 1) < power:
        high *= 2
        if high > _MOST:
            raise DefinitionError(
                "it takes more participants than any study has",
                found=f"over {_MOST:,}",
                do="plan for a larger difference",
            )
    last = max((n for n in range(max(1, high // 4), 2 * high) if reached(n) < power), default=0)
    return last + 1


def _friedman_power(people: int, systems: int, share: float, level: float, seed: int) -> float:
    """Share of simulated studies in which Friedman's statistic is beyond what equal systems give."""
    strength = np.zeros(systems)
    strength[0] = math.log(share * (systems - 1) / (1 - share))
    null, truth = (_statistics(people, one, seed, name) for one, name in ((0 * strength, "equal"), (strength, "apart")))
    return float(np.mean(truth > np.quantile(null, level, method="higher")))


def _statistics(people: int, strength: np.ndarray, seed: int, name: str) -> np.ndarray:
    """Friedman's statistic of studies in which everybody ranks by strengths and chance (Plackett and Luce)."""
    rng = np.random.default_rng(int(derive(seed, f"study plan: {name}")))
    number, found = len(strength), []
    at_once = max(1, _CELLS // (people * number))
    for begin in range(0, _STUDIES, at_once):
        size = (min(at_once, _STUDIES - begin), people, number)
        ranks = np.argsort(np.argsort(-(strength + rng.gumbel(size=size)), axis=2), axis=2) + 1.0
        found.append(((ranks.mean(axis=1) - (number + 1) / 2) ** 2).sum(axis=1))
    return np.concatenate(found)


def _check(
    systems: int, share: float | None, prefer: float | None, named: int, participants: int | None, ties: float,
    lost: float, power: float, level: float,
) -> None:  # fmt: skip
    if (share is None) == (prefer is None):
        raise DefinitionError(
            "a plan needs either a share of first places or a share of preferences", do="share=0.4, or prefer=0.65"
        )
    chance = named / max(systems, 1)
    limits = [
        ("systems", systems, 2 <= systems <= 100, "from 2 to 100"),
        ("named", named, 1 <= named < systems, "from 1 to one less than there are systems"),
        ("share", share, share is None or chance < share < 1, f"above chance ({chance:.3g}) and below 1"),
        ("prefer", prefer, prefer is None or (0 < prefer < 1 and prefer != 0.5), "between 0 and 1, and not 0.5"),
        ("participants", participants, participants is None or 1 <= participants <= _MOST, f"from 1 to {_MOST:,}"),
        ("ties", ties, 0 <= ties < 1, "from 0 to below 1"),
        ("lost", lost, 0 <= lost < 1, "from 0 to below 1"),
        ("level", level, 0.5 <= level < 1, "from 0.5 to below 1"),
        ("power", power, 1 - level < power < 1, "above 1 - level and below 1"),
    ]
    for name, value, fine, allowed in limits:
        if not fine:
            raise DefinitionError(f"{name} must be {allowed}", where=name, found=f"{value:g}")
