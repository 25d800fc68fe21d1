"""A whole evaluation once more, from the definitions alone: targets, ties, relevance, metrics, averages.

Like the other oracles this never imports `trueval`. A design gives every unit its target sets (several where they are
drawn), scores cut a target set into blocks of equals, and a rule for ties says which orders of the blocks count:

    random          any order may have been drawn
    given, falling  equals by their names, rising or falling
    expected        the mean over all orders
    best, worst     the order that is best or worst for the metric

`chance` is the mean over all orders of the targets, whatever the scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from oracles import naive_aspects
from oracles import naive_metrics as naive

NAN = float("nan")
Order = tuple[str, ...]
Blocks = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class World:
    """Logs by user and item, scores, what is known of the items. Names sort like the codes of the code under test."""

    train: Mapping[str, Mapping[str, float]]
    test: Mapping[str, Mapping[str, float]]
    scores: Mapping[str, Mapping[str, float]]
    aspects: Mapping[str, Sequence[str]]
    propensity: Mapping[str, float]
    threshold: float

    @cached_property
    def users(self) -> list[str]:
        return sorted({*self.train, *self.test})

    @cached_property
    def items(self) -> list[str]:
        return sorted(self.aspects)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Train users of each item."""
        return {item: sum(item in own for own in self.train.values()) for item in self.items}

    @cached_property
    def liked(self) -> dict[str, dict[str, int]]:
        """Relevant ratings of each item, in train and in test."""
        return {
            name: {item: sum(own.get(item, -1) >= self.threshold for own in part.values()) for item in self.items}
            for name, part in (("train", self.train), ("test", self.test))
        }

    @cached_property
    def ratings(self) -> dict[str, int]:
        """Ratings of each item in train and test."""
        return {item: self.counts[item] + sum(item in own for own in self.test.values()) for item in self.items}


@dataclass(frozen=True)
class Axes:
    """A design in words: who is ranked, against whom."""

    one: bool = False
    test_items: bool = True
    sample: int = 0
    percentiles: int = 0
    head: float = 0.0
    condensed: bool = False
    seen: bool = False

    @staticmethod
    def read(text: str) -> Axes:
        words = text.split("-")
        first = words[0]
        axes = Axes(one="1R" in first, percentiles=int(first.split("1R")[1] or 0) if "P1R" in first else 0)
        for word in words[1:]:
            if word in ("TI", "AI", "LIST"):
                axes = replace(axes, test_items=word == "TI")
            elif word.startswith("NN"):
                axes = replace(axes, sample=int(word[2:]))
            elif word.startswith("head"):
                axes = replace(axes, head=float(word[4:]) / 100)
            elif word in ("condensed", "seen"):
                axes = replace(axes, **{word: True})
        return axes


@dataclass(frozen=True)
class Unit:
    """One target set (or several possible ones), what is judged, and the lists that may have been shown."""

    user: str
    judged: Mapping[str, float]
    possible: tuple[Blocks, ...]  # rankings in blocks of equals, one for every target set that may have been drawn
    stratum: int = 0
    one: str = ""  # the relevant item of a 1R unit
    drawn: Order | None = None  # the order that was drawn, where it is known
    targets: Order | None = None  # the target set, where the blocks are only a list of it
    listed: bool = True  # whether the user was given a list

    @property
    def target_sets(self) -> list[Order]:
        """The target sets that may have been drawn."""
        if self.targets is not None:
            return [self.targets]
        return [tuple(item for block in blocks for item in block) for blocks in self.possible]


# ---- designs -------------------------------------------------------------------------------------------------


def head_of(world: World, share: float) -> set[str]:
    """The most-rated items; those rated equally often go together, if that comes closer to the share."""
    rated = [item for item in world.items if world.ratings[item]]
    wanted = round(share * len(rated))
    head: set[str] = set()
    for count in sorted({world.ratings[item] for item in rated}, reverse=True):
        group = {item for item in rated if world.ratings[item] == count}
        if len(head) + len(group) - wanted >= wanted - len(head):
            break
        head |= group
    return head


def blocks_of(targets: Iterable[str], scores: Mapping[str, float]) -> Blocks:
    """Targets by falling score, equals together, in the order of their names."""
    ordered = sorted(targets, key=lambda item: (-scores[item], item))
    return tuple(tuple(block) for _, block in itertools.groupby(ordered, key=lambda item: scores[item]))


def units_of(world: World, axes: Axes) -> list[Unit]:
    """Every unit of a design, for every user."""
    pool = sorted({i for own in world.test.values() for i in own}) if axes.test_items else world.items
    head = head_of(world, axes.head) if axes.head else set()
    pool = [item for item in pool if item not in head]
    strata = [pool]
    if axes.percentiles:
        popular = sorted(pool, key=lambda item: (-world.ratings[item], item))
        size, more = divmod(len(popular), axes.percentiles)
        ends = [0, *itertools.accumulate(size + (at < more) for at in range(axes.percentiles))]
        strata = [popular[a:b] for a, b in itertools.pairwise(ends)]
    found = []
    for number, stratum in enumerate(strata):
        for user in world.users:
            judged = {i: v for i, v in world.test.get(user, {}).items() if i in stratum}
            relevant = naive.relevant_items(judged, world.threshold)
            if axes.percentiles and not relevant:
                continue
            seen = set() if axes.seen else set(world.train.get(user, ()))
            others = [item for item in stratum if item not in relevant and item not in seen]
            drawn = itertools.combinations(others, min(axes.sample, len(others))) if axes.sample else [others]
            sets = [[*relevant, *some] for some in drawn]
            if axes.condensed:
                sets = [[item for item in own if item in judged] for own in sets]
            ones = [[one] for one in relevant] if axes.one else [list(relevant)]
            for mine in ones:
                kept = [[i for i in own if i in mine or i not in relevant] for own in sets]
                rated = {i: v for i, v in judged.items() if i in mine or i not in relevant}
                if axes.one:
                    rated = {i: v for i, v in rated.items() if i in mine}
                possible = tuple(blocks_of(own, world.scores[user]) for own in kept)
                found.append(Unit(user, rated, possible, number, mine[0] if axes.one else ""))
    return found


def units_of_lists(world: World, lists: Mapping[str, Blocks], axes: Axes) -> list[Unit]:
    """Every user with the list that was shown (blocks of equals), and the items that could have been shown instead."""
    head = head_of(world, axes.head) if axes.head else set()
    found = []
    for user in world.users:
        judged = {i: v for i, v in world.test.get(user, {}).items() if i not in head}
        seen = set() if axes.seen else set(world.train.get(user, ()))
        targets = tuple(item for item in world.items if item not in seen)
        shown = lists.get(user, ())
        if axes.condensed:
            targets = tuple(item for item in targets if item in judged)
            shown = tuple(block for block in (tuple(i for i in b if i in judged) for b in shown) if block)
        found.append(Unit(user, judged, (shown,), targets=targets, listed=user in lists))
    return found


# ---- orders of equals ----------------------------------------------------------------------------------------


def orders_of(blocks: Blocks) -> Iterator[Order]:
    """Every order in which blocks of equals can come."""
    for order in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield tuple(item for block in order for item in block)


# ---- one metric of one ranking -------------------------------------------------------------------------------

POPULAR = ("head_share", "mid_share", "tail_share")


@dataclass(frozen=True)
class Asked:
    """A metric: name, cutoff, parameters, transform, and which way is better."""

    name: str
    k: int | None
    params: Mapping[str, Any]
    transform: str = ""
    better: str = "higher"
    family: str = "accuracy"

    @property
    def key(self) -> Any:
        return self.name, self.k, tuple(sorted(self.params.items())), self.transform


def value(world: World, unit: Unit, order: Order, asked: Asked, *, condensed: bool = False) -> float:
    """One metric of one unit, its targets in this order."""
    if asked.transform in ("ips", "snips"):
        return _weighted(world, unit, order, asked)
    if asked.family in ("accuracy", "false_positives", "incomplete"):
        return _accuracy(world, unit, order, asked, condensed=condensed)
    if asked.family == "aspects":
        return _aspects(world, unit, order, asked)
    if asked.family == "errors":
        pairs = [(world.scores[unit.user][item], rating) for item, rating in unit.judged.items()]
        return naive.rating_error(asked.name, {unit.user: pairs})
    return _lists(world, unit, order, asked)


def _accuracy(world: World, unit: Unit, order: Order, asked: Asked, *, condensed: bool) -> float:
    params = dict(asked.params)
    if params.get("gmax") == 0:
        top = max(v for own in world.test.values() for v in own.values())
        params["gmax"] = 1.0 if asked.transform == "anti" else top
    if "count_from" in params:
        beta = params.pop("beta") or params["gamma"] / (params["gamma"] + 1)
        source = params.pop("count_from")
        params.pop("gamma"), params.pop("average", None)
        if beta:
            params["weights"] = item_weights(world, beta, source)
    if condensed and params.get("denom") == "k" and asked.name == "precision":
        del params["denom"]  # TP + FP, which is the oracle's own choice
    name = f"anti({asked.name})" if asked.transform == "anti" else asked.name
    return naive.value(name, order, unit.judged, k=asked.k, threshold=world.threshold, condensed=condensed, **params)


SUMMED = ("precision", "dcg", "rbp")  # the others are means over the relevant items


def _weighted(world: World, unit: Unit, order: Order, asked: Asked) -> float:
    """Σ of what each relevant item adds, over its propensity; snips: with weights of mean 1, here over one user."""
    relevant = naive.relevant_items(unit.judged, world.threshold)
    others = [item for item in order if item not in relevant]
    added = 0.0
    for rank, item in enumerate(order, 1):
        if item in relevant and (asked.k is None or rank <= asked.k):
            below = sum(order.index(item) < order.index(other) for other in others)
            added += 1 / world.propensity[item] * {
                "precision": lambda: 1 / (asked.k or 1),
                "recall": lambda: 1.0,
                "dcg": lambda rank=rank, item=item: relevant[item] * naive.DISCOUNTS[asked.params["discount"]](rank),
                "rbp": lambda rank=rank, item=item: _rbp(rank, relevant[item], **asked.params),
                "atop": lambda rank=rank: 1 - (rank - 1) / (len(order) - 1) if len(order) > 1 else NAN,
                "auc": lambda below=below: below / len(others) if others else NAN,
            }[asked.name]()  # fmt: skip
    if asked.transform == "ips":
        return added
    weight = inverse_sum(world, unit)
    if asked.name in SUMMED:
        return added / weight * len(relevant) if weight else 0.0
    return added / weight if weight else NAN


def _rbp(rank: int, grade: float, *, p: float, gain: str, **_: Any) -> float:
    return (1 - p) * p ** (rank - 1) * (grade if gain == "linear" else 1.0)


def inverse_sum(world: World, unit: Unit) -> float:
    """Σ of 1/p over the relevant items of a unit."""
    return sum(1 / world.propensity[item] for item in naive.relevant_items(unit.judged, world.threshold))


def item_weights(world: World, beta: float, source: str) -> dict[str, float]:
    """(number of relevant ratings)^-beta; counted in train alone, every item has one more."""
    added = dict.fromkeys(world.items, 1) if source == "train" else world.liked["test"]
    counts = {i: added[i] + (0 if source == "test" else world.liked["train"][i]) for i in world.items}
    return naive.item_weights({item: max(count, 1) for item, count in counts.items()}, beta=beta)


def _aspects(world: World, unit: Unit, order: Order, asked: Asked) -> float:
    how, ranked = dict(asked.params), list(order)
    relevant = naive.relevant_items(unit.judged, world.threshold)
    values = [v for part in (world.train, world.test) for own in part.values() for v in own.values()]
    targets = sorted(order) if unit.targets is None else sorted(unit.targets)
    names = sorted({a for own in world.aspects.values() for a in own})
    weights = None
    if "profile" in how:
        profile = unit.judged if how.pop("profile") == "test" else world.train.get(unit.user, {})
        weights = naive_aspects.interest(profile, world.aspects, names)
    if "gain" in how:
        how["form"] = how.pop("gain")
    shown, name, k = (ranked, relevant, world.aspects), asked.name, asked.k
    if name == "abndcg":
        low, high = min(values), max(values)
        return naive_aspects.abndcg(
            ranked, unit.judged, world.aspects, targets, weights, k, low=low, high=high, **how
        )  # fmt: skip
    if name in ("srecall", "srr"):
        only = relevant if how["relevant_only"] else None
        return getattr(naive_aspects, name)(
            ranked, relevant if only is not None else targets, world.aspects, k, only=only
        )
    if name == "alpha_ndcg":
        return naive_aspects.alpha_ndcg(*shown, k, high=max(values), **how)
    if name == "nrbp":
        return naive_aspects.nrbp(*shown, high=max(values), **how)
    if name == "err_ia":
        return naive_aspects.err_ia(*shown, k, weights=weights, high=max(values), **how)
    if name == "eu":
        return naive_aspects.eu(*shown, k, weights, high=max(values), **how)
    return naive_aspects.rbu(*shown, k, weights, **how)


def _features(world: World, item: str) -> dict[str, float]:
    return dict.fromkeys(world.aspects[item], 1.0)


def _lists(world: World, unit: Unit, order: Order, asked: Asked) -> float:
    name, k, how, ranked = asked.name, asked.k, asked.params, list(order)
    own = world.train.get(unit.user, {})
    people = sum(bool(mine) for mine in world.train.values())
    if name == "cold":
        return naive.value("seen", ranked, {}, k=k, train=[i for i, n in world.counts.items() if n == 0])
    if name == "average_popularity":
        return naive.system_value(name, {"": ranked}, k=k, popularity=world.counts)
    if name in POPULAR:
        cut = naive.strata_shares(world.liked["train"], head=how.get("head", 0), tail=how.get("tail", 0))
        return naive.system_value(name, {"": ranked}, k=k, strata=cut)

    def cosine(a: str, b: str) -> float:
        return naive.cosine(_features(world, a), _features(world, b))

    options: dict[str, Any] = {}
    if name in ("novelty", "epc"):
        options = {"popularity": world.counts, "n_users": people}
    if name == "efd":
        options = {"popularity": world.counts}
    if name == "epd":
        options = {"profile": own, "similarity": cosine}
    if name in ("epc", "efd", "epd"):
        options["aware"] = how["relevance"]
    if name == "ild":
        options = {"similarity": cosine}
    if name == "serendipity":
        new = [item for item in world.items if item not in own]
        options = {"baseline": blocks_of(new, world.counts), "denom": how["denom"]}
    if name == "seen":
        options = {"train": own}
    known = {"list_length": "length"}.get(name, name)
    return naive.value(known, ranked, unit.judged, k=k, threshold=world.threshold, **options)


def system_value(world: World, lists: Mapping[str, Order], asked: Asked, catalogue: Sequence[str]) -> float:
    """A metric of all lists together."""
    how = asked.params
    name = {
        "coverage": "coverage",
        "entropy": "entropy",
        "gini": "gini",
        "popularity_rank": f"{how.get('average')}_popularity_rank",
        "tail_coverage": "tail_coverage",
    }[asked.name]
    cut = naive.strata_shares(world.liked["train"], tail=how["tail"]) if "tail" in how else None
    return naive.system_value(name, lists, catalogue=catalogue, k=asked.k, popularity=world.liked["train"], strata=cut)


DRAWN = ("random", "given", "falling")


def by_name(blocks: Blocks, ties: str) -> Order:
    """Equals by their names, rising or falling."""
    return tuple(item for block in blocks for item in sorted(block, reverse=ties == "falling"))


# ---- rules for ties ------------------------------------------------------------------------------------------


def possible_values(world: World, unit: Unit, asked: Asked, ties: str, *, condensed: bool = False) -> list[float]:
    """The values that a metric may have under a rule for ties: one, unless something was drawn and is not known."""
    if asked.name == "auc":  # equal scores count one half, whatever the rule
        ties = "expected"
    if ties in DRAWN and unit.drawn is not None:
        return [value(world, unit, unit.drawn, asked, condensed=condensed)]
    found: list[float] = []
    for blocks in unit.possible:
        if ties in ("given", "falling"):
            values = [value(world, unit, by_name(blocks, ties), asked, condensed=condensed)]
        else:
            values = all_values(world, unit, blocks, asked, condensed=condensed)
        found += settled(values, ties, asked.better)
    return found


def all_values(world: World, unit: Unit, blocks: Blocks, asked: Asked, *, condensed: bool) -> list[float]:
    """The values of all orders of equals; worked out once for all rules and populations."""
    key = (id(world), unit.user, unit.one, tuple(unit.judged.items()), unit.targets, blocks, asked.key, condensed)
    if key not in _KNOWN:
        _KNOWN[key] = [value(world, unit, order, asked, condensed=condensed) for order in orders_of(blocks)]
    return _KNOWN[key]


_KNOWN: dict[Any, list[float]] = {}


def settled(values: list[float], ties: str, better: str) -> list[float]:
    """What a rule makes of the values of all orders; where none is better than another all must be alike."""
    if ties in DRAWN:
        return values
    if ties == "expected":
        return [mean(values)]
    if any(map(math.isnan, values)):
        return [NAN]
    if better == "neither":
        return values[:1] if max(values) - min(values) < 1e-12 else []
    return [max(values) if (ties == "best") == (better == "higher") else min(values)]


def chance(world: World, unit: Unit, asked: Asked, *, condensed: bool = False) -> float:
    """Expected value of a random order of the targets (of the first target set that may have been drawn)."""
    targets = unit.target_sets[0]
    key = ("chance", id(world), unit.user, unit.one, tuple(unit.judged.items()), targets, asked.key, condensed)
    if key not in _KNOWN:
        # items that nobody judged are alike: one of their orders will do
        unjudged = [item for item in targets if item not in unit.judged]
        orders = [
            order for order in itertools.permutations(targets) if [i for i in order if i not in unit.judged] == unjudged
        ]
        _KNOWN[key] = [mean([value(world, unit, order, asked, condensed=condensed) for order in orders])]
    return _KNOWN[key][0]


# ---- averages ------------------------------------------------------------------------------------------------


def mean(values: Sequence[float]) -> float:
    """Mean of the values that are there."""
    known = [x for x in values if not math.isnan(x)]
    return math.fsum(known) / len(known) if known else NAN


def is_pooled(asked: Asked) -> bool:
    """Whether numerators and denominators of all units are added up before they are divided."""
    how = asked.params
    if asked.family == "errors" or how.get("average") == "pooled":
        return True
    return asked.name in ("recall", "atop", "auc") and how["beta"] > 0


def pool_weight(world: World, unit: Unit, asked: Asked) -> float:
    """How much a unit counts in the total: 1 in a mean over units, what it was divided by where they are pooled."""
    relevant = naive.relevant_items(unit.judged, world.threshold)
    how = asked.params
    if not is_pooled(asked):
        return 1.0
    if asked.family == "errors":
        return float(len(unit.judged))
    if asked.transform == "snips":
        return inverse_sum(world, unit)
    if asked.name in ("recall", "atop", "auc"):
        flipped = [item for item in unit.judged if item not in relevant]
        weights = item_weights(world, how["beta"], how["count_from"])
        return sum(weights[item] for item in (flipped if asked.transform == "anti" else relevant))
    return 1.0


def total(world: World, units: Sequence[Unit], values: Sequence[float], asked: Asked) -> float:
    """The average over units, percentile by percentile."""
    if asked.transform == "snips" and is_pooled(asked) and asked.name in SUMMED:
        return _summed_snips(world, units, values)
    turned = [v * v for v in values] if asked.name == "rmse" else values
    found = []
    for stratum in sorted({unit.stratum for unit in units}):
        rows = [(u, v) for u, v in zip(units, turned) if u.stratum == stratum and not math.isnan(v)]
        weights = [pool_weight(world, unit, asked) for unit, _ in rows]
        if sum(weights) > 0:
            found.append(math.fsum(w * v for w, (_, v) in zip(weights, rows)) / math.fsum(weights))
    value = mean(found)
    return math.sqrt(value) if asked.name == "rmse" else value


def _summed_snips(world: World, units: Sequence[Unit], values: Sequence[float]) -> float:
    """What the weighted mean relevant item adds, times the relevant items per unit; `values` are the units' own."""
    added = weight = number = 0.0
    known = [(unit, own) for unit, own in zip(units, values) if not math.isnan(own)]
    for unit, own in known:
        relevant = len(naive.relevant_items(unit.judged, world.threshold))
        if relevant:
            added += own * inverse_sum(world, unit) / relevant
            weight += inverse_sum(world, unit)
            number += relevant
    return added / weight * number / len(known) if weight else NAN


def expected_system_value(world: World, units: Sequence[Unit], asked: Asked, catalogue: Sequence[str]) -> float:
    """Mean over all orders of equals of all users, of metrics that need the share of each item alone."""
    shown: dict[str, float] = {}
    nobody = dict.fromkeys(world.items, 1.0)
    for unit in units:
        tops = [order[: asked.k] for order in orders_of(unit.possible[0])]
        for item in world.items:
            share = sum(item in top for top in tops) / len(tops)
            shown[item] = shown.get(item, 0.0) + share
            nobody[item] *= 1 - share
    if asked.name == "popularity_rank":
        ranks = naive.popularity_ranks(world.liked["train"])
        return sum(shown[i] * ranks[i] for i in shown) / sum(shown.values()) if sum(shown.values()) else NAN
    of = dict.fromkeys(catalogue, 1.0)
    if asked.name == "tail_coverage":
        of = naive.strata_shares(world.liked["train"], tail=asked.params["tail"])["tail"]
    return sum((1 - nobody[item]) * own for item, own in of.items()) / sum(of.values()) if sum(of.values()) else NAN
