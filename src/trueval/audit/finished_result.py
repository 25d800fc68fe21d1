"""A result that is already there: its values, and its facts as far as they were kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from trueval.audit.settings import RankedSystem, Setting
from trueval.audit.subject import Subject, named_popularity
from trueval.errors import TruevalError
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.grammar import Spec
from trueval.metrics.metric_inputs import Inputs


class FinishedResult(Subject):
    """The systems of an evaluation; other settings are those that its facts allow."""

    def __init__(
        self, evaluation: Evaluation, options: EvaluationOptions, *, observed: Evaluation | None = None
    ) -> None:
        self.evaluation, self.options = observed or evaluation, options
        self.on_unbiased = None if observed is None else evaluation
        self.design = str(evaluation.manifest.get("design", ""))

    @property
    def names(self) -> list[str]:
        return list(self.evaluation.systems)

    @property
    def specs(self) -> Mapping[str, Spec]:
        return self.evaluation.specs

    @cached_property
    def base(self) -> Setting:
        return Setting(self.design, self.evaluation.systems, self.tested_specs)

    @cached_property
    def ranked(self) -> Mapping[str, RankedSystem] | None:
        found = {}
        for name in self.evaluation.systems:
            try:
                found[name] = RankedSystem(name, self.evaluation.facts[name], Inputs())
            except TruevalError:
                return None
        return found

    def chance(self, label: str) -> float:
        return float(self.evaluation.random.get(label, math.nan))

    @property
    def popularity_name(self) -> str:
        """The popularity baseline among the systems, by its name; "" where there is none."""
        return named_popularity(self.names)

    @property
    def with_popularity(self) -> Mapping[str, RankedSystem] | None:
        """The systems, where popularity is one of them: nothing is ranked again."""
        return self.ranked if self.popularity_name else None

    def fingerprints(self) -> dict[str, Any]:
        return dict(self.evaluation.manifest.get("data", {}))

    def unbiased(self, specs: Mapping[str, Spec] | None = None) -> Setting | None:
        own = specs or self.tested_specs
        if self.on_unbiased is None or not set(own) <= set(self.on_unbiased.specs):
            return None
        return Setting("unbiased test", self.on_unbiased.systems, own)
