"""The plan: every system equally often at every place, the same for the same seed and number."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from trueval.study.plan import LABELS, RANDOM_LIST, PlanOptions, plan_for, williams_square


@pytest.mark.parametrize("size", range(2, 13))
def test_squares_are_balanced(size: int) -> None:
    rows = williams_square(size)
    assert all(sorted(row) == list(range(size)) for row in rows)
    times = len(rows) // size
    places = Counter((place, one) for row in rows for place, one in enumerate(row))
    assert set(places.values()) == {times}
    before = Counter(pair for row in rows for pair in pairwise(row))
    assert len(before) == size * (size - 1)
    assert set(before.values()) == {times}


@pytest.mark.parametrize("systems", [2, 3, 5, 6])
@pytest.mark.parametrize("form", ["rank", "rate"])
@pytest.mark.parametrize("checks", [{}, {"same": True}, {"same": True, "random": True}])
def test_each_block_has_every_system_equally_often_at_every_place(form: str, systems: int, checks: dict) -> None:
    options = PlanOptions(form, tuple("abcdef"[:systems]), seed=4, **checks)
    size = systems + len(checks)
    block = len(williams_square(size))
    for first in (0, block, 5 * block):
        plans = [plan_for(options, number) for number in range(first, first + block)]
        places = Counter((one.position, one.system) for plan in plans for one in plan if one.check is None)
        assert set(places.values()) == {block // size}
        assert len(places) == size * systems
    assert {len({one.task for one in plan}) for plan in plans} == {1 if form == "rank" else size}


@pytest.mark.parametrize("systems", [2, 3, 4, 5])
def test_pairs_have_every_pair_on_both_sides_and_at_every_place(systems: int) -> None:
    options = PlanOptions("pair", tuple("abcde"[:systems]), seed=1)
    number = systems * (systems - 1) // 2
    plans = [_tasks(options, one) for one in range(2 * number)]
    sides = Counter(pair for plan in plans for pair in plan)
    assert len(sides) == 2 * number
    assert set(sides.values()) == {number}
    places = Counter((place, frozenset(pair)) for plan in plans for place, pair in enumerate(plan))
    assert set(places.values()) == {2}
    for plan in plans:  # for every single person, a system is about as often left as right
        left, right = Counter(pair[0] for pair in plan), Counter(pair[1] for pair in plan)
        assert all(abs(left[one] - right[one]) <= 1 for one in options.systems)


def test_after_two_participants_sides_are_even() -> None:
    options = PlanOptions("pair", tuple("abcd"), seed=9)
    first, second = _tasks(options, 6), _tasks(options, 7)
    assert [pair[::-1] for pair in first] == second


def test_some_of_the_pairs_are_equally_often_each() -> None:
    options = PlanOptions("pair", tuple("abcde"), seed=2, pairs=3)
    plans = [_tasks(options, one) for one in range(20)]
    assert {len(plan) for plan in plans} == {3}
    assert set(Counter(frozenset(pair) for plan in plans for pair in plan).values()) == {6}


def test_planted_pairs() -> None:
    options = PlanOptions("pair", tuple("abc"), seed=3, same=True, random=True)
    planted = Counter()
    for number in range(12):
        plan = plan_for(options, number)
        assert len({one.task for one in plan}) == 5
        same = [one.system for one in plan if one.check == "same"]
        chance = [one for one in plan if one.check == "random"]
        assert len(same) == 2
        assert same[0] == same[1]
        assert RANDOM_LIST in {one.system for one in chance}
        assert plan[0].check is None
        planted[same[0]] += 1
        planted["left"] += next(one.position for one in chance if one.system == RANDOM_LIST) == 1
    assert planted == {"a": 4, "b": 4, "c": 4, "left": 6}


@pytest.mark.parametrize("checks", [{"same": True}, {"random": True}, {"same": True, "random": True}])
@pytest.mark.parametrize(("systems", "pairs"), [(2, 0), (3, 0), (4, 2)])
def test_planted_pairs_come_at_every_place_but_the_first(systems: int, pairs: int, checks: dict[str, bool]) -> None:
    """Nobody's first task is a trap; later, each place has its share of them."""
    options = PlanOptions("pair", tuple("abcd"[:systems]), seed=2, pairs=pairs, **checks)
    tasks = (pairs or systems * (systems - 1) // 2) + len(checks)
    places: dict[str, Counter[int]] = {kind: Counter() for kind in checks}
    for number in range(300):
        plan = plan_for(options, number)
        assert {one.task for one in plan} == set(range(1, tasks + 1))
        for one in plan[::2]:
            if one.check:
                places[one.check][one.task] += 1
    for found in places.values():
        assert set(found) == set(range(2, tasks + 1))
        assert min(found.values()) > 300 / (tasks - 1) / 2


def test_labels_follow_the_places_and_plans_repeat() -> None:
    options = PlanOptions("rank", tuple("abcdef"), seed=5, same=True)
    for number in (0, 3, 1000):
        plan = plan_for(options, number)
        assert "".join(one.label for one in plan) == LABELS[:7]
        assert plan == plan_for(options, number)
    other = PlanOptions("rank", tuple("abcdef"), seed=6, same=True)
    assert any(plan_for(options, number) != plan_for(other, number) for number in range(5))


def _tasks(options: PlanOptions, number: int) -> list[tuple[str, str]]:
    plan = plan_for(options, number)
    return [(left.system, right.system) for left, right in zip(plan[::2], plan[1::2])]
