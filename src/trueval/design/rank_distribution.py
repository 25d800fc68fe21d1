"""Where a system ranks relevant items among all, as far as ranks among sampled items tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueval.design.sampled_ranks import all_sampled_ranks

_GROWTH = 1.15  # of the cells of ranks: more than the sample tells, less than what would fit noise
_ROUNDS = 100
_ANYWHERE = 0.1  # of the chances are spread over all ranks: no system ranks nothing there


class Sampled(NamedTuple):
    """How often each sampled rank was seen, of items with the same numbers of non-relevant and of drawn items."""

    pool: int
    sample: int
    counts: np.ndarray  # by sampled rank, sample + 1 of them


def rank_chances(seen: Sequence[Sampled]) -> list[np.ndarray]:
    """Chances of the ranks 1 to pool + 1, for each group of what was seen.

    Maximum likelihood by the EM algorithm, over cells of ranks that grow by 15 %, within which ranks are taken as
    equally likely. A tenth of the chances is spread over all ranks. Ranks that the samples do not tell apart share
    their chances by how the algorithm starts: evenly over the logarithm of the rank, half-way to evenly over ranks.

    >>> chances, = rank_chances([Sampled(pool=9, sample=9, counts=np.array([8.0, 2, 0, 0, 0, 0, 0, 0, 0, 0]))])
    >>> chances.round(2)[:3].tolist()
    [0.73, 0.19, 0.01]
    """
    edges = _edges(max(group.pool for group in seen) + 1)
    laws = [_by_cell(group, edges) for group in seen]
    chances = np.sqrt(np.diff(edges))
    chances /= chances.sum()
    total = sum(group.counts.sum() for group in seen)
    for _ in range(_ROUNDS):
        grown = np.zeros(len(chances))
        for group, law in zip(seen, laws):
            grown += law @ (group.counts / np.maximum(chances @ law, 1e-300))
        chances = chances * grown / total
    return [(1 - _ANYWHERE) * _spread(chances, edges, g.pool + 1) + _ANYWHERE / (g.pool + 1) for g in seen]


def _edges(size: int) -> np.ndarray:
    """First ranks of the cells, and one past the last rank."""
    edges = [1]
    while edges[-1] <= size:
        edges.append(max(edges[-1] + 1, int(edges[-1] * _GROWTH)))
    edges[-1] = size + 1
    return np.array(edges)


def _within(edges: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last rank of each cell among `size` items; what lies beyond them is their last rank."""
    return np.minimum(edges[:-1], size), np.minimum(edges[1:] - 1, size)


def _by_cell(group: Sampled, edges: np.ndarray) -> np.ndarray:
    """Chances of the sampled ranks (columns) of items in each cell (rows)."""
    first, last = _within(edges, group.pool + 1)
    upto = np.concatenate([np.zeros((1, group.sample + 1)), np.cumsum(all_sampled_ranks(group.pool, group.sample), 0)])
    return np.maximum(upto[last] - upto[first - 1], 0) / (last - first + 1)[:, None]


def _spread(chances: np.ndarray, edges: np.ndarray, size: int) -> np.ndarray:
    """Chances of cells as those of ranks."""
    first, last = _within(edges, size)
    steps = np.zeros(size + 2)
    np.add.at(steps, first, chances / (last - first + 1))
    np.add.at(steps, last + 1, -chances / (last - first + 1))
    return np.maximum(np.cumsum(steps)[1 : size + 1], 0)
