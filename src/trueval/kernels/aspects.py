"""Compiled: what rankings are worth when the interest in every aspect is satisfied bit by bit, and what they cover.

Units first to last are the caller's block; every kernel fills the places of its units in the output. Columns
are taken out of their records before the loops, which would otherwise count references to them.
"""

from __future__ import annotations

import numpy as np

from trueval.kernels.greedy import added_dcg, room, unified_dcg
from trueval.kernels.interest import CHUNK, chunked_fade, chunked_gain, either_gain, fade_by, in_chunks, weigh
from trueval.kernels.jit import inner, kernel


@kernel
def cascade(aspects, rows, profile, discount, scaled, first, last, out):
    """Σ over judged items of discount[rank] · Σ_a gain · w_a · Π(1 - fade) of those above, down to the last discount.

    With `scaled`, gain and fade count in parts of the highest gain (plus one) that the unit has in the aspect.
    """
    of_item, begin, aspect = aspects.of_item, aspects.start, aspects.aspect
    start, item = rows.start, rows.item
    rank, gain, fade = rows.rank, rows.gain, rows.fade
    left, scale = np.empty(aspects.number), np.ones(aspects.number)
    for u in range(first, last):
        weigh(profile, u, of_item, begin, aspect, left)
        if scaled:
            scale[:] = 0.0
            for j in range(start[u], start[u + 1]):
                s = of_item[item[j]]
                for x in range(begin[s], begin[s + 1]):
                    scale[aspect[x]] = max(scale[aspect[x]], gain[j])
            for a in range(scale.size):
                scale[a] = 1.0 / (scale[a] + 1.0)
        total = 0.0
        for j in range(start[u], start[u + 1]):
            if rank[j] == 0 or rank[j] >= discount.size:
                break
            worth, s = 0.0, of_item[item[j]]
            for x in range(begin[s], begin[s + 1]):
                a = aspect[x]
                worth += gain[j] * scale[a] * left[a]
                left[a] *= 1.0 - fade[j] * scale[a]
            total += discount[rank[j]] * worth
        out[u] = total


@kernel
def cascade_ideal(aspects, rows, discount, first, last, out):
    """The same for the greedy order of all judged items of a unit, every aspect weighing 1."""
    of_item, begin, aspect = aspects.of_item, aspects.start, aspects.aspect
    start, item = rows.start, rows.item
    gain, fade, left = rows.gain, rows.fade, np.empty(aspects.number)
    widest = 1
    for u in range(first, last):
        widest = max(widest, start[u + 1] - start[u])
    bound = np.empty(widest)
    for u in range(first, last):
        left[:] = 1.0
        a, b = start[u], start[u + 1]
        out[u] = added_dcg(of_item, begin, aspect, item[a:b], gain[a:b], fade[a:b], discount, left, bound)


@kernel
def unified(aspects, lists, rows, profile, pool, barred, alpha, discount, first, last, shown, ideal):
    """αβ-DCG of the lists, and of the greedy order of all targets: rated ones gain `rows.gain`, unrated ones alpha."""
    of_item, begin, aspect = aspects.of_item, aspects.start, aspects.aspect
    start, item, gain = rows.start, rows.item, rows.gain
    list_start, list_item, barred_item, target = lists.start, lists.item, barred.item, rows.target
    row_of = np.full(of_item.size, -1, np.int32)  # row of the item in the judgements of whoever judged it last
    closed = np.full(of_item.size, -1, np.int32)  # unit of which the item is not an unrated target
    weight, left = np.empty(aspects.number), np.zeros(aspects.number + CHUNK)
    edge, chunked = in_chunks(begin, aspect, aspects.number)
    space = room(rows, pool, aspects.number, first, last)
    for u in range(first, last):
        weigh(profile, u, of_item, begin, aspect, weight)
        a, b = start[u], start[u + 1]
        for j in range(a, b):
            row_of[item[j]] = j
            closed[item[j]] = u
        if barred.owner.size:
            own = barred.owner[u]
            for j in range(barred.start[own], barred.start[own + 1]):
                closed[barred_item[j]] = u
        left[: weight.size] = weight
        total = 0.0
        for r in range(list_start[u], min(list_start[u + 1], list_start[u] + discount.size - 1)):
            i = list_item[r]
            row = row_of[i]
            p = gain[row] if a <= row < b else alpha
            low, high = edge[of_item[i]], edge[of_item[i] + 1]
            total += discount[r - list_start[u] + 1] * chunked_gain(chunked, low, high, p, left)
            chunked_fade(chunked, low, high, p, left)
        shown[u] = total
        left[: weight.size] = weight
        ideal[u] = unified_dcg(
            of_item, edge, chunked, item[a:b], gain[a:b], target[a:b], pool, alpha, discount, u, left, closed, space
        )


@kernel
def unified_several(aspects, start_of_lists, lists, rows, profile, alpha, discount, cutoffs, first, last, shown):
    """αβ-DCG of several lists of every unit: `lists` has a row for each system, `cutoffs` ascend.

    `shown` is by system, cutoff and unit. What the lists of a unit share (judgements, interest) is looked up once.
    """
    of_item, begin, aspect = aspects.of_item, aspects.start, aspects.aspect
    start, item, gain = rows.start, rows.item, rows.gain
    row_of = np.full(of_item.size, -1, np.int32)
    weight, left = np.empty(aspects.number), np.empty(aspects.number)
    deepest = cutoffs[cutoffs.size - 1]
    for u in range(first, last):
        weigh(profile, u, of_item, begin, aspect, weight)
        a, b = start[u], start[u + 1]
        for j in range(a, b):
            row_of[item[j]] = j
        low_row, high_row = start_of_lists[u], min(start_of_lists[u + 1], start_of_lists[u] + deepest)
        for s in range(lists.shape[0]):
            left[:] = weight
            total, at = 0.0, 0
            for r in range(low_row, high_row):
                while r - low_row == cutoffs[at]:
                    shown[s, at, u] = total
                    at += 1
                i = lists[s, r]
                p = gain[row_of[i]] if a <= row_of[i] < b else alpha
                low, high = begin[of_item[i]], begin[of_item[i] + 1]
                total += discount[r - low_row + 1] * either_gain(aspect, low, high, p, left)
                fade_by(aspect, low, high, p, left)
            shown[s, at:, u] = total


@kernel
def coverage(aspects, lists, rows, offered, listed, barred, k, first, last, covered, attainable, complete):
    """Aspects that the first k items of each list cover, of those that can be covered, and the rank at which all are.

    What can be covered: the aspects of the judged `rows`, those of `listed`, and those that some item `offered` to
    everybody has once the unit's barred items are gone.
    """
    of_item, begin, aspect = aspects.of_item, aspects.start, aspects.aspect
    number = np.zeros(aspects.number, np.int64)
    for i in range(offered.size):
        if offered[i]:
            count(begin, aspect, of_item[i], 1, number)
    open_, seen = np.empty(aspects.number, np.int64), np.empty(aspects.number, np.bool_)
    for u in range(first, last):
        open_[:] = number
        seen[:] = False
        if barred.owner.size:
            for j in range(barred.start[barred.owner[u]], barred.start[barred.owner[u] + 1]):
                if offered[barred.item[j]]:
                    count(begin, aspect, of_item[barred.item[j]], -1, open_)
        if listed.owner.size:
            for j in range(listed.start[listed.owner[u]], listed.start[listed.owner[u] + 1]):
                count(begin, aspect, of_item[listed.item[j]], 1, open_)
        for j in range(rows.start[u], rows.start[u + 1]):
            count(begin, aspect, of_item[rows.item[j]], 1, open_)
        possible = 0
        for a in range(open_.size):
            possible += open_[a] > 0
        found, done = 0, 0
        for r in range(lists.start[u], min(lists.start[u + 1], lists.start[u] + k)):
            if not lists.counts[r]:
                continue
            s = of_item[lists.item[r]]
            for x in range(begin[s], begin[s + 1]):
                if open_[aspect[x]] > 0 and not seen[aspect[x]]:
                    seen[aspect[x]] = True
                    found += 1
            if found == possible and done == 0:
                done = r - lists.start[u] + 1
        covered[u], attainable[u], complete[u] = found, possible, done


@inner
def count(begin, aspect, which, step, number):
    """Count the aspects of a set up or down."""
    for x in range(begin[which], begin[which + 1]):
        number[aspect[x]] += step
