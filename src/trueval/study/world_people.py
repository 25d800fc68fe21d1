"""Simulated participants who live in a world: they prefer the lists that are truly more relevant to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.evaluation.evaluate_systems import evaluate_systems
from trueval.evaluation.options import EvaluationOptions
from trueval.recommenders.registry import name_systems
from trueval.simulation.pair_draws import coins
from trueval.simulation.truth import complete_test
from trueval.simulation.world import World
from trueval.splits import as_log
from trueval.splits.parts import Parts

SHARPNESS = 8.0  # with 10 items, one relevant item more makes a list 2.2 times as strong


def world_strengths(
    world: World,
    systems: Any,
    *,
    train: Any,
    participants: int,
    metric: str = "precision@10",
    sharpness: float = SHARPNESS,
    seed: int = 0,
) -> list[dict[str, float]]:
    """For users of a world, drawn by chance, the strength of each system's list: its true value times a sharpness.

    The lists are those of systems fitted to `train`; their true values come from the complete ratings of the world,
    which no system and no offline test sees. For `study_answers`.

    >>> import trueval as tv
    >>> world = tv.simulate("world", users=80, items=60, seed=2)
    >>> people = world_strengths(world, ["popularity", "random"], train=world.log, participants=3)
    >>> len(people), list(people[0])
    (3, ['popularity', 'random'])
    """
    if not 1 <= participants <= len(world.users):
        raise DefinitionError(
            "so many users of the world cannot take part", found=f"{participants:,} of {len(world.users):,} users"
        )
    order = np.argsort(coins(seed, "participants", len(world.users)), kind="stable")
    users = np.sort(order[:participants])
    known = as_log(train, "train")
    options = EvaluationOptions(
        metrics=metric, threshold=world.threshold, population="judged", interval="none", seed=seed
    )
    parts = Parts(known, complete_test(world, users, known), how={"how": "complete ratings"})
    named = systems if isinstance(systems, dict) else name_systems(systems)
    made = evaluate_systems(parts, named, options, design="AR-AI-AN", items=world.item_table)
    values = {name: next(iter(result.values.values())) for name, result in made.systems.items()}
    number = min(map(len, values.values()))
    return [
        {name: sharpness * float(np.nan_to_num(own[at])) for name, own in values.items()} for at in range(number)
    ]  # fmt: skip
