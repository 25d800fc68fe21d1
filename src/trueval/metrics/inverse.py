"""Inverse-propensity forms of additive metrics: ips(m), snips(m), clipped or not."""

from __future__ import annotations

import inspect

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.grammar import Spec
from trueval.metrics.inputs import Inputs, require
from trueval.metrics.registry import all_metrics
from trueval.metrics.terms import Terms, best_for, weigh


def inverse_weighted(spec: Spec, facts: RankingFacts, inputs: Inputs) -> np.ndarray:
    """A metric in which every relevant item counts 1/p, p the chance that it was observed.

    ips sums: unbiased for what the metric would be if everything relevant had been observed. snips divides by
    the sum of the weights, user by user: slightly biased, far steadier, and exact for constant terms.
    """
    propensity, clip = require(inputs.propensity, "propensity", metric=str(spec)), spec.parameters["clip"]

    def weights(facts: RankingFacts) -> np.ndarray:
        weight = np.where(facts.relevant, 1 / propensity.of_rows(facts), 0.0)
        return np.minimum(weight, clip) if clip else weight

    facts = best_for(facts, lambda facts: _terms(spec, facts), weights)
    terms, weight = _terms(spec, facts), weights(facts)
    if "snips" in spec.transforms:
        terms = Terms(terms.rows, terms.amount, mean=True)
    elif terms.mean:
        raise DefinitionError(
            f"{spec} cannot be computed",
            found="it divides by the number of relevant items, which is unknown when some were never observed",
            do=f"use snips({spec.metric.name}), or ips of a metric that is a plain sum ({_names(mean=False)})",
        )
    value = weigh(terms, facts, weight)
    assert isinstance(value, np.ndarray)
    return value


def _terms(spec: Spec, facts: RankingFacts) -> Terms:
    metric = spec.metric
    if metric.terms is None:
        raise DefinitionError(
            f"{spec} cannot be weighted: {metric.name} is not a sum over relevant items", do=f"use {_names()}"
        )
    taken = set(inspect.signature(metric.terms).parameters) - {"facts", "k"}
    changed = {n for n, p in metric.parameters.items() if spec.parameters[n] != p.default} - taken - {"clip"}
    if changed:
        raise DefinitionError(f"{spec}: {', '.join(sorted(changed))} cannot be combined with propensities")
    return metric.terms(facts, spec.k, **{name: spec.parameters[name] for name in taken})


def _names(mean: bool | None = None) -> str:
    sums = {"precision", "dcg", "rbp"}
    known = [m.name for m in all_metrics() if m.terms is not None]
    return ", ".join(name for name in known if mean is None or (name in sums) is not mean)
