"""Several systems in one picture: told apart by colour, and by shape or dashes as well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from trueval.charts.altair import PALETTE, WIDTH, altair

_STAR = "M0,-1L.25,-.34L.95,-.31L.4,.13L.59,.81L0,.42L-.59,.81L-.4,.13L-.95,-.31L-.25,-.34Z"
_HEXAGON = "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z"
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left", _STAR,
    _HEXAGON,
)  # fmt: skip
DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [4, 1], [12, 4], [1, 3], [6, 2, 2, 2, 2, 2], [3, 5], [14, 2, 2, 2])
_LETTER = 6.6  # pixels, at 12 of them high


class Series(NamedTuple):
    """What tells systems apart: encodings of Vega-Lite that make one legend together."""

    colour: Any
    shape: Any
    dash: Any


def series_of(names: Sequence[str], *, field: str = "system", legend: bool = True, lines: bool = False) -> Series:
    """Encodings for some names, in their order. After ten, colours come again with other shapes and dashes.

    `lines` are told apart by dashes alone, which the legend shows at some length.
    """
    alt = altair()
    turns = [(i, i + i // len(PALETTE)) for i in range(len(names))]
    ranges = (
        [PALETTE[i % len(PALETTE)] for i, _ in turns],
        [SHAPES[i % len(SHAPES)] for _, i in turns],
        [DASHES[i % len(DASHES)] for _, i in turns],
    )
    widest = max((len(name) for name in names), default=1) * _LETTER + 40
    own = None
    if legend and len(names) > 1:
        own = alt.Legend(columns=max(1, math.floor(WIDTH / widest)), symbolSize=600 if lines else 70)
    channels = zip((alt.Color, alt.Shape, alt.StrokeDash), ranges)
    return Series(
        *(
            channel(f"{field}:N", title=None, sort=list(names), legend=own,
                    scale=alt.Scale(domain=list(names), range=values))
            for channel, values in channels
        )
    )  # fmt: skip


def in_order(data: pl.DataFrame, column: str) -> list[str]:
    """The distinct values of a column, in their order."""
    found: list[str] = data[column].unique(maintain_order=True).to_list()
    return found


def span(values: Iterable[float | None], *, also: Iterable[float] = (), pad: float = 0.05) -> list[float]:
    """Ends of an axis: all numbers with some room around them, also where all are the same.

    Where all are 0 or more the axis is not continued below 0 by more than a little.

    >>> [round(end, 3) for end in span([0.2, None, 0.4])], span([0.0, 0.0]), span([float("nan")])
    ([0.19, 0.41], [-0.001, 0.05], [-0.001, 0.05])
    """
    known = [float(v) for v in (*values, *also) if v is not None and math.isfinite(v)] or [0.0]
    low, high = min(known), max(known)
    room = pad * (high - low) if high > low else max(abs(low) * pad, 0.05)
    begin = low - room if low < 0 or low - room >= 0 else -0.02 * (high + room - low)
    return [begin, high + room]


def listed(parts: Sequence[str], most: int = 6) -> str:
    """What is said of each system, of the first ones only where they are many.

    >>> listed(["a: 1", "b: 2"]), listed(["a: 1", "b: 2", "c: 3"], most=2)
    ('a: 1; b: 2', 'a: 1; b: 2; and 1 more in the table')
    """
    rest = len(parts) - most
    return "; ".join([*parts[:most], *([f"and {rest} more in the table"] if rest > 0 else [])])
