"""Facts and inputs as the columns that the kernels of aspect metrics read."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.data.aspects import Aspects
from trueval.data.by_user import ByUser
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.aspect_rows import AspectLists, ItemAspects, Owned, Pool, RankedRows, Rated
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.grade_checks import MOST_EXPONENTIAL, MOST_LINEAR, check_grades
from trueval.metrics.metric_inputs import require
from trueval.metrics.registry import Parameter

ALPHA = Parameter(0.5, low=0.0, high=1.0, meaning="share of the interest in its aspects that a relevant item satisfies")
PROFILE = Parameter("train", ("train", "test"), meaning="ratings that give the user's interest in each aspect")
GAIN = Parameter(
    "binary", ("binary", "graded", "probabilistic"),
    meaning="1 for every relevant item, value/highest value, or that with an interest that fades in proportion",
)  # fmt: skip
COUNTS = "write counts as 1, or take a metric with gain=binary; or use values of a rating scale"
NOBODY = np.empty(0, np.int64)
# Units one worker takes at a time; it changes nothing but speed.
BLOCK = 4096


def run(facts: RankingFacts, work: int, kernel: str, *columns: Any, out: tuple[np.ndarray, ...]) -> None:
    """Run a kernel over all units, in blocks."""
    function = getattr(choose("aspects", work), kernel)

    def block(part: slice) -> None:
        function(*columns, part.start, part.stop, *out)

    parts = blocks(len(facts), BLOCK)
    for _ in in_order(block, parts) if len(parts) > 1 else map(block, parts):
        pass


def item_aspects(aspects: Aspects, lists_of: RankingFacts | None = None) -> ItemAspects:
    """Aspects of items, by way of their distinct sets; with lists that have misses, also of an item without any."""
    of_item = aspects.sets.of_item
    if lists_of is not None and lists_of.misses is not None:
        of_item = np.append(of_item, of_item.dtype.type(0))  # the first set is the empty one
    return ItemAspects(of_item, aspects.sets.start, aspects.sets.aspect, len(aspects))


def in_list_order(facts: RankingFacts) -> tuple[np.ndarray | slice, np.ndarray]:
    """Order of judged rows by the rank they were shown at, and these ranks: a tie rule may have moved `rank`."""
    if facts.list_rank is None:
        return slice(None), facts.rank
    if "list order" not in facts.memory:
        rank = facts.list_rank
        facts.memory["list order"] = np.lexsort((facts.item, rank, rank == 0, facts.unit))
    order = facts.memory["list order"]
    return order, facts.list_rank[order]


def in_item_order(facts: RankingFacts) -> np.ndarray:
    """Order of judged rows by item within each unit: ties go to the smaller code, whatever the ranking."""
    if "item order" not in facts.memory:
        rows = ByUser.of(facts.unit, facts.item, np.arange(len(facts.item)), n_users=len(facts))
        facts.memory["item order"] = rows.value
    return facts.memory["item order"]


def gains(facts: RankingFacts, alpha: float, gain: str, interest: Interest) -> tuple[np.ndarray, np.ndarray]:
    """What each judged row gains, and by how much it lets the interest in its aspects fade."""
    relevant = facts.relevant.astype(np.float64)
    if gain == "binary":
        return relevant, alpha * relevant
    graded = np.where(facts.relevant, facts.value, 0.0) / highest(facts, interest)
    return graded, alpha * (relevant if gain == "graded" else graded)


def highest(facts: RankingFacts, interest: Interest) -> float:
    """The highest value of the scale; values must not be negative, and the highest must be positive."""
    low, high = min(float(facts.value.min(initial=0)), interest.bounds()[0]), interest.bounds()[1]
    if low < 0 or high <= 0:
        raise DefinitionError(
            "graded gains need a scale that begins at 0 or above",
            found=f"values from {low:g} to {high:g}",
            do="use gain=binary, or shift the values",
        )
    check_grades(facts, "a graded gain", most=MOST_LINEAR, highest=high, do=COUNTS)
    return high


def exponential(facts: RankingFacts, highest: float = 0.0) -> np.ndarray:
    """2^value - 1 of each judged row that is relevant; `highest` is the top of the scale, where it is known."""
    check_grades(facts, "2^value", most=MOST_EXPONENTIAL, highest=highest, do=COUNTS)
    return np.exp2(np.where(facts.relevant, facts.value, 0.0)) - 1


def ranked_rows(facts: RankingFacts, gain: np.ndarray, fade: np.ndarray) -> RankedRows:
    """Judged rows in the order shown."""
    order, rank = in_list_order(facts)
    return RankedRows(
        column(facts.start, np.int64),
        column(facts.item[order], np.int32),
        column(rank, np.int32),
        column(gain[order], np.float64),
        column(fade[order], np.float64),
    )


def column(values: np.ndarray, kind: type) -> np.ndarray:
    """A column of one type and layout, or the kernels would be compiled again for every other."""
    return np.require(values, kind, ["C", "W"])


def profile_rows(facts: RankingFacts, interest: Interest, profile: str, *, metric: str) -> Owned:
    """The ratings that give each unit's interest."""
    if profile == "test":
        order = in_item_order(facts)
        found = ByUser(facts.start, facts.item[order], facts.value[order])
        owner = np.arange(len(facts), dtype=np.int64)
    else:
        found = require(interest.ratings, "interest", metric=metric)()
        owner = facts.unit_user.astype(np.int64)
    value = np.ones(len(found.item)) if found.value is None else found.value
    if value.min(initial=0) < 0:
        raise DefinitionError(
            f"{metric} cannot weigh aspects by negative ratings",
            found=f"a rating of {value.min():g} in the {profile} profile",
            do="shift the values, so that the lowest is 0",
        )
    return Owned(owner, column(found.start, np.int64), column(found.item, np.int32), column(value, np.float64))


def no_profile() -> Owned:
    """Every aspect weighs 1."""
    return Owned(NOBODY, NOBODY, np.empty(0, np.int32), np.empty(0))


def owned(rows: ByUser | None, facts: RankingFacts) -> Owned:
    """Items by user, read unit by unit."""
    if rows is None or facts.condensed:
        return no_profile()
    return Owned(
        facts.unit_user.astype(np.int64), column(rows.start, np.int64), column(rows.item, np.int32), np.empty(0)
    )


def rated_rows(facts: RankingFacts, gain: np.ndarray) -> Rated:
    """Judged rows as they are. Where ranks are exact, an item without one is not a target."""
    target = (facts.rank > 0) | (not facts.exact)
    return Rated(column(facts.start, np.int64), column(facts.item, np.int32), column(gain, np.float64), target)


def list_rows(facts: RankingFacts, counts: np.ndarray | None = None) -> AspectLists:
    """The lists, and which of their rows count; a miss is the item behind all others (see `item_aspects`)."""
    counted = np.ones(len(facts.list_item), bool) if counts is None else counts
    item = facts.list_item if facts.misses is None else np.where(facts.misses, len(facts.items), facts.list_item)
    return AspectLists(column(facts.list_start, np.int64), column(item, np.int32), counted)


def pool_of(facts: RankingFacts, aspects: Aspects, targets: Targets) -> Pool:
    """Targets that may be unrated, grouped by their set of aspects; those without any aspect gain nothing."""
    sets = aspects.sets
    units = len(facts)
    if targets.listed is None or facts.condensed:
        mask = targets.offered & (sets.of_item > 0) & (not facts.condensed)
        item = np.flatnonzero(mask).astype(np.int32)
        item = item[np.argsort(sets.of_item[item], kind="stable")]
        new = np.flatnonzero(np.diff(sets.of_item[item], prepend=-1))
        first, last = np.zeros(units, np.int64), np.full(units, len(new), np.int64)
    else:
        rows = targets.listed.pick(facts.unit_user)
        unit, item = rows.user, rows.item
        kept = sets.of_item[item] > 0
        unit, item = unit[kept], item[kept]
        order = np.lexsort((item, sets.of_item[item], unit))
        unit, item = unit[order], item[order]
        new = np.flatnonzero((np.diff(sets.of_item[item], prepend=-1) != 0) | (np.diff(unit, prepend=-1) != 0))
        bounds = np.concatenate([[0], np.cumsum(np.bincount(unit[new], minlength=units))])
        first, last = bounds[:-1], bounds[1:]
    start = np.append(new, len(item)).astype(np.int64)
    which = sets.of_item[item[new]]
    widest = int(np.diff(sets.start).max(initial=0))
    return Pool(first, last, which, start, item, sets.node[which], sets.parent, sets.added, widest)


def log2_discount(deepest: int) -> np.ndarray:
    """1 / log2(rank + 1), by rank."""
    return with_zero(1 / np.log2(np.arange(1, deepest + 1) + 1))


def with_zero(weights: np.ndarray) -> np.ndarray:
    """A table by rank: ranks begin at 1."""
    return np.concatenate([[0.0], weights])


def places(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Number of ranked items of each unit within the cutoff: all targets where ranks are exact, else what was shown."""
    number = facts.targets if facts.exact else facts.length
    return number if k is None else np.minimum(number, k)


def deepest(facts: RankingFacts, k: int | None) -> int:
    """The deepest place that may count."""
    return int(places(facts, k).max(initial=1))
