"""Data sets as their publishers pack them, recognised by the files in a folder."""

from __future__ import annotations

from pathlib import Path

from trueval.data.layouts import kuairec, movielens, others, unbiased
from trueval.data.layouts.layout import Layout
from trueval.data.places import entries

LAYOUTS: tuple[Layout, ...] = (*movielens.LAYOUTS, *unbiased.LAYOUTS, *kuairec.LAYOUTS, *others.LAYOUTS)


def layout_of(folder: Path) -> tuple[Layout, Path] | None:
    """The layout of a folder and where its files are: here, or up to two folders down if that is unique.

    >>> layout_of(Path("nowhere")) is None
    True
    """
    level = [folder] if folder.is_dir() else []
    for _ in range(3):
        matches = [(layout, place) for place in level for layout in LAYOUTS if layout.holds(place)]
        if matches:
            return matches[0] if len({place for _, place in matches}) == 1 else None
        level = [child for place in level for child in entries(place) if child.is_dir()]
    return None


def log_layout(path: Path) -> Layout | None:
    """The layout of a bare log file whose columns are known without a header.

    >>> log_layout(Path("ml-1m/ratings.dat")).name
    'MovieLens 1M/10M'
    """
    return next((layout for layout in LAYOUTS if layout.is_log(path)), None)
