"""Options of an evaluation: how it is done, whatever is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from trueval.evaluation.compat import Preset, check_ties, find_preset
from trueval.evaluation.declared_options import default
from trueval.evaluation.group_values import check_min_group
from trueval.evaluation.groups import By
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.missing_users import check_missing
from trueval.evaluation.outcome import label_specs
from trueval.evaluation.population import check_population
from trueval.evaluation.weighted_metrics import check_averaged
from trueval.facts.invalid_places import check_invalid
from trueval.metrics.grammar import parse_all
from trueval.metrics.spec import Spec


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Metrics, relevance, population, ties, intervals, groups: what `evaluate` and `evaluate_run` have in common.

    >>> EvaluationOptions(metrics="ndcg@10", compat="trec_eval").averaged_over
    'judged'
    """

    metrics: str | Sequence[str | Spec]
    threshold: float | None = None
    population: str = default("population")
    ties: str = default("ties")
    interval: str = default("interval")
    resamples: int = default("resamples")
    compat: str | None = None
    seed: int = default("seed")
    by: By = None
    users: Any = None
    only_users: Any = None
    min_group: int = default("min_group")
    propensity: Any = None
    level: float = default("level")
    missing: str = default("missing")
    invalid: str = default("invalid")

    def __post_init__(self) -> None:
        check_population(self.population)
        check_missing(self.missing, self.compat)
        check_invalid(self.invalid)
        check_min_group(self.min_group)
        check_ties(self.ties, find_preset(self.compat))
        self.intervals.checked()

    @property
    def intervals(self) -> IntervalMethod:
        """How intervals are made."""
        return IntervalMethod(self.interval, self.seed, self.resamples, self.level)

    @cached_property
    def preset(self) -> Preset | None:
        """The preset of another library, where requested."""
        return find_preset(self.compat)

    @property
    def averaged_over(self) -> str:
        """The population, which a preset may decide."""
        return self.population if self.preset is None else self.preset.population


def for_given_lists(options: EvaluationOptions) -> EvaluationOptions:
    """The options for lists that were made elsewhere: equal scores come in the order that the preset's library gives
    them, unless another rule was asked for.

    >>> for_given_lists(EvaluationOptions(metrics="ndcg@10", compat="ranx")).ties
    'ranx'
    """
    preset = options.preset
    rule = None if preset is None or options.ties != "random" else preset.ties
    return options if rule is None else replace(options, ties=rule)


def specs_of(options: EvaluationOptions, sample: int = 0) -> dict[str, Spec]:
    """The metrics by label, under the preset; a `sample` of the design is part of their labels.

    >>> list(specs_of(EvaluationOptions(metrics="ndcg@10,rr"), 100))
    ['ndcg@10|n=100', 'rr|n=100']
    """
    asked = label_specs(parse_all(options.metrics), sample)
    check_averaged(asked.values(), options.averaged_over, compat=options.compat)
    return {label: options.preset.apply(spec) if options.preset else spec for label, spec in asked.items()}
