"""Places of given lists that cannot count: items outside the catalogue, and items that a list has shown before.

Generated lists have such places. "refuse" raises an error. "miss" leaves them where they are: they are nobody's
relevant item, and what is below keeps its rank. "drop" takes them out, so that what is below moves up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from trueval.errors import DefinitionError, suggest
from trueval.render.numbers import percent

REFUSE, MISS, DROP = RULES = ("refuse", "miss", "drop")
MISSED = -1  # the code of an item that a place has in facts, where it cannot count


class InvalidPlaces(NamedTuple):
    """How many places of some lists hold items outside the catalogue, how many repeat an item, and how many there are.

    A place of both kinds counts as outside.
    """

    outside: int = 0
    repeated: int = 0
    places: int = 0

    @property
    def share(self) -> float:
        """The share of places that cannot count."""
        return (self.outside + self.repeated) / max(self.places, 1)

    @staticmethod
    def of_parts(parts: Iterable[InvalidPlaces | None]) -> InvalidPlaces | None:
        """The numbers of the whole; None where the parts have none, since such places are refused.

        >>> InvalidPlaces.of_parts([InvalidPlaces(1, 0, 4), InvalidPlaces(0, 2, 5)])
        InvalidPlaces(outside=1, repeated=2, places=9)
        """
        known = [part for part in parts if part is not None]
        return InvalidPlaces(*(sum(column) for column in zip(*known))) if known else None

    def record(self) -> dict[str, float]:
        """As plain data.

        >>> InvalidPlaces(1, 0, 4).record()
        {'outside': 1, 'repeated': 0, 'places': 4, 'share': 0.25}
        """
        return {**self._asdict(), "share": self.share}

    @staticmethod
    def of_record(record: Mapping[str, float] | None) -> InvalidPlaces | None:
        """The numbers that a record has, where there is one."""
        return None if record is None else InvalidPlaces(*(int(record[name]) for name in InvalidPlaces._fields))

    def notes(self, rule: str) -> list[str]:
        """What the reader must know of them, where there are any.

        >>> InvalidPlaces(2, 1, 30).notes("miss")
        ['3 of 30 places (10.0 %) count as misses where they are (invalid=miss): 2 outside the catalogue, 1 repeated']
        """
        number = self.outside + self.repeated
        if not number:
            return []
        treatment = {
            MISS: "count as misses where they are",
            DROP: "were dropped, so that what was below them moved up and values are not those of the lists as shown",
        }[rule]
        kinds = {"outside the catalogue": self.outside, "repeated": self.repeated}
        found = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n)
        return [f"{number:,} of {self.places:,} places ({percent(self.share)}) {treatment} (invalid={rule}): {found}"]


def check_invalid(rule: str) -> None:
    """Refuse a rule that does not exist.

    >>> check_invalid("mis")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: unknown rule for places that cannot count: 'mis'
      do:    did you mean miss?
    """
    if rule not in RULES:
        raise DefinitionError(f"unknown rule for places that cannot count: {rule!r}", do=suggest(str(rule), RULES))
