"""ERR-IA: expected reciprocal rank, aspect by aspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest
from trueval.metrics.aspects.coverage import relevant_aspects
from trueval.metrics.aspects.kernel_columns import ALPHA, PROFILE, exponential, gains, highest, profile_rows, with_zero
from trueval.metrics.aspects.novelty import cascade_value
from trueval.metrics.discount import share
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import interest


def _formula(o: Mapping[str, Any]) -> str:
    if o["form"] == "weighted":
        return (
            "Σ over aspects a of w_a·Σ over top(k) ∩ Rel with a of s·Π(1 - s of the items of Rel above with a) / rank, "
            f"s = (2^value - 1) / 2^(highest value in the data), {interest(o)}"
        )
    total = "Σ over top(k) ∩ Rel of Σ over the item's aspects of (1 - α)^(relevant items above with the aspect) / rank"
    whole = "|aspects of Rel|"
    if o["form"] == "plain":
        return f"α·{total} / {whole}"
    return f"{total} / {whole} / Σ over ranks to k of (1 - α)^(rank - 1) / rank"


@metric(
    family="aspects",
    formula=_formula,
    range=(0, 1),
    parameters={
        "alpha": replace(ALPHA, idle=lambda o: "form=weighted has none" if o["form"] == "weighted" else ""),
        "form": Parameter(
            "ndeval", ("ndeval", "plain", "weighted"),
            meaning="normalised like ndeval, not normalised, or graded with the user's interest as weights",
        ),
        "profile": replace(PROFILE, idle=lambda o: "" if o["form"] == "weighted" else "only form=weighted has it"),
    },
    needs=("aspects", "interest"),
    undefined="no relevant item has an aspect; with form=weighted never",
    reference="Chapelle et al. 2009, Clarke et al. 2011",
    ties="relevant order",
)  # fmt: skip
def err_ia(
    facts: RankingFacts, k: int, *, alpha: float, form: str, profile: str, aspects: Aspects, interest: Interest
) -> np.ndarray:
    """Intent-aware expected reciprocal rank: how soon the user is satisfied, averaged over aspects.

    >>> from trueval.metrics.measure import measure
    >>> topics = {"d1": "a", "d2": "a|b", "d4": "c", "d5": "b|c", "d6": "a|b|c"}
    >>> round(measure("err_ia@5", ["d1", "d2", "d3", "d4", "d5"], set(topics), aspects=topics), 6)
    0.532526
    """
    rank = np.arange(1, k + 1)
    discount = with_zero(1 / rank)
    if form == "weighted":
        top = highest(facts, interest)
        satisfied = exponential(facts, top) / np.exp2(top)
        weights = profile_rows(facts, interest, profile, metric="err_ia")
        return cascade_value(facts, aspects, (satisfied, satisfied), discount, profile=weights)
    total = cascade_value(facts, aspects, gains(facts, alpha, "binary", interest), discount)
    scale = alpha if form == "plain" else 1 / float(((1 - alpha) ** (rank - 1) / rank).sum())
    return scale * share(total, relevant_aspects(facts, aspects))
