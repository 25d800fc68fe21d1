"""Inverse-propensity forms of additive metrics: ips(m), snips(m), clipped or not."""

from __future__ import annotations

import inspect

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.additive_terms import Terms, best_for, self_normalised, weigh
from trueval.metrics.metric_inputs import Inputs, require
from trueval.metrics.metric_values import Ratio
from trueval.metrics.registry import all_metrics
from trueval.metrics.spec import WEIGHTING, Spec


def inverse_weighted(spec: Spec, facts: RankingFacts, inputs: Inputs) -> np.ndarray | Ratio:
    """A metric in which every relevant item counts 1/p, p the chance that it is in the test set.

    ips sums: over all users unbiased for what the metric would be if everything relevant had been observed. snips
    scales the weights to mean 1 over the relevant items of all users: slightly biased, far steadier, and exact for
    constant terms. With average=mean it scales them user by user, which for users with one relevant item undoes
    the weights altogether.
    """
    propensity, clip = require(inputs.propensity, "propensity", metric=str(spec)), spec.parameters["clip"]

    def weights(facts: RankingFacts) -> np.ndarray:
        weight = np.where(facts.relevant, 1 / propensity.of_rows(facts), 0.0)
        return np.minimum(weight, clip) if clip else weight

    facts = best_for(facts, lambda facts: _terms(spec, facts), weights)
    terms, weight = _terms(spec, facts), weights(facts)
    if "snips" in spec.transforms:
        ratio = self_normalised(terms, facts, weight)
        return ratio if spec.parameters["average"] == "pooled" else ratio.per_unit()
    if terms.mean:
        raise DefinitionError(
            f"{spec} cannot be computed",
            found="it divides by the number of relevant items, which is unknown when some were never observed",
            do=f"use snips({spec.metric.name}), or ips of a metric that is a plain sum ({_names(plain=True)})",
        )
    return weigh(terms, facts, weight)


def _terms(spec: Spec, facts: RankingFacts) -> Terms:
    metric = spec.metric
    if facts.condensed:
        raise DefinitionError(
            f"{spec} has no meaning on condensed rankings",
            found="an item's rank there depends on which others were observed, and no weight of its own corrects that",
            do="leave condensed out",
        )
    if metric.terms is None:
        raise DefinitionError(
            f"{spec} cannot be weighted: {metric.name} is not a sum over relevant items", do=f"use {_names()}"
        )
    if spec.parameters.get("against") == "judged":
        raise DefinitionError(
            f"{spec} cannot be weighted",
            found="the judged items that relevant ones are compared with were observed by chance, too, without weights",
            do="leave against=judged out, or use snips(atop)",
        )
    taken = set(inspect.signature(metric.terms).parameters) - {"facts", "k"}
    changed = {n for n, p in metric.parameters.items() if spec.parameters[n] != p.default} - taken - {*WEIGHTING}
    if changed:
        raise DefinitionError(f"{spec}: {', '.join(sorted(changed))} cannot be combined with propensities")
    return metric.terms(facts, spec.k, **{name: spec.parameters[name] for name in taken})


def _names(*, plain: bool = False) -> str:
    """Metrics that can be weighted; or those alone that are a plain sum."""
    return ", ".join(m.name for m in all_metrics() if m.terms is not None and (m.plain_sum or not plain))
