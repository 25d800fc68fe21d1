"""The ends of an interval, with a reason where they are not what was asked for."""

from __future__ import annotations

from typing import NamedTuple


class Bounds(NamedTuple):
    """The ends of an interval, and why they are not those of the method asked for (empty where they are)."""

    low: float
    high: float
    note: str = ""


NO_SPREAD = Bounds(float("nan"), float("nan"), "no interval: nothing varies here, so the spread is unknown")
