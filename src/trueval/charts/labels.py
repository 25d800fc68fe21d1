"""Where names stand beside points, such that they hide each other as little as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_LETTER, _HEIGHT, _AWAY = 6.2, 13.0, 8.0  # pixels: of a letter, of a line, from the point
_HIDDEN = 0.15  # of a text, at most
_FULL = 0.08  # of the picture: more text than that would hide the intervals


class Label(NamedTuple):
    """Where the text of a point begins, ends or has its middle, in pixels from the point."""

    dx: float
    dy: float
    align: str


class _Box(NamedTuple):
    left: float
    right: float
    top: float
    bottom: float

    def shared(self, other: _Box) -> float:
        """The area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0


_PLACES = (
    Label(_AWAY, -_AWAY, "left"), Label(-_AWAY, -_AWAY, "right"), Label(_AWAY, _AWAY, "left"),
    Label(-_AWAY, _AWAY, "right"), Label(0, -2 * _AWAY, "center"), Label(0, 2 * _AWAY, "center"),
    Label(_AWAY, -3 * _AWAY, "left"), Label(-_AWAY, -3 * _AWAY, "right"), Label(_AWAY, 3 * _AWAY, "left"),
    Label(-_AWAY, 3 * _AWAY, "right"),
)  # fmt: skip


def place_labels(
    x: Sequence[float], y: Sequence[float], texts: Sequence[str], *, width: float, height: float
) -> list[Label] | None:
    """For points in pixels (y downwards), a place for each text: the one that covers least, and stays inside.

    None where texts would hide each other all the same: they are then better in a legend.

    >>> [label.align for label in place_labels([10, 195], [50, 50], ["left", "right"], width=200, height=100)]
    ['left', 'right']
    >>> place_labels([50] * 12, [50] * 12, ["the same place"] * 12, width=200, height=100) is None
    True
    """
    if sum(map(len, texts)) * _LETTER * _HEIGHT > _FULL * width * height:
        return None
    points = [_Box(a - 5, a + 5, b - 5, b + 5) for a, b in zip(x, y)]
    taken: list[_Box] = []
    found = []
    for a, b, text in zip(x, y, texts):
        boxes = [_box(a, b, text, place) for place in _PLACES]
        costs = [
            sum(box.shared(other) for other in (*points, *taken)) + 30 * _outside(box, width, height) + rank
            for rank, box in enumerate(boxes)
        ]
        best = costs.index(min(costs))
        if sum(boxes[best].shared(other) for other in taken) > _HIDDEN * _HEIGHT * _LETTER * len(text):
            return None
        taken.append(boxes[best])
        found.append(_PLACES[best])
    return found


def _box(x: float, y: float, text: str, place: Label) -> _Box:
    wide = len(text) * _LETTER
    left = x + place.dx - {"left": 0.0, "right": wide, "center": wide / 2}[place.align]
    return _Box(left, left + wide, y + place.dy - _HEIGHT / 2, y + place.dy + _HEIGHT / 2)


def _outside(box: _Box, width: float, height: float) -> float:
    """By how many pixels a text leaves the picture."""
    return max(0.0, -box.left) + max(0.0, box.right - width) + max(0.0, -box.top) + max(0.0, box.bottom - height)
