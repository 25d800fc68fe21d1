"""Systems that are worse than the ideal by known steps (Parapar and Radlinski 2021, §5.2), and shuffled ones.

Each function yields a column of items for every step, in the places of the ideal rankings: `ideal.run(column)` is the
run of that system. Whatever a metric measures, it should fall from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueval.errors import DefinitionError
from trueval.simulation.aspect_balance import NO_ASPECT, balanced_order
from trueval.simulation.ideal_rankings import IdealRankings
from trueval.splits.row_hashing import chain, coin


def swapped_ends(ideal: IdealRankings, steps: int, *, depth: int = 100) -> Iterator[np.ndarray]:
    """Relevance spoilt: at step s the first s items have changed places with the last s, 1 ↔ k, 2 ↔ k−1, …

    k is the length of the ranking, at most `depth`; a ranking is turned round completely after k/2 steps.

    >>> ["".join(ideal.run(item)["item"]) for ideal in [_example()] for item in swapped_ends(ideal, 2)]
    ['dbcea', 'decba']
    """
    _check_steps(steps)
    end = np.minimum(ideal.length, depth)[ideal.user]
    from_end = end - 1 - ideal.place
    mirrored = np.where(from_end >= 0, ideal.start[:-1][ideal.user] + from_end, 0)
    nearer = np.where(from_end >= 0, np.minimum(ideal.place, from_end), len(ideal.item))
    for step in range(1, steps + 1):
        moved = (nearer < step) & (from_end != ideal.place)
        yield ideal.item[np.where(moved, mirrored, np.arange(len(ideal.item)))]


def repeated_aspect(ideal: IdealRankings, steps: int) -> Iterator[np.ndarray]:
    """Diversity spoilt: where the ideal first turns to another aspect, s more items of the same aspect come.

    At each of these places the next item of the aspect's list changes places with the item that stood there. A user
    whose list is used up keeps the ranking of the step before.

    >>> ["".join(ideal.run(item)["item"]) for ideal in [_example()] for item in repeated_aspect(ideal, 2)]
    ['acbed', 'acdeb']
    """
    _check_steps(steps)
    new = np.zeros(len(ideal.item), bool)
    new[1:] = (ideal.aspect[1:] != ideal.aspect[:-1]) & (ideal.user[1:] == ideal.user[:-1])
    turn = np.full(len(ideal.start) - 1, len(ideal.item), np.int64)
    np.minimum.at(turn, ideal.user[new], ideal.place[new])
    turns = turn < len(ideal.item)
    current = np.full(len(turn), NO_ASPECT)
    current[turns] = ideal.aspect[ideal.start[:-1][turns] + turn[turns] - 1]
    item, preference = ideal.item.copy(), ideal.preference.copy()
    shows = ideal.shows(item, current[ideal.user])
    for step in range(steps):
        waiting = np.flatnonzero(shows & (ideal.place >= (turn + step)[ideal.user]))
        best = np.lexsort((preference[waiting], ideal.user[waiting]))
        user, first = np.unique(ideal.user[waiting], return_index=True)
        found, place = waiting[best][first], ideal.start[user] + turn[user] + step
        for column in (item, preference, shows):
            column[found], column[place] = column[place].copy(), column[found].copy()
        yield item.copy()


def swapped_first(ideal: IdealRankings, steps: int) -> Iterator[np.ndarray]:
    """Interest spoilt: the first item is that of the user's s-th next aspect, of those that the first item lacks.

    Aspects count in the order of the user's interest. The first item of the aspect's list changes places with the first
    of the ranking; users without so many aspects keep the ideal ranking (`can_swap_first` says who they are).

    >>> ["".join(ideal.run(item)["item"]) for ideal in [_example()] for item in swapped_first(ideal, 2)]
    ['baced', 'abced']
    """
    _check_steps(steps)
    order, number = _next_aspects(ideal)
    top = _first_of_aspects(ideal)
    for step in range(steps):
        item = ideal.item.copy()
        user = np.flatnonzero(number > step)  # nobody has more aspects than there are
        one, other = ideal.start[user], top[user, order[user, min(step, order.shape[1] - 1)]]
        item[one], item[other] = ideal.item[other], ideal.item[one]
        yield item


def can_swap_first(ideal: IdealRankings, step: int) -> np.ndarray:
    """Which users have so many aspects besides those of the first item.

    >>> can_swap_first(_example(), 1).tolist(), can_swap_first(_example(), 2).tolist()
    ([True], [False])
    """
    return _next_aspects(ideal)[1] >= step


def shuffled_rankings(ideal: IdealRankings, *, seed: int, alike: bool = False) -> np.ndarray:
    """The rated items of every user in an order by chance.

    Each user has an order of their own, which depends on the seed, the user and the item; with `alike`, places of the
    ideal rankings are ordered by chance once, and all users' items follow that order.

    >>> sorted(_example().items.decode(shuffled_rankings(_example(), seed=1)))
    ['a', 'b', 'c', 'd', 'e']
    """
    words = chain(seed, "shuffled places", ideal.place) if alike else chain(
        seed, "shuffled rankings", ideal.user, ideal.item)  # fmt: skip
    return ideal.item[np.lexsort((ideal.item, coin(words), ideal.user))]


def removal_places(ideal: IdealRankings, *, seed: int) -> np.ndarray:
    """When each rating goes, from 0 for the first of its user's, if ratings are removed in proportion to aspects.

    Removals are dealt to aspects in proportion to their presence among the user's items; which item of an aspect goes
    is left to chance. Ratings with a place below share · (number of ratings) are those of a removed share.

    >>> sorted(removal_places(_example(), seed=3).tolist())
    [0, 1, 2, 3, 4]
    """
    chance = coin(chain(seed, "proportional removal", ideal.user, ideal.item))
    drawn = np.lexsort((ideal.item, chance, ideal.user))
    order = balanced_order(ideal.start, ideal.item[drawn], np.ones(len(drawn)), ideal.aspects).row
    place = np.empty(len(drawn), np.int64)
    place[drawn[order]] = ideal.place
    return place


def _next_aspects(ideal: IdealRankings) -> tuple[np.ndarray, np.ndarray]:
    """Each user's aspects that the first item lacks, most interesting first, and how many the user has rated."""
    first = ideal.item[ideal.start[:-1]]
    every = np.arange(len(ideal.aspects))
    lacks = ~ideal.shows(first[:, None], every[None, :]) & (ideal.weights > 0)
    interest = np.where(lacks, ideal.weights, -1.0)
    return np.argsort(-interest, axis=1, kind="stable"), lacks.sum(axis=1)


def _first_of_aspects(ideal: IdealRankings) -> np.ndarray:
    """Row of the first item of each user's list of each aspect, −1 without any."""
    best_first = np.lexsort((ideal.preference, ideal.user))[::-1]
    top = np.full((len(ideal.start) - 1, len(ideal.aspects)), -1, np.int64)
    for aspect in range(len(ideal.aspects)):
        rows = best_first[ideal.shows(ideal.item[best_first], np.full(len(best_first), aspect))]
        top[ideal.user[rows], aspect] = rows  # the best comes last, and stays
    return top


def _check_steps(steps: int) -> None:
    if steps < 1:
        raise DefinitionError("rankings are spoilt by at least one step", found=f"steps={steps}")


def _example() -> IdealRankings:
    """One user and five items, ideally abced: the ranking of the examples."""
    import polars as pl

    from trueval.data.interactions import Interactions
    from trueval.simulation.ideal_rankings import ideal_rankings

    items = pl.DataFrame({"item": list("abcde"), "aspects": ["war", "drama", "war", "war", "drama"]})
    log = pl.DataFrame({"user": [1] * 5, "item": list("abcde"), "value": [5, 4, 3, 2, 1]})
    return ideal_rankings(Interactions.of(log, items=items))
