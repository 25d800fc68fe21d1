"""Equal scores in the lists: which places they take up, and which of them a cut separates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts


class Blocks(NamedTuple):
    """For each row of the lists: places above its equals, how many of these the list shows, and whether more follow."""

    above: np.ndarray
    size: np.ndarray
    beyond: np.ndarray


def same_as_next(start: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Whether each row of some lists scores like the next one of the same list.

    >>> same_as_next(np.array([0, 3, 5]), np.array([2, 1, 1, 1, 1])).tolist()
    [False, True, False, True, False]
    """
    same = np.zeros(len(score), bool)
    same[:-1] = score[:-1] == score[1:]
    same[start[1:][start[1:] > 0] - 1] = False
    return same


def list_blocks(facts: RankingFacts) -> Blocks:
    """The blocks of equals that the rows of the lists stand in."""
    if "blocks" not in facts.memory:
        same, unit = _known(facts), facts.list_unit
        new = np.ones(len(same), bool)
        new[1:] = (unit[1:] != unit[:-1]) | ~same[:-1]
        first = np.flatnonzero(new)
        block = np.cumsum(new) - 1
        ends = np.append(first[1:], len(same)) - 1
        above = (facts.place[first] - 1)[block]
        facts.memory["blocks"] = Blocks(above, np.diff(np.append(first, len(same)))[block], same[ends][block])
    return facts.memory["blocks"]


def split_lists(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Units whose cut at k falls between equals: which of them are within k is open."""
    return _units(facts, k, lambda same: same & (facts.place == k))


def tied_lists(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Units with equals down to k: the order of the first k is open."""
    return _units(facts, k, lambda same: same if k is None else same & (facts.place <= k))


def unknown_lists(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Units whose first k are open, with candidates that the list does not show."""
    if not len(tied_lists(facts, k)):
        return np.empty(0, np.int64)
    above, _, beyond = list_blocks(facts)
    return np.unique(facts.list_unit[beyond if k is None else beyond & (above < k)])


def _units(facts: RankingFacts, k: int | None, asked: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    if facts.list_same is None and len(facts.splits) >= facts.depth and not facts.splits[:k].any():
        return np.empty(0, np.int64)
    return np.unique(facts.list_unit[asked(_known(facts))])


def _known(facts: RankingFacts) -> np.ndarray:
    if facts.list_same is None:
        raise DefinitionError(
            f"these facts do not record which items of their lists are tied, which ties={facts.ties} needs",
            do=f"build them with ties={facts.ties!r}, instead of changing the tie rule afterwards",
        )
    return facts.list_same
