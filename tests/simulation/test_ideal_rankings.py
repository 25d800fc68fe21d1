"""Ideal rankings and systems made worse step by step, against straightforward implementations user by user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from trueval.data.interactions import Interactions
from trueval.errors import TruevalError
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.simulation.ideal_rankings import IdealRankings, ideal_rankings
from trueval.simulation.judged_rankings import judged_facts, judged_inputs
from trueval.simulation.perturbed_rankings import (
    can_swap_first,
    removal_places,
    repeated_aspect,
    shuffled_rankings,
    swapped_ends,
    swapped_first,
)

GENRES = "abcdef"


def world(seed: int, *, users: int = 25, items: int = 40) -> Interactions:
    """Whole ratings from 1 to 5 and items with none to three genres, so that everything ties somewhere."""
    rng = np.random.default_rng(seed)
    shown = ["|".join(rng.choice(list(GENRES), size=rng.integers(0, 4), replace=False)) for _ in range(items)]
    table = pl.DataFrame({"item": range(items), "aspects": shown})
    rows = [
        (user, int(item), float(rng.integers(1, 6)))
        for user in range(users)
        for item in rng.permutation(items)[: rng.integers(1, 25)]
    ]
    return Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"), items=table)


def profiles(log: Interactions) -> tuple[dict[int, dict[int, float]], dict[int, list[str]]]:
    """Ratings by user, and genres by item."""
    rated: dict[int, dict[int, float]] = {}
    for user, item, value in log.frame.select("user", "item", "value").iter_rows():
        rated.setdefault(user, {})[item] = value
    assert log.items is not None
    has = {item: sorted(filter(None, text.split("|"))) for item, text in log.items.iter_rows()}
    return rated, has


def weights(rated: dict[int, float], has: dict[int, list[str]]) -> dict[str, float]:
    """Equation 9."""
    sums = {a: sum(value for item, value in rated.items() if a in has[item]) for a in GENRES}
    total = sum(sums.values())
    return {a: own / total if total else 0.0 for a, own in sums.items()}


def queues(rated: dict[int, float], has: dict[int, list[str]], key: Callable[[int], tuple]) -> dict[str, list[int]]:
    return {a: sorted((i for i in rated if a in has[i]), key=key) for a in GENRES}


def naive_order(
    rated: dict[int, float], has: dict[int, list[str]], key: Callable[[int], tuple]
) -> list[tuple[int, str]]:
    """§5.1, one place at a time: items with the aspect they were popped for."""
    wanted, lists = weights(rated, has), queues(rated, has, key)
    done: list[tuple[int, str]] = []
    while any(lists.values()):
        so_far = weights({item: rated[item] for item, _ in done}, has)
        lack = {a: wanted[a] - so_far[a] for a in GENRES if lists[a]}
        chosen = min(a for a in lack if lack[a] >= max(lack.values()) - 1e-12)
        item = lists[chosen][0]
        done.append((item, chosen))
        lists = {a: [i for i in own if i != item] for a, own in lists.items()}
    return done + [(item, "") for item in sorted(set(rated) - {i for i, _ in done}, key=key)]


def by_rating(rated: dict[int, float], has: dict[int, list[str]]) -> Callable[[int], tuple]:
    return lambda item: (-rated[item], -len(has[item]), item)


def rankings(ideal: IdealRankings, column: np.ndarray) -> dict[int, list[int]]:
    """Items by user."""
    run = ideal.run(column)
    return {user: own["item"].to_list() for (user,), own in run.group_by("user", maintain_order=True)}


@pytest.mark.parametrize("seed", range(8))
def test_ideal_order_is_that_of_the_paper(seed: int) -> None:
    log = world(seed)
    rated, has = profiles(log)
    ideal = ideal_rankings(log)
    found = rankings(ideal, ideal.item)
    names = [*ideal.aspects.names, ""]
    for user, own in rated.items():
        wanted = naive_order(own, has, by_rating(own, has))
        assert found[user] == [item for item, _ in wanted], user
        place = slice(*ideal.start[[user, user + 1]])
        assert [names[a] for a in ideal.aspect[place]] == [aspect for _, aspect in wanted]
        assert ideal.value[place].tolist() == [own[item] for item, _ in wanted]


@pytest.mark.parametrize("seed", range(4))
def test_order_of_rows_and_names_of_items_change_nothing(seed: int) -> None:
    log = world(seed)
    ideal = ideal_rankings(log)
    turned = log.keep(log.frame.sample(fraction=1, shuffle=True, seed=1))
    assert ideal_rankings(turned).item.tolist() == ideal.item.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_swapped_ends(seed: int) -> None:
    ideal = ideal_rankings(world(seed))
    whole = rankings(ideal, ideal.item)
    for step, column in enumerate(swapped_ends(ideal, 8, depth=12), 1):
        for user, found in rankings(ideal, column).items():
            wanted = whole[user].copy()
            size = min(12, len(wanted))
            for place in range(min(step, size // 2)):
                wanted[place], wanted[size - 1 - place] = wanted[size - 1 - place], wanted[place]
            assert found == wanted


@pytest.mark.parametrize("seed", range(5))
def test_repeated_aspect(seed: int) -> None:
    log = world(seed)
    rated, has = profiles(log)
    ideal = ideal_rankings(log)
    columns = list(repeated_aspect(ideal, 6))
    for user, own in rated.items():
        key = by_rating(own, has)
        ranked = naive_order(own, has, key)
        wanted, popped = [item for item, _ in ranked], [aspect for _, aspect in ranked]
        turn = next((p for p in range(1, len(popped)) if popped[p] != popped[p - 1]), None)
        for step, column in enumerate(columns):
            if turn is not None and turn + step < len(wanted):
                current = popped[turn - 1]
                later = [i for i in wanted[turn + step :] if current in has[i]]
                if later:
                    other = wanted.index(min(later, key=key))
                    wanted[turn + step], wanted[other] = wanted[other], wanted[turn + step]
            assert rankings(ideal, column)[user] == wanted, (user, step)


@pytest.mark.parametrize("seed", range(5))
def test_swapped_first(seed: int) -> None:
    log = world(seed)
    rated, has = profiles(log)
    ideal = ideal_rankings(log)
    columns = list(swapped_first(ideal, 5))
    for user, own in rated.items():
        key = by_rating(own, has)
        whole = [item for item, _ in naive_order(own, has, key)]
        interest, lists = weights(own, has), queues(own, has, key)
        following = [a for a in GENRES if a not in has[whole[0]] and interest[a] > 0]
        following.sort(key=lambda a: (-interest[a], a))
        for step, column in enumerate(columns):
            wanted = whole.copy()
            assert can_swap_first(ideal, step + 1)[user] == (len(following) > step)
            if len(following) > step:
                other = wanted.index(lists[following[step]][0])
                wanted[0], wanted[other] = wanted[other], wanted[0]
            assert rankings(ideal, column)[user] == wanted


@pytest.mark.parametrize("alike", [False, True])
def test_shuffles_are_permutations_that_the_seed_decides(alike: bool) -> None:
    ideal = ideal_rankings(world(1))
    one, same, other = (shuffled_rankings(ideal, seed=seed, alike=alike) for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()
    for user, items in rankings(ideal, one).items():
        assert sorted(items) == sorted(rankings(ideal, ideal.item)[user])


def test_shuffled_alike_all_users_follow_one_order_of_places() -> None:
    ideal = ideal_rankings(world(2))
    whole = rankings(ideal, ideal.item)
    orders = [
        [whole[user].index(item) for item in items]
        for user, items in rankings(ideal, shuffled_rankings(ideal, seed=5, alike=True)).items()
    ]
    longest = max(orders, key=len)
    for order in orders:
        assert order == [place for place in longest if place < len(order)]


def test_removals_are_in_proportion_to_aspects() -> None:
    """One genre per item, 20 items of a and 10 of b: whatever the seed, every third removal is of b."""
    table = pl.DataFrame({"item": range(30), "aspects": ["a"] * 20 + ["b"] * 10})
    log = Interactions.of(pl.DataFrame({"user": [1] * 30, "item": range(30), "value": [3.0] * 30}), items=table)
    ideal = ideal_rankings(log)
    orders = []
    for seed in range(4):
        place = removal_places(ideal, seed=seed)
        items = ideal.items.decode(ideal.item[np.argsort(place)]).to_list()
        orders.append(items)
        for gone in (3, 9, 15, 30):
            assert sum(item >= 20 for item in items[:gone]) == gone // 3
    assert len({tuple(items) for items in orders}) == 4


@pytest.mark.parametrize("seed", range(3))
def test_facts_are_those_of_the_run(seed: int) -> None:
    """Metrics from the facts equal those of the same run, evaluated as any other."""
    import trueval as tv

    log = world(seed)
    ideal = ideal_rankings(log)
    column = shuffled_rankings(ideal, seed=seed)
    texts = ["abndcg@5[profile=test]", "alpha_ndcg@5[gain=probabilistic]", "rbu@5[profile=test]", "ndcg@5", "srecall@5"]
    result = tv.evaluate_run(ideal.run(column), log, items=log.items, metrics=texts, interval="none")
    for text in texts:
        found = compute(parse(text), judged_facts(ideal, column), judged_inputs(ideal)).value()
        wanted = result["run", text].value
        # the catalogue of the run also has items that nobody rated
        tolerance = 0.02 if text.startswith(("abndcg", "srecall")) else 1e-12
        assert found == pytest.approx(wanted, abs=tolerance), text


def test_what_cannot_be_ordered_is_refused() -> None:
    log = world(0)
    with pytest.raises(TruevalError, match="aspects of items"):
        ideal_rankings(Interactions.of(log.frame))
    with pytest.raises(TruevalError, match="ratings of 0 or more"):
        ideal_rankings(log.keep(log.frame.with_columns(value=-pl.col("value"))))
    with pytest.raises(TruevalError, match="ratings of 0 or more"):
        ideal_rankings(Interactions.of(log.frame.drop("value"), items=log.items))
    with pytest.raises(TruevalError, match="at least one step"):
        list(swapped_ends(ideal_rankings(log), 0))


def test_the_first_place_of_a_run_is_rank_1() -> None:
    ideal = ideal_rankings(world(3))
    for depth in (None, 1, 4):
        run = ideal.run(depth=depth)
        for ranks in run.group_by("user").agg("rank")["rank"].to_list():
            assert sorted(ranks) == list(range(1, len(ranks) + 1))
        assert run["rank"].max() == (depth or max(np.bincount(ideal.user)))
