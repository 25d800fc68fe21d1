"""The whole table: metric × rule for ties × design × population × preset, each cell recomputed or refused.

Every cell is evaluated through the public functions on small random worlds and compared with `naive_cells`, which
tries all orders of equals; or it is refused with a reason, where `refusable` says that it may be. That the presets
are those of their libraries is tested in `tests/presets`: here they are taken at their word.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import naive_cells as oracle
import pytest
from cell_worlds import (
    item_table,
    lists_of,
    parts_of,
    propensity_table,
    random_world,
    run_table,
    score_matrix,
    table,
)  # fmt: skip
from naive_cells import Asked, Axes, Unit, World

import trueval as tv
from trueval.design.design import RunDesign
from trueval.errors import TruevalError
from trueval.evaluation.compat import PRESETS, Preset
from trueval.evaluation.context import EvaluationContext
from trueval.evaluation.evaluate_systems import prepare_split, rank_tasks
from trueval.evaluation.held_out import prepare_run, read_held_out
from trueval.evaluation.measure_and_conclude import measure
from trueval.evaluation.measurements import Measurements
from trueval.evaluation.options import EvaluationOptions, for_given_lists, specs_of
from trueval.evaluation.population import in_population
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import condense, select
from trueval.metrics.grammar import parse
from trueval.metrics.registry import all_metrics
from trueval.metrics.spec import Spec
from trueval.splits.parts import Parts

TIES = ("random", "given", "expected", "best", "worst")
DESIGNS = (
    "AR-TI-AN", "AR-AI-AN", "AR-LIST-AN", "AR-AI-AN-seen", "AR-AI-NN1", "AR-TI-AN-head34", "AR-AI-AN-condensed",
    "UAR", "1R-TI-AN", "1R-AI-NN1", "1R-AI-AN-head34", "P1R2-AI-AN", "U1R",
)  # fmt: skip
RUNS = ("given", "given-head34", "given-condensed", "given-seen")
# Populations, and presets, which have populations of their own.
WHOM = (("relevant", None), ("judged", None), ("all", None), *(("relevant", name) for name in PRESETS))
# Metrics of the lists that are a sum over places, or over items that anyone is shown: exact in expectation.
SUMS = {
    "average_popularity", "cold", "coverage", "efd", "epc", "epd", "head_share", "list_length", "mid_share", "novelty",
    "popularity_rank", "seen", "serendipity", "tail_coverage", "tail_share", "unjudged",
}  # fmt: skip
# Those of them of which more is better, user by user: they have a best and a worst order of equals.
DIRECTED = {"efd", "epc", "epd", "list_length", "novelty", "serendipity"}


@cache
def specs() -> list[Spec]:
    """Every metric by its defaults, at a cutoff within the lists and one beyond; every transform that it takes."""
    texts = []
    for metric in all_metrics():
        for cut in [""] if metric.cutoff == "none" else ["@2", "@20"]:
            texts.append(metric.name + cut)
            if metric.family == "accuracy":
                texts.append(f"anti({metric.name}){cut}")
            if "count_from" in metric.parameters:
                texts.append(f"{metric.name}{cut}[beta=0.5]")
            if metric.terms is not None:
                texts += [
                    f"ips({metric.name}){cut}",
                    f"snips({metric.name}){cut}",
                    f"snips({metric.name}){cut}[average=mean]",
                ]
    return [parse(text) for text in texts]


@dataclass(frozen=True)
class Config:
    """Everything but the metric."""

    world: World
    design: str
    ties: str
    population: str
    compat: str | None = None

    @property
    def axes(self) -> Axes:
        return Axes.read(self.design)

    @property
    def preset(self) -> Preset:
        return PRESETS[self.compat] if self.compat else Preset(population=self.population)

    def options(self) -> dict[str, Any]:
        return {
            "threshold": self.world.threshold,
            "population": self.population,
            "ties": self.ties,
            "compat": self.compat,
            "propensity": propensity_table(self.world),
            "interval": "none",
        }


def refusable(config: Config, spec: Spec, units: Sequence[Unit]) -> bool:
    """Where a refusal is right."""
    axes, name = config.axes, spec.metric.name
    if name in config.preset.refused or (axes.one and (spec.metric.family != "accuracy" or spec.transforms)):
        return True
    how = config.preset.apply(spec).parameters
    weighted = bool({"ips", "snips"} & set(spec.transforms)) or ("count_from" in how and how["beta"] > 0)
    if weighted and (how.get("cap") or how.get("denom", "k") != "k"):
        return True  # what is divided by has no weights
    if {"ips", "snips"} & set(spec.transforms):
        few = config.preset.population != "all" or name not in oracle.SUMMED
        return axes.condensed or ("ips" in spec.transforms and few)
    if spec.metric.family in ("aspects", "beyond", "quality") and config.ties in ("expected", "best", "worst"):
        known = SUMS if config.ties == "expected" else DIRECTED
        return name not in known and any(open_within(unit, spec.k) for unit in units)
    return name == "precision" and spec.parameters["beta"] > 0 and axes.condensed


def refusable_run(config: Config, spec: Spec, units: Sequence[Unit]) -> bool:
    """The same for lists: ranks behind them and predicted ratings are unknown."""
    return spec.metric.exact or spec.metric.family == "errors" or refusable(config, spec, units)


def open_within(unit: Unit, k: int | None) -> bool:
    """Whether equal scores leave the first k open."""
    above = 0
    for block in unit.possible[0]:
        if len(block) > 1 and (k is None or above < k):
            return True
        above += len(block)
    return False


# ---- what a cell should be -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A metric under everything else, in the oracle's words."""

    config: Config
    spec: Spec
    ties: str

    @property
    def asked(self) -> Asked:
        spec = self.config.preset.apply(self.spec)
        transform = spec.transforms[0] if spec.transforms else ""
        return Asked(spec.metric.name, spec.k, spec.parameters, transform, spec.better, spec.metric.family)

    @property
    def world(self) -> World:
        """Some libraries know no threshold."""
        levelless = self.spec.metric.name in self.config.preset.levelless and not self.spec.transforms
        return unlimited(self.config.world) if levelless else self.config.world

    def under_preset(self, unit: Unit, value: float) -> float:
        """What a library makes of undefined values and of users without a list."""
        preset = self.config.preset
        if preset.empty_is_zero and math.isnan(value):
            value = 0.0
        return math.nan if preset.only_listed(self.spec) and not unit.listed else value

    def possible(self, unit: Unit) -> list[float]:
        values = oracle.possible_values(self.world, unit, self.asked, self.ties, condensed=self.config.axes.condensed)
        return [self.under_preset(unit, value) for value in values]

    def wrong(self, units: Sequence[Unit], ours: Sequence[float], value: float, chance: float | None) -> list[str]:
        """What is wrong with the values of the units, their average, and what is said of chance."""
        found = []
        assert len(units) == len(ours)
        for unit, x in zip(units, ours):
            right = self.possible(unit)
            if not any(same(x, y) for y in right):
                found.append(f"{self.spec} of {unit.user} {unit.one}: {x}, should be {right[:4]}")
        average = oracle.total(self.world, units, self._added(units, ours), self.asked)
        if not same(value, average):
            found.append(f"the average of {self.spec}: {value}, should be {average}")
        if chance is not None:
            condensed = self.config.axes.condensed
            each = [oracle.chance(self.world, unit, self.asked, condensed=condensed) for unit in units]
            each = [self.under_preset(unit, x) for unit, x in zip(units, each)]
            right = oracle.total(self.world, units, self._added(units, each), self.asked)
            if not same(chance, right):
                found.append(f"{self.spec} by chance: {chance}, should be {right}")
        return found

    def _added(self, units: Sequence[Unit], values: Sequence[float]) -> list[float]:
        """What is undefined adds nothing to a pool, whatever a library calls it."""
        if not oracle.is_pooled(self.asked):
            return list(values)
        condensed = self.config.axes.condensed
        known = [oracle.possible_values(self.world, u, self.asked, self.ties, condensed=condensed) for u in units]
        return [math.nan if all(map(math.isnan, own)) else value for own, value in zip(known, values)]

    def wrong_system(self, units: Sequence[Unit], ours: float) -> list[str]:
        """The same for a metric of all lists."""
        catalogue, axes = self.world.items, self.config.axes
        if axes.head and not self.config.design.startswith("given"):
            catalogue = [item for item in catalogue if item not in oracle.head_of(self.world, axes.head)]
        if self.ties == "expected" and self.spec.metric.name in SUMS:
            right = [oracle.expected_system_value(self.world, units, self.asked, catalogue)]
        else:
            tops = [list(self._tops(unit)) for unit in units]
            if self.ties not in oracle.DRAWN and any(len(own) > 1 for own in tops):
                return [f"{self.spec} should be refused"]
            every = ({u.user: top for u, top in zip(units, own)} for own in itertools.product(*tops))
            right = [oracle.system_value(self.world, lists, self.asked, catalogue) for lists in every]
        return [] if any(same(ours, y) for y in right) else [f"{self.spec}: {ours}, should be {right[:4]}"]

    def _tops(self, unit: Unit) -> set[tuple[str, ...]]:
        """What a unit may have been shown, in no order."""
        k, blocks = self.spec.k, unit.possible[0]
        if unit.drawn is not None and self.ties in oracle.DRAWN:
            return {unit.drawn[:k]}
        if self.ties in ("given", "falling"):
            return {oracle.by_name(blocks, self.ties)[:k]}
        return {tuple(sorted(order[:k])) for order in oracle.orders_of(blocks)}


@cache
def unlimited(world: World) -> World:
    return replace(world, threshold=1e-9)


def same(x: float, y: float) -> bool:
    return (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-11)


def all_wrong(
    config: Config, ties: str, units: Sequence[Unit], result: tv.Result, labels: dict[str, Spec]
) -> list[str]:
    """What is wrong in a result, cell by cell."""
    found, per_user = [], result.per_user
    (name,) = result.evaluation.systems
    for label, spec in labels.items():
        cell, value = Cell(config, spec, ties), result[name, label].value
        if spec.metric.system:
            found += cell.wrong_system(units, value)
        else:
            ours, chance = per_user[label].fill_null(float("nan")).to_list(), result.random.get(label)
            found += cell.wrong(units, ours, value, chance)
            found += [f"{spec} has no value by chance"] if chance is None and not spec.metric.no_chance else []
    return [f"{config.design}, {config.ties}, {config.compat or config.population}: {each}" for each in found]


def check(design: str, seed: int) -> None:
    """Every cell of a design, for lists that were given or for systems."""
    world, wrong = random_world(seed, repeats="seen" in design), []
    look = wrong_of_runs if design in RUNS else wrong_of_systems
    for ties, (population, compat) in itertools.product(TIES, WHOM):
        wrong += look(Config(world, design, ties, population, compat))
    assert not wrong, f"{len(wrong)} cells are wrong\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("design", [*DESIGNS, *RUNS])
def test_cells(design: str):
    check(design, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("design", [*DESIGNS, *RUNS])
@pytest.mark.parametrize("seed", range(1, 6))
def test_cells_in_more_worlds(design: str, seed: int):
    check(design, seed)


# ---- systems -------------------------------------------------------------------------------------------------


def wrong_of_systems(config: Config) -> list[str]:
    world, wrong = config.world, []
    parts = parts_of(world, "uniform_test" if config.design.startswith("U") else "given")
    items = item_table(world) if "LIST" in config.design else None
    labels: dict[str, Spec] = {}
    units, try_metric = ranked(config, parts, items)
    for spec in specs():
        if config.design.startswith("U") and {"ips", "snips"} & set(spec.transforms):
            continue  # nobody knows with what chance these parts test a pair: see test_weights_on_splits.py
        try:
            try_metric(spec)
            labels[f"{spec}|n=1" if config.axes.sample else str(spec)] = spec
        except TruevalError as error:
            if not (error.what and refusable(config, spec, units)):
                wrong.append(f"{config.ties}, {config.compat or config.population}: {spec} is refused: {error}")
    result = tv.evaluate(
        parts, {"s": tv.Scores(score_matrix(world))}, design=config.design, items=items,
        metrics=[str(spec) for spec in labels.values()], **config.options(),
    )  # fmt: skip
    return wrong + all_wrong(config, config.ties, units, result, labels)


def ranked(config: Config, parts: Parts, items: Any) -> tuple[list[Unit], Callable[[Spec], Any]]:
    """The units that are measured, and a way to try a metric alone."""
    options = EvaluationOptions(metrics=["hit@20"], **config.options())
    split = prepare_split(parts, options, design=config.design, items=items)
    system = tv.Scores(score_matrix(config.world)).fit(split.train)
    facts = rank_tasks(system, split.tasks, split.design, depth=split.depth, ties=config.ties, name="s")
    units = drawn_units(config, select(facts, in_population(facts, config.preset.population)))

    def try_metric(spec: Spec) -> Any:
        alone = replace(options, metrics=[str(spec)])
        return measured_alone(alone, facts, split.context, sample=config.axes.sample)

    return units, try_metric


def measured_alone(
    options: EvaluationOptions, facts: RankingFacts, context: EvaluationContext, sample: int = 0
) -> Measurements:
    own = replace(context, options=options, groups=[])
    return measure(facts, specs_of(options, sample), own, first=False)


def drawn_units(config: Config, facts: RankingFacts) -> list[Unit]:
    """The oracle's unit for each unit of the facts, in AR with the target set and the order that were drawn."""
    known = {(unit.user, unit.stratum, unit.one): unit for unit in oracle.units_of(config.world, config.axes)}
    users, items = facts.users.values.to_list(), facts.items.values.to_list()
    found = []
    for at, code in enumerate(facts.unit_user):
        stratum = 0 if facts.stratum is None else int(facts.stratum[at])
        one = items[facts.item[facts.start[at]]] if config.axes.one else ""
        unit = known[users[code], stratum, one]
        if not one:
            shown = tuple(items[i] for i in facts.list_item[facts.list_start[at] : facts.list_start[at + 1]])
            scores = [config.world.scores[unit.user][item] for item in shown]
            assert scores == sorted(scores, reverse=True)
            fitting = [blocks for blocks, own in zip(unit.possible, unit.target_sets) if sorted(own) == sorted(shown)]
            assert fitting, f"{shown} is no target set of {unit}"
            unit = replace(unit, possible=(fitting[0],), drawn=shown)
        found.append(unit)
    return found


# ---- lists that were given -----------------------------------------------------------------------------------


def wrong_of_runs(config: Config) -> list[str]:
    world, axes, wrong = config.world, config.axes, []
    lists = lists_of(world, seen=axes.seen)
    units = [u for u in oracle.units_of_lists(world, lists, axes) if counts(config.preset.population, u, world)]

    against = {
        "train": table(world.train), "items": item_table(world), "without_head": axes.head or None,
        "seen": "allow" if axes.seen else "exclude",
    }  # fmt: skip
    run, test, labels = run_table(world, lists), table(world.test), {}
    options = for_given_lists(EvaluationOptions(metrics=["hit@20"], **config.options()))
    design = RunDesign(head=axes.head or None, condensed=axes.condensed, seen=against["seen"])
    held = read_held_out(test, options, train=against["train"], items=against["items"], design=design)
    prepared = prepare_run(held, run["user"], run["item"])
    facts = run_facts(run, prepared.truth, ties=options.ties)
    facts = condense(facts) if axes.condensed else facts
    for spec in specs():
        try:
            measured_alone(replace(options, metrics=[str(spec)]), facts, prepared.context)
            labels[str(spec)] = spec
        except TruevalError as error:
            if not (error.what and refusable_run(config, spec, units)):
                wrong.append(f"{config.ties}, {config.compat or config.population}: {spec} is refused: {error}")
    ties = config.ties
    if ties == "random" and config.preset.ties is not None:  # libraries have an order of their own
        ties = "given" if config.preset.ties in ("given", "ranx") else "falling"
    metrics = [str(spec) for spec in labels.values()]
    result = tv.evaluate_run(run, test, metrics=metrics, condensed=axes.condensed, **against, **config.options())
    assert result.per_user["user"].to_list() == [unit.user for unit in units]
    return wrong + all_wrong(config, ties, units, result, labels)


def counts(population: str, unit: Unit, world: World) -> bool:
    """Whether a user is in the population."""
    relevant = any(value >= world.threshold for value in unit.judged.values())
    return {"relevant": relevant, "judged": bool(unit.judged), "all": True}[population]
