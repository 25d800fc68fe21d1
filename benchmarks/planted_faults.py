"""The faults that the audit ought to find, each planted in a clean world at three strengths.

Every fault says which check ought to speak and with which verdicts, and tells its effect on the reader's own number: as
the reader has it, and as it truly is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import trueval as tv
from planted_worlds import DEPTH, END, METRIC, TEST, TRAIN, Generator, PlantedWorld
from trueval.audit.audit import Audit

ALARM = ("wrong", "caution")
Effect = tuple[float, float]  # as evaluated, and truly
Changed = Callable[[np.ndarray], np.ndarray]  # of effects, a row each


def reversed_order(effects: np.ndarray) -> np.ndarray:
    """The order of two systems is the other one in truth."""
    return effects[:, 0] * effects[:, 1] < 0


def off_by_a_third(effects: np.ndarray) -> np.ndarray:
    """The value is off by more than a third of the true one."""
    return np.abs(effects[:, 0] - effects[:, 1]) > effects[:, 1] / 3


def lost_lead(effects: np.ndarray) -> np.ndarray:
    """Less than half of a lead is true."""
    return effects[:, 1] < effects[:, 0] / 2


def undetectable(effects: np.ndarray) -> np.ndarray:
    """The users find a difference of the size of the true one in fewer than half of such tests."""
    return effects[:, 0] > 1.43 * effects[:, 1]  # 80 % power at 2.80 standard errors, 50 % at 1.96


@dataclass(frozen=True)
class Planted:
    """What the reader audits, and what the fault does to the reader's number."""

    options: Mapping[str, Any]
    effect: Callable[[Audit], Effect]

    def audit(self) -> Audit:
        """The audit, on one thread."""
        chosen = {"threshold": 4, "metrics": METRIC, **self.options}
        return tv.audit(**chosen, threads=1)


@dataclass(frozen=True)
class Fault:
    """One fault. `parameter` says what the three strengths are, `number` whose value the effect is about, `changed` in
    which worlds the reader's conclusion is false; None where something is wrong whatever its effect."""

    name: str
    check: str
    parameter: str
    strengths: tuple[float, float, float]
    number: str
    plant: Callable[[Generator, int, float], Planted]
    changed: Changed | None
    verdicts: tuple[str, ...] = ALARM

    def found(self, audit: Audit) -> bool:
        """Whether the check that ought to find it did."""
        return any(one.verdict in self.verdicts for one in audit[self.check])


def of_lists(
    world: PlantedWorld, recs: Mapping[str, pl.DataFrame], effect: Callable[[Audit], Effect], **more: Any
) -> Planted:
    """An audit of lists."""
    return Planted({"train": world.train, "test": world.test, "recs": dict(recs), **more}, effect)


def lead(values: Mapping[str, float], first: str, second: str) -> float:
    return values[first] - values[second]


# ---- leakage -----------------------------------------------------------------------------------------------------


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
    world = generator.clean(seed, users=150)
    recs = {f"variant {n}": world.lists(world.oracle(2.0, 10 + n), depth=10) for n in range(round(strength))}

    def effect(audit: Audit) -> Effect:
        (one,) = audit["selected_on_test"]
        best = one.figures["winner"]
        others = {name: recs[name] for name in list(recs)[:5] if name != best}
        true = world.true_values({best: recs[best], **others})
        return one.figures["leads"][0]["measured"]["value"], true[best] - float(np.mean([true[n] for n in others]))

    return Planted({"test": world.test, "recs": recs}, effect)


# ---- observation -------------------------------------------------------------------------------------------------


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
    world = generator.clean(seed, gamma=strength)
    scores = {"popular": popularity_of(world) + 0.3 * world.noise(1), "taste": world.oracle(1.0, 2)}
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
        lambda _: (lead(world.values(recs), "favourites", "broad"), lead(world.true_values(recs), "favourites", "broad")),
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
        world.world, world.system(scores["incumbent"]), rounds=2, k=round(strength), model=LOOKS, observe=False,
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


# ---- the catalogue -----------------------------------------------------------------------------------------------

_LEAD = "lead of {} over {}"
FAULTS = (
    Fault("leakage by time", "future_rows", "what is known of later rows, in standard deviations of tastes",
          (1.0, 3.0, 10.0), _LEAD.format("the leaky system", "an honest one"), time_leak, reversed_order),
    Fault("leakage by pair", "leaked_pairs", "share of the test rows that are in train", (0.001, 0.05, 0.3),
          "value", pair_leak, None, ("wrong",)),
    Fault("leakage through an item's future", "item_future", "share of the items", (0.05, 0.2, 0.5), "value",
          item_leak, off_by_a_third),
    Fault("seen items", "seen_items", "share of the users", (0.1, 0.4, 1.0), "value", seen_items, off_by_a_third),
    Fault("shuffled ids", "random_baseline", "share of the users", (0.25, 0.5, 1.0), "value", shuffled_ids, off_by_a_third),
    Fault("missing lists", "missing_lists", "share of the users", (0.1, 0.35, 0.7),
          _LEAD.format("the better system", "the other"), missing_lists, reversed_order),
    Fault("popularity-biased observation", "popularity_bias", "γ", (0.25, 0.75, 1.5),
          _LEAD.format("popular items", "taste"), by_popularity, reversed_order),
    Fault("opposed popularity", "false_positives", "strength of the opposition", (0.25, 0.5, 1.0),
          _LEAD.format("popular items", "taste"), opposed, reversed_order),
    Fault("value-biased observation", "unbiased_order", "bias by value", (0.25, 0.75, 2.0),
          _LEAD.format("a few favourites", "broad taste"), by_value, reversed_order),
    Fault("ties at the cut", "ties_at_cut", "steps of scores, in standard deviations", (0.05, 0.5, 2.0), "value", ties, off_by_a_third),
    Fault("sampled candidates", "sampled_candidates", "candidates", (100, 50, 20),
          _LEAD.format("a steady system", "a lucky one"), sampled, reversed_order),
    Fault("too few users", "too_few_users", "users", (600, 150, 25), "lead of the best system over the next",
          few_users, undetectable, ("cannot tell",)),
    Fault("test rows tuned on", "tuned_on_test", "share of the test rows that are in the validation set",
          (0.01, 0.2, 1.0), "value", tuned_rows, None, ("wrong",)),
    Fault("a winner chosen on the test set", "selected_on_test", "variants tried", (10, 40, 150),
          _LEAD.format("the winner", "the mean of the others"), chosen_on_test, lost_lead),
    Fault("a popularity baseline that wins", "popularity_baseline", "noise of the systems", (0.5, 1.5, 6.0),
          "value, and that of popularity", popularity_wins, off_by_a_third),
    Fault("a group served worse", "served_groups", "share of the group", (0.25, 0.5, 1.0),
          "value, and that of the others", served_worse, off_by_a_third),
    Fault("feedback loop", "feedback_loop", "items shown in each of two rounds", (1, 2, 4), _LEAD.format("the earlier system", "a better one"),
          loop, reversed_order),
)  # fmt: skip
