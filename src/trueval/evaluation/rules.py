"""Rules: how an evaluation is done, whatever is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.rating_scale import notes_on_ratings
from trueval.evaluation.compat import Preset, check_ties, find_preset
from trueval.evaluation.drawing import RESAMPLES, Drawing
from trueval.evaluation.group_values import MIN_GROUP, check_min_group, notes_on_groups
from trueval.evaluation.groups import By, Groups
from trueval.evaluation.manifest import make_manifest
from trueval.evaluation.measurements import Measurements, measure_facts
from trueval.evaluation.missing import check_missing, notes_on_missing, refuse_missing
from trueval.evaluation.outcome import Evaluation, label_specs, notes_on, notes_on_intervals, random_values, summarise
from trueval.evaluation.population import check_anyone, check_population
from trueval.evaluation.weighted import check_averaged, notes_on_weights
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.grammar import Spec, parse_all
from trueval.metrics.inputs import Inputs


@dataclass(frozen=True)
class Rules:
    """Metrics, relevance, population, ties, intervals, groups: what `evaluate` and `evaluate_run` have in common.

    >>> Rules(metrics="ndcg@10", compat="trec_eval").averaged_over
    'judged'
    """

    metrics: str | Sequence[str | Spec]
    threshold: float | None = None
    population: str = "relevant"
    ties: str = "random"
    interval: str = "bootstrap"
    resamples: int = RESAMPLES
    compat: str | None = None
    seed: int = 0
    by: By = None
    users: Any = None
    min_group: int = MIN_GROUP
    propensity: Any = None
    level: float = 0.95
    missing: str = "zero"

    def __post_init__(self) -> None:
        check_population(self.population)
        check_missing(self.missing, self.compat)
        check_min_group(self.min_group)
        check_ties(self.ties, find_preset(self.compat))
        self.drawing.checked()

    @property
    def drawing(self) -> Drawing:
        """How intervals are made."""
        return Drawing(self.interval, self.seed, self.resamples, self.level)

    @cached_property
    def preset(self) -> Preset | None:
        """The rules of another library, where asked for."""
        return find_preset(self.compat)

    @property
    def averaged_over(self) -> str:
        """The population, which a preset may decide."""
        return self.population if self.preset is None else self.preset.population

    def for_lists(self) -> Rules:
        """The rules for lists that were made elsewhere: equal scores come in the order that the preset's library gives
        them, unless another rule was asked for."""
        rule = None if self.preset is None or self.ties != "random" else self.preset.ties
        return self if rule is None else replace(self, ties=rule)

    def specs(self, sample: int = 0) -> dict[str, Spec]:
        """The metrics by label, under the preset."""
        asked = label_specs(parse_all(self.metrics), sample)
        check_averaged(asked.values(), self.averaged_over, compat=self.compat)
        return {label: self.preset.apply(spec) if self.preset else spec for label, spec in asked.items()}

    def measure(
        self, facts: RankingFacts, specs: Mapping[str, Spec], *, inputs: Inputs, groups: list[Groups], first: bool
    ) -> Measurements:
        """All metrics of one system, or a part of it. The random ranking is the same whatever the system: it is
        measured with the first."""
        return measure_facts(
            facts, dict(specs), population=self.averaged_over, missing=self.missing, inputs=inputs, preset=self.preset,
            with_random=first, groups=groups, by_user=self.interval != "none",
        )  # fmt: skip

    def check_listed(self, measured: Measurements, users: Ids, name: str) -> None:
        """Refuse a system that leaves users without recommendations, where the rule says so."""
        if self.missing == "error":
            refuse_missing(measured, users, name)

    def conclude(
        self,
        measured: Mapping[str, Measurements],
        specs: Mapping[str, Spec],
        *,
        users: Mapping[str, Ids],
        inputs: Inputs,
        test: Interactions,
        items: Ids | None = None,
        notes: Sequence[str] = (),
        **told: Any,
    ) -> Evaluation:
        """Estimates of all systems, with what the reader must know; `told` goes to the manifest."""
        for m in measured.values():
            check_anyone(len(m), self.averaged_over, dropped=len(m.unlisted) if self.missing == "drop" else 0)
        found = {
            name: summarise(
                m, users=users[name], interval=self.interval, seed=self.seed, resamples=self.resamples,
                level=self.level, min_group=self.min_group, items=items,
                ranges={label: spec.range for label, spec in specs.items()},
            )
            for name, m in measured.items()
        }  # fmt: skip
        clips = [spec.parameters.get("clip", 0.0) for spec in specs.values()]
        manifest = make_manifest(
            specs,
            population=self.averaged_over,
            ties=self.ties,
            interval=self.interval,
            level=None if self.interval == "none" else self.level,
            resamples=self.resamples if self.drawing.resamples_users else None,
            threshold=self.threshold,
            seed=self.seed,
            compat=self.compat,
            missing=None if self.compat is not None and self.missing == "zero" else self.missing,
            propensity=None if inputs.propensity is None else inputs.propensity.told(clips),
            **told,
        )
        unlisted = notes_on_missing(measured, specs, missing=self.missing, compat=self.compat)
        all_notes = notes_on(measured, specs) + notes_on_groups({n: s.groups for n, s in found.items()}, list(specs))
        first = next(iter(measured.values()))
        if self.interval != "none" and first.unit_user.min() == first.unit_user.max():
            all_notes.append("one user only: intervals are undefined")
        all_notes += notes_on_weights(specs, inputs.propensity) + notes_on_intervals(found, specs)
        foremost = [*notes_on_ratings(test, self.threshold), *unlisted]
        return Evaluation(found, dict(specs), random_values(first), manifest, [*foremost, *all_notes, *notes], foremost)
