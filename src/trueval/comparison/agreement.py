"""Do metrics, designs or the truth rank systems alike?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np
import polars as pl

from trueval.comparison.agreement_shown import (
    agreement_latex,
    agreement_markdown,
    agreement_rows,
    agreement_text,
    print_agreement,
)
from trueval.comparison.paired import label_of
from trueval.comparison.pairing import user_codes
from trueval.comparison.tau import taus
from trueval.data.ids import Ids, check_same_kind
from trueval.errors import DataError, DefinitionError, suggest
from trueval.evaluation.estimate import Sums, resampled
from trueval.evaluation.outcome import Evaluation


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of the systems by one metric of one result (higher is better), and in resamples of users."""

    label: str
    scores: np.ndarray
    drawn: np.ndarray | None  # resamples by systems; None where the scores are not resampled


@dataclass(frozen=True, slots=True)
class Matrix:
    """τ between every two rankings, with the bounds of its interval."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far rankings of systems agree: τ-b and top-weighted τ of every two of them. Prints as a matrix.

    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
    >>> runs = {
    ...     name: pl.DataFrame({"user": range(30), "item": [0 if u < hits else 1 for u in range(30)], "rank": 1})
    ...     for name, hits in (("a", 25), ("b", 15), ("c", 5))
    ... }
    >>> found = tv.evaluate_run(runs, test, metrics="hit@1,precision@1").agreement()
    >>> found["hit@1", "precision@1"]
    1.0
    """

    labels: list[str]
    systems: list[str]
    tau: Matrix
    top: Matrix
    users: int
    level: float
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """τ-b of two rankings by their labels."""
        places = []
        for label in pair:
            if label not in self.labels:
                raise DefinitionError(f"there is no ranking {label!r}", found=suggest(label, self.labels))
            places.append(self.labels.index(label))
        return float(self.tau.value[places[0], places[1]])

    def __str__(self) -> str:
        return agreement_text(self)

    def table(self) -> pl.DataFrame:
        """One row per pair of rankings: tau and top, each with its interval."""
        return pl.DataFrame(agreement_rows(self), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        told = {"systems": self.systems, "users": self.users, "level": self.level, "warnings": self.notes}
        return {"agreement": agreement_rows(self), **told}

    def to_json(self) -> str:
        """The record as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def to_markdown(self) -> str:
        """The matrix in Markdown."""
        return agreement_markdown(self)

    def to_latex(self) -> str:
        """The matrix as a LaTeX (booktabs) table."""
        return agreement_latex(self)

    def print(self, file: TextIO, *, width: int | None = None) -> None:
        """Write the matrix; colours only on a terminal."""
        print_agreement(self, file, width=width)


Results = Mapping[str, Sequence[Evaluation]]  # by name, each one evaluation or those of its folds and seeds
Place = tuple[str, int, str, str]  # result, repeat, metric, system


def agree(
    results: Results,
    *,
    metrics: Sequence[str] | None = None,
    true: Mapping[str, float] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Agreement between all metrics of all results over the systems that all have, and the truth where given.

    One draw of users serves all metrics and results, so that intervals know what rankings have in common.
    """
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must be from 0.5 to below 1", found=f"{level:g}", do="use 0.95")
    if resamples < 1:
        raise DefinitionError("resamples are one or more", found=str(resamples), do="1,000 is usual")
    systems = _systems(results, true)
    users = _vocabulary(results)
    wanted = [(name, label) for name, parts in results.items() for label in _labels(parts[0], metrics)]
    sums, places = _parts(results, wanted, systems, users)
    drawn = resampled(sums, len(users), seed=seed, resamples=resamples) if len(users) > 1 and sums else []
    rankings = [_ranking(results, name, label, systems, drawn, places) for name, label in wanted]
    if true is not None:
        rankings.append(Ranking("true", np.array([true[name] for name in systems], float), None))
    if len(rankings) < 2:
        found = rankings[0].label if rankings else "no metric"
        raise DataError("agreement needs two rankings", found=found, do="give more metrics or results")
    fixed = [r.label for r in rankings if r.drawn is None and r.label != "true"]
    notes = [f"taken as they are, not resampled: {', '.join(fixed)}"] if fixed else []
    tau, top = _matrices(rankings, level)
    return Agreement([r.label for r in rankings], systems, tau, top, len(users), level, notes)


def _systems(results: Results, true: Mapping[str, float] | None) -> list[str]:
    """The systems that everyone ranks."""
    others: list[Mapping[str, Any]] = [part.systems for parts in results.values() for part in parts]
    others += [] if true is None else [true]
    shared = [name for name in others[0] if all(name in other for other in others)]
    if len(shared) < 3:
        raise DataError(
            "agreement needs at least three systems that all rankings have",
            found=", ".join(shared) or "none",
            do="evaluate more systems; two can only agree or not",
        )
    return shared


def _labels(evaluation: Evaluation, metrics: Sequence[str] | None) -> list[str]:
    if metrics is None:
        return list(evaluation.specs)
    return [label_of(metric, evaluation.specs) for metric in metrics]


def _vocabulary(results: Results) -> Ids:
    """The evaluated users of all results; nobody else is drawn."""
    columns = [
        (name, system.users.decode(np.unique(system.unit_user)))
        for name, parts in results.items()
        for part in parts
        for system in part.systems.values()
    ]
    first_name, first = columns[0]
    for name, column in columns[1:]:
        check_same_kind(first, column, role="user", where=(first_name, name))
    return Ids.of(*(column for _, column in columns))


def _parts(
    results: Results, wanted: Sequence[tuple[str, str]], systems: Sequence[str], users: Ids
) -> tuple[list[tuple[np.ndarray | None, Sums]], dict[Place, int]]:
    """What is resampled, sums over the same users side by side, and where each is."""
    sums: list[tuple[np.ndarray | None, Sums]] = []
    places: dict[Place, int] = {}
    for name, parts in results.items():
        for repeat, part in enumerate(parts):
            for system in systems:
                values = part.systems[system]
                rows = user_codes(values, users)
                for label in (label for one, label in wanted if one == name and label in values.sums):
                    places[name, repeat, label, system] = len(sums)
                    sums.append((rows, values.sums[label]))
    return sums, places


def _ranking(
    results: Results, name: str, label: str, systems: Sequence[str], drawn: list[np.ndarray],
    places: Mapping[Place, int],
) -> Ranking:  # fmt: skip
    """Scores by one metric; of several folds or seeds, their means."""
    parts = results[name]
    sign = -1.0 if parts[0].specs[label].better == "lower" else 1.0
    values = [[part.systems[system].estimates[label].value for system in systems] for part in parts]
    scores = sign * np.mean(values, axis=0)
    if np.isnan(scores).any():
        raise DefinitionError(f"{label} is undefined for {systems[int(np.argmax(np.isnan(scores)))]}")
    shown = label if len(results) == 1 else f"{name}: {label}"
    needed = [[(name, repeat, label, system) for repeat in range(len(parts))] for system in systems]
    if not drawn or any(place not in places for row in needed for place in row):
        return Ranking(shown, scores, None)
    means = [np.mean([drawn[places[place]] for place in row], axis=0) for row in needed]
    return Ranking(shown, scores, sign * np.stack(means, axis=1))


def _matrices(rankings: Sequence[Ranking], level: float) -> tuple[Matrix, Matrix]:
    """Both τ of every two rankings; intervals are the middle of the resampled values."""
    n = len(rankings)
    found = [Matrix(*(np.full((n, n), np.nan) for _ in range(3))) for _ in range(2)]
    tails = [(1 - level) / 2, (1 + level) / 2]
    for i in range(n):
        for j in range(i, n):
            a, b = rankings[i], rankings[j]
            values = taus(a.scores[None], b.scores[None])
            resamples = None if a.drawn is None and b.drawn is None else taus(*_both(a, b))
            for kind, matrix in enumerate(found):
                matrix.value[i, j] = matrix.value[j, i] = values[kind][0]
                if resamples is not None and (~np.isnan(resamples[kind])).any():
                    low, high = np.nanquantile(resamples[kind], tails)
                    matrix.low[i, j] = matrix.low[j, i] = low
                    matrix.high[i, j] = matrix.high[j, i] = high
    return found[0], found[1]


def _both(a: Ranking, b: Ranking) -> tuple[np.ndarray, np.ndarray]:
    """Resampled scores of both; those of a ranking that is not resampled stay."""
    rows = len(a.drawn if a.drawn is not None else b.drawn)  # type: ignore[arg-type]
    left, right = (np.tile(r.scores, (rows, 1)) if r.drawn is None else r.drawn for r in (a, b))
    return left, right
