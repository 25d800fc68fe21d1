"""Several forms of one metric: a curve over a parameter."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from trueval.arguments import checked
from trueval.metrics.grammar import parse
from trueval.metrics.popularity_strata import pooled_by_default
from trueval.metrics.spec import Spec


@checked
def curve(metric: str | Spec, **parameters: Iterable[Any]) -> list[str]:
    """Write a metric for every value of some parameters; all are computed from the same ranking, and averaged alike.

    Popularity weights are pooled over users, so a value without weights (beta = 0) is pooled beside them.

    Parameters
    ----------
    metric : text
        The metric, such as "recall@20".
    **parameters : lists of values
        The values of each parameter, by its name; all combinations are made.

    Returns
    -------
    list of text
        Metrics to give to `evaluate`.

    Raises
    ------
    TruevalError
        For parameters and values that the metric does not have.

    Examples
    --------
    >>> curve("recall@20", beta=[0, 0.5])
    ['recall@20[average=pooled]', 'recall@20[beta=0.5]']
    """
    spec = parse(metric)
    names = list(parameters)
    found: list[dict[str, Any]] = []
    for values in itertools.product(*parameters.values()):
        read = {
            name: spec.metric.parameter(name).read(str(value).lower(), name=name, metric=spec.metric.name)
            for name, value in zip(names, values)
        }
        found.append({**spec.parameters, **read})
    if any(pooled_by_default(values) for values in found):
        found = [values if pooled_by_default(values) else _pooled(values) for values in found]
    return list(dict.fromkeys(str(Spec(spec.metric, spec.k, values, spec.transforms)) for values in found))


def _pooled(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "average": "pooled"} if values["average"] == "default" else values
