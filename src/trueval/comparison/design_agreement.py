"""Do designs, or a biased and an unbiased test, rank systems alike?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trueval.comparison.agreement import agree
from trueval.comparison.render_agreement import UNCLEAR, UNCLEAR_NOTE, estimate_note, tau_text
from trueval.errors import TruevalError
from trueval.evaluation.outcome import Evaluation

LEAST = 3  # systems: two can only agree or not


@dataclass(frozen=True, slots=True)
class Alike:
    """How far two designs agree on one metric: Kendall's τ-b over the systems that both have.

    `tau` with its interval is an estimate for the true values (see `true_tau`), `observed` is τ of the values found.
    """

    metric: str
    one: str
    other: str
    tau: float
    low: float
    high: float
    systems: int
    level: float
    observed: float

    @property
    def summary(self) -> str:
        """As a cell of a table."""
        return tau_text(self.tau, self.low, self.high)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {key: None if value != value else value for key, value in asdict(self).items()}


Results = Mapping[str, Sequence[Evaluation]]  # by design, each one evaluation or those of its folds and seeds


def between_designs(results: Results, *, level: float = 0.95, seed: int = 0) -> list[Alike]:
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


def _pair(one: str, other: str, results: Results, *, level: float, seed: int) -> list[Alike]:
    parts = {name: results[name] for name in (one, other)}
    metrics = [list(map(str, own[0].specs.values())) for own in parts.values()]
    shared = [name for name in results[one][0].systems if name in results[other][0].systems]
    if len(shared) < LEAST:
        return []
    found = []
    for metric in (metric for metric in metrics[0] if metric in metrics[1]):
        try:
            tau = agree(parts, metrics=[metric], level=level if 0.5 <= level < 1 else 0.95, seed=seed).tau
        except TruevalError:  # undefined for one of the systems
            continue
        found.append(
            Alike(metric, one, other, float(tau.value[0, 1]), float(tau.low[0, 1]), float(tau.high[0, 1]),
                  len(shared), level, float(tau.observed[0, 1]))
        )  # fmt: skip
    return found


def alike_grid(found: list[Alike]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: a row per pair of designs, a column per metric."""
    metrics = list(dict.fromkeys(a.metric for a in found))
    cells = {(a.one, a.other, a.metric): a.summary for a in found}
    pairs = list(dict.fromkeys((a.one, a.other) for a in found))
    return ["designs", *metrics], [
        [f"{one} and {other}", *(cells.get((one, other, metric), "") for metric in metrics)] for one, other in pairs
    ]


def alike_notes(found: list[Alike]) -> list[str]:
    """What the numbers mean."""
    if not found:
        return []
    systems = sorted({a.systems for a in found})
    over = f"{systems[0]} systems" if len(systems) == 1 else f"{systems[0]} to {systems[-1]} systems"
    lines = [f"Kendall's τ-b over {over}; 1: the same order, 0: none in common, −1: the opposite"]
    if any(a.low == a.low for a in found):
        lines.append(estimate_note(found[0].level, "users"))
    return [*lines, UNCLEAR_NOTE] if any(a.high - a.low > UNCLEAR for a in found) else lines
