"""Coding ids, grouping rows by user, ordering lists, joining lists with judgements: the compiled loops of
`loops.lists`, `loops.sorted_lists`, `loops.integer_ids` and `loops.key_tables`, with room to work in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from trueval.kernels.loops import COUNTED, LANES
from trueval.kernels.machine_code import Kernel
from trueval.kernels.threads import blocks, in_order, threads

Rows = np.ndarray

_LOOPS, _SORTED, _TABLES, _INTEGERS = "lists", "sorted_lists", "key_tables", "integer_ids"
_BLOCK_BITS = 6  # of the number of blocks that rows are parted into
_MARKING = 8  # workers at the most that mark ids, each in memory of its own
look_up = Kernel(_INTEGERS, "look_up")
mark_present = Kernel(_INTEGERS, "mark_present")
count_splits = Kernel(_LOOPS, "count_splits")
move_lists = Kernel(_LOOPS, "move_lists")
take = Kernel(_LOOPS, "take")
list_heads, keep_first = Kernel(_SORTED, "list_heads"), Kernel(_SORTED, "keep_first")
keep_marked, rank_marked = Kernel(_SORTED, "keep_marked"), Kernel(_SORTED, "rank_marked")
sort_down = Kernel(_LOOPS, "sort_down")
look_up_keys = Kernel(_TABLES, "look_up_keys")
code_integers, code_keys = Kernel(_TABLES, "code_integers"), Kernel(_TABLES, "code_keys")
_mark_bits, _marked_ids = Kernel(_INTEGERS, "mark_bits"), Kernel(_INTEGERS, "marked_ids")
_grouped_starts, _falls = Kernel(_LOOPS, "grouped_starts"), Kernel(_LOOPS, "falls")
_count_blocks, _part_rows = Kernel(_LOOPS, "count_blocks"), Kernel(_LOOPS, "part_rows")
_group_block = Kernel(_LOOPS, "group_block")
_sort_up = Kernel(_LOOPS, "sort_up")
_order_lists, _join_lists = Kernel(_LOOPS, "order_lists"), Kernel(_LOOPS, "join_lists")
_first_rows, _hash_table = Kernel(_TABLES, "first_rows"), Kernel(_TABLES, "hash_table")


def distinct_integers(parts: Sequence[Rows], low: int, high: int) -> Rows:
    """Each of the ids in some arrays, which lie between `low` and `high`, once and ascending."""
    return marked_integers(marked_words(parts, low, high), low)


def marked_words(parts: Sequence[Rows], low: int, high: int) -> Rows:
    """A bit for each number between `low` and `high`, set for those in some arrays."""
    workers = min(threads(), len(parts), _MARKING)
    words = np.zeros((workers, (high - low) // 64 + 1), np.uint64)

    def mark(worker: int) -> None:
        for values in parts[worker::workers]:
            _mark_bits(values, values.dtype.type(low), words[worker])

    _all(mark, range(workers))
    return np.bitwise_or.reduce(words)


def marked_integers(words: Rows, low: int) -> Rows:
    """The numbers from `low` on whose bits are marked, ascending."""
    found = np.empty(int(np.bitwise_count(words).sum()), np.int64)
    _marked_ids(words, low, found)
    return found


def grouped_starts(codes: Rows, start: Rows) -> bool:
    """Fill `start` where codes never fall and none is negative; otherwise leave it empty and say so."""
    return bool(_grouped_starts(codes, start))


def falls(start: Rows, score: Rows, first: int, last: int) -> bool:
    """Whether the scores of lists first to last are finite and strictly falling."""
    return bool(_falls(start, score, first, last))


def group_lists(codes: Rows, start: Rows, item: Rows, score: Rows, *, keep: bool = True) -> tuple[Rows, Rows]:
    """Items and scores (unless there are none) of all rows by code, in their order; fills `start`.

    Unless codes and items must be kept, the result takes their place: fresh memory would cost as much as the work.

    Rows first go to blocks of codes, and then, within a block, to their places: these are then few enough to stay in
    the cache, while places among all rows would be a miss each.
    """
    units = len(start) - 1
    shift = max(0, units.bit_length() - _BLOCK_BITS)
    number = (units >> shift) + 1
    parts = blocks(len(codes), len(codes) // threads() + 1)
    counts = np.zeros((len(parts), number), np.int64)
    _all(lambda p: _count_blocks(codes[parts[p]], shift, counts[p]), range(len(parts)))
    begin = np.concatenate([[0], counts.sum(axis=0).cumsum()])
    place = begin[:-1] + counts.cumsum(axis=0) - counts
    size = int(begin[-1]), int(begin[-1]) if len(score) else 0
    by_block = np.empty(size[0], codes.dtype), np.empty(size[0], item.dtype), np.empty(size[1], score.dtype)
    _all(
        lambda p: _part_rows(
            codes[parts[p]], item[parts[p]], score[parts[p]] if len(score) else score, shift, place[p], *by_block
        ),
        range(len(parts)),
    )
    out_item, out_score = (
        room[:number].view(kind)
        if not keep and room.itemsize == kind.itemsize and room.flags.carray
        else np.empty(number, kind)
        for room, number, kind in zip((item, codes), size, (item.dtype, score.dtype))
    )

    def group(block: int) -> None:
        rows, first = slice(begin[block], begin[block + 1]), block << shift
        own = start[first : min(first + (1 << shift), units)]
        _group_block(
            *(column[rows] for column in by_block), first, own, np.empty_like(own), out_item[rows], out_score[rows]
        )
        own += rows.start

    _all(group, range(number))
    start[-1] = size[0]
    return out_item, out_score


def _all(work: Callable[[int], None], jobs: Iterable[int]) -> None:
    for _ in in_order(work, jobs):
        pass


def order_lists(
    start: Rows, score: Rows, item: Rows, users: Rows, seed: int | np.uint64, given: bool, first: int, last: int
) -> int:
    """Sort lists first to last by score, equal scores by a seeded draw (or as given), in place.

    Returns the first list with a score that is not finite, or -1.
    """
    longest = int(np.diff(start[first : last + 1]).max(initial=0))
    room = (
        np.empty(COUNTED, score.dtype),
        np.empty(COUNTED, item.dtype),
        np.empty(longest, np.uint64),
        np.empty(longest, item.dtype),
    )
    return _order_lists(start, score, item, users, np.uint64(seed), given, first, last, *room)


def sort_up(start: Rows, values: Rows, places: Rows, first: int, last: int) -> None:
    """Sort segments first to last in ascending order, in place; places go with them, where there are any.

    Places must ascend within a segment; equal values keep their order.
    """
    room = (np.empty(COUNTED + LANES, kind) for kind in (values.dtype, np.int32, places.dtype))
    _sort_up(start, values, places, first, last, *room)


def join_lists(
    list_start: Rows, list_item: Rows, list_score: Rows, judged_start: Rows, judged_item: Rows, n_items: int,
    first: int, last: int, order: Rows, rank: Rows, above: Rows, tied: Rows,
) -> int:  # fmt: skip
    """Ranks of judged items in the lists of units first to last; an item below 0 is nobody's.

    Judged rows come out in list order, those not in the list (rank 0) behind, in their own order: `order` says which
    row came to which place. Returns a unit whose list has an item twice, or -1.
    """
    nobody = np.iinfo(np.int32).max
    state = np.full(n_items, nobody, np.int32)
    return _join_lists(
        list_start, list_item, list_score, judged_start, judged_item, first, last, order, rank, above, tied, nobody,
        state,
    )  # fmt: skip


def first_rows(left: Rows, right: Rows) -> Rows:
    """Rows at which a 128-bit key occurs for the first time. The table grows with the number of keys."""
    size, done, known = 1024, 0, 0
    found = np.empty(0, np.int64)
    while done < len(left):
        table = _empty_table(size, np.int64)
        _hash_table(left[found], right[found], *table)
        rows = np.empty(size // 2 + 1, np.int64)
        rows[:known] = found
        known = _first_rows(left, right, done, known, *table, rows)
        done, found, size = int(rows[-1]), rows[:known], 4 * size
    return found


def hash_table(left: Rows, right: Rows, size: int) -> tuple[Rows, Rows]:
    """An open-addressing table of distinct 128-bit keys; `size` is a power of two."""
    table = _empty_table(size, np.int32)
    _hash_table(left, right, *table)
    return table


def _empty_table(size: int, kind: type[np.signedinteger]) -> tuple[Rows, Rows]:
    return np.empty((size, 2), np.uint64), np.full(size, -1, kind)
