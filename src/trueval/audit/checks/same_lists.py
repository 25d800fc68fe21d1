"""One system under two names: lists that are the same for nearly all users."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import first_of
from trueval.audit.top_of_lists import deepest_cutoff, lists_of
from trueval.data.ids import Ids
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number, short_percent

_NEARLY = 0.9  # of the users
_USERS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)


@check(heading="data", kind="fact", needs=("systems", "pairs", "facts"), question="Is each system another one?")
def same_lists(case: Case) -> Iterable[Finding]:
    """Pairs of systems that give nearly all users the same items in the same order."""
    subject = case.measured
    facts, depth = lists_of(subject), deepest_cutoff(subject)
    if len(facts) < 2:
        return
    items = _common_items(facts)
    digests = {name: _digests(one, items, depth) for name, one in facts.items()}
    shares = {}
    for first, second in itertools.combinations(facts, 2):
        if not (subject.is_registered(first) and subject.is_registered(second)):
            share = _share_alike(facts[first], facts[second], digests[first], digests[second])
            if share >= _NEARLY:
                shares[first, second] = share
    figures = {"same": [{"systems": list(pair), "share_of_users": share} for pair, share in shares.items()]}
    if not shares:
        yield Finding("same_lists", "data", "fine", "fact", "No two systems have the same lists.", figures)
        return
    label = subject.labels[0]
    told = []
    for (first, second), share in shares.items():
        both = (
            f"({number(subject.base.value(first, label))} and {number(subject.base.value(second, label))} on {label})"
        )
        much = "all users" if share == 1 else f"{short_percent(share)} of the users"
        told.append(f"{first} and {second} {both} give {much} the same first {depth} items in the same order")
    sure = any(share == 1 for share in shares.values())
    sentence = first_of(told, "pair") + (
        " That is one system under two names, and neither their difference nor the number of systems is what it seems."
        if sure
        else " They are one system but for these users, or one was written over the other in part."
    )
    remedy = "check which file or model each name stands for, and leave one of the two out"
    yield Finding("same_lists", "data", "wrong" if sure else "caution", "fact", sentence, figures, remedy)


def _common_items(facts: dict[str, RankingFacts]) -> Ids:
    first, *others = [one.items for one in facts.values()]
    if all(one is first or one.values.equals(first.values) for one in others):
        return first
    return Ids.of(first.values, *(one.values for one in others))


def _digests(facts: RankingFacts, items: Ids, depth: int) -> np.ndarray:
    """A number for the first places of each list: the same for the same items in the same order."""
    if facts.items is items or facts.items.values.equals(items.values):
        codes = np.arange(len(items), dtype=np.uint64)
    else:
        codes = items.codes(facts.items.values).astype(np.uint64)
    codes = np.append(codes + np.uint64(1), np.uint64(0))  # the last is that of a place without an item
    found = np.zeros(len(facts), np.uint64)
    for place in range(min(depth, facts.depth)):
        there = facts.length > place
        at = facts.list_item[facts.list_start[:-1][there] + place]
        found[there] = (found[there] ^ codes[at]) * _MIX + np.uint64(place + 1)
    return found


def _share_alike(one: RankingFacts, other: RankingFacts, first: np.ndarray, second: np.ndarray) -> float:
    """The share of users with the same lists, among those who have one from both; 0 for few users."""
    if np.array_equal(one.unit_user, other.unit_user):
        both = (one.length > 1) & (other.length > 1)
        alike = first[both] == second[both]
    else:
        _, left, right = np.intersect1d(one.unit_user, other.unit_user, return_indices=True)
        both = (one.length[left] > 1) & (other.length[right] > 1)
        alike = first[left][both] == second[right][both]
    return float(alike.mean()) if len(alike) >= _USERS else 0.0
