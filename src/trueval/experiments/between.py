"""Do the designs of an experiment rank its systems alike?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.api import Result
from trueval.comparison.agreement import agree
from trueval.errors import TruevalError

LEAST = 3  # systems: two can only agree or not


@dataclass(frozen=True, slots=True)
class Alike:
    """How far two designs agree on one metric: Kendall's τ-b over the systems that both have, with an interval."""

    metric: str
    one: str
    other: str
    tau: float
    low: float
    high: float
    systems: int
    level: float

    @property
    def words(self) -> str:
        """As a cell of a table."""
        text = f"{self.tau:.2f}"
        text += "" if np.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return text.replace("-", "−")

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {key: None if value != value else value for key, value in asdict(self).items()}


def between_designs(results: Mapping[str, Result], *, level: float = 0.95, seed: int = 0) -> list[Alike]:
    """τ of every two designs on every metric that both have; nothing where fewer than three systems are in both.

    >>> between_designs({})
    []
    """
    names = list(results)
    found = []
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            found += _pair(one, other, results, level=level, seed=seed)
    return found


def _pair(one: str, other: str, results: Mapping[str, Result], *, level: float, seed: int) -> list[Alike]:
    both = {name: results[name].evaluation for name in (one, other)}
    metrics = [{str(spec): label for label, spec in e.specs.items()} for e in both.values()]
    shared = [name for name in both[one].systems if name in both[other].systems]
    if len(shared) < LEAST:
        return []
    parts = {name: list(results[name].repeats.values()) or [results[name].evaluation] for name in both}
    found = []
    for metric in (metric for metric in metrics[0] if metric in metrics[1]):
        try:
            tau = agree(parts, metrics=[metric], level=level if 0.5 <= level < 1 else 0.95, seed=seed).tau
        except TruevalError:  # undefined for one of the systems
            continue
        found.append(
            Alike(metric, one, other, float(tau.value[0, 1]), float(tau.low[0, 1]), float(tau.high[0, 1]),
                  len(shared), level)
        )  # fmt: skip
    return found


def alike_grid(found: list[Alike]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: a row per pair of designs, a column per metric."""
    metrics = list(dict.fromkeys(a.metric for a in found))
    cells = {(a.one, a.other, a.metric): a.words for a in found}
    pairs = list(dict.fromkeys((a.one, a.other) for a in found))
    return ["designs", *metrics], [
        [f"{one} and {other}", *(cells.get((one, other, metric), "") for metric in metrics)] for one, other in pairs
    ]


def alike_told(found: list[Alike]) -> list[str]:
    """What the numbers mean."""
    if not found:
        return []
    systems = sorted({a.systems for a in found})
    over = f"{systems[0]} systems" if len(systems) == 1 else f"{systems[0]} to {systems[-1]} systems"
    return [
        f"Kendall's τ-b over {over} [{100 * found[0].level:g} % bootstrap interval over users]; "
        "1: the same order, 0: none in common, −1: the opposite"
    ]
