"""Keys of a study file: each declared once, with its kind, so that messages can name it and say what it may be."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from trueval.errors import DefinitionError, suggest
from trueval.experiments.experiment_file import Written, show

_KEY = "trueval.study"
Section = TypeVar("Section")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a key may be: a check, the words for it, and an example."""

    check: Callable[[Any], bool]
    description: str
    example: str


def phrase(example: str = "…") -> Kind:
    """Any text that is not blank."""
    return Kind(lambda v: isinstance(v, str) and v.strip() != "", "a string that is not blank", f'"{example}"')


def whole(low: int, high: int) -> Kind:
    """A whole number within limits.

    >>> whole(1, 5).check(5), whole(1, 5).check(6), whole(0, 1).check(True)
    (True, False, False)
    """
    return Kind(
        lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high,
        f"a whole number from {low:,} to {high:,}", str(low),
    )  # fmt: skip


def share() -> Kind:
    """A number from 0 to 1."""
    return Kind(lambda v: _is_number(v) and 0 <= v <= 1, "a number from 0 to 1", "0.5")


def choice(*words: str) -> Kind:
    """One of a few words."""
    return Kind(lambda v: v in words, f"one of {', '.join(words)}", f'"{words[0]}"')


def switch() -> Kind:
    """True or false."""
    return Kind(lambda v: isinstance(v, bool), "true or false", "true")


def texts() -> Kind:
    """A list of texts, each different from the others."""

    def check(value: Any) -> bool:
        return isinstance(value, list) and all(map(phrase().check, value)) and len(set(value)) == len(value)

    return Kind(check, "a list of different strings", '["…", "…"]')


def numbers(least: int, most: int) -> Kind:
    """A list of different numbers, ascending."""

    def check(value: Any) -> bool:
        ascending = isinstance(value, list) and all(map(_is_number, value)) and value == sorted(set(value))
        return ascending and least <= len(value) <= most

    return Kind(check, f"a list of {least} to {most} numbers, each larger than the one before", "[1, 2, 3, 4, 5]")


def tables() -> Kind:
    """A list of tables; what is in them is checked by whoever reads them."""
    return Kind(lambda v: isinstance(v, list) and all(isinstance(one, Mapping) for one in v), "a list of tables", "[]")


def anything() -> Kind:
    """What others check."""
    return Kind(lambda v: True, "", "")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def key(kind: Kind, default: Any = dataclasses.MISSING) -> Any:
    """A key of a section; without a default it must be written."""
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata={_KEY: kind})
    return dataclasses.field(default=default, metadata={_KEY: kind})


def read_section(written: Written, name: str, section: type[Section]) -> Section:
    """A section of the file as its dataclass; unknown, missing and unsuitable keys are refused by name.

    >>> @dataclass
    ... class Lists:
    ...     length: int = key(whole(1, 200), 20)
    >>> read_section(Written({"lists": {"length": 5}}), "lists", Lists)
    Lists(length=5)
    >>> read_section(Written({"lists": {"length": 0}}), "lists", Lists)
    Traceback (most recent call last):
    trueval.errors.DefinitionError: length must be a whole number from 1 to 200
      where: [lists] length
      found: length = 0
      do:    for example length = 1
    """
    return read_table(written.section(name), section, at=lambda one: written.at(name, one), name=f"[{name}]")


def read_table(given: Mapping[str, Any], section: type[Section], *, at: Callable[[str], str], name: str) -> Section:
    """The keys of one table as its dataclass; `at` says where a key is."""
    kinds = {field.name: field for field in dataclasses.fields(section)}  # type: ignore[arg-type]
    for one, value in given.items():
        if one not in kinds:
            raise DefinitionError(f"{name} has no key {one!r}", where=at(one), do=suggest(one, kinds))
        kind: Kind = kinds[one].metadata[_KEY]
        if not kind.check(value):
            found = f"{one} = {show(value)}"
            raise DefinitionError(
                f"{one} must be {kind.description}", where=at(one), found=found[:200],
                do=f"for example {one} = {kind.example}",
            )  # fmt: skip
    for one, field in kinds.items():
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and one not in given:
            example = field.metadata[_KEY].example
            raise DefinitionError(f"{name} {one} is missing", where=at(""), do=f"add {one} = {example}")
    return section(**given)
