"""What must hold for every registered metric: a new one is covered as soon as it is registered."""

from __future__ import annotations

import doctest
import inspect
import itertools
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from metric_worlds import (
    NUMBERS,
    SUPPLIED,
    World,
    every_spec,
    plain_parameters,
    random_world,
    settled,
    specs_of,
    stratified_specs,
)

import trueval as tv
from trueval.errors import DefinitionError
from trueval.evaluation.engines.plan import as_deep_as_needed, needed_depth
from trueval.evaluation.measurements import measure_facts, merge_measurements
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import concat, condense, flip, one_relevant, random_ranking, select, shortened
from trueval.metrics.compute import compute, merge, weighs_items
from trueval.metrics.families import FAMILIES
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.registry import Metric, all_metrics
from trueval.metrics.spec import Spec

METRICS = all_metrics()
ACCURACY = every_spec("accuracy")
STRATIFIED = frozenset(stratified_specs())
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
RULES = ("random", "expected", "worst", "best")

# A hit that appears at the bottom of the list lowers the mean of the precisions at hits: known, and kept.
NOT_MONOTONE = {"ap": {"denom": "hits"}}


def scored(facts: RankingFacts, *, seed: int = 0) -> RankingFacts:
    """The same facts with a predicted value for every judged row, for the metrics of rating error."""
    return facts.changed(score=np.random.default_rng(seed).uniform(1, 5, len(facts.item)))


def usable(spec: Spec, world: World) -> bool:
    return world.complete or not spec.metric.exact


# ---- the records -------------------------------------------------------------------------------------------


@each_metric
def test_the_record_is_complete(metric: Metric):
    assert metric.family in FAMILIES
    assert metric.better in ("higher", "lower", "neither")
    assert metric.cutoff in ("required", "optional", "none")
    assert metric.range[0] < metric.range[1]
    assert all((metric.formula, metric.reference, metric.undefined))
    assert re.fullmatch(r".{10,118}[.:]", metric.summary)
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(metric.function) or "")
    assert any(metric.name in example.source for example in examples), "its docstring must show it at work"


@each_metric
def test_inputs_and_parameters_can_be_tested(metric: Metric):
    """Fails for a new metric that needs what `metric_worlds` cannot supply yet."""
    inputs = {*metric.needs, *metric.wants}
    assert inputs <= SUPPLIED, f"add {inputs - SUPPLIED} to World.inputs and SUPPLIED"
    numbers = {name for name in plain_parameters(metric) if not metric.parameters[name].choices}
    assert all((metric.name, name) in NUMBERS for name in numbers), f"add {numbers} of {metric.name} to NUMBERS"
    assert specs_of(metric)


@each_metric
def test_defaults_are_legal_and_left_out_of_the_text(metric: Metric):
    suffix = "" if metric.cutoff == "none" else "@5"
    default = parse(metric.name + suffix)
    assert str(default) == metric.name + suffix
    for name, parameter in metric.parameters.items():
        assert parameter.meaning
        written = str(parameter.default).lower() if isinstance(parameter.default, bool) else parameter.default
        assert parse(f"{metric.name}{suffix}[{name}={written}]") == default
        if parameter.choices:
            assert parameter.default in parameter.choices
            with pytest.raises(DefinitionError, match=name):
                parse(f"{metric.name}{suffix}[{name}=nonsense]")
        else:
            assert parameter.low <= parameter.default <= parameter.high
    for alias in metric.aliases:
        assert parse(alias + suffix) == default


@each_metric
def test_what_is_missing_is_named(metric: Metric):
    if not metric.needs:
        return
    with pytest.raises(DefinitionError, match=metric.name) as caught:
        compute(parse(metric.name + ("" if metric.cutoff == "none" else "@3")), random_world(0).facts(), Inputs())
    assert "train" in caught.value.do or "items" in caught.value.do


@pytest.mark.parametrize("spec", [s for s in ACCURACY if s.metric.exact], ids=str)
def test_lists_that_were_cut_have_no_exact_ranks(spec: Spec):
    world = random_world(0, complete=False)
    with pytest.raises(DefinitionError, match=spec.metric.name) as caught:
        compute(spec, world.facts(), world.inputs())
    assert caught.value.do


# ---- range -------------------------------------------------------------------------------------------------


@cache
def readings(
    seed: int, complete: bool, threshold: float | None
) -> tuple[Inputs, list[RankingFacts], list[RankingFacts]]:
    """A world under every tie rule, plain and condensed; and what only accuracy metrics can read."""
    world = random_world(seed, ties=True, complete=complete, threshold=threshold)
    plain = [scored(world.facts(rule), seed=seed) for rule in RULES]
    ranked = [select(facts, facts.R > 0) for facts in plain] if complete else []
    others = [*map(flip, plain), *map(one_relevant, plain), *map(random_ranking, ranked)]
    return world.inputs(), [*plain, *map(condense, plain)], [*others, *map(random_ranking, map(one_relevant, ranked))]


@each_metric
def test_values_are_within_the_declared_range(metric: Metric):
    low, high = metric.range
    for seed, complete, threshold in [(0, True, 3), (1, False, 3), (2, True, None), (3, False, None)]:
        inputs, plain, others = readings(seed, complete, threshold)
        for spec in specs_of(metric, cutoffs=(1, 4, 20)) + [s for s in STRATIFIED if s.metric is metric]:
            if metric.exact and not complete:
                continue
            alone = metric.family != "accuracy" or spec.parameters.get("against") == "judged"
            for facts in plain if alone else plain + others:
                if facts.condensed and spec in STRATIFIED:
                    continue  # a stratified precision is not for condensed rankings
                if not settled(spec, facts):
                    continue
                measured = compute(spec, facts, inputs)
                values = np.array([measured.value()]) if measured.per_unit is None else measured.per_unit
                known = values[~np.isnan(values)]
                assert ((known >= low - 1e-12) & (known <= high + 1e-12)).all(), (str(spec), facts.ties, values)
                assert len(known) or metric.family != "accuracy"


def test_undefined_exactly_where_there_is_nothing_relevant():
    zero = {"hit", "rr", "rbp", "err", "dcg", "precision"}
    world = random_world(4)  # u0 has no relevant item, and every other user u… has one
    facts, inputs = world.facts(), world.inputs()
    for spec in ACCURACY:
        values = compute(spec, facts, inputs).per_unit
        assert values is not None
        nothing = values[facts.R == 0]
        expected_nan = spec.metric.name not in zero or spec.parameters.get("denom") == "achievable"
        assert np.isnan(nothing).all() if expected_nan else (nothing == 0).all(), spec
        alone = spec.parameters.get("against") == "judged"  # undefined also without judged rivals
        assert not np.isnan(values[(facts.R > 0) & ((facts.N > 0) | (not alone))]).any(), spec


def test_users_without_a_list_score_zero_and_stay():
    world = random_world(5, complete=False)  # u1 has no list
    facts, inputs = world.facts(), world.inputs()
    at = world.users.index("u1")
    for spec in [s for s in ACCURACY if usable(s, world)] + every_spec("beyond"):
        if spec.metric.family == "accuracy" or spec.metric.name in ("epc", "efd", "epd", "serendipity"):
            values = compute(spec, facts, inputs).per_unit
            assert values is not None
            assert values[at] == 0, spec


# ---- order and names ---------------------------------------------------------------------------------------


def evaluated(world: World, specs: list[Spec], *, shuffle: int | None = None, **options) -> pl.DataFrame:
    """Values per user, and below them those of the whole, through the public door."""
    tables = [world.run_table(), world.test_table(), world.train_table(), world.item_table()]
    if shuffle is not None:
        tables = [t.sample(fraction=1, shuffle=True, seed=shuffle + j)[:, ::-1] for j, t in enumerate(tables)]
    recs, test, train, items = tables
    result = tv.evaluate_run(
        recs, test, train=train, items=items, metrics=specs, threshold=world.threshold, population="judged",
        interval="none", **options,
    )  # fmt: skip
    whole = result.table().select(pl.lit("all").alias("user"), "metric", "value")
    users = result.per_user.drop("system").unpivot(index="user", variable_name="metric", value_name="value")
    return pl.concat([users, whole]).sort("user", "metric")


PUBLIC = [spec for spec in every_spec() if not spec.metric.exact and spec.metric.family != "errors"]


def public(world: World, rule: str) -> list[Spec]:
    facts = world.facts(rule)
    return [spec for spec in PUBLIC if settled(spec, facts)]


@pytest.mark.parametrize("rule", RULES)
def test_row_order_changes_nothing(rule: str):
    world = random_world(11, ties=True, complete=False)
    specs = public(world, rule)
    once = evaluated(world, specs, ties=rule)
    assert once.equals(evaluated(world, specs, ties=rule, shuffle=3), null_equal=True)
    assert once["value"].drop_nulls().len() > len(specs)


def relabelled(world: World, *, permute: bool) -> tuple[World, dict[str, str]]:
    items, users = world.items, world.users
    order = np.random.default_rng(5).permutation(len(items)) if permute else np.arange(len(items))
    back = {user: f"person {at:03}" for at, user in enumerate(users[::-1] if permute else users)}
    return world.renamed(back, {item: f"x{at:03}" for item, at in zip(items, order)}), back


@pytest.mark.parametrize("rule", RULES)
def test_new_names_in_the_same_order_change_nothing(rule: str):
    world = random_world(12, ties=True, complete=False)
    other, people = relabelled(world, permute=False)
    specs = public(world, rule)
    before = evaluated(world, specs, ties=rule).with_columns(pl.col("user").replace(people)).sort("user", "metric")
    assert before.equals(evaluated(other, specs, ties=rule), null_equal=True)


@pytest.mark.parametrize(("ties", "rule"), [(False, "random"), (True, "expected"), (True, "worst"), (True, "best")])
def test_new_names_in_another_order_change_nothing(ties: bool, rule: str):
    world = random_world(13, ties=ties, complete=False)
    specs = public(world, rule)
    other, people = relabelled(world, permute=True)
    before = evaluated(world, specs, ties=rule).with_columns(pl.col("user").replace(people)).sort("user", "metric")
    after = evaluated(other, specs, ties=rule)
    assert before.select("user", "metric").equals(after.select("user", "metric"))
    np.testing.assert_allclose(before["value"].fill_null(-1), after["value"].fill_null(-1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rule", ["random", "expected"])
def test_exact_metrics_do_not_depend_on_names(rule: str):
    world = random_world(14, ties=rule == "expected")
    other, people = relabelled(world, permute=True)
    place = [other.users.index(people[user]) for user in world.users]
    one, two = world.facts(rule), other.facts(rule)
    for spec in ACCURACY:
        before, after = (compute(spec, facts, Inputs()).per_unit for facts in (one, two))
        assert before is not None
        assert after is not None
        np.testing.assert_allclose(before, after[place], rtol=1e-12, atol=1e-14, err_msg=str(spec))


# ---- better lists, better values ---------------------------------------------------------------------------


def all_orders(judged: dict[str, float], items: str, threshold: float | None = None) -> World:
    """A world with a user for each order of some items, all of whom judge alike."""
    orders = {f"{at:04}": [[i] for i in order] for at, order in enumerate(itertools.permutations(items))}
    return World(orders, dict.fromkeys(orders, judged), threshold)


# graded with a tie among gains, a judged non-relevant item, unjudged ones; binary; one relevant item
JUDGED = [({"a": 5, "b": 3, "c": 1}, 2), ({"a": 2, "b": 2, "c": 1, "d": 0}, None), ({"a": 1}, None)]


@pytest.fixture(scope="module", params=range(len(JUDGED)))
def orders(request) -> tuple[World, RankingFacts]:
    judged, threshold = JUDGED[request.param]
    world = all_orders(judged, "abcdx", threshold)
    return world, world.facts()


def monotone(spec: Spec) -> bool:
    rule = NOT_MONOTONE.get(spec.metric.name, {})
    return not (rule and rule.items() <= spec.parameters.items())


def test_a_relevant_item_one_place_up_never_lowers_a_value(orders):
    world, facts = orders
    lists = {tuple(world.ranked(user)): at for at, user in enumerate(world.users)}
    relevant = world.relevant(world.users[0])
    pairs = [
        (at, lists[(*order[:j], order[j + 1], order[j], *order[j + 2 :])])
        for order, at in lists.items()
        for j in range(len(order) - 1)
        if order[j] not in relevant and order[j + 1] in relevant
    ]
    before, after = (np.array(column) for column in zip(*pairs))
    for spec in ACCURACY:
        if spec.metric.better == "higher" and monotone(spec):
            values = compute(spec, facts, Inputs()).per_unit
            assert values is not None
            worse = values[after] < values[before] - 1e-12
            assert not worse.any(), (str(spec), list(lists)[before[worse][0]])


def test_the_known_exception_to_monotonicity_is_one():
    lists = {"u": [["a"], ["x"], ["y"], ["b"]], "v": [["a"], ["x"], ["b"], ["y"]]}
    world = World(lists, {user: {"a": 1, "b": 1} for user in lists})
    before, after = compute(parse("ap@3[denom=hits]"), world.facts(), Inputs()).per_unit
    assert (before, after) == (1, pytest.approx((1 + 2 / 3) / 2))


def test_the_perfect_list_is_the_best_of_all_lists(orders):
    world, facts = orders
    gains = world.relevant(world.users[0])
    lists = [world.ranked(user)[: len(gains)] for user in world.users]
    best = sorted(gains.values(), reverse=True)
    perfect = np.array([[gains.get(item, 0) for item in shown] == best for shown in lists])
    assert perfect.any()
    for spec in ACCURACY:
        if spec.metric.better == "higher":
            values = compute(spec, facts, Inputs()).per_unit
            assert values is not None
            if np.isnan(values).all():
                continue
            np.testing.assert_allclose(values[perfect], values.max(), atol=1e-12, err_msg=str(spec))


def test_a_constant_scorer_scores_like_all_orders_on_average(orders):
    world, facts = orders
    user = world.users[0]
    flat = World({"u": [list("abcdx")]}, {"u": world.judged[user]}, world.threshold)
    settled, drawn = flat.facts("expected"), random_ranking(flat.facts())
    assert drawn is not None
    for spec in [*ACCURACY, *(replace(spec, transforms=("anti",)) for spec in ACCURACY[::4])]:
        mean = compute(spec, facts, Inputs()).per_unit.mean()
        for reading in (settled, drawn):
            ours = compute(spec, reading, Inputs()).per_unit[0]
            assert ours == pytest.approx(mean, abs=1e-12, nan_ok=True), str(spec)


def test_a_constant_scorer_is_never_perfect():
    world = World({"u": [list("abcdefghij")]}, {"u": {"a": 1}})
    for rule, most in (("expected", 0.31), ("worst", 0.11)):
        values = [compute(parse(m), world.facts(rule), world.inputs()).value() for m in ("rr", "ap", "hit@1", "ndcg@3")]
        assert max(values) < most


# ---- chances of being observed -----------------------------------------------------------------------------

ADDITIVE = [metric for metric in METRICS if metric.terms is not None]
SUMS = {"precision", "dcg", "rbp"}  # the others are means over the relevant items


def weighted(metric: Metric, transform: str, chosen: str = "") -> list[Spec]:
    ks = {"required": (1, 3, 20), "optional": (None, 3), "none": (None,)}[metric.cutoff]
    return [parse(f"{transform}({metric.name})" + ("" if k is None else f"@{k}") + chosen) for k in ks]


def a_chance(user: str, item: str) -> float:
    """Differs from pair to pair."""
    return (1 + (7 * int(user[1:]) + 3 * ord(item[-1])) % 10) / 10


@pytest.mark.parametrize("metric", ADDITIVE, ids=lambda metric: metric.name)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("world", [31, 33, 35])
def test_equal_chances_give_the_plain_value(metric: Metric, rule: str, world: int):
    """Pooled beside pooled, mean beside mean; sums of ips where all is observed, else scaled by 1/p."""
    made = random_world(world, ties=True)
    facts = made.facts(rule)
    for constant, clip in itertools.product((1.0, 0.25, 0.013), ("", "clip=1", "clip=3")):
        inputs = replace(made.inputs(), propensity=made.propensity(lambda u, i, c=constant: c))
        for average in ("pooled", "mean"):
            chosen = ",".join(filter(None, [f"average={average}", clip]))
            for spec in weighted(metric, "snips", f"[{chosen}]"):
                plain, found = compute(spec.naive, facts, inputs), compute(spec, facts, inputs)
                assert found.value() == pytest.approx(plain.value(), rel=1e-12), str(spec)
                np.testing.assert_allclose(found.per_unit, plain.per_unit, rtol=1e-12, err_msg=str(spec))
        for spec in weighted(metric, "ips", f"[{clip}]" if clip else "") if metric.name in SUMS else []:
            weight = min(1 / constant, {"clip=1": 1.0, "clip=3": 3.0}.get(clip, np.inf))
            plain, found = compute(spec.naive, facts, inputs), compute(spec, facts, inputs)
            np.testing.assert_allclose(found.per_unit, weight * plain.per_unit, rtol=1e-12, err_msg=str(spec))


@pytest.mark.parametrize("metric", ADDITIVE, ids=lambda metric: metric.name)
@pytest.mark.parametrize("average", ["pooled", "mean"])
def test_self_normalised_values_by_the_definition(metric: Metric, average: str):
    """Each relevant item counts w / (mean of w): over the relevant items of all users, or of each user."""
    world = random_world(34, ties=True)
    facts = world.facts("expected")
    inputs = replace(world.inputs(), propensity=world.propensity(a_chance))
    for spec in weighted(metric, "snips", f"[average={average},clip=4]"):
        amounts, pairs = oracle_terms(world, spec)
        weight = {pair: min(1 / a_chance(*pair), 4.0) for pair in pairs}
        if average == "pooled":
            middle = np.mean(list(weight.values()))
            total = sum(weight[pair] / middle * amount for pair, amount in amounts.items())
            expected = total / (len(world.users) if metric.name in SUMS else len(pairs))
        else:
            each = []
            for user in world.users:
                own = [pair for pair in pairs if pair[0] == user]
                if not own and metric.name not in SUMS:
                    continue
                middle = np.mean([weight[pair] for pair in own]) if own else 1.0
                total = sum(weight[pair] / middle * amounts.get(pair, 0.0) for pair in own)
                each.append(total / (1 if metric.name in SUMS else len(own)))
            expected = np.mean(each)
        assert compute(spec, facts, inputs).value() == pytest.approx(expected, rel=1e-12), str(spec)


def oracle_terms(world: World, spec: Spec) -> tuple[dict[tuple[str, str], float], list[tuple[str, str]]]:
    """What each relevant pair adds: the metric of a world in which only that item of the user is relevant.

    The amounts of auc depend on how many others are relevant, so that they are taken from its terms.
    """
    pairs = [(user, item) for user in world.users for item in world.relevant(user)]
    facts = world.facts("expected")
    terms = spec.metric.terms
    assert terms is not None
    taken = set(inspect.signature(terms).parameters) - {"facts", "k"}
    found = terms(facts, spec.k, **{name: spec.parameters[name] for name in taken})
    rows = facts.hits.row[found.rows]
    users, items = facts.users.decode(facts.unit_user[facts.unit[rows]]), facts.items.decode(facts.item[rows])
    amounts = dict(zip(zip(users, items), found.amount.tolist()))
    if spec.metric.name == "auc":
        defined = facts.users.decode(facts.unit_user[found.defined])
        pairs = [pair for pair in pairs if pair[0] in set(defined)]
        return {pair: amount for pair, amount in amounts.items() if pair in pairs}, pairs
    for user, item in pairs:
        alone = select(facts, facts.users.decode(facts.unit_user).to_numpy() == user)
        kept = facts.items.decode(alone.item).to_numpy() == item
        one = compute(spec.naive, alone.changed(relevant=alone.relevant & kept), Inputs()).value()
        assert amounts.get((user, item), 0.0) == pytest.approx(one, rel=1e-12), (str(spec), user, item)
    return amounts, pairs


@pytest.mark.parametrize("metric", ADDITIVE, ids=lambda metric: metric.name)
@pytest.mark.parametrize("rule", RULES)
def test_weighted_values_are_in_range_and_of_the_parts(metric: Metric, rule: str):
    world = random_world(32, ties=True)
    facts = world.facts(rule)
    inputs = replace(world.inputs(), propensity=world.propensity(a_chance))
    parts = cut_in_parts(facts, 3, seed=1)
    order = np.argsort(np.concatenate([part.unit_user for part in parts]), kind="stable")
    for spec in weighted(metric, "snips") + (weighted(metric, "ips") if metric.name in SUMS else []):
        whole = compute(spec, facts, inputs)
        merged = merge([compute(spec, part, inputs) for part in parts])
        assert whole.per_unit is not None
        assert merged.per_unit is not None
        np.testing.assert_array_equal(merged.per_unit[order], whole.per_unit, err_msg=str(spec))
        known = whole.per_unit[~np.isnan(whole.per_unit)]
        assert len(known)
        assert (known >= metric.range[0]).all()
        assert merged.value() == pytest.approx(whole.value(), rel=1e-12)
        if "snips" in spec.transforms:
            if metric.name not in SUMS:  # of a sum, weights may let few items count like many
                assert (known <= metric.range[1] + 1e-12).all(), str(spec)
        else:  # nothing is observed with more than certainty
            plain = compute(spec.naive, facts, inputs).per_unit
            assert (whole.per_unit >= plain - 1e-12).all(), str(spec)
            clipped = replace(spec, parameters={**spec.parameters, "clip": 1.0})
            np.testing.assert_allclose(compute(clipped, facts, inputs).per_unit, plain, rtol=1e-12)


# ---- parts and the whole -----------------------------------------------------------------------------------

ADDABLE = [*every_spec(), *stratified_specs()]


def cut_in_parts(facts: RankingFacts, number: int, seed: int) -> list[RankingFacts]:
    part = np.random.default_rng(seed).integers(0, number, len(facts))
    return [select(facts, part == at) for at in range(number)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("complete", [True, False])
def test_parts_add_up_to_the_whole(rule: str, complete: bool):
    world = random_world(21, ties=True, complete=complete)
    facts, inputs = scored(world.facts(rule)), world.inputs()
    for number in (2, 5):  # with five some parts may be empty
        parts = cut_in_parts(facts, number, seed=number)
        order = np.argsort(np.concatenate([part.unit_user for part in parts]), kind="stable")
        together = concat(parts)
        for spec in [s for s in ADDABLE if usable(s, world) and settled(s, facts)]:
            whole = compute(spec, facts, inputs)
            merged = merge([compute(spec, part, inputs) for part in parts])
            joined = compute(spec, together, inputs)
            for other in (merged, joined):
                assert other.value() == pytest.approx(whole.value(), rel=1e-12, nan_ok=True), str(spec)
                if whole.per_unit is not None:
                    np.testing.assert_array_equal(other.per_unit[order], whole.per_unit, err_msg=str(spec))


@pytest.mark.parametrize("seed", [31, 32, 33])
@pytest.mark.parametrize("complete", [True, False])
def test_a_metric_looks_no_deeper_than_its_cutoff(seed: int, complete: bool):
    """What is behind it is not even given to metrics of a run: see `needed_depth`."""
    world = random_world(seed, complete=complete)
    facts, inputs = scored(world.facts("random")), world.inputs()
    tried = set()
    for spec in [s for s in ADDABLE if usable(s, world) and needed_depth([s]) is not None]:
        whole, cut = compute(spec, facts, inputs), compute(spec, as_deep_as_needed(facts, [spec]), inputs)
        np.testing.assert_array_equal(cut.value(), whole.value(), err_msg=str(spec))
        if whole.per_unit is not None:
            np.testing.assert_array_equal(cut.per_unit, whole.per_unit, err_msg=str(spec))
        if (facts.relevant & (facts.rank > spec.k)).any():  # there is something behind it
            tried.add(spec.metric.name)
    missed = {m.name for m in METRICS if m.cutoff == "required" and not m.exact} - tried
    assert not missed


def read_to(facts: RankingFacts, depth: int) -> RankingFacts:
    """The facts of lists that were read to some depth: what is behind it has no rank, and its own order."""
    shown = (facts.rank > 0) & (facts.rank <= depth)
    order = np.lexsort((facts.item, np.where(shown, facts.rank, depth + 1), facts.unit))
    ranks = {name: np.where(shown, getattr(facts, name), 0)[order] for name in ("rank", "above", "tied")}
    rows = {name: getattr(facts, name)[order] for name in ("item", "value", "relevant", "score")}
    return shortened(facts, depth).changed(deepest=depth, **ranks, **rows)


@pytest.mark.parametrize("seed", [31, 32, 33])
def test_where_items_weigh_alike_ranks_behind_the_cutoff_change_no_bit(seed: int):
    """Lists are not even read any deeper then: see `reading_depth`."""
    world = random_world(seed, complete=False)
    facts, inputs = scored(world.facts("random")), world.inputs()
    alike = [s for s in ADDABLE if usable(s, world) and needed_depth([s]) is not None and not weighs_items(s)]
    tried = set()
    for spec in alike:
        whole, cut = compute(spec, facts, inputs), compute(spec, read_to(facts, spec.k), inputs)
        np.testing.assert_array_equal(cut.value(), whole.value(), err_msg=str(spec))
        if whole.per_unit is not None:
            np.testing.assert_array_equal(cut.per_unit, whole.per_unit, err_msg=str(spec))
        if (facts.relevant & (facts.rank > spec.k)).any():
            tried.add(spec.metric.name)
    assert {"precision", "recall", "ndcg", "ap", "rr", "hit", "rbp", "fallout"} <= tried


@pytest.mark.parametrize("rule", ["random", "expected"])
@pytest.mark.parametrize("units", [1, 3, 7])
def test_the_size_of_pieces_changes_nothing(rule: str, units: int, monkeypatch):
    world = random_world(23, ties=True)
    facts, inputs = scored(world.facts(rule)), world.inputs()
    specs = {str(spec): spec for spec in ADDABLE if settled(spec, facts)}
    whole = measure_facts(facts, specs, population="all", inputs=inputs)
    monkeypatch.setattr("trueval.evaluation.measurements.PIECE", units)
    cut = measure_facts(facts, specs, population="all", inputs=inputs)
    for found, wanted in ((cut.values, whole.values), (cut.random, whole.random)):
        assert found.keys() == wanted.keys()
        for label, value in wanted.items():
            np.testing.assert_array_equal(found[label].value(), value.value(), err_msg=label)
            if value.per_unit is not None:
                np.testing.assert_array_equal(found[label].per_unit, value.per_unit, err_msg=label)


@pytest.mark.parametrize("population", ["relevant", "judged", "all"])
@pytest.mark.parametrize("rule", ["random", "expected"])
def test_measurements_of_parts_add_up(population: str, rule: str):
    world = random_world(22, ties=True)
    facts, inputs = scored(world.facts(rule)), world.inputs()
    specs = {str(spec): spec for spec in ADDABLE if settled(spec, facts)}

    def measured(part: RankingFacts):
        return measure_facts(part, specs, population=population, inputs=inputs)

    whole = measured(facts)
    # each part must hold somebody of the population
    keep = np.arange(len(facts)) % 2 == 0
    merged = merge_measurements([measured(select(facts, keep)), measured(select(facts, ~keep))])
    np.testing.assert_array_equal(merged.unit_user, whole.unit_user)
    assert len(whole) == {"relevant": (facts.R > 0).sum(), "judged": (np.diff(facts.start) > 0).sum()}.get(
        population, len(facts)
    )
    for found, wanted in ((merged.values, whole.values), (merged.random, whole.random)):
        assert found.keys() == wanted.keys()
        for label, value in wanted.items():
            assert found[label].value() == pytest.approx(value.value(), rel=1e-12, nan_ok=True), label
            if value.per_unit is not None:
                np.testing.assert_array_equal(found[label].per_unit, value.per_unit, err_msg=label)
    if population == "relevant":
        judged = ("accuracy", "false_positives", "incomplete")
        assert set(whole.random) == {label for label, spec in specs.items() if spec.metric.family in judged}


@pytest.mark.parametrize("rule", RULES)
def test_select_and_concat_lose_nothing(rule: str):
    facts = scored(random_world(23, ties=True, complete=False).facts(rule))
    keep = np.arange(len(facts)) < 3
    back = concat([select(facts, keep), select(facts, ~keep)])
    rows = ("unit_user", "start", "item", "value", "relevant", "rank", "above", "tied", "score", "list_start",
            "list_item", "list_rank", "targets", "list_relevant", "R", "N", "length")  # fmt: skip
    for name in rows:
        np.testing.assert_array_equal(getattr(back, name), getattr(facts, name), err_msg=name)
    assert select(facts, np.ones(len(facts), bool)) is facts


def test_one_relevant_readings_of_parts_add_up():
    world = random_world(24, ties=True)
    for rule in RULES:
        facts = world.facts(rule)
        whole = one_relevant(facts)
        keep = np.arange(len(facts)) < 4
        back = concat([one_relevant(select(facts, keep)), one_relevant(select(facts, ~keep))])
        for name in ("unit_user", "item", "rank", "above", "tied", "targets"):
            np.testing.assert_array_equal(getattr(back, name), getattr(whole, name), err_msg=name)


def test_one_relevant_has_no_lists():
    world = random_world(25)
    facts, inputs = one_relevant(world.facts()), world.inputs()
    for spec in every_spec():
        if spec.metric.family != "accuracy" or spec.parameters.get("against") == "judged":
            with pytest.raises(DefinitionError, match="1R"):
                compute(spec, facts, inputs)


def test_a_part_without_anyone_of_the_population_adds_nothing():
    facts = World({"u": [["a"]], "v": [["a"]]}, {"u": {"a": 1}, "v": {"a": 0}}).facts()
    specs = {"hit@1": parse("hit@1")}
    keep = np.array([True, False])
    parts = [
        measure_facts(select(facts, part), specs, population="relevant", inputs=Inputs()) for part in (keep, ~keep)
    ]
    merged = merge_measurements(parts)
    assert (len(merged), merged.values["hit@1"].value(), merged.random["hit@1"].value()) == (1, 1, 1)


def test_aggregates():
    """Means leave out what is undefined; nothing defined is NaN, not 0."""
    world = World({"u": [["a"]], "v": [["a"]], "w": [["a"]]}, {"u": {"a": 1}, "v": {"b": 1}, "w": {"a": 0}})
    assert compute(parse("recall@1"), world.facts(), world.inputs()).value() == 0.5
    assert compute(parse("precision@1"), world.facts(), world.inputs()).value() == pytest.approx(1 / 3)
    nobody = select(world.facts(), np.array([False, False, True]))
    assert math.isnan(compute(parse("recall@1"), nobody, world.inputs()).value())
