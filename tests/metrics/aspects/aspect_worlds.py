"""Small worlds with aspects: ratings, lists, profiles; and what the oracle says of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import strategies as st

from oracles import naive_aspects as naive
from trueval.metrics.grammar import parse
from trueval.metrics.spec import Spec

THRESHOLD = 3.0
NAMES = ["drama", "noir", "war", "western"]
GAINS = ("binary", "graded", "probabilistic")


@dataclass(frozen=True)
class World:
    """Items are named so that they sort like their codes; `others` are items of the catalogue that nobody met."""

    aspects: dict[str, list[str]]
    lists: dict[str, list[str]]
    ratings: dict[str, dict[str, float]]
    train: dict[str, dict[str, float]]
    catalogue: list[str] | None

    def table(self, part: dict[str, dict[str, float]]) -> pl.DataFrame:
        rows = [(user, item, value) for user, own in part.items() for item, value in own.items()]
        return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String, "value": pl.Float64}, orient="row")

    def run_table(self) -> pl.DataFrame:
        rows = [(user, item, rank) for user, own in self.lists.items() for rank, item in enumerate(own, 1)]
        return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String, "rank": pl.Int64}, orient="row")

    def item_table(self) -> pl.DataFrame:
        items = sorted(self.aspects)
        return pl.DataFrame({"item": items, "aspects": ["|".join(self.aspects[i]) for i in items]})

    def values(self) -> list[float]:
        return [value for part in (self.ratings, self.train) for own in part.values() for value in own.values()]

    def names(self) -> list[str]:
        return sorted({a for own in self.aspects.values() for a in own})


@st.composite
def worlds(draw: Any, *, catalogue: bool = True) -> World:
    """Few items and few distinct sets of aspects, so that ties abound; users without a profile or a relevant item."""
    items = [f"i{j}" for j in range(draw(st.integers(3, 9)))]
    sets = st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(sorted)
    aspects = {item: draw(sets) for item in items}
    aspects["i0"] = aspects["i0"] or ["drama"]
    lists, ratings, train = {}, {}, {}
    for user in ["u0", "u1", "u2"][: draw(st.integers(1, 3))]:
        order = draw(st.permutations(items))
        size = draw(st.integers(0, len(items) // 2))
        seen, rest = order[:size], order[size:]
        value = st.integers(0, 5).map(float)
        train[user] = {item: draw(value) for item in seen}
        ratings[user] = {item: draw(value) for item in rest if draw(st.booleans())}
        lists[user] = draw(st.permutations(rest))[: draw(st.integers(0, len(rest)))]
    ratings["v"], lists["v"], train["v"] = {"i0": 5.0}, ["i0"], {"i1": 2.0}  # somebody has something relevant
    return World(aspects, lists, ratings, train, items if catalogue else None)


def specs(*, cutoffs: tuple[int, ...] = (1, 3, 9)) -> list[Spec]:
    """Every aspect metric, with every choice of its parameters and a few numbers."""
    words = ["nrbp[alpha=0.25,beta=0.9]", *(f"nrbp[gain={gain}]" for gain in GAINS), "eu[profile=test]", "rbu"]
    for k, profile in itertools.product(cutoffs, ("train", "test")):
        words += [f"abndcg@{k}[profile={profile}]", f"abndcg@{k}[alpha=0.3,beta=1,profile={profile},rescale=true]"]
        words += [f"eu@{k}[discount={d},gain={g},profile={profile}]" for d in ("log2", "geometric") for g in GAINS]
        words += [f"rbu@{k}[e=0.1,p=0.7,profile={profile}]", f"err_ia@{k}[form=weighted,profile={profile}]"]
    for k in cutoffs:
        words += [f"alpha_ndcg@{k}[alpha={alpha},gain={g}]" for alpha in (0, 0.25, 1) for g in GAINS]
        words += [f"err_ia@{k}[alpha={alpha},form={form}]" for alpha in (0.3, 1) for form in ("ndeval", "plain")]
        words += [f"{name}@{k}[relevant_only={only}]" for name in ("srecall", "srr") for only in ("true", "false")]
    return [parse(word) for word in words]


def expected(spec: Spec, world: World, user: str, ranked: list[str], targets: list[str]) -> float:
    """The oracle's value for one user."""
    name, k, how = spec.metric.name, spec.k, dict(spec.parameters)
    ratings = world.ratings.get(user, {})
    relevant = {item: value for item, value in ratings.items() if value >= THRESHOLD}
    low, high = min(world.values()), max(world.values())
    weights = None
    if "profile" in how:
        profile = ratings if how.pop("profile") == "test" else world.train.get(user, {})
        weights = naive.interest(profile, world.aspects, world.names())
    if "gain" in how:
        how["form"] = how.pop("gain")
    shown = (ranked, relevant, world.aspects)
    if name == "abndcg":
        return naive.abndcg(ranked, ratings, world.aspects, targets, weights, k, low=low, high=high, **how)
    if name == "alpha_ndcg":
        return naive.alpha_ndcg(*shown, k, high=high, **how)
    if name == "nrbp":
        return naive.nrbp(*shown, high=high, **how)
    if name == "err_ia":
        return naive.err_ia(*shown, k, weights=weights, high=high, **how)
    if name == "eu":
        return naive.eu(*shown, k, weights, high=high, **how)
    if name == "rbu":
        return naive.rbu(*shown, k, weights, **how)
    only = relevant if how["relevant_only"] else None
    return getattr(naive, name)(ranked, relevant if only is not None else targets, world.aspects, k, only=only)
