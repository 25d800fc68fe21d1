"""A winner that was chosen on the test set: how much of its lead is the choice?

The best of many systems that are measured on one test set owes some of its lead to the users who happen to be in it.
How much is told by the systems together: where they differ no more than users would make equal systems differ, all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Difference, differences
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import size
from trueval.audit.subject import Subject
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of, user_codes
from trueval.render.numbers import number, short_percent
from trueval.statistics.noise_share import NoiseShare, noise_share
from trueval.statistics.significance_tests import t_test
from trueval.statistics.student import student_interval

_NAME, _HEADING = "selected_on_test", "robustness"
_REMEDY = (
    "choose the system on a validation part (tv.tune, trueval split … --validation 0.1), and report the test value of "
    "the chosen one alone"
)
_LITTLE = 0.01  # of the variance between systems: not worth a number
_FEWEST = 3  # systems that are taken for variants of one


@dataclass(frozen=True)
class Lead:
    """A lead of the best candidate over something else, as measured and without what choosing it explains."""

    over: str
    measured: Difference
    without: float

    @property
    def claimed(self) -> bool:
        """Whether it is significant by itself, as if nothing else had been tried."""
        return self.measured.value > 0 and self.measured.p < ALPHA

    @property
    def lost(self) -> bool:
        """Whether it is significant, and is not without what choosing explains."""
        own = self.measured
        return self.claimed and own.error > 0 and not t_test(self.without, own.error, own.free, "two-sided") < ALPHA

    def told(self) -> str:
        """In words."""
        low, high = student_interval(self.without, self.measured.error, freedom=self.measured.free, level=0.95)
        left = Difference("", "", self.without, low, high, math.nan, 0, self.measured.error, self.measured.free)
        end = ", and no longer be significant" if self.lost else ""
        return f"its lead over {self.over}, {size(self.measured)}, would be {size(left)}{end}"


@check(
    heading=_HEADING, kind="estimate", needs=("systems",),
    question="Is the winner better, or only the best of many on this test set?",
)  # fmt: skip
def selected_on_test(case: Case) -> Iterable[Finding | Draft]:
    """How much of the winner's lead is explained by its choice, from the systems that were measured."""
    subject = case.measured
    if len(subject.compared) < 2:
        yield Finding(_NAME, _HEADING, "cannot tell", "estimate", _alone(subject), {"candidates": 1}, _REMEDY)
        return
    for label in subject.labels:
        yield _of_metric(case, label)


def _alone(subject: Subject) -> str:
    """What nobody can know of a system without the others that were tried."""
    (name,) = subject.compared
    return (
        f"It cannot be told whether {name} is the best of many that were tried on this test set: one system alone does "
        "not say."
    )


def _of_metric(case: Case, label: str) -> Finding | Draft:
    subject = case.measured
    best = subject.best(label, subject.compared)
    variants, others = candidates(best, subject.compared)
    reference = subject.best(label, others) if others else ""
    over = _over(subject, label, best, reference) if reference else None
    values = _side_by_side(subject, label, variants)
    found = NoiseShare(math.nan, math.nan, math.nan) if len(variants) < _FEWEST else noise_share(values)
    figures: dict[str, Any] = {"metric": label, "winner": best, "candidates": len(variants), **found._asdict()}
    if math.isnan(found.p):
        return _few(best, label, len(subject.compared), figures)
    rest = np.delete(values, variants.index(best), axis=1).mean(axis=1)
    mine = _paired(values[:, variants.index(best)] - rest, best, f"the mean of the other {len(variants) - 1:,}")
    gained = found.share * (float(values[:, variants.index(best)].mean()) - float(values.mean()))
    leads = [Lead(mine.second, mine, mine.value * (1 - found.share))]
    leads += [] if over is None else [Lead(reference, over, over.value - gained)]
    figures |= {"gained": gained, "leads": [{**asdict(one), "lost": one.lost} for one in leads]}
    matters = any(one.lost for one in leads) and not (
        case.relevant_change is not None and gained < case.relevant(label)
    )

    def conclude(q: np.ndarray) -> Finding:
        return _concluded(subject, label, best, len(variants), found, gained, leads, figures, matters, float(q[0]))

    return Draft(np.array([found.p if matters else 1.0]), conclude)


def _concluded(
    subject: Subject, label: str, best: str, many: int, found: NoiseShare, gained: float, leads: Sequence[Lead],
    figures: dict[str, Any], matters: bool, p: float,
) -> Finding:  # fmt: skip
    """The finding, with p after the correction over the audit."""
    noise = f"{short_percent(found.share)} of the variance between the {many:,} systems is noise of these users"
    told = "; ".join(one.told() for one in leads)
    if p < ALPHA:
        sentence = (
            f"{label} of {best}, {number(subject.base.value(best, label))}, is that of the best of {many:,} candidates "
            f"on this test set, and about {number(gained)} of it is expected to be gone for new users: {told}. "
            f"{noise} (at least {short_percent(found.at_least)})."
        )
        return Finding(_NAME, _HEADING, "caution", "estimate", sentence, figures, _REMEDY, p)
    if matters:
        sentence = (
            f"It cannot be told whether {best}, the best of {many:,} on {label}, is better or was only chosen on this "
            f"test set: {noise}, by which {told}."
        )
        return Finding(_NAME, _HEADING, "cannot tell", "estimate", sentence, figures, _REMEDY, p)
    owed = "hardly anything" if found.share < _LITTLE else f"about {number(gained)}"
    sentence = (
        f"{best} is the best of {many:,} systems on {label}, and {owed} of its value is expected to be gone for new "
        f"users: {noise}. Systems that were tried and are not here are not in this."
    )
    return Finding(_NAME, _HEADING, "fine", "estimate", sentence, figures, "", p)


def candidates(best: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The systems that the winner was chosen from, and the others.

    They are its variants, by name: another parameter in brackets, or another number at the end. Where it has none, all
    systems are.

    >>> candidates("knn[k=5]", ["pop", "knn[k=5]", "knn[k=9]", "knn[k=20]"])
    (['knn[k=5]', 'knn[k=9]', 'knn[k=20]'], ['pop'])
    >>> candidates("mine", ["mine", "yours"])
    (['mine', 'yours'], [])
    """
    variants = [name for name in names if _family(name) == _family(best)]
    if len(variants) < _FEWEST:
        return list(names), []
    return variants, [name for name in names if name not in variants]


def _family(name: str) -> str:
    """A name without parameters in brackets, or without a number at its end."""
    return re.sub(r"[\s._:#=-]*\d+$", "", name.partition("[")[0]).strip() or name


def _side_by_side(subject: Subject, label: str, names: Sequence[str]) -> np.ndarray:
    """What users add to the value of each system, turned so that more is better; users whom all systems have."""
    everyone = subject.base.joined.users
    columns = np.full((len(everyone), len(names)), np.nan)
    for at, name in enumerate(names):
        system = subject.base.systems[name]
        columns[user_codes(system, everyone), at] = shares_of(system.sums[label])
    side = -1 if subject.specs[label].better == "lower" else 1
    found: np.ndarray = side * columns[~np.isnan(columns).any(axis=1)]
    return found


def _paired(values: np.ndarray, first: str, second: str) -> Difference:
    mean = mean_of(values)
    low, high = student_interval(mean.value, mean.error, freedom=mean.free, level=0.95)
    p = t_test(mean.value, mean.error, mean.free, "two-sided")
    return Difference(first, second, mean.value, low, high, p, mean.users, mean.error, mean.free)


def _over(subject: Subject, label: str, best: str, other: str) -> Difference:
    return next(iter(differences(subject.base, label, pairs=[(best, other)]).values()))


def _few(best: str, label: str, many: int, figures: dict[str, Any]) -> Finding:
    """Few systems tell nothing of what else was tried."""
    sentence = (
        f"It cannot be told whether {best}, the best by {label}, was chosen on this test set among more systems than "
        f"the {many:,} at hand: what was tried and not reported leaves no trace."
    )
    return Finding(_NAME, _HEADING, "cannot tell", "estimate", sentence, figures, _REMEDY)
