"""Small worlds, and what any ranking of them must be: written with lists and loops, one unit at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.judgements import judge
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.evaluate_systems import rank_tasks
from trueval.facts.from_run import Truth
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import hashing
from trueval.kernels.seeds import derive
from trueval.recommenders.given import Scores
from trueval.recommenders.protocol import TrainSet
from trueval.splits.parts import Parts

THRESHOLD = 3.0


@dataclass
class World:
    """A split of random ratings, and a score for every user and item (both in the order of their ids)."""

    train: dict[tuple[Any, Any], float]
    test: dict[tuple[Any, Any], float]
    users: list
    items: list
    scores: np.ndarray
    seed: int = 0
    extra: list = field(default_factory=list)  # items of the catalogue that nobody has rated
    own: dict | None = None  # candidates user by user

    def frame(self, part: str) -> pl.DataFrame:
        rows = [(user, item, value) for (user, item), value in getattr(self, part).items()]
        return pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")

    def parts(self, *, shuffle: int | None = None) -> Parts:
        frames = [self.frame(part) for part in ("train", "test")]
        if shuffle is not None:
            frames = [frame.sample(fraction=1, shuffle=True, seed=shuffle) for frame in frames]
        train, test = (Interactions.of(frame, name=name) for frame, name in zip(frames, ("train", "test")))
        return Parts(train, test, how={"how": "given"})

    def catalogue(self, design: Design) -> pl.DataFrame | pl.Series | None:
        """For LIST designs: each user's own list, or everything but two train items, and what nobody has rated."""
        if design.candidates != "LIST":
            return None
        if self.own is not None:
            pairs = [(user, item) for user, items in self.own.items() for item in items]
            return pl.DataFrame(pairs, schema=["user", "item"], orient="row")
        tested = {item for _, item in self.test}
        left_out = [item for item in self.items if item not in tested and item not in self.extra][:2]
        return pl.Series([item for item in self.items if item not in left_out])

    def score_of(self, user: Any, item: Any) -> float:
        return float(self.scores[self.users.index(user), self.items.index(item)])

    def relevant(self, user: Any) -> list:
        return [item for (u, item), value in self.test.items() if u == user and value >= THRESHOLD]

    def judged(self, user: Any) -> dict:
        return {item: value for (u, item), value in self.test.items() if u == user}


def make_world(
    seed: int, *, users: int = 6, items: int = 16, levels: int | None = 4, strings: bool = False, dtype: Any = "f4"
) -> World:  # fmt: skip
    """Ratings 1 to 5, about a third of them tested; `levels` distinct scores (None: no two are equal)."""
    rng = np.random.default_rng(seed)
    ids = sorted(rng.choice(10_000, users + items, replace=False).tolist())
    people, things = sorted(rng.choice(ids, users, replace=False).tolist()), []
    things = [i for i in ids if i not in people]
    if strings:
        people, things = sorted(f"u{p}" for p in people), sorted(f"i{t}" for t in things)
    train, test = {}, {}
    for u, user in enumerate(people):
        for i in rng.permutation(items)[: rng.integers(4, items - 2)]:
            # the first user rates only to learn from, the last has nothing but judgements
            held = u > 0 and (u == users - 1 or rng.random() < 0.4)
            (test if held else train)[user, things[i]] = float(rng.integers(1, 6))
    test[people[1], things[0]] = 5.0  # somebody has something relevant
    train.pop((people[1], things[0]), None)
    train[people[0], things[1]] = 4.0
    known = sorted({item for _, item in [*train, *test]})
    if levels is None:
        scores = rng.permutation(users * len(known)).reshape(users, len(known))
    else:
        scores = rng.integers(0, levels, (users, len(known)))
    return World(train, test, people, known, scores.astype(dtype), seed)


def with_extra(world: World) -> World:
    """The same world with two more items in the catalogue, which a system can score but nobody has rated."""
    more = [max(world.items) + j for j in (1, 2)] if isinstance(world.items[0], int) else ["z1", "z2"]
    scores = np.hstack([world.scores, world.scores[:, :2]])
    return World(world.train, world.test, world.users, [*world.items, *more], scores, world.seed, more)


def with_lists(world: World, seed: int) -> World:
    """The same world, where every user may be recommended other items: what is relevant, and some more."""
    rng = np.random.default_rng(seed)
    own = {user: [i for i in world.items if i in world.relevant(user) or rng.random() < 0.5] for user in world.users}
    own[world.users[0]] = world.items  # so that no test item is outside everybody's list
    return World(world.train, world.test, world.users, world.items, world.scores, world.seed, own=own)


def tasks_of(world: World, design: Design, *, shuffle: int | None = None, everyone: bool = False) -> list[Task]:
    return make_tasks(
        world.parts(shuffle=shuffle), design, threshold=THRESHOLD, everyone=everyone,
        catalogue=world.catalogue(design), seed=world.seed,
    )  # fmt: skip


def train_of(task: Task) -> TrainSet:
    return TrainSet(task.users, task.items, task.train, task.seed)


def facts_of(
    world: World, design: str | Design, *, depth: int = 5, ties: str = "random", shuffle: int | None = None,
    system: Any = None,
) -> RankingFacts:  # fmt: skip
    """Facts of the world's scores, by way of everything an evaluation does."""
    design = Design.parse(design)
    tasks = tasks_of(world, design, shuffle=shuffle)
    fitted = (system or Scores(world.scores)).fit(train_of(tasks[0]))
    return rank_tasks(fitted, tasks, design, depth=depth, ties=ties, name="scores")


# ---- the same by brute force -------------------------------------------------------------------------------


@dataclass
class Unit:
    """One target set: who, what is judged in it, and its items in order of rank."""

    user: Any
    judged: dict
    relevant: list
    targets: list
    ranked: list
    stratum: int | None = None
    pool: int | None = None


def order(world: World, user: Any, targets: list, *, given: bool = False) -> list:
    """By score, equal scores by the user's stream (or by item)."""
    stream = hashing.user_key(int(derive(world.seed, "ties")), np.array([world.users.index(user)]))
    codes = {item: world.items.index(item) for item in targets}
    key = {i: codes[i] if given else int(hashing.item_key(stream, np.array([codes[i]]))[0]) for i in targets}
    return sorted(targets, key=lambda item: (-world.score_of(user, item), key[item]))


def strata_of(world: World, design: Design) -> list[list]:
    """Candidate items, cut into percentiles where the design has them."""
    popularity = {item: sum(i == item for _, i in [*world.train, *world.test]) for item in world.items}
    by_popularity = sorted(world.items, key=lambda item: (-popularity[item], item))
    head = head_of(popularity, design.head)
    given = world.catalogue(design)
    base = {
        "AI": world.items,
        "TI": sorted({item for _, item in world.test}),
        "LIST": _items(given),
    }[design.candidates]
    base = [item for item in base if item not in head]
    if not design.percentiles:
        return [base]
    base = [item for item in by_popularity if item in base]
    return [part.tolist() for part in np.array_split(np.array(base, object), design.percentiles)]


def head_of(popularity: dict, share: float) -> list:
    """The most-rated items, those rated equally often together, while this comes closer to the share."""
    wanted, head = round(share * sum(n > 0 for n in popularity.values())), []
    for number in sorted(set(popularity.values()) - {0}, reverse=True):
        group = [item for item, n in popularity.items() if n == number]
        if abs(len(head) + len(group) - wanted) >= abs(len(head) - wanted):
            break
        head += group
    return head


def _items(listed: pl.DataFrame | pl.Series | None) -> list:
    column = listed["item"] if isinstance(listed, pl.DataFrame) else listed
    return [] if column is None else sorted(set(column.to_list()))


def units_of(world: World, design: str | Design, samples: list[dict], *, given: bool = False) -> list[Unit]:
    """Every unit of a design, in order. `samples` has, for each stratum, the sampled items by (user, one)."""
    design = Design.parse(design)
    found = []
    for number, (candidates, sample) in enumerate(zip(strata_of(world, design), samples)):
        for user in world.users:
            judged = {item: v for item, v in world.judged(user).items() if item in candidates}
            relevant = [item for item in world.relevant(user) if item in candidates]
            if (design.percentiles and not relevant) or not [i for i in world.judged(user) if _kept(world, design, i)]:
                continue
            seen = [i for u, i in world.train if u == user] if design.seen == "exclude" else []
            listed = candidates if world.own is None else [i for i in candidates if i in world.own[user]]
            others = [item for item in listed if item not in relevant and item not in seen]
            alone = [[one] for one in sorted(relevant)] if design.relevant == "1R" else [relevant]
            for one in alone:
                key = (user, one[0] if design.resample else None)
                rest = sample[key] if design.sample else others
                targets = [*one, *rest]
                if design.condensed:
                    targets = [item for item in targets if item in judged]
                shown = judged if design.relevant == "AR" else {one[0]: judged[one[0]]}
                unit = Unit(user, shown, one, targets, order(world, user, targets, given=given), pool=len(others))
                unit.stratum = number if design.percentiles else None
                found.append(unit)
    return found


def _kept(world: World, design: Design, item: Any) -> bool:
    """Whether an item is among all candidates, percentiles put together."""
    return any(item in part for part in strata_of(world, design))


def samples_of(world: World, design: Design) -> list[dict]:
    """What the tasks sampled, checked: nothing seen, nothing relevant, nothing twice, as many as there can be."""
    found = []
    for task, candidates in zip(tasks_of(world, design), strata_of(world, design)):
        drawn: dict = {}
        if task.sample is not None:
            assert task.pool is not None
            users = task.users.decode(task.unit_user).to_list()
            for u, user in enumerate(users):
                rows = slice(task.judged.rows.start[u], task.judged.rows.start[u + 1])
                own = task.items.decode(task.judged.rows.item[rows][task.judged.relevant[rows]]).to_list()
                targets = task.items.decode(task.sample.item[task.sample.start[u] : task.sample.start[u + 1]]).to_list()
                rest = [item for item in targets if item not in own]
                seen = [i for who, i in world.train if who == user] if design.seen == "exclude" else []
                allowed = [i for i in candidates if i not in world.relevant(user) and i not in seen]
                assert len(targets) == len(set(targets)) == len(own) + min(design.sample, len(allowed))
                assert set(own) <= set(targets)
                assert set(rest) <= set(allowed)
                assert task.pool[u] == len(allowed)
                drawn[user, own[0] if design.resample else None] = rest
            assert task.short == sum(int(n) < design.sample for n in task.pool)
        found.append(drawn)
    return found


def possible_world(seed: int, design: Design, **how: Any) -> tuple[World, list[dict]]:
    """A world in which the design is possible (small samples may be too large for some)."""
    while True:
        world = make_world(seed, **how)
        world = with_extra(world) if design.candidates == "LIST" else world
        try:
            return world, samples_of(world, design)
        except (DefinitionError, DataError):
            seed += 1_000_003


def truth(
    test: dict, run: pl.DataFrame, *, train: dict | None = None, catalogue: list | None = None,
    threshold: float | None = None, seed: int = 0,
) -> Truth:  # fmt: skip
    """What a run is held against, made from plain dicts."""
    rows = [(user, item, float(value)) for (user, item), value in test.items()]
    log = Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"), name="test")
    pairs = pl.DataFrame(list(train or {}), schema=["user", "item"], orient="row") if train else None
    users = Ids.of(log.frame["user"])
    known = [log.frame["item"], run["item"]]
    known += [pairs["item"]] if pairs is not None else []
    known += [pl.Series(catalogue)] if catalogue else []
    items = Ids.of(*(column for column in known if column.dtype == log.frame["item"].dtype))
    listed = None
    if catalogue:
        listed = np.zeros(len(items), bool)
        listed[items.codes(pl.Series(catalogue))] = True
    seen = None if pairs is None else ByUser.code(pairs, users, items)
    return Truth(users, items, judge(log, users, items, threshold=threshold), seen, listed, seed)
