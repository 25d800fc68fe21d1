"""Metrics of the same rankings with fewer test ratings: removed at random from the facts, without ranking again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from trueval.comparison.tau import taus
from trueval.errors import DefinitionError
from trueval.evaluation.estimate import sums
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import random_ranking, select
from trueval.metrics.compute import Measured, compute, inputs_of
from trueval.metrics.grammar import Spec
from trueval.metrics.metric_inputs import Inputs
from trueval.splits.row_hashing import chain, coin

_ROWS = ("item", "value", "relevant", "rank", "above", "tied")


def removal_chances(facts: RankingFacts, *, seed: int) -> np.ndarray:
    """A number in [0, 1) for each judged row, by user and item: rows below a share are removed with it.

    More removed include those of fewer, and all systems lose the same ratings.
    """
    return coin(chain(seed, "removed test ratings", facts.unit_user[facts.unit], facts.item))


def without_rows(facts: RankingFacts, keep: np.ndarray) -> RankingFacts:
    """The facts with some judged rows only; what is removed stays in the ranking, unjudged. In 1R its unit goes.

    >>> from trueval.metrics.measure import toy_facts
    >>> facts = toy_facts(["a", "b", "c"], {"a", "c"}, complete=True)
    >>> left = without_rows(facts, np.array([False, True]))
    >>> left.rank.tolist(), left.R.tolist(), left.targets.tolist()
    ([3], [1], [3])
    """
    if facts.one_relevant:
        return select(facts, keep)
    number = np.bincount(facts.unit[keep], minlength=len(facts))
    optional = {
        name: None if (column := getattr(facts, name)) is None else column[keep] for name in ("score", "list_rank")
    }
    return facts.changed(
        start=np.concatenate([[0], np.cumsum(number)]),
        **{name: getattr(facts, name)[keep] for name in _ROWS},
        **optional,
    )


def from_facts(spec: Spec) -> bool:
    """Whether a metric can be measured from rankings alone.

    >>> from trueval.metrics.grammar import parse
    >>> from_facts(parse("ndcg@10")), from_facts(parse("novelty@10"))
    (True, False)
    """
    return inputs_of(spec) <= set(spec.metric.wants)


def check_from_facts(spec: Spec) -> None:
    """Refuse metrics that need more than the facts."""
    if needed := sorted(inputs_of(spec) - set(spec.metric.wants)):
        raise DefinitionError(
            f"{spec} cannot be measured from rankings alone",
            found=f"it needs {', '.join(needed)}",
            do="choose accuracy metrics, such as precision@10 and ndcg@10",
        )


def value_of(spec: Spec, facts: RankingFacts) -> tuple[float, int]:
    """A metric over the units for which it is defined, and how many these are."""
    measured = compute(spec, facts, Inputs())
    if measured.tally is not None:
        return measured.value(), len(facts)
    return averaged(measured, facts)


def averaged(measured: Measured, facts: RankingFacts) -> tuple[float, int]:
    """The mean over units (of P1R designs: over percentiles), and the number of units."""
    clusters, cluster = np.unique(facts.unit_user, return_inverse=True)
    if not len(clusters):
        return float("nan"), 0
    found = sums(measured, cluster, len(clusters), facts.stratum)
    return float(found.value()[0]), found.n


def by_chance(spec: Spec, facts: RankingFacts) -> float:
    """The expected value of a random ranking; NaN where the numbers of targets are not known."""
    shuffled = None if spec.metric.no_chance or spec.metric.system else random_ranking(facts)
    return float("nan") if shuffled is None else value_of(spec, shuffled)[0]


def fewer_ratings(
    facts: Mapping[str, RankingFacts], specs: Mapping[str, Spec], shares: Sequence[float], *, repeats: int, seed: int
) -> pl.DataFrame:
    """Each metric of each system with shares of the test ratings removed.

    Means over the same users are taken throughout, those who have lost all their relevant items included wherever the
    metric is defined for them (precision is 0, recall is undefined).

    Returns
    -------
    DataFrame
        Columns metric, removed, system, value, spread (standard deviation over `repeats` removals), by_chance, units,
        and tau: Kendall's τ-b of the order of the systems with that of all ratings.
    """
    rows = []
    for share in shares:
        drawn = [_removed(facts, specs, share, seed=seed + number) for number in range(repeats if share else 1)]
        rows += [
            {"metric": label, "removed": float(share), "system": name, **_joined([one[label, name] for one in drawn])}
            for label in specs
            for name in facts
        ]
    schema = {
        "metric": pl.String, "removed": pl.Float64, "system": pl.String, "value": pl.Float64, "spread": pl.Float64,
        "by_chance": pl.Float64, "units": pl.Float64,
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema)
    return table.with_columns(tau=_orders(table, specs, len(facts)))


def _removed(
    facts: Mapping[str, RankingFacts], specs: Mapping[str, Spec], share: float, *, seed: int
) -> dict[tuple[str, str], tuple[float, float, int]]:
    """By metric and system: value, value by chance (which all systems share) and units, after one removal."""
    found: dict[tuple[str, str], tuple[float, float, int]] = {}
    chance: dict[str, float] = {}
    for name, own in facts.items():
        left = without_rows(own, removal_chances(own, seed=seed) >= share) if share else own
        for label, spec in specs.items():
            if label not in chance:
                chance[label] = by_chance(spec, left)
            value, units = value_of(spec, left)
            found[label, name] = value, chance[label], units
    return found


def _joined(drawn: Sequence[tuple[float, float, int]]) -> dict[str, float]:
    value, chance, units = (np.array(column, float) for column in zip(*drawn))
    spread = float(value.std(ddof=1)) if len(value) > 1 else float("nan")
    return {
        "value": float(value.mean()), "spread": spread, "by_chance": float(chance.mean()), "units": float(units.mean()),
    }  # fmt: skip


def _orders(table: pl.DataFrame, specs: Mapping[str, Spec], systems: int) -> pl.Series:
    """τ of each metric's order at each share with its order at the first share, repeated for all systems."""
    values = table["value"].to_numpy().reshape(-1, len(specs), systems)
    out = np.full(values.shape, np.nan)
    if systems >= 3:
        for place in range(len(specs)):
            first = np.broadcast_to(values[0, place], values[:, place].shape)
            plain, _ = taus(values[:, place], first)
            out[:, place] = plain[:, None]
    return pl.Series(out.ravel())
