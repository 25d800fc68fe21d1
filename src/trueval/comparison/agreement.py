"""Do metrics, designs or the truth rank systems alike?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

import numpy as np
import polars as pl

from trueval.comparison.comparison import label_of
from trueval.comparison.render_agreement import (
    agreement_latex,
    agreement_markdown,
    agreement_rows,
    agreement_text,
    print_agreement,
)
from trueval.comparison.sampling_noise import RankingKey, Results, SamplingNoise, repeated_scores, sampling_noise
from trueval.comparison.tau import taus
from trueval.comparison.true_tau import Draws, true_taus
from trueval.data.exported_tables import Tabular
from trueval.data.ids import Ids, check_same_kind
from trueval.data.json_values import Recorded
from trueval.errors import DataError, DefinitionError, suggest
from trueval.evaluation.outcome import Evaluation
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown
from trueval.statistics.percentiles import percentile_bounds


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of the systems by one metric of one result (higher is better)."""

    label: str
    scores: np.ndarray
    key: RankingKey
    sampled: bool  # whether the scores are a sample of users, or taken as they are


@dataclass(frozen=True, slots=True)
class OutsideRanking:
    """Scores of systems that no metric gave (people's, say), covariances of their errors by name, and from how many."""

    scores: Mapping[str, float]
    covariance: np.ndarray
    people: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """τ between every two rankings: estimates for the true scores with their intervals, and of the observed scores."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    observed: np.ndarray


@dataclass(frozen=True, slots=True)
class Agreement(Tabular, Recorded, Shown, Reported):
    """How far rankings of systems agree: τ-b and top-weighted τ of every two of them. Prints as a matrix.

    `tau` and `top` have estimates (`value`, `low`, `high`) for the true scores, those of the population that the users
    are a sample of, and the τ `observed` for these users.

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

    report_kind: ClassVar[str] = "agreement"
    labels: list[str]
    systems: list[str]
    tau: Matrix
    top: Matrix
    users: int
    level: float
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The estimate of τ-b of two rankings by their labels."""
        places = []
        for label in pair:
            if label not in self.labels:
                raise DefinitionError(f"there is no ranking {label!r}", do=suggest(label, self.labels))
            places.append(self.labels.index(label))
        return float(self.tau.value[places[0], places[1]])

    def __str__(self) -> str:
        return agreement_text(self)

    def table(self) -> pl.DataFrame:
        """One row per pair of rankings: tau and top, each with its interval and as observed."""
        return pl.DataFrame(agreement_rows(self), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "agreement": agreement_rows(self),
            "systems": self.systems,
            "users": self.users,
            "level": self.level,
            "warnings": self.notes,
        }

    def to_markdown(self) -> str:
        """The matrix in Markdown."""
        return agreement_markdown(self)

    def to_latex(self) -> str:
        """The matrix as a LaTeX (booktabs) table."""
        return agreement_latex(self)

    def plot(self, name: str = "agreement", **options: Any) -> Any:
        """Draw the matrix of τ, with its numbers.

        Parameters
        ----------
        name : text, default "agreement"
            "agreement".
        **options : options of the chart
            `kind`: "tau" (the default), or "top" for the top-weighted τ.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> import polars as pl, trueval as tv
        >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
        >>> runs = {
        ...     name: pl.DataFrame({"user": range(30), "item": [0 if u < hits else 1 for u in range(30)], "rank": 1})
        ...     for name, hits in (("a", 25), ("b", 15), ("c", 5))
        ... }
        >>> tv.evaluate_run(runs, test, metrics="hit@1,precision@1").agreement().plot().title
        "Kendall's τ between 2 rankings of 3 systems"
        """
        return draw("agreement", self, name, options)

    def print(self, file: TextIO, *, width: int | None = None) -> None:
        """Write the matrix; colours only on a terminal."""
        print_agreement(self, file, width=width)


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

    Estimates are for the true scores (see `true_tau`): what rankings share because they share users is measured over
    users, whether the results are metrics, designs or tests, and taken out. `resamples` are draws of the true scores.
    """
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must be from 0.5 to below 1", found=f"{level:g}", do="use 0.95")
    if resamples < 1:
        raise DefinitionError("resamples must be at least 1", found=str(resamples), do="1,000 is usual")
    systems = _systems(results, true)
    by_name = sorted(systems)  # so that nothing depends on the order in which systems are given
    users = _vocabulary(results)
    keys = [(name, label) for name, parts in results.items() for label in _labels(parts[0], metrics)]
    noise = sampling_noise(results, keys, by_name, users)
    rankings = [_ranking(results, key, by_name, sampled=key in noise.keys) for key in keys]
    fixed = [r.label for r in rankings if not r.sampled]
    if true is not None:
        rankings.append(Ranking("true", np.array([true[name] for name in by_name], float), ("", "true"), sampled=False))
    if len(rankings) < 2:
        found = rankings[0].label if rankings else "no metric"
        raise DataError("agreement needs at least two rankings", found=found, do="give more metrics or results")
    notes = [f"taken as exact, since their sampling error is unknown: {', '.join(fixed)}"] if fixed else []
    tau, top = _matrices(rankings, noise, level, Draws.of(len(systems), draws=resamples, seed=seed))
    return Agreement([r.label for r in rankings], systems, tau, top, len(users), level, notes)


def agree_with(
    results: Results, outside: OutsideRanking, *, metrics: Sequence[str] | None = None, level: float = 0.95,
    resamples: int = 1000, seed: int = 0,
) -> tuple[list[str], list[tuple[str, tuple[float, float, float], float]]]:  # fmt: skip
    """How far each metric of each result ranks systems as an outside ranking does, which has errors of its own.

    Returns the systems that all have, and for every metric its label, τ-b with its interval, and τ-b as observed. The
    errors of the outside ranking (of other people) have nothing in common with those of the metrics.
    """
    systems = sorted(_systems(results, outside.scores))
    users = _vocabulary(results)
    keys = [(name, label) for name, parts in results.items() for label in _labels(parts[0], metrics)]
    noise = sampling_noise(results, keys, systems, users)
    draws = Draws.of(len(systems), draws=resamples, seed=seed)
    own = np.array([outside.scores[name] for name in systems])
    at = [sorted(outside.scores).index(name) for name in systems]
    errors = outside.covariance[np.ix_(at, at)]
    zero, found = np.zeros_like(errors), []
    for key in keys:
        other = _ranking(results, key, systems, sampled=key in noise.keys)
        observed = float(taus(own[None], other.scores[None])[0][0])
        covariance = np.block([[errors, zero], [zero, noise.of(key, key)]])
        fewest = min(outside.people, noise.users) if other.sampled else outside.people
        middle = (observed, np.nan, np.nan)
        if errors.any() and not np.isnan(observed):
            drawn, _ = true_taus(own, other.scores, covariance, users=fewest, draws=draws)
            middle = _middle(drawn, level)
        found.append((other.label, middle, observed))
    return systems, found


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


def _ranking(results: Results, key: RankingKey, systems: Sequence[str], *, sampled: bool) -> Ranking:
    """Scores by one metric; of several folds or seeds, their means."""
    name, label = key
    scores = repeated_scores(results[name], label, systems).mean(axis=0)
    if np.isnan(scores).any():
        raise DefinitionError(f"{label} is undefined for {systems[int(np.argmax(np.isnan(scores)))]}")
    return Ranking(label if len(results) == 1 else f"{name}: {label}", scores, key, sampled)


def _matrices(rankings: Sequence[Ranking], noise: SamplingNoise, level: float, draws: Draws) -> tuple[Matrix, Matrix]:
    """Both τ of every two rankings, of a ranking with itself 1."""
    n = len(rankings)
    found = [Matrix(*(np.full((n, n), np.nan) for _ in range(4))) for _ in range(2)]
    for i in range(n):
        for j in range(i, n):
            one, other = sorted((rankings[i], rankings[j]), key=lambda r: r.label)  # whichever is named first
            observed = [float(tau[0]) for tau in taus(one.scores[None], other.scores[None])]
            drawn = _drawn(one, other, noise, draws) if i < j and not np.isnan(observed).any() else None
            for kind, matrix in enumerate(found):
                numbers = (observed[kind], np.nan, np.nan) if drawn is None else _middle(drawn[kind], level)
                for side, number in zip((matrix.value, matrix.low, matrix.high), numbers):
                    side[i, j] = side[j, i] = number
                matrix.observed[i, j] = matrix.observed[j, i] = observed[kind]
    return found[0], found[1]


def _drawn(one: Ranking, other: Ranking, noise: SamplingNoise, draws: Draws) -> tuple[np.ndarray, np.ndarray] | None:
    """Both τ in draws of the true scores; none where no score is a sample."""
    if not one.sampled and not other.sampled:
        return None
    covariance = np.block([[noise.of(a.key, b.key) for b in (one, other)] for a in (one, other)])
    return true_taus(one.scores, other.scores, covariance, users=noise.users, draws=draws)


def _middle(drawn: np.ndarray, level: float) -> tuple[float, float, float]:
    """Mean and percentile interval: its ends are drawn values (τ has steps), widened to include the mean."""
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return np.nan, np.nan, np.nan
    low, high = percentile_bounds(known, level, outward=True)
    mean = float(known[0] + (known - known[0]).mean())  # exact where all are equal
    return mean, min(low, mean), max(high, mean)
