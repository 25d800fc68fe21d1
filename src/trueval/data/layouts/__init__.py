"""Data sets as their publishers pack them, recognised by the files in a folder."""

from __future__ import annotations

from pathlib import Path

from trueval.data.failures import reading
from trueval.data.layouts import kuairec, movielens, others, unbiased
from trueval.data.layouts.layout import Layout
from trueval.data.places import entries
from trueval.errors import TruevalError

LAYOUTS: tuple[Layout, ...] = (*movielens.LAYOUTS, *unbiased.LAYOUTS, *kuairec.LAYOUTS, *others.LAYOUTS)


def layout_of(folder: Path) -> tuple[Layout, Path] | None:
    """The layout of a folder and where its files are: here, or up to two folders down if that is unique.

    >>> layout_of(Path("nowhere")) is None
    True
    """
    level = [folder] if folder.is_dir() else []
    for _ in range(3):
        matches = [(layout, place) for place in level for layout in LAYOUTS if _holds(layout, place, folder)]
        if matches:
            return matches[0] if len({place for _, place in matches}) == 1 else None
        level = [child for place in level for child in entries(place) if child.is_dir()]
    return None


def _holds(layout: Layout, place: Path, asked: Path) -> bool:
    """Whether a folder has a layout; of the folder that was asked for, a person must know that it cannot be read."""
    try:
        return layout.holds(place)
    except (OSError, TruevalError):
        if place != asked:
            return False
        with reading(place, what="a data set"):
            raise


def log_layout(path: Path) -> Layout | None:
    """The layout of a bare log file whose columns are known without a header.

    >>> log_layout(Path("ml-1m/ratings.dat")).name
    'MovieLens 1M/10M'
    """
    with reading(path, what="a log"):
        return next((layout for layout in LAYOUTS if layout.is_log(path)), None)
