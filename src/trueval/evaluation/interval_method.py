"""How intervals are made, whatever is estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueval.arguments import check_range
from trueval.errors import DefinitionError, suggest

RESAMPLES = 1000
INTERVALS = ("bootstrap", "bca", "t", "none")


class IntervalMethod(NamedTuple):
    """How intervals are computed: method, seed, number of resamples and confidence level."""

    interval: str
    seed: int
    resamples: int
    level: float = 0.95

    @property
    def resamples_users(self) -> bool:
        """Whether users are drawn."""
        return self.interval in ("bootstrap", "bca")

    def checked(self, known: Sequence[str] = INTERVALS) -> IntervalMethod:
        """This method, after a check of its values."""
        if self.interval not in known:
            raise DefinitionError(f"unknown interval {self.interval!r}", do=suggest(str(self.interval), known))
        if isinstance(self.level, bool) or not isinstance(self.level, (int, float)) or not 0 < self.level < 1:
            raise DefinitionError(
                "the level of intervals must be between 0 and 1", found=repr(self.level), do="for example 0.95"
            )
        if isinstance(self.resamples, bool) or not isinstance(self.resamples, (int, np.integer)):
            raise DefinitionError("the number of resamples must be a whole number", found=repr(self.resamples))
        for name in ("seed", "resamples", "level"):
            check_range(name, getattr(self, name))
        least = int(np.ceil(1 / (1 - self.level) - 1e-9))
        if self.interval != "none" and self.resamples < least:
            raise DefinitionError(
                f"{self.resamples:,} resamples are too few for intervals of level {self.level:g}",
                do=f"use {least:,} at the very least; 1,000 is usual",
            )
        return self

    def description(self) -> str:
        """The method as text: level, name, resamples.

        >>> IntervalMethod("bca", 0, 1000).description()
        '95 % BCa bootstrap over users, 1,000 resamples'
        """
        many = f", {self.resamples:,} resamples" if self.resamples_users else ""
        return "none" if self.interval == "none" else f"{100 * self.level:g} % {_NAMES[self.interval]}{many}"


_NAMES = {"bootstrap": "bootstrap over users", "bca": "BCa bootstrap over users", "t": "Student t over users"}


def describe_interval(manifest: Mapping[str, Any]) -> str:
    """How the intervals of a result were computed, as text, from its manifest.

    >>> describe_interval({"interval": "t", "level": 0.9})
    '90 % Student t over users'
    """
    level, resamples = manifest.get("level", 0.95), manifest.get("resamples", RESAMPLES)
    method, repeats = manifest["interval"], manifest.get("repeats")
    if repeats is None or method == "none":
        return IntervalMethod(method, 0, resamples, level).description()
    names = repeats["names"]
    over = f"{repeats['of']} ({len({name.split(', ')[0] for name in names})})"
    over += ", each the mean of its seeds" if ", " in names[0] else ""
    if method == "nested":
        return f"{100 * level:g} % Student t over users and {over}"
    if method == "t":
        return f"{100 * level:g} % Student t over {over}, users fixed"
    return f"{IntervalMethod(method, 0, resamples, level).description()}, {over} fixed"
