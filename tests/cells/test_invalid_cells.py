"""Places that cannot count, metric by metric: rule for ties × design × population or preset, scores or ranks.

The oracle puts an id that nobody knows and nobody likes into each place that is a miss: it takes a place, and is
relevant to nobody. Metrics of the items themselves count it in no numerator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import naive_cells as oracle
import numpy as np
import polars as pl
import pytest
import test_cells as cells
from cell_worlds import item_table, lists_of, random_world, table
from naive_cells import Asked, Blocks, Order, Unit, World

import trueval as tv
from trueval.data import sorted_runs
from trueval.design.design import RunDesign
from trueval.errors import TruevalError
from trueval.evaluation.engines.plan import MeasurementPlan
from trueval.evaluation.held_out import prepare_run, read_held_out
from trueval.evaluation.options import EvaluationOptions, for_given_lists
from trueval.facts.from_run import run_facts
from trueval.facts.invalid_places import InvalidPlaces
from trueval.facts.views import condense
from trueval.kernels import use_kernels
from trueval.metrics.grammar import parse
from trueval.report.saved_results import load_result

WHOM = (("relevant", None), ("all", None), ("relevant", "trec_eval"), ("relevant", "rectools"))
MEANS = {"average_popularity", "cold", "head_share", "mid_share", "novelty", "seen", "tail_share"}
DISCOUNTED = {"efd", "epc", "epd"}
OF_ITEMS = {"ild", "serendipity"}  # whatever the places are that the items of a list have


class Lenient(dict):
    """What is known of items; nothing of others."""

    def __init__(self, known: Mapping[str, Any], otherwise: Any) -> None:
        super().__init__(known)
        self.otherwise = otherwise

    def __missing__(self, key: str) -> Any:
        return self.otherwise


@dataclass(frozen=True)
class Shown:
    """What a run says (user, item, score), and the lists that the oracle sees: nobody's ids in place of misses."""

    rows: list[tuple[str, str, float]]
    lists: dict[str, Blocks]


@cache
def world_of(seed: int, *, repeats: bool = False) -> World:
    world = random_world(seed, repeats=repeats)
    return replace(world, aspects=Lenient(world.aspects, []))


def shown_of(world: World, *, seen: bool, ties: bool = True) -> Shown:
    """Lists with items that nobody knows, alone and among equals, and with items that come again at the end."""
    rows, lists = [], {}
    for at, (user, blocks) in enumerate(lists_of(world, seen=seen).items()):
        scored = [(world.scores[user][item], item, item) for block in blocks for item in block][: 3 + at % 2]
        if not ties:
            scored = [(10.0 - place, said, item) for place, (_, said, item) in enumerate(scored)]
        if at == 1:  # nothing but misses
            scored = []
        if at != 2:
            first = scored[0][0] if scored else 1.0
            scored += [(first if ties else first + 0.5, "~a", "~a"), (0.5, "~b", "~b"), (0.25, "~b", "~b again")]
        if at > 2:
            scored += [(-1.0, scored[0][1], "~again")]
        scored.sort(key=lambda one: (-one[0], one[2]))
        rows += [(user, said, score) for score, said, _ in scored]
        by_score = itertools.groupby(scored, key=lambda one: one[0])
        lists[user] = tuple(tuple(item for *_, item in block) for _, block in by_score)
    return Shown(rows, lists)


def run_of(rows: Sequence[tuple[str, str, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String, "score": pl.Float64}, orient="row")


VALUE, SYSTEM_VALUE = oracle.value, oracle.system_value


def value(world: World, unit: Unit, order: Order, asked: Asked, *, condensed: bool = False) -> float:
    """One metric of a list in which some places are misses."""
    top = order if asked.k is None else order[: asked.k]
    valid = tuple(item for item in top if item in world.items)
    if len(valid) == len(top) or asked.family not in ("beyond", "quality"):
        return VALUE(world, unit, order, asked, condensed=condensed)
    if asked.name in MEANS:
        return VALUE(world, unit, valid, asked) * len(valid) / len(top) if valid else 0.0
    if asked.name in DISCOUNTED:
        weights = [1 / math.log2(place + 1) for place in range(1, len(top) + 1)]
        alone = [VALUE(world, unit, (item,), asked) if item in valid else 0.0 for item in top]
        empty = VALUE(world, unit, (), asked)  # undefined without a profile, whatever the list
        return empty if math.isnan(empty) else math.fsum(map(math.prod, zip(weights, alone))) / math.fsum(weights)
    if asked.name in OF_ITEMS:
        return VALUE(world, unit, valid, asked)
    return VALUE(world, unit, order, asked, condensed=condensed)


def system_value(world: World, lists: Mapping[str, Order], asked: Asked, catalogue: Sequence[str]) -> float:
    items = {user: tuple(item for item in top[: asked.k] if item in world.items) for user, top in lists.items()}
    return SYSTEM_VALUE(world, items, asked, catalogue)


@pytest.fixture(autouse=True)
def oracle_of_misses(monkeypatch):
    monkeypatch.setattr(oracle, "value", value)
    monkeypatch.setattr(oracle, "system_value", system_value)


def against(world: World, axes: oracle.Axes) -> dict[str, Any]:
    return {
        "train": table(world.train), "items": item_table(world), "without_head": axes.head or None,
        "seen": "allow" if axes.seen else "exclude", "condensed": axes.condensed, "invalid": "miss",
    }  # fmt: skip


def specs_beyond() -> list[Any]:
    """All metrics of the table, and forms of those of lists in which a miss could count."""
    more = [
        "epc@2[relevance=false]",
        "efd@20[relevance=false]",
        "epd@20[relevance=false]",
        "srecall@2[relevant_only=true]",
    ]
    return [*cells.specs(), *map(parse, more)]


def wrong_of(config: cells.Config, shown: Shown, run: pl.DataFrame) -> tuple[int, list[str]]:
    world, axes, wrong, labels = config.world, config.axes, [], {}
    units = [
        unit
        for unit in oracle.units_of_lists(world, shown.lists, axes)
        if cells.counts(config.preset.population, unit, world)
    ]
    options = for_given_lists(EvaluationOptions(metrics="rr", invalid="miss", **config.options()))
    asked = against(world, axes)
    design = RunDesign(head=axes.head or None, condensed=axes.condensed, seen=asked["seen"])
    held = read_held_out(table(world.test), options, train=asked["train"], items=asked["items"], design=design)
    prepared = prepare_run(held, run["user"], run["item"])
    facts = run_facts(run, prepared.truth, ties=options.ties, invalid="miss")
    facts = condense(facts) if axes.condensed else facts
    for spec in specs_beyond():
        if spec.metric.family == "errors" or spec.metric.exact:
            continue
        try:
            cells.measured_alone(replace(options, metrics=[str(spec)]), facts, prepared.context)
            labels[str(spec)] = spec
        except TruevalError as error:
            if not cells.refusable_run(config, spec, units):
                wrong.append(f"{config.ties}, {config.compat or config.population}: {spec} is refused: {error}")
    ties = "falling" if options.ties == "trec_eval" else options.ties
    result = tv.evaluate_run(run, table(world.test), metrics=list(labels.values()), **asked, **config.options())
    assert result.per_user["user"].to_list() == [unit.user for unit in units]
    return len(labels), wrong + cells.all_wrong(config, ties, units, result, labels)


@pytest.mark.parametrize("design", cells.RUNS)
def test_every_metric_counts_a_miss_as_a_place_that_nobody_likes(design):
    world, wrong, number = world_of(0, repeats="seen" in design), [], 0
    for ties, (population, compat) in itertools.product(cells.TIES, WHOM if design == "given" else WHOM[:1]):
        config = cells.Config(world, design, ties, population, compat)
        shown = shown_of(world, seen=config.axes.seen)
        metrics, found = wrong_of(config, shown, run_of(shown.rows))
        number, wrong = number + metrics, wrong + found
    assert not wrong, f"{len(wrong)} of {number} cells are wrong\n" + "\n".join(wrong[:20])
    assert number > (1500 if design == "given" else 400), number


METRICS = "ndcg@2,ap@20,rr,bpref,coverage@2,gini@20,entropy@2,popularity_rank@2,novelty@2,epd@2,srecall@2,abndcg@3"


def assert_same(one: tv.Result, other: tv.Result) -> None:
    assert one.table().equals(other.table())
    assert one.per_user.equals(other.per_user)
    assert one.to_json() == other.to_json()


def watched(before: Any, measured: list[bool]) -> Any:
    def measure(self: MeasurementPlan, run: Any) -> Any:
        part = before(self, run)
        measured.append(part is not None)
        return part

    return measure


@pytest.mark.parametrize("invalid", ["miss", "drop"])
@pytest.mark.parametrize("ties", ["random", "given"])
def test_all_ways_to_read_a_run_give_the_same_bits(tmp_path, monkeypatch, invalid, ties):
    monkeypatch.setattr(sorted_runs, "_BYTES", 7 * 8)
    world, measured, path = world_of(0), [], tmp_path / "run.parquet"
    monkeypatch.setattr(MeasurementPlan, "sorted", watched(MeasurementPlan.sorted, measured))
    for in_order in (True, False):
        shown = shown_of(world, seen=False, ties=not in_order)
        rows = [row for row in shown.rows if row[2] > 0.3] if in_order else shown.rows  # without repeated items
        asked = against(world, oracle.Axes()) | {"invalid": invalid, "ties": ties, "metrics": METRICS, "interval": "t"}
        run, test = run_of(rows), table(world.test)
        run.write_parquet(path)
        whole = tv.evaluate_run({"run": run}, test, **asked)
        with use_kernels("compiled"):
            assert_same(whole, tv.evaluate_run({"run": path}, test, **asked))
        assert_same(whole, tv.evaluate_run({"run": path}, test, sorted_by_user=True, **asked))
        if ties == "random":
            assert_same(whole, tv.evaluate_run({"run": run.sample(fraction=1, shuffle=True, seed=3)}, test, **asked))
    assert measured == [invalid == "miss"]


@pytest.mark.parametrize("invalid", ["miss", "drop"])
def test_ranks_are_as_good_as_scores(invalid):
    world = world_of(0)
    run, test = run_of(shown_of(world, seen=False, ties=False).rows), table(world.test)
    ranked = run.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))
    asked = against(world, oracle.Axes()) | {"metrics": METRICS, "interval": "none", "invalid": invalid}
    assert_same(*(tv.evaluate_run(one, test, **asked) for one in (run, ranked)))


def test_dropping_moves_up_what_is_below():
    world = world_of(0)
    run, test = run_of(shown_of(world, seen=False, ties=False).rows), table(world.test)
    kept = run.filter(pl.col("item").is_in(world.items)).unique(["user", "item"], keep="first", maintain_order=True)
    asked = against(world, oracle.Axes()) | {"metrics": METRICS, "interval": "none"}
    dropped = tv.evaluate_run(run, test, **asked | {"invalid": "drop"})
    assert dropped.per_user.equals(tv.evaluate_run(kept, test, **asked | {"invalid": "refuse"}).per_user)
    assert not dropped.per_user.equals(tv.evaluate_run(run, test, **asked).per_user)


@pytest.mark.parametrize("invalid", ["miss", "drop"])
def test_the_share_of_such_places_is_in_warnings_json_and_manifest(tmp_path, invalid):
    world = world_of(0)
    shown = shown_of(world, seen=False)
    places_of = [(user, item) for user, item, _ in shown.rows if user in world.test]  # others are not evaluated
    known = [(user, item) for user, item in places_of if not item.startswith("~")]
    outside, repeated, places = len(places_of) - len(known), len(known) - len(set(known)), len(places_of)
    assert min(outside, repeated) > 0
    asked = against(world, oracle.Axes()) | {"metrics": "rr", "invalid": invalid}
    result = tv.evaluate_run(run_of(shown.rows), table(world.test), **asked)
    share = (outside + repeated) / places
    right = {"outside": outside, "repeated": repeated, "places": places, "share": share}
    assert result.to_dict()["systems"]["run"]["invalid"] == right
    assert result.manifest["invalid"] == invalid
    (note,) = [note for note in result.warnings if f"invalid={invalid}" in note]
    assert note.startswith(f"run: {outside + repeated} of {places} places ({100 * share:.1f} %)")
    assert ("moved up" in note) == (invalid == "drop")
    result.save(tmp_path / "saved")
    again = load_result(tmp_path / "saved")
    assert again.systems["run"].invalid == InvalidPlaces(outside, repeated, places)


def test_a_draw_gives_each_miss_among_equals_its_own_chance():
    """Of one good item and two misses with the same score, the good one is first in a third of all draws."""
    users = 3000
    test = pl.DataFrame({"user": range(users), "item": ["good"] * users})
    run = pl.DataFrame({
        "user": np.repeat(range(users), 3), "item": ["good", "~a", "~b"] * users, "score": [1.0] * 3 * users,
    })  # fmt: skip
    for evaluate in (of_lists, of_a_split):
        first = evaluate(run, test)
        assert abs(first - 1 / 3) < 4 * math.sqrt(2 / 9 / users), (evaluate, first)


def of_lists(run: pl.DataFrame, test: pl.DataFrame) -> float:
    result = tv.evaluate_run(run, test, items=["good"], metrics="hit@1", interval="none", invalid="miss")
    return float(result["run", "hit@1"].value)


def of_a_split(run: pl.DataFrame, test: pl.DataFrame) -> float:
    train = pl.DataFrame({"user": [*test["user"], -1, -1], "item": [*["other"] * len(test), "other", "good"]})
    asked = {"design": "AR-AI-AN", "metrics": "hit@1", "interval": "none", "invalid": "miss"}
    result = tv.evaluate(tv.split(train, "given", test=test), {"run": tv.Run(run)}, **asked)
    return float(result["run", "hit@1"].value)


def test_audits_measure_the_same(tmp_path):
    world = world_of(0)
    run, test = run_of(shown_of(world, seen=False).rows), table(world.test)
    asked = {"items": item_table(world), "threshold": 3, "metrics": "ndcg@20", "train": table(world.train)}
    for invalid in ("miss", "drop"):
        found = tv.audit(test=test, recs={"run": run}, invalid=invalid, **asked)
        (finding,) = found["duplicates"]
        assert finding.verdict == "fine"
        assert f"invalid={invalid}" in finding.sentence
    with pytest.raises(TruevalError, match="invalid=miss"):
        tv.audit(test=test, recs={"run": run}, **asked)


def test_experiments_and_gates(tmp_path):
    """A run with strangers beside a fitted system; facts are found again, and rules are not mixed."""
    rng = np.random.default_rng(2)
    log = pl.DataFrame({"user": rng.integers(0, 40, 600), "item": rng.integers(0, 25, 600)}).unique(maintain_order=True)
    log.write_parquet(tmp_path / "log.parquet")
    lists = pl.DataFrame({
        "user": np.repeat(range(40), 10), "item": rng.integers(20, 35, 400), "rank": list(range(1, 11)) * 40,
    })  # fmt: skip
    lists.write_parquet(tmp_path / "made.parquet")
    results = {}
    for invalid in ("refuse", "miss", "drop"):
        (tmp_path / f"{invalid}.toml").write_text(
            f'[data]\npath = "log.parquet"\n[evaluation]\nmetrics = "ndcg@10"\ninvalid = "{invalid}"\n'
            '[systems]\npopularity = {}\nmade = { run = "made.parquet" }\n'
        )
        if invalid == "refuse":
            with pytest.raises(TruevalError, match="outside the catalogue"):
                tv.run(tmp_path / "refuse.toml")
            continue
        folder = tmp_path / invalid
        results[invalid] = tv.run(tmp_path / f"{invalid}.toml", folder)["AR-TI-AN"]
        parts = tv.split(log, "holdout", ratio=0.2, seed=0)
        again = tv.run(tmp_path / f"{invalid}.toml", folder, resume=True)["AR-TI-AN"]
        assert again.to_json() == results[invalid].to_json()
        found = results[invalid].evaluation.systems["made"].invalid
        assert found is not None
        assert found.outside == lists.filter(pl.col("item") >= 25).join(parts.test.frame, on="user", how="semi").height
    assert results["miss"]["made", "ndcg@10"].value < results["drop"]["made", "ndcg@10"].value
    with pytest.raises(TruevalError, match="invalid: miss and drop"):
        tv.gate(results["miss"], results["drop"], system="made")


@pytest.mark.parametrize("strangers", [1, 2, 5])
def test_each_unknown_item_has_its_own_chance_among_equal_scores(strangers):
    """Of one relevant item and some that nobody knows, all with one score, each is first as often as any other."""
    users, names = 4000, ["known", *(f"unknown {n}" for n in range(strangers))]
    run = pl.DataFrame({"user": np.repeat(range(users), len(names)), "item": names * users, "score": 1.0})
    test = pl.DataFrame({"user": range(users), "item": "known"})
    how = {"items": ["known", "other"], "invalid": "miss", "interval": "none", "metrics": "hit@1"}
    found = tv.evaluate_run(run, test, **how)["run", "hit@1"].value
    chance = 1 / len(names)
    assert found == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / users))
    places = tv.evaluate_run(run, test, **how).evaluation.systems["run"].invalid
    assert places is not None
    assert (places.outside, places.repeated) == (users * strangers, 0)
