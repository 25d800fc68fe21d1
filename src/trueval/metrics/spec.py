"""A metric as it is asked for: with its cutoff, parameters and transforms. `grammar` reads it from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trueval.metrics.registry import Metric, Parameter, find

# What a transform is called in a definition.
TRANSFORMS = {
    "anti": "with relevance flipped among judged items",
    "ips": "every relevant item weighted by 1 / propensity",
    "snips": "every relevant item weighted by 1 / propensity, weights scaled to mean 1",
}
# Parameters of metrics weighted by propensities; `average` is that of snips alone.
WEIGHTING = {
    "clip": Parameter(0.0, low=0.0, meaning="largest weight allowed; 0 allows all"),
    "average": Parameter(
        "pooled", ("pooled", "mean"), meaning="weights scaled over the relevant items of all users, or of each user"
    ),
}


@dataclass(frozen=True)
class Spec:
    """A metric with its cutoff and parameters. Its text is canonical, and its identity everywhere.

    >>> from trueval.metrics.grammar import parse
    >>> str(parse("recall[cap=true]@20"))
    'recall@20[cap=true]'
    """

    metric: Metric
    k: int | None
    parameters: Mapping[str, Any]
    transforms: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()  # parameters that were written out, defaults or not

    def __str__(self) -> str:
        core = self.metric.name
        for transform in self.transforms:
            core = f"{transform}({core})"
        return core + (f"@{self.k}" if self.k else "") + self.metric.show(self.parameters)

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and str(self) == str(other)

    @property
    def better(self) -> str:
        """Which way is better, seen through the transforms."""
        turned = {"higher": "lower", "lower": "higher"}.get(self.metric.better, "neither")
        return turned if "anti" in self.transforms else self.metric.better

    @property
    def range(self) -> tuple[float, float]:
        """Between which values the metric lies; weights by propensities have no bound.

        >>> from trueval.metrics.grammar import parse
        >>> parse("hit@10").range, parse("ips(hit)@10").range
        ((0, 1), (0, inf))
        """
        low, high = self.metric.range
        return (low, float("inf")) if {"ips", "snips"} & set(self.transforms) else (low, high)

    @property
    def naive(self) -> Spec:
        """The same metric without propensities, averaged over users in the same way."""
        metric = find(self.metric.name)
        parameters = {name: value for name, value in self.parameters.items() if name in metric.parameters}
        if "snips" in self.transforms and "average" in parameters:
            pooled = parameters["average"] == "pooled"
            parameters["average"] = "pooled" if pooled else metric.parameters["average"].default
        return Spec(metric, self.k, parameters)

    @property
    def definition(self) -> str:
        """The full definition for footers: every parameter, default or not."""
        return self.define()

    def define(self, *, condensed: bool = False) -> str:
        """The definition, on condensed rankings perhaps another one.

        >>> from trueval.metrics.grammar import parse
        >>> parse("precision@5").define(), parse("precision@5").define(condensed=True)
        ('|top(k) ∩ Rel| / k; denom=k', '|top(k) ∩ Rel| / (TP + FP), the judged items within k')
        """
        own = self.metric.condensed if condensed else ""
        phrases = [own or self.metric.formula.strip()]
        phrases += [TRANSFORMS[transform] for transform in self.transforms]
        quiet = {n for n, p in self.metric.parameters.items() if p.quiet and self.parameters[n] == p.default}
        if own and self.parameters.get("denom") in ("k", "list"):
            quiet.add("denom")  # both are what the formula says
        phrases += [f"{name}={self.parameters[name]}" for name in sorted(self.parameters.keys() - quiet)]
        return "; ".join(phrases)
