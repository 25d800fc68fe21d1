"""What a planted fault is: the check that ought to speak, and the effect on the reader's own number, as the reader has
it and as it truly is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import trueval as tv
from planted_worlds import METRIC, Generator, PlantedWorld
from trueval.audit.audit import Audit

ALARM = ("wrong", "caution")
Effect = tuple[float, float]  # as evaluated, and truly
Changed = Callable[[np.ndarray], np.ndarray]  # of effects, a row each


def reversed_order(effects: np.ndarray) -> np.ndarray:
    """The order of two systems is the other one in truth."""
    return effects[:, 0] * effects[:, 1] < 0


def off_by_a_third(effects: np.ndarray) -> np.ndarray:
    """The value is off by more than a third of the true one."""
    return np.abs(effects[:, 0] - effects[:, 1]) > effects[:, 1] / 3


def lost_lead(effects: np.ndarray) -> np.ndarray:
    """Less than half of a lead is true."""
    return effects[:, 1] < effects[:, 0] / 2


def undetectable(effects: np.ndarray) -> np.ndarray:
    """The users find a difference of the size of the true one in fewer than half of such tests."""
    return effects[:, 0] > 1.43 * effects[:, 1]  # 80 % power at 2.80 standard errors, 50 % at 1.96


@dataclass(frozen=True)
class Planted:
    """What the reader audits, and what the fault does to the reader's number."""

    options: Mapping[str, Any]
    effect: Callable[[Audit], Effect]

    def audit(self) -> Audit:
        """The audit, on one thread."""
        chosen = {"threshold": 4, "metrics": METRIC, **self.options}
        return tv.audit(**chosen, threads=1)


@dataclass(frozen=True)
class Fault:
    """One fault. `parameter` says what the three strengths are, `number` whose value the effect is about, `changed` in
    which worlds the reader's conclusion is false (None where something is wrong whatever its effect), `reported_on` the
    set of worlds for the table."""

    name: str
    check: str
    parameter: str
    strengths: tuple[float, float, float]
    number: str
    plant: Callable[[Generator, int, float], Planted]
    changed: Changed | None
    verdicts: tuple[str, ...] = ALARM
    reported_on: str = "reporting"

    def found(self, audit: Audit) -> bool:
        """Whether the check that ought to find it did."""
        return any(one.verdict in self.verdicts for one in audit[self.check])


def of_lists(
    world: PlantedWorld, recs: Mapping[str, pl.DataFrame], effect: Callable[[Audit], Effect], **more: Any
) -> Planted:
    """An audit of lists."""
    return Planted({"train": world.train, "test": world.test, "recs": dict(recs), **more}, effect)


def lead(values: Mapping[str, float], first: str, second: str) -> float:
    return values[first] - values[second]
