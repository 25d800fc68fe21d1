"""Users without recommendations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.evaluation.population import in_population
from trueval.facts.ranking_facts import RankingFacts
from trueval.render.numbers import number

_REMEDY = (
    "recommend something to these users (popular items, say), or say that values are about the others: --missing drop"
)


@check(heading="data", kind="estimate", needs=("systems", "facts"), question="Does everybody have a list?")
def missing_lists(case: Case) -> Iterable[Finding | Draft]:
    """Whether the order of systems depends on users without a list counting as 0 or not at all."""
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
    question = Question(
        "missing_lists", "data", f"with missing={subject.options.missing}",
        f"No significant difference between systems is reversed with missing={other}: {listed(users)} have no "
        f"list.{value}",
        f"{listed(users)} have no list.{value}", _REMEDY,
        f"It cannot be told what {listed(users)} would make of a list, which they do not have.{value}", figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=f"with missing={other}"))


def _missing(facts: RankingFacts, population: str) -> tuple[int, int]:
    """Users of the population without a list, and all."""
    inside = in_population(facts, population)
    users = np.unique(facts.unit_user[inside])
    if facts.listed is None:
        return 0, len(users)
    return len(np.unique(facts.unit_user[inside & ~facts.listed])), len(users)
