"""Arguments of public functions: a value of the wrong kind is refused with a clear message."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from trueval.errors import DefinitionError
from trueval.forks import check_process

Function = TypeVar("Function", bound=Callable[..., Any])

LARGEST = 2**63 - 1  # the largest whole number that tables, TOML files and compiled code can hold


class Range(NamedTuple):
    """The smallest and the largest value of a number, both allowed, and what to do about others."""

    low: float
    high: float
    do: str

    def __str__(self) -> str:
        low, high = (f"{end:,}" if isinstance(end, int) else repr(end) for end in (self.low, self.high))
        return f"from {low} to {high}"


# Numbers that mean the same wherever they are asked for: in Python, on the command line and in experiment files.
RANGES = {
    "seed": Range(0, LARGEST, "any whole number in this range will do, for example 42"),
    "threads": Range(1, 1024, "leave it out for one thread per available core; the result does not depend on it"),
    "resamples": Range(
        0, 1_000_000, "1,000 is usual; 1,000,000 already give the ends of an interval to a thousandth of its width"
    ),
    "level": Range(
        0.0, 0.999999, "for example 0.95; further out, the ends of an interval say more of its method than of the data"
    ),
    "worlds": Range(1, 100_000, "200 are usual; a counter-example that 100,000 worlds lack is hardly found by more"),
    "min_group": Range(1, LARGEST, "30 is usual"),
}


def check_range(name: str, value: Any, *, where: str = "") -> None:
    """Refuse a number that none of its uses can take.

    >>> check_range("resamples", 1000)
    >>> check_range("resamples", 10**9)
    Traceback (most recent call last):
    trueval.errors.DefinitionError: resamples must be from 0 to 1,000,000
      found: 1000000000
      do:    1,000 is usual; 1,000,000 already give the ends of an interval to a thousandth of its width
    """
    allowed = RANGES[name]
    if not allowed.low <= value <= allowed.high:  # nor is NaN between any two
        raise DefinitionError(f"{name} must be {allowed}", where=where, found=_short(value), do=allowed.do)


def check_finite(name: str, value: Any, *, where: str = "") -> None:
    """Refuse NaN, infinity, and whole numbers of more than 64 bits.

    >>> check_finite("threshold", float("nan"))
    Traceback (most recent call last):
    trueval.errors.DefinitionError: threshold must be a finite number
      found: nan
    """
    if isinstance(value, numbers.Integral):
        if abs(int(value)) > LARGEST:
            raise DefinitionError(
                f"{name} is too large", where=where, found=_short(value), do=f"give at most {LARGEST:,}"
            )
    elif not math.isfinite(value):
        raise DefinitionError(f"{name} must be a finite number", where=where, found=_short(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)


def _is_collection(value: Any, method: str) -> bool:
    """Whether a value is a collection with this method, and neither a table nor bytes."""
    is_one = isinstance(value, (type, bytes)) or hasattr(value, "columns")
    return hasattr(value, "__len__") and hasattr(value, method) and not is_one


# Kinds as annotations write them: a check, and a description for messages.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "a string"),
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "None": (lambda value: value is None, "None"),
    "Path": (lambda value: isinstance(value, os.PathLike), "a path"),
    "Mapping": (lambda value: isinstance(value, Mapping), "a mapping"),
    "ColumnMap": (lambda value: isinstance(value, Mapping), "a mapping from roles to columns"),
    "Columns": (lambda value: isinstance(value, Mapping), "a mapping from roles to columns"),
    "By": (lambda value: value is None or isinstance(value, str) or _are_texts(value), "a name or a list of names"),
    "Sequence[str]": (lambda value: _are_texts(value), "a list of strings"),
    "Sequence[int]": (lambda value: isinstance(value, (list, tuple)) and all(map(_is_whole, value)), "a list of them"),
    "Sequence": (lambda value: _is_collection(value, "__getitem__") and not isinstance(value, Mapping), "a list"),
    "Collection": (lambda value: _is_collection(value, "__iter__"), "a list or a set"),
}


def checked(function: Function) -> Function:
    """Refuse arguments of none of the plain kinds in their annotation; other kinds are checked by the function itself.

    >>> @checked
    ... def share(threshold: float | None = None) -> float: ...
    >>> share(threshold="4")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: threshold must be a number or None
      where: share
      found: '4'
    """
    signature = inspect.signature(function)
    declared = {name: _kinds(str(p.annotation)) for name, p in signature.parameters.items()}
    plain = {name: kinds for name, kinds in declared.items() if all(kind in _KINDS for kind in kinds)}

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        check_process(function.__name__)
        try:
            arguments = signature.bind(*given, **named).arguments
        except TypeError:
            return function(*given, **named)  # which says what is missing or unknown
        for name, kinds in plain.items():
            if name in arguments and not any(_KINDS[kind][0](arguments[name]) for kind in kinds):
                expected = " or ".join(_KINDS[kind][1] for kind in kinds)
                found = _short(arguments[name])
                raise DefinitionError(f"{name} must be {expected}", where=function.__name__, found=found)
            if name in arguments:
                _check_numbers(name, arguments[name], function.__name__)
        return function(*given, **named)

    return call  # type: ignore[return-value]


def _check_numbers(name: str, value: Any, where: str) -> None:
    """Refuse a number that is not finite, and one, also in a list, that is out of the range that its name has."""
    if _is_number(value):
        check_finite(name, value, where=where)
    if name in RANGES:
        for number in value if isinstance(value, (list, tuple)) else (value,):
            if _is_number(number):
                check_range(name, number, where=where)


def _kinds(annotation: str) -> list[str]:
    """The alternatives of an annotation; what stands in brackets stays only where it is looked at.

    >>> _kinds("Mapping[str, int | None] | Sequence[str] | None")
    ['Mapping', 'Sequence[str]', 'None']
    """
    found, depth = [""], 0
    for part in re.split(r"( \| |\[|\])", annotation):
        depth += {"[": 1, "]": -1}.get(part, 0)
        if part == " | " and not depth:
            found.append("")
        else:
            found[-1] += part
    return [kind if kind in _KINDS else kind.partition("[")[0] for kind in found]


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 192:  # nor does Python write those of thousands of digits
        return f"a number of about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"{type(value).__name__}"
