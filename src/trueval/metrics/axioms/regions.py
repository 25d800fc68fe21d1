"""For which values of a metric's parameters an axiom holds: a scan with bisection, in the worlds of the check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trueval.metrics.axioms.ranking_pairs import Bench
from trueval.metrics.spec import Spec

# Values that are tried of parameters from 0 to 1; where the verdict changes, the place is found by bisection. Nearer to
# 0, powers of a parameter are lost in rounding.
GRID = (*(step / 40 for step in range(1, 40)), 0.99, 0.999)
_BISECTIONS = 12  # of steps of at most 1/40


@dataclass(frozen=True, slots=True)
class Region:
    """Intervals of one parameter in which an axiom has no counter-example, all others as they are."""

    parameter: str
    holds: tuple[tuple[float, float], ...]

    def __str__(self) -> str:
        parts = [_interval(self.parameter, low, high) for low, high in self.holds]
        return f"holds for {' or '.join(parts)}" if parts else f"holds for no {self.parameter} tried"


def _interval(name: str, low: float, high: float) -> str:
    if low <= GRID[0]:
        return f"{name} < {high:.4f}"
    return f"{name} > {low:.4f}" if high >= GRID[-1] else f"{low:.4f} < {name} < {high:.4f}"


def failing(spec: Spec, bench: Bench) -> list[tuple[int, int, np.ndarray]]:
    """Trials without a pair that obeys: number of the trial, best pair, and the scores of all its pairs."""
    found = []
    for number, pairs in enumerate(bench.scores(spec)):
        known = np.flatnonzero(~np.isnan(pairs).any(axis=1))
        better, worse = pairs[known].T
        # rounding makes two ways of adding the same gains differ in the last digits
        if len(known) and not (better > worse + 1e-12 * np.maximum(1.0, np.abs(worse))).any():
            found.append((number, int(known[np.argmax(better - worse)]), pairs))
    return found


def regions(spec: Spec, bench: Bench) -> list[Region]:
    """Parameters on which the verdict depends, each with the values for which the axiom holds in these worlds."""
    numbers = [
        name
        for name, parameter in spec.metric.parameters.items()
        if isinstance(parameter.default, float) and parameter.low == 0 and parameter.high >= 1
    ]
    found = [(name, _holding(spec, bench, name)) for name in numbers]
    return [Region(name, holds) for name, holds in found if holds and holds != ((GRID[0], GRID[-1]),)]


def _holding(spec: Spec, bench: Bench, name: str) -> tuple[tuple[float, float], ...]:
    def holds(value: float) -> bool:
        return not failing(replace(spec, parameters={**spec.parameters, name: value}), bench)

    verdicts = [holds(value) for value in GRID]
    ends = [GRID[0]] if verdicts[0] else []
    for (low, before), (high, after) in pairwise(zip(GRID, verdicts)):
        if before != after:
            ends.append(_border(holds, low, high, before))
    ends += [GRID[-1]] if verdicts[-1] else []
    return tuple(zip(ends[::2], ends[1::2]))


def _border(holds: Callable[[float], bool], low: float, high: float, before: bool) -> float:
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) == before else (low, middle)
    return (low + high) / 2
