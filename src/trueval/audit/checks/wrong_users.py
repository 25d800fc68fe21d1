"""Lists that were given to the wrong users: a list ought to fit its own user better than another one's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.subject import Subject
from trueval.audit.top_of_lists import TopOfLists, deepest_cutoff, lists_of
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of, user_codes
from trueval.data.by_user import ByUser
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
    users: np.ndarray  # codes of those whose lists have items that their users have in train
    fit: float  # hits of these users' lists, by those of others' lists on average
    fit_of_others: float


@check(heading=_HEADING, kind="estimate", needs=("parts", "systems", "facts"), question="Has each user the right list?")
def wrong_users(case: Case) -> Iterable[Finding]:
    """Users whose lists hold what they have in train as often as lists of others do, and fit them no better, while
    those of the other users hold none of it."""
    subject = case.measured
    if not isinstance(subject, GivenRuns) or case.train is None:
        return
    facts, depth = lists_of(subject), 2 * deepest_cutoff(subject)
    fits = {
        name: _Fits(one, subject.train_rows[name], depth)
        for name, one in facts.items()
        if subject.seen[name][0] and not subject.is_random(name)
    }
    found = {name: own for name, one in fits.items() if (own := _moved(one)) is not None}
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
        value = _values(subject, label, name, facts[name].users.decode(own.users)) or value
    sentence = (
        f"{value}The lists of {told} seem to have been given to the wrong "
        "users. They hold items of their users' train rows, as lists of others do, and relevant test items "
        f"{own.fit:.2f} times as often as lists of others"
    )
    if own.share < 1:
        sentence += f" (the other lists: none, and {own.fit_of_others:.2f} times)."
        yield Finding(_NAME, _HEADING, "wrong", "estimate", sentence, figures, _REMEDY)
        return
    sentence += ". A system that knows nothing of its users, and does not leave out what they have, looks the same."
    yield Finding(_NAME, _HEADING, "caution", "estimate", sentence, figures, _REMEDY)


def _share(share: float) -> str:
    return "all users" if share == 1 else f"about {short_percent(share)} of the users"


def _values(subject: Subject, label: str, name: str, moved: pl.Series) -> str:
    """The value of the users whose lists are in doubt, and that of the others."""
    system, users = subject.base.systems[name], subject.base.joined.users
    inside = np.zeros(len(users), bool)
    inside[users.codes(moved)] = True
    values, member = shares_of(system.sums[label]), inside[user_codes(system, users)]
    known = ~np.isnan(values)
    if not (known & member).any() or not (known & ~member).any():
        return ""
    there, rest = (float(values[known & some].mean()) for some in (member, ~member))
    return (
        f"{label} of {name} is {number(there)} for users whose lists are in doubt, and {number(rest)} for the others. "
    )


class _Fits:
    """The first places of the lists of one system, and how often other users would be shown an item."""

    def __init__(self, facts: RankingFacts, train: ByUser, depth: int) -> None:
        self.lists, self.train = TopOfLists.of(facts, depth), train
        self.users = facts.unit_user[self.lists.rows]
        # the judged rows of these users, with the place of each user among them
        place = np.full(len(facts), -1)
        place[self.lists.rows] = np.arange(len(self.lists))
        relevant = facts.relevant & (place[facts.unit] >= 0)
        self.relevant = place[facts.unit[relevant]], facts.item[relevant]
        shown = self.lists.item[self.lists.item >= 0]
        self.shown = np.bincount(shown, minlength=self.lists.n_items).astype(np.float64)

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def personal(self) -> bool:
        """Whether lists differ from user to user."""
        return bool((self.shown**2).sum() < _PERSONAL * len(self) * self.shown.sum())

    def hits(self) -> tuple[np.ndarray, np.ndarray]:
        """Relevant items of each user's list, and those that the list of another user would have on average."""
        own = self.lists.hits.astype(float)
        return own, self._of_others(*self.relevant, own)

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Train items in each user's list, and those that the list of another user would have on average."""
        first, last = self.train.start[self.users], self.train.start[self.users + 1]
        size = last - first
        user = np.repeat(np.arange(len(self)), size)
        begin = np.cumsum(size) - size
        item = self.train.item[np.arange(len(user)) - np.repeat(begin - first, size)]
        there = np.zeros(len(user), bool)
        for place in range(self.lists.depth):
            there |= self.lists.item[user, place] == item
        own = np.bincount(user, weights=there, minlength=len(self))
        return own, self._of_others(user, item, own)

    def _of_others(self, user: np.ndarray, item: np.ndarray, own: np.ndarray) -> np.ndarray:
        """How many of some users' items the list of another user has on average."""
        shown = np.bincount(user, weights=self.shown[item], minlength=len(self))
        found: np.ndarray = (shown - own) / max(len(self) - 1, 1)
        return found


def _moved(fits: _Fits) -> Moved | None:
    """Users whose lists are not theirs; None where nothing says so.

    A shuffled list has as many seen items as any other user's, and a list that was made without them has none. So the
    share of expected seen items that is there is the share of lists that were moved.
    """
    if not fits.personal:
        return None
    seen, seen_by_chance = fits.seen()
    share = float(seen.sum() / max(seen_by_chance.sum(), 1e-9))
    if not _LITTLE < share < _MUCH:
        return None
    hit = fits.hits()
    tested = hit[1] > 0
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
        # what users have in train and in the test set together: more items than either
        both = mean_of((hit[0] + seen)[moved] - _FITS * (hit[1] + seen_by_chance)[moved])
        lead = mean_of(hit[0][moved] - _FITS * hit[1][moved])
        fits_nobody = t_test(both.value, both.error, both.free, "less") < 0.05
        fits_nobody &= not t_test(lead.value, lead.error, lead.free, "greater") < 0.05
        return Moved(1.0, fits.users[moved], fit, fit_of_others) if fits_nobody else None
    if not fit_of_others > _FITS or not fit < 1 + _HALF * (fit_of_others - 1):
        return None
    one = mean_of((hit[0][moved] - hit[1][moved]) / hit[1][moved].mean())
    other = mean_of((hit[0][rest] - hit[1][rest]) / hit[1][rest].mean())
    error = math.hypot(one.error, other.error)
    sure = t_test(other.value - one.value, error, min(one.free, other.free), "greater") < _LEVEL
    return Moved(min(share, 1.0), fits.users[moved], fit, fit_of_others) if sure else None
