"""Views of the same facts: 1R, condensed, flipped, random, some units only and several together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueval.data.by_user import user_blocks
from trueval.errors import defect
from trueval.facts.equal_scores import same_as_next
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.kernels import blocks, choose, in_order

_ROWS = ("item", "value", "relevant", "rank", "above", "tied")  # columns of judged rows


def select(facts: RankingFacts, keep: np.ndarray) -> RankingFacts:
    """The facts of some units."""
    if keep.all():
        return facts
    rows, list_rows = np.repeat(keep, np.diff(facts.start)), np.repeat(keep, facts.length)
    return facts.changed(
        unit_user=facts.unit_user[keep],
        start=np.concatenate([[0], np.cumsum(np.diff(facts.start)[keep])]),
        list_start=np.concatenate([[0], np.cumsum(facts.length[keep])]),
        list_item=facts.list_item[list_rows],
        list_same=None if facts.list_same is None else facts.list_same[list_rows],
        targets=facts.targets[keep],
        counted=len(facts) if facts.counted is None else facts.counted,
        stratum=None if facts.stratum is None else facts.stratum[keep],
        pool=None if facts.pool is None else facts.pool[keep],
        listed=None if facts.listed is None else facts.listed[keep],
        score=None if facts.score is None else facts.score[rows],
        list_rank=None if facts.list_rank is None else facts.list_rank[rows],
        **{name: getattr(facts, name)[rows] for name in _ROWS},
    )


def pieces(facts: RankingFacts, units: int) -> Iterator[RankingFacts]:
    """The facts of some units at a time, in their order; nothing is copied."""
    for part in blocks(len(facts), units):
        rows = slice(facts.start[part.start], facts.start[part.stop])
        list_rows = slice(facts.list_start[part.start], facts.list_start[part.stop])
        ends = slice(part.start, part.stop + 1)
        of_units = {name: _sliced(facts, name, part) for name in ("unit_user", "targets", "stratum", "pool", "listed")}
        of_rows = {name: _sliced(facts, name, rows) for name in (*_ROWS, "score", "list_rank")}
        yield facts.changed(
            start=facts.start[ends] - rows.start,
            list_start=facts.list_start[ends] - list_rows.start,
            list_item=facts.list_item[list_rows],
            list_same=_sliced(facts, "list_same", list_rows),
            counted=len(facts) if facts.counted is None else facts.counted,
            **of_units,
            **of_rows,
        )


def shortened(facts: RankingFacts, depth: int) -> RankingFacts:
    """The facts as they are with lists of this length: nothing but the lists depends on it.

    >>> from trueval.metrics.measure import toy_facts
    >>> shortened(toy_facts(["a", "b", "c"], {"c"}), 2).list_item.tolist()
    [0, 1]
    """
    if facts.depth <= depth:
        return facts
    start, items = cut_lists(facts.list_start, facts.list_item, depth)
    same = None if facts.list_same is None else cut_lists(facts.list_start, facts.list_same, depth)[1]
    return facts.changed(list_start=start, list_item=items, list_same=same, splits=facts.splits[:depth])


def cut_lists(list_start: np.ndarray, column: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Where lists of this length at the most start, and what they hold of a column of the whole lists.

    >>> start, items = cut_lists(np.array([0, 3, 4]), np.array([7, 8, 9, 5], np.int32), 2)
    >>> start.tolist(), items.tolist()
    ([0, 2, 3], [7, 8, 5])
    """
    length = np.diff(list_start)
    if length.max(initial=0) <= depth:
        return list_start, column
    start = np.concatenate([[0], np.cumsum(np.minimum(length, depth))])
    out, none = np.empty(start[-1], column.dtype), np.empty(0, column.dtype)
    kernels = choose("lists", len(out))

    def move(part: slice) -> None:
        kernels.move_lists(list_start[:-1], start, column, none, part.start, part.stop, out, none)

    for _ in in_order(move, user_blocks(len(start) - 1)):
        pass
    return start, out


def _sliced(facts: RankingFacts, name: str, part: slice) -> np.ndarray | None:
    column = getattr(facts, name)
    return None if column is None else column[part]


def concat(parts: Sequence[RankingFacts]) -> RankingFacts:
    """Parts over different units (and the same ids) as one whole."""
    if len(parts) == 1:
        return parts[0]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    def starts(name: str) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(getattr(part, name)) for part in parts]))])

    splits = np.zeros(max(len(part.splits) for part in parts), np.int64)
    for part in parts:
        splits[: len(part.splits)] += part.splits
    plain = ("unit_user", "item", "value", "relevant", "rank", "above", "tied", "list_item", "targets")
    optional = ("stratum", "pool", "listed", "score", "list_rank", "list_same")
    return parts[0].changed(
        start=starts("start"),
        list_start=starts("list_start"),
        splits=splits,
        counted=sum(len(part) if part.counted is None else part.counted for part in parts),
        **{name: joined(name) for name in plain},
        **{name: None if getattr(parts[0], name) is None else joined(name) for name in optional},
    )


def one_relevant(facts: RankingFacts) -> RankingFacts:
    """The 1R view of AR facts: one unit per relevant item, ranked against the non-relevant targets only.

    With one sample per user, rank in 1R = rank in AR minus the number of relevant items ranked above, so no
    second ranking is needed. Judged non-relevant items are not units and leave no rows here.
    """
    rows = np.flatnonzero(facts.relevant)
    unit = facts.unit[rows]
    ranked = facts.rank[rows] > 0
    present = ranked | (not facts.exact)  # behind a list that was cut they are targets all the same
    found = np.bincount(unit[present], minlength=len(facts))
    place = np.arange(len(rows)) - (np.cumsum(facts.R) - facts.R)[unit]  # relevant rows are sorted by rank
    new = np.ones(len(rows), bool)
    new[1:] = (unit[1:] != unit[:-1]) | (facts.above[rows][1:] != facts.above[rows][:-1]) | (ranked[1:] != ranked[:-1])
    first = np.flatnonzero(new)
    block = np.cumsum(new) - 1
    relevant_above = place[first][block] if len(rows) else place
    relevant_tied = np.diff(np.append(first, len(rows)))[block] if len(rows) else place
    above = facts.above[rows] - relevant_above
    # where equals are left open, any place among them will do
    rank = above + 1 if facts.ties == "expected" else facts.rank[rows] - place
    return RankingFacts(
        unit_user=facts.unit_user[unit],
        start=np.arange(len(rows) + 1),
        item=facts.item[rows],
        value=facts.value[rows],
        relevant=np.ones(len(rows), bool),
        rank=np.where(ranked, rank, 0).astype(np.int32),
        above=np.where(ranked, above, 0).astype(np.int32),
        tied=np.where(ranked, facts.tied[rows] - relevant_tied + 1, 0).astype(np.int32),
        list_start=np.zeros(len(rows) + 1, np.int64),
        list_item=np.empty(0, np.int32),
        targets=np.where(facts.targets[unit] >= 0, facts.targets[unit] - found[unit] + present, UNKNOWN),
        users=facts.users,
        items=facts.items,
        catalogue=facts.catalogue,
        exact=facts.exact,
        ties=facts.ties,
        highest=facts.highest,
        score=None if facts.score is None else facts.score[rows],
        stratum=None if facts.stratum is None else facts.stratum[unit],
        pool=None if facts.pool is None else facts.pool[unit],
        listed=None if facts.listed is None else facts.listed[unit],
        one_relevant=True,
        condensed=facts.condensed,
        label=facts.label,
    )


def condense(facts: RankingFacts) -> RankingFacts:
    """Rankings without their unjudged items: every rank counts judged items only."""
    ranked = facts.rank > 0
    place = np.cumsum(ranked) - np.concatenate([[0], np.cumsum(ranked)])[facts.start[:-1]][facts.unit]
    new = np.ones(len(ranked), bool)
    new[1:] = (facts.unit[1:] != facts.unit[:-1]) | (facts.above[1:] != facts.above[:-1])
    first = np.flatnonzero(new)
    block = np.cumsum(new) - 1
    members = np.bincount(block, weights=ranked, minlength=len(first)) if len(ranked) else ranked
    counts = np.bincount(facts.unit[ranked], minlength=len(facts))
    list_start = np.concatenate([[0], np.cumsum(counts)])
    # a tie rule may have moved ranks away from the lists, which keep the order in which they were shown
    list_rows = np.flatnonzero(ranked)
    list_rank = None
    if facts.list_rank is not None:
        list_rows = list_rows[np.lexsort((facts.list_rank[list_rows], facts.unit[list_rows]))]
        list_rank = np.zeros(len(ranked), np.int32)
        list_rank[list_rows] = np.arange(1, len(list_rows) + 1) - list_start[facts.unit[list_rows]]
    above = np.where(ranked, place[first][block] - 1 if len(ranked) else place, 0).astype(np.int32)
    return facts.changed(
        rank=np.where(ranked, place, 0).astype(np.int32),
        above=above,
        tied=np.where(ranked, members[block] if len(ranked) else place, 0).astype(np.int32),
        list_start=list_start,
        list_item=facts.item[list_rows],
        list_rank=list_rank,
        list_same=None if facts.list_same is None else same_as_next(list_start, above[list_rows]),
        targets=counts,
        condensed=True,
    )


def flip(facts: RankingFacts) -> RankingFacts:
    """Relevance turned round among the judged items: what anti-metrics measure.

    The best order of equals is then the one that puts what is now relevant last.
    """
    ties = {"best": "worst", "worst": "best"}.get(facts.ties, facts.ties)
    return facts.changed(relevant=~facts.relevant, value=np.ones_like(facts.value), highest=1.0, ties=ties)


def target_numbers(facts: RankingFacts) -> np.ndarray | None:
    """How many items are ranked for each unit, shown or not; None where it is unknown."""
    # a condensed list that was cut says nothing of the judged items behind it, which are targets all the same
    number = np.diff(facts.start) if facts.condensed and not facts.exact else facts.targets
    return None if (number < 0).any() else number


def random_ranking(facts: RankingFacts) -> RankingFacts | None:
    """The facts of a ranking in which all targets are equal; None where the number of targets is unknown.

    Under ties="expected" every metric of it is its value by chance: its exact expected value for a uniformly random
    ranking of the user's targets T_u. R and N count the whole test set; the judged items inside T_u are ranked.
    """
    number = target_numbers(facts)
    if not len(facts) or number is None:
        return None
    # where ranks are exact, what has none is no target (a sample may lack it); a short list lacks what it did not show
    in_set = (facts.rank > 0) | (not facts.exact)
    if (np.bincount(facts.unit[in_set], minlength=len(facts)) > number).any():
        raise defect("a user has more judged items than targets", where="by chance")
    targets = number[facts.unit].astype(np.int32)
    return facts.changed(
        targets=number,
        list_start=np.concatenate([[0], np.cumsum(number)]),  # every target is shown, in no order
        list_item=np.empty(0, np.int32),
        list_rank=None,
        list_same=None,
        rank=np.where(in_set, 1, 0).astype(np.int32),
        above=np.zeros(len(targets), np.int32),
        tied=np.where(in_set, targets, 0).astype(np.int32),
        ties="expected",
    )
