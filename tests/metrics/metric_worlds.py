"""Small worlds for the tests of metrics, and the table that makes every registered metric a case of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.evaluation.item_aspects import item_aspects
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs, ItemPopularity, Positives, RowPropensity
from trueval.metrics.popularity_strata import STRATA
from trueval.metrics.registry import Metric, all_metrics
from trueval.metrics.spec import Spec
from trueval.metrics.tie_checks import check_ties

# Values at which parameters that are numbers are tested. A new number parameter needs a row here.
NUMBERS: dict[tuple[str, str], tuple[float, ...]] = {
    ("abndcg", "alpha"): (0.3,),
    ("abndcg", "beta"): (0.5,),
    ("alpha_ndcg", "alpha"): (0.25,),
    ("err", "gmax"): (0, 5, 7),
    ("err_ia", "alpha"): (0.5,),
    ("eu", "alpha"): (0.25,),
    ("eu", "beta"): (0.9,),
    ("eu", "e"): (0.05,),
    ("fbeta", "beta"): (0, 0.5, 1, 2),
    ("head_share", "head"): (0.1, 0.4),
    ("mid_share", "head"): (0.1, 0.4),
    ("mid_share", "tail"): (0.3, 0.5),
    ("nrbp", "alpha"): (0.5,),
    ("nrbp", "beta"): (0.9,),
    ("rbp", "p"): (0, 0.5, 0.8),
    ("rbu", "e"): (0.05,),
    ("rbu", "p"): (0.99,),
    ("tail_coverage", "tail"): (0, 0.3, 0.5),
    ("tail_share", "tail"): (0.3, 0.5),
}
# Inputs that `World.inputs` can supply. A new kind of input needs a field there and its name here.
SUPPLIED = {"train", "popularity", "features", "positives", "aspects", "interest", "targets"}


@dataclass(frozen=True)
class World:
    """Users with ranked targets (in blocks of equal scores, best first), judgements, train items; features.

    With `complete` the blocks hold every target of a user, otherwise they are a list that was shown.
    """

    groups: Mapping[Any, Sequence[Sequence[Any]]]
    judged: Mapping[Any, Mapping[Any, float]]
    threshold: float | None = None
    train: Mapping[Any, Sequence[Any]] = field(default_factory=dict)
    features: Mapping[Any, Sequence[float]] = field(default_factory=dict)
    others: Sequence[Any] = ()  # items of the catalogue that nobody ranked or judged
    complete: bool = True

    @cached_property
    def users(self) -> list[Any]:
        return sorted({*self.groups, *self.judged})

    @cached_property
    def items(self) -> list[Any]:
        rows = [*(block for groups in self.groups.values() for block in groups), *self.judged.values()]
        return sorted({*itertools.chain(*rows, *self.train.values()), *self.features, *self.others})

    @cached_property
    def counts(self) -> dict[Any, int]:
        """Train rows of each item."""
        return {item: sum(item in own for own in self.train.values()) for item in self.items}

    @property
    def train_users(self) -> int:
        return sum(bool(own) for own in self.train.values())

    def relevant(self, user: Any) -> dict[Any, float]:
        rows = self.judged.get(user, {}).items()
        return {i: v for i, v in rows if (v > 0 if self.threshold is None else v >= self.threshold)}

    def ranked(self, user: Any) -> list[Any]:
        """The list of a user, equals in the order in which their block names them."""
        return [item for block in self.groups.get(user, ()) for item in block]

    def facts(self, ties: str = "random") -> RankingFacts:
        """The facts of this world, put together by hand: no builder of trueval has a part in them."""
        code = {item: j for j, item in enumerate(self.items)}
        rows: list[tuple[int, float, bool, int, int, int]] = []
        counts, shown, lengths, same = [], [], [], []
        for user in self.users:
            blocks, judged = self.groups.get(user, ()), self.judged.get(user, {})
            place = {item: r for r, item in enumerate(self.ranked(user), 1)}
            size = {item: (sum(map(len, blocks[:at])), len(block)) for at, block in enumerate(blocks) for item in block}
            order = sorted(judged, key=lambda item: (place.get(item, len(place) + 1), code[item]))
            mine = self.relevant(user)
            rows += [(code[i], judged[i], i in mine, place.get(i, 0), *size.get(i, (0, 0))) for i in order]
            counts.append(len(judged))
            shown += [code[item] for item in place]
            lengths.append(len(place))
            same += [at + 1 < len(block) for block in blocks for at in range(len(block))]
        item, value, relevant, rank, above, tied = ([row[j] for row in rows] for j in range(6))
        facts = RankingFacts(
            unit_user=np.arange(len(self.users), dtype=np.int32),
            start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            item=np.array(item, np.int32),
            value=np.array(value, np.float64),
            relevant=np.array(relevant, bool),
            rank=np.array(rank, np.int32),
            above=np.array(above, np.int32),
            tied=np.array(tied, np.int32),
            list_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            list_item=np.array(shown, np.int32),
            targets=np.array(lengths if self.complete else [UNKNOWN] * len(lengths), np.int64),
            users=Ids(pl.Series(self.users)),
            items=Ids(pl.Series(self.items)),
            catalogue=len(self.items),
            exact=self.complete,
            highest=max(value, default=0.0),
            list_same=np.array(same, bool),
        )
        return with_ties(facts, ties)

    def run_table(self) -> pl.DataFrame:
        """One row per ranked item; the members of a block share a score."""
        rows = [
            (user, item, -float(at))
            for user, groups in self.groups.items()
            for at, block in enumerate(groups)
            for item in block
        ]
        kinds = {"user": pl.Series(self.users).dtype, "item": pl.Series(self.items).dtype, "score": pl.Float64}
        return pl.DataFrame(rows, schema=kinds, orient="row")

    def test_table(self) -> pl.DataFrame:
        rows = [(u, i, float(v)) for u, judged in self.judged.items() for i, v in judged.items()]
        return pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")

    def train_table(self) -> pl.DataFrame:
        rows = [(user, item) for user, own in self.train.items() for item in own]
        return pl.DataFrame(rows, schema=["user", "item"], orient="row")

    def item_table(self) -> pl.DataFrame:
        """The catalogue; an item has an aspect where its feature is not 0."""
        aspects = [[f"f{j}" for j, x in enumerate(self.features.get(item, ())) if x] for item in self.items]
        return pl.DataFrame({"item": self.items, "aspects": aspects}, schema_overrides={"aspects": pl.List(pl.String)})

    def inputs(self) -> Inputs:
        users, items = Ids(pl.Series(self.users)), Ids(pl.Series(self.items))
        counts = np.array([self.counts[item] for item in self.items], np.int64)
        width = len(next(iter(self.features.values()))) if self.features else 0
        features = np.array([self.features.get(item, [0.0] * width) for item in self.items], np.float64)
        relevant = np.array([sum(item in self.relevant(user) for user in self.users) for item in self.items], np.int64)
        return Inputs(
            train=self._train(users, items),
            popularity=ItemPopularity(counts, self.train_users),
            features=features.reshape(len(self.items), width),
            positives=Positives(lambda: counts, lambda: relevant),
            aspects=item_aspects(self.item_table(), items),
            interest=Interest(lambda: self._train(users, items), self._scale),
            targets=self._targets(users, items),
        )

    def propensity(self, chance: Callable[[Any, Any], float]) -> RowPropensity:
        """Chances that the relevant pairs were observed, by user and item."""
        pairs = [(u, i, chance(u, i)) for u in self.users for i in self.relevant(u)]
        schema = {"user": pl.Series(self.users).dtype, "item": pl.Series(self.items).dtype, "value": pl.Float64}
        table = pl.DataFrame(pairs, schema=schema, orient="row")
        return RowPropensity(ByUser.code(table, Ids(pl.Series(self.users)), Ids(pl.Series(self.items))), "made up")

    def _scale(self) -> tuple[float, float]:
        values = [value for judged in self.judged.values() for value in judged.values()]
        return min(values, default=1.0), max(values, default=1.0)

    def _targets(self, users: Ids, items: Ids) -> Targets:
        """Complete rankings are the target sets; otherwise all items but those of the user's train log."""
        if not self.complete:
            return Targets(lambda: np.ones(len(items), bool), self._train(users, items))
        pairs = [(u, i) for u in self.users for i in self.ranked(u)]
        user = users.codes(pl.Series([u for u, _ in pairs], dtype=users.values.dtype))
        item = items.codes(pl.Series([i for _, i in pairs], dtype=items.values.dtype))
        return Targets(lambda: np.zeros(len(items), bool), None, ByUser.of(user, item, n_users=len(users)))

    def _train(self, users: Ids, items: Ids) -> ByUser:
        own = [(u, i) for u, mine in self.train.items() for i in mine]
        user = users.codes(pl.Series([u for u, _ in own], dtype=users.values.dtype))
        item = items.codes(pl.Series([i for _, i in own], dtype=items.values.dtype))
        return ByUser.of(user, item, n_users=len(users))

    def renamed(self, users: Mapping[Any, Any], items: Mapping[Any, Any]) -> World:
        """The same world under other ids."""
        return replace(
            self,
            groups={users[u]: [[items[i] for i in block] for block in g] for u, g in self.groups.items()},
            judged={users[u]: {items[i]: v for i, v in rows.items()} for u, rows in self.judged.items()},
            train={users[u]: [items[i] for i in own] for u, own in self.train.items()},
            features={items[i]: row for i, row in self.features.items()},
            others=[items[i] for i in self.others],
        )


def random_world(
    seed: int, *, users: int = 6, items: int = 8, ties: bool = False, complete: bool = True, threshold: float | None = 3
) -> World:
    """Graded judgements of some of the targets, a list or a complete ranking for each user, distinct train counts.

    User 0 has no relevant item; without `complete`, user 1 has no list and the others' lists are short.
    """
    rng = np.random.default_rng(seed)
    names, people = [f"i{j}" for j in range(items)], [f"u{j}" for j in range(users)]
    groups, judged = {}, {}
    for at, user in enumerate(people):
        order = [names[j] for j in rng.permutation(items)]
        known = rng.permutation(order)[: rng.integers(3, items)].tolist()
        low = 0 if threshold is None else 1
        judged[user] = {item: float(rng.integers(low, 6)) for item in known}
        if at == 0:
            judged[user] = dict.fromkeys(known, float(low))
        elif not any(v >= (threshold or 0.5) for v in judged[user].values()):
            judged[user][known[0]] = 5.0
        shown = order if complete else order[: 0 if at == 1 else rng.integers(2, items)]
        cuts = rng.random(len(shown)) < 0.5 if ties else np.ones(len(shown), bool)
        groups[user] = [
            list(block) for _, block in itertools.groupby(shown, key=dict(zip(shown, np.cumsum(cuts))).__getitem__)
        ]
    train_items = [f"t{j}" for j in range(3)] + names[: items // 2]
    train = {f"v{at:02}": train_items[: 1 + at] for at in range(len(train_items))}
    train |= {user: train_items[: 1 + at % 3] for at, user in enumerate(people)}
    features = {item: (rng.random(3) < 0.6).astype(float).tolist() for item in [*names, *train_items]}
    return World(groups, {**judged, **{u: {} for u in train if u not in judged}}, threshold, train, features,
                 ["z0", "z1"], complete)  # fmt: skip


def settled(spec: Spec, facts: RankingFacts) -> bool:
    """Whether a metric has a value under the tie rule of the facts: not where equals leave open what it measures."""
    try:
        check_ties(spec, facts)
    except DefinitionError:
        return False
    return True


def specs_of(metric: Metric, *, cutoffs: Sequence[int] = (1, 3, 20)) -> list[Spec]:
    """Every choice of every parameter of a metric, at several cutoffs and, where it may be left out, at none."""
    names = plain_parameters(metric)
    choices = [metric.parameters[n].choices or NUMBERS[metric.name, n] for n in names]
    ks = {"required": cutoffs, "optional": (None, *cutoffs), "none": (None,)}[metric.cutoff]
    chosen = [
        (k, dict(zip(names, values)))
        for k in ks
        for values in itertools.product(*choices)
        if k or "k" not in values  # a parameter that is k needs a cutoff
    ]
    return [
        parse(metric.name + (f"@{k}" if k else "") + _written(values))
        for k, values in chosen
        if not idle(metric, k, values)
    ]


def idle(metric: Metric, k: int | None, values: Mapping[str, Any]) -> bool:
    """Whether a parameter would change nothing beside the others, and is refused."""
    options = metric.options(values, cut=k is not None)
    return any(
        value != metric.parameters[name].default and metric.parameters[name].idle is not None
        and metric.parameters[name].idle(options)
        for name, value in values.items()
    )  # fmt: skip


def plain_parameters(metric: Metric) -> list[str]:
    """Parameters of a metric but for popularity weights, which go with any of them: see `stratified_specs`."""
    return sorted(set(metric.parameters) - set(STRATA) if "count_from" in metric.parameters else metric.parameters)


def stratified_specs(*, cutoffs: Sequence[int] = (1, 3, 20)) -> list[Spec]:
    """Metrics with popularity weights, in every choice of what is counted and how users are averaged."""
    weighted = [metric for metric in all_metrics() if "count_from" in metric.parameters]
    choices = {name: parameter.choices or (0.5, 1) for name, parameter in STRATA.items() if name != "gamma"}
    specs = []
    for metric, k in itertools.product(weighted, cutoffs):
        names = [name for name in choices if name in metric.parameters]
        for values in itertools.product(*(choices[name] for name in names)):
            if idle(metric, k, dict(zip(names, values))):
                continue
            specs.append(
                parse(metric.name + ("" if metric.cutoff == "none" else f"@{k}") + _written(dict(zip(names, values))))
            )
    return list(dict.fromkeys(specs))


def every_spec(*families: str, cutoffs: Sequence[int] = (1, 3, 20)) -> list[Spec]:
    """Every form of every registered metric (of some families)."""
    chosen = [metric for metric in all_metrics() if not families or metric.family in families]
    return list(dict.fromkeys(spec for metric in chosen for spec in specs_of(metric, cutoffs=cutoffs)))


def _written(values: Mapping[str, Any]) -> str:
    words = [f"{name}={str(v).lower() if isinstance(v, bool) else v}" for name, v in values.items()]
    return f"[{','.join(words)}]" if words else ""
