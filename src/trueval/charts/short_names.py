"""Names as a picture can show them: not too long, still different, and without characters that no picture can hold."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from trueval.errors import visible

LONGEST = 30  # characters


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with all its texts made short; the same text is the same in every column."""
    columns = [name for name, kind in frame.schema.items() if kind == pl.String]
    names = short_names(text for name in columns for text in frame[name].drop_nulls().unique(maintain_order=True))
    return frame.with_columns(pl.col(columns).replace_strict(names, default=None, return_dtype=pl.String))


def short_names(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Each name with its middle left out, if it is long: names of variants differ at their ends.

    >>> names = ["item-knn", "a-model-with-learning-rate=0.01", "a-model-with-learning-rate=0.02"]
    >>> list(short_names(names, 16).values())
    ['item-knn', 'a-model-…te=0.01', 'a-model-…te=0.02']
    >>> list(short_names(["aaaa1aaaa", "aaaa2aaaa"], 5).values())
    ['aa…aa', 'aa… 2']
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        text = visible(name)
        short = text if len(text) <= longest else f"{text[: longest // 2]}…{text[len(text) - (longest - 1) // 2 :]}"
        number = 2
        while short in taken:  # their ends are the same, too
            end = f"… {number}"
            short, number = text[: longest - len(end)] + end, number + 1
        taken.add(short)
        found[name] = short
    return found
