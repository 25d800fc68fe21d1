"""A value and its confidence interval as the cell of a table: one notation for every table and format.

Where the interval is symmetric, `0.1764 ± 0.0088`: half its width. Where it is not, both ends: `0.0000 [0.0000,
0.1684]`. A column uses one of the two for all of its cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from trueval.evaluation.estimate import Estimate
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import UNDEFINED, decimal, lopsided, short, without_zero


def needs_both_ends(estimates: Iterable[Estimate]) -> bool:
    """Whether ± would mislead: an interval reaches further to one side than to the other.

    >>> needs_both_ends([Estimate(0.5, 0.41, 0.6, 9)]), needs_both_ends([Estimate(0.0, 0.0, 0.17, 20)])
    (False, True)
    """
    return any(lopsided(e.value, e.low, e.high) for e in estimates)


def columns_with_both_ends(evaluation: Evaluation) -> set[str]:
    """The metrics whose intervals are written with both ends."""
    systems = evaluation.systems.values()
    return {label for label in evaluation.specs if needs_both_ends(s.estimates[label] for s in systems)}


def cell(estimate: Estimate, *, ends: bool = False) -> str:
    """A value with half the width of its interval, or with both ends.

    >>> cell(Estimate(0.5, 0.4, 0.6, 9)), cell(Estimate(0.0, 0.0, 0.17, 20), ends=True)
    ('0.5000 ± 0.1000', '0.0000 [0.0000, 0.1700]')
    """
    return _written(estimate, ends=ends, number=decimal, half=str, space=" ")


def short_cell(estimate: Estimate, *, ends: bool = False) -> str:
    """Four digits that count, and no zeros before the point.

    >>> short_cell(Estimate(0.17641, 0.1671, 0.1857, 9)), short_cell(Estimate(6.2255, 6.1968, 6.2542, 9))
    ('.1764 ±.0093', '6.226 ±.0287')
    >>> short_cell(Estimate(0.0, 0.0, 0.17, 9), ends=True), short_cell(Estimate(1.0, math.nan, math.nan, 9))
    ('.0000 [.0000,.1700]', '1.000')
    """
    return _written(estimate, ends=ends, number=short, half=without_zero, space="")


def _written(
    estimate: Estimate, *, ends: bool, number: Callable[[float], str], half: Callable[[str], str], space: str
) -> str:
    """A cell in one style: how numbers and half widths are written, and what stands between them."""
    if math.isnan(estimate.value):
        return UNDEFINED
    value = number(estimate.value)
    if math.isnan(estimate.low):
        return value
    if ends:
        return f"{value} [{number(estimate.low)},{space}{number(estimate.high)}]"
    return f"{value} ±{space}{half(f'{(estimate.high - estimate.low) / 2:.4f}')}"
