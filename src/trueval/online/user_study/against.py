"""A study beside offline evaluations of the same systems: which number would have told what people prefer?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trueval.comparison.agreement import OutsideRanking, agree_with
from trueval.comparison.render_agreement import UNCLEAR, tau_text
from trueval.comparison.tau import chance_of_tau
from trueval.evaluation.outcome import Evaluation
from trueval.online.user_study.forms import Findings
from trueval.render.numbers import level_percent

FEW = 6  # systems: of five, one metric in 120 that has nothing to do with people has their very order


@dataclass(frozen=True, slots=True)
class MetricAgreement:
    """τ-b between the order of systems by people and by one metric, for the true values of both, and as observed."""

    metric: str
    tau: float
    low: float
    high: float
    observed: float
    systems: int

    def beyond_chance(self, alpha: float) -> int:
        """1 where even the least τ of the interval is one that few random orders of these systems have; -1 the other
        way round; else 0."""
        if math.isnan(self.low):
            return 0
        above, below = (chance_of_tau(end, self.systems) <= alpha for end in (self.low, -self.high))
        return int(above) - int(below)

    @property
    def text(self) -> str:
        """As a cell of a table."""
        return tau_text(self.tau, self.low, self.high)

    @property
    def clear(self) -> bool:
        """Whether the interval says something."""
        return not math.isnan(self.low) and self.high - self.low <= UNCLEAR

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Against:
    """The study beside all metrics, the most alike first."""

    measure: str  # what people's order is made of
    systems: tuple[str, ...]
    metrics: tuple[MetricAgreement, ...]
    level: float

    @property
    def by_chance(self) -> float:
        """How many of these metrics would have the very order of people if all orders were equally likely."""
        return len(self.metrics) / math.factorial(len(self.systems))

    @property
    def sentences(self) -> list[str]:
        """The answer, as far as there is one."""
        top = self.metrics[0]
        said = [
            f"Of {len(self.metrics)} offline metrics, {top.metric} orders the {len(self.systems)} systems most as "
            f"people do: τ {top.text}."
        ]
        share = level_percent(self.level)
        found = {
            way: [one.metric for one in self.metrics if one.beyond_chance(1 - self.level) == way] for way in (1, -1)
        }
        if not any(one.clear for one in self.metrics):
            said.append(
                "Which offline number would have told is unclear: the systems are too close, or participants or users "
                "too few, for their true orders to be known."
            )
        elif not found[1]:
            said.append(f"None of them is shown to agree with people further than {share} of random orders would.")
        else:
            said.append(f"Shown to agree further than {share} of random orders would: {_some(found[1])}.")
        if found[-1]:
            said.append(f"Shown to order the systems against people, beyond chance as well: {_some(found[-1])}.")
        if len(self.systems) < FEW:
            orders = math.factorial(len(self.systems))
            said.append(
                f"{len(self.systems)} systems have only {orders:,} orders: of metrics that have nothing to do with "
                f"people, one in {orders:,} has their very order (here {self.by_chance:.2g} are expected to). The best "
                "of several metrics is therefore no discovery; one named before the study, or more systems, would be."
            )
        return said

    def record(self) -> dict[str, Any]:
        """As plain data."""
        metrics = [one.record() for one in self.metrics]
        return {"measure": self.measure, "systems": list(self.systems), "metrics": metrics, "sentences": self.sentences}


def against_offline(
    found: Findings,
    results: Mapping[str, Sequence[Evaluation]],
    *,
    metrics: Sequence[str] | None,
    level: float,
    seed: int,
) -> Against | None:
    """Agreement with every metric of every result; None where people's order is not known."""
    ranked = people_ranking(found)
    if ranked is None:
        return None
    measure, outside = ranked
    systems, rows = agree_with(results, outside, metrics=metrics, level=level, seed=seed)
    made = [MetricAgreement(label, *middle, observed, len(systems)) for label, middle, observed in rows]
    made.sort(key=lambda one: (math.isnan(one.tau), -one.tau if one.tau == one.tau else 0.0, -one.observed, one.metric))
    return Against(measure, tuple(systems), tuple(made), level)


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def people_ranking(found: Findings) -> tuple[str, OutsideRanking] | None:
    """Scores of systems by people, with the covariances of their errors: strengths, or means of the first question."""
    for form in (found.rankings, found.pairs):
        if form is not None and form.strengths.systems:
            scores = {one.system: one.strength for one in form.strengths.systems}
            return "strength", OutsideRanking(scores, form.strengths.covariance, form.participants)
    if found.scales is None or not found.scales.values:
        return None
    question = found.scales.values[0].question
    if question != next(iter(found.scales.order)):  # the covariance is that of the first
        return None
    scores = {one.system: one.mean for one in found.scales.values if one.question == question}
    return f"mean of {question}", OutsideRanking(scores, found.scales.covariance, found.scales.participants)
