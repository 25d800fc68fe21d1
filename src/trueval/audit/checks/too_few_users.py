"""Too few users: which differences could have been found at all?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Difference
from trueval.audit.finding import ALPHA, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import size
from trueval.audit.subject import Subject
from trueval.render.numbers import number
from trueval.render.statements import family_of
from trueval.statistics.multiple_comparisons import corrected


@check(heading="robustness", kind="estimate", needs=("systems",), question="Are there enough users?")
def too_few_users(case: Case) -> Iterable[Finding]:
    """Whether the best system is shown to be better than the next; what these users can show."""
    subject = case.measured
    if len(subject.names) < 2:
        yield from (_alone(case, label) for label in subject.labels)
        return
    leads = [_Leads.of(subject, label) for label in subject.labels]
    # one correction over the best against all others on all metrics, as reports have it
    p = np.array([max(one.p, one.p_rare) for own in leads for one in own.known.values()])
    q = iter(corrected(p).tolist())
    family = family_of((own.label, own.order[0], name) for own in leads for name in own.known)
    for own in leads:
        yield _leaders(case, own, {name: next(q) for name in own.known}, family=family)


@dataclass(frozen=True)
class _Leads:
    """The systems in their order on a metric, and the differences of the best one from the others, where known."""

    label: str
    order: list[str]
    known: dict[str, Difference]

    @staticmethod
    def of(subject: Subject, label: str) -> _Leads:
        side = -1 if subject.specs[label].better == "lower" else 1
        measured = subject.base.values(label)
        values = {name: side * measured[name] for name in subject.compared if not math.isnan(measured[name])}
        order = sorted(values, key=lambda name: -values[name])
        leads = {name: _from(subject.here[label], order[0], name) for name in order[1:]}
        known = {name: one for name, one in leads.items() if one is not None and not math.isnan(one.p)}
        return _Leads(label, order, known)


def _alone(case: Case, label: str) -> Finding:
    subject = case.measured
    smallest = subject.own_detectable(label)
    users = subject.base.users(subject.names[0], label)
    sentence = (
        f"{label} of {subject.names[0]} rests on {users:,} users, which find a true change of {number(smallest)} with "
        "80 % power."
    )
    if math.isnan(smallest):
        sentence = f"{label} of {subject.names[0]} rests on {users:,} users: nothing can be said of its error."
    verdict = "cannot tell" if math.isnan(smallest) else "fine"
    return Finding(
        "too_few_users", "robustness", verdict, "estimate", sentence, {"users": users, "detectable": smallest}
    )


def _leaders(case: Case, leads: _Leads, q: dict[str, float], *, family: int) -> Finding:
    """The best system against all others on one metric, with the corrected p-values of their differences."""
    subject, label, known, best = case.measured, leads.label, leads.known, leads.order[0]
    figures = {"metric": label, "order": leads.order, "users": subject.base.users(best, label)}
    if not known:
        sentence = f"It cannot be told which system is better on {label}: differences between them have no error."
        return Finding("too_few_users", "robustness", "cannot tell", "estimate", sentence, figures)
    close = [name for name in known if not q[name] < ALPHA]
    following = close[0] if close else next(iter(known))
    one = known[following]
    figures |= {"difference": one.value, "detectable": one.detectable, "close": close, "p": float(q[following])}
    power = (
        ""
        if math.isnan(one.detectable)
        else f"{one.users:,} users find a true difference of {number(one.detectable)} with 80 % power"
    )
    if not close:
        sentence = f"{best} is better than {following}, the next, on {label} by {size(one)}: {power}."
        said = (one.statement(label, "+", family),)
        return Finding("too_few_users", "robustness", "fine", "estimate", sentence, figures, statements=said)
    relevant = case.relevant(label)
    ends = max(abs(one.low), abs(one.high)) if math.isfinite(one.low) and math.isfinite(one.high) else math.inf
    if case.relevant_change is not None and ends <= relevant:
        sentence = (
            f"{best} and {following} are close on {label}: the difference is {size(one)}, less than the smallest "
            f"relevant change of {number(relevant)}."
        )
        said = (one.statement(label, "0", family),)
        return Finding("too_few_users", "robustness", "fine", "estimate", sentence, figures, statements=said)
    sentence = f"It cannot be told whether {best} or {following} is better on {label}: the difference is {size(one)}"
    sentence += f", and {power}." if power else "."
    remedy = "report them as equal, or test more users"
    if one.value and not math.isnan(one.detectable):
        need = one.users * (one.detectable / one.value) ** 2
        if need < 1e9:
            remedy += f": a true difference of {number(abs(one.value))} takes about {_rounded(need):,} of them"
    said = (one.statement(label, "?", family),)
    return Finding("too_few_users", "robustness", "cannot tell", "estimate", sentence, figures, remedy, statements=said)


def _from(found: dict[tuple[str, str], Difference], best: str, other: str) -> Difference | None:
    """The difference of the best system and another one."""
    if (best, other) in found:
        return found[best, other]
    one = found.get((other, best))
    return None if one is None else one.turned()


def _rounded(users: float) -> int:
    """Two digits that count, rounded up.

    >>> _rounded(12345.0)
    13000
    """
    unit = 10 ** max(0, math.floor(math.log10(max(users, 1))) - 1)
    return math.ceil(users / unit) * unit
