"""Facts from lists that stood in order in their file: nothing is sorted, and only what is shown of them is coded."""

from __future__ import annotations

import numpy as np

from trueval.data.sorted_runs import SortedRun
from trueval.facts.from_run import join, joined_facts, may_show_all
from trueval.facts.ordered_lists import OrderedLists, move_to_users
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import BY_ID, SETTLED, TIES, with_ties
from trueval.facts.truth import Truth
from trueval.facts.views import cut_lists
from trueval.kernels import gather

_AS_THEY_ARE = {*TIES, *BY_ID} - {"trec_eval"}  # rules that take scores as they are; there are no equal ones


def sorted_run_facts(run: SortedRun, truth: Truth, *, ties: str, depth: int | None) -> RankingFacts | None:
    """Facts of a sorted run, its lists cut to some depth; None where `run_facts` must look, and tell what is wrong.

    The items of the run must be among those of the truth.
    """
    built = ties if ties in SETTLED else "random"
    items = truth.items.codes(run.items.values)
    lists = _by_user(run, truth)
    if ties not in _AS_THEY_ARE or lists is None or may_show_all(lists.start, truth):
        return None
    if truth.catalogue is not None and not truth.catalogue[items].all():
        return None
    code = items[run.codes]
    place = np.full(len(truth.items), -1, np.int32)
    place[code] = np.arange(len(code), dtype=np.int32)
    judged = truth.judged.rows
    joined = join(lists, judged.start, gather(place, judged.item), len(code))
    if joined.doubled or not joined.rank.any():
        return None
    longest = int(np.diff(lists.start).max(initial=0))
    start, shown = lists.start, lists.item
    if built == ties and depth is not None and depth < longest:
        start, shown = cut_lists(start, shown, depth)
        longest = depth
    facts = joined_facts(
        joined,
        truth,
        list_start=start,
        list_item=gather(code, shown),
        ties=built,
        exact=False,
        deepest=depth if built == ties else None,
        splits=np.zeros(longest, np.int64),
        listed=np.diff(lists.start) > 0,
        list_same=None if built == ties else np.zeros(len(shown), bool),
    )
    return facts if built == ties else with_ties(facts, ties)


def _by_user(run: SortedRun, truth: Truth) -> OrderedLists | None:
    """The lists in the order of the users; None where a user has two, or users cannot be compared."""
    if run.users.dtype != truth.users.values.dtype:
        return None
    users = truth.users.codes(run.users)
    if np.bincount(users[users >= 0], minlength=1).max() > 1:
        return None
    start, places, none = move_to_users(users, run.start, len(truth.users), run.places, np.empty(0))
    return OrderedLists(start, places, none, distinct=True)
