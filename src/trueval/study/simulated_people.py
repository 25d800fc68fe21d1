"""Simulated participants, whose true preference is known: strengths of systems, position bias, carelessness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.study.plan import RANDOM_LIST, Planned

_RANDOM_BELOW = 3.0  # so much weaker than the weakest system is a list of random items
_SPREAD = 0.8  # of answers on scales around what the strength says


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPeople:
    """How simulated participants answer.

    Attributes
    ----------
    strengths : mapping from systems to numbers, or a list of such mappings
        Logarithms of strengths: of two systems, the one with strength a is preferred to the one with b with chance
        e^a / (e^a + e^b), and rankings are those of Plackett and Luce. A list has the strengths for each participant;
        it is gone through again where there are more.
    position_bias : number
        What is added to the strength of the list at the first position (the first tab, the left side).
    careless : number
        Share of participants who answer without looking: all lists are equal to them, also planted ones.
    no_difference : number
        Readiness ν of Davidson's model to see no difference between two lists.
    partial : number
        Share of participants who rank only the better half of the lists.
    disliked : number
        Chance that a list of mean strength is not liked: people give places only to lists that they like, whose value
        (strength and chance, as rankings have it) is high enough, and to the best.
    overlooked : number
        Chance of not looking at a list, whichever it is; everybody looks at two.
    leave : number
        Chance of leaving before each task.
    seed : int
        Seed of everything.
    """

    strengths: Mapping[str, float] | Sequence[Mapping[str, float]]
    position_bias: float = 0.0
    careless: float = 0.0
    no_difference: float = 0.0
    partial: float = 0.0
    disliked: float = 0.0
    overlooked: float = 0.0
    leave: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("careless", "partial", "disliked", "overlooked", "leave"):
            if not 0 <= getattr(self, name) <= 1:
                raise DefinitionError(f"{name} is a share", found=f"{getattr(self, name):g}", do="give 0 to 1")
        if not 0 <= self.no_difference < np.inf or not np.isfinite(self.position_bias):
            raise DefinitionError(
                "no_difference must be 0 or above, and position_bias finite",
                found=f"{self.no_difference:g}, {self.position_bias:g}",
            )
        if not self.each or any(not np.isfinite(value) for one in self.each for value in one.values()):
            raise DefinitionError("strengths must be finite numbers", found=repr(self.strengths)[:200])

    @property
    def leaves_blanks(self) -> bool:
        """Whether any list may be left without a place."""
        return max(self.partial, self.disliked, self.overlooked) > 0

    @property
    def each(self) -> Sequence[Mapping[str, float]]:
        """Strengths by participant."""
        return [self.strengths] if isinstance(self.strengths, Mapping) else list(self.strengths)

    def person(self, number: int) -> SimulatedPerson:
        """Participant `number`, from 0: the same whoever asks, and whoever else there is."""
        rng = np.random.default_rng(int(derive(self.seed, f"simulated participant {number}")))
        each = self.each
        return SimulatedPerson(self, each[number % len(each)], rng, bool(rng.random() < self.careless))


@dataclass(slots=True)
class SimulatedPerson:
    """One of them; what they find of a list stays the same from task to task where it is the same list in one task."""

    people: SimulatedPeople
    strengths: Mapping[str, float]
    rng: np.random.Generator
    careless: bool
    _found: dict[str, float] = field(default_factory=dict)

    def leaves(self) -> bool:
        """Whether they leave now."""
        return bool(self.rng.random() < self.people.leave)

    def seconds(self) -> float:
        """Time on a list; those who do not look are quicker."""
        return float(self.rng.lognormal(1.5 if self.careless else 3.0, 0.5))

    def rank(self, lists: Sequence[Planned]) -> dict[str, int | None]:
        """A place for each label: order of strength, position and chance; a list that is there twice is seen to be."""
        noise = dict.fromkeys((one.system for one in lists), 0.0)
        noise = {system: float(self.rng.gumbel()) for system in noise}
        value = {
            one.label: self._strength(one) + (float(self.rng.gumbel()) if self.careless else noise[one.system])
            for one in lists
        }
        order = sorted(value, key=lambda label: -value[label])
        seen = self._looked_at(order)
        least = self._least_liked()
        ranked = len(order) if self.rng.random() >= self.people.partial else max(1, len(order) // 2)
        given = [label for place, label in enumerate(order) if label in seen and place < ranked]
        given = [label for place, label in enumerate(given) if place == 0 or value[label] > least]
        return {label: given.index(label) + 1 if label in given else None for label in value}

    def _looked_at(self, labels: Sequence[str]) -> set[str]:
        if not self.people.overlooked:
            return set(labels)
        chance = dict(zip(sorted(labels), self.rng.random(len(labels))))
        first = sorted(labels, key=lambda label: -chance[label])[:2]
        return {label for label in labels if chance[label] >= self.people.overlooked or label in first}

    def _least_liked(self) -> float:
        """The value above which a list is liked: one of mean strength is below it with the chance that was given."""
        if not self.people.disliked:
            return -np.inf
        if self.people.disliked == 1:
            return np.inf
        return float(np.mean(list(self.strengths.values())) - np.log(-np.log(self.people.disliked)))

    def choose(self, left: Planned, right: Planned) -> str:
        """Left, right or none."""
        if left.system == right.system and not self.careless:
            return "none"
        gap = (self._strength(left) - self._strength(right)) / 2
        chance = np.exp([gap - abs(gap), -gap - abs(gap)])
        chance = np.append(chance, self.people.no_difference * np.exp(-abs(gap)))
        return ("left", "right", "none")[int(np.searchsorted(np.cumsum(chance / chance.sum()), self.rng.random()))]

    def rate(self, one: Planned, questions: Mapping[str, int]) -> dict[str, int]:
        """An answer to each question, whose scales have so many points."""
        strength = self._strength(one)
        if one.system not in self._found:
            self._found[one.system] = float(self.rng.normal(0, _SPREAD))
        own = 2 * float(self.rng.normal()) if self.careless else self._found[one.system]
        return {
            name: int(np.clip(np.rint((points + 1) / 2 + strength + own + self.rng.normal(0, 0.3)), 1, points))
            for name, points in questions.items()
        }

    def _strength(self, one: Planned) -> float:
        first = self.people.position_bias if one.position == 1 else 0.0
        if self.careless:
            return first
        weakest = min(self.strengths.values()) - _RANDOM_BELOW
        return first + (weakest if one.system == RANDOM_LIST else self.strengths[one.system])
