"""Facts behind an evaluation: kept as long as they are small, and otherwise the reason why they are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts

# Bytes of facts that one call keeps unless keep_facts says otherwise.
LIMIT = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there are no facts, and what to do for them."""

    found: str
    do: str


NOT_KEPT = Missing("this evaluation keeps none", "facts are kept by tv.evaluate, and by tv.run(…, out=folder)")
OF_A_RUN = Missing(
    "recommendations already made are always measured in chunks",
    'evaluate them on the parts of a split: tv.evaluate(parts, {"name": tv.Run(recs)})',
)
FROM_FILES = Missing("the result was read from files, which contain only values", "evaluate again")


class KeptFacts(Mapping[str, RankingFacts]):
    """Facts by system. What was not kept is refused with the reason; what is in files is read when asked for.

    >>> from trueval.metrics.measure import toy_facts
    >>> kept = KeptFacts({"mine": toy_facts(["a"], {"a"})})
    >>> list(kept), len(kept["mine"])
    (['mine'], 1)
    """

    def __init__(
        self,
        known: Mapping[str, RankingFacts | Callable[[], RankingFacts] | Missing] | None = None,
        *,
        otherwise: Missing | None = None,
    ) -> None:
        self._known, self._otherwise = dict(known or {}), otherwise

    def __getitem__(self, name: str) -> RankingFacts:
        found = self._known.get(name, self._otherwise)
        if found is None:
            raise DefinitionError(f"there is no system {name!r} in this evaluation", do=suggest(name, self._known))
        if isinstance(found, Missing):
            raise DefinitionError(f"the facts of {name!r} were not kept", found=found.found, do=found.do)
        return found if isinstance(found, RankingFacts) else found()

    def __iter__(self) -> Iterator[str]:
        return (name for name, found in self._known.items() if not isinstance(found, Missing))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<KeptFacts: {', '.join(self) or 'none'}>"


@dataclass
class Keeper:
    """Keeps facts while there is room: for all of them (True), for none (False), or for so many bytes (None)."""

    keep: bool | None = None
    used: int = field(default=0, init=False)

    def take(self, facts: RankingFacts) -> RankingFacts | Missing:
        """The facts, without what metrics worked out from them; or why they are not kept."""
        if self.keep is False:
            return Missing("keep_facts=False", "leave it out, or keep_facts=True")
        size = size_of(facts)
        if self.used + size > (math.inf if self.keep else LIMIT):
            sizes = f"they take {size / 2**20:,.0f} MB, and those of systems before them {self.used / 2**20:,.0f} MB"
            return Missing(f"{sizes} of {LIMIT / 2**20:,.0f} MB", "use keep_facts=True to keep them anyway")
        self.used += size
        return facts.changed()


def size_of(facts: RankingFacts) -> int:
    """Bytes that facts take, the names of users and items aside: these are shared.

    >>> from trueval.metrics.measure import toy_facts
    >>> size_of(toy_facts(["a", "b"], {"a"})) > 0
    True
    """
    columns = (getattr(facts, column.name) for column in fields(facts))
    return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))
