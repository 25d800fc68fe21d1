"""Arguments of public functions: a value of the wrong kind is refused in words, before it fails somewhere inside."""

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


def _holds(value: Any, how: str) -> bool:
    """Whether a value is some things one after the other, and neither a table nor bytes."""
    is_one = isinstance(value, (type, bytes)) or hasattr(value, "columns")
    return hasattr(value, "__len__") and hasattr(value, how) and not is_one


# Kinds as annotations write them: how they are known, and in words.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "text"),
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "None": (lambda value: value is None, "None"),
    "Path": (lambda value: isinstance(value, os.PathLike), "a path"),
    "Mapping": (lambda value: isinstance(value, Mapping), "a mapping"),
    "Sequence": (lambda value: _holds(value, "__getitem__") and not isinstance(value, Mapping), "a list"),
    "Collection": (lambda value: _holds(value, "__iter__"), "a list or a set"),
}


def checked(function: Function) -> Function:
    """Refuse arguments that are none of the plain kinds of their annotation; others are for the function to judge.

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
                words = " or ".join(_KINDS[kind][1] for kind in kinds)
                found = _short(arguments[name])
                raise DefinitionError(f"{name} must be {words}", where=function.__name__, found=found)
        return function(*given, **named)

    return call  # type: ignore[return-value]


def _kinds(annotation: str) -> list[str]:
    """The alternatives of an annotation, without what stands in brackets.

    >>> _kinds("Mapping[str, int | None] | None")
    ['Mapping', 'None']
    """
    while "[" in annotation:
        annotation = re.sub(r"\[[^\[\]]*\]", "", annotation)
    return annotation.split(" | ")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"{type(value).__name__}"
