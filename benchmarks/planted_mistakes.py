"""Mistakes that people make with lists, test sets and options, each planted in a clean world."""

from __future__ import annotations

import numpy as np
import polars as pl

from planted_types import Effect, Planted, lead, of_lists
from planted_worlds import Generator, PlantedWorld
from trueval.audit.audit import Audit

SHORT = 5  # places of a list that is cut


def candidates_only(world: PlantedWorld, scores: np.ndarray, negatives: int, purpose: int) -> np.ndarray:
    """Scores of the user's relevant test items and so many other items, drawn at random; −∞ for all others."""
    relevant = world.mask(world.test) & world.liked
    free = ~(relevant | world.mask(world.train))
    order = np.argsort(np.where(free, world.rng(purpose).random(world.shape), 2.0), axis=1)[:, :negatives]
    chosen = relevant.copy()
    np.put_along_axis(chosen, order, True, axis=1)
    return np.where(chosen, scores, -np.inf)


def sampled_lists(generator: Generator, seed: int, strength: float) -> Planted:
    """Files of the ten best among the relevant test items and so many others, for two systems."""
    world = generator.clean(seed, items=5 * generator.items)
    scores = {"mine": world.oracle(1.0, 1), "other": world.oracle(2.0, 2)}
    recs = {
        name: world.lists(candidates_only(world, own, round(strength), 5), depth=10) for name, own in scores.items()
    }
    full = {name: world.lists(own, depth=10) for name, own in scores.items()}
    return of_lists(world, recs, lambda _: (world.values(recs)["mine"], world.values(full)["mine"]))


def one_sampled(generator: Generator, seed: int, strength: float) -> Planted:
    """`mine` ranks the relevant test items and so many others, `other` ranks all items and is better."""
    world = generator.clean(seed, items=5 * generator.items)
    mine, other = world.oracle(2.5, 1), world.oracle(0.7, 2)
    full = {"mine": world.lists(mine, depth=10), "other": world.lists(other, depth=10)}
    recs = {**full, "mine": world.lists(candidates_only(world, mine, round(strength), 5), depth=10)}
    return of_lists(
        world, recs, lambda _: (lead(world.values(recs), "mine", "other"), lead(world.values(full), "mine", "other"))
    )


def seen_likes(generator: Generator, seed: int, strength: float) -> Planted:
    """`mine` has learned from a share of the relevant test rows, which stand first in its lists."""
    world = generator.clean(seed, items=3 * generator.items)
    relevant = world.mask(world.test) & world.liked
    known = relevant & (world.rng(0).random(world.shape) < strength)
    scores = world.oracle(2.0, 1)
    recs = {"mine": world.lists(scores + 20.0 * known), "other": world.lists(world.oracle(1.5, 2))}
    plain = {"mine": world.lists(scores)}
    return of_lists(world, recs, lambda _: (world.values(recs)["mine"], world.values(plain)["mine"]))


def cut_lists(generator: Generator, seed: int, strength: float) -> Planted:
    """`good` has lists of five places for a share of the users, where ten are measured."""
    world = generator.clean(seed)
    cut = world.rng(0).random(world.shape[0]) < strength
    full = {"good": world.lists(world.oracle(1.2, 1)), "fair": world.lists(world.oracle(2.0, 2))}
    place = pl.int_range(1, pl.len() + 1).over("user")
    some = pl.col("user").is_in(world.world.users.decode(np.flatnonzero(cut)).to_list())
    recs = {**full, "good": full["good"].filter(~some | (place <= SHORT))}
    return of_lists(world, recs, lambda _: (world.values(recs)["good"], world.values(full)["good"]))


def backwards(generator: Generator, seed: int, strength: float) -> Planted:
    """`good` has lists of so many places, the worst of them first."""
    world = generator.clean(seed)
    full = {
        "good": world.lists(world.oracle(0.3, 1), depth=round(strength)),
        "fair": world.lists(world.oracle(1.5, 2), depth=round(strength)),
    }
    recs = {**full, "good": full["good"].with_columns(score=-pl.col("score"))}
    return of_lists(
        world, recs, lambda _: (lead(world.values(recs), "good", "fair"), lead(world.values(full), "good", "fair"))
    )


def hits_first(generator: Generator, seed: int, strength: float) -> Planted:
    """`mine` rounds its scores to steps of so many standard deviations, and is written as ranks with relevant items
    first among equals."""
    world = generator.clean(seed)
    scores = np.floor(world.oracle(1.0, 1) / strength) * strength
    relevant = world.mask(world.test) & world.liked
    fair = scores + 1e-3 * world.rng(3).random(world.shape)
    lists = {name: world.lists(own) for name, own in (("mine", fair + relevant * 1e-2), ("plain", fair))}
    ranks = pl.int_range(1, pl.len() + 1).over("user").alias("rank")
    recs = {"mine": lists["mine"].select("user", "item", ranks), "other": world.lists(world.oracle(1.5, 2))}
    return of_lists(
        world, recs, lambda _: (world.values(recs)["mine"], world.values({"plain": lists["plain"]})["plain"])
    )


def no_threshold(generator: Generator, seed: int, strength: float) -> Planted:
    """No threshold is given, so that the share of the rows with low ratings that the test set has counts as liked."""
    world = generator.clean(seed)
    high = pl.col("value") >= world.world.threshold
    chosen = pl.Series(world.rng(0).random(len(world.test)) < strength)
    world = world.changed(test=world.test.filter(high | chosen))
    recs = {"mine": world.lists(world.oracle(1.0, 1)), "other": world.lists(world.oracle(1.5, 2))}

    def effect(_: Audit) -> Effect:
        every, liked = world.values(recs, threshold=None), world.values(recs)
        return every["mine"], liked["mine"]

    return of_lists(world, recs, effect, threshold=None)


def twin_items(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the items is in the log twice, under two ids with the same rows; each row falls into train or test by
    itself. `mine` has learned of the twins in train."""
    world = generator.clean(seed)
    rng, items = world.rng(0), world.shape[1]
    chosen = rng.random(items) < strength
    chosen[rng.integers(items)] = True
    ids = world.world.items.values
    twin = pl.DataFrame({"item": ids, "twin": ids + 10 * items}).filter(pl.Series(chosen))
    both = pl.concat([world.train, world.test]).join(twin, on="item", how="inner", maintain_order="left")
    rows = both.select("user", pl.col("twin").alias("item"), "value", "time")
    held = pl.Series(rng.random(len(rows)) < generator.held_out)
    train, test = pl.concat([world.train, rows.filter(~held)]), pl.concat([world.test, rows.filter(held)])
    # scores of all items, and of the twins behind them
    scores, own = world.oracle(2.5, 1), np.flatnonzero(chosen)
    whole = pl.concat([ids, twin["twin"]])
    codes = {item: code for code, item in enumerate(whole)}
    pairs = world.world.users.codes(train["user"]), np.array([codes[item] for item in train["item"]])
    learned = np.zeros((world.shape[0], len(whole)), bool)
    learned[pairs] = True
    same = np.hstack([learned[:, :items], learned[:, own]])
    other = np.zeros_like(same)
    other[:, own], other[:, items:] = learned[:, items:], learned[:, own]
    liked = np.hstack([world.liked, world.liked[:, own]])
    plain = np.hstack([scores, scores[:, own]])
    mine = np.where(same, -np.inf, plain + 8.0 * (other & liked))

    def lists(chosen_scores: np.ndarray) -> pl.DataFrame:
        top = np.argsort(-chosen_scores, axis=1, kind="stable")[:, :20]
        users = world.world.users.decode(np.repeat(np.arange(len(top)), 20))
        return pl.DataFrame({
            "user": users, "item": whole.gather(top.ravel()),
            "score": np.take_along_axis(chosen_scores, top, axis=1).ravel(),
        })  # fmt: skip

    there = world.changed(train=train, test=test)
    recs = {"mine": lists(mine), "other": lists(np.where(same, -np.inf, np.hstack([world.oracle(1.5, 2)] * 2)[
        :, np.concatenate([np.arange(items), items + own])]))}  # fmt: skip
    clean = {"mine": world.lists(scores)}
    return of_lists(there, recs, lambda _: (there.values(recs)["mine"], world.values(clean)["mine"]))


def heavy_testers(generator: Generator, seed: int, strength: float) -> Planted:
    """The test set has only the share of the users with the most train rows."""
    world = generator.clean(seed, users=900)
    active = world.train.group_by("user").len().sort("len", "user", descending=True)
    most = active.head(max(30, round(strength * len(active))))["user"].to_list()
    heavy = world.changed(test=world.test.filter(pl.col("user").is_in(most)))
    recs = {"mine": world.lists(world.oracle(1.0, 1)), "other": world.lists(world.oracle(1.5, 2))}
    return of_lists(heavy, recs, lambda _: (heavy.values(recs)["mine"], world.values(recs)["mine"]))


def one_system_twice(generator: Generator, seed: int, strength: float) -> Planted:
    """`mine` and `yours` have the same lists for a share of the users."""
    world = generator.clean(seed)
    same = world.rng(0).random(world.shape[0]) < strength
    recs = {"mine": world.lists(world.oracle(1.0, 1)), "other": world.lists(world.oracle(1.5, 3))}
    yours = world.lists(np.where(same[:, None], world.oracle(1.0, 1), world.oracle(1.0, 2)))
    truth = {"mine": recs["mine"], "yours": world.lists(world.oracle(0.5, 2))}
    return of_lists(
        world, {**recs, "yours": yours},
        lambda _: (lead(world.values({**recs, "yours": yours}), "yours", "mine"),
                   lead(world.values(truth), "yours", "mine")),
    )  # fmt: skip


def wrong_users(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the lists of `mine` was given to one another's users."""
    world = generator.clean(seed)
    rng = world.rng(0)
    moved = np.flatnonzero(rng.random(world.shape[0]) < strength)
    source = np.arange(world.shape[0])
    source[moved] = rng.permutation(moved)
    plain = {"mine": world.lists(world.oracle(0.7, 1)), "other": world.lists(world.oracle(1.5, 2))}
    users = world.world.users.values
    owner = pl.DataFrame({"user": users.gather(source), "to": users})
    mine = plain["mine"].join(owner, on="user", how="inner", maintain_order="left").select(
        pl.col("to").alias("user"), "item", "score"
    )  # fmt: skip
    recs = {**plain, "mine": mine}
    return of_lists(world, recs, lambda _: (world.values(recs)["mine"], world.values(plain)["mine"]))
