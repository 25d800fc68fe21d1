"""Which columns of a table are text and which are numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(align: str, head: Sequence[str]) -> str:
    """A letter for each column: those given, then r, for numbers follow text.

    >>> aligned("ll", ["system", "metric", "p", "dz"])
    'llrr'
    """
    return (align + "r" * len(head))[: len(head)]


def align_text_left(head: Sequence[str], text_columns: Container[str]) -> str:
    """A letter for each column by its name: l for text, r for numbers.

    >>> align_text_left(["metric", "p", "verdict"], ("metric", "verdict"))
    'lrl'
    """
    return "".join("l" if name in text_columns else "r" for name in head)
