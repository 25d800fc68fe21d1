"""Parameters of systems: declared once, where they are used, with what they may be and mean."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from trueval.arguments import LARGEST
from trueval.errors import DefinitionError, suggest

_KIND_NAMES = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word", "None": "none"}
_KEY = "trueval"
# Models of more factors, or fitted in more steps, are mistakes: they would take days, and more memory than there is.
MOST_FACTORS = 10_000
MOST_STEPS = 100_000


def parameter(
    default: Any,
    meaning: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: bool = False,
    choices: tuple[Any, ...] = (),
    otherwise: str = "",
) -> Any:
    """A field of a system's dataclass that people may set. Its type is read from its annotation.

    `low` and `high` are allowed themselves, unless `above` says that `low` is not. `otherwise` is the attribute of the
    train set that None stands for.

    >>> @dataclass
    ... class Mine:
    ...     n_factors: int = parameter(50, "number of factors", low=1)
    >>> Mine().n_factors
    50
    >>> [str(p) for p in parameters_of(Mine).values()]
    ['factors = 50 (a whole number, at least 1): number of factors']
    """
    constraints = {"meaning": meaning, "low": low, "high": high, "above": above, "choices": choices}
    constraints["otherwise"] = otherwise
    return dataclasses.field(default=default, metadata={_KEY: constraints})


@dataclass(frozen=True, slots=True)
class SystemParameter:
    """A declared parameter. `kinds` are its types ("int", "None"…); with none of these it may be anything.

    The parameter `factors` is a field called `n_factors`: systems have a method of the shorter name.
    """

    name: str
    field: str
    kinds: tuple[str, ...]
    default: Any
    meaning: str
    low: float
    high: float
    above: bool
    choices: tuple[Any, ...]
    otherwise: str = ""  # attribute of the train set that None stands for

    def __str__(self) -> str:
        allowed = f" ({self.allowed})" if self.allowed else ""
        return f"{self.name} = {show(self.default)}{allowed}: {self.meaning}"

    @property
    def allowed(self) -> str:
        """What it may be, as text."""
        if self.choices:
            return "one of " + ", ".join(map(show, self.choices))
        clauses = [_KIND_NAMES[kind] for kind in self.kinds if kind != "None"]
        low = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
        clauses += [low] * (self.low > -math.inf) + [f"at most {self.high:g}"] * (self.high < math.inf)
        return ", ".join(clauses) + (", or none" if clauses and "None" in self.kinds else "")

    def check(self, value: Any, *, system: str) -> Any:
        """The value in its own type, or a message about what it may be."""
        if not self.kinds or (value is None and "None" in self.kinds):
            return value
        if self.choices:
            if value not in self.choices:
                available = [show(choice) for choice in self.choices]
                raise DefinitionError(
                    f"{self.name} of {system} cannot be {show(value)!r}",
                    found=f"{show(value)!r}; {suggest(show(value), available)}",
                )
            return value
        typed = next((t for kind in self.kinds if (t := _typed(value, kind)) is not None), None)
        if typed is None:
            raise self._refusal(f"must be {self.allowed}", value, system)
        if isinstance(typed, (int, float)) and not isinstance(typed, bool):
            if typed < self.low or (self.above and typed == self.low):
                least = "not be negative" if self.low == 0 else f"be at least {self.low:g}"
                raise self._refusal(f"must be above {self.low:g}" if self.above else f"must {least}", value, system)
            if typed > self.high:
                raise self._refusal(f"must be at most {self.high:g}", value, system)
            if isinstance(typed, int) and abs(typed) > LARGEST:
                raise self._refusal(f"must be at most {LARGEST:,}", value, system)
        return typed

    def read(self, text: str, *, system: str) -> Any:
        """A value from its text, checked."""
        if not self.kinds:
            raise DefinitionError(
                f"{self.name} of {system} cannot be written as text",
                found=text,
                do=f'make the system in Python: make_system("{system}", {self.name}=…)',
            )
        if text.lower() == "none":
            return self.check(None, system=system)
        if "bool" in self.kinds and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return self.check(_number(text) if {"int", "float"} & set(self.kinds) else text, system=system)

    def _refusal(self, what: str, value: Any, system: str) -> DefinitionError:
        return DefinitionError(
            f"{self.name} of {system} {what}",
            found=f"{self.name}={show(value)}",
            do=f"give {self.allowed} ({self.meaning}), for example {self.name}={show(self.default)}",
        )


def _number(text: str) -> Any:
    """The number that a text is; the text itself where it is none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _typed(value: Any, kind: str) -> Any:
    """The value as this kind; None where it is not one. NaN and infinity are numbers of no use."""
    if kind == "bool":
        return value if isinstance(value, bool) else None
    if kind == "str":
        return value if isinstance(value, str) else None
    if kind == "None" or isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    if not math.isfinite(number):
        return None
    if kind == "int":
        return int(value) if number.is_integer() else None  # type: ignore[call-overload]
    return number


def parameters_of(system: type) -> dict[str, SystemParameter]:
    """The declared parameters of a system's dataclass, in their order."""
    found = {}
    for field in dataclasses.fields(system):
        if _KEY not in field.metadata:
            continue
        kinds = tuple(kind.strip() for kind in str(field.type).split("|"))
        known = kinds if set(kinds) <= set(_KIND_NAMES) else ()
        name = "factors" if field.name == "n_factors" else field.name
        found[name] = SystemParameter(name, field.name, known, field.default, **field.metadata[_KEY])
    return found


def show(value: Any) -> str:
    """A value as it is written in the name of a system.

    >>> show(True), show(0.5), show(None)
    ('true', '0.5', 'none')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)
