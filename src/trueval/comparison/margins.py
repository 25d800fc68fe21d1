"""Margins: how much worse than the old system a new one may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from trueval.errors import DefinitionError
from trueval.metrics.grammar import split_list
from trueval.metrics.spec import Spec
from trueval.render.numbers import number

_DO = 'use a share of the old value, as "1%", or a difference, as 0.005'


@dataclass(frozen=True, slots=True)
class Margin:
    """A margin: a difference of the metric, or (relative) a share of the old value.

    >>> str(Margin(0.01, relative=True)), str(Margin(0.005))
    ('1 %', '0.0050')
    """

    size: float
    relative: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.size) and self.size > 0):
            raise DefinitionError("the margin must be above 0", found=f"{self.size:g}", do=_DO)
        if self.relative and not self.size < 1:
            raise DefinitionError("a relative margin must be below 100 %", found=str(self), do=_DO)

    def __str__(self) -> str:
        return f"{100 * self.size:.4g} %" if self.relative else number(self.size)

    def of(self, old: float) -> float:
        """As a difference of the metric, given the old value."""
        return self.size * old if self.relative else self.size

    def exceeds(self, fall: float) -> bool:
        """Whether a margin, given as a difference, leaves no fall that could be too large; "1" is not "1%"."""
        return not self.relative and self.size >= fall


@dataclass(frozen=True, slots=True)
class Margins:
    """The margin of every metric: one for all, or by name, or both."""

    for_all: Margin | None = None
    named: Mapping[str, Margin] = field(default_factory=dict)


def parse_margins(given: object) -> Margins:
    """Margins as users write them: a number, a text, or a mapping from metrics to these.

    >>> str(parse_margins("1%").for_all)
    '1 %'
    >>> {name: str(margin) for name, margin in parse_margins("ndcg@10=1%, coverage@10=0.02").named.items()}
    {'ndcg@10': '1 %', 'coverage@10': '0.0200'}
    """
    if isinstance(given, Mapping):
        return Margins(named={str(name): _one(margin) for name, margin in given.items()})
    if not isinstance(given, str):
        return Margins(_one(given))
    for_all: Margin | None = None
    named: dict[str, Margin] = {}
    parts = split_list(given)
    if not parts:
        raise DefinitionError("no margin was given", do=_DO)
    for part in parts:
        name, equals, size = part.rpartition("=")
        name = name.strip()
        if equals and not name:
            raise DefinitionError("a margin without the name of its metric", found=part, do="for example ndcg@10=1%")
        if (name in named) if name else (for_all is not None):
            raise DefinitionError(f"two margins for {name or 'all metrics'}", found=given, do="give one of them")
        if name:
            named[name] = _one(size)
        else:
            for_all = _one(size)
    return Margins(for_all, named)


def margin_of(label: str, by_label: Mapping[str, Margin], for_all: Margin | None) -> Margin:
    """The margin of one metric."""
    found = by_label.get(label, for_all)
    if found is None:
        raise DefinitionError(
            f"{label} has no margin", found=", ".join(by_label), do=f"add {label}=1%, or one margin for all metrics"
        )
    return found


def better_side(label: str, spec: Spec) -> int:
    """1 where higher is better, -1 where lower is; metrics without a better side are refused."""
    if spec.better == "neither":
        raise DefinitionError(
            f"{label} has no better side, so that nothing can be worse on it",
            do="choose metrics of which more, or less, is better",
        )
    return 1 if spec.better == "higher" else -1


def largest_fall(old: float, spec: Spec) -> float:
    """By how much a value can become worse at most, within the range of the metric.

    >>> from trueval.metrics.grammar import parse
    >>> largest_fall(0.75, parse("ndcg@10")), largest_fall(0.75, parse("rmse"))
    (0.75, inf)
    """
    low, high = spec.range
    return old - low if spec.better == "higher" else high - old


def _one(given: object) -> Margin:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return Margin(float(given))
    text = str(given).strip() if isinstance(given, str) else ""
    relative = text.endswith("%")
    try:
        size = float(text.removesuffix("%"))
    except ValueError:
        raise DefinitionError("this is no margin", found=repr(given), do=_DO) from None
    return Margin(size / 100, relative=True) if relative else Margin(size)
