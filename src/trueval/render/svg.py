"""Bars and whiskers as inline SVG. Lengths are percentages, so that a drawing is as wide as its place."""

from __future__ import annotations

from trueval.render.numbers import percent


def bar(share: float) -> str:
    """A plain bar.

    >>> 'width="25.00%"' in bar(0.25)
    True
    """
    return svg(f"{rect('track', 0, 100)}{rect('bar', 0, 100 * min(max(share, 0), 1))}", percent(share))


def svg(drawn: str, label: str) -> str:
    """A drawing with a text alternative for screen readers."""
    return f'<svg class="plot" width="100%" height="16" role="img" aria-label="{label}">{drawn}</svg>'


def rect(kind: str, begin: float, end: float) -> str:
    """A bar from one place to another."""
    return f'<rect class="{kind}" x="{begin:.2f}%" y="4" width="{end - begin:.2f}%" height="8" rx="2"/>'


def line(kind: str, x1: float, x2: float, y1: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1}" y2="{y2}"/>'


def whisker(low: float, high: float) -> str:
    """An interval: a line with an end on both sides."""
    ends = line("whisker", low, low, 5, 11) + line("whisker", high, high, 5, 11)
    return line("whisker", low, high, 8, 8) + ends
