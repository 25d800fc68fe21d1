"""What sentences say, as data: the quantity, what it is about, and its sign. So a test finds two that contradict."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Sign = Literal["+", "-", "0", "?", "="]
_OPPOSITE: dict[Sign, Sign] = {"+": "-", "-": "+"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A quantity, what it is about, and what is said of it.

    The sign is "+" or "-" where a quantity is above or below zero, with "+" for better; "0" where no significant
    difference from zero was found, "?" where it cannot be told, and "=" where the number alone is said. A statement
    about nothing in particular is about everything that has the quantity.

    >>> Statement("difference", ("ndcg@10",), "-", -0.02, pair=("popularity", "als")).turned().sign  # als is better
    '+'
    """

    quantity: str
    about: tuple[str, ...]
    sign: Sign
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    pair: tuple[str, str] | None = None  # first minus second; the other way around, the sign is the other one
    family: int = 0  # which tests the significance was corrected over (see `family_of`); 0 where that is not said

    def turned(self) -> Statement:
        """The same, so that the names of a pair are in the order of the alphabet."""
        if self.pair is None or self.pair[0] <= self.pair[1]:
            return self
        sign = _OPPOSITE.get(self.sign, self.sign)
        return replace(self, sign=sign, value=-self.value, low=-self.high, high=-self.low, pair=self.pair[::-1])


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report, with what it says as data."""

    text: str
    statements: tuple[Statement, ...] = ()

    def __str__(self) -> str:
        return self.text


def family_of(tests: Iterable[tuple[str, str, str]]) -> int:
    """A number for the tests that were corrected together, each a metric and two systems in any order.

    >>> family_of([("rr", "a", "b")]) == family_of([("rr", "b", "a")]) != family_of([("rr", "a", "c")])
    True
    """
    return zlib.crc32(repr(sorted((metric, *sorted(pair)) for metric, *pair in tests)).encode()) or 1


def contradictions(statements: Iterable[Statement]) -> list[tuple[Statement, Statement]]:
    """Every two statements of one quantity that cannot both hold, and each that contradicts itself.

    >>> chance = Statement("value by chance", ("ndcg@10",), "=", 0.02)
    >>> len(contradictions([chance, Statement("value by chance", ("ndcg@10",), "?")]))
    1
    """
    given = list(statements)
    about = {one.quantity: dict.fromkeys(other.about for other in given if other.about) for one in given}
    turned = [
        replace(one.turned(), about=each)
        for one in given
        for each in ([one.about] if one.about else about[one.quantity])
    ]
    found = [(one, one) for one in turned if _beyond_its_interval(one)]
    by_quantity: dict[tuple[object, ...], list[Statement]] = {}
    for one in turned:
        by_quantity.setdefault((one.quantity, one.about, one.pair), []).append(one)
    for several in by_quantity.values():
        found += [(one, other) for one, other in itertools.combinations(several, 2) if _contradict(one, other)]
    return found


def repetitions(texts: Sequence[str]) -> list[str]:
    """Sentences that stand on a page more than once.

    >>> repetitions(["a", "b", "a"])
    ['a']
    """
    return [text for place, text in enumerate(texts) if text in texts[:place]]


def _contradict(one: Statement, other: Statement) -> bool:
    known = not math.isnan(one.value) and not math.isnan(other.value)
    if known and not math.isclose(one.value, other.value, rel_tol=1e-9, abs_tol=1e-12):
        return True
    signs = {one.sign, other.sign}
    if signs == {"+", "-"} or signs == {"=", "?"}:
        return True
    # significant after one correction, and not after one over other tests: both may be so
    return one.family == other.family and len(signs) == 2 and bool(signs & {"+", "-"}) and "=" not in signs


def _beyond_its_interval(one: Statement) -> bool:
    """Whether a difference is said to be above or below zero, while its interval holds zero or is on the other side."""
    if math.isnan(one.low) or one.sign not in ("+", "-"):
        return False
    return one.low <= 0 if one.sign == "+" else one.high >= 0
