"""What α-nDCG, NRBP, ERR-IA, EU and RBU share: relevant items gain less where their aspects were seen before."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels.aspect_rows import Owned, RankedRows
from trueval.metrics.aspects.kernel_columns import column, in_item_order, item_aspects, no_profile, ranked_rows, run

Worth = tuple[np.ndarray, np.ndarray]  # gain and fade of each judged row


def cascade_value(
    facts: RankingFacts, aspects: Aspects, worth: Worth, discount: np.ndarray, *, profile: Owned | None = None,
    scaled: bool = False,
) -> np.ndarray:  # fmt: skip
    """Σ discount · Σ_a w_a · gain · Π(1 - fade of items above) of each unit; every aspect weighs 1 without a profile.

    With `scaled`, gain and fade are divided by 1 + the highest gain that the unit has in the aspect.
    """
    total = np.zeros(len(facts))
    rows = ranked_rows(facts, *worth)
    weights = no_profile() if profile is None else profile
    work = 4 * (len(rows.item) + len(facts))
    run(facts, work, "cascade", item_aspects(aspects), rows, weights, discount, scaled, out=(total,))
    return total


def cascade_ideal(facts: RankingFacts, aspects: Aspects, worth: Worth, discount: np.ndarray) -> np.ndarray:
    """The same for the greedy order of all items that gain anything, every aspect weighing 1."""
    total = np.zeros(len(facts))
    order = in_item_order(facts)
    order = order[worth[0][order] > 0]
    number = np.bincount(facts.unit[order], minlength=len(facts))
    rows = RankedRows(
        np.concatenate([[0], np.cumsum(number)]),
        column(facts.item[order], np.int32),
        np.zeros(len(order), np.int32),
        worth[0][order],
        worth[1][order],
    )
    work = int((number * np.minimum(number, len(discount))).sum())
    run(facts, work, "cascade_ideal", item_aspects(aspects), rows, discount, out=(total,))
    return total
