"""Users without recommendations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import ValueChange
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.settings import Setting
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of
from trueval.evaluation.population import in_population
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number
from trueval.statistics.significance_tests import t_test
from trueval.statistics.student import t_quantile

_LEAST = 0.1  # of the value: the smallest change that is told, where the reader names none
_REMEDY = (
    "recommend something to these users (popular items, say), or say that values are about the others: --missing drop"
)


@check(heading="data", kind="estimate", needs=("systems", "facts"), question="Does everybody have a list?")
def missing_lists(case: Case) -> Iterable[Finding | Draft]:
    """Whether values and orders depend on users without a list counting as 0 or not at all."""
    subject = case.measured
    assert subject.ranked is not None
    missing = {name: _missing(one.facts, subject.options.averaged_over) for name, one in subject.ranked.items()}
    lacking = {name: many for name, (many, _) in missing.items() if many}
    figures: dict[str, object] = {"users_without_list": lacking}
    if not lacking:
        yield Finding("missing_lists", "data", "fine", "fact", "Every user whom values are about has a list.", figures)
        return
    other = "drop" if subject.options.missing == "zero" else "zero"
    there = subject.measured(
        f"missing={other}", subject.ranked, subject.tested_specs, options=replace(subject.options, missing=other)
    )
    label, name = subject.labels[0], max(lacking, key=lambda one: lacking[one])
    users = [f"{many:,} of {missing[one][1]:,} users of {one}" for one, many in lacking.items()]
    value = "" if there is None else (
        f" {label} of {name} is {number(subject.base.value(name, label))} with missing={subject.options.missing} and "
        f"{number(there.value(name, label))} with missing={other}."
    )  # fmt: skip
    changes = [] if there is None else _changes(case, there, missing)
    question = Question(
        "missing_lists", "data", f"with missing={subject.options.missing}",
        f"No significant difference between systems is reversed with missing={other}, and no value changes by more "
        f"than is relevant: {listed(users)} have no list.{value}",
        f"{listed(users)} have no list.{value}" if not changes else f"{listed(users)} have no list.", _REMEDY,
        f"It cannot be told what {listed(users)} would make of a list, which they do not have.{value}", figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=f"with missing={other}"), changes)


def _changes(case: Case, there: Setting, missing: dict[str, tuple[int, int]]) -> list[ValueChange]:
    """What users without a list do to the values: nothing, or as much as the mean of the others for each of them."""
    subject, found = case.measured, []
    zero = subject.options.missing == "zero"
    for label in subject.labels:
        for name, (many, users) in missing.items():
            values = shares_of((there if zero else subject.base).systems[name].sums[label])
            mean, share = mean_of(values[~np.isnan(values)]), many / users
            if not many or mean.users < 2:
                continue
            before, after = subject.base.value(name, label), there.value(name, label)
            change, error = (share if zero else -share) * mean.value, share * mean.error
            relevant = (
                case.relevant(label) if case.relevant_change is not None else _LEAST * max(abs(before), abs(after))
            )
            reach = t_quantile(level=0.95, freedom=mean.free) * error
            p = t_test(abs(change) - relevant, error, mean.free, "greater")
            found.append(ValueChange(
                name, label, f"with {there.name}", before, after, change, change - reach, change + reach, relevant, p
            ))  # fmt: skip
    return found


def _missing(facts: RankingFacts, population: str) -> tuple[int, int]:
    """Users of the population without a list, and all."""
    inside = in_population(facts, population)
    users = np.unique(facts.unit_user[inside])
    if facts.listed is None:
        return 0, len(users)
    return len(np.unique(facts.unit_user[inside & ~facts.listed])), len(users)
