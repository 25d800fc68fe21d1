"""An experiment as it is written: sections and keys, with the place of each for messages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trueval.data.failures import first_line
from trueval.data.places import check_not_special, entries, path_exists, usable_path
from trueval.errors import DataError, DefinitionError, TruevalError, suggest

_DEEPEST = 20  # sections in sections
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_-]+))\s*[=.]""")


@dataclass(frozen=True)
class Written:
    """Sections of an experiment file, or of a mapping of the same form; `base` is what paths are relative to."""

    sections: Mapping[str, Any]
    name: str = ""
    base: Path = field(default_factory=Path)
    text: str = ""
    lines: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def at(self, section: str, key: str = "") -> str:
        """Where a key is, for messages.

        >>> Written({}, "my.toml", lines={("split", "ratio"): 6}).at("split", "ratio")
        'my.toml, line 6: [split] ratio'
        >>> Written({}).at("data")
        '[data]'
        """
        place = f"[{section}] {key}".rstrip() if section else key
        line = self.lines.get((section, key))
        file = f"{self.name}, line {line}" if line else self.name
        return f"{file}: {place}" if file else place

    def section(self, name: str) -> dict[str, Any]:
        """The keys of a section; none where it is missing."""
        found = self.sections.get(name, {})
        if not isinstance(found, Mapping):
            raise DefinitionError(
                f"{name} must be a section", where=self.at(name), found=show(found), do=f"write [{name}]"
            )
        return dict(found)

    def with_seed(self, seed: int) -> Written:
        """The same with one seed."""
        split = {key: value for key, value in self.section("split").items() if key != "seeds"}
        return replace(self, sections={**self.sections, "split": {**split, "seed": seed}})

    def refused(self, problem: TruevalError, section: str, key: str = "") -> TruevalError:
        """The same error with the place of a key as `where`; what the error pointed at becomes part of `found`."""
        pointed = problem.where if "^" in problem.where else ""  # metrics point at a character
        found = "\n".join(filter(None, (pointed, problem.found)))
        return type(problem)(problem.what, where=self.at(section, key), found=found, do=problem.do)


def read_written(source: Any, *, what: str = "experiment file") -> Written:
    """Read a TOML file, or take a mapping of sections as it is; `what` the file is called in messages.

    >>> read_written({"data": {"path": "ml-1m"}}).section("data")
    {'path': 'ml-1m'}
    """
    if isinstance(source, Mapping):
        return Written({str(name): inner for name, inner in source.items()})
    if not isinstance(source, (str, Path)):
        raise DefinitionError(
            "this is not an experiment", found=type(source).__name__, do="give the path of a TOML file, or a mapping"
        )
    path = usable_path(source)
    check_not_special(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem, what) from None
    try:
        sections = tomllib.loads(text.removeprefix("\ufeff"))
        _check_sizes(sections)
    except (ValueError, RecursionError, OverflowError) as problem:  # also dates of no calendar, and endless numbers
        found, _, place = first_line(problem).partition(" (at ")
        where = f"{path.name}, {place.rstrip(')')}" if place else path.name
        line = _quoted_line(text, place)
        raise DataError(f"the {what} is not valid TOML", where=where, found=f"{found}{line}") from None
    return Written(sections, path.name, path.resolve().parent, text, find_lines(text))


def _check_sizes(sections: Mapping[str, Any]) -> None:
    """Refuse what a parser takes and nobody means: integers of thousands of digits, keys with thousands of dots.

    >>> _check_sizes({"a": {"b": 2**64}})
    Traceback (most recent call last):
    ValueError: an integer beyond 64 bits
    """
    level: list[Any] = [sections]
    for _ in range(_DEEPEST):
        if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in level):
            raise ValueError("an integer beyond 64 bits")
        inner = (value.values() if isinstance(value, Mapping) else value for value in level)
        level = [
            one for values in inner if isinstance(values, Iterable) and not isinstance(values, str) for one in values
        ]
    if level:
        raise ValueError("values nested too deeply")


def _unreadable(path: Path, problem: Exception, what: str) -> DataError:
    near = [entry.name for entry in entries(path.parent) if entry.suffix == ".toml"]
    found = "not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else getattr(problem, "strerror", "")
    do = suggest(path.name, near) if near and not path_exists(path) else "give the path of a TOML file"
    return DataError(f"the {what} cannot be read", where=str(path), found=found or str(problem), do=do)


def _quoted_line(text: str, place: str) -> str:
    number = re.match(r"line (\d+)", place)
    lines = text.splitlines()
    return f"\n{lines[int(number[1]) - 1]}" if number and int(number[1]) <= len(lines) else ""


def find_lines(text: str) -> dict[tuple[str, str], int]:
    """The line of every section and of its keys.

    >>> find_lines("[systems]\\nplsa = {}\\n[systems.knn]\\nk = 5\\n")
    {('systems', ''): 1, ('systems', 'plsa'): 2, ('systems', 'knn'): 3}
    """
    found: dict[tuple[str, str], int] = {}
    section = key = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            section, _, key = (part.strip(" \t\"'") for part in header[1].partition("."))
            found.setdefault((section, key), number)
        elif not key and (match := _KEY.match(line)):
            found.setdefault((section, next(filter(None, match.groups()))), number)
    return found


def show(value: Any) -> str:
    """A value as TOML writes it, near enough for a message.

    >>> show({"factors": 50, "fast": True}), show(["a"])
    ('{ factors = 50, fast = true }', '["a"]')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {show(inner)}" for key, inner in value.items()) + " }" if value else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(show, value)) + "]"
    return str(value)
