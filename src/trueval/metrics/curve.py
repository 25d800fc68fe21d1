"""Several forms of one metric: a curve over a parameter."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from trueval.arguments import checked
from trueval.metrics.grammar import Spec, parse


@checked
def curve(metric: str | Spec, **parameters: Iterable[Any]) -> list[str]:
    """A metric for every value of some parameters; all are computed from the same ranking.

    >>> curve("recall@20", beta=[0, 0.5])
    ['recall@20', 'recall@20[beta=0.5]']
    """
    spec = parse(metric)
    names = list(parameters)
    found = []
    for values in itertools.product(*parameters.values()):
        read = {
            name: spec.metric.parameter(name).read(str(value).lower(), name=name, metric=spec.metric.name)
            for name, value in zip(names, values)
        }
        found.append(str(Spec(spec.metric, spec.k, {**spec.parameters, **read}, spec.transforms)))
    return list(dict.fromkeys(found))
