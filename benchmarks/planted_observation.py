"""Faults of how pairs are observed and candidates are chosen, each planted in a clean world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

import trueval as tv
from planted_types import Effect, Planted, lead, of_lists
from planted_worlds import END, METRIC, TEST, TRAIN, Generator, PlantedWorld
from trueval.audit.audit import Audit


def of_scores(world: PlantedWorld, scores: Mapping[str, np.ndarray], first: str, second: str, **more: Any) -> Planted:
    """An audit of systems that can be ranked again; the effect is the lead of the first over the second."""
    systems = {name: world.system(own) for name, own in scores.items()}
    recs = {name: world.lists(own) for name, own in scores.items()}
    return Planted(
        {"parts": world.parts(), "systems": systems, **more},
        lambda _: (lead(world.values(recs), first, second), lead(world.true_values(recs), first, second)),
    )


def popularity_of(world: PlantedWorld) -> np.ndarray:
    """The logarithm of train popularity, for all users alike, in standard deviations."""
    counts = np.log1p(world.mask(world.train).sum(axis=0))
    return np.tile((counts - counts.mean()) / max(counts.std(), 1e-9), (world.shape[0], 1))


def by_popularity(generator: Generator, seed: int, strength: float) -> Planted:
    """Popular items are observed more, and are no better; `popular` recommends them, `taste` what users like."""
    world = generator.clean(seed, users=600, gamma=strength)
    scores = {"popular": popularity_of(world) + 0.3 * world.noise(1), "taste": world.oracle(1.3, 2)}
    return of_scores(world, scores, "popular", "taste")


def opposed(generator: Generator, seed: int, strength: float) -> Planted:
    """The least liked items are observed most; `popular` recommends them."""
    world = generator.clean(seed, kind="opposed", gamma=1.5, strength=strength)
    scores = {"popular": popularity_of(world) + 0.3 * world.oracle(0.5, 1), "taste": world.oracle(1.5, 2)}
    return of_scores(world, scores, "popular", "taste")


def by_value(generator: Generator, seed: int, strength: float) -> Planted:
    """What is rated best is observed most; `favourites` finds the best ratings, `broad` those that are good enough."""
    world = generator.clean(seed, value_bias=strength)
    best, good = world.ratings == 5, world.ratings == 4
    scores = {
        "favourites": 3.0 * best + 4.0 * world.noise(1),
        "broad": 3.0 * good + 4.0 * world.noise(2),
    }
    recs = {name: world.lists(own) for name, own in scores.items()}
    sample = world.world.sample(per_user=20, seed=world.seed).frame.join(
        world.train, on=["user", "item"], how="anti", maintain_order="left"
    )
    return of_lists(
        world, recs,
        lambda _: (lead(world.values(recs), "favourites", "broad"),
                   lead(world.true_values(recs), "favourites", "broad")),
        unbiased=sample,
    )  # fmt: skip


def popularity_wins(generator: Generator, seed: int, strength: float) -> Planted:
    """Observation by popularity, which is aligned with quality; the reader's systems know little else."""
    world = generator.clean(seed, gamma=0.4, alignment=0.6)
    recs = {"mine": world.lists(world.oracle(strength, 1)), "other": world.lists(world.oracle(1.2 * strength, 2))}
    popular = {"popularity": world.lists(popularity_of(world))}

    def effect(_: Audit) -> Effect:
        return max(world.values(recs).values()), world.values(popular)["popularity"]

    return of_lists(world, recs, effect)


def sampled(generator: Generator, seed: int, strength: float) -> Planted:
    """Relevant items are ranked against so many others; `steady` has them high up, `lucky` first or far down."""
    world = generator.clean(seed, items=3 * generator.items)
    rng = world.rng(0)
    relevant = world.mask(world.test) & world.liked
    base = rng.random(world.shape)
    first = rng.random(world.shape) < 0.35
    scores = {
        "steady": np.where(relevant, 0.85, base),
        "lucky": np.where(relevant, np.where(first, 2.0, 0.3 * rng.random(world.shape)), base),
    }
    full = {name: world.lists(own, depth=world.shape[1]) for name, own in scores.items()}
    systems = {name: world.system(own) for name, own in scores.items()}
    design = f"1R-AI-NN{strength:g}"

    def effect(_: Audit) -> Effect:
        found = tv.evaluate(
            world.parts(), systems, design=design, metrics=METRIC, threshold=4, interval="none", threads=1
        )
        seen = {name: next(iter(found[name].values())).value for name in systems}
        return lead(seen, "steady", "lucky"), lead(world.values(full), "steady", "lucky")

    return Planted({"parts": world.parts(), "systems": systems, "design": design}, effect)


def loop(generator: Generator, seed: int, strength: float) -> Planted:
    """An earlier system showed what users then rated, round after round; `incumbent` is that system."""
    world = generator.clean(seed, users=600, rows=0.4)
    scores = {"incumbent": world.oracle(3.0, 1), "challenger": world.oracle(0.4, 2)}
    grown = tv.feedback_loop(
        world.world,
        world.system(scores["incumbent"]),
        rounds=2,
        k=round(strength),
        model=LOOKS,
        observe=False,
        seed=world.seed,
    ).log
    assert grown is not None
    chosen = ~world.mask(world.world.log.frame) & world.mask(grown.frame)
    rows = world.world.table_of(*np.nonzero(chosen)).with_columns(recommended=pl.lit(value=True))
    held = world.rng(0).random(len(rows)) < generator.held_out
    parts = {}
    for name, own, begin, end in (("train", ~held, TRAIN, TEST), ("test", held, TEST, END)):
        organic = getattr(world, name).with_columns(recommended=pl.lit(value=False))
        more = rows.filter(pl.Series(own)).with_columns(time=pl.Series(world.rng(4).integers(begin, end, own.sum())))
        parts[name] = pl.concat([organic, more.select(organic.columns)], how="vertical_relaxed")
    both = world.changed(**parts)
    recs = {name: both.lists(own) for name, own in scores.items()}
    return of_lists(
        both, recs,
        lambda _: (lead(both.values(recs), "incumbent", "challenger"),
                 lead(both.true_values(recs), "incumbent", "challenger")),
    )  # fmt: skip


LOOKS = tv.ClickModel(decay=0.0, liked=0.95)
