"""Small random worlds for comparing presets with the libraries they are named after.

Plain Python, so that every environment with one of the libraries can make them. The worlds have lists shorter than k,
a k beyond the catalogue, users without a list, users with a list and without judgements, and users without a relevant
item; half of them have grades, half of them equal scores. Ids are texts whose order is not that of their numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

CUTOFFS = (1, 3, 5, 40)
CATALOGUE = [str(i) for i in range(3, 28)]
LONGEST = 12
MANY = [str(i) for i in range(3, 133)]


@dataclass(frozen=True)
class World:
    """Grades of judged items by user, and lists by user: items with scores, in the order in which they are given."""

    name: str
    judged: dict[str, dict[str, int]]
    lists: dict[str, dict[str, float]]
    train: dict[str, list[str]]
    complete: bool = False  # every list ranks all that its user has not had
    catalogue: tuple[str, ...] = tuple(CATALOGUE)
    level: int = 1  # the grade from which on an item is relevant

    @property
    def tied(self) -> bool:
        """Whether lists have equal scores."""
        return any(len(set(row.values())) < len(row) for row in self.lists.values())

    @property
    def relevant(self) -> dict[str, dict[str, int]]:
        """Users with relevant items and their grades: all that libraries without thresholds may be given."""
        positive = {user: {i: g for i, g in row.items() if g >= self.level} for user, row in self.judged.items()}
        return {user: row for user, row in positive.items() if row}

    @property
    def ranked(self) -> dict[str, list[str]]:
        """The items of each list by falling score, equal scores in the order given."""
        return {user: sorted(row, key=lambda i: -row[i]) for user, row in self.lists.items()}

    @property
    def only_tested(self) -> bool:
        """Whether every list is that of a user with relevant items."""
        return self.lists.keys() <= self.relevant.keys()

    @property
    def seen(self) -> list[tuple[str, str]]:
        """Rows of the train set."""
        return [(user, item) for user, items in self.train.items() for item in items]

    @property
    def common(self) -> World:
        """The same without the lists of users who have nothing relevant, on whom some libraries fail."""
        lists = {user: row for user, row in self.lists.items() if user in self.relevant}
        return replace(self, name=f"{self.name}, common users", lists=lists)


def make_world(seed: int, *, graded: bool, tied: bool, complete: bool = False) -> World:
    """Thirty users: a fifth got no list, a tenth was not judged, a tenth found nothing relevant."""
    draw = random.Random(f"{seed} {graded} {tied} {complete}")
    judged: dict[str, dict[str, int]] = {}
    lists: dict[str, dict[str, float]] = {}
    train: dict[str, list[str]] = {}
    for number in range(30):
        user = f"u{number}"
        train[user] = draw.sample(CATALOGUE, draw.randint(1, 6))
        new = [item for item in CATALOGUE if item not in train[user]]
        items = draw.sample(new, draw.randint(1, 8))
        grades = [draw.choice([0, 0, 1, 2, 3, 4] if graded else [0, 1]) for _ in items]
        grades[0] = draw.randint(1, 4) if graded else 1
        if number % 10 == 1:
            grades = [0] * len(items)
        if number % 10 != 2:
            judged[user] = dict(zip(items, grades))
        if complete or number % 5 != 3:
            shown = draw.sample(new, len(new) if complete else draw.randint(1, LONGEST))
            scores = [draw.randint(0, 2) / 4 for _ in shown] if tied else draw.sample(range(100), len(shown))
            lists[user] = {item: float(score) for item, score in zip(shown, scores)}
    name = f"{'graded' if graded else 'binary'}{', tied' if tied else ''}{', complete' if complete else ''} {seed}"
    return World(name, judged, lists, train, complete)


def make_long_world(*, graded: bool, level: int) -> World:
    """Users with lists of 1 to 100 items, all with many equal scores, and one user without a list."""
    draw = random.Random(f"long {graded} {level}")
    judged: dict[str, dict[str, int]] = {"u0": {"3": 4, "4": 1}}
    lists: dict[str, dict[str, float]] = {}
    for length in range(1, 101):
        user, best = f"u{length}", draw.randint(1, 6)
        lists[user] = {item: draw.randint(0, best) / 4 for item in draw.sample(MANY, length)}
        items = draw.sample(MANY, draw.randint(5, 40))
        judged[user] = {item: draw.choice([0, 1, 2, 3, 4]) if graded else 1 for item in items}
        judged[user][items[0]] = 4
    name = f"{'graded' if graded else 'binary'}, tied, long, from {level}"
    return World(name, judged, lists, {"u1": ["5"]}, catalogue=tuple(MANY), level=level)


_KINDS = [(graded, tied) for graded in (False, True) for tied in (False, True)]
WORLDS = [make_world(seed, graded=graded, tied=tied) for seed in range(2) for graded, tied in _KINDS]
WORLDS += [make_world(2, graded=graded, tied=tied).common for graded, tied in _KINDS]
LONG = [make_long_world(graded=graded, level=level) for graded, level in ((False, 1), (True, 1), (True, 3))]
COMPLETE = [make_world(3, graded=False, tied=tied, complete=True) for tied in (False, True)]
