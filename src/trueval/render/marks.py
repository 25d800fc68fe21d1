"""The signs and colours of verdicts and directions, the same in every table."""

from __future__ import annotations

SIGNS = {"better": "▲", "worse": "▼", "different": "≠", "higher": "▲", "lower": "▼"}
COLOURS = {"better": "green", "worse": "red"}
ARROWS = {"higher": " ↑", "lower": " ↓", "neither": ""}  # which way is better, after the name of a metric
_VERDICTS = {"not shown": "no significant difference"}  # what people read; scripts read the verdict as it is
_SHORT_VERDICTS = {"not shown": "n.s."}


def verdict_text(verdict: str, *, short: bool = False) -> str:
    """A verdict as tables for people print it; `short` where the window is narrow.

    >>> verdict_text("not shown"), verdict_text("not shown", short=True), verdict_text("better")
    ('no significant difference', 'n.s.', 'better')
    """
    return (_SHORT_VERDICTS if short else _VERDICTS).get(verdict, verdict)
