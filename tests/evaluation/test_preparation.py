"""Runs and systems are prepared by the same functions, and what is prepared does not depend on what came before."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.context import EvaluationContext
from trueval.evaluation.evaluate_systems import prepare_split
from trueval.evaluation.held_out import HeldOut, prepare_run, read_held_out
from trueval.evaluation.options import EvaluationOptions


def parts_of(seed: int = 3) -> tv.Parts:
    rng = np.random.default_rng(seed)
    rows = [(f"u{u}", f"i{i}", float(rng.integers(1, 6))) for u in range(30) for i in rng.permutation(12)[:7]]
    log = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")
    return tv.split(log, "holdout", ratio=0.4, seed=1)


@pytest.fixture
def options() -> EvaluationOptions:
    return EvaluationOptions(metrics="ndcg@5", threshold=3, by=["activity", "genre"], propensity="popularity:0.5")


@pytest.fixture
def items() -> pl.DataFrame:
    genres = [["war", "art|war", "art"][i % 3] for i in range(12)]
    return pl.DataFrame({"item": [f"i{i}" for i in range(12)], "aspects": genres, "genre": genres})


def held_out(parts: tv.Parts, options: EvaluationOptions, items: pl.DataFrame) -> HeldOut:
    return read_held_out(parts.test, options, train=parts.train, items=items)


def known_of(context: EvaluationContext) -> dict[str, object]:
    """A context in the ids of users and items, whatever their codes."""
    users, items, inputs = context.users, context.items, context.inputs
    assert inputs.popularity
    assert inputs.aspects
    assert inputs.propensity
    assert inputs.positives
    assert inputs.targets
    pairs = inputs.propensity.pairs
    named = {"user": users, "item": items}
    return {
        "popularity": dict(zip(items.values, inputs.popularity.counts.tolist())),
        "train users": inputs.popularity.users,
        "aspects": dict(zip(items.values, inputs.aspects.matrix().tolist())),
        "positives": dict(zip(items.values, inputs.positives.test().tolist())),
        "offered": set(items.decode(np.flatnonzero(inputs.targets.offered))),
        "pairs": set(zip(users.decode(pairs.user), items.decode(pairs.item))),
        "groups": {
            (g.name, label): set(named[g.kind].decode(g.members(n)))
            for g in context.groups
            for n, label in enumerate(g.labels)
        },
    }


def test_runs_and_systems_have_the_same_context(options: EvaluationOptions, items: pl.DataFrame) -> None:
    parts = parts_of()
    split = prepare_split(parts, options, design="AR-AI-AN", items=items)
    run = prepare_run(held_out(parts, options, items), pl.Series(["u1", "u2"]), pl.Series(["i1", "i5"]))
    assert known_of(run.context) == known_of(split.context)
    assert {name for name, _ in known_of(run.context)["groups"]} == {"activity", "genre"}  # type: ignore[attr-defined]


def test_a_run_is_prepared_alike_whatever_was_prepared_before(options: EvaluationOptions, items: pl.DataFrame) -> None:
    parts = parts_of()
    held = read_held_out(parts.test, EvaluationOptions(metrics="ndcg@5"), train=parts.train)
    users, own, others = pl.Series(["u1"]), pl.Series(["i1", "new"]), pl.Series(["other", "another"])
    alone = prepare_run(held, users, own)
    prepare_run(held, users, others)
    again = prepare_run(held, users, own)
    for one in (alone, again):
        assert one.context.inputs.targets is not None
        offered = one.context.items.decode(np.flatnonzero(one.context.inputs.targets.offered))
        assert {"new"} <= set(offered)
        assert not {"other", "another"} & set(offered)
    with pytest.raises(FrozenInstanceError):
        held.other_items = (others,)  # type: ignore[misc]
