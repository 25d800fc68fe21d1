"""Small drawings inside HTML pages: bars with whiskers and differences around zero, as inline SVG.

Lengths are percentages, so that a drawing is as wide as its place and needs no script.
"""

from __future__ import annotations

import math

from trueval.comparison.paired import Comparison
from trueval.evaluation.estimate import Estimate


def bar(share: float) -> str:
    """A plain bar.

    >>> 'width="25.00%"' in bar(0.25)
    True
    """
    return _svg(f"{_rect('track', 0, 100)}{_rect('bar', 0, 100 * min(max(share, 0), 1))}", f"{share:.1%}")


def estimate_bar(estimate: Estimate, top: float, chance: float | None, *, level: float = 0.95) -> str:
    """A value from zero, its interval as a whisker, and where chance lies; `top` is the end of the scale."""
    if math.isnan(estimate.value) or not top > 0:
        return ""

    def at(value: float) -> float:
        return 100 * min(max(value / top, 0), 1)

    words = f"{estimate.value:.4f}"
    drawn = _rect("track", 0, 100) + _rect("bar", 0, at(estimate.value))
    if chance is not None:
        drawn += _line("bychance", at(chance), at(chance), -4, 20)  # so that the lines of a column meet
    if not math.isnan(estimate.low):
        words += f", {100 * level:g} % interval {estimate.low:.4f} to {estimate.high:.4f}"
        drawn += _whisker(at(estimate.low), at(estimate.high))
    return _svg(drawn, words)


def difference_plot(comparison: Comparison, reach: float) -> str:
    """A difference and its interval around zero, on a scale from -reach to reach."""
    if math.isnan(comparison.low) or not reach > 0:
        return ""

    def at(value: float) -> float:
        return 50 + 50 * min(max(value / reach, -1), 1)

    drawn = _line("zero", 50, 50, 0, 16) + _whisker(at(comparison.low), at(comparison.high))
    drawn += f'<circle class="dot {comparison.verdict}" cx="{at(comparison.difference):.2f}%" cy="8" r="4"/>'
    return _svg(drawn, f"{comparison.difference:+.4f}")


def _svg(drawn: str, words: str) -> str:
    return f'<svg class="plot" width="100%" height="16" role="img" aria-label="{words}">{drawn}</svg>'


def _rect(kind: str, begin: float, end: float) -> str:
    return f'<rect class="{kind}" x="{begin:.2f}%" y="4" width="{end - begin:.2f}%" height="8" rx="2"/>'


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1}" y2="{y2}"/>'


def _whisker(low: float, high: float) -> str:
    ends = _line("whisker", low, low, 5, 11) + _line("whisker", high, high, 5, 11)
    return _line("whisker", low, high, 8, 8) + ends
