"""Compatibility presets: the conventions of other libraries, so that their numbers can be reproduced.

A preset is right when it equals the library's own output. `tests/presets` compares them on small random worlds with
lists shorter than k, equal scores, grades, users without a list, without judgements and without relevant items, a k
beyond the catalogue, for every metric that both have: trec_eval (pytrec_eval-terrier 0.5.11), ranx 0.3.21,
RecBole 1.2.1, LensKit 2025.8.1, RecTools 0.19.0, RePlay 0.22.0, recommenders 1.2.1, Spark 4.3.0 (`RankingMetrics`).

Several of them have no threshold: all that they are given as test set is relevant. Their values are those of the test
items that are relevant here. Metrics of lists alone (coverage, novelty…) are measured here on the lists of the
population, there on all lists: they agree where only users of the population have lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.facts.tie_rules import TIES
from trueval.metrics.grammar import parse
from trueval.metrics.spec import Spec


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters that replace the defaults of some metrics, whom the library averages over, and how it orders equals.

    `listed` names metrics that the library averages only over users who got a list ("*" is all of them);
    `empty_is_zero` counts units for which a metric is undefined as 0. `ties` is the order of equal scores in lists
    that were given, where the library has one. `levelless` metrics count all positive values, whatever the threshold.
    `refused` names metrics that the library has, too, and that no
    parameter makes equal to it, with the reason.
    """

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    uncut: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # for metrics without a cutoff
    population: str = "relevant"
    empty_is_zero: bool = False
    listed: frozenset[str] = frozenset()
    ties: str | None = None
    levelless: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)

    def apply(self, spec: Spec) -> Spec:
        """The metric by this library's conventions; explicit parameters stay."""
        if spec.metric.name in self.refused:
            raise DefinitionError(
                f"{spec} differs from the metric of this library",
                found=self.refused[spec.metric.name],
                do="omit the metric or compat",
            )
        prescribed = {**self.parameters, **(self.uncut if spec.k is None else {})}.get(spec.metric.name, {})
        changed = {n: v for n, v in prescribed.items() if n not in spec.given and n in spec.parameters}
        return replace(spec, parameters={**spec.parameters, **changed}, rules=self.rules(spec))

    def rules(self, spec: Spec) -> tuple[str, ...]:
        """What else this library does to a metric, in words: the definition says it.

        >>> from trueval.metrics.grammar import parse
        >>> PRESETS["trec_eval"].rules(parse("ndcg@10"))[0]
        'Rel here all judged items with a value above 0, whatever the threshold'
        """
        found = ["Rel here all judged items with a value above 0, whatever the threshold"] * self.counts_all(spec)
        if not spec.metric.system:
            found += ["0 where it is undefined"] * (
                self.empty_is_zero and not spec.pooled and spec.undefined != "never"
            )
            found += ["users without a list are left out"] * self.only_listed(spec)
        return tuple(found)

    def counts_all(self, spec: Spec) -> bool:
        """Whether all positive values count as relevant in a metric, whatever the threshold."""
        return spec.metric.name in self.levelless and not spec.transforms

    def only_listed(self, spec: Spec) -> bool:
        """Whether users without a list are left out of this metric's mean."""
        return "*" in self.listed or spec.metric.name in self.listed


_BINARY_NDCG: Mapping[str, Any] = {"gain": "binary"}
_EVERYTHING = frozenset("*")
_TRAIN_ITEMS = "that library divides by the items of the train set"
_PADDING = "RecBole counts its padding as an item of the catalogue"

PRESETS: dict[str, Preset] = {
    # without -c: topics that the run lacks do not count
    "trec_eval": Preset(
        {"infap": {"pool": "judged"}},
        population="judged",
        empty_is_zero=True,
        listed=_EVERYTHING,
        ties="trec_eval",
        levelless=frozenset({"ndcg"}),
    ),
    # make_comparable=True
    "ranx": Preset(
        {"rbp": {"gain": "linear"}},
        population="judged",
        empty_is_zero=True,
        ties="ranx",
        refused={"bpref": "bpref of ranx divides by 0 for users without judged non-relevant items"},
    ),
    "recbole": Preset(
        {"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG, "auc": {"average": "pooled"}},
        uncut={"ap": {"denom": "relevant"}},
        refused={
            "coverage": _PADDING,
            "gini": _PADDING,
            "entropy": "ShannonEntropy of RecBole is in nats, and divided by the number of items recommended",
            "tail_share": "TailPercentage of RecBole has a different tail: the least rated tenth of all items",
        },
    ),
    # NDCG and DCG with gain="rating"; without a gain they are ndcg[gain=binary]
    "lenskit": Preset(
        {
            "ap": {"denom": "list"},
            "ndcg": {"discount": "lenskit"},
            "dcg": {"discount": "lenskit"},
            "precision": {"denom": "list"},
            "recall": {"cap": True},
            "rbp": {"p": 0.85},
        },
        population="all",
        empty_is_zero=True,
        listed=_EVERYTHING,
        ties="given",
        refused={"popularity_rank": "MeanPopRank of LensKit is a mean of quantiles, 1 for the most popular item"},
    ),
    "rectools": Preset(
        {"ndcg": {"gain": "binary", "ideal": "k"}},
        listed=frozenset({"average_popularity"}),
        refused={
            "novelty": "MeanInvUserFreq of RecTools treats items unseen in train as known to one user",
            "serendipity": "Serendipity of RecTools weights relevant items by their popularity",
        },
    ),
    "replay": Preset(
        {"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG},
        ties="descending id",
        refused={
            "coverage": _TRAIN_ITEMS,
            "novelty": "Novelty of RePlay is the share of items that are not in the user's train rows: 1 - seen",
        },
    ),
    "recommenders": Preset(
        {"ndcg": _BINARY_NDCG},
        listed=frozenset({"precision", "recall", "ap"}),
        ties="given",
        refused={
            "coverage": _TRAIN_ITEMS,
            "novelty": "novelty of recommenders uses an item's share of all train rows, not of users",
            "serendipity": "serendipity of recommenders is a distance from the user's train items",
            "rprecision": "r_precision_at_k averages only over users with a hit",
        },
    ),
    "spark": Preset(
        {"ap": {"denom": "min"}, "ndcg": _BINARY_NDCG},
        uncut={"ap": {"denom": "relevant"}},
        population="judged",
        empty_is_zero=True,
        ties="given",
    ),
}


def find_preset(name: str | None) -> Preset | None:
    """A preset by the library's name; None for trueval's own conventions.

    >>> find_preset("rectools").parameters["ndcg"]["ideal"]
    'k'
    """
    if name is None:
        return None
    if name not in PRESETS:
        raise DefinitionError(f"no compatibility preset {name!r}", do=suggest(name, PRESETS))
    return PRESETS[name]


def supported(metrics: Sequence[str], compat: str | None) -> list[str]:
    """Metrics that a preset does not refuse, of those that are measured where none are asked for.

    >>> supported(["ndcg@10", "coverage@10"], "replay")
    ['ndcg@10']
    """
    preset = find_preset(compat)
    return [metric for metric in metrics if preset is None or parse(metric).metric.name not in preset.refused]


def check_ties(rule: str, preset: Preset | None) -> None:
    """Refuse a rule for ties that does not exist, or that belongs to another library."""
    if rule not in TIES and (preset is None or rule != preset.ties):
        raise DefinitionError(f"unknown rule for ties: {rule!r}", do=suggest(rule, TIES))
