"""1R metrics by the size of the target sets: exact expectations over samples, from ranks among all targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from trueval.audit.fewer_ratings import averaged
from trueval.design.sampled_ranks import rank_metric, read_metric
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import one_relevant
from trueval.metrics.compute import Measured


def first_rank_chances(above: np.ndarray, pool: np.ndarray, sample: int, k: int) -> np.ndarray:
    """Chances of the ranks 1 to k among `sample` items drawn without replacement from `pool`, of which `above` are
    ranked above (hypergeometric). Pools that are smaller than the sample are taken whole.

    >>> first_rank_chances(np.array([1]), np.array([2]), 1, 2).tolist()
    [[0.5, 0.5]]
    """
    from scipy.special import gammaln

    a, m = np.asarray(above, np.float64)[:, None], np.asarray(pool, np.float64)[:, None]
    n = np.minimum(sample, m)
    x = np.arange(min(k, sample + 1), dtype=np.float64)[None, :]  # drawn items above: the rank less one
    possible = (x <= a) & (n - x <= m - a)

    def ways(of: np.ndarray, choose: np.ndarray) -> np.ndarray:
        low, high = np.maximum(choose, 0), np.maximum(of - choose, 0)
        return gammaln(of + 1) - gammaln(low + 1) - gammaln(high + 1)

    log = ways(a, np.minimum(x, a)) + ways(m - a, np.clip(n - x, 0, m - a)) - ways(m, n)
    out = np.zeros((len(a), k))
    out[:, : x.shape[1]] = np.where(possible & (x <= n), np.exp(log), 0.0)
    return out


def larger_targets(facts: Mapping[str, RankingFacts], metrics: Sequence[str], sizes: Sequence[int]) -> pl.DataFrame:
    """Metrics of one relevant item among target sets of given sizes, in expectation over samples of its targets.

    No system is ranked again: the rank among a sample follows from the rank among all targets. Sizes beyond the targets
    that were ranked cannot be known and are left out.

    Returns
    -------
    DataFrame
        Columns metric, targets, system, value, by_chance, units.
    """
    known = {name: read_metric(name) for name in metrics}
    for name, (_, k) in known.items():
        if k is None:
            raise DefinitionError(f"{name} needs a cutoff here", do=f"{name}@10")
    deepest = max(k or 0 for _, k in known.values())
    rows = []
    for system, own in facts.items():
        alone = own if own.one_relevant else one_relevant(own)
        above, pool = _places(alone, system, own.depth)
        places, back = np.unique(np.stack([above, pool]), axis=1, return_inverse=True)
        for size in _possible(sizes, pool):
            chances = first_rank_chances(places[0], places[1], size - 1, deepest)
            reached = np.minimum(size, pool + 1)
            for name in metrics:
                gains = rank_metric(name, np.arange(1, deepest + 1), size=size)
                value, units = averaged(Measured((chances @ gains)[back.ravel()]), alone)
                total = np.concatenate([[0.0], np.cumsum(gains)])[np.minimum(reached, deepest)]
                chance, _ = averaged(Measured(total / reached), alone)  # every rank of a target is equally likely
                rows.append((name, size, system, value, chance, units))
    columns = {
        "metric": pl.String, "targets": pl.Int64, "system": pl.String, "value": pl.Float64, "by_chance": pl.Float64,
        "units": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=columns, orient="row")


def _places(alone: RankingFacts, system: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each relevant item, the number of non-relevant targets above it and in all."""
    if not alone.exact or (alone.targets < 0).any():
        raise DefinitionError(
            "target sets of other sizes need the rank of every relevant item",
            where=system,
            found=f"lists of the first {depth} items",
            do="evaluate the model itself (tv.evaluate), not a list that was cut",
        )
    if alone.ties == "expected":
        raise DefinitionError(
            "target sets of other sizes need one rank for each item",
            where=system,
            found="ties=expected",
            do="ties=random",
        )
    pool = alone.targets - 1
    return np.where(alone.rank > 0, alone.rank - 1, pool), pool


def _possible(sizes: Sequence[int], pool: np.ndarray) -> list[int]:
    """Sizes that at least one unit's targets allow, and all of them together as the last."""
    most = int(pool.max(initial=0)) + 1
    return sorted({size for size in sizes if 2 <= size < most} | {most})
