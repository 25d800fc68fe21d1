"""αβ-nDCG of many rankings that are judged alike: the ideal, which costs most, is worked out once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels.aspect_rows import AspectLists
from trueval.metrics.aspects.abndcg import rated_gains
from trueval.metrics.aspects.kernel_columns import (
    column,
    item_aspects,
    log2_discount,
    owned,
    pool_of,
    profile_rows,
    rated_rows,
    run,
)
from trueval.metrics.discount import share
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.spec import Spec


def abndcg_of_several(
    facts: RankingFacts, lists: np.ndarray, spec: Spec, inputs: Inputs, *, cutoffs: Sequence[int]
) -> np.ndarray:
    """αβ-nDCG of several rankings of the same length under the same judgements, at several cutoffs.

    Parameters
    ----------
    facts : RankingFacts
        The judgements, and where each unit's list begins.
    lists : array
        Items by system (rows), in the places of `facts.list_item`.
    spec : Spec
        αβ-nDCG with its parameters; its cutoff does not matter.
    inputs : Inputs
        Aspects, interest and targets.
    cutoffs : list of int
        Cutoffs, ascending.

    Returns
    -------
    array
        Values by system, cutoff and unit; NaN where undefined.

    Examples
    --------
    >>> import polars as pl
    >>> from trueval.data.aspects import Aspects
    >>> from trueval.metrics.aspect_inputs import Interest, Targets
    >>> from trueval.metrics.grammar import parse
    >>> from trueval.metrics.measure import toy_facts
    >>> facts = toy_facts(["i1", "i2", "i3", "i4", "i5"], {"i1": 5, "i2": 4, "i4": 2, "i5": 3})
    >>> genres = Aspects.of(np.array([0, 1, 1, 2, 3, 4, 4]), pl.Series(list("aabbcbc")), n_items=5)
    >>> inputs = Inputs(
    ...     aspects=genres, interest=Interest(None, lambda: (2, 5)), targets=Targets(lambda: np.ones(5, bool))
    ... )
    >>> lists = np.array([[0, 1, 2, 3, 4], [1, 0, 4, 3, 2]])
    >>> found = abndcg_of_several(facts, lists, parse("abndcg@3[profile=test]"), inputs, cutoffs=[3])
    >>> found[:, 0, 0].round(6).tolist()  # the first is that of `abndcg`
    [0.810554, 1.0]
    """
    options: dict[str, Any] = dict(spec.parameters)
    aspects, interest, targets = (inputs.supply(name, metric=str(spec)) for name in ("aspects", "interest", "targets"))
    own = item_aspects(aspects)
    rated = rated_rows(facts, rated_gains(facts, interest, beta=options["beta"], rescale=options["rescale"]))
    profile = profile_rows(facts, interest, options["profile"], metric="abndcg")
    pool, barred, alpha = pool_of(facts, aspects, targets), owned(targets.barred, facts), options["alpha"]
    places = column(np.asarray(cutoffs), np.int64)
    shown = np.zeros((len(lists), len(places), len(facts)))
    run(
        facts, lists.size, "unified_several", own, column(facts.list_start, np.int64), column(lists, np.int32), rated,
        profile, alpha, log2_discount(int(places[-1])), places, out=(shown,),
    )  # fmt: skip
    nothing = AspectLists(np.zeros(len(facts) + 1, np.int64), np.empty(0, np.int32), np.empty(0, bool))
    work = int((pool.last - pool.first).sum()) + 4 * len(facts.item)
    for at, k in enumerate(places.tolist()):
        ideal = np.zeros(len(facts))
        run(
            facts, work + len(facts) * k, "unified", own, nothing, rated, profile, pool, barred, alpha,
            log2_discount(k), out=(np.zeros(len(facts)), ideal),
        )  # fmt: skip
        shown[:, at] = share(shown[:, at], ideal)
    return shown
