"""Case: all that an audit was given, for checks to look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import polars as pl

from trueval.audit.drawn_records import DrawnRecords
from trueval.audit.fewer_ratings import from_facts
from trueval.audit.item_pairs import ItemPairs, item_pairs
from trueval.audit.popularity_curve import popularity_curve
from trueval.audit.popularity_designs import PopularityDesigns, parsed_design, popularity_designs
from trueval.audit.robustness import Robustness, measure_robustness
from trueval.audit.sparsity import Sparsity, sparsity
from trueval.audit.subject import Subject
from trueval.comparison.comparison import label_of
from trueval.comparison.margins import Margins
from trueval.data.interactions import Interactions
from trueval.errors import TruevalError
from trueval.splits.leakage import Leakage, leakage
from trueval.splits.parts import Parts

_REMOVALS = 3  # of each share of the test ratings


@dataclass(frozen=True)
class Case:
    """Logs, systems and options of an audit. `given` are the parts as they came; the subject is measured without test
    rows whose pair is in train (`leaked`)."""

    test: Interactions | None = field(repr=False)
    train: Interactions | None = field(repr=False)
    given: Parts | None
    leaked: pl.DataFrame = field(repr=False)
    subject: Subject | None
    relevant_change: Margins | None = None
    has_unbiased: bool = False
    by: tuple[str, ...] = ()
    users: pl.DataFrame | None = field(default=None, repr=False)
    min_group: int = 30
    seed: int = 0
    threshold: float | None = None
    random_sample: Interactions | None = field(default=None, repr=False)  # the unbiased test set

    @cached_property
    def leakage(self) -> Leakage:
        """What the parts tell each other."""
        assert self.given is not None
        return leakage(self.given)

    @cached_property
    def robustness(self) -> Robustness:
        """The order of systems over designs, metrics and shares of the judgements."""
        return measure_robustness(self.measured, seed=self.seed)

    @cached_property
    def popularity_designs(self) -> PopularityDesigns | None:
        """What popularity earns under designs that favour it less; None where popularity is not known."""
        return popularity_designs(self.measured) if self.there >= {"systems", "facts", "popularity"} else None

    @cached_property
    def item_pairs(self) -> ItemPairs | None:
        """Whether popular items are liked more, and what true and false positives make of pairs of items.

        None where train has no ratings of both kinds.
        """
        if not self._rated_both_ways or self.train is None:
            return None
        try:
            return item_pairs(self.train, threshold=self.threshold, seed=self.seed)
        except TruevalError:
            return None

    @property
    def measurements(self) -> DrawnRecords:
        """What can be drawn of the data, by the kind of its charts."""
        found: dict[str, Callable[[], Any]] = {}
        if self.given is not None:
            found["popularity_curve"] = partial(popularity_curve, self.given, threshold=self.threshold)
        if self.there >= {"parts", "systems", "facts"} and self._followed:
            found["sparsity"] = self._sparsity
        if "ratings" in self.there:
            found["item_pairs"] = lambda: self.item_pairs
        if self.there >= {"systems", "facts", "popularity"}:
            found["popularity_designs"] = lambda: self.popularity_designs
        return DrawnRecords(found)

    @property
    def _followed(self) -> list[str]:
        """The reader's metrics that can be followed while test ratings are removed; none where items are sampled, or
        judged ones alone are ranked."""
        facts = [one.facts for one in (self.measured.ranked or {}).values()]
        design = parsed_design(self.measured.design)
        if not all(one.relevant.any() and not one.condensed and one.stratum is None for one in facts):
            return []
        if design is not None and design.sample:
            return []
        return [label for label in self.measured.labels if from_facts(self.measured.specs[label])]

    def _sparsity(self) -> Sparsity:
        """How sparse the test set is, and what that does to the reader's metrics."""
        subject, labels = self.measured, self._followed
        assert subject.ranked is not None
        depth = max([subject.specs[label].k or 0 for label in labels]) or 10
        facts = {name: one.facts for name, one in subject.ranked.items()}
        return sparsity(
            facts, parts=self.given, threshold=self.threshold, metrics=labels, k=depth, repeats=_REMOVALS,
            population=subject.options.averaged_over, seed=self.seed,
        )  # fmt: skip

    @cached_property
    def there(self) -> set[str]:
        """What checks may need, as far as it is there."""
        found = {"parts"} if self.given is not None else set()
        found |= {"validation"} if self.given is not None and self.given.validation is not None else set()
        if self.subject is not None:
            found |= {"systems"} if self.subject.labels else set()
            found |= {"pairs"} if len(self.subject.names) > 1 and self.subject.labels else set()
            found |= {"facts"} if self.subject.ranked is not None else set()
            # where no metric has a value by chance, it is not the number of items that is missing: the check says so
            known = any(not math.isnan(self.subject.chance(label)) for label in self.subject.labels)
            found |= {"chance"} if known or not self.subject.any_chance else set()
            found |= {"popularity"} if self.subject.with_popularity is not None else set()
        found |= {"ratings"} if self._rated_both_ways else set()
        found |= {"unbiased"} if self.has_unbiased else set()
        return found | ({"groups"} if self.by and self.users is not None else set())

    @property
    def _rated_both_ways(self) -> bool:
        """Whether train has two items or more, and ratings that are relevant and others that are not."""
        if self.train is None or not self.train.has("value") or self.train.n_items < 2:
            return False
        threshold = pl.lit(0.0) if self.threshold is None else pl.lit(self.threshold)
        liked = pl.col("value") > threshold if self.threshold is None else pl.col("value") >= threshold
        return len(self.train.frame.select(liked.alias("liked").unique())) == 2

    @property
    def measured(self) -> Subject:
        """The subject, where checks need one."""
        assert self.subject is not None
        return self.subject

    def relevant(self, label: str) -> float:
        """The smallest change of a metric that the reader calls relevant; 0 where nothing varies."""
        own = self._relevant.get(label)
        if own is None:
            own = self._relevant[label] = self._of_reader(label)
        return own

    @cached_property
    def _relevant(self) -> dict[str, float]:
        return {}

    def _of_reader(self, label: str) -> float:
        margins, subject = self.relevant_change, self.measured
        if margins is not None:
            named = {label_of(name, subject.specs): one for name, one in margins.named.items()}
            margin = named.get(label, margins.for_all)
            if margin is not None:
                values = [value for value in subject.base.values(label).values() if not math.isnan(value)]
                return margin.of(max(map(abs, values), default=0.0))
        found = subject.own_detectable(label)
        return 0.0 if math.isnan(found) else found

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        found: dict[str, Any] = {"data": self.data()}
        if self.subject is not None:
            found |= {"design": self.subject.design, "systems": self.subject.names, "metrics": self.subject.labels}
            found["relevant_change"] = {label: self.relevant(label) for label in self.subject.labels}
            found["relevant_change_from"] = "the reader" if self.relevant_change else "the detectable difference"
        return found

    def data(self) -> dict[str, Any]:
        """Digests of all that is audited."""
        validation = None if self.given is None else self.given.validation
        logs = {"train": self.train, "test": self.test, "validation": validation}
        found: dict[str, Any] = {name: log.fingerprint() for name, log in logs.items() if log is not None}
        return found | ({} if self.subject is None else self.subject.fingerprints())
