"""Faults of parts and lists, each planted in a clean world."""

from __future__ import annotations

import numpy as np
import polars as pl

from planted_types import Effect, Planted, lead, of_lists
from planted_worlds import END, TEST, TRAIN, Generator
from trueval.audit.audit import Audit


def time_leak(generator: Generator, seed: int, strength: float) -> Planted:
    """Half of the test rows lie before their user's last train row; `leaky` has learned from what came after them."""
    world = generator.clean(seed)
    rng = world.rng(0)
    inner = rng.random(len(world.test)) < 0.5
    last = world.test.join(world.train.group_by("user").agg(pl.col("time").max().alias("last")), on="user", how="left",
                           maintain_order="left")["last"].fill_null(TRAIN + 1).to_numpy()  # fmt: skip
    early = TRAIN + ((last - TRAIN) * rng.random(len(last))).astype(np.int64)
    test = world.test.with_columns(time=pl.Series(np.where(inner, early, world.test["time"].to_numpy())))
    world = world.changed(test=test)
    known = world.mask(test.filter(pl.Series(inner))) & world.liked
    honest, blind = world.oracle(1.0, 1), world.oracle(4.0, 2)
    recs = {"leaky": world.lists(blind + strength * known), "honest": world.lists(honest)}
    without = {"leaky": world.lists(blind), "honest": recs["honest"]}
    return of_lists(
        world, recs,
        lambda _: (lead(world.values(recs), "leaky", "honest"), lead(world.true_values(without), "leaky", "honest")),
    )  # fmt: skip


def pair_leak(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the test rows is in train as well, and `mine` repeats what it has learned."""
    world = generator.clean(seed)
    leaked = world.test.sample(max(1, round(strength * len(world.test))), seed=seed)
    scores = world.oracle(3.0, 1)
    mine = world.lists(scores + 20.0 * (world.mask(leaked) & world.liked))
    recs = {"mine": mine, "other": world.lists(world.oracle(1.5, 2))}
    both = world.changed(train=pl.concat([world.train, leaked]))
    plain = {"mine": world.lists(scores)}
    return of_lists(both, recs, lambda _: (world.values(recs)["mine"], world.values(plain)["mine"]))


def item_leak(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the items has test rows from before the item's first train row; `knows` has learned of them."""
    world = generator.clean(seed)
    rng = world.rng(0)
    codes = np.flatnonzero(rng.random(world.shape[1]) < strength)
    new = pl.col("item").is_in(world.world.items.decode(codes).to_list())
    late = pl.Series(rng.integers((TEST + END) // 2, END, len(world.train)))
    early = pl.Series(rng.integers(TEST, (TEST + END) // 2, len(world.test)))
    train = world.train.with_columns(time=pl.when(new).then(late).otherwise(pl.col("time")))
    test = world.test.with_columns(time=pl.when(new).then(early).otherwise(pl.col("time")))
    world = world.changed(train=train, test=test)
    known = world.mask(test.filter(new)) & world.liked
    scores = world.oracle(4.0, 1)
    recs = {"knows": world.lists(scores + 6.0 * known), "other": world.lists(world.oracle(1.5, 2))}
    plain = {"knows": world.lists(scores)}
    return of_lists(world, recs, lambda _: (world.values(recs)["knows"], world.values(plain)["knows"]))


# ---- lists -------------------------------------------------------------------------------------------------------


def seen_items(generator: Generator, seed: int, strength: float) -> Planted:
    """The lists of `mine` begin with five items of train, for a share of the users."""
    world = generator.clean(seed)
    some = world.rng(0).random(world.shape[0]) < strength
    chosen = pl.col("user").is_in(world.world.users.decode(np.flatnonzero(some)).to_list())
    first = world.train.filter(chosen).group_by("user", maintain_order=True).head(5)
    plain = world.lists(world.oracle(1.0, 1))
    mine = pl.concat([first.select("user", "item", score=pl.lit(99.0)), plain])
    recs = {"mine": mine, "other": world.lists(world.oracle(1.5, 2))}
    return of_lists(world, recs, lambda _: (world.values(recs)["mine"], world.values({"mine": plain})["mine"]))


def shuffled_ids(generator: Generator, seed: int, strength: float) -> Planted:
    """The items of `mine` belong to other ids, for a share of the users."""
    world = generator.clean(seed)
    rng = world.rng(0)
    good, mine = world.oracle(0.3, 1), world.oracle(0.5, 2)
    moved = np.flatnonzero(rng.random(world.shape[0]) < strength)
    wrong = mine.copy()
    wrong[moved] = rng.permuted(mine[moved], axis=1)
    recs = {"mine": world.lists(wrong), "good": world.lists(good)}
    plain = {"mine": world.lists(mine)}
    return of_lists(world, recs, lambda _: (world.values(recs)["mine"], world.values(plain)["mine"]))


def missing_lists(generator: Generator, seed: int, strength: float) -> Planted:
    """`good` has no list for a share of the users."""
    world = generator.clean(seed)
    there = world.rng(0).random(world.shape[0]) >= strength
    full = {"good": world.lists(world.oracle(0.2, 1)), "fair": world.lists(world.oracle(2.2, 2))}
    some = pl.col("user").is_in(world.world.users.decode(np.flatnonzero(there)).to_list())
    recs = {**full, "good": full["good"].filter(some)}
    return of_lists(
        world, recs, lambda _: (lead(world.values(recs), "good", "fair"), lead(world.values(full), "good", "fair"))
    )


def ties(generator: Generator, seed: int, strength: float) -> Planted:
    """`mine` rounds its scores to steps of so many standard deviations, and lists relevant items first among equals."""
    world = generator.clean(seed)
    scores = world.oracle(1.0, 1)
    rounded = np.floor(scores / strength) * strength
    tested = world.mask(world.test) & world.liked
    order = world.lists(rounded + 1e-6 * tested)
    mine = order.with_columns((pl.col("score") / strength).round() * strength)
    recs = {"mine": mine, "other": world.lists(world.oracle(1.5, 2))}
    plain = {"mine": world.lists(rounded + 1e-6 * world.rng(3).random(world.shape))}
    return of_lists(
        world, recs,
        lambda _: (world.values({"mine": order}, ties="given")["mine"], world.values(plain)["mine"]), ties="given",
    )  # fmt: skip


def served_worse(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the users of one group has the lists of a system that knows hardly anything."""
    world = generator.clean(seed)
    groups = world.groups(3)
    inside = (groups["group"] == "a").to_numpy()
    hit = inside & (world.rng(0).random(world.shape[0]) < strength)
    scores = np.where(hit[:, None], world.oracle(6.0, 2), world.oracle(0.7, 1))
    recs = {"mine": world.lists(scores)}
    a, b = (pl.col("user").is_in(groups.filter(pl.col("group") == name)["user"].to_list()) for name in "ab")

    def effect(_: Audit) -> Effect:
        theirs, others = (world.values({"mine": recs["mine"].filter(rows)}, world.test.filter(rows)) for rows in (a, b))
        return theirs["mine"], others["mine"]

    return of_lists(world, recs, effect, users=groups, by="group")


def few_users(generator: Generator, seed: int, strength: float) -> Planted:
    """So many users for five systems that differ a little."""
    world = generator.clean(seed, users=round(strength))
    recs = {name: world.lists(world.oracle(noise, 1 + at)) for at, (name, noise) in enumerate(NEAR.items())}

    def effect(audit: Audit) -> Effect:
        (one,) = audit["too_few_users"]
        many = generator.clean(seed, users=400)
        scores = {name: many.lists(many.oracle(noise, 1 + at)) for at, (name, noise) in enumerate(NEAR.items())}
        return one.figures["detectable"], lead(many.true_values(scores), "first", "second")

    return of_lists(world, recs, effect)


NEAR = {"first": 0.9, "second": 1.1, "third": 1.15, "fourth": 1.2, "fifth": 1.25}


def tuned_rows(generator: Generator, seed: int, strength: float) -> Planted:
    """A share of the test rows is in the validation set, on which the best of ten equal variants was chosen."""
    world = generator.clean(seed)
    chosen = world.test.sample(max(1, round(strength * len(world.test))), seed=seed)
    variants = {f"variant {n}": world.lists(world.oracle(2.0, 10 + n), depth=10) for n in range(10)}
    found = world.values(variants, chosen)
    best = max(found, key=lambda name: found[name])
    recs = {"tuned": variants[best], "other": world.lists(world.oracle(1.5, 2))}
    return of_lists(
        world, recs, lambda _: (world.values(recs)["tuned"], float(np.mean(list(world.values(variants).values())))),
        validation=chosen,
    )  # fmt: skip


def chosen_on_test(generator: Generator, seed: int, strength: float) -> Planted:
    """So many variants that know as much were tried on the test set, and the best of them is the winner."""
    world = generator.clean(seed, users=300)
    recs = {f"variant {n}": world.lists(world.oracle(2.0, 10 + n), depth=10) for n in range(round(strength))}

    def effect(audit: Audit) -> Effect:
        (one,) = audit["selected_on_test"]
        return one.figures["leads"][0]["measured"]["value"], 0.0  # for new users nobody leads: all know as much

    return Planted({"test": world.test, "recs": recs}, effect)
