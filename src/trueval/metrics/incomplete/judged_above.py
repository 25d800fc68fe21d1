"""Judged items above each hit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.facts.ranking_facts import RankingFacts


class Above(NamedTuple):
    """For each row of `facts.hits`: judged relevant and non-relevant items above it, and how many further ones
    are tied with it (0 unless ties="expected")."""

    relevant: np.ndarray
    others: np.ndarray
    relevant_tied: np.ndarray
    others_tied: np.ndarray


def judged_above(facts: RankingFacts) -> Above:
    """Count judged items above each hit. Rows of facts are sorted by rank, so running totals suffice."""
    ranked = facts.rank > 0
    begin = facts.start[:-1][facts.unit]
    relevant_so_far = np.concatenate([[0], np.cumsum(facts.relevant & ranked)])
    others_so_far = np.concatenate([[0], np.cumsum(~facts.relevant & ranked)])
    rows = facts.hits.row
    first, last = rows, rows + 1  # the block of equals a row stands for: itself, once ties are settled
    if facts.ties == "expected":
        new = np.ones(len(facts.rank) + 1, bool)
        new[1:-1] = (facts.unit[1:] != facts.unit[:-1]) | (facts.above[1:] != facts.above[:-1]) | ~ranked[1:]
        starts = np.flatnonzero(new)
        block = np.cumsum(new)[:-1] - 1
        first, last = starts[block[rows]], starts[block[rows] + 1]
    at = begin[rows]
    return Above(
        relevant_so_far[first] - relevant_so_far[at],
        others_so_far[first] - others_so_far[at],
        np.maximum(relevant_so_far[last] - relevant_so_far[first] - 1, 0),
        others_so_far[last] - others_so_far[first],
    )
