"""Compiled: heaps of entries with an upper bound each, highest bound first, equal bounds by the smaller code."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def leads(one, other, bound, code):
    """Whether an entry comes before another."""
    return bound[one] > bound[other] or (bound[one] == bound[other] and code[one] < code[other])


@njit(nogil=True, cache=True)
def sink(heap, size, place, bound, code):
    """Let the entry at a place go down to where it belongs."""
    entry = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and leads(heap[child + 1], heap[child], bound, code):
            child += 1
        if not leads(heap[child], entry, bound, code):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry


@njit(nogil=True, cache=True)
def push(heap, size, entry, bound, code):
    """Add an entry; returns the new size."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if not leads(entry, heap[above], bound, code):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = entry
    return size + 1


@njit(nogil=True, cache=True)
def pop(heap, size, bound, code):
    """Take the first entry away; returns the new size."""
    size -= 1
    heap[0] = heap[size]
    if size > 1:
        sink(heap, size, 0, bound, code)
    return size


@njit(nogil=True, cache=True)
def heapify(heap, size, bound, code):
    """Bring entries 0 to size - 1 in order."""
    for entry in range(size):
        heap[entry] = entry
    for place in range(size // 2 - 1, -1, -1):
        sink(heap, size, place, bound, code)
