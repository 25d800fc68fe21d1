"""Does a metric rank systems alike when ratings are missing? τ with itself while ratings go, by aspect (αβ-nDCG).

Parapar and Radlinski (2021), §5.4: ratings are removed in proportion to aspects, many times over; `fewer_ratings`
removes them at random, for metrics of accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from trueval.audit.fewer_ratings import without_rows
from trueval.comparison.tau import taus
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspects.several_rankings import abndcg_of_several
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.spec import Spec
from trueval.progress import progress
from trueval.simulation.ideal_rankings import IdealRankings
from trueval.simulation.judged_rankings import judged_facts
from trueval.simulation.perturbed_rankings import removal_places

_SCHEMA = {
    "systems": pl.String, "metric": pl.String, "cutoff": pl.Int64, "removed": pl.Float64, "removal": pl.Int64,
    "tau": pl.Float64, "users": pl.Int64,
}  # fmt: skip


def self_correlation(
    ideal: IdealRankings,
    lists: Mapping[str, np.ndarray],
    specs: Mapping[str, Spec],
    inputs: Inputs,
    *,
    shares: Sequence[float],
    removals: Sequence[int],
    cutoffs: Sequence[int],
    seed: int = 0,
) -> pl.DataFrame:
    """τ-b between the order of systems by all ratings and that by fewer, for forms of αβ-nDCG.

    What is removed stays in the lists, unrated; the interest of users (`profile=test`) is that of the ratings left, and
    users without any are left out. Within a removal, a larger share includes the smaller ones; all systems and metrics
    see the same removals.

    Parameters
    ----------
    ideal : IdealRankings
        The rated items of every user.
    lists : mapping from names to arrays
        Groups of systems that are ranked among themselves: items by system (rows), in the places of the ideal rankings.
    specs : mapping from labels to Spec
        αβ-nDCG with different parameters.
    inputs : Inputs
        See `judged_inputs`.
    shares : list of numbers
        Shares of each user's ratings to remove, rounded to whole ratings.
    removals : list of int
        Numbers of the removals: each is a draw of its own, the same whatever others are asked for.
    cutoffs : list of int
        Cutoffs, ascending.
    seed : int, default 0
        Seed of the removals.

    Returns
    -------
    DataFrame
        One row for each removal: columns systems, metric, cutoff, removed (the share), removal, tau, users.

    Examples
    --------
    >>> import trueval as tv
    >>> from trueval.metrics.grammar import parse
    >>> from trueval.simulation.ideal_rankings import ideal_rankings
    >>> from trueval.simulation.judged_rankings import judged_inputs
    >>> from trueval.simulation.perturbed_rankings import shuffled_rankings
    >>> ideal = ideal_rankings(tv.simulate("world", users=40, items=60, ratings=600).log)
    >>> lists = {"five": np.stack([shuffled_rankings(ideal, seed=seed) for seed in range(5)])}
    >>> specs = {"β = 0.5": parse("abndcg@10[profile=test]")}
    >>> found = self_correlation(
    ...     ideal, lists, specs, judged_inputs(ideal), shares=[0.0, 0.5], removals=range(2), cutoffs=[5, 10])
    >>> found.filter(removed=0.0)["tau"].to_list()
    [1.0, 1.0, 1.0, 1.0]
    """
    facts = judged_facts(ideal)
    every = np.concatenate(list(lists.values()))
    groups = np.split(np.arange(len(every)), np.cumsum([len(own) for own in lists.values()])[:-1])
    whole = {label: _means(facts, every, spec, inputs, cutoffs) for label, spec in specs.items()}
    rows = []
    with progress("removing ratings", len(removals) * len(shares) * len(specs)) as step:
        for number in removals:
            place = removal_places(ideal, seed=seed + number)
            for share in shares:
                left = without_rows(facts, place + 0.5 >= share * ideal.length[ideal.user])
                users = int((np.diff(left.start) > 0).sum())
                for label, spec in specs.items():
                    means = _means(left, every, spec, inputs, cutoffs)
                    for name, own in zip(lists, groups):
                        found = taus(whole[label][:, own], means[:, own])[0].tolist()
                        rows += [(name, label, k, share, number, tau, users) for k, tau in zip(cutoffs, found)]
                    step()
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _means(facts: RankingFacts, lists: np.ndarray, spec: Spec, inputs: Inputs, cutoffs: Sequence[int]) -> np.ndarray:
    """Mean over the users with ratings, by cutoff and system."""
    values = abndcg_of_several(facts, lists, spec, inputs, cutoffs=cutoffs)
    return np.nanmean(values[:, :, np.diff(facts.start) > 0], axis=2).T
