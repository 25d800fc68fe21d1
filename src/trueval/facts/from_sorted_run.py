"""Facts from lists that stood in order in their file: nothing is sorted, and only what is shown of them is coded."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import move_to_users
from trueval.data.ids import recode
from trueval.data.sorted_runs import SortedRun
from trueval.facts.from_run import join, joined_facts, may_show_all
from trueval.facts.invalid_places import DROP, MISSED, REFUSE, InvalidPlaces
from trueval.facts.ordered_lists import OrderedLists
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import OF_LIBRARIES, SETTLED, TIES, with_ties
from trueval.facts.truth import Truth
from trueval.facts.views import cut_lists

_AS_THEY_ARE = {*TIES, *OF_LIBRARIES} - {"trec_eval"}  # rules that take scores as they are; there are no equal ones


def sorted_run_facts(
    run: SortedRun, truth: Truth, *, ties: str, depth: int | None, invalid: str = REFUSE
) -> RankingFacts | None:
    """Facts of a sorted run, its lists cut to some depth; None where `run_facts` must look, and tell what is wrong.

    The items of the run must be among those of the truth, or its strangers.
    """
    built = ties if ties in SETTLED else "random"
    items = truth.items.codes(run.items.values)
    users = _users(run, truth)
    if ties not in _AS_THEY_ARE or users is None or invalid == DROP:
        return None
    length = np.zeros(len(truth.users), np.int64)
    length[users[users >= 0]] = run.length[users >= 0]
    valid = items >= 0 if truth.catalogue is None else (items >= 0) & truth.catalogue[items]
    if may_show_all(length, truth) or (invalid == REFUSE and not valid.all()):
        return None
    items = items if valid.all() else np.where(valid, items, np.int32(MISSED))
    item = recode(items, run.item)
    start, shown, none = move_to_users(users, run.start, len(truth.users), item, np.empty(0))
    places, judged = len(shown), truth.judged.rows
    outside = int(np.count_nonzero(shown < 0)) if invalid != REFUSE else 0
    joined = join(OrderedLists(start, shown, none, distinct=True), judged.start, judged.item, len(truth.items))
    if not joined.rank.any():
        return None
    if built == ties and depth is not None:
        start, shown = cut_lists(start, shown, depth)
    facts = joined_facts(
        joined,
        truth,
        list_start=start,
        list_item=shown,
        ties=built,
        exact=False,
        deepest=depth if built == ties else None,
        splits=np.zeros(int(np.diff(start).max(initial=0)), np.int64),
        listed=length > 0,
        list_same=None if built == ties else np.zeros(len(shown), bool),
        invalid=None if invalid == REFUSE else InvalidPlaces(outside, 0, places),
    )
    return facts if built == ties else with_ties(facts, ties)


def _users(run: SortedRun, truth: Truth) -> np.ndarray | None:
    """The user of each list, -1 for one who does not count; None where one has two, or they cannot be compared."""
    if run.users.dtype != truth.users.values.dtype:
        return None
    users = truth.users.codes(run.users)
    return None if np.bincount(users[users >= 0], minlength=1).max() > 1 else users
