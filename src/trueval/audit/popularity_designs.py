"""What popularity earns: its value and that of a random ranking under designs that give popular items less and less.

With all relevant items in one ranking (AR) or one at a time (1R), popular items are relevant more often, and popularity
is rewarded. Against items of the same popularity (P1R), or on a test set with equally many ratings of every item (U),
it is not (Bellogín et al. 2017, §6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from trueval.audit.changes import differences
from trueval.audit.settings import HEAD, Change, RankedSystem, Setting, without_head
from trueval.audit.subject import POPULARITY, Subject
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import without_nan
from trueval.design.design import Design
from trueval.errors import TruevalError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import one_relevant
from trueval.metrics.compute import has_meaning_in_1r
from trueval.metrics.grammar import Spec
from trueval.render.numbers import decimal, short_percent
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed

PERCENTILES = 10
WORDS = {
    "AR": "all relevant items of a user together", "1R": "one relevant item at a time",
    "P1R": "against items of the same popularity", "head": "without the tenth of the items that is most popular",
    "UAR": "on test rows with equally many ratings of every item",
    "U1R": "on test rows with equally many ratings of every item, one at a time",
}  # fmt: skip
_LEVEL = 0.05
Source = tuple[str, Mapping[str, RankedSystem] | None, Change | None]


@dataclass(frozen=True, slots=True)
class Earned:
    """One metric under one design: by chance, by popularity and by each system, and what became of the reader's
    significant differences: how many `hold` (significant again), and how many are significantly `reversed`."""

    kind: str
    design: str
    metric: str
    chance: float
    popularity: float
    systems: Mapping[str, float]
    pairs: int
    hold: int
    reversed: int
    side: int = 1  # −1 where lower is better

    def explained(self, system: str) -> float:
        """The lead of popularity over chance as a share of the system's; NaN where the system has none."""
        lead = self.systems[system] - self.chance
        return (self.popularity - self.chance) / lead if lead * self.side > 0 else math.nan


@dataclass(frozen=True)
class PopularityDesigns(Tabular, Shown):
    """What popularity explains under each design. Prints as a table; `table()` has a row per design, metric and system.

    `settings` are the values by kind of design, and `missing` says which designs could not be had, and why.
    """

    rows: tuple[Earned, ...]
    settings: Mapping[str, Setting] = field(repr=False)
    missing: tuple[str, ...] = ()

    def table(self) -> pl.DataFrame:
        """One row per design, metric and system."""
        rows = [
            (one.kind, one.design, one.metric, name, value, one.popularity, one.chance, one.explained(name))
            for one in self.rows
            for name, value in one.systems.items()
        ]
        columns = ("kind", "design", "metric", "system", "value", "popularity", "chance", "explained")
        kinds = (*[pl.String] * 4, *[pl.Float64] * 4)
        return pl.DataFrame(rows, schema=dict(zip(columns, kinds)), orient="row").fill_nan(None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        rows = [
            {
                "kind": one.kind, "design": one.design, "metric": one.metric, "chance": one.chance,
                "popularity": one.popularity, "systems": dict(one.systems),
                "explained": {name: one.explained(name) for name in one.systems},
                "significant_differences": one.pairs, "hold": one.hold, "reversed": one.reversed,
            }
            for one in self.rows
        ]  # fmt: skip
        found: dict[str, Any] = without_nan({"designs": rows, "missing": list(self.missing)})
        return found

    def grid(self, metric: str) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of a metric, as people read them."""
        own = [one for one in self.rows if one.metric == metric]
        names = list(own[0].systems) if own else []
        rows = [
            [
                one.design, WORDS[one.kind], decimal(one.chance), decimal(one.popularity),
                *(share_text(one.explained(name)) for name in names), f"{one.hold} of {one.pairs}", str(one.reversed),
            ]
            for one in own
        ]  # fmt: skip
        return ["design", "items", "by chance", "by popularity", *names, "hold", "reversed"], rows

    @property
    def metrics(self) -> list[str]:
        """Metrics, in the order of the reader."""
        return list(dict.fromkeys(one.metric for one in self.rows))

    def __str__(self) -> str:
        text = ""
        for metric in self.metrics:
            columns, rows = self.grid(metric)
            title = f"{metric}: how much of each system's lead over chance popularity has"
            text += printed(plain_table(columns, rows, align="ll", title=title))
        return text + "".join(f"{line}\n" for line in self.missing)


def share_text(share: float) -> str:
    """A share of a lead, in words.

    >>> share_text(-0.2), share_text(math.nan)
    ('none', '–')
    """
    return "–" if math.isnan(share) else "none" if share <= 0 else short_percent(share)


def popularity_designs(subject: Subject) -> PopularityDesigns:
    """Measure the systems, popularity and chance under every design that the subject allows."""
    rows: list[Earned] = []
    settings: dict[str, Setting] = {}
    missing = []
    name = getattr(subject, "popularity_name", "") or POPULARITY
    for kind, (design, ranked, change) in _sources(subject):
        single = kind.endswith("1R")
        specs = {label: one for label, one in subject.tested_specs.items() if not single or has_meaning_in_1r(one)}
        setting = subject.measured(design, ranked, specs, change, with_chance=True) if specs else None
        if setting is None or name not in setting.systems:
            missing.append(f"{kind}: {_why(subject, kind, specs)}")
            continue
        settings[kind] = setting
        rows += [_earned(subject, kind, setting, label, name) for label in specs]
    return PopularityDesigns(tuple(rows), settings, tuple(missing))


def _earned(subject: Subject, kind: str, setting: Setting, label: str, name: str) -> Earned:
    sure = {pair: one for pair, one in subject.here[label].items() if one.p < _LEVEL}
    there = differences(setting, label, pairs=sure) if sure else {}
    again = {pair: one.value * sure[pair].value > 0 for pair, one in there.items() if one.p < _LEVEL}
    systems = {one: setting.value(one, label) for one in subject.names if one != name and not subject.is_random(one)}
    return Earned(
        kind, setting.name, label, setting.chance(label), setting.value(name, label), systems, len(sure),
        sum(again.values()), len(again) - sum(again.values()), -1 if setting.specs[label].better == "lower" else 1,
    )  # fmt: skip


def _why(subject: Subject, kind: str, specs: Mapping[str, Spec]) -> str:
    """Why there are no values under a design."""
    if not specs:
        return "the metrics have no meaning with one relevant item at a time"
    if kind.startswith("U"):
        return "too few test ratings to draw equally many of every item"
    if parsed_design(subject.design) is None:
        return "lists cannot be ranked again; systems can (--systems)"
    return "the systems cannot be ranked again under this design"


def _sources(subject: Subject) -> Iterator[tuple[str, Source]]:
    """Kind, name, systems and change of the facts of each design."""
    design = parsed_design(subject.design)
    everyone, uniform = subject.with_popularity, subject.uniform()
    if design is None:
        yield "AR", (subject.design, everyone, None)
        yield "1R", (f"{subject.design}-1R", everyone, _one)
        yield "head", (f"{subject.design}-head10", everyone, without_head)
        yield "P1R", ("", None, None)
        yield "UAR", (f"{subject.design}-U", uniform, None)
        yield "U1R", (f"{subject.design}-U1R", uniform, _one)
        return
    plain = replace(
        design, relevant="AR", percentiles=0, head=0.0, uniform=False, condensed=False, sample=0, weights="uniform",
        resample=False,
    )  # fmt: skip
    ranked = subject.under(str(plain), baseline=True)
    yield "AR", (str(plain), ranked, None)
    yield "1R", (str(replace(plain, relevant="1R")), ranked, _one)
    for kind, other in (("head", replace(plain, head=HEAD)), ("P1R", in_percentiles(plain))):
        yield kind, (str(other), subject.under(str(other), baseline=True), None)
    for kind, relevant, change in (("UAR", "AR", None), ("U1R", "1R", _one)):
        yield kind, (str(replace(plain, relevant=relevant, uniform=True)), uniform, change)


def in_percentiles(design: Design) -> Design:
    """Each relevant item against those of its own popularity."""
    return replace(design, relevant="1R", percentiles=PERCENTILES)


def parsed_design(text: str) -> Design | None:
    """The design; None for lists that were given."""
    try:
        return Design.parse(text)
    except TruevalError:
        return None


def _one(one: RankedSystem) -> RankingFacts:
    return one_relevant(one.facts)
