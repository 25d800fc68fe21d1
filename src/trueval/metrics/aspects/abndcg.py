"""αβ-nDCG: accuracy and aspect diversity in one metric."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.aspects.kernel_columns import (
    COUNTS,
    PROFILE,
    highest,
    item_aspects,
    list_rows,
    log2_discount,
    owned,
    pool_of,
    profile_rows,
    rated_rows,
    run,
)  # fmt: skip
from trueval.metrics.discount import share
from trueval.metrics.grade_checks import MOST_LINEAR, check_grades
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import interest

_SCALED = {False: "value / highest value in the data", True: "(value - lowest) / (highest - lowest value in the data)"}


@metric(
    family="aspects",
    formula=lambda o: (
        "DCG / DCG of the greedy order of all targets, unrated ones included, cut at k, discount "
        "1/log2(rank + 1), gain 1 - Π over the item's aspects of (1 - P·w_a·Π over items above of (1 - P)), "
        f"P = β·{_SCALED[o['rescale']]} for a rated item, α for an unrated one, {interest(o)}"
    ),
    range=(0, np.inf),
    parameters={
        "alpha": Parameter(0.005, low=0.0, high=1.0, meaning="chance that an unrated item pleases by an aspect"),
        "beta": Parameter(0.5, low=0.0, high=1.0, meaning="the same for an item with the highest rating"),
        "profile": PROFILE,
        "rescale": Parameter(False, (False, True), meaning="ratings from 0 for the lowest to 1 for the highest"),
    },
    needs=("aspects", "interest", "targets"),
    undefined="no target has an aspect of interest",
    reference="Parapar & Radlinski 2021",
    greedy_ideal=True,
)
def abndcg(
    facts: RankingFacts, k: int, *, alpha: float, beta: float, profile: str, rescale: bool, aspects: Aspects,
    interest: Interest, targets: Targets,
) -> np.ndarray:  # fmt: skip
    """Unified accuracy and aspect diversity: the chance that each item pleases by an aspect not yet satisfied.

    The best order is found greedily (ties to the smaller item code), so a list may beat it: values are not cut at 1.

    >>> from trueval.metrics.measure import measure
    >>> genres = {"i1": "a", "i2": "a|b", "i3": "b", "i4": "c", "i5": "b|c"}
    >>> ratings = {"i1": 5, "i2": 4, "i4": 2, "i5": 3}
    >>> round(measure("abndcg@3[profile=test]", ["i1", "i2", "i3", "i4", "i5"], ratings, aspects=genres), 6)
    0.810554
    """
    gain = rated_gains(facts, interest, beta=beta, rescale=rescale)
    pool = pool_of(facts, aspects, targets)
    gained, ideal = np.zeros(len(facts)), np.zeros(len(facts))
    work = int((pool.last - pool.first).sum()) + len(facts) * k + 4 * len(facts.item)
    run(
        facts, work, "unified", item_aspects(aspects, facts), list_rows(facts), rated_rows(facts, gain),
        profile_rows(facts, interest, profile, metric="abndcg"), pool, owned(targets.barred, facts), alpha,
        log2_discount(k), out=(gained, ideal),
    )  # fmt: skip
    return share(gained, ideal)


def rated_gains(facts: RankingFacts, interest: Interest, *, beta: float, rescale: bool) -> np.ndarray:
    """The chance that each judged item pleases by an aspect: β · value / highest value, or rescaled from 0 to 1."""
    return beta * (_rescaled(facts, interest) if rescale else facts.value / highest(facts, interest))


def _rescaled(facts: RankingFacts, interest: Interest) -> np.ndarray:
    low, high = interest.bounds()
    if not high > low:
        raise DefinitionError(
            "abndcg[rescale=true] needs ratings of more than one value",
            found=f"all are {low:g}",
            do="leave rescale out",
        )
    check_grades(facts, "a graded gain", most=MOST_LINEAR, highest=high, do=COUNTS)
    return (facts.value - low) / (high - low)
