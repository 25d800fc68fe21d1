"""From a metric and facts to values: inputs supplied, transforms applied, refusals raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import flip
from trueval.metrics.inverse_propensity import inverse_weighted
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.metric_values import Ratio, Tally
from trueval.metrics.registry import find
from trueval.metrics.spec import Spec
from trueval.metrics.tie_checks import check_ties


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of one metric: per unit, and whatever its aggregate needs besides."""

    per_unit: np.ndarray | None
    ratio: Ratio | None = None
    tally: Tally | None = None

    def value(self) -> float:
        """The plain aggregate: pooled, tallied, or the mean over units for which the metric is defined."""
        if self.tally is not None:
            return self.tally.value()
        if self.ratio is not None:
            return self.ratio.pooled()
        assert self.per_unit is not None
        known = self.per_unit[~np.isnan(self.per_unit)]
        return float(known.mean()) if len(known) else float("nan")

    def take(self, order: np.ndarray) -> Measured:
        """The values of some units, in an order."""
        per_unit = None if self.per_unit is None else self.per_unit[order]
        ratio = None if self.ratio is None else self.ratio.take(order)
        return Measured(per_unit, ratio, self.tally)


def inputs_of(spec: Spec) -> set[str]:
    """Names of the inputs that a metric looks at.

    >>> from trueval.metrics.grammar import parse
    >>> sorted(inputs_of(parse("serendipity@10"))), sorted(inputs_of(parse("ips(dcg)@10")))
    (['popularity', 'train'], ['propensity'])
    """
    return {*spec.metric.needs, *spec.metric.wants, *(["propensity"] if _weighted(spec) else [])}


def weighs_items(spec: Spec) -> bool:
    """Whether judged items may weigh differently in a metric: then the last bits of sums depend on their order.

    >>> from trueval.metrics.grammar import parse
    >>> [weighs_items(parse(name)) for name in ("recall@5", "recall@5[beta=1]", "novelty@5", "ips(dcg)@5")]
    [False, True, True, True]
    """
    metric = spec.metric
    as_usual = all(spec.parameters[name] == known.default for name, known in metric.parameters.items())
    return bool(metric.needs) or _weighted(spec) or (bool(metric.wants) and not as_usual)


def _weighted(spec: Spec) -> bool:
    return not {"ips", "snips"}.isdisjoint(spec.transforms)


def has_meaning_in_1r(spec: Spec) -> bool:
    """Whether a metric can be measured where each relevant item is ranked alone.

    >>> from trueval.metrics.grammar import parse
    >>> has_meaning_in_1r(parse("ndcg@10")), has_meaning_in_1r(parse("coverage@10"))
    (True, False)
    """
    return not spec.transforms and spec.metric.has_meaning_in_1r(spec.parameters)


def compute(spec: Spec, facts: RankingFacts, inputs: Inputs) -> Measured:
    """Compute one metric."""
    metric = spec.metric
    if metric.exact and not facts.exact:
        raise DefinitionError(
            f"{spec} needs the rank of every judged item, and this run shows only the first {facts.depth}",
            do="evaluate the model itself (scores or factors) or a run that ranks all targets, "
            "or use a metric with a cutoff",
        )
    if facts.one_relevant and not has_meaning_in_1r(spec):
        raise DefinitionError(
            f"{spec} has no meaning with one relevant item per target set (1R)", do="use an AR design for it"
        )
    result = inverse_weighted(spec, facts, inputs) if _weighted(spec) else _plain(spec, facts, inputs)
    if isinstance(result, Tally):
        return Measured(None, tally=replace(result, range=metric.range))
    if isinstance(result, Ratio):
        return Measured(result.per_unit(), ratio=result)
    return Measured(result)


def _plain(spec: Spec, facts: RankingFacts, inputs: Inputs) -> np.ndarray | Ratio | Tally:
    """What the metric's own function returns."""
    metric = spec.metric
    check_ties(spec, facts)
    for transform in spec.transforms:
        facts = _TRANSFORMS[transform](facts)
    supplied = {name: inputs.supply(name, metric=str(spec)) for name in metric.needs}
    supplied |= {name: getattr(inputs, name) for name in metric.wants}
    # what a transformed metric does not have is as it is by default
    omitted = {name: p.default for name, p in find(metric.name).parameters.items() if name not in spec.parameters}
    return metric.function(facts, spec.k, **omitted, **spec.parameters, **supplied)


_TRANSFORMS: dict[str, Callable[[RankingFacts], RankingFacts]] = {"anti": flip}


def merge(parts: list[Measured]) -> Measured:
    """Values of parts over different units as values of the whole."""
    first = parts[0]
    if first.tally is not None:
        total = first.tally
        for part in parts[1:]:
            assert part.tally is not None
            total = total + part.tally
        return Measured(None, tally=total)
    per_unit = np.concatenate([part.per_unit for part in parts if part.per_unit is not None])
    if first.ratio is None:
        return Measured(per_unit)
    ratios = [part.ratio for part in parts if part.ratio is not None]
    whole = Ratio(
        np.concatenate([r.numerator for r in ratios]),
        np.concatenate([r.denominator for r in ratios]),
        first.ratio.finish,
    )
    return Measured(per_unit, ratio=whole)
