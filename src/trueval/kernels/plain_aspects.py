"""The kernels of aspect metrics without a compiler: for small inputs, and as the oracle of the compiled ones."""

from __future__ import annotations

import numpy as np

from trueval.kernels.aspect_rows import LESS, NEAR_ONE, AspectLists, ItemAspects, Owned, Pool, RankedRows, Rated


def weigh(profile: Owned, unit: int, aspects: ItemAspects) -> list[float]:
    """See `interest.weigh`."""
    if not len(profile.owner):
        return [1.0] * aspects.number
    weight = [0.0] * aspects.number
    own = profile.owner[unit]
    for j in range(profile.start[own], profile.start[own + 1]):
        for a in _aspects_of(aspects, profile.item[j]):
            weight[a] += float(profile.value[j])
    total = 0.0
    for w in weight:
        total += w
    return [w / total if total > 0 else 1.0 / len(weight) for w in weight]


def _aspects_of(aspects: ItemAspects, item: int) -> list[int]:
    which = aspects.of_item[item]
    return aspects.aspect[aspects.start[which] : aspects.start[which + 1]].tolist()


def _either(members: list[int], gain: float, left: list[float]) -> float:
    none = 1.0
    for a in members:
        none *= 1.0 - gain * left[a]
    return 1.0 - none


def _added(members: list[int], gain: float, left: list[float]) -> float:
    total = 0.0
    for a in members:
        total += gain * left[a]
    return total


def _fade(members: list[int], fade: float, left: list[float]) -> None:
    for a in members:
        left[a] *= 1.0 - fade


def cascade(
    aspects: ItemAspects, rows: RankedRows, profile: Owned, discount: np.ndarray, scaled: bool, first: int, last: int,
    out: np.ndarray,
) -> None:  # fmt: skip
    """See `aspects.cascade`."""
    for u in range(first, last):
        own = range(rows.start[u], rows.start[u + 1])
        left, scale = weigh(profile, u, aspects), [1.0] * aspects.number
        members = {j: _aspects_of(aspects, rows.item[j]) for j in own}
        if scaled:
            highest = [0.0] * aspects.number
            for j in own:
                for a in members[j]:
                    highest[a] = max(highest[a], float(rows.gain[j]))
            scale = [1.0 / (x + 1.0) for x in highest]
        total = 0.0
        for j in own:
            if rows.rank[j] == 0 or rows.rank[j] >= len(discount):
                break
            worth = 0.0
            for a in members[j]:
                worth += float(rows.gain[j]) * scale[a] * left[a]
                left[a] *= 1.0 - float(rows.fade[j]) * scale[a]
            total += float(discount[rows.rank[j]]) * worth
        out[u] = total


def cascade_ideal(
    aspects: ItemAspects, rows: RankedRows, discount: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """See `aspects.cascade_ideal`."""
    for u in range(first, last):
        own = range(rows.start[u], rows.start[u + 1])
        waiting = [(_aspects_of(aspects, rows.item[j]), float(rows.gain[j]), float(rows.fade[j])) for j in own]
        left = [1.0] * aspects.number
        total = 0.0
        for weight in discount[1:].tolist():
            gains = [_added(members, gain, left) for members, gain, _ in waiting]
            best = max(gains, default=0.0)
            if best <= 0.0:
                break
            # the first of equals, rounding aside: items ascend
            chosen = next(n for n, gain in enumerate(gains) if gain >= best * LESS)
            members, _, fade = waiting.pop(chosen)
            total += weight * gains[chosen]
            _fade(members, fade, left)
        out[u] = total


def unified(
    aspects: ItemAspects, lists: AspectLists, rows: Rated, profile: Owned, pool: Pool, barred: Owned, alpha: float,
    discount: np.ndarray, first: int, last: int, shown: np.ndarray, ideal: np.ndarray,
) -> None:  # fmt: skip
    """See `aspects.unified`."""
    for u in range(first, last):
        own = slice(rows.start[u], rows.start[u + 1])
        gain = dict(zip(rows.item[own].tolist(), rows.gain[own].tolist()))
        weight = weigh(profile, u, aspects)
        left, total = weight.copy(), 0.0
        for place, i in enumerate(lists.item[lists.start[u] : lists.start[u + 1]][: len(discount) - 1].tolist(), 1):
            members, p = _aspects_of(aspects, i), gain.get(i, alpha)
            total += float(discount[place]) * _either(members, p, left)
            _fade(members, p, left)
        shown[u] = total
        closed = set(gain)
        if len(barred.owner):
            who = barred.owner[u]
            closed.update(barred.item[barred.start[who] : barred.start[who + 1]].tolist())
        candidates = [(i, [i], gain[i]) for i, kept in zip(gain, rows.target[own]) if kept]
        for g in range(pool.first[u], pool.last[u]):
            members = [i for i in pool.item[pool.start[g] : pool.start[g + 1]].tolist() if i not in closed]
            candidates += [(members[0], members[::-1], alpha)] if members else []
        ideal[u] = _greedy(aspects, candidates, weight.copy(), discount[1:].tolist())


def unified_several(
    aspects: ItemAspects, start_of_lists: np.ndarray, lists: np.ndarray, rows: Rated, profile: Owned, alpha: float,
    discount: np.ndarray, cutoffs: np.ndarray, first: int, last: int, shown: np.ndarray,
) -> None:  # fmt: skip
    """See `aspects.unified_several`."""
    for u in range(first, last):
        own = slice(rows.start[u], rows.start[u + 1])
        gain = dict(zip(rows.item[own].tolist(), rows.gain[own].tolist()))
        weight = weigh(profile, u, aspects)
        for s, row in enumerate(lists):
            left, total, sums = weight.copy(), 0.0, [0.0]
            for place, i in enumerate(row[start_of_lists[u] : start_of_lists[u + 1]][: cutoffs[-1]].tolist(), 1):
                members, p = _aspects_of(aspects, i), gain.get(i, alpha)
                total += float(discount[place]) * _either(members, p, left)
                _fade(members, p, left)
                sums.append(total)
            for at, k in enumerate(cutoffs.tolist()):
                shown[s, at, u] = sums[min(k, len(sums) - 1)]


def _greedy(aspects: ItemAspects, groups: list, left: list[float], discount: list[float]) -> float:
    """DCG of the greedy order; a group is its first item, its items (the first one last) and their gain."""
    ordered = sorted(groups, key=lambda group: group[0])
    sets = [_aspects_of(aspects, code) for code, _, _ in ordered]
    codes, bounds = [code for code, _, _ in ordered], [float("inf")] * len(ordered)
    total = 0.0
    for weight in discount:
        best = 0.0
        for n, bound in enumerate(bounds):  # a gain never rises, so an earlier one is an upper bound
            if bound >= best * LESS - NEAR_ONE:
                bounds[n] = _either(sets[n], ordered[n][2], left)
                best = max(best, bounds[n])
        if best <= 0.0:
            break
        enough = best * LESS - NEAR_ONE
        equal = [n for n, gain in enumerate(bounds) if gain >= enough and gain > 0.0]
        chosen = min(equal, key=codes.__getitem__)
        total += weight * bounds[chosen]
        _, items, gain = ordered[chosen]
        _fade(sets[chosen], gain, left)
        items.pop()
        if items:
            codes[chosen] = items[-1]
        else:
            bounds[chosen] = -1.0
    return total


def coverage(
    aspects: ItemAspects, lists: AspectLists, rows: Owned, offered: np.ndarray, listed: Owned, barred: Owned, k: int,
    first: int, last: int, covered: np.ndarray, attainable: np.ndarray, complete: np.ndarray,
) -> None:  # fmt: skip
    """See `aspects.coverage`."""
    number = [0] * aspects.number
    for i in np.flatnonzero(offered).tolist():
        for a in _aspects_of(aspects, i):
            number[a] += 1
    for u in range(first, last):
        left = number.copy()
        for i in _items_of(barred, u):
            for a in _aspects_of(aspects, i) if offered[i] else ():
                left[a] -= 1
        more = [*_items_of(listed, u), *rows.item[rows.start[u] : rows.start[u + 1]].tolist()]
        possible = {a for a, n in enumerate(left) if n > 0} | {a for i in more for a in _aspects_of(aspects, i)}
        found: set[int] = set()
        complete[u] = 0
        for r in range(lists.start[u], min(lists.start[u + 1], lists.start[u] + k)):
            if lists.counts[r]:
                found.update(possible.intersection(_aspects_of(aspects, lists.item[r])))
                if len(found) == len(possible) and not complete[u]:
                    complete[u] = r - lists.start[u] + 1
        covered[u], attainable[u] = len(found), len(possible)


def _items_of(owned: Owned, u: int) -> list[int]:
    if not len(owned.owner):
        return []
    return owned.item[owned.start[owned.owner[u]] : owned.start[owned.owner[u] + 1]].tolist()
