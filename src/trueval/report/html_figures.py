"""Small drawings inside HTML pages: bars with whiskers, as inline SVG."""

from __future__ import annotations

import math

from trueval.evaluation.estimate import Estimate
from trueval.render.numbers import level_percent
from trueval.render.svg import line, rect, svg, whisker


def estimate_bar(estimate: Estimate, top: float, chance: float | None, *, level: float = 0.95) -> str:
    """A value from zero, its interval as a whisker, and where chance lies; `top` is the end of the scale."""
    if math.isnan(estimate.value) or not top > 0:
        return ""

    def at(value: float) -> float:
        return 100 * min(max(value / top, 0), 1)

    description = f"{estimate.value:.4f}"
    drawn = rect("track", 0, 100) + rect("bar", 0, at(estimate.value))
    if chance is not None:
        drawn += line("bychance", at(chance), at(chance), -4, 20)  # so that the lines of a column meet
    if not math.isnan(estimate.low):
        description += f", {level_percent(level)} interval {estimate.low:.4f} to {estimate.high:.4f}"
        drawn += whisker(at(estimate.low), at(estimate.high))
    return svg(drawn, description)
