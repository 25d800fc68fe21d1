"""What is audited: systems that can be ranked again, lists that were made elsewhere, or a finished result.

Checks ask a subject for its values in other settings, and get None where it cannot tell them.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from trueval.audit.changes import Difference, Pair, detectable, differences
from trueval.audit.settings import CHANCE, Change, RankedSystem, Setting, measure_setting
from trueval.comparison.mean_error import mean_of
from trueval.comparison.pairing import shares_of
from trueval.errors import TruevalError
from trueval.evaluation.options import EvaluationOptions
from trueval.metrics.grammar import Spec, parse_all
from trueval.statistics.power import detectable_shift

POPULARITY = "popularity"
MANY = 20  # systems of which all pairs are compared; of more, the best with each of the others


def named_popularity(names: Iterable[str]) -> str:
    """The popularity baseline among some systems, by its name; "" where there is none.

    >>> named_popularity(["mine", "MostPop"]), named_popularity(["mine"])
    ('MostPop', '')
    """
    return next((name for name in names if name.lower() in (POPULARITY, "pop", "mostpop", "toppop")), "")


class Subject(ABC):
    """Systems with their values as the reader has them (`base`), and in other settings."""

    options: EvaluationOptions
    design: str = ""

    # ---- what a kind of subject knows ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The reader's systems."""

    @property
    def ranked(self) -> Mapping[str, RankedSystem] | None:
        """The reader's systems as they were ranked; None where ranks are not known."""
        return None

    @property
    @abstractmethod
    def specs(self) -> Mapping[str, Spec]:
        """The reader's metrics, by label."""

    @property
    def with_popularity(self) -> Mapping[str, RankedSystem] | None:
        """The same and the popularity baseline; None where popularity is not known."""
        return None

    def under(self, design: str, *, baseline: bool = False) -> Mapping[str, RankedSystem] | None:
        """The systems ranked under another design, with `baseline` also popularity; None where that cannot be done."""
        return None

    def uniform(self) -> Mapping[str, RankedSystem] | None:
        """The systems and popularity, judged by equally many relevant test rows of every item that has enough of them;
        None where there are too few."""
        return None

    def unbiased(self, specs: Mapping[str, Spec] | None = None) -> Setting | None:
        """The values on an unbiased test set, of the reader's metrics or of others; None where they cannot be had."""
        return None

    def leaked(self) -> Setting | None:
        """The values with test pairs counted that are in train; None where they cannot be had."""
        return None

    def by_time(self) -> Setting | None:
        """The values when train and test are divided by time; None where systems cannot be fitted again."""
        return None

    def without_seen(self) -> Setting | None:
        """The values of lists without items that their users have in train; None where lists have none."""
        return None

    def is_random(self, name: str) -> bool:
        """Whether a system is meant to be random."""
        return name.lower() in ("random", CHANCE)

    def is_registered(self, name: str) -> bool:
        """Whether trueval fitted and ranked one of its own systems: ids and scores then belong together."""
        return self.ranked is not None and bool(self.ranked[name].facts.label.get("registered", False))

    # ---- what follows --------------------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> list[str]:
        """Metrics with a value for each user and a better side: those that can be tested."""
        return [label for label, spec in self.specs.items() if not spec.metric.system and spec.better != "neither"]

    @cached_property
    def base(self) -> Setting:
        """The values as the reader has them."""
        assert self.ranked is not None
        return measure_setting(self.design, self.ranked, self.tested_specs, self.options)

    @property
    def tested_specs(self) -> dict[str, Spec]:
        """The metrics that are tested."""
        return {label: self.specs[label] for label in self.labels}

    @property
    def any_chance(self) -> bool:
        """Whether a random ranking has a value of any metric, were the targets known."""
        return any(not spec.metric.no_chance for spec in self.tested_specs.values())

    @cached_property
    def with_chance(self) -> Setting | None:
        """The same with the expected value of a random ranking, of the metrics that have one; None where targets are
        not known, or no metric has one."""
        if self.ranked is None:
            return None
        found = measure_setting(self.design, self.ranked, self.tested_specs, self.options, with_chance=True)
        return found if CHANCE in found.systems else None

    def chance(self, label: str) -> float:
        """The expected value of a random ranking; NaN where it is not known."""
        return math.nan if self.with_chance is None else self.with_chance.chance(label)

    @cached_property
    def here(self) -> dict[str, dict[Pair, Difference]]:
        """Pairs of rivals on each metric, as the reader has them."""
        return {label: differences(self.base, label, pairs=self.pairs(label)) for label in self.labels}

    @cached_property
    def true(self) -> Setting | None:
        """The values of the reader's metrics on an unbiased test set; None without one."""
        return self.unbiased()

    def pairs(self, label: str) -> list[Pair]:
        """Whose order is a conclusion: all pairs of rivals or, where they are many, the best and each of the others."""
        if len(self.compared) <= MANY:
            return list(itertools.combinations(self.compared, 2))
        best = self.best(label, self.compared)
        return [(best, name) for name in self.compared if name != best]

    def best(self, label: str, names: Sequence[str]) -> str:
        """The best of some systems on a metric; of equals the first."""
        side = -1 if self.specs[label].better == "lower" else 1
        values = {name: side * self.base.value(name, label) for name in names}
        return max(names, key=lambda name: -math.inf if math.isnan(values[name]) else values[name])

    @cached_property
    def compared(self) -> list[str]:
        """The systems whose order is a conclusion: those that are meant to be random are a floor, and no rivals."""
        found = [name for name in self.names if not self.is_random(name)]
        return found if len(found) > 1 else self.names

    def view(self, name: str, change: Change, specs: Mapping[str, Spec] | None = None) -> Setting | None:
        """The values after a change of the facts; None where the metrics cannot be had then."""
        return self.measured(name, self.ranked, specs or self.tested_specs, change)

    def measured(
        self, name: str, ranked: Mapping[str, RankedSystem] | None, specs: Mapping[str, Spec],
        change: Change | None = None, options: EvaluationOptions | None = None, with_chance: bool = False,
    ) -> Setting | None:  # fmt: skip
        """A setting of systems that were ranked; None where there are none, or where the metrics cannot be had."""
        if ranked is None:
            return None
        try:
            own = options or self.options
            return measure_setting(name, ranked, specs, own, change=change, with_chance=with_chance)
        except TruevalError:
            return None

    def more_specs(self, metrics: Sequence[str]) -> dict[str, Spec]:
        """Other metrics, by label."""
        return {str(spec): spec for spec in parse_all(list(metrics))}

    def own_detectable(self, label: str) -> float:
        """The detectable difference of these data: of pairs of systems or, with one system, of its mean."""
        found = detectable(self.here[label])
        if not math.isnan(found):
            return found
        sums = next(iter(self.base.systems.values())).sums[label]
        values = shares_of(sums)
        mean = mean_of(values[values == values])
        return mean.error * detectable_shift(mean.free) if mean.error > 0 and mean.free >= 1 else math.nan

    def fingerprints(self) -> dict[str, Any]:
        """Digests of what is audited besides train and test."""
        return {}
