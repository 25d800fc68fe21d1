"""Who sees which system where: drawn in blocks, so that every system is equally often at every place.

The plan of a participant follows from the study's seed and the participant's number alone. Systems are ordered by
squares in which each is once at each place and once before each other one (Williams, 1949); which system is which
symbol of a square, and in which order its rows are used, is drawn anew for every block.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from trueval.kernels.seeds import derive

FORMS = ("rank", "pair", "rate")
RANDOM_LIST = "(random)"  # the name, in plans and exports, of a list of random items
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class PlanOptions:
    """What plans depend on; `pairs` is how many pairs each person sees, 0 for all."""

    form: str
    systems: tuple[str, ...]
    seed: int = 0
    same: bool = False
    random: bool = False
    pairs: int = 0


@dataclass(frozen=True)
class Planned:
    """One list of one task.

    `position` counts from 1: tabs from the left in rankings, 1 for the left list of a pair, the place in the sequence
    where lists are rated one by one. `label` is all that the participant knows of it. `check` is "same" (a list that
    is there twice), "random" (a list of random items) or None.
    """

    task: int
    position: int
    label: str
    system: str
    check: str | None = None


def plan_for(options: PlanOptions, number: int) -> list[Planned]:
    """The tasks of participant `number`, counted from 0.

    >>> plan = plan_for(PlanOptions("rank", ("x", "y", "z")), 0)
    >>> sorted(one.system for one in plan), [one.label for one in plan], {one.task for one in plan}
    (['x', 'y', 'z'], ['A', 'B', 'C'], {1})
    """
    if options.form == "pair":
        return _pairs(options, number)
    slots: list[tuple[str, str | None]] = [(system, None) for system in options.systems]
    if options.same:
        slots.append((_turn(options, number), "same"))
    if options.random:
        slots.append((RANDOM_LIST, "random"))
    order = _square_row(len(slots), number, seed=options.seed)
    ranked = options.form == "rank"
    return [
        Planned(1 if ranked else place, place, LABELS[place - 1], *slots[slot]) for place, slot in enumerate(order, 1)
    ]


def _square_row(size: int, number: int, *, seed: int) -> list[int]:
    """The row of a participant in the square of their block.

    >>> rows = [_square_row(4, number, seed=3) for number in range(4)]
    >>> all(sorted(row[place] for row in rows) == [0, 1, 2, 3] for place in range(4))
    True
    """
    rows = williams_square(size)
    draw = _draw(seed, f"block {number // len(rows)} of {size}")
    symbols = draw.sample(range(size), size)
    chosen = draw.sample(range(len(rows)), len(rows))[number % len(rows)]
    return [symbols[one] for one in rows[chosen]]


def williams_square(size: int) -> list[list[int]]:
    """Rows in which every symbol is equally often at every place and directly before every other symbol.

    >>> williams_square(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    >>> len(williams_square(5))  # of an odd number, each row is there forwards and backwards
    10
    """
    first = [0] + [place // 2 + 1 if place % 2 == 0 else size - 1 - place // 2 for place in range(size - 1)]
    rows = [[(one + shift) % size for one in first] for shift in range(size)]
    return rows if size % 2 == 0 else [turned for row in rows for turned in (row, row[::-1])]


def _pairs(options: PlanOptions, number: int) -> list[Planned]:
    """Pairs in the order of a square; two participants after each other see them with the sides exchanged."""
    pairs = list(combinations(range(len(options.systems)), 2))
    row, mirrored = divmod(number, 2)
    draw = _draw(options.seed, f"pairs {row // len(pairs)}")
    names = draw.sample(options.systems, len(options.systems))
    shift = draw.sample(range(len(pairs)), len(pairs))[row % len(pairs)]
    order = [(one + shift) % len(pairs) for one in williams_square(len(pairs))[0]]
    tasks: list[tuple[str, str, str | None]] = []
    for left, right in (pairs[one] for one in order[: options.pairs or len(pairs)]):
        # each system is about as often left as right for every single person
        turned = ((right - left) % 2 == 0) != bool(mirrored)
        tasks.append((names[right], names[left], None) if turned else (names[left], names[right], None))
    return _numbered(_with_checks(tasks, options, number))


def _with_checks(
    tasks: Sequence[tuple[str, str, str | None]], options: PlanOptions, number: int
) -> list[tuple[str, str, str | None]]:
    """The tasks and the planted ones, which come at any place but the first."""
    made, draw = list(tasks), _draw(options.seed, f"checks of participant {number}")
    own = _turn(options, number)
    if options.same:
        made.insert(draw.randint(1, len(made)), (own, own, "same"))
    if options.random:
        sides = (own, RANDOM_LIST) if number % 2 else (RANDOM_LIST, own)
        made.insert(draw.randint(1, len(made)), (*sides, "random"))
    return made


def _numbered(tasks: Sequence[tuple[str, str, str | None]]) -> list[Planned]:
    return [
        Planned(task, place, LABELS[place - 1], system, check)
        for task, (left, right, check) in enumerate(tasks, 1)
        for place, system in ((1, left), (2, right))
    ]


def _turn(options: PlanOptions, number: int) -> str:
    """The system whose list a planted check uses: each in its turn, in an order drawn for every round."""
    number, systems = number // (2 if options.form == "pair" else 1), options.systems
    round_, place = divmod(number, len(systems))
    return _draw(options.seed, f"checks {round_}").sample(systems, len(systems))[place]


def _draw(seed: int, purpose: str) -> random.Random:
    return random.Random(int(derive(seed, f"study plan: {purpose}")))
