"""Relevant items that stand before all others, as no ranking can have them: ties broken by relevance, or a system
that has seen test rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.top_of_lists import TopOfLists, deepest_cutoff, lists_of
from trueval.comparison.mean_error import mean_of
from trueval.render.numbers import number, short_percent
from trueval.statistics.binomial import clopper_pearson
from trueval.statistics.significance_tests import t_test

_NAME, _HEADING = "relevant_items_first", "data"
# Hits of one list that stand side by side are one run. Of five systems on a real log and in simulated worlds, lists
# with several hits have 0.97 to 1.04 times as many runs as hits in any order would have, and half as many with half of
# the test rows learned, or with large groups of equals sorted by relevance. Of lists with one hit, 28 % at most begin
# with it.
_RUNS, _FIRST = 0.85, 0.6
_FEW_RUNS = 0.6
_LEVEL = 0.0005  # a level of its own: nothing is added to the correction over the audit
_REMEDY = (
    "train without the test rows, and write lists in the order of the scores with ties broken at random "
    "(or give the scores: --ties expected)"
)


class HitsTogether(NamedTuple):
    """Where the relevant items of lists stand.

    `ratio` is the number of runs of hits to that expected of hits in any order, over lists with several hits, and `p`
    that of as large a ratio as rankings have; `single` are lists with one hit, `single_first` those that begin with it,
    and `first` is the share of all lists with a hit and other items whose hits come before all others.
    """

    lists: int
    ratio: float
    p: float
    single: int
    single_first: int
    first: float

    @property
    def odd(self) -> bool:
        """Whether no ranking has its hits like that."""
        if self.p < _LEVEL:
            return True
        return bool(self.single) and clopper_pearson(self.single_first, self.single, tail=_LEVEL)[0] > _FIRST


@check(
    heading=_HEADING, kind="estimate", needs=("systems", "facts"),
    question="Do lists know which items the test set has?",
)  # fmt: skip
def relevant_items_first(case: Case) -> Iterable[Finding]:
    """Whether hits stand side by side, or before all unjudged items, more often than any ranking has them.

    Which of the items that a user likes are in the test set is up to chance, so that other ones stand among the hits.
    """
    subject = case.measured
    facts = {name: one for name, one in lists_of(subject).items() if not subject.is_registered(name)}
    if not facts:
        return
    depth = 2 * deepest_cutoff(subject)
    found = {name: hits_together(TopOfLists.of(one, depth)) for name, one in facts.items()}
    figures = {name: own._asdict() for name, own in found.items()}
    odd = {name: own for name, own in found.items() if own.odd}
    if not odd:
        sentence = (
            "No system has the relevant test items of its lists together, or before all others, as ties broken by "
        )
        sentence += "relevance and systems that have seen test rows do."
        yield Finding(_NAME, _HEADING, "fine", "estimate", sentence, figures)
        return
    label = subject.labels[0]
    values = listed([f"{name} {number(subject.base.value(name, label))}" for name in odd])
    sentence = (
        f"{label} ({values}) is too good to be true. {' '.join(_told(name, own) for name, own in odd.items())} Which "
        "liked items are in the test set is up to chance, so that no ranking can tell them from others: either ties "
        "were broken by relevance, or the system has learned from test rows."
    )
    sure = any(not own.p < _LEVEL or own.ratio < _FEW_RUNS for own in odd.values())
    yield Finding(_NAME, _HEADING, "wrong" if sure else "caution", "estimate", sentence, figures, _REMEDY)


def _told(name: str, own: HitsTogether) -> str:
    first = f"stand before all other items in {short_percent(own.first)} of the lists of {name}"
    if not own.p < _LEVEL:
        return f"The relevant test items {first}."
    return (
        f"The relevant test items {first}, and where there are several they are next to each other: in {own.ratio:.2f} "
        "times as many places apart as in a random order, where rankings have 0.97 to 1.04."
    )


def hits_together(lists: TopOfLists) -> HitsTogether:
    """Where hits stand. Judged items that are not relevant are passed over: to have them last is a merit of a ranking.

    >>> item = np.array([[1, 2, 3, 4], [1, 2, 3, 4]])
    >>> hit = np.array([[True, True, False, False], [True, False, True, False]])
    >>> found = hits_together(TopOfLists(item, hit, hit, np.array([3, 3]), np.arange(2), 5, 5))
    >>> found.lists, found.ratio, found.first  # three runs; two hits among four places have 1.5 on average
    (2, 1.0, 0.5)
    """
    others = np.count_nonzero((lists.item >= 0) & ~lists.judged, axis=1)
    hits, runs, first = lists.hits, np.zeros(len(lists)), np.ones(len(lists), bool)
    inside, passed = np.zeros(len(lists), bool), np.zeros(len(lists), bool)
    for place in range(lists.depth):
        hit = lists.hit[:, place]
        other = (lists.item[:, place] >= 0) & ~lists.judged[:, place]
        runs += hit & ~inside
        first &= ~(hit & passed)
        passed |= other
        inside = hit | (inside & ~other)
    some = others >= 2
    several, single = some & (hits >= 2), some & (hits == 1)
    expected = (hits * (others + 1) / np.maximum(hits + others, 1))[several]
    mean = mean_of(runs[several] - _RUNS * expected)
    return HitsTogether(
        int(several.sum()), float(runs[several].sum() / expected.sum()) if several.any() else math.nan,
        t_test(mean.value, mean.error, mean.free, "less") if mean.users >= 2 else 1.0,
        int(single.sum()), int((single & first).sum()),
        float(first[some & (hits > 0)].mean()) if (some & (hits > 0)).any() else math.nan,
    )  # fmt: skip
