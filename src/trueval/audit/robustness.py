"""Robustness of the verdict: the order of systems under every design and metric, and with fewer judgements.

Settings are designs times metrics. For every two systems it is counted in how many settings one is above the other;
Kendall's τ compares the orders of every two settings. Discriminative power (Sakai 2006) is the share of pairs of
systems with p < 0.05 under a setting; self-correlation is τ between the order by all judgements and that by a share of
them, drawn at random (Parapar and Radlinski 2021).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.changes import Pair, differences
from trueval.audit.fewer_ratings import without_rows
from trueval.audit.settings import Change, RankedSystem, Setting, without_head
from trueval.audit.subject import MANY, Subject
from trueval.comparison.tau import taus
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import without_nan
from trueval.design.design import Design
from trueval.errors import TruevalError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import condense, one_relevant
from trueval.kernels.hashing import item_key, user_key
from trueval.kernels.seeds import derive
from trueval.metrics.compute import has_meaning_in_1r
from trueval.metrics.grammar import Spec
from trueval.pictures import draw
from trueval.render.numbers import percent, rounded
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed

COMPANIONS = ("ndcg", "precision", "recall", "ap", "rr")
KEPT = (0.75, 0.5, 0.25, 0.1)  # shares of the judgements
_DRAWS = 3
_ALIKE = ("precision", "ap")  # with one relevant item, these are recall (divided by k) and rr again
_LEVEL = 0.05


@dataclass(frozen=True)
class Robustness(Tabular, Shown):
    """Orders of systems over settings. Prints as tables; `table()` has a row per pair of systems."""

    systems: tuple[str, ...]
    settings: tuple[str, ...]
    scores: np.ndarray = field(repr=False)  # settings by systems; higher is better, NaN where undefined
    p: Mapping[str, Mapping[Pair, float]] = field(repr=False)  # of every pair, by setting
    self_correlation: Mapping[str, Mapping[float, float]] = field(repr=False)  # τ by metric and share kept
    pairs: tuple[Pair, ...] = ()  # of systems that are compared: all, or of many the best and each of the others

    @property
    def tau(self) -> np.ndarray:
        """Kendall's τ-b between the orders of every two settings, of the values found."""
        n = len(self.settings)
        found = np.full((n, n), np.nan)
        known = np.flatnonzero(~np.isnan(self.scores).any(axis=1))
        one, other = (grid.ravel() for grid in np.meshgrid(known, known, indexing="ij"))
        if len(self.systems) > 1 and len(known):
            found[one, other] = taus(self.scores[one], self.scores[other])[0]
        return found

    def above(self, first: str, second: str) -> tuple[int, int]:
        """In how many settings the first system is above the second, and how many settings have both."""
        one, other = (self.scores[:, self.systems.index(name)] for name in (first, second))
        known = ~(np.isnan(one) | np.isnan(other))
        return int((one[known] > other[known]).sum()), int(known.sum())

    def significant(self, first: str, second: str) -> tuple[int, int]:
        """In how many settings the first system is significantly above the second, and below it (p < 0.05 each)."""
        one, other = (self.scores[:, self.systems.index(name)] for name in (first, second))
        own = [self.p.get(name, {}) for name in self.settings]
        sure = np.array([p.get((first, second), p.get((second, first), np.nan)) < _LEVEL for p in own])
        return int((sure & (one > other)).sum()), int((sure & (one < other)).sum())

    @property
    def power(self) -> dict[str, float]:
        """Discriminative power by setting: the share of pairs of systems with p < 0.05."""
        return {name: float(np.mean([p < _LEVEL for p in own.values()])) for name, own in self.p.items() if own}

    def power_curve(self, setting: str) -> np.ndarray:
        """p-values of all pairs under a setting, ascending: the lower the curve, the more it tells systems apart."""
        return np.sort(np.array(list(self.p[setting].values())))

    def by_setting(self) -> pl.DataFrame:
        """One row per setting: design, metric, τ with the order of the first setting, and discriminative power."""
        names = [name.partition(" ") for name in self.settings]
        own = self.tau[0] if self.settings else np.empty(0)
        power = [self.power.get(name) for name in self.settings]
        schema = {"design": pl.String, "metric": pl.String, "tau": pl.Float64, "power": pl.Float64}
        rows = [(design, metric, tau, one) for (design, _, metric), tau, one in zip(names, own.tolist(), power)]
        return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)

    def plot(self, name: str = "settings", **options: Any) -> Any:
        """Draw τ between settings ("settings"), p-values of all pairs of systems by metric ("discriminative_power"), or
        τ with the order by all judgements where some are removed ("fewer_judgements")."""
        return draw("robustness", self, name, options)

    def table(self) -> pl.DataFrame:
        """One row per pair of systems: in how many settings the first is above, and significantly above or below."""
        rows = []
        for first, second in self.pairs:
            above, both = self.above(first, second)
            better, worse = self.significant(first, second)
            rows.append((first, second, above, both, better, worse))
        kinds = dict.fromkeys(("above", "settings", "significantly_above", "significantly_below"), pl.Int64)
        return pl.DataFrame(rows, schema={"system": pl.String, "other": pl.String, **kinds}, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        found: dict[str, Any] = without_nan({
            "systems": list(self.systems), "settings": list(self.settings), "pairs": self.table().to_dicts(),
            "tau": self.tau.tolist(), "discriminative_power": self.power,
            "self_correlation": {
                label: {str(share): tau for share, tau in own.items()} for label, own in self.self_correlation.items()
            },
        })  # fmt: skip
        return found

    def __str__(self) -> str:
        pairs = [[f"{r[0]} above {r[1]}", f"{r[2]} of {r[3]}", str(r[4]), str(r[5])] for r in self.table().rows()]
        text = printed(
            plain_table(["order", "settings", "significantly", "significantly below"], pairs, title="Orders by setting")
        )
        base = self.settings[0] if self.settings else ""
        rows = [[f"{d} {m}", _cell(tau), _cell(power)] for d, m, tau, power in self.by_setting().rows()]
        text += printed(plain_table(["setting", f"τ with {base}", "power"], rows, title="Settings"))
        kept = [
            [label, *(_cell(own.get(share, np.nan)) for share in KEPT)] for label, own in self.self_correlation.items()
        ]
        head = ["metric", *(percent(share, 0) for share in KEPT)]
        return text + (printed(plain_table(head, kept, title="τ with fewer judgements")) if kept else "")


def _cell(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else rounded(float(value))


def measure_robustness(subject: Subject, *, seed: int) -> Robustness:
    """Rank the systems in every setting that the subject allows."""
    rows, names, p = [], [], {}
    systems = tuple(subject.names)
    every = len(systems) <= MANY
    pairs = list(itertools.combinations(systems, 2)) if every else subject.pairs(subject.labels[0])
    for setting in settings_of(subject):
        for label, spec in setting.specs.items():
            side = -1 if spec.better == "lower" else 1
            name = f"{setting.name} {label}"
            names.append(name)
            rows.append([side * setting.value(one, label) if one in setting.systems else np.nan for one in systems])
            p[name] = {pair: one.p for pair, one in differences(setting, label, pairs=pairs).items()}
    scores = np.array(rows, float).reshape(len(names), len(systems))
    return Robustness(systems, tuple(names), scores, p, _self_correlation(subject, seed), tuple(pairs))


def settings_of(subject: Subject) -> Iterator[Setting]:
    """All designs that the subject can be measured under, each with the reader's metrics and their companions."""
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    more = subject.more_specs([f"{name}@{depth}" for name in COMPANIONS])
    specs = {label.partition("|n=")[0]: spec for label, spec in subject.tested_specs.items()} | more
    for name, ranked, change in _designs(subject):
        own = specs
        if _single(ranked, change):
            alike = set(subject.more_specs([f"{name}@{depth}" for name in _ALIKE])) - set(subject.labels)
            own = {label: spec for label, spec in specs.items() if has_meaning_in_1r(spec) and label not in alike}
        found = _measured(subject, name, ranked, own, change)
        if found is not None and set(found.systems) >= set(subject.names):
            yield found


def _measured(
    subject: Subject,
    name: str,
    ranked: Mapping[str, RankedSystem] | None,
    specs: dict[str, Spec],
    change: Change | None,
) -> Setting | None:
    """All metrics that this setting has."""
    whole = subject.measured(name, ranked, specs, change)
    if whole is not None or ranked is None:
        return whole
    known = {label: spec for label, spec in specs.items() if subject.measured(name, ranked, {label: spec}, change)}
    return subject.measured(name, ranked, known, change) if known else None


def _single(ranked: Mapping[str, RankedSystem] | None, change: Change | None) -> bool:
    """Whether one relevant item is ranked at a time."""
    return change is _one_relevant or any(one.facts.one_relevant for one in (ranked or {}).values())


def _designs(subject: Subject) -> Iterator[tuple[str, Mapping[str, RankedSystem] | None, Change | None]]:
    """Name, systems and change of facts: the reader's own design first."""
    yield subject.design, subject.ranked, None
    try:
        design = Design.parse(subject.design)
    except TruevalError:  # lists as given
        design = None
    if design is None or (design.relevant == "AR" and not design.sample and not design.condensed):
        yield f"{subject.design}-condensed", subject.ranked, _condensed
        yield "1R" + subject.design[2:] if design else f"{subject.design}-1R", subject.ranked, _one_relevant
    if design is None:
        yield f"{subject.design}-head10", subject.ranked, without_head
        yield f"{subject.design}-U", _of_reader(subject, subject.uniform()), None
        return
    others = []
    if design.candidates == "TI" and not design.uniform:
        others.append(replace(design, candidates="AI"))
    if not design.head and not design.percentiles and not design.uniform:
        others.append(replace(design, head=0.1))
    if not design.percentiles and not design.uniform and not design.condensed:
        others.append(replace(design, relevant="1R", percentiles=10))
    for other in others:
        yield str(other), subject.under(str(other)), None
    if not design.uniform:
        for relevant, change in (("AR", None), ("1R", _one_relevant)):
            own = Design(relevant=relevant, candidates=design.candidates, uniform=True)
            yield str(own), _of_reader(subject, subject.uniform()), change


def _of_reader(subject: Subject, ranked: Mapping[str, RankedSystem] | None) -> Mapping[str, RankedSystem] | None:
    """Without the popularity baseline, where that is not the reader's."""
    return None if ranked is None else {name: own for name, own in ranked.items() if name in subject.names}


def _condensed(one: RankedSystem) -> RankingFacts:
    return condense(one.facts)


def _one_relevant(one: RankedSystem) -> RankingFacts:
    return one_relevant(one.facts)


def _self_correlation(subject: Subject, seed: int) -> dict[str, dict[float, float]]:
    """τ between the order by all judgements and that by a share of them, the mean of several draws."""
    if subject.ranked is None or len(subject.names) < 3:
        return {}
    found: dict[str, dict[float, float]] = {label: {} for label in subject.labels}
    whole = {label: _scores(subject.base, label, subject.names) for label in subject.labels}
    for share in KEPT:
        drawn = [subject.view("", thinned(share, seed + draw)) for draw in range(_DRAWS)]
        for label in subject.labels:
            own = [taus(whole[label], _scores(one, label, subject.names))[0][0] for one in drawn if one is not None]
            known = [tau for tau in own if not np.isnan(tau)]
            if known:
                found[label][share] = float(np.mean(known))
    return found


def _scores(setting: Setting, label: str, names: list[str]) -> np.ndarray:
    return np.array([[setting.value(name, label) for name in names]])


def thinned(share: float, seed: int) -> Change:
    """A change that keeps a share of the judgements, the same ones for all systems."""

    def change(one: RankedSystem) -> RankingFacts:
        facts = one.facts
        streams = user_key(int(derive(seed, "thinned judgements")), facts.unit_user[facts.unit].astype(np.int64))
        coin = (item_key(streams, facts.item.astype(np.int64)) >> np.uint64(11)).astype(np.float64) / 2**53
        return without_rows(facts, coin < share)

    return change
