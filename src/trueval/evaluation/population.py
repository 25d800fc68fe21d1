"""Which units an evaluation averages over: one rule for all its metrics."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from trueval.data.ids import Ids, check_same_kind
from trueval.data.users import read_user_ids
from trueval.errors import DataError, DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts

POPULATIONS = ("relevant", "judged", "all")


def check_population(population: str) -> None:
    """Refuse a population that does not exist."""
    if population not in POPULATIONS:
        raise DefinitionError(f"unknown population {population!r}", do=suggest(population, POPULATIONS))


class OnlyUsers(NamedTuple):
    """The users that an evaluation is restricted to, whatever its population."""

    mask: np.ndarray  # by code
    named: int
    digest: str

    @staticmethod
    def of(source: Any, users: Ids) -> OnlyUsers:
        """From a list, a table or a file of users, in the codes of a vocabulary."""
        ids = read_user_ids(source)
        check_same_kind(ids, users.values, role="user", where=("only_users", "the test set"))
        codes = users.codes(ids)
        if not (codes >= 0).any():
            raise DataError(
                "none of these users can be evaluated",
                where="only_users",
                found=f"{len(ids):,} users, e.g. {', '.join(map(str, ids.head(3)))}; the test set has "
                f"{', '.join(map(str, users.values.head(3)))}",
                do="check that the ids are those of the test set",
            )
        mask = np.zeros(len(users), bool)
        mask[codes[codes >= 0]] = True
        text = "\n".join(map(str, ids.to_list()))
        return OnlyUsers(mask, len(ids), hashlib.sha256(text.encode()).hexdigest()[:16])

    def record(self) -> dict[str, Any]:
        """For the manifest: results for different users cannot be compared."""
        return {"users": self.named, "digest": self.digest}


def check_user_table(users: Any, by: Any) -> None:
    """Refuse a table of users that nothing is grouped by: it would change nothing."""
    if users is not None and by is None:
        raise DefinitionError(
            "a table of users without a column to group by",
            where="users",
            do="name its columns in by=… (--by COLUMN); to evaluate only these users, give them as only_users=… "
            "(--only-users FILE)",
        )


def in_population(facts: RankingFacts, population: str, only: OnlyUsers | None = None) -> np.ndarray:
    """ "relevant": units with a relevant test item; "judged": with any test item; "all": every unit.

    Units of other users than the `only` ones are in no population.
    """
    if population == "all":
        inside = np.ones(len(facts), bool)
    else:
        inside = facts.R > 0 if population == "relevant" else np.diff(facts.start) > 0
    return inside if only is None else inside & only.mask[facts.unit_user]


def check_anyone(number: int, population: str, *, dropped: int = 0, only: OnlyUsers | None = None) -> None:
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
            found=f"population {population!r}" + ("" if only is None else f" among {only.named:,} users of only_users"),
            do="lower the threshold, or choose another population" + ("" if only is None else ", or other users"),
        )
