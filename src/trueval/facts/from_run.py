"""Facts from recommendations already made: lists are joined with the judgements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from trueval.data.by_user import user_blocks
from trueval.data.coded_column import CodedColumn
from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.facts.equal_scores import same_as_next
from trueval.facts.invalid_places import MISS, MISSED, REFUSE, InvalidPlaces
from trueval.facts.ordered_lists import OrderedLists, code_ids, order_run
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.facts.run_checks import check_catalogue, refuse_duplicates
from trueval.facts.tie_rules import SETTLED, with_ties
from trueval.facts.truth import Truth, check_common_ids
from trueval.kernels import choose, gather, in_order

if TYPE_CHECKING:
    from trueval.design.task import Task


def run_facts(
    run: pl.DataFrame, truth: Truth, *, ties: str = "random", name: str = "run", whole: bool = True,
    items: CodedColumn | None = None, invalid: str = REFUSE,
) -> RankingFacts:  # fmt: skip
    """Facts of a run: a table with `user`, `item` and `score` or `rank` (or, with ties="given", neither).

    A part of a run (`whole=False`) may well have nothing in common with the test set, a whole run may not. `items` is
    the column of the run, where it is coded, and `invalid` the rule for places that cannot count.
    """
    built = ties if ties in SETTLED else "random"
    lists = order_run(run, truth, ties=built, name=name, items=items, invalid=invalid)
    places, outside, repeated = len(lists.item), 0, 0
    if invalid != REFUSE:
        lists, outside = settle_places(lists, outside_catalogue(lists.item, truth), invalid)
    joined = join(lists, truth.judged.rows.start, truth.judged.rows.item, len(truth.items))
    if joined.doubled and invalid != REFUSE:
        lists, repeated = settle_places(lists, repeated_places(lists), invalid)
        joined = join(lists, truth.judged.rows.start, truth.judged.rows.item, len(truth.items))
    if whole and not joined.rank.any():  # not even one judged item is where it should be
        check_common_ids(run["user"], run["item"], truth, name)
    if joined.doubled:
        refuse_duplicates(lists.start, lists.item, truth, name)
    splits = np.zeros(int(np.diff(lists.start).max(initial=0)), np.int64)
    if len(lists.score) and not lists.distinct:
        choose("lists", len(lists.item) + len(joined.rank)).count_splits(lists.start, lists.score, splits)
    facts = joined_facts(
        joined,
        truth,
        list_start=lists.start,
        list_item=lists.item,
        ties=built if len(lists.score) else "random",
        exact=_shows_all(lists, truth) and bool((joined.rank > 0).all()),
        splits=splits,
        listed=np.diff(lists.start) > 0,
        list_same=None if ties == built else _same(lists),
        invalid=None if invalid == REFUSE else InvalidPlaces(outside, repeated, places),
    )
    return facts if ties == built else with_ties(facts, ties)


def settle_places(lists: OrderedLists, invalid: np.ndarray, rule: str) -> tuple[OrderedLists, int]:
    """Lists whose invalid places are missed, or dropped, and how many these are."""
    number = int(np.count_nonzero(invalid))
    if not number:
        return lists, 0
    if rule == MISS:
        return replace(lists, item=np.where(invalid, np.int32(MISSED), lists.item)), number
    kept = ~invalid
    ends = np.concatenate([[0], np.cumsum(kept)])
    score = lists.score[kept] if len(lists.score) else lists.score
    return replace(lists, start=ends[lists.start], item=lists.item[kept], score=score), number


def outside_catalogue(item: np.ndarray, truth: Truth) -> np.ndarray:
    """Which codes are those of no item that could be recommended."""
    outside: np.ndarray = item >= len(truth.items)
    if truth.catalogue is not None:
        outside[~outside] = ~truth.catalogue[item[~outside]]
    return outside


def repeated_places(lists: OrderedLists) -> np.ndarray:
    """Which places hold an item that stands higher up in the same list."""
    unit = np.repeat(np.arange(len(lists.start) - 1), np.diff(lists.start))
    order = np.lexsort((lists.item, unit))  # stable: of equal items, the highest place comes first
    unit, item = unit[order], lists.item[order]
    again = np.zeros(len(item), bool)
    again[order[1:]] = (item[1:] == item[:-1]) & (unit[1:] == unit[:-1]) & (item[1:] >= 0)
    return again


class Joined(NamedTuple):
    """Judged rows by rank: where each comes from, its rank (0: not in the list), items strictly above and tied."""

    order: np.ndarray
    rank: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    doubled: bool  # whether a list has an item twice


def join(lists: OrderedLists, judged_start: np.ndarray, judged_item: np.ndarray, n_items: int) -> Joined:
    """Find the judged items of each user in the user's list."""
    rank, above, tied = (np.zeros(len(judged_item), np.int32) for _ in range(3))
    order = np.empty(len(judged_item), np.int32 if len(judged_item) < 2**31 else np.int64)
    kernels = choose("lists", len(lists.item) + len(judged_item))

    def work(part: slice) -> int:
        return kernels.join_lists(
            lists.start, lists.item, lists.score, judged_start, judged_item, n_items,
            part.start, part.stop, order, rank, above, tied,
        )  # fmt: skip

    doubled = max(in_order(work, user_blocks(len(judged_start) - 1)), default=-1) >= 0
    return Joined(order, rank, above, tied, doubled)


def joined_facts(joined: Joined, truth: Truth, **fields: Any) -> RankingFacts:
    """The facts of lists that are joined with the judgements; `fields` tell of the lists."""
    rows = truth.judged.rows
    targets, n_catalogue = _targets(truth)
    assert rows.value is not None
    return RankingFacts(
        unit_user=np.arange(len(truth.users), dtype=np.int32),
        start=rows.start,
        item=gather(rows.item, joined.order),
        value=_reordered(rows.value, joined.order),
        relevant=_reordered(truth.judged.relevant, joined.order),
        rank=joined.rank,
        above=joined.above,
        tied=joined.tied,
        targets=targets,
        users=truth.users,
        items=truth.items,
        catalogue=n_catalogue,
        highest=truth.judged.highest,
        **fields,
    )


def _reordered(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """`values[order]`; most test sets have one value, for which nothing need be looked up."""
    if values.strides == (0,):  # one value for all
        return values
    first = values[:1]
    return np.full(len(order), first[0]) if len(order) and (values == first).all() else gather(values, order)


def _same(lists: OrderedLists) -> np.ndarray:
    return same_as_next(lists.start, lists.score) if len(lists.score) else np.zeros(len(lists.item), bool)


def _targets(truth: Truth) -> tuple[np.ndarray, int]:
    """How many items could be recommended to each user (unknown without a catalogue), and how many there are."""
    if truth.catalogue is None:
        return np.full(len(truth.users), UNKNOWN), len(truth.items)
    number = int(truth.catalogue.sum())
    targets = np.full(len(truth.users), number)
    if truth.train is not None and not truth.seen_allowed:
        targets -= truth.train.where(truth.catalogue[truth.train.item]).counts
    return targets, number


def _shows_all(lists: OrderedLists, truth: Truth) -> bool:
    """Whether every list holds all targets of its user and nothing else."""
    if not may_show_all(np.diff(lists.start), truth):
        return False
    if lists.item.min(initial=0) < 0:  # a place that cannot count stands where a target could
        return False
    if truth.train is None or truth.seen_allowed:
        return True
    user = np.repeat(np.arange(len(truth.users)), np.diff(lists.start))
    return not truth.train.contains(user, lists.item).any()


def may_show_all(length: np.ndarray, truth: Truth) -> bool:
    """Whether every list is as long as its user has targets."""
    return truth.catalogue is not None and bool((length == _targets(truth)[0]).all())


def run_task_facts(
    run: pl.DataFrame, task: Task, *, ties: str = "random", name: str = "run", invalid: str = REFUSE
) -> RankingFacts:
    """Facts of a run under a design: its lists cut to each user's targets, which must not be sampled.

    Items that the split does not know are invalid; those that are no targets of a user are left out, as the design
    says.
    """
    if task.sample is not None:
        raise DefinitionError(
            f"the run {name} cannot be evaluated under {task.design}",
            found="a list gives no rank to targets that it does not contain",
            do="use a design with all non-relevant items (AN), or the model itself",
        )
    users = Ids(task.users.decode(task.unit_user))
    candidate = np.zeros(len(task.items), bool)
    candidate[task.candidates] = True
    user = code_ids(run, "user", users, name)
    item = code_ids(run, "item", task.items, name)
    strange = item < 0
    if invalid == REFUSE:
        check_catalogue(run, item, np.ones(len(task.items), bool), name)
    strangers = Ids.of(run["item"].filter(pl.Series(strange)))
    truth = Truth(
        users, task.items, task.judged, task.barred, candidate, task.seed, task.unit_user, strangers=strangers
    )
    kept = strange | (candidate[item] & ~task.barred.contains(user, item))
    return run_facts(run.filter(pl.Series(kept)), truth, ties=ties, name=name, invalid=invalid).changed(
        unit_user=task.unit_user, users=task.users
    )
