"""What each form of a study found: rankings, choices between two, scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.errors import DataError
from trueval.online.user_study.blanks import NOT_LOOKED_AT, meaning_of_blanks
from trueval.online.user_study.missing_answers import MissingAnswers, missing_answers
from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.preferences import (
    NO_STRENGTHS,
    Choices,
    Preference,
    StrengthTable,
    answered_pairs,
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
    """Rankings: every system as in the table of Steck (2011), Friedman's test, preferences, strengths.

    Where nothing can be said of the order of systems (`order` is not "known"), none of these is given.
    """

    participants: int
    blanks: str | None  # what they mean; None where there is none
    missing: MissingAnswers | None  # lists without a place
    order: str
    with_ties: int
    combined: int  # whose several rankings became one
    systems: tuple[RankedSystem, ...]  # best mean rank first
    friedman: RankTest | None
    preferences: tuple[Preference, ...]
    strengths: StrengthTable
    first: FirstPlaceTest | None

    def record(self) -> dict[str, Any]:
        """As plain data."""
        counted = {name: getattr(self, name) for name in ("participants", "blanks", "order", "with_ties", "combined")}
        return {
            **counted,
            "missing": None if self.missing is None else self.missing.record(),
            "systems": [one.record() for one in self.systems],
            "friedman": None if self.friedman is None else self.friedman._asdict(),
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
    missing: MissingAnswers | None  # pairs that were shown and not answered
    order: str
    preferences: tuple[Preference, ...]
    strengths: StrengthTable

    def record(self) -> dict[str, Any]:
        """As plain data."""
        counted = {name: getattr(self, name) for name in ("participants", "answers", "no_difference", "order")}
        return {
            **counted,
            "missing": None if self.missing is None else self.missing.record(),
            "preferences": [one.record() for one in self.preferences],
            "strengths": [one.record() for one in self.strengths.systems],
        }


@dataclass(frozen=True, slots=True)
class ScaleFindings:
    """Answers on scales: values of every question and system, differences of every two systems.

    Questions of which `missing` answers depend on the list (`order` says so) have neither values nor differences.
    """

    participants: int
    missing: dict[str, MissingAnswers]  # by question
    order: dict[str, str]
    values: tuple[ScaleValue, ...]
    differences: tuple[ScaleDifference, ...]
    covariance: np.ndarray  # of the means of the first question over participants

    def record(self) -> dict[str, Any]:
        """As plain data."""
        values, differences = ([one.record() for one in own] for own in (self.values, self.differences))
        missing = {question: one.record() for question, one in self.missing.items()}
        return {
            "participants": self.participants, "order": self.order, "missing": missing, "values": values,
            "differences": differences,
        }  # fmt: skip


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
        _of_pairs(tables, options) if "pairs" in tables else None,
        _of_scales(tables, options) if "scales" in tables else None,
    )


KNOWN, DEPENDS, TOO_FEW = "known", "blanks depend on the list", "too few to know whether blanks depend on the list"


def _order(missing: MissingAnswers | None, alpha: float, *, sure: bool) -> str:
    """Whether the order of systems can be known; where it must be `sure`, a dependence must not be able to hide."""
    if missing is None:
        return KNOWN
    return DEPENDS if missing.depends(alpha) else TOO_FEW if sure and missing.too_few else KNOWN


def _of_rankings(table: pl.DataFrame, options: StudyOptions) -> RankingFindings:
    meaning = meaning_of_blanks(table, options.blanks)
    rankings = rankings_of(table, blanks=meaning or NOT_LOOKED_AT)
    rankings = rankings.only(np.asarray(rankings.known.any(axis=1)))
    if not rankings.participants:
        raise DataError("nobody ranked a system", where="rankings, column rank", found="no rank at all")
    missing = missing_answers(
        rankings.placed.astype(np.float64), rankings.systems, level=options.level, seed=options.seed
    )
    order = _order(missing, 1 - options.level, sure=True) if meaning == NOT_LOOKED_AT else KNOWN
    counted = len(rankings.participants), meaning if missing else None, missing, order
    ties = int(rankings.equal().any(axis=(1, 2)).sum()), rankings.combined
    if order != KNOWN:
        return RankingFindings(*counted, *ties, (), None, (), NO_STRENGTHS, None)
    choices = choices_in_rankings(rankings)
    every = sorted(ranked_systems(rankings, level=options.level), key=lambda s: (np.isnan(s.mean_rank), s.mean_rank))
    first = first_place_test(rankings, options.first, level=options.level) if options.first else None
    return RankingFindings(
        *counted, *ties, tuple(every), rank_test(rankings.ranks, seed=options.seed),
        tuple(preferences(choices, level=options.level)), _strengths(choices, options), first,
    )  # fmt: skip


def _of_pairs(tables: dict[str, pl.DataFrame], options: StudyOptions) -> PairFindings:
    choices = choices_between_two(tables["pairs"])
    ties = int(choices.ties.sum()) // 2
    missing = missing_answers(
        *answered_pairs(tables["pairs"], tables.get("shown")), level=options.level, seed=options.seed
    )
    order = _order(missing, 1 - options.level, sure=False)
    counted = len(choices.participants), int(choices.wins.sum()) + ties, ties, missing, order
    if order != KNOWN:
        return PairFindings(*counted, (), NO_STRENGTHS)
    return PairFindings(*counted, tuple(preferences(choices, level=options.level)), _strengths(choices, options))


def _strengths(choices: Choices, options: StudyOptions) -> StrengthTable:
    """Strengths, the strongest first; the covariance stays in the order of names."""
    made = strengths(choices, level=options.level, resamples=options.resamples, seed=options.seed)
    return made._replace(systems=tuple(sorted(made.systems, key=lambda one: -one.strength)))


def _of_scales(tables: dict[str, pl.DataFrame], options: StudyOptions) -> ScaleFindings:
    answered, alpha = answers_on_scales(tables["scales"]), 1 - options.level
    found = {
        question: missing_answers(
            (~np.isnan(cells)).astype(np.float64), answered.systems, level=options.level, seed=options.seed
        )
        for question, cells in answered.values.items()
    }
    order = {question: _order(one, alpha, sure=False) for question, one in found.items()}
    told = answered.about([question for question, one in order.items() if one == KNOWN])
    values = scale_values(told, level=options.level, resamples=options.resamples, seed=options.seed)
    differences = scale_differences(told, level=options.level, seed=options.seed)
    cells = next(iter(answered.values.values()))
    whole = cells[~np.isnan(cells).any(axis=1)]
    covariance = np.cov(whole.T) / len(whole) if len(whole) > 1 else np.zeros((len(answered.systems),) * 2)
    return ScaleFindings(
        len(answered.participants), {question: one for question, one in found.items() if one is not None}, order,
        tuple(values), tuple(differences), covariance,
    )  # fmt: skip
