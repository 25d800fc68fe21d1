"""Judgements: what the test set says about each user's items."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.errors import DataError, rows_found


def judge(frame: pl.DataFrame, *, threshold: float | None, where: str) -> pl.DataFrame:
    """One row per judged pair, with its `value` (1 for implicit data) and whether it is `relevant`.

    With a threshold an item is relevant when its value reaches it; without one, when its value is positive.
    The same pair twice with one value is one judgement; with two values it is an error.

    >>> rows = pl.DataFrame({"user": [1, 1], "item": [7, 8], "value": [5.0, 2.0]})
    >>> judge(rows, threshold=4, where="test").sort("item")["relevant"].to_list()
    [True, False]
    """
    if "value" not in frame.columns:
        if threshold is not None:
            raise DataError(
                "a threshold needs a value column",
                where=where,
                found="columns " + ", ".join(frame.columns),
                do="name it with columns={'value': …} (--columns value=…), or leave the threshold out",
            )
        pairs = frame.select("user", "item").unique(maintain_order=False)
        return pairs.with_columns(value=pl.lit(1.0), relevant=pl.lit(True))
    rows = frame.select("user", "item", "value")
    pairs = rows.unique(maintain_order=False)
    doubled = pairs.select(pl.struct("user", "item").is_duplicated()).to_series() if len(pairs) else None
    if doubled is not None and doubled.any():
        shown = pairs.filter(doubled).sort("user", "item", "value").head(5).rows()
        raise DataError(
            "the same user and item are judged twice with different values",
            where=where,
            found=rows_found([f"user {u}, item {i}: {v:g}" for u, i, v in shown], int(doubled.sum())),
            do="keep one judgement per user and item (the last, or the mean)",
        )
    relevant = pairs["value"] >= threshold if threshold is not None else pairs["value"] > 0
    if not relevant.any():
        found = f"values from {pairs['value'].min():g} to {pairs['value'].max():g}"
        limit = f"the threshold {threshold:g}" if threshold is not None else "0"
        raise DataError(
            f"no value reaches {limit}: nobody would have a relevant item",
            where=where,
            found=found,
            do="lower the threshold",
        )
    return pairs.with_columns(relevant=relevant)


def check_overlap(known: np.ndarray, *, what: str, where: str, examples: tuple[list, list]) -> None:
    """Refuse two tables of which no id is common: every value would be a silent zero."""
    if len(known) and not known.any():
        left, right = examples
        raise DataError(
            f"no {what} of one table occurs in the other",
            where=where,
            found=f"{', '.join(map(repr, left[:3]))}… and {', '.join(map(repr, right[:3]))}…",
            do="check that both tables use the same ids",
        )
