"""Neighbours without a compiler: for small inputs, and as the oracle of the compiled ones."""

from __future__ import annotations

import numpy as np


def _entries(start: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of some rows one after the other, and the place in `rows` that each belongs to."""
    counts = start[rows + 1] - start[rows]
    begins = np.cumsum(counts) - counts
    return np.repeat(start[rows] - begins, counts) + np.arange(counts.sum()), np.repeat(np.arange(len(rows)), counts)


def nearest_rows(
    start: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    t_start: np.ndarray,
    t_row: np.ndarray,
    t_value: np.ndarray,
    norm: np.ndarray,
    shrink: float,
    first: int,
    last: int,
    neighbour: np.ndarray,
    similarity: np.ndarray,
) -> None:
    """See `neighbours.nearest_rows`."""
    k = neighbour.shape[1]
    for r in range(first, last):
        part = slice(start[r], start[r + 1])
        entries, owner = _entries(t_start, column[part])
        dot = np.bincount(t_row[entries], weights=value[part][owner] * t_value[entries], minlength=len(start) - 1)
        dot[r] = 0.0
        others = np.flatnonzero(dot > 0)
        alike = (dot[others] / (norm[r] * norm[others] + shrink)).astype(np.float32)
        best = np.lexsort((others, -alike))[:k]
        neighbour[r, : len(best)], similarity[r, : len(best)] = others[best], alike[best]


def sum_rows(
    start: np.ndarray,
    row: np.ndarray,
    weight: np.ndarray,
    m_start: np.ndarray,
    m_column: np.ndarray,
    m_value: np.ndarray,
    out: np.ndarray,
) -> None:
    """See `neighbours.sum_rows`."""
    for r in range(len(start) - 1):
        part = slice(start[r], start[r + 1])
        known = row[part] >= 0
        entries, owner = _entries(m_start, row[part][known])
        there = m_column[entries] >= 0
        weights = (weight[part][known][owner] * m_value[entries])[there]
        out[r] = np.bincount(m_column[entries][there], weights=weights, minlength=out.shape[1])
