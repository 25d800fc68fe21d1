"""Options of splits: what they may be, and shares taken without rounding surprises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor
from numbers import Integral, Real
from typing import Any

import numpy as np

from trueval.arguments import LARGEST, check_finite
from trueval.data.column_roles import naming
from trueval.errors import DataError, DefinitionError, suggest

MOST_PARTS = 1000  # folds or windows: each is a copy of the log


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a split: what it says (a clause), its type on the command line, and what checks it."""

    help: str
    kind: type
    check: Callable[..., Any] | None = None
    flag: str = ""  # its name on the command line, where it is another one
    many: bool = False  # several may be given
    table: bool = False
    of_log: bool = False  # it can be checked against the log only

    def read(self, name: str, value: Any, *, split: str) -> Any:
        """The value, checked."""
        return value if self.check is None else self.check(name, value, split=split)


def share(help: str, *, zero: bool = False, whole: bool = False) -> Option:
    """A share between 0 and 1; perhaps 0 or 1 itself.

    >>> share("share of the log to test on").read("ratio", 0.2, split="holdout")
    0.2
    """
    return Option(help, float, partial(check_ratio, zero=zero, whole=whole))


def count(help: str, *, least: int = 1, most: int = LARGEST, flag: str = "") -> Option:
    """A whole number, not below the least nor above the most."""
    return Option(help, int, partial(check_count, least=least, most=most), flag=flag)


def choice(help: str, *choices: str) -> Option:
    """One of a few choices.

    >>> choice("what is drawn", "rating", "user").help
    'what is drawn: rating or user'
    """
    alternatives = " or ".join([", ".join(choices[:-1]), choices[-1]])
    return Option(f"{help}: {alternatives}", str, partial(check_choice, choices=choices))


def number(help: str) -> Option:
    """Any finite number."""
    return Option(help, float, check_number)


def moment(help: str, *, many: bool = False) -> Option:
    """A moment on the clock of the log, or several of them."""
    return Option(help, str, many=many, of_log=True)


def table(help: str) -> Option:
    """A table: whatever `trueval.read` takes."""
    return Option(help, str, table=True)


def exact(number: float | Fraction) -> Fraction:
    """The decimal number that was written, not its binary neighbour.

    >>> exact(0.2) * 5 == 1
    True
    """
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def share_of(counts: np.ndarray, ratio: float) -> np.ndarray:
    """A share of each count, to the nearest whole number, halves up.

    >>> share_of(np.array([1, 2, 3, 10]), 0.25).tolist()
    [0, 1, 1, 3]
    """
    part = exact(ratio)
    values, inverse = np.unique(counts, return_inverse=True)
    shares = [int(part * int(value) + Fraction(1, 2)) for value in values]
    return np.array(shares, np.int64)[inverse]


def at_least(count: int, ratio: float | Fraction) -> int:
    """The smallest whole number that is at least a share of a count.

    >>> at_least(10, 0.2), at_least(11, 0.2)
    (2, 3)
    """
    return ceil(exact(ratio) * count)


def rounded_down(share: Fraction) -> str:
    """A share in four decimals that is not above it (more decimals for tiny ones).

    >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(1, 30_000))
    ('0.6666', '0.00003')
    """
    digits = next(digits for digits in range(4, 40) if share * 10**digits >= 1)
    return f"{floor(share * 10**digits) / 10**digits:.{digits}f}".rstrip("0")


def check_ratio(name: str, value: object, *, split: str, zero: bool = False, whole: bool = False) -> float:
    """A share strictly between 0 and 1 (or exactly 0 or 1, where nothing or the whole may be taken)."""
    if zero and value == 0:
        return 0.0
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number:
        check_finite(name, value, where=f"split {split}")
    # A short float is the decimal number that it prints as: 0.2, not the 0.20000000298 that it becomes when widened.
    share = float(str(value)) if isinstance(value, np.floating) else float(value) if number else 0.0  # type: ignore[arg-type]
    if 0 < share < 1 or (whole and share == 1):
        return share
    raise DefinitionError(
        f"{name} must be a share between 0 and 1",
        where=f"split {split}",
        found=f"{name} = {value!r}",
        do=f"for example {name}=0.2",
    )


def check_number(name: str, value: Any, *, split: str) -> Any:
    """A finite number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise DefinitionError(f"{name} must be a number", where=f"split {split}", found=f"{name} = {value!r}")
    check_finite(name, value, where=f"split {split}")
    return value


def check_count(name: str, value: object, *, split: str, least: int = 1, most: int = LARGEST) -> int:
    """A whole number not below `least` nor above `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and least <= int(value) <= most:  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload]
    above = whole and int(value) > most  # type: ignore[call-overload]
    raise DefinitionError(
        f"{name} must be a whole number, {f'{most:,} or less' if above else f'{least} or more'}",
        where=f"split {split}",
        found=f"{name} = {value!r}",
        do=f"for example {name}={max(least, 5)}",
    )


def check_choice(name: str, value: object, *, choices: Sequence[str], split: str) -> str:
    """One of a few choices."""
    if isinstance(value, str) and value in choices:
        return value
    raise DefinitionError(
        f"{name} must be one of {', '.join(choices)}",
        where=f"split {split}",
        found=f"{name} = {value!r}",
        do=suggest(str(value), choices),
    )


def check_together(ratio: float, validation: float | None, *, split: str) -> float:
    """The validation share (0 for none), small enough to leave something to train on."""
    if validation is None:
        return 0.0
    if exact(ratio) + exact(validation) >= 1:
        raise DefinitionError(
            "test and validation leave nothing to train on",
            where=f"split {split}",
            found=f"ratio = {ratio}, validation = {validation}",
            do="both are shares of the whole log: make their sum less than 1",
        )
    return validation


def need_time(has_time: bool, *, split: str, log: str, instead: str, columns: Sequence[str] = ()) -> None:
    """Refuse a split by time of a log without times; one of its `columns` may hold them."""
    if not has_time:
        raise DataError(
            f"the split {split} needs times",
            where=log,
            found="no time column",
            do=f"{naming('time', columns)}, or use {instead}",
        )
