"""What trueval demo does: a world, its split, four systems, and the truth about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

import trueval as tv
from trueval.api import Result
from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.facts.from_scores import rank_system
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system
from trueval.render.numbers import short_percent
from trueval.report.findings import listed, values
from trueval.simulation.demo_world import World, make_world
from trueval.splits.parts import Parts

USERS, ITEMS, INTERACTIONS = 2000, 1000, 100_000
METRICS = (
    "ndcg@10", "recall@10", "precision@10", "auc", "novelty@10", "coverage@10", "gini@10", "ild@10", "unjudged@10",
)  # fmt: skip
SYSTEMS = ("random", "popularity", "average", "oracle")
BASELINE, THRESHOLD, LIST_LENGTH, CUTOFF = "popularity", 4, 100, 10


@dataclass(frozen=True)
class Demo:
    """All that the demo made. `true` is the share of each system's top 10 that its users would really like."""

    world: World
    parts: Parts
    result: Result
    recs: Mapping[str, pl.DataFrame]
    true: Mapping[str, float]


def make_demo(seed: int) -> Demo:
    """Draw the world, split it by time, evaluate the systems, and look up the truth."""
    world = make_world(users=USERS, items=ITEMS, interactions=INTERACTIONS, seed=seed)
    parts = tv.split(world.log, "temporal", ratio=0.2)
    oracle = tv.Function(lambda users: world.true_values(users), ids=True)
    systems = {name: oracle if name == "oracle" else name for name in SYSTEMS}
    result = tv.evaluate(
        parts, systems, design="AR-AI-AN", metrics=METRICS, threshold=THRESHOLD, items=world.log.items, seed=seed
    )
    recs = make_lists(world, parts, systems, seed)
    return Demo(world, parts, result, recs, {name: truly_liked(world, result, run) for name, run in recs.items()})


def make_lists(world: World, parts: Parts, systems: Mapping[str, object], seed: int) -> dict[str, pl.DataFrame]:
    """The first 100 of each system for every tested user: user, item, score, rank."""
    design, items = Design.parse("AR-AI-AN"), world.items.values
    (task,) = make_tasks(parts, design, threshold=THRESHOLD, catalogue=items, seed=seed)
    train = TrainSet(task.users, task.items, task.train, seed)
    lists = {}
    for name, spec in systems.items():
        system = make_system(spec).fit(train)
        facts = rank_system(system, task, depth=LIST_LENGTH, name=name)
        lists[name] = pl.DataFrame({
            "user": task.users.decode(task.unit_user[facts.list_unit]),
            "item": task.items.decode(facts.list_item),
            "score": system.score(task.unit_user)[facts.list_unit, facts.list_item],
            "rank": facts.place,
        })  # fmt: skip
    return lists


def truly_liked(world: World, result: Result, run: pl.DataFrame) -> float:
    """Share of the first 10 that the evaluated users would give at least the threshold, were there no noise."""
    top = run.filter((pl.col("rank") <= CUTOFF) & pl.col("user").is_in(result.per_user["user"].unique().implode()))
    true = world.relevance[world.users.codes(top["user"]), world.items.codes(top["item"])]
    return float((true >= THRESHOLD - 0.5).mean())


def truth_sentences(demo: Demo) -> list[str]:
    """What the test set cannot know and this world does."""
    measured = values(demo.result.evaluation, f"precision@{CUTOFF}")
    true = dict(sorted(demo.true.items(), key=lambda pair: -pair[1]))
    found = [f"{CUTOFF * share:.1f} from {name}" for name, share in true.items()]
    credited = [f"{CUTOFF * measured[name]:.1f}" for name in true]
    sentences = [
        f"Here the truth is known. Of {CUTOFF} recommended items, users would really like {listed(found)}; "
        f"the test set gives credit for {listed(credited)}."
    ]
    if list(measured) != list(true):
        sentences.append(
            f"The order from best to worst is {listed(list(measured))} on the test set, "
            f"and {listed(list(true))} in truth."
        )
    best = next(iter(true))
    if measured[best] > 0 and true[best] > 0:
        seen, really = (short_percent(of[BASELINE] / of[best]) for of in (measured, true))
        sentences.append(
            f"{BASELINE} reaches {seen} of {best}'s precision@{CUTOFF} on the test set, and {really} in truth. "
            "People rate the items that they come across, and those are the popular ones."
        )
    return sentences
