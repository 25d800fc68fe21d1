"""Answers on scales: mean and median of every system and question, and paired comparisons of every two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from trueval.comparison.join_results import Joined, Replicate
from trueval.comparison.paired_tests import Tested, all_tested
from trueval.data.ids import Ids
from trueval.errors import DataError
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.measurements import Measurements
from trueval.evaluation.outcome import SystemResult, summarise
from trueval.metrics.compute import Measured
from trueval.metrics.registry import Metric
from trueval.metrics.spec import Spec
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.percentiles import percentile_bounds
from trueval.statistics.quantile_bootstrap import quantile_draws


@dataclass(frozen=True, slots=True)
class ScaleValue:
    """A system's answers to a question: mean and median over participants, each with its interval."""

    question: str
    system: str
    n: int
    mean: float
    low: float
    high: float
    median: float
    median_low: float
    median_high: float

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ScaleDifference:
    """One system minus another on a question, over participants who answered it for both."""

    question: str
    one: str
    other: str
    n: int
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    test: str
    verdict: str

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answered:
    """Values by question: a row per participant, a column per system, NaN where there is no answer."""

    participants: tuple[str, ...]
    systems: tuple[str, ...]
    values: dict[str, np.ndarray]

    def only(self, keep: np.ndarray) -> Answered:
        """Of some participants."""
        people = tuple(name for name, kept in zip(self.participants, keep) if kept)
        return Answered(people, self.systems, {name: own[keep] for name, own in self.values.items()})

    def about(self, questions: Sequence[str]) -> Answered:
        """Of some questions."""
        return Answered(self.participants, self.systems, {name: self.values[name] for name in questions})


def answers_on_scales(table: pl.DataFrame, *, where: str = "scales") -> Answered:
    """The answers of every participant; several to the same question about a system are averaged.

    >>> frame = pl.DataFrame({"participant": ["p", "p"], "system": ["a", "b"], "question": "fit", "value": [4.0, 2.0]})
    >>> answers_on_scales(frame).values["fit"].tolist()
    [[4.0, 2.0]]
    """
    own = table.filter(pl.col("check").is_null()) if "check" in table.columns else table
    own = own.group_by("participant", "system", "question").agg(pl.col("value").mean())
    systems = tuple(sorted(own["system"].unique().to_list()))
    if len(systems) < 2:
        raise DataError(
            "a comparison needs at least two systems", where=where, found=", ".join(systems) or "none",
            do="give the answers about every system",
        )  # fmt: skip
    own = own.drop_nulls("value")
    if not len(own):
        raise DataError("nobody answered on a scale", where=f"{where}, column value", found="no value at all")
    people = tuple(sorted(own["participant"].unique().to_list()))
    values = {}
    for question in sorted(own["question"].unique().to_list()):
        part = own.filter(pl.col("question") == question)
        cells = np.full((len(people), len(systems)), np.nan)
        row = np.searchsorted(people, part["participant"].to_numpy())
        cells[row, np.searchsorted(systems, part["system"].to_numpy())] = part["value"].to_numpy()
        values[question] = cells
    return Answered(people, systems, values)


def scale_values(answered: Answered, *, level: float, resamples: int, seed: int) -> list[ScaleValue]:
    """Mean (Student's t) and median (resampled participants) of every question and system."""
    if not answered.values:
        return []
    joined = _joined(answered, level=level, seed=seed)
    found = []
    for question, cells in answered.values.items():
        for at, system in enumerate(answered.systems):
            own = np.sort(cells[~np.isnan(cells[:, at]), at])
            mean = joined.repeats[0].systems[system].estimates[question]
            low, high = (
                percentile_bounds(quantile_draws(own, 0.5, resamples=resamples, seed=seed), level, outward=True)
                if len(own) > 1 and resamples
                else (np.nan, np.nan)
            )
            middle = float(np.median(own)) if len(own) else np.nan
            found.append(ScaleValue(question, system, len(own), mean.value, mean.low, mean.high, middle, low, high))
    return found


def scale_differences(answered: Answered, *, level: float, seed: int) -> list[ScaleDifference]:
    """Every two systems on every question by the paired tests of all comparisons, with Holm's correction over all."""
    if not answered.values:
        return []
    joined, questions = _joined(answered, level=level, seed=seed), list(answered.values)
    rows: list[tuple[str, Tested]] = []
    for other in answered.systems[1:]:
        after = [name for name in answered.systems if name < other]
        tested = all_tested(
            joined, other, questions, test="t", alternative="two-sided", level=level, resamples=1000, seed=seed
        )
        rows += [(other, row) for row in tested if row.system in after]
    order = {pair: at for at, pair in enumerate(combinations(answered.systems, 2))}
    rows.sort(key=lambda row: (questions.index(row[1].metric), order[row[1].system, row[0]]))
    q = corrected(np.array([row.p for _, row in rows]))
    return [_difference(other, row, float(one), level) for (other, row), one in zip(rows, q)]


def _difference(other: str, row: Tested, q: float, level: float) -> ScaleDifference:
    verdict = ("better" if row.mean.value > 0 else "worse") if q < 1 - level else "not shown"
    return ScaleDifference(
        row.metric, row.system, other, row.mean.users, row.mean.value, row.low, row.high, row.p, q, row.test, verdict
    )


def _joined(answered: Answered, *, level: float, seed: int) -> Joined:
    """Participants as the users of an evaluation, questions as its metrics: what comparisons are made of."""
    people = Ids.of(pl.Series(answered.participants))
    method = IntervalMethod("t", seed, 1000, level)
    systems = {
        name: _as_result([cells[:, at] for cells in answered.values.values()], list(answered.values), people, method)
        for at, name in enumerate(answered.systems)
    }
    specs = {question: Spec(_as_metric(question), None, {}) for question in answered.values}
    return Joined([Replicate({}, systems)], specs, people, {}, [])


def _as_result(
    columns: Sequence[np.ndarray], names: Sequence[str], people: Ids, method: IntervalMethod
) -> SystemResult:
    values = {name: Measured(column) for name, column in zip(names, columns)}
    rows = np.arange(len(people), dtype=np.int32)
    return summarise(Measurements(rows, None, values, {}, {}, 0), users=people, intervals=method)


def _as_metric(question: str) -> Metric:
    return Metric(
        question, _as_metric, "accuracy", "answer on a scale", (-np.inf, np.inf), "higher", "none", {}, (), (),
        "not answered", "",
    )  # fmt: skip
