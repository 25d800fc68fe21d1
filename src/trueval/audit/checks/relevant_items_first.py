"""Relevant items that stand before all others, as no ranking can have them: ties broken by relevance, or a system
that has seen test rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.top_of_lists import TopOfLists, deepest_cutoff, lists_of
from trueval.render.numbers import number, short_percent
from trueval.statistics.binomial import clopper_pearson

_NAME, _HEADING = "relevant_items_first", "data"
# Share of lists whose hits all stand before all other items. Of nine systems on three splits of a real log and in
# simulated worlds: at most 0.28 of the lists with one hit, and 0.10 of those with several.
_ONE, _SEVERAL = 0.6, 0.25
_NEARLY_ALL = 0.9
_TAIL = 0.0005  # a level of its own: nothing is added to the correction over the audit
_REMEDY = (
    "train without the test rows, and write lists in the order of the scores with ties broken at random "
    "(or give the scores: --ties expected)"
)


class HitsFirst(NamedTuple):
    """Lists with a hit and something else, and those of them whose hits all come first."""

    lists: int
    first: int
    by_chance: float

    @property
    def share(self) -> float:
        return self.first / self.lists if self.lists else 0.0

    def at_least(self) -> float:
        """The lower end of the interval of the share."""
        return clopper_pearson(self.first, self.lists, tail=_TAIL)[0] if self.lists else 0.0


@check(
    heading=_HEADING, kind="estimate", needs=("systems", "facts"),
    question="Do lists know which items the test set has?",
)  # fmt: skip
def relevant_items_first(case: Case) -> Iterable[Finding]:
    """Whether hits stand before the unjudged items of the same lists more often than any ranking has them.

    Which of the items that a user likes are in the test set is up to chance, so that other ones stand among the hits.
    """
    subject = case.measured
    facts = {name: one for name, one in lists_of(subject).items() if not subject.is_registered(name)}
    if not facts:
        return
    depth = deepest_cutoff(subject)
    found = {name: count_hits_first(TopOfLists.of(one, depth)) for name, one in facts.items()}
    figures = {
        name: {kind: {"lists": own.lists, "hits_first": own.first} for kind, own in zip(("one", "several"), both)}
        for name, both in found.items()
    }
    odd = {
        name: several if several.at_least() > _SEVERAL else one
        for name, (one, several) in found.items()
        if several.at_least() > _SEVERAL or one.at_least() > _ONE
    }
    if not odd:
        sentence = "In no system's lists do the relevant items stand before all others more often than rankings have it."
        yield Finding(_NAME, _HEADING, "fine", "estimate", sentence, figures)
        return
    label = subject.labels[0]
    told = [
        f"{short_percent(own.share)} of the lists of {name} that have {_hits(own, found[name])} (by chance: "
        f"{short_percent(own.by_chance)})"
        for name, own in odd.items()
    ]
    values = listed([f"{name} {number(subject.base.value(name, label))}" for name in odd])
    sentence = (
        f"{label} ({values}) is too good to be true: the relevant test items stand before all other items in "
        f"{listed(told)}. Either ties were broken by relevance, or the system has learned from test rows."
    )
    verdict = "wrong" if any(own.share >= _NEARLY_ALL for own in odd.values()) else "caution"
    yield Finding(_NAME, _HEADING, verdict, "estimate", sentence, figures, _REMEDY)


def count_hits_first(lists: TopOfLists) -> tuple[HitsFirst, HitsFirst]:
    """Lists with one hit, and with two or more, and those whose hits come first. Judged items that are not relevant
    are passed over: what a ranking does with them is its merit.

    >>> item = np.array([[1, 2, 3, 4], [1, 2, 3, 4]])
    >>> hit = np.array([[True, False, False, False], [True, False, True, False]])
    >>> one, several = count_hits_first(TopOfLists(item, hit, hit, np.array([3, 3]), np.arange(2), 5, 5))
    >>> one, several
    (HitsFirst(lists=1, first=1, by_chance=0.25), HitsFirst(lists=1, first=0, by_chance=0.16666666666666666))
    """
    other = (lists.item >= 0) & ~lists.judged
    hits, others = lists.hits, np.count_nonzero(other, axis=1)
    first = ~(np.logical_or.accumulate(other, axis=1) & lists.hit).any(axis=1)
    chance = 1 / _orders(hits, others)
    found = []
    for chosen in ((hits == 1) & (others >= 2), (hits >= 2) & (others >= 2)):
        many = int(chosen.sum())
        found.append(HitsFirst(many, int((chosen & first).sum()), float(chance[chosen].mean()) if many else 0.0))
    return found[0], found[1]


def _orders(hits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """In how many ways hits and others may be mixed, for each list."""
    most = int((hits + others).max(initial=0)) + 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    found: np.ndarray = np.exp(logs[hits + others] - logs[hits] - logs[others])
    return found


def _hits(own: HitsFirst, both: tuple[HitsFirst, HitsFirst]) -> str:
    return "two of them or more" if own is both[1] else "one of them"
