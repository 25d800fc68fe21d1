"""What each form of a study found: rankings, choices between two, scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.preferences import (
    Choices,
    Preference,
    StrengthTable,
    choices_between_two,
    choices_in_rankings,
    preferences,
    strengths,
)
from trueval.online.user_study.rankings import (
    FirstPlaceTest,
    RankedSystem,
    first_place_test,
    ranked_systems,
    rankings_of,
)
from trueval.online.user_study.scales import (
    ScaleDifference,
    ScaleValue,
    answers_on_scales,
    scale_differences,
    scale_values,
)
from trueval.statistics.rank_tests import RankTest, rank_test


@dataclass(frozen=True, slots=True)
class RankingFindings:
    """Rankings: every system as in the table of Steck (2011), Friedman's test, preferences, strengths."""

    participants: int
    partial: int  # who left systems unranked
    with_ties: int
    combined: int  # whose several rankings became one
    systems: tuple[RankedSystem, ...]  # best mean rank first
    friedman: RankTest
    preferences: tuple[Preference, ...]
    strengths: StrengthTable
    first: FirstPlaceTest | None

    def record(self) -> dict[str, Any]:
        """As plain data."""
        counted = {name: getattr(self, name) for name in ("participants", "partial", "with_ties", "combined")}
        return {
            **counted,
            "systems": [one.record() for one in self.systems],
            "friedman": self.friedman._asdict(),
            "first": None if self.first is None else self.first.record(),
            "preferences": [one.record() for one in self.preferences],
            "strengths": [one.record() for one in self.strengths.systems],
        }


@dataclass(frozen=True, slots=True)
class PairFindings:
    """Choices between two lists: preferences by participant, strengths."""

    participants: int
    answers: int
    no_difference: int
    preferences: tuple[Preference, ...]
    strengths: StrengthTable

    def record(self) -> dict[str, Any]:
        """As plain data."""
        counted = {name: getattr(self, name) for name in ("participants", "answers", "no_difference")}
        return {
            **counted,
            "preferences": [one.record() for one in self.preferences],
            "strengths": [one.record() for one in self.strengths.systems],
        }


@dataclass(frozen=True, slots=True)
class ScaleFindings:
    """Answers on scales: values of every question and system, differences of every two systems."""

    participants: int
    values: tuple[ScaleValue, ...]
    differences: tuple[ScaleDifference, ...]
    covariance: np.ndarray  # of the means of the first question over participants

    def record(self) -> dict[str, Any]:
        """As plain data."""
        values, differences = ([one.record() for one in own] for own in (self.values, self.differences))
        return {"participants": self.participants, "values": values, "differences": differences}


@dataclass(frozen=True, slots=True)
class Findings:
    """All forms of a study, over the same participants."""

    rankings: RankingFindings | None = None
    pairs: PairFindings | None = None
    scales: ScaleFindings | None = None

    def record(self) -> dict[str, Any]:
        """As plain data."""
        forms = {"rankings": self.rankings, "pairs": self.pairs, "scales": self.scales}
        return {name: form.record() for name, form in forms.items() if form is not None}


def findings(tables: dict[str, pl.DataFrame], options: StudyOptions) -> Findings:
    """What the answers in these tables say."""
    return Findings(
        _of_rankings(tables["rankings"], options) if "rankings" in tables else None,
        _of_pairs(tables["pairs"], options) if "pairs" in tables else None,
        _of_scales(tables["scales"], options) if "scales" in tables else None,
    )


def _of_rankings(table: pl.DataFrame, options: StudyOptions) -> RankingFindings:
    rankings = rankings_of(table, unranked=options.unranked)
    rankings = rankings.only(np.asarray(rankings.known.any(axis=1)))
    raw = rankings_of(table).known if options.unranked == "last" else rankings.known
    some = raw.any(axis=1)
    choices = choices_in_rankings(rankings)
    every = sorted(ranked_systems(rankings, level=options.level), key=lambda s: (np.isnan(s.mean_rank), s.mean_rank))
    first = first_place_test(rankings, options.first, level=options.level) if options.first else None
    return RankingFindings(
        len(rankings.participants), int((~raw[some].all(axis=1)).sum()), int(rankings.equal().any(axis=(1, 2)).sum()),
        rankings.combined, tuple(every), rank_test(rankings.ranks, seed=options.seed),
        tuple(preferences(choices, level=options.level)), _strengths(choices, options), first,
    )  # fmt: skip


def _of_pairs(table: pl.DataFrame, options: StudyOptions) -> PairFindings:
    choices = choices_between_two(table)
    ties = int(choices.ties.sum()) // 2
    return PairFindings(
        len(choices.participants), int(choices.wins.sum()) + ties, ties,
        tuple(preferences(choices, level=options.level)), _strengths(choices, options),
    )  # fmt: skip


def _strengths(choices: Choices, options: StudyOptions) -> StrengthTable:
    """Strengths, the strongest first; the covariance stays in the order of names."""
    made = strengths(choices, level=options.level, resamples=options.resamples, seed=options.seed)
    return made._replace(systems=tuple(sorted(made.systems, key=lambda one: -one.strength)))


def _of_scales(table: pl.DataFrame, options: StudyOptions) -> ScaleFindings:
    answered = answers_on_scales(table)
    values = scale_values(answered, level=options.level, resamples=options.resamples, seed=options.seed)
    differences = scale_differences(answered, level=options.level, seed=options.seed)
    cells = next(iter(answered.values.values()))
    whole = cells[~np.isnan(cells).any(axis=1)]
    covariance = np.cov(whole.T) / len(whole) if len(whole) > 1 else np.zeros((len(answered.systems),) * 2)
    return ScaleFindings(len(answered.participants), tuple(values), tuple(differences), covariance)
