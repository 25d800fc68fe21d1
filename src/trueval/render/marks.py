"""The signs and colours of verdicts and directions, the same in every table."""

from __future__ import annotations

SIGNS = {"better": "▲", "worse": "▼", "different": "≠", "higher": "▲", "lower": "▼"}
COLOURS = {"better": "green", "worse": "red"}
ARROWS = {"higher": " ↑", "lower": " ↓", "neither": ""}  # which way is better, after the name of a metric
