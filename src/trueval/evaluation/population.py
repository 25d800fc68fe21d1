"""Which units an evaluation averages over: one rule for all its metrics."""

from __future__ import annotations

import numpy as np

from trueval.errors import DataError, DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts

POPULATIONS = ("relevant", "judged", "all")


def check_population(population: str) -> None:
    """Refuse a population that does not exist."""
    if population not in POPULATIONS:
        raise DefinitionError(f"unknown population {population!r}", do=suggest(population, POPULATIONS))


def in_population(facts: RankingFacts, population: str) -> np.ndarray:
    """ "relevant": units with a relevant test item; "judged": with any test item; "all": every unit."""
    if population == "all":
        return np.ones(len(facts), bool)
    return facts.R > 0 if population == "relevant" else np.diff(facts.start) > 0


def check_anyone(number: int, population: str, *, dropped: int = 0) -> None:
    """Refuse to average over nobody."""
    if not number and dropped:
        raise DataError(
            "no user of the population has recommendations",
            found=f"{dropped:,} users, all excluded by missing=drop",
            do="check that run and test set use the same ids",
        )
    if not number:
        raise DataError(
            "no user is left to average over",
            found=f"population {population!r}",
            do="lower the threshold, or choose another population",
        )
