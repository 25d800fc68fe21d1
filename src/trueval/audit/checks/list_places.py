"""Places of lists that are missing, or in the wrong order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import ValueChange, value_changes
from trueval.audit.drafts import Question, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.settings import RankedSystem, Setting
from trueval.audit.subject import Subject
from trueval.audit.top_of_lists import lists_of
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number, short_percent
from trueval.statistics.significance_tests import t_test

_LEAST = 0.1  # of the value: the smallest change that is told, where the reader names none


class ShortLists(NamedTuple):
    """The lists of one system that end before the cutoff although the catalogue has more."""

    share: float  # of all lists
    longest: int  # of these
    missing: float  # share of the places within the cutoff


@check(heading="data", kind="estimate", needs=("systems", "facts"), question="Are lists as long as the cutoff?")
def short_lists(case: Case) -> Iterable[Finding | Draft]:
    """Lists that end before the cutoff of the metric although there are more items, and what that may cost."""
    subject = case.measured
    facts, depth = lists_of(subject), max([subject.specs[label].k or 0 for label in subject.labels])
    if not facts or not depth:
        return
    found = {name: own for name, one in facts.items() if (own := _short(one, depth)) is not None}
    figures = {name: own._asdict() for name, own in found.items()}
    if not found:
        sentence = f"Every list has the {depth} places that the metrics look at, or all that the catalogue has."
        yield Finding("short_lists", "data", "fine", "fact", sentence, figures)
        return
    label = next(one for one in subject.labels if (subject.specs[one].k or 0) == depth)
    remedy = f"write lists of {depth} items or more for every user, or choose a cutoff that all lists reach: --metrics "
    remedy += f"{label.partition('@')[0]}@{min(own.longest for own in found.values())}"
    every = [name for name, own in found.items() if own.share == 1]
    if every:
        told = [
            f"{name} {number(subject.base.value(name, label))} with at most {found[name].longest}" for name in every
        ]
        others = [name for name in subject.names if name not in found]
        against = f" It cannot be compared with that of {listed(others)}." if others else ""
        sentence = (
            f"{label} is not that of {depth} places, since every list ends earlier: {listed(told)} places, although "
            f"the catalogue has {next(iter(facts.values())).catalogue:,} items.{against}"
        )
        yield Finding("short_lists", "data", "wrong", "fact", sentence, figures, remedy)
        return
    costs = [_cost(case, name, label, found[name], facts[name]) for name in found]
    short = listed([f"{short_percent(own.share)} of the lists of {name}" for name, own in found.items()])
    question = Question(
        "short_lists", "data", "",
        f"Lists that end before place {depth} cost {label} nothing that is relevant: {short} do.",
        f"{short} end before place {depth}, although the catalogue has more items.", remedy, figures=figures,
    )  # fmt: skip
    yield draft_of(question, [], [one for one in costs if one is not None])


def _short(facts: RankingFacts, depth: int) -> ShortLists | None:
    some = (facts.length > 0) & (facts.R > 0)
    length = facts.length[some]
    short = length < min(depth, facts.catalogue // 2)
    if not short.any():
        return None
    return ShortLists(
        float(short.mean()), int(length[short].max()), float((depth - np.minimum(length, depth)).mean() / depth)
    )


def _cost(case: Case, name: str, label: str, own: ShortLists, facts: RankingFacts) -> ValueChange | None:
    """What the short lists cost: what the other lists of the system lose where they are cut at the same place."""
    subject = case.measured
    cut = RankedSystem(name, _cut(facts, own.longest), subject.ranked[name].inputs)  # type: ignore[index]
    there = subject.measured("", {name: cut}, {label: subject.specs[label]})
    if there is None:
        return None
    full = subject.base.systems[name]
    long = np.isin(full.unit_user, facts.unit_user[facts.length > own.longest])
    lost = (shares_of(full.sums[label]) - shares_of(there.systems[name].sums[label]))[long[: len(full.unit_user)]]
    mean = mean_of(lost[~np.isnan(lost)])
    if mean.users < 2:
        return None
    value, change, error = subject.base.value(name, label), own.share * mean.value, own.share * mean.error
    relevant = case.relevant(label) if case.relevant_change is not None else _LEAST * abs(value)
    p = t_test(abs(change) - relevant, error, mean.free, "greater")
    words = "with all places (by what its longer lists have there)"
    return ValueChange(
        name, label, words, value, value + change, change, change - 2 * error, change + 2 * error, relevant, p
    )


def _cut(facts: RankingFacts, depth: int) -> RankingFacts:
    """The facts with nothing ranked behind a place."""
    gone = facts.rank > depth
    columns = {name: np.where(gone, 0, getattr(facts, name)) for name in ("rank", "above", "tied")}
    return facts.changed(**columns)


# ---- the order of places ---------------------------------------------------------------------------------------------


@check(heading="data", kind="estimate", needs=("systems", "facts"), question="Does the best item stand first?")
def backward_lists(case: Case) -> Iterable[Finding | Draft]:
    """Whether a system is better with its lists turned round: distances or ranks that were taken for scores."""
    subject = case.measured
    facts = {name: one for name, one in lists_of(subject).items() if not subject.is_registered(name)}
    if not facts:
        return
    positions = {name: _mean_position(one) for name, one in facts.items()}
    low = [name for name, (value, p) in positions.items() if value < 0 and p < 0.05]
    figures = {"position_of_hits": {name: value for name, (value, _) in positions.items()}}
    changes = list(_turned(case, low))
    holds = (
        "No system has its relevant items further down in its lists than up, as lists have them that are turned round."
    )
    if not changes:
        yield Finding("backward_lists", "data", "fine", "estimate", holds, figures)
        return
    question = Question(
        "backward_lists", "data", "", holds,
        f"The relevant items of {listed(low)} stand nearer to the end of its lists than to the beginning: they seem "
        "to be sorted with the worst item first.",
        "sort the lists the other way: the highest score, and rank 1, is the best (negate distances and errors; name "
        "a rank as such with --columns rank=…)",
        figures=figures,
    )  # fmt: skip
    yield draft_of(question, [], changes)


def _mean_position(facts: RankingFacts) -> tuple[float, float]:
    """Where hits stand in their lists, from 1 (first) to -1 (last), on average over users, and p of 0."""
    rank = facts.rank if facts.list_rank is None else facts.list_rank
    length = facts.length[facts.unit]
    rows = np.flatnonzero(facts.relevant & (rank > 0) & (rank <= length) & (length > 1))
    place = 1 - 2 * (rank[rows] - 1) / (length[rows] - 1)
    hits = np.bincount(facts.unit[rows], minlength=len(facts))
    sums = np.bincount(facts.unit[rows], weights=place, minlength=len(facts))
    mean = mean_of(sums[hits > 0] / hits[hits > 0])
    if mean.users < 2:
        return float("nan"), 1.0
    return mean.value, t_test(mean.value, mean.error, mean.free)


def _turned(case: Case, names: list[str]) -> Iterable[ValueChange]:
    """Values of some systems with their lists turned round, where they are better then."""
    subject = case.measured
    if not names:
        return
    assert subject.ranked is not None
    there = _measured_turned(subject, names)
    if there is None:
        return
    for label in subject.labels:
        side = -1 if subject.specs[label].better == "lower" else 1
        for name in names:
            value = subject.base.value(name, label)
            relevant = case.relevant(label) if case.relevant_change is not None else _LEAST * abs(value)
            changes = value_changes(subject.base, there, label, relevant=relevant, systems=[name])
            yield from (one for one in changes if side * one.change > 0)


def _measured_turned(subject: Subject, names: list[str]) -> Setting | None:
    assert subject.ranked is not None
    ranked = {name: subject.ranked[name] for name in names}
    return subject.measured("with its lists turned round", ranked, subject.tested_specs, lambda one: turned(one.facts))


def turned(facts: RankingFacts) -> RankingFacts:
    """The facts of lists whose last item comes first.

    >>> from trueval.metrics.measure import toy_facts
    >>> found = turned(toy_facts(["a", "b", "c"], {"a", "b"}))
    >>> found.rank.tolist(), found.list_item.tolist()
    ([2, 3], [2, 1, 0])
    """
    rank = facts.rank if facts.list_rank is None else facts.list_rank
    length = facts.length[facts.unit]
    new = np.where((rank > 0) & (rank <= length), length + 1 - rank, 0)
    order = np.lexsort((np.where(new > 0, new, np.iinfo(np.int32).max), facts.unit))
    new = new[order].astype(np.int32)
    columns = {name: getattr(facts, name)[order] for name in ("item", "value", "relevant")}
    score = None if facts.score is None else facts.score[order]
    at = np.arange(len(facts.list_item))
    ends = np.repeat(facts.list_start[:-1] + facts.list_start[1:] - 1, facts.length)
    return facts.changed(
        **columns, score=score, rank=new, above=np.maximum(new - 1, 0).astype(np.int32),
        tied=(new > 0).astype(np.int32), list_item=facts.list_item[ends - at], list_rank=None, list_same=None,
        splits=np.zeros(0, np.int64),
    )  # fmt: skip
