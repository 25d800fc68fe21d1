"""Which columns of a table are words and which are numbers."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(align: str, head: Sequence[str]) -> str:
    """A letter for each column: those given, then r, for numbers follow words.

    >>> aligned("ll", ["system", "metric", "p", "dz"])
    'llrr'
    """
    return (align + "r" * len(head))[: len(head)]


def words_left(head: Sequence[str], words: Container[str]) -> str:
    """A letter for each column by its name: l for words, r for numbers.

    >>> words_left(["metric", "p", "verdict"], ("metric", "verdict"))
    'lrl'
    """
    return "".join("l" if name in words else "r" for name in head)
