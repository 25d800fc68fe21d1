"""A metric as it is asked for: with its cutoff, parameters and transforms. `grammar` reads it from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trueval.metrics.registry import Metric, Parameter, find, show_value
from trueval.metrics.wording import POOLED, flipped, hits, number, weighted

# What a transform does, in words.
TRANSFORMS = {
    "anti": "with relevance flipped among judged items",
    "ips": "every relevant item weighted by 1 / propensity",
    "snips": "every relevant item weighted by 1 / propensity, weights scaled to mean 1",
}
# Parameters of metrics weighted by propensities; `average` is that of snips alone.
WEIGHTING = {
    "clip": Parameter(0.0, low=0.0, quiet=True, meaning="largest weight allowed; 0 allows all"),
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
    rules: tuple[str, ...] = ()  # of another library, in words: what its preset changes beside the parameters

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
    def summary(self) -> str:
        """What is measured, in a sentence.

        >>> from trueval.metrics.grammar import parse
        >>> parse("anti(rr)").summary
        'Reciprocal of the rank of the first relevant item, with relevance flipped among judged items.'
        """
        how = [TRANSFORMS[transform] for transform in self.transforms]
        return ", ".join([self.metric.summary.removesuffix("."), *how]) + "."

    @property
    def pooled(self) -> bool:
        """Whether numerators and denominators of all users are added up before they are divided."""
        average = self.parameters.get("average")
        weights = bool(self.parameters.get("count_from") and (self.parameters["beta"] or self.parameters["gamma"]))
        return average in ("pooled", "micro") or (average == "default" and weights)

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
    def undefined(self) -> str:
        """For whom the metric has no value.

        >>> from trueval.metrics.grammar import parse
        >>> parse("anti(recall)@5").undefined, parse("ips(dcg)@5").undefined
        ('N = 0', 'never')
        """
        if "snips" in self.transforms and self.metric.plain_sum:
            return "no user has a relevant item" if self.pooled else "never"
        if "ips" in self.transforms:
            return "never"
        return flipped(self.metric.undefined) if "anti" in self.transforms else self.metric.undefined

    @property
    def definition(self) -> str:
        """The full definition for footers."""
        return self.define()

    def formula(self, *, condensed: bool = False) -> str:
        """What is computed, seen through parameters and transforms.

        >>> from trueval.metrics.grammar import parse
        >>> parse("anti(recall)@5").formula(), parse("snips(recall)@5[average=mean]").formula()
        ('|top(k) ∩ Non| / N', 'Σ over top(k) ∩ Rel of w / Σ over Rel of w, w = 1 / propensity')
        """
        metric, cut = self.metric, self.k is not None
        if "anti" in self.transforms:
            return flipped(find(metric.name).formula_with(self.parameters, cut=cut, condensed=condensed, flipped=True))
        if not {"ips", "snips"} & set(self.transforms) or metric.terms is None:
            return metric.formula_with(self.parameters, cut=cut, condensed=condensed)
        clip = self.parameters["clip"]
        weight = f"w = min(1 / propensity, {number(clip)})" if clip else "w = 1 / propensity"
        amount, options = metric.amount_with(self.parameters, cut=cut), {"k": self.k}
        if "ips" in self.transforms:
            return weighted(options, amount, weight, plain_sum=True)
        pooled = self.parameters["average"] == "pooled"
        if not metric.plain_sum:
            return weighted(options, amount, weight, plain_sum=False) + POOLED * pooled
        mean = f"Σ over {hits(options)} of w·a / Σ over Rel of w"
        number_of = (
            "mean of R over users, numerators and denominators added up over all users before" if pooled else "R"
        )
        return f"({mean}) · {number_of}{' they are divided' * pooled}, a = {amount}, {weight}" + ", 0 if R = 0" * (
            not pooled
        )

    def define(self, *, condensed: bool = False) -> str:
        """The definition, on condensed rankings perhaps another one.

        >>> from trueval.metrics.grammar import parse
        >>> parse("precision@5").define(), parse("precision@5").define(condensed=True)
        ('|top(k) ∩ Rel| / k; denom=k', '|top(k) ∩ Rel| / (TP + FP), the judged items within k')
        """
        known = {name: parameter for name, parameter in self.metric.parameters.items() if name in self.parameters}
        options = self.metric.options(self.parameters, cut=self.k is not None)
        quiet = {n for n, p in known.items() if p.quiet and self.parameters[n] == p.default}
        quiet |= {n for n, p in known.items() if p.idle is not None and p.idle(options)}
        if condensed and self.metric.condensed and self.parameters.get("denom") in ("k", "list"):
            quiet.add("denom")  # both are what the formula says
        phrases = [self.formula(condensed=condensed), *(TRANSFORMS[t] for t in self.transforms if t == "anti")]
        phrases += [f"{name}={show_value(self.parameters[name])}" for name in sorted(self.parameters.keys() - quiet)]
        return "; ".join([*phrases, *self.rules])
