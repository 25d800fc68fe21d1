"""What a rerun of a paper consists of: figures, and statements that were checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from trueval.charts.chart import Chart

HOLDS, FAILS, DIFFERS, APART = "holds", "does not hold", "differs", "not comparable"
VERDICTS = (HOLDS, FAILS, DIFFERS, APART)


@dataclass(frozen=True, slots=True)
class Statement:
    """A number or a claim of a paper, what was found here, and whether the two agree.

    `verdict` is "holds"; "does not hold" (a claim); "differs" (a number outside its tolerance); or "not comparable",
    for a reason that `note` gives. `evidence` are the numbers behind a verdict.
    """

    figure: str
    claim: str
    published: str
    here: str
    verdict: str
    evidence: str = ""
    note: str = ""


def number(
    figure: str,
    claim: str,
    *,
    published: float,
    here: float,
    tolerance: float,
    digits: int | None = None,
    unit: str = "",
    evidence: str = "",
    note: str = "",
    apart: str = "",
) -> Statement:
    """A printed number: it holds where ours is no further away than the tolerance.

    `digits` of ours are shown after the point; default: as many as are printed. `apart` is a reason why the two
    cannot be compared, where there is one.

    >>> number("1", "test items", published=1703, here=1703, tolerance=0).verdict
    'holds'
    >>> number("1", "liked", published=32.7, here=32.54, tolerance=0.1, unit="%").here
    '32.5 %'
    """
    printed = len(f"{published:.12f}".rstrip("0").partition(".")[2])
    shown = _shown(published, printed, unit), _shown(here, printed if digits is None else digits, unit)
    if apart:
        return not_comparable(figure, claim, published=shown[0], here=shown[1], note=apart, evidence=evidence)
    told = f"{abs(published - here):.3g} apart, {tolerance:g} allowed"
    verdict = HOLDS if abs(published - here) <= tolerance else DIFFERS
    return Statement(figure, claim, *shown, verdict, evidence or told, note)


def _shown(value: float, places: int, unit: str) -> str:
    text = "–" if value != value else f"{value:,.{places}f}"
    return f"{text} {unit}".strip()


def claim(figure: str, text: str, *, holds: bool, evidence: str, note: str = "") -> Statement:
    """A claim in words, which holds here or does not.

    >>> claim("2", "pLSA is first", holds=True, evidence="0.12 and 0.10").here
    'yes'
    """
    return Statement(figure, text, "yes", "yes" if holds else "no", HOLDS if holds else FAILS, evidence, note)


def not_comparable(figure: str, text: str, *, published: str, here: str, note: str, evidence: str = "") -> Statement:
    """What the paper prints beside what was found here, where no agreement can be expected for the reason in `note`."""
    return Statement(figure, text, published, here, APART, evidence, note)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure or table of a paper, made here: its data, its pictures, and the statements about it."""

    name: str
    title: str
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    charts: Mapping[str, Chart] = field(repr=False)
    statements: tuple[Statement, ...]
    text: tuple[str, ...] = ()


def figure_name(name: str) -> str:
    """A figure as a heading names it.

    >>> figure_name("3"), figure_name("table1"), figure_name("numbers")
    ('Figure 3', 'Table 1', 'Numbers')
    """
    if name[:1].isdigit():
        return f"Figure {name}"
    return f"Table {name.removeprefix('table')}" if name.startswith("table") else name.capitalize()
