"""Arguments of public functions: a value of the wrong kind is refused with a clear message."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trueval.errors import DefinitionError

Function = TypeVar("Function", bound=Callable[..., Any])


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
        try:
            arguments = signature.bind(*given, **named).arguments
        except TypeError:
            return function(*given, **named)  # which says what is missing or unknown
        for name, kinds in plain.items():
            if name in arguments and not any(_KINDS[kind][0](arguments[name]) for kind in kinds):
                expected = " or ".join(_KINDS[kind][1] for kind in kinds)
                found = _short(arguments[name])
                raise DefinitionError(f"{name} must be {expected}", where=function.__name__, found=found)
        return function(*given, **named)

    return call  # type: ignore[return-value]


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
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"{type(value).__name__}"
