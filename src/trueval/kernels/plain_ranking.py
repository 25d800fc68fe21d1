"""The kernels in plain NumPy: for small inputs, which must not wait for a compiler, and as their oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueval.kernels.hashing import item_key, user_key


def _tie_keys(stream: np.ndarray, items: np.ndarray, given: bool) -> np.ndarray:
    return np.arange(len(items), dtype=np.uint64) if given else item_key(stream, items)


def look_up(values: np.ndarray, low: int, table: np.ndarray, out: np.ndarray) -> None:
    """See `lists.look_up`."""
    inside = (values >= low) & (values <= int(low) + len(table) - 1)
    out[:] = -1
    out[inside] = table[(values[inside] - values.dtype.type(low)).astype(np.int64)]


def mark_present(values: np.ndarray, low: int, present: np.ndarray) -> None:
    """See `lists.mark_present`."""
    present[values - low] = True


def take(values: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """See `loops.lists.take`."""
    np.take(values, places, out=out, mode="clip")  # other modes would copy once more


def distinct_integers(parts: Sequence[np.ndarray], low: int, high: int) -> np.ndarray:
    """See `lists.distinct_integers`."""
    return np.unique(np.concatenate(parts)).astype(np.int64)


def group_lists(
    codes: np.ndarray, start: np.ndarray, item: np.ndarray, score: np.ndarray, *, keep: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """See `lists.group_lists`."""
    np.cumsum(np.bincount(codes[codes >= 0], minlength=len(start) - 1), out=start[1:])
    order = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
    return item[order], score[order] if len(score) else score


def move_lists(
    begin: np.ndarray,
    start: np.ndarray,
    item: np.ndarray,
    score: np.ndarray,
    first: int,
    last: int,
    out_item: np.ndarray,
    out_score: np.ndarray,
) -> None:
    """See `lists.move_lists`."""
    own = slice(start[first], start[last])
    rows = np.arange(own.start, own.stop) + np.repeat(
        begin[first:last] - start[first:last], np.diff(start[first : last + 1])
    )
    out_item[own] = item[rows]
    if len(score):
        out_score[own] = score[rows]


def grouped_starts(codes: np.ndarray, start: np.ndarray) -> bool:
    """See `lists.grouped_starts`."""
    if len(codes) and (codes[0] < 0 or (codes[1:] < codes[:-1]).any()):
        return False
    np.cumsum(np.bincount(codes, minlength=len(start) - 1), out=start[1:])
    return True


def falls(start: np.ndarray, score: np.ndarray, first: int, last: int) -> bool:
    """See `lists.falls`."""
    part = score[start[first] : start[last]]
    begins = np.zeros(len(part) + 1, bool)
    begins[start[first : last + 1] - start[first]] = True
    return bool(np.isfinite(part).all() and ((part[1:] < part[:-1]) | begins[1:-1]).all())


def order_lists(
    start: np.ndarray,
    score: np.ndarray,
    item: np.ndarray,
    users: np.ndarray,
    seed: int | np.uint64,
    given: bool,
    first: int,
    last: int,
) -> int:
    """See `lists.order_lists`."""
    for u in range(first, last):
        part = slice(start[u], start[u + 1])
        if not np.isfinite(score[part]).all():
            return u
        keys = _tie_keys(user_key(seed, users[u : u + 1]), item[part], given)
        order = np.lexsort((keys, -score[part]))
        score[part], item[part] = score[part][order], item[part][order]
    return -1


def join_lists(
    list_start: np.ndarray,
    list_item: np.ndarray,
    list_score: np.ndarray,
    judged_start: np.ndarray,
    judged_item: np.ndarray,
    n_items: int,
    first: int,
    last: int,
    order: np.ndarray,
    rank: np.ndarray,
    above: np.ndarray,
    tied: np.ndarray,
) -> int:
    """See `lists.join_lists`."""
    doubled = -1
    for u in range(first, last):
        shown = list_item[list_start[u] : list_start[u + 1]]
        score = (
            list_score[list_start[u] : list_start[u + 1]] if len(list_score) else -np.arange(len(shown), dtype=float)
        )
        known = shown[shown >= 0]
        if doubled < 0 and len(np.unique(known)) < len(known):
            doubled = u
        part = slice(judged_start[u], judged_start[u + 1])
        place = {int(item): r for r, item in enumerate(shown) if item >= 0}
        at = np.array([place.get(int(item), -1) for item in judged_item[part]], np.int64)
        rows = np.argsort(np.where(at < 0, len(shown), at), kind="stable")
        order[part] = part.start + rows
        found = at[rows]
        in_list = found >= 0
        better = np.array([np.count_nonzero(score > score[r]) for r in found[in_list]], np.int32)
        same = np.array([np.count_nonzero(score == score[r]) for r in found[in_list]], np.int32)
        for out, values in ((rank, found[in_list] + 1), (above, better), (tied, same)):
            view = out[part]
            view[in_list] = values
    return doubled


def count_splits(start: np.ndarray, score: np.ndarray, splits: np.ndarray) -> None:
    """See `lists.count_splits`."""
    if len(score) < 2:
        return
    place = np.arange(len(score)) - np.repeat(start[:-1], np.diff(start))
    equal = (score[1:] == score[:-1]) & (place[1:] > 0)
    np.add.at(splits, place[:-1][equal], 1)


def sort_up(start: np.ndarray, values: np.ndarray, places: np.ndarray, first: int, last: int) -> None:
    """See `lists.sort_up`."""
    rows = slice(start[first], start[last])
    order = np.lexsort((values[rows], np.repeat(np.arange(first, last), np.diff(start[first : last + 1]))))
    values[rows] = values[rows][order]
    if len(places):
        places[rows] = places[rows][order]


def sort_down(start: np.ndarray, values: np.ndarray) -> None:
    """See `lists.sort_down`."""
    unit = np.repeat(np.arange(len(start) - 1), np.diff(start))
    values[:] = values[np.lexsort((-values, unit))]


def _rank_row(
    row: np.ndarray,
    items: np.ndarray,
    excluded: np.ndarray,
    judged: np.ndarray,
    stream: np.ndarray,
    given: bool,
    depth: int,
    top: np.ndarray,
    out: Sequence[np.ndarray],
    splits: np.ndarray,
) -> int:
    target = np.ones(len(row), bool)
    target[excluded] = False
    places = np.flatnonzero(target)
    keys = _tie_keys(stream, items, given)
    order = places[np.lexsort((keys[places], -row[places]))]
    position = np.zeros(len(row) + 1, np.int64)  # the last one is for judged items that are not in the row (-1)
    position[order] = np.arange(1, len(order) + 1)
    which = np.lexsort((position[judged], position[judged] == 0))
    out_order, rank, above, tied, score = out
    out_order[:] = which
    rank[:] = position[judged[which]]
    for p, j in enumerate(judged[which]):
        above[p] = np.count_nonzero(row[places] > row[j]) if rank[p] else 0
        tied[p] = np.count_nonzero(row[places] == row[j]) if rank[p] else 0
        score[p] = row[j] if j >= 0 else np.nan
    shown = order[:depth]
    top[:] = -1
    top[: len(shown)] = items[shown]
    scores = row[order[: depth + 1]]
    splits[: max(len(scores) - 1, 0)] += scores[:-1] == scores[1:]
    return len(order)


def rank_rows(
    scores: np.ndarray,
    items: np.ndarray,
    excluded_start: np.ndarray,
    excluded: np.ndarray,
    judged_start: np.ndarray,
    judged: np.ndarray,
    users: np.ndarray,
    seed: int | np.uint64,
    given: bool,
    depth: int,
    top: np.ndarray,
    targets: np.ndarray,
    out: Sequence[np.ndarray],
    splits: np.ndarray,
) -> int:
    """See `ranking.rank_rows`."""
    for r in range(len(scores)):
        if not np.isfinite(scores[r]).all():
            return r
        e, j = (slice(s[r], s[r + 1]) for s in (excluded_start, judged_start))
        stream = user_key(seed, users[r : r + 1])
        own = [column[j] for column in out]
        targets[r] = _rank_row(scores[r], items, excluded[e], judged[j], stream, given, depth, top[r], own, splits)
    return -1


def rank_targets(
    scores: np.ndarray,
    rows: np.ndarray,
    target_start: np.ndarray,
    target: np.ndarray,
    judged_start: np.ndarray,
    judged: np.ndarray,
    users: np.ndarray,
    seed: int | np.uint64,
    given: bool,
    depth: int,
    top: np.ndarray,
    out: Sequence[np.ndarray],
    splits: np.ndarray,
) -> int:
    """See `ranking.rank_targets`."""
    nothing = np.empty(0, np.int64)
    for r in range(len(rows)):
        items = target[target_start[r] : target_start[r + 1]]
        row = scores[rows[r], items]
        if not np.isfinite(row).all():
            return r
        j = slice(judged_start[r], judged_start[r + 1])
        stream = user_key(seed, users[r : r + 1])
        own = [column[j] for column in out]
        if len(items):
            _rank_row(row, items, nothing, judged[j], stream, given, depth, top[r], own, splits)
        else:
            top[r] = -1
            own[0][:] = np.arange(len(own[0]))
    return -1


def follow(start: np.ndarray, order: np.ndarray, given: np.ndarray, out: np.ndarray) -> None:
    """See `ranking.follow`."""
    out[start[0] : start[-1]] = given[order + np.repeat(start[:-1], np.diff(start))]


def count_seen(
    list_start: np.ndarray,
    list_item: np.ndarray,
    own_start: np.ndarray,
    own_item: np.ndarray,
    depth: int,
    first: int,
    last: int,
) -> int:
    """See `seen.count_seen`."""
    shown = (list_item[list_start[u] : min(list_start[u + 1], list_start[u] + depth)] for u in range(first, last))
    own = (own_item[own_start[u] : own_start[u + 1]] for u in range(first, last))
    return sum(int(np.isin(items, known).sum()) for items, known in zip(shown, own))
