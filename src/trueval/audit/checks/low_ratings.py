"""A forgotten threshold: ratings on a scale, of which low ones count as relevant as well."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import value_changes
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.top_of_lists import lists_of
from trueval.data.interactions import Interactions
from trueval.render.numbers import number, short_percent

_NAME, _HEADING = "low_ratings", "data"
_STEPS = (3, 21)  # distinct values of a scale; more are counts or times
_HIGH = 0.75  # of the highest value: from here on ratings are high
_SHARE, _MUCH = 0.02, 0.2  # of the test rows: fewer low ones change little, and more are asked about whatever they do


@check(heading=_HEADING, kind="estimate", question="Do low ratings count as relevant?")
def low_ratings(case: Case) -> Iterable[Finding | Draft]:
    """Where no threshold was given and values are ratings: what the values are when high ratings alone are relevant."""
    if case.test is None or case.threshold is not None or not case.test.has("value"):
        return
    high, low = high_rating(case.test)
    if not low > _SHARE:
        return
    share, step = short_percent(low), f"{high:g}"
    least = f"{float(case.test.frame['value'].min()):g}"  # type: ignore[arg-type]
    figures = {"high": high, "share_below": low}
    remedy = f"say which ratings are relevant: --threshold {step}; or that all of them are: --threshold {least}"
    told = (
        f"No threshold was given, so that every rating counts as relevant: {share} of the test rows are below {step}."
    )
    subject = case.subject
    facts = {} if subject is None or subject.ranked is None else lists_of(subject)
    there = None
    if subject is not None and facts:
        there = subject.view(
            f"with ratings from {step} on as relevant",
            lambda one: one.facts.changed(relevant=one.facts.value >= high),
        )
    if subject is None or there is None:
        yield Finding(_NAME, _HEADING, "cannot tell", "estimate", told, figures, remedy)
        return
    label, name = subject.labels[0], subject.names[0]
    values = f"{label} of {name} is {number(subject.base.value(name, label))} with all ratings as relevant and "
    values += f"{number(there.value(name, label))} with those from {step} on."
    if low >= _MUCH:
        yield Finding(_NAME, _HEADING, "caution", "estimate", f"{values} {told} Is that meant?", figures, remedy)
        return
    changes = [
        change
        for label in subject.labels
        for change in value_changes(subject.base, there, label, relevant=case.relevant(label), systems=subject.names)
    ]
    question = Question(
        _NAME, _HEADING, "with every rating as relevant",
        f"{told} With these left out no significant difference is reversed, and no value changes by more than is "
        f"relevant: {values}",
        told, remedy, figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=there.name), changes)


def high_rating(test: Interactions) -> tuple[float, float]:
    """The lowest of the high values on a scale of ratings, and the share of rows with a lower one that counts; NaN
    where the values are no ratings.

    Counts are most often at their lowest value, and ratings are not.

    >>> import polars as pl
    >>> high_rating(Interactions.of(pl.DataFrame({"user": 1, "item": range(6), "value": [5, 4, 4, 3, 4, 1]})))
    (4.0, 0.3333333333333333)
    >>> high_rating(Interactions.of(pl.DataFrame({"user": 1, "item": range(6), "value": [1, 1, 1, 2, 3, 7]})))
    (nan, nan)
    """
    counts = test.frame["value"].drop_nulls().value_counts().sort("value")
    value, many = counts["value"].to_numpy(), counts["count"].to_numpy()
    value, many = value[value > 0], many[value > 0]
    scale = _STEPS[0] <= len(value) <= _STEPS[1] and bool(np.all(value * 2 == np.round(value * 2)))
    if not scale or int(np.argmax(many)) == 0:
        return float("nan"), float("nan")
    high = float(value[value >= _HIGH * value[-1]][0])
    return high, float(many[value < high].sum() / many.sum())
