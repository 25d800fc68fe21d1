"""EU: expected utility, the gain of what is new less the effort of reading."""

from __future__ import annotations

import numpy as np

from trueval.data.aspects import Aspects
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest
from trueval.metrics.aspects.kernel_columns import (
    GAIN,
    PROFILE,
    deepest,
    gains,
    log2_discount,
    places,
    profile_rows,
    with_zero,
)
from trueval.metrics.aspects.novelty import cascade_value
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import interest, novelty_gain, top


@metric(
    family="aspects",
    formula=lambda o: (
        f"Σ over {top(o)} of disc·(gain - e), disc = "
        f"{'1/log2(rank + 1)' if o['discount'] == 'log2' else 'β^(rank - 1)'}, gain of an item of Rel "
        f"{novelty_gain(o, 'w_a·')}, {interest(o)}"
    ),
    range=(-np.inf, np.inf),
    cutoff="optional",
    parameters={
        "alpha": Parameter(0.25, low=0.0, high=1.0, meaning="share of the interest that a relevant item satisfies"),
        "e": Parameter(0.05, low=0.0, meaning="effort of reading an item"),
        "discount": Parameter("log2", ("log2", "geometric"), meaning="1/log2(rank+1), or beta^(rank-1)"),
        "beta": Parameter(
            0.9,
            low=0.0,
            high=1.0,
            quiet=True,
            meaning="chance of going on, with discount=geometric",
            idle=lambda o: "" if o["discount"] == "geometric" else "only discount=geometric has it",
        ),
        "gain": GAIN,
        "profile": PROFILE,
    },
    needs=("aspects", "interest"),
    reference="Yang & Lad 2009, as read by Parapar & Radlinski 2021; document form unverified",
    ties="relevant order",
)
def eu(
    facts: RankingFacts, k: int | None, *, alpha: float, e: float, discount: str, beta: float, gain: str, profile: str,
    aspects: Aspects, interest: Interest,
) -> np.ndarray:  # fmt: skip
    """Expected utility: what is new and relevant to the user's interests, less an effort for every item read.

    Document form unverified: the original formula could not be obtained; this is the discounted form that the
    document's parameters fit, with the geometric one beside it.

    >>> from trueval.metrics.measure import measure
    >>> genres = {"i1": "a", "i2": "a|b", "i3": "b"}
    >>> round(measure("eu@2[profile=test]", ["i1", "i2", "i3"], {"i1": 2, "i3": 2}, aspects=genres), 6)
    0.418454
    """
    last = deepest(facts, k)
    table = log2_discount(last) if discount == "log2" else with_zero(beta ** np.arange(last))
    weights = profile_rows(facts, interest, profile, metric="eu")
    total = cascade_value(facts, aspects, gains(facts, alpha, gain, interest), table, profile=weights)
    return total - e * np.cumsum(table)[places(facts, k)]
