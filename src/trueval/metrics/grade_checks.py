"""Metrics of graded gains need grades: values of a scale that has a top. Counts have none."""

from __future__ import annotations

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts

# With 2^value, an item ten grades below the best one is worth a thousandth of it; further down it is worth nothing.
MOST_EXPONENTIAL = 10.0
# With value/highest, one of value 1 is worth a hundredth of the best. Scales up to 100 are in use, longer ones are not.
MOST_LINEAR = 100.0


def check_grades(facts: RankingFacts, metric: str, *, most: float, do: str, highest: float = 0.0) -> float:
    """The highest value there is (or `highest`, of other tables); refused where it cannot be the top of a scale.

    It is that of the whole test set, so that all parts of a run are treated alike.

    >>> from trueval.metrics.measure import toy_facts
    >>> check_grades(toy_facts(["a"], {"a": 4, "b": 5}), "err", most=MOST_EXPONENTIAL, do="")
    5.0
    """
    values = facts.value
    top = max(float(values.max(initial=0)), facts.highest, highest)
    if top > most:
        power = most == MOST_EXPONENTIAL
        raise DefinitionError(
            f"{metric} needs values of a bounded scale, such as ratings from 1 to 5",
            found=f"values up to {top:g}, as of counts: against these a value of 1 would be worth "
            + (f"2^-{top - 1:g} of the best" if power else f"1/{top:g} of the best"),
            do=do,
        )
    lowest = float(np.where(facts.relevant, values, 0.0).min(initial=0))
    if lowest < 0:
        raise DefinitionError(
            f"{metric} needs values that are not negative",
            found=f"a relevant item of value {lowest:g}",
            do="shift the values, so that the lowest is 0",
        )
    return top
