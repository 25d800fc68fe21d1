"""Lists that were given to the wrong users: a list ought to fit its own user better than another one's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.subject import Subject
from trueval.audit.top_of_lists import lists_of
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of, user_codes
from trueval.data.interactions import Interactions
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number, short_percent
from trueval.statistics.significance_tests import t_test

_NAME, _HEADING = "wrong_users", "data"
_PERSONAL = 0.5  # of the users have an item of a list on average: where more do, lists are much the same for all
_LITTLE = 0.02  # of the seen items that lists of other users would have
_MUCH = 1.3  # times as many: such lists do not leave seen items out
_FITS = 1.1  # times as many hits as of others' lists: a system that knows its users
_HALF = 0.5  # of the fit of other users
_USERS = 15
_LEVEL = 0.001  # a level of its own: nothing is added to the correction over the audit
_REMEDY = (
    "check how lists and user ids were put together (an index that was reset, a shuffled data loader, rows sorted "
    "apart from their ids), and write the lists again"
)


class Moved(NamedTuple):
    """What speaks for lists that belong to other users."""

    share: float  # of the users
    users: np.ndarray  # units whose lists have items that their users have in train
    fit: float  # hits of these users' lists, by those of others' lists on average
    fit_of_others: float


@check(heading=_HEADING, kind="estimate", needs=("parts", "systems", "facts"), question="Has each user the right list?")
def wrong_users(case: Case) -> Iterable[Finding]:
    """Users whose lists hold what they have in train as often as lists of others do, and fit them no better, while
    those of the other users hold none of it."""
    subject = case.measured
    if not isinstance(subject, GivenRuns) or case.train is None:
        return
    facts = lists_of(subject)
    fits = {name: _Fits(one) for name, one in facts.items() if subject.seen[name][0] and not subject.is_random(name)}
    found = {name: own for name, one in fits.items() if (own := _moved(one, case.train)) is not None}
    figures = {
        name: {"share": own.share, "fit": own.fit, "fit_of_others": own.fit_of_others} for name, own in found.items()
    }
    if not found:
        sentence = "No system has lists that seem to belong to other users."
        yield Finding(_NAME, _HEADING, "fine", "estimate", sentence, figures)
        return
    told = listed([f"{_share(own.share)} of {name}" for name, own in found.items()])
    name, own = max(found.items(), key=lambda one: one[1].share)
    label = subject.labels[0]
    value = f"{label} of {name} is {number(subject.base.value(name, label))}. "
    if own.share < 1:
        value = _values(subject, label, name, facts[name], own.users) or value
    sentence = (
        f"{value}The lists of {told} seem to have been given to the wrong "
        "users. They hold items of their users' train rows, as lists of others do, and relevant test items "
        f"{own.fit:.2f} times as often as lists of others"
    )
    rest = f" (the other lists: none, and {own.fit_of_others:.2f} times)." if own.share < 1 else "."
    yield Finding(_NAME, _HEADING, "wrong", "estimate", sentence + rest, figures, _REMEDY)


def _share(share: float) -> str:
    return "all users" if share == 1 else f"about {short_percent(share)} of the users"


def _values(subject: Subject, label: str, name: str, facts: RankingFacts, units: np.ndarray) -> str:
    """The value of the users whose lists are in doubt, and that of the others."""
    system, users = subject.base.systems[name], subject.base.joined.users
    inside = np.zeros(len(users), bool)
    inside[users.codes(facts.users.decode(facts.unit_user[units]))] = True
    values, member = shares_of(system.sums[label]), inside[user_codes(system, users)]
    known = ~np.isnan(values)
    if not (known & member).any() or not (known & ~member).any():
        return ""
    there, rest = (float(values[known & some].mean()) for some in (member, ~member))
    return (
        f"{label} of {name} is {number(there)} for users whose lists are in doubt, and {number(rest)} for the others. "
    )


class _Fits:
    """The lists of one system, and how often other users would be shown an item."""

    def __init__(self, facts: RankingFacts) -> None:
        self.facts = facts
        self.listed = facts.length > 0
        shown = facts.list_item[facts.list_item >= 0]
        self.shown = np.bincount(shown, minlength=len(facts.items)).astype(np.float64)
        self.users = int(self.listed.sum())

    @property
    def personal(self) -> bool:
        """Whether lists differ from user to user."""
        return bool((self.shown**2).sum() < _PERSONAL * self.users * self.shown.sum())

    def hits(self) -> tuple[np.ndarray, np.ndarray]:
        """Relevant items of each user's list, and those that the list of another user would have on average."""
        facts = self.facts
        rank = facts.rank if facts.list_rank is None else facts.list_rank
        rows = np.flatnonzero(facts.relevant)
        there = (rank[rows] > 0) & (rank[rows] <= facts.length[facts.unit[rows]])
        others = (self.shown[facts.item[rows]] - there) / max(self.users - 1, 1)
        unit = facts.unit[rows]
        own = np.bincount(unit, weights=there.astype(float), minlength=len(facts))
        return own, np.bincount(unit, weights=others, minlength=len(facts))

    def seen(self, train: Interactions) -> tuple[np.ndarray, np.ndarray]:
        """Train items in each user's list, and those that the list of another user would have on average."""
        facts = self.facts
        pairs = train.frame.select("user", "item").unique()
        user, item = facts.users.codes(pairs["user"]), facts.items.codes(pairs["item"])
        unit_of = np.full(len(facts.users) + 1, -1)
        unit_of[facts.unit_user] = np.arange(len(facts))
        unit = unit_of[user]
        known = (unit >= 0) & (item >= 0)
        unit, item = unit[known], item[known].astype(np.int64)
        size = len(facts.items)
        there = np.isin(unit * size + item, facts.list_unit.astype(np.int64) * size + facts.list_item)
        others = (self.shown[item] - there) / max(self.users - 1, 1)
        own = np.bincount(unit, weights=there.astype(float), minlength=len(facts))
        return own, np.bincount(unit, weights=others, minlength=len(facts))


def _moved(fits: _Fits, train: Interactions) -> Moved | None:
    """Users whose lists are not theirs; None where nothing says so.

    A shuffled list has as many seen items as any other user's, and a list that was made without them has none. So the
    share of expected seen items that is there is the share of lists that were moved.
    """
    if not fits.personal:
        return None
    seen, seen_by_chance = fits.seen(train)
    share = float(seen.sum() / max(seen_by_chance.sum(), 1e-9))
    if not _LITTLE < share < _MUCH:
        return None
    there, hit = fits.listed, fits.hits()
    tested = there & (hit[1] > 0)
    moved, rest = tested & (seen > 0), tested & (seen == 0)
    if moved.sum() < _USERS:
        return None
    # of the users whose lists have one seen item or more, all others that are expected are there as well
    if seen[moved].sum() < _HALF * seen_by_chance[moved].sum():
        return None
    fit, fit_of_others = (float(hit[0][some].sum() / hit[1][some].sum()) if some.any() else math.nan
                          for some in (moved, rest))  # fmt: skip
    whole = rest.sum() < _USERS
    if whole:
        lead = mean_of(hit[0][moved] - _FITS * hit[1][moved])
        fits_nobody = lead.error > 0 and t_test(lead.value, lead.error, lead.free, "less") < 0.05
        return Moved(1.0, np.flatnonzero(moved), fit, fit_of_others) if fits_nobody else None
    if not fit_of_others > _FITS or not fit < 1 + _HALF * (fit_of_others - 1):
        return None
    one = mean_of((hit[0][moved] - hit[1][moved]) / hit[1][moved].mean())
    other = mean_of((hit[0][rest] - hit[1][rest]) / hit[1][rest].mean())
    error = math.hypot(one.error, other.error)
    sure = t_test(other.value - one.value, error, min(one.free, other.free), "greater") < _LEVEL
    return Moved(min(share, 1.0), np.flatnonzero(moved), fit, fit_of_others) if sure else None
