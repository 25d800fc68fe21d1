"""Compatibility presets: the rules of other libraries, so that their numbers can be reproduced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.metrics.grammar import Spec


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters that replace the defaults of some metrics, and whom the library averages over.

    `listed` names metrics that the library averages only over users who got a list ("*" is all of them);
    `empty_is_zero` counts units for which a metric is undefined as 0.
    """

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    uncut: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # for metrics without a cutoff
    population: str = "relevant"
    empty_is_zero: bool = False
    listed: frozenset[str] = frozenset()

    def apply(self, spec: Spec) -> Spec:
        """The metric under this library's rules; what was asked for explicitly stays."""
        rules = {**self.parameters, **(self.uncut if spec.k is None else {})}.get(spec.metric.name, {})
        changed = {name: value for name, value in rules.items() if name not in spec.given}
        return Spec(spec.metric, spec.k, {**spec.parameters, **changed}, spec.transforms, spec.given)

    def only_listed(self, spec: Spec) -> bool:
        """Whether users without a list are left out of this metric's mean."""
        return "*" in self.listed or spec.metric.name in self.listed


_BINARY_NDCG: Mapping[str, Any] = {"gain": "binary"}

PRESETS: dict[str, Preset] = {
    "trec_eval": Preset(population="judged", empty_is_zero=True),
    "ranx": Preset(population="judged", empty_is_zero=True),
    "recbole": Preset({"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG}, uncut={"ap": {"denom": "relevant"}}),
    "lenskit": Preset(
        {
            "ap": {"denom": "list"},
            "ndcg": {"discount": "lenskit", "ideal": "list"},
            "dcg": {"discount": "lenskit"},
            "precision": {"denom": "list"},
            "recall": {"cap": "list"},
        },
        listed=frozenset("*"),
    ),
    "rectools": Preset({"ndcg": {"gain": "binary", "ideal": "k"}}),
    "replay": Preset({"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG}),
    "recommenders": Preset({"ndcg": _BINARY_NDCG}, listed=frozenset({"precision", "recall", "ap"})),
    "spark": Preset(
        {"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG},
        uncut={"ap": {"denom": "relevant"}},
        population="judged",
        empty_is_zero=True,
    ),
}


def find_preset(name: str | None) -> Preset | None:
    """A preset by the library's name; None for trueval's own rules.

    >>> find_preset("rectools").parameters["ndcg"]["ideal"]
    'k'
    """
    if name is None:
        return None
    if name not in PRESETS:
        raise DefinitionError(f"no compatibility preset {name!r}", found=suggest(name, PRESETS))
    return PRESETS[name]
