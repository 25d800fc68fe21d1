"""Every metric, in every choice of its parameters, against the naive oracle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from metric_worlds import World, every_spec, random_world, settled, stratified_specs

from oracles import naive_aspects
from oracles import naive_metrics as naive
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.facts.views import condense, one_relevant, random_ranking
from trueval.metrics.compute import compute
from trueval.metrics.errors.rating_errors import rating_error
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.popularity_strata import STRATA
from trueval.metrics.registry import all_metrics
from trueval.metrics.spec import Spec

# a failure names the metric, the user and both values: shrinking hundreds of metrics at once takes minutes
settings.register_profile("oracle", settings.get_profile("trueval"), phases=[Phase.explicit, Phase.generate])
AS_DRAWN = settings.get_profile("oracle")

ACCURACY = every_spec("accuracy", cutoffs=(1, 3, 9))
TURNS = st.integers(0, 3)  # each example takes a quarter of the metrics, which keeps the time in seconds
ANTI = [replace(spec, transforms=("anti",)) for spec in ACCURACY]
JUDGED = every_spec("false_positives", "incomplete", cutoffs=(1, 3, 9))
WEIGHTED = stratified_specs(cutoffs=(1, 4))
LISTS = every_spec("beyond", "quality", cutoffs=(1, 3, 9))


# ---- how the oracle says it --------------------------------------------------------------------------------


def asked(world: World, spec: Spec) -> tuple[str, dict[str, Any]]:
    """An accuracy metric in the oracle's words."""
    plain = {n: v for n, v in spec.parameters.items() if n not in STRATA or "count_from" not in spec.parameters}
    options: dict[str, Any] = {**plain, "k": spec.k, "threshold": world.threshold}
    if options.get("gmax") == 0:  # the highest gain of the test set
        gains = [g for user in world.users for g in world.relevant(user).values()]
        options["gmax"] = 1 if spec.transforms else max(gains, default=0)
    if spec.parameters.get("beta") and "count_from" in spec.parameters:
        options["weights"] = item_weights(world, spec.parameters["beta"], spec.parameters["count_from"])
    name = spec.metric.name
    return (f"anti({name})" if spec.transforms else name), options


def item_weights(world: World, beta: float, source: str) -> dict[Any, float]:
    """(number of relevant ratings)^-beta; counted in train alone, every item has one more."""
    test = {item: sum(item in world.relevant(user) for user in world.users) for item in world.items}
    added = {"all": test, "train": dict.fromkeys(world.items, 1), "test": test}[source]
    counts = {item: added[item] + (0 if source == "test" else world.counts[item]) for item in world.items}
    return naive.item_weights({item: max(count, 1) for item, count in counts.items()}, beta=beta)


def features_of(world: World, item: Any) -> dict[int, float]:
    return dict(enumerate(world.features.get(item, ())))


def cosine(world: World) -> Callable[[Any, Any], float]:
    return lambda a, b: naive.cosine(features_of(world, a), features_of(world, b))


def jaccard(world: World) -> Callable[[Any, Any], float]:
    def similarity(a: Any, b: Any) -> float:
        return naive.jaccard(*({j for j, x in features_of(world, item).items() if x > 0} for item in (a, b)))

    return similarity


def described(world: World, similarity: Callable[[World], Callable[[Any, Any], float]]) -> Callable[[Any, Any], float]:
    """Undefined where an item has no features."""
    alike = similarity(world)
    return lambda a, b: alike(a, b) if all(any(world.features.get(i, ())) for i in (a, b)) else math.nan


def popular_for(world: World, user: Any) -> list[list[Any]]:
    """Items by train count, those the user has left out, in blocks of equals."""
    new = [item for item in world.items if item not in world.train.get(user, ())]
    counts = sorted({world.counts[item] for item in new}, reverse=True)
    return [[item for item in new if world.counts[item] == count] for count in counts]


def list_value(world: World, user: Any, spec: Spec) -> float:
    """A metric of one list in the oracle's words."""
    name, k, how, ranked = spec.metric.name, spec.k, spec.parameters, world.ranked(user)
    counts, people = world.counts, world.train_users
    own = world.train.get(user, ())
    if name == "cold":
        return naive.value("seen", ranked, {}, k=k, train=[item for item, n in counts.items() if n == 0])
    if name == "average_popularity":
        return naive.system_value(name, {user: ranked}, k=k, popularity=counts)
    if name in ("head_share", "mid_share", "tail_share"):
        cut = naive.strata_shares(counts, head=how.get("head", 0), tail=how.get("tail", 0))
        return naive.system_value(name, {user: ranked}, k=k, strata=cut)
    options: dict[str, Any] = {
        "novelty": lambda: {"popularity": counts, "n_users": people},
        "epc": lambda: {"popularity": counts, "n_users": people, "aware": how["relevance"]},
        "efd": lambda: {"popularity": counts, "aware": how["relevance"]},
        "epd": lambda: {"profile": own, "similarity": cosine(world), "aware": how["relevance"]},
        "ild": lambda: {"similarity": described(world, {"cosine": cosine, "jaccard": jaccard}[how["similarity"]])},
        "serendipity": lambda: {"baseline": popular_for(world, user), "denom": how["denom"]},
        "unjudged": dict,
        "list_length": dict,
        "seen": lambda: {"train": own},
    }[name]()
    judged = world.judged.get(user, {})
    oracle_name = {"list_length": "length"}.get(name, name)
    return naive.value(oracle_name, ranked, judged, k=k, threshold=world.threshold, **options)


def system_value(world: World, spec: Spec) -> float:
    """A metric of all lists in the oracle's words."""
    name, how = spec.metric.name, spec.parameters
    lists = {user: world.ranked(user) for user in world.users}
    if name == "entropy" and how["exposure"]:
        return naive.entropy([_exposure(lists, item, spec.k) for item in world.items])
    oracle_name = {
        "coverage": "coverage",
        "entropy": "entropy",
        "gini": "exposure_gini" if how.get("exposure") else "gini",
        "popularity_rank": f"{how.get('average')}_popularity_rank",
        "tail_coverage": "tail_coverage",
    }[name]
    cut = naive.strata_shares(world.counts, tail=how["tail"]) if "tail" in how else None
    return naive.system_value(oracle_name, lists, catalogue=world.items, k=spec.k, popularity=world.counts, strata=cut)


def _exposure(lists: dict[Any, list[Any]], item: Any, k: int | None) -> float:
    return sum(1 / math.log2(ranked.index(item) + 2) for ranked in lists.values() if item in ranked[:k])


def same(ours: float, truth: float) -> bool:
    return (math.isnan(ours) and math.isnan(truth)) or math.isclose(ours, truth, rel_tol=1e-9, abs_tol=1e-11)


def differences(
    facts: RankingFacts, inputs: Inputs, specs: Sequence[Spec], truth: Callable[[int, Spec], float]
) -> list:
    """(metric, unit, ours, truth) wherever the two differ."""
    found = []
    for spec in specs:
        ours = compute(spec, facts, inputs).per_unit
        assert ours is not None
        assert ours.shape == (len(facts),)
        found += [(str(spec), u, x, t) for u, x in enumerate(ours) if not same(x, t := truth(u, spec))]
    return found


def no(found: list) -> bool:
    """Nothing differs; otherwise the first few of what does."""
    if found:
        pytest.fail(f"{len(found)} values differ: {found[:6]}", pytrace=False)
    return True


def possible(world: World, specs: Sequence[Spec]) -> list[Spec]:
    return [spec for spec in specs if world.complete or not spec.metric.exact]


# ---- worlds ------------------------------------------------------------------------------------------------

ITEMS = [f"i{j}" for j in range(8)]
# alike, apart, the same but for length, and nothing at all
FEATURES = dict(
    zip(ITEMS, [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 2.0), (0.0, 0.0), (2.0, 1.0), (0.0, 0.0)])
)
VALUES = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])


@st.composite
def users_of_worlds(draw: Any, most: int, block: int) -> tuple[list[list[str]], dict[str, float]]:
    ranked = draw(st.permutations(ITEMS))[: draw(st.integers(0, most))]
    groups: list[list[str]] = []
    for item in ranked:
        if groups and len(groups[-1]) < block and draw(st.booleans()):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups, draw(st.dictionaries(st.sampled_from(ITEMS), VALUES, max_size=6))


@st.composite
def worlds(draw: Any, *, users: int = 3, most: int = 7, block: int = 1, complete: bool | None = None) -> World:
    """Lists of up to `most` items in blocks of up to `block` equals; anything may be judged, or nothing at all."""
    people = [f"u{j}" for j in range(draw(st.integers(1, users)))]
    drawn = {user: draw(users_of_worlds(most, block)) for user in people}
    train = {user: draw(st.lists(st.sampled_from(ITEMS), max_size=4, unique=True)) for user in people}
    train["reader"] = draw(st.lists(st.sampled_from(ITEMS), min_size=1, unique=True))
    return World(
        groups={user: groups for user, (groups, _) in drawn.items()},
        judged={**{user: judged for user, (_, judged) in drawn.items()}, "reader": {}},
        threshold=draw(st.sampled_from([None, 0.0, 3.0])),
        train=train,
        features=FEATURES,
        complete=draw(st.booleans()) if complete is None else complete,
    )


# ---- the comparisons ---------------------------------------------------------------------------------------


def test_every_metric_has_an_oracle():
    listed = {spec.metric.name for spec in LISTS}
    world = random_world(0)
    for metric in all_metrics():
        if metric.family in ("accuracy", "false_positives", "incomplete"):
            assert metric.name in naive.METRICS, f"the oracle does not know {metric.name}"
        elif metric.family == "aspects":
            assert hasattr(naive_aspects, metric.name)  # compared in tests/metrics/aspects
        elif metric.family == "errors":
            naive.rating_error(metric.name, {"u": [(1.0, 2.0)]})
        else:
            assert metric.name in listed
            spec = next(spec for spec in LISTS if spec.metric is metric)
            system_value(world, spec) if metric.system else list_value(world, "u1", spec)


@settings(AS_DRAWN)
@given(worlds(), TURNS)
def test_accuracy(world, turn):
    def truth(unit: int, spec: Spec) -> float:
        user = world.users[unit]
        name, options = asked(world, spec)
        return naive.value(name, world.ranked(user), world.judged[user], **options)

    specs = possible(world, (ACCURACY + ANTI + WEIGHTED)[turn::4] + JUDGED)
    assert no(differences(world.facts(), world.inputs(), specs, truth))


def divisor_of_condensed(spec: Spec) -> dict[str, str]:
    """What precision divides by on condensed rankings: TP + FP, whether it says k or the list."""
    found = spec.metric.name == "precision" and spec.parameters["denom"] in ("k", "list")
    return {"denom": "judged"} if found else {}


@settings(AS_DRAWN)
@given(worlds(), TURNS)
def test_condensed(world, turn):
    def truth(unit: int, spec: Spec) -> float:
        user = world.users[unit]
        name, options = asked(world, spec)
        options |= divisor_of_condensed(spec)
        return naive.value(name, world.ranked(user), world.judged[user], condensed=True, **options)

    facts = condense(world.facts())
    assert no(differences(facts, world.inputs(), possible(world, (ACCURACY + ANTI)[turn::4] + JUDGED), truth))


@settings(AS_DRAWN, max_examples=25)
@given(worlds(users=1, most=6, block=3), st.booleans(), TURNS)
def test_equal_scores_in_expectation(world, condensed, turn):
    def truth(unit: int, spec: Spec) -> float:
        user = world.users[unit]
        name, options = asked(world, spec)
        if condensed:
            options |= divisor_of_condensed(spec)
        groups = world.groups.get(user, [])
        return naive.expected(name, groups, world.judged[user], condensed=condensed, **options)

    facts = world.facts("expected")
    specs = possible(world, (ACCURACY + ANTI + ([] if condensed else WEIGHTED))[turn::4] + JUDGED)
    assert no(differences(condense(facts) if condensed else facts, world.inputs(), specs, truth))


@pytest.mark.parametrize("rule", ["worst", "best"])
@settings(AS_DRAWN)
@given(world=worlds(most=7, block=4), turn=TURNS)
def test_equal_scores_at_worst_and_at_best(rule, world, turn):
    order = {"worst": naive.worst_order, "best": naive.best_order}[rule]

    def truth(unit: int, spec: Spec) -> float:
        user = world.users[unit]
        groups, judged = world.groups.get(user, []), world.judged[user]
        name, options = asked(world, spec)
        return naive.value(name, order(groups, judged, threshold=world.threshold), judged, **options)

    # auc counts equal scores as 1/2 whatever the rule
    # not with popularity weights: the rules order equals by gain alone
    every = (ACCURACY + ANTI)[turn::4] + JUDGED
    specs = [spec for spec in possible(world, every) if spec.metric.name != "auc"]
    assert no(differences(world.facts(rule), world.inputs(), specs, truth))
    other = with_ties(world.facts({"worst": "best", "best": "worst"}[rule]), rule)
    assert no(differences(other, world.inputs(), specs[::5], truth))


@pytest.mark.parametrize("rule", ["random", "worst", "best"])
@settings(AS_DRAWN, max_examples=15)
@given(world=worlds(users=1, most=6, block=3, complete=True))
def test_equal_scores_count_half_in_auc_under_every_rule(rule, world):
    def truth(unit: int, spec: Spec) -> float:
        user = world.users[unit]
        name, options = asked(world, spec)
        return naive.expected(name, world.groups.get(user, []), world.judged[user], **options)

    specs = [spec for spec in ACCURACY + ANTI if spec.metric.name == "auc"]
    assert no(differences(world.facts(rule), world.inputs(), specs, truth))


@settings(AS_DRAWN, max_examples=25)
@pytest.mark.parametrize("rule", ["random", "expected", "worst", "best"])
@given(world=worlds(users=2, most=6, block=2), turn=TURNS)
def test_one_relevant(rule, world, turn):
    """1R facts from AR facts: the relevant item alone against the targets that are not relevant."""
    facts = one_relevant(world.facts(rule))
    units = [(world.users[u], facts.items.values[int(i)]) for u, i in zip(facts.unit_user, facts.item)]
    assert sorted(units) == sorted((user, item) for user in world.users for item in world.relevant(user))
    order = {"worst": naive.worst_order, "best": naive.best_order}.get(rule)

    def truth(unit: int, spec: Spec) -> float:
        user, one = units[unit]
        judged, relevant = world.judged[user], world.relevant(user)
        groups = dict(naive.one_relevant(world.groups.get(user, []), judged, threshold=world.threshold))[one]
        alone = {item: v for item, v in judged.items() if item == one or item not in relevant}
        name, options = asked(world, spec)
        if rule == "expected" or name == "auc":
            return naive.expected(name, groups, alone, **options)
        ranked = (
            [i for block in groups for i in block] if order is None else order(groups, alone, threshold=world.threshold)
        )
        return naive.value(name, ranked, alone, **options)

    # what a list shows is not known of a 1R reading of lists that were cut
    specs = [s for s in ACCURACY[turn::4] if s.parameters.get("against") != "judged"]
    specs = (
        specs if world.complete else [s for s in specs if not s.metric.exact and "list" not in s.parameters.values()]
    )
    assert no(differences(facts, world.inputs(), specs, truth))


@settings(AS_DRAWN, max_examples=8)
@given(st.permutations(ITEMS[:5]), st.dictionaries(st.sampled_from(ITEMS[:5]), VALUES, min_size=1), st.integers(0, 5))
def test_random_expectation_is_the_mean_over_all_orders(ranked, judged, shown):
    """Of a complete ranking, of a list of any length when the number of targets is known, and condensed."""
    world = World({"u": [[item] for item in ranked]}, {"u": judged}, None)
    facts = world.facts()
    short = World({"u": [[item] for item in ranked[:shown]]}, {"u": judged}, None, others=ITEMS[:5], complete=False)
    listed = short.facts().changed(targets=np.array([5]))

    def truth(unit: int, spec: Spec) -> float:
        name, options = asked(world, spec)
        return naive.expected(name, [ITEMS[:5]], judged, **options)

    def truth_of_judged(unit: int, spec: Spec) -> float:
        name, options = asked(world, spec)
        options |= divisor_of_condensed(spec)
        return naive.expected(name, [list(judged)], judged, condensed=True, **options)

    specs = ACCURACY[shown::4] + ANTI[shown::8]
    cut = [spec for spec in specs if not spec.metric.exact]
    assert no(differences(random_ranking(facts), world.inputs(), specs, truth))
    assert no(differences(random_ranking(listed), world.inputs(), cut, truth))
    assert no(differences(random_ranking(condense(facts)), world.inputs(), specs, truth_of_judged))
    assert no(differences(random_ranking(condense(short.facts())), world.inputs(), cut, truth_of_judged))


def test_random_expectation_of_a_sampled_target_set():
    """A judged item that is not among the targets is never ranked, whoever ranks."""
    world = World({"u": [["a"], ["x"], ["y"]]}, {"u": {"a": 1, "b": 0, "y": 0}}, None)
    facts = random_ranking(world.facts())
    for text, value in [("anti(precision)@1", 1 / 3), ("anti(recall)@1", 1 / 6), ("precision@1", 1 / 3), ("auc", 0.5)]:
        assert compute(parse(text), facts, Inputs()).value() == pytest.approx(value)


def test_no_random_expectation_where_targets_are_unknown():
    assert random_ranking(World({"u": [["a"]]}, {"u": {"a": 1}}, None, complete=False).facts()) is None


@settings(AS_DRAWN)
@given(worlds(users=4), TURNS)
def test_lists(world, turn):
    facts, inputs = world.facts(), world.inputs()
    alone = [spec for spec in LISTS[turn::4] if not spec.metric.system]
    assert no(differences(facts, inputs, alone, lambda unit, spec: list_value(world, world.users[unit], spec)))
    together = [spec for spec in LISTS if spec.metric.system]
    values = [(str(s), compute(s, facts, inputs).value(), system_value(world, s)) for s in together]
    assert [found for found in values if not same(*found[1:])] == []


def ruled(world: World, user: Any, spec: Spec, rule: str) -> float:
    """A metric of one list under a tie rule: as drawn, or over all orders of equals one by one."""
    if rule == "random":
        return list_value(world, user, spec)
    ways = itertools.product(*(itertools.permutations(block) for block in world.groups.get(user, ())))
    orders = [replace(world, groups={user: [[item] for block in way for item in block]}) for way in ways]
    values = [list_value(order, user, spec) for order in orders]
    return {"expected": lambda v: math.fsum(v) / len(v), "worst": min, "best": max}[rule](values)


@pytest.mark.parametrize("rule", ["expected", "worst", "best"])
@settings(AS_DRAWN, max_examples=8)
@given(world=worlds(users=2, block=3), turn=TURNS)
def test_lists_under_every_tie_rule(rule, world, turn):
    facts, inputs = world.facts(rule), world.inputs()
    specs = [spec for spec in LISTS[turn::4] if not spec.metric.system and settled(spec, facts)]
    assert no(differences(facts, inputs, specs, lambda unit, spec: ruled(world, world.users[unit], spec, rule)))


@settings(AS_DRAWN, max_examples=10)
@pytest.mark.parametrize("rule", ["random", "expected", "worst"])
@given(world=worlds(users=2, block=3), turn=TURNS)
def test_condensed_lists(rule, world, turn):
    """A condensed list is the list without its unjudged items, under any tie rule."""
    kept = {
        user: [block for block in ([i for i in b if i in world.judged[user]] for b in groups) if block]
        for user, groups in world.groups.items()
    }
    short = replace(world, groups=kept)
    facts = condense(world.facts(rule))
    cuts = zip(facts.list_start, facts.list_start[1:])
    found = [facts.items.decode(facts.list_item[first:last]).to_list() for first, last in cuts]
    assert found == [short.ranked(user) for user in short.users]
    specs = [spec for spec in LISTS[turn::4] if not spec.metric.system and settled(spec, facts)]
    assert no(differences(facts, world.inputs(), specs, lambda unit, s: ruled(short, short.users[unit], s, rule)))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=9))
def test_rating_errors(rows):
    users = {user: [(p, a) for u, p, a in rows if u == user] for user in "abc"}
    columns = ([p for _, p, _ in rows], [a for _, _, a in rows])
    for name in [metric.name for metric in all_metrics() if metric.family == "errors"]:
        for average in ("micro", "macro"):
            ours = rating_error(f"{name}[average={average}]", *columns, users=[u for u, _, _ in rows])
            assert same(ours, naive.rating_error(name, users, macro=average == "macro"))
        assert same(rating_error(name, *columns), naive.rating_error(name, users))
