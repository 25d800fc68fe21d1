"""Where judged items stand in a block of equal scores that comes in a random order: means of 1/rank, exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueval.metrics.discount import harmonic


def mean_inverse_ranks(
    above: np.ndarray, size: np.ndarray, judged: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """E[1/rank] of the first, second, … of N judged items among T equals with `above` items above them (a).

    Yields rows, the place j among the judged items and its mean E_j, some rows at a time, until every row has had all
    of its places. From C(r-1,j-1)/(a+r), summed over r with the ways to place the others,

        (N - j)·(a + j)/j · E_j + (a + j + T - N + 1) · E_(j+1) = N/j

    follows, so that each mean gives its neighbours. Errors shrink upwards from the place where the two factors are
    equal, and downwards below it: there the recursion starts.

    >>> found = {int(j[0]): float(mean[0]) for _, j, mean in mean_inverse_ranks(*np.array([[0], [3], [2]]))}
    >>> {j: round(mean, 6) for j, mean in sorted(found.items())}  # (1 + 1 + 1/2)/3 and (1/2 + 1/3 + 1/3)/3
    {1: 0.833333, 2: 0.388889}
    """
    a, n, rest = (column.astype(np.float64) for column in (above, judged, size - judged))
    begin = _steady_place(a, n, rest)
    mean = _first_means(above, size, judged, begin)
    yield np.arange(len(n)), begin, mean
    up, down = judged - begin, begin - 1
    for rows, steps in _shrinking(up):
        j = (begin[rows] + steps).astype(np.float64)
        mean[rows] = (n[rows] / j - (n[rows] - j) * (a[rows] + j) / j * mean[rows]) / (a[rows] + j + rest[rows] + 1)
        yield rows, begin[rows] + steps + 1, mean[rows]
    mean = _first_means(above, size, judged, begin)
    for rows, steps in _shrinking(down):
        j = (begin[rows] - steps - 1).astype(np.float64)
        lower = n[rows] - j * (a[rows] + j + rest[rows] + 1) * mean[rows]
        mean[rows] = lower / ((n[rows] - j) * (a[rows] + j))
        yield rows, begin[rows] - steps - 1, mean[rows]


def _steady_place(a: np.ndarray, n: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The place from which on the recursion upwards lets errors shrink: N·a + j·(N - 2a - rest - 1) - 2j² ≤ 0."""
    slope = n - 2 * a - rest - 1
    root = (slope + np.sqrt(slope**2 + 8 * n * a)) / 4
    return np.clip(np.ceil(root), 1, n).astype(np.int64)


def _shrinking(steps: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Rows that have a step 0, a step 1, …, until none is left."""
    order = np.argsort(-steps, kind="stable")
    left = np.searchsorted(-steps[order], -np.arange(int(steps.max(initial=0))), side="left")
    for step, number in enumerate(left):
        yield order[:number], step


def _first_means(above: np.ndarray, size: np.ndarray, judged: np.ndarray, place: np.ndarray) -> np.ndarray:
    """E[1/rank] of one judged item of each row: of the first one at the top in closed form, others by summing."""
    table = harmonic(int(size.max(initial=1)))
    mean = judged / (size - judged + 1) * (table.upto(size) - table.upto(judged - 1))
    rows = np.flatnonzero((above > 0) | (place > 1))
    if len(rows):
        mean[rows] = _summed(*(column[rows] for column in (above, size, judged, place)))
    return mean


def _summed(above: np.ndarray, size: np.ndarray, judged: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The same, from the chance of every number of unjudged items before the judged one."""
    from scipy.special import gammaln

    number = size - judged + 1
    first = np.concatenate([[0], np.cumsum(number)[:-1]])
    row = np.repeat(np.arange(len(size)), number)
    x = np.arange(len(row)) - first[row]
    j, rest, behind = place[row], (size - judged)[row], (judged - place)[row]
    ways = gammaln(j + x) - gammaln(x + 1.0) + gammaln(behind + rest - x + 1.0) - gammaln(rest - x + 1.0)
    chance = np.exp(ways - np.maximum.reduceat(ways, first)[row])
    return np.add.reduceat(chance / (above[row] + j + x), first) / np.add.reduceat(chance, first)
