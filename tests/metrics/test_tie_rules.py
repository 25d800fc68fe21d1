"""Each rule for equal scores, through the public door, against all orders of equals one by one.

For every registered metric in every form: expected is the mean over all orders, best and worst are the ends; or the
combination is refused. A new metric is covered as soon as it is registered.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from metric_worlds import World, every_spec, random_world, settled, specs_of, stratified_specs

import trueval as tv
from trueval.errors import DefinitionError
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.registry import Metric, all_metrics
from trueval.metrics.spec import Spec

METRICS = [metric for metric in all_metrics() if metric.family != "errors"]
RULES = ("expected", "worst", "best")
K = 2
# defined on scores: two equal ones count 1/2 whatever the order
ON_SCORES = {"auc"}

FEATURES = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [0, 1, 1], "d": [0, 0, 1], "e": [0, 0, 0], "f": [1, 0, 1]}
TRAIN = {"u": ["f"], "v": ["e", "f"], "w": ["f", "d"], "x": ["a", "b"], "y": ["a"]}
JUDGED = {
    "u": {"a": 5.0, "b": 4.0, "c": 1.0},
    "v": {"a": 3.0, "b": 5.0, "d": 1.0},
    "w": {"a": 1.0, "b": 3.0, "c": 5.0, "e": 4.0},
}


def lists(**blocks: str) -> dict[str, list[list[str]]]:
    others = {"x": "c d e f", "y": "f b c d e"}  # nobody knows what they like
    return {user: [list(block) for block in words.split()] for user, words in {**blocks, **others}.items()}


# lists show every target; the cut at 2 falls into a block, at the end of one, and nowhere near one
WORLDS = {
    "split": World(lists(u="a bcd e", v="ab cd", w="c ae b"), JUDGED, 3, TRAIN, FEATURES),
    "one block": World(lists(u="e d abc", v="c d b a", w="c eab"), JUDGED, 3, TRAIN, FEATURES),
    "above the cut": World(lists(u="ab c de", v="ba c d", w="b e a c"), JUDGED, 3, TRAIN, FEATURES),
    "no equals": World(lists(u="b a c e d", v="c a b d", w="e c b a"), JUDGED, 3, TRAIN, FEATURES),
}


def forms(metric: Metric) -> list[Spec]:
    """Every form of a metric: parameters, popularity weights, flipped, weighted by propensities."""
    found = specs_of(metric, cutoffs=(K,)) + [s for s in stratified_specs(cutoffs=(K,)) if s.metric is metric]
    if metric.family == "accuracy":
        found += [replace(spec, transforms=("anti",)) for spec in specs_of(metric, cutoffs=(K,))]
    at = "" if metric.cutoff == "none" else f"@{K}"
    if metric.terms is not None:
        found += [parse(f"{how}({metric.name}){at}{clip}") for how in ("ips", "snips") for clip in ("", "[clip=3]")]
    return list(dict.fromkeys(found))


def propensity() -> pl.DataFrame:
    rows = [(u, i, (1 + (ord(u) * 7 + ord(i) * 3) % 9) / 10) for u, own in JUDGED.items() for i in own]
    return pl.DataFrame(rows, schema=["user", "item", "p"], orient="row")


def values(world: World, specs: list[Spec], recs: pl.DataFrame | None = None, **options) -> dict[str, np.ndarray]:
    """Of every metric the value of the whole and, where there are such, those of the users."""
    result = tv.evaluate_run(
        world.run_table() if recs is None else recs, world.test_table(), train=world.train_table(),
        items=world.item_table(), metrics=specs, threshold=world.threshold, population="all", interval="none",
        propensity=propensity(), **options,
    )  # fmt: skip
    whole = dict(result.table().select("metric", "value").iter_rows())
    users = result.per_user.sort("user")
    found = {}
    for spec in specs:
        own = users[str(spec)].to_list() if str(spec) in users.columns else []
        found[str(spec)] = np.array([np.nan if x is None else x for x in [whole[str(spec)], *own]], np.float64)
    return found


def orders(world: World, *, together: bool) -> Iterator[pl.DataFrame]:
    """The run with ranks, for all orders of equals: of all users together, or each user's own beside each other."""
    each = []
    for user, blocks in world.groups.items():
        ways = itertools.product(*(itertools.permutations(block) for block in blocks))
        each.append([(user, [item for block in way for item in block]) for way in ways])
    turns = range(int(np.lcm.reduce([len(ways) for ways in each])))
    for chosen in itertools.product(*each) if together else ([ways[t % len(ways)] for ways in each] for t in turns):
        rows = [(user, item, rank) for user, shown in chosen for rank, item in enumerate(shown, 1)]
        yield pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def pooled(spec: Spec) -> bool:
    """Whether the whole is more than the mean over users."""
    return spec.metric.system or "snips" in spec.transforms or "beta" in spec.parameters


@cache
def asked() -> list[Spec]:
    """All forms that exist: a mean over relevant items has no ips, a cap no weights."""
    world = WORLDS["no equals"]
    facts, inputs = world.facts(), replace(world.inputs(), propensity=world.propensity(lambda u, i: 0.5))

    def exists(spec: Spec) -> bool:
        try:
            compute(spec, facts, inputs)
        except DefinitionError:
            return False
        return True

    return [spec for metric in METRICS for spec in forms(metric) if exists(spec)]


@cache
def enumerated(name: str) -> dict[str, np.ndarray]:
    """Of every metric the values (order × whole and users) of a world."""
    found = {}
    for together in (False, True):
        specs = [spec for spec in asked() if pooled(spec) == together]
        every = [values(WORLDS[name], specs, recs) for recs in orders(WORLDS[name], together=together)]
        found |= {str(spec): np.stack([own[str(spec)] for own in every]) for spec in specs}
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", WORLDS)
def test_every_rule_is_what_all_orders_say(name: str, rule: str):
    world = WORLDS[name]
    every = enumerated(name)
    facts = world.facts(rule)
    kept = [spec for spec in asked() if settled(spec, facts)]
    found = values(world, kept, ties=rule)
    for spec in kept:
        own = every[str(spec)][:, 0 if pooled(spec) else 1 :]
        ends = {"worst": own.min(axis=0), "best": own.max(axis=0)}
        if spec.better == "lower":
            ends = {"worst": ends["best"], "best": ends["worst"]}
        wanted = own.mean(axis=0) if rule == "expected" or spec.metric.name in ON_SCORES else ends[rule]
        ours = found[str(spec)][0 if pooled(spec) else 1 :]
        np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{spec} {rule}")
    if name == "no equals":
        assert len(kept) == len(asked())


@pytest.mark.parametrize("rule", RULES)
def test_what_is_refused_is_open_and_says_why(rule: str):
    world = WORLDS["split"]
    every = enumerated("split")
    facts = world.facts(rule)
    refused = [spec for spec in asked() if not settled(spec, facts)]
    assert refused
    for spec in refused:
        with pytest.raises(DefinitionError) as caught:
            values(world, [spec], ties=rule)
        assert f"{spec} has no exact value under ties={rule}" in caught.value.what
        assert "ties=random" in caught.value.do
        assert spec.metric.family not in ("accuracy", "incomplete", "false_positives")
    differ = [np.nan_to_num(np.ptp(every[str(spec)], axis=0)).any() for spec in refused]
    assert np.mean(differ) > 0.8  # hardly anything is refused that all orders agree on


def test_only_what_cannot_be_computed_is_refused():
    open_ = WORLDS["split"]
    refused = {rule: {s.metric.name for s in asked() if not settled(s, open_.facts(rule))} for rule in RULES}
    aspects = {metric.name for metric in METRICS if metric.family == "aspects"}
    assert refused["expected"] == aspects | {"gini", "entropy", "ild", "popularity_rank", "serendipity"}
    undirected = {s.metric.name for s in asked() if s.better == "neither"} - {"list_length"}
    for rule in ("best", "worst"):
        assert refused[rule] == refused["expected"] | undirected | {"coverage", "tail_coverage"}


@pytest.mark.parametrize("seed", range(3))
def test_worst_expected_and_best_are_in_order(seed: int):
    """On larger worlds with short lists, whatever can be had under all three rules."""
    world = random_world(seed, ties=True, complete=False)
    specs = [s for s in every_spec(cutoffs=(1, 3)) if s.metric.family != "errors" and not s.metric.exact]
    specs = [s for s in specs if s.better != "neither" and all(settled(s, world.facts(rule)) for rule in RULES)]
    tables = [world.run_table(), world.test_table()]
    common = {"train": world.train_table(), "items": world.item_table(), "threshold": 3, "interval": "none"}
    found = {}
    for rule in (*RULES, "random"):
        result = tv.evaluate_run(*tables, metrics=specs, ties=rule, population="judged", **common)
        found[rule] = dict(result.table().select("metric", "value").iter_rows())
    for spec in specs:
        sign = -1 if spec.better == "lower" else 1
        low, mean, high, drawn = (sign * found[rule][str(spec)] for rule in ("worst", "expected", "best", "random"))
        assert low - 1e-12 <= mean <= high + 1e-12, spec
        assert low - 1e-12 <= drawn <= high + 1e-12, spec


def test_expected_is_the_mean_of_random_draws():
    world = WORLDS["split"]
    specs = [parse(m) for m in (
        "coverage@2", "tail_coverage@2", "novelty@2", "epc@2", "efd@2[relevance=false]", "epd@2", "serendipity@2",
        "seen@2", "unjudged@2", "cold@2", "head_share@2", "popularity_rank@2", "average_popularity@2", "precision@2",
        "ndcg@2", "recall@2[beta=0.5]", "ips(precision)@2", "snips(recall)@2", "anti(ndcg)@2",
    )]  # fmt: skip
    wanted = values(world, specs, ties="expected")
    drawn = [values(world, specs, ties="random", seed=seed) for seed in range(120)]
    for spec in specs:
        own = np.array([found[str(spec)][0] for found in drawn])
        error = own.std(ddof=1) / np.sqrt(len(own))
        assert abs(own.mean() - wanted[str(spec)][0]) <= 4.5 * error + 1e-12, spec


def test_the_weights_decide_the_order_of_equals():
    """Two relevant items with one score, observed with chance .9 and .1: the rarer one is the better hit."""
    recs = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [1.0, 1.0]})
    test = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "p": [0.9, 0.1]})
    found = {}
    for rule in RULES:
        result = tv.evaluate_run(
            recs, test, metrics="ips(precision)@1", propensity="column:p", ties=rule, population="all", interval="none"
        )
        found[rule] = result["run", "ips(precision)@1"].value
    assert found == {
        "expected": pytest.approx((1 / 0.9 + 1 / 0.1) / 2),
        "worst": pytest.approx(1 / 0.9),
        "best": pytest.approx(10),
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_default_metrics_of_a_run_have_an_expected_value(rule: str):
    world = WORLDS["one block"]
    ask = {"items": world.item_table(), "train": world.train_table(), "threshold": 3, "ties": rule, "interval": "none"}
    if rule == "expected":
        assert tv.evaluate_run(world.run_table(), world.test_table(), **ask).table()["value"].null_count() == 0
    result = tv.evaluate_run(world.run_table(), world.test_table(), metrics=["ndcg@2", "recall@2"], **ask)
    assert result.table()["value"].null_count() == 0
