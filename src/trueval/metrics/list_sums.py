"""What metrics of the lists themselves share: sums over their places, and how often each item was recommended.

A place that holds no item of the catalogue (see `facts.invalid_places`) is a place of its list, and adds nothing: it is
in the denominators of means over places, in no numerator, and in no count of items.

Where equal scores are left open (ties=expected, worst, best) a sum over places is the exact mean over all orders
of equals, or that of the order that makes it highest or lowest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueval.facts.equal_scores import list_blocks, tied_lists
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import SETTLED
from trueval.kernels import blocks
from trueval.metrics.discount import Table, log2
from trueval.metrics.metric_values import Added, Tally

_AT_ONCE = 1 << 17  # rows whose items are counted: few enough for the cache
Amount = Callable[[np.ndarray], np.ndarray]  # what some rows of the lists (a mask of them) are worth


def place_sum(facts: RankingFacts, k: int, amount: Amount, discount: Table | None = None) -> np.ndarray:
    """Σ over the first k places of each list of what the item there is worth, times the discount of the place."""
    if facts.ties in ("worst", "best") and is_open(facts, k):
        inside = facts.top(k)
        weight = None if discount is None else discount.at(facts.place[inside])
        every = amount(np.ones(len(facts.list_item), bool))
        worth = _arranged(facts, every if facts.misses is None else np.where(facts.misses, 0.0, every))[inside]
    else:
        inside, weight = within(facts, k, discount)
        worth = amount(inside)
    return facts.per_unit(facts.list_unit[inside], worth if weight is None else weight * worth)


def within(facts: RankingFacts, k: int, discount: Table | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of the lists whose items are within k, or may be, and how much their place counts (None: 1 each).

    Places that hold no item of the catalogue add nothing to any sum or count.
    """
    if facts.ties != "expected" or not is_open(facts, k):
        inside = facts.top(k) if facts.misses is None else facts.top(k) & ~facts.misses
        return inside, None if discount is None else discount.at(facts.place[inside])
    above, size, _ = list_blocks(facts)
    inside = above < k if facts.misses is None else (above < k) & ~facts.misses
    return inside, mean_weight(above[inside], size[inside], k, discount)


def mean_weight(above: np.ndarray, size: np.ndarray, k: int, discount: Table | None) -> np.ndarray:
    """Mean, over the places of some equals, of what a place counts: its discount (None: 1) within k, 0 behind."""
    low, high = np.minimum(above, k), np.minimum(above + size, k)
    if discount is None:
        return (high - low) / size
    # alone, an item counts to the bit like its place, whether there are equals elsewhere or not
    one = np.where(high > low, discount.at(high), 0.0)
    return np.where(size == 1, one, (discount.upto(high) - discount.upto(low)) / size)


def is_open(facts: RankingFacts, k: int) -> bool:
    """Whether equals down to k are left open."""
    key = ("open", k)
    if key not in facts.memory:
        facts.memory[key] = facts.ties not in SETTLED and len(tied_lists(facts, k)) > 0
    return facts.memory[key]


def _arranged(facts: RankingFacts, worth: np.ndarray) -> np.ndarray:
    """What each place of the lists is worth, the best (ties=worst: the worst) of equals first."""
    first = worth if facts.ties == "worst" else -worth
    return worth[np.lexsort((first, list_blocks(facts).above, facts.list_unit))]


def tally(facts: RankingFacts, k: int, finish: Callable[[np.ndarray], float], *, exposure: bool = False) -> Tally:
    """A metric of how often each item was recommended; where equals are open, of the expected number."""
    key = ("recommended rows", k, exposure)
    if key not in facts.memory:
        inside, amount = within(facts, k, log2(max(facts.depth, 1)) if exposure else None)
        if facts.ties == "expected" and not exposure:  # all parts of a run count alike
            amount = np.ones(np.count_nonzero(inside)) if amount is None else _rounded(amount, 32)
        facts.memory[key] = _added(facts, (k, exposure, facts.ties), inside, facts.list_item[inside], amount)
    added = facts.memory[key]
    return Tally(_counts(facts, added, len(facts.items)), finish, (added,))


def recommended_counts(facts: RankingFacts, k: int) -> np.ndarray:
    """How often each item is within the first k of a list; where equals are open, the expected number."""
    key = ("counts", (k, False, facts.ties))
    if key in facts.memory:  # a metric has counted them
        counted: np.ndarray = facts.memory[key]
        return counted
    inside, amount = within(facts, k)
    items = facts.list_item if inside.all() else facts.list_item[inside]
    if amount is not None:
        return np.bincount(items, weights=_rounded(amount, 32), minlength=len(facts.items))
    counts = np.zeros(len(facts.items), np.int64)
    for part in blocks(len(items), max(_AT_ONCE, len(counts))):  # at once, all would be copied to 64 bits
        counts += np.bincount(items[part], minlength=len(counts))
    return counts


def recommended_to_anyone(facts: RankingFacts, k: int, finish: Callable[[np.ndarray], float]) -> Tally:
    """A metric of which items are recommended to anyone; in expectation, of the probability of each.

    The probability that an item is recommended to nobody is a product over users, so logarithms are added up; items
    that are certain to be recommended to somebody are counted separately.
    """
    if facts.ties != "expected":
        return tally(facts, k, lambda counts: finish(counts > 0))
    number = len(facts.items)

    def chances(counts: np.ndarray) -> float:
        return finish(np.where(counts[:number] > 0, 1.0, -np.expm1(-counts[number:])))

    key = ("shown to anyone", k)
    if key not in facts.memory:
        inside, chance = within(facts, k)
        chance = np.ones(np.count_nonzero(inside)) if chance is None else chance
        sure = chance >= 1
        amount = _rounded(-np.log1p(-np.where(sure, 0.0, chance)), 40)
        place = facts.list_item[inside] + np.where(sure, 0, number)
        facts.memory[key] = _added(facts, key, inside, place, np.where(sure, 1.0, amount))
    added = facts.memory[key]
    return Tally(_counts(facts, added, 2 * number), chances, (added,))


def _rounded(amount: np.ndarray, bits: int) -> np.ndarray:
    """Amounts in whole parts of 2^-bits: their sums are then the same in whatever parts they are added up."""
    return np.ldexp(np.rint(np.ldexp(amount, bits)), -bits)


def _added(facts: RankingFacts, key: tuple, inside: np.ndarray, place: np.ndarray, amount: np.ndarray | None) -> Added:
    return Added(key, facts.unit_user[facts.list_unit[inside]], place, amount)


def _counts(facts: RankingFacts, added: Added, number: int) -> np.ndarray:
    key = ("counts", added.key)
    if key not in facts.memory:
        facts.memory[key] = np.bincount(added.place, weights=added.amount, minlength=number).astype(np.float64)
    return facts.memory[key]


def list_mean(facts: RankingFacts, k: int, amounts: np.ndarray) -> np.ndarray:
    """Mean of an amount per item over each list cut at k; NaN for an empty list."""
    return list_share(facts, k, lambda rows: amounts[facts.list_item[rows]])


def list_share(facts: RankingFacts, k: int, amount: Amount) -> np.ndarray:
    """The same of an amount per row of the lists."""
    listed = facts.listed_at(k)
    total = place_sum(facts, k, amount)
    return np.divide(total, listed, out=np.full(len(facts), np.nan), where=listed > 0)


def discounted_mean(facts: RankingFacts, k: int, amounts: np.ndarray, *, relevance: bool) -> np.ndarray:
    """Σ discount · relevance · amount / Σ discount over each list; `amounts` is per row of the lists.

    A user without recommendations discovers nothing: an empty list has 0, and stays in the mean.
    """
    table = log2(max(facts.depth, 1))

    def worth(rows: np.ndarray) -> np.ndarray:
        return amounts[rows] * facts.list_relevant[rows] if relevance else amounts[rows]

    below = table.upto(facts.listed_at(k))
    return np.divide(place_sum(facts, k, worth, table), below, out=np.zeros(len(facts)), where=below > 0)
