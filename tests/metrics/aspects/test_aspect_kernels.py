"""Compiled and plain kernels give the same bits, whatever the blocks; the greedy ideal at work on larger worlds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from aspect_worlds import specs

from oracles import naive_aspects as naive
from trueval.data.aspects import Aspects
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import use_kernels, use_threads
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.aspects import kernel_columns
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs

ITEMS, USERS, ASPECTS, SHOWN = 120, 30, 9, 25


def random_facts(seed: int, *, listed: bool = False) -> tuple[RankingFacts, Inputs]:
    """Users with lists, half-star ratings and profiles; few distinct sets of aspects, hence many ties."""
    rng = np.random.default_rng(seed)
    shape = rng.random((12, ASPECTS)) < rng.uniform(0.05, 0.5)
    pairs = np.argwhere(shape[rng.integers(0, 12, ITEMS)])
    aspects = Aspects.of(pairs[:, 0], pl.Series([f"a{a}" for a in pairs[:, 1]], dtype=pl.String), n_items=ITEMS)
    parts: dict[str, list] = {name: [] for name in ("item", "value", "rank", "shown", "train", "stars", "targets")}
    sizes: dict[str, list[int]] = {"judged": [], "train": [], "targets": []}
    for _ in range(USERS):
        order = rng.permutation(ITEMS)
        seen, rest = np.sort(order[: rng.integers(0, 30)]), order[30:]
        judged = rng.permutation(rest)[: rng.integers(0, 40)]
        shown = rng.permutation(rest)[:SHOWN]
        place = {int(item): r for r, item in enumerate(shown, 1)}
        own = np.union1d(rng.permutation(rest)[:40], judged)
        judged = np.array(sorted(judged, key=lambda i: (place.get(int(i), 99), i)), np.int32)
        parts["item"].append(judged)
        parts["value"].append(rng.integers(0, 11, len(judged)) / 2)
        parts["rank"].append([place.get(int(i), 0) for i in judged])
        parts["shown"].append(shown)
        parts["train"].append(seen)
        parts["stars"].append(rng.integers(0, 11, len(seen)) / 2)
        parts["targets"].append(own)
        for name, rows in (("judged", judged), ("train", seen), ("targets", own)):
            sizes[name].append(len(rows))
    flat = {name: np.concatenate([np.asarray(p) for p in rows]) for name, rows in parts.items()}
    start = {name: np.concatenate([[0], np.cumsum(number)]).astype(np.int64) for name, number in sizes.items()}
    rank = flat["rank"].astype(np.int32)
    facts = RankingFacts(
        unit_user=np.arange(USERS, dtype=np.int32), start=start["judged"], item=flat["item"].astype(np.int32),
        value=flat["value"], relevant=flat["value"] >= 3, rank=rank, above=np.maximum(rank - 1, 0),
        tied=np.minimum(rank, 1), list_start=np.arange(USERS + 1) * SHOWN, list_item=flat["shown"].astype(np.int32),
        targets=np.zeros(USERS, np.int64), users=Ids(pl.Series(range(USERS))), items=Ids(pl.Series(range(ITEMS))),
        catalogue=ITEMS, exact=False,
    )  # fmt: skip
    train = ByUser(start["train"], flat["train"].astype(np.int32), flat["stars"])
    lists = ByUser(start["targets"], flat["targets"].astype(np.int32)) if listed else None
    offer = np.zeros(ITEMS, bool) if listed else np.arange(ITEMS) % 7 > 0
    targets = Targets(lambda: offer, train, lists)
    return facts, Inputs(aspects=aspects, interest=Interest(lambda: train, lambda: (0.0, 5.0)), targets=targets)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("listed", [False, True])
def test_compiled_and_plain_give_the_same_bits(seed: int, listed: bool, monkeypatch: pytest.MonkeyPatch):
    facts, inputs = random_facts(seed, listed=listed)
    more = ["abndcg@25", "abndcg@25[alpha=0.5,beta=0.5]", "abndcg@60[alpha=0]", "abndcg@120", "alpha_ndcg@25"]
    for spec in [*specs(cutoffs=(4,)), *map(parse, more)]:
        with use_kernels("plain"):
            wanted = compute(spec, facts, inputs).per_unit
        for block in (4096, 7):
            monkeypatch.setattr(kernel_columns, "BLOCK", block)
            with use_kernels("compiled"), use_threads(2):
                found = compute(spec, facts, inputs).per_unit
            np.testing.assert_array_equal(found, wanted, err_msg=f"{spec} in blocks of {block}")
        assert wanted is not None
        assert not np.isnan(wanted).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("alpha", "beta", "k"), [(0.005, 0.5, 40), (0.4, 0.6, 15)])
def test_the_ideal_is_that_of_a_full_scan(seed: int, listed: bool, alpha: float, beta: float, k: int):
    """Deep cutoffs, so that rated items run out and groups are exhausted: every target is looked at by the oracle."""
    facts, inputs = random_facts(100 + seed, listed=listed)
    assert inputs.aspects is not None
    assert inputs.interest is not None
    assert inputs.targets is not None
    has = {i: [inputs.aspects.names[a] for a in _slice(inputs.aspects, i)] for i in range(ITEMS)}
    train = inputs.interest.ratings() if inputs.interest.ratings else ByUser.empty(USERS)
    with use_kernels("compiled"):
        found = compute(parse(f"abndcg@{k}[alpha={alpha},beta={beta}]"), facts, inputs).per_unit
    assert found is not None
    for u in range(0, USERS, 10):
        own = slice(facts.start[u], facts.start[u + 1])
        ratings = dict(zip(facts.item[own].tolist(), facts.value[own].tolist()))
        mine = slice(train.start[u], train.start[u + 1])
        profile = dict(zip(train.item[mine].tolist(), train.value[mine].tolist()))  # type: ignore[index]
        pool = set(np.flatnonzero(inputs.targets.offered).tolist()) | set(ratings)
        if inputs.targets.listed is not None:
            rows = inputs.targets.listed
            pool = set(rows.item[rows.start[u] : rows.start[u + 1]].tolist()) | set(ratings)
        wanted = naive.abndcg(
            facts.list_item[facts.list_start[u] : facts.list_start[u + 1]].tolist(), ratings, has,
            pool - (set(profile) - set(ratings)), naive.interest(profile, has, inputs.aspects.names), k,
            alpha=alpha, beta=beta, low=0, high=5,
        )  # fmt: skip
        assert found[u] == pytest.approx(wanted, rel=1e-11)


def _slice(aspects: Aspects, item: int) -> list[int]:
    return aspects.aspect[aspects.start[item] : aspects.start[item + 1]].tolist()
