"""Steck (2011), quick: recall against a naive computation, Table 1, and its statements on a generated world."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.papers.data_checks import world_like_movielens
from trueval.papers.record import Figure
from trueval.papers.reproduction import Reproduction
from trueval.papers.steck2011 import recall_curves as curves
from trueval.papers.steck2011.evaluation import BEST, BETAS, MF, SVD, allrank
from trueval.papers.steck2011.popularity_weights import _close_to_beta, _curves
from trueval.papers.steck2011.user_study import rankings


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return tv.reproduce("steck2011", quick=True)


def figure(found: Reproduction, name: str) -> Figure:
    return next(one for one in found.figures if one.name == name)


def test_bestsellers_without_the_head_by_hand(found: Reproduction) -> None:
    """Head items keep their places: a list of bestsellers is full of them, and of what is left little counts."""
    table = figure(found, "1").tables["steck2011-1"]
    own = table.filter(system="bestseller", k=20)
    whole, tail = (own.filter(pl.col("panel").str.starts_with(letter))["value"].item() for letter in "ab")
    assert whole > 0.3
    assert tail < whole / 10


def test_coverage_of_bestsellers_by_hand(found: Reproduction) -> None:
    """Everybody's first item is the most popular one that they have not rated: few items are needed for all."""
    parts = tv.split(world_like_movielens(True, 0), "holdout", ratio=0.1, seed=1)
    counts = parts.train.frame.group_by("item").len().sort("len", descending=True)
    order, number = counts["item"].to_list(), dict(counts.iter_rows())
    seen = {user: set(rows["item"]) for (user,), rows in parts.train.frame.group_by("user")}
    firsts = set()
    for user in set(parts.train.frame["user"]) | set(parts.test.frame["user"]):
        best = next(item for item in order if item not in seen.get(user, ()))
        equal = [item for item in order if number[item] == number[best] and item not in seen.get(user, ())]
        firsts.add(best if len(equal) == 1 else None)
    known = firsts - {None}
    table = figure(found, "4").tables["steck2011-4"]
    shown = table.filter(system="bestseller", k=1)["coverage"].item() * world_like_movielens(True, 0).n_items
    assert len(known) <= round(shown) <= len(known) + 5


def test_recall_by_hand(found: Reproduction) -> None:
    """Pooled recall of a system follows from the ranks of its relevant items; here: it grows with k, up to 1."""
    table = figure(found, "2").tables["steck2011-2"]
    for _, own in table.filter(pl.col("beta").is_in([0.0, 0.5, 1.0])).group_by("system", "beta"):
        values = own.sort("k")["value"].to_numpy()
        assert (np.diff(values) >= 0).all()
        assert 0 <= values[0] <= values[-1] <= 1


def test_totals_of_the_rankings() -> None:
    """Counted one by one, from the file."""
    order = ["AllRank-Pop 0", "AllRank-Pop 0.33", "AllRank-Pop 0.67", "AllRank-Pop 0.9", "MF-RMSE"]
    fulfilled, violated, first = dict.fromkeys(order, 0), dict.fromkeys(order, 0), dict.fromkeys(order, 0)
    for _, person in rankings().group_by("participant"):
        rank = dict(person.select("system", "rank").iter_rows())
        assert set(rank) == set(order)
        for a in order:
            for b in order:
                fulfilled[a] += rank[a] < rank[b]
                violated[a] += rank[a] > rank[b]
        top = [name for name in order if rank[name] == min(rank.values())]
        if len(top) == 1:
            first[top[0]] += 1
    assert [fulfilled[name] for name in order] == [57, 50, 30, 26, 10]
    assert [violated[name] for name in order] == [15, 15, 37, 41, 65]
    assert sum(fulfilled.values()) == sum(violated.values())  # as in every set of rankings; not so as printed
    assert [first[name] for name in order] == [10, 7, 1, 1, 1]


def test_table_of_the_study(found: Reproduction) -> None:
    said = {one.claim: one for one in figure(found, "table1").statements}
    differing = {name for name, one in said.items() if one.verdict == "differs"}
    assert differing == {
        "mean rank, β_w = 0.67", "constraints fulfilled, β_w = 0.9", "constraints violated, β_w = 0.9",
        "p-value of 17 first places of 20 with p = 2/5",
    }  # fmt: skip
    exact = sum(comb(20, n) * 0.4**n * 0.6 ** (20 - n) for n in range(17, 21))
    assert said["p-value of 17 first places of 20 with p = 2/5"].here == f"{exact:.7f}"
    assert sum(comb(20, n) * 0.4**n * 0.6 ** (20 - n) for n in range(18, 21)) == pytest.approx(5e-6, rel=0.02)


@pytest.mark.parametrize("claim", ["a positive weight of missing ratings", "AllRank is above MF-RMSE", "recall falls"])
def test_what_holds_in_a_world_as_well(found: Reproduction, claim: str) -> None:
    assert [one.verdict for one in found.statements if claim in one.claim] == ["holds"]


def test_the_best_exponent_is_told_by_variant() -> None:
    """The paper says it of decreasing weights: they hold or not by themselves."""
    close = [0.1, 0.2, 0.2, 0.35, 0.35, 0.5, 0.5, 0.7, 0.7, 0.7, 0.9]  # at most 0.2 from 0, 0.1, …, 1
    said = _close_to_beta("decreasing", close)
    assert (said.verdict, "up to 0.20 apart" in said.evidence) == ("holds", True)
    assert _close_to_beta("increasing", [0.0] * 5 + [0.5, 0.7, 0.7, 0.9, 0.9, 1.0]).verdict == "does not hold"  # 0.4
    assert _close_to_beta("decreasing", [0.2, 0.1, *close[2:]]).verdict == "does not hold"  # does not grow


def test_ends_of_the_curves_are_told_by_variant() -> None:
    """At β = 1 recall grows with β_w; at β = 0 a twentieth is lost by 0.5, and a third by 0.9, which is close to 1."""
    rows = [(w, 0.0, v) for w, v in ((0.0, 0.60), (0.2, 0.59), (0.5, 0.57), (0.9, 0.40))]
    rows += [(w, 1.0, v) for w, v in ((0.0, 0.10), (0.2, 0.12), (0.5, 0.15), (0.9, 0.20))]
    table = pl.DataFrame(rows, schema=("beta_w", "beta", "value"), orient="row")
    grows, small = _curves(table, "decreasing")
    assert (grows.verdict, small.verdict) == ("holds", "holds")
    assert "β_w 0.5 5.0 %, β_w 0.9 33.3 %" in small.evidence
    less = table.with_columns(value=pl.when(beta_w=0.5).then(pl.col("value") * 0.7).otherwise(pl.col("value")))
    assert [one.verdict for one in _curves(less, "decreasing")] == ["does not hold", "does not hold"]


HIGH, LOW = allrank(0.05), allrank(0.005)
AT_0_AND_1 = {HIGH: (0.50, 0.30), LOW: (0.45, 0.35), MF: (0.30, 0.20), SVD: (0.25, 0.01), BEST: (0.20, 0.01)}
# the number of the claim, and recall at some β with which it does not hold
BETA_CHANGES = {
    "MF-RMSE once rises": (1, {(MF, 0.5): 0.27}),
    "the best w_m once rises": (1, {(HIGH, 0.9): 0.40}),
    "MF-RMSE is above at one β": (2, {(MF, 0.6): 0.45}),
    "the best w_m grows again": (3, {(HIGH, 0.9): 0.40}),
    "the best w_m stays": (3, {(HIGH, 1.0): 0.36}),
    "bestsellers fall little": (4, {(BEST, 1.0): 0.15}),
    "SVD falls little": (4, {(SVD, 1.0): 0.20}),
    "MF-RMSE falls most": (4, {(MF, 1.0): 0.001}),
}


def beta_verdicts(
    monkeypatch: pytest.MonkeyPatch, changed: dict[tuple[str, float], float], *, bent: float = 0.0
) -> list[str]:
    monkeypatch.setattr(curves, "chosen_parameters", lambda _: SimpleNamespace(weights=(0.05, 0.005)))
    between = {(name, beta): a + (b - a) * beta for name, (a, b) in AT_0_AND_1.items() for beta in BETAS} | changed
    rows = [(name, 20, beta, value) for (name, beta), value in between.items()]
    found = pl.DataFrame(rows, schema=["system", "k", "beta", "value"], orient="row")
    rank = np.arange(1, 200)
    law = pl.DataFrame({"rank": rank, "liked": np.exp(-np.abs(np.log(rank) - bent))})
    return [one.verdict for one in curves._beta_claims(found, law, None)]  # type: ignore[arg-type]


def test_claims_about_beta_hold_where_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recall falls evenly from β = 0 to 1; the lower weight overtakes the higher one half way."""
    assert beta_verdicts(monkeypatch, {}) == ["holds"] * 5
    assert beta_verdicts(monkeypatch, {}, bent=4.0)[0] == "does not hold"  # it falls, and rises again


@pytest.mark.parametrize("change", BETA_CHANGES)
def test_each_claim_about_beta_can_fail(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    place, changed = BETA_CHANGES[change]
    assert beta_verdicts(monkeypatch, changed)[place] == "does not hold"


@pytest.mark.slow
@pytest.mark.data
def test_all_of_it_on_movielens(data_folder: Callable[[str], Path]) -> None:
    found = tv.reproduce("steck2011", data=data_folder("ml-1m"))
    for claim in ("AllRank is above MF-RMSE", "best w_m falls", "gain over AllRank is largest"):
        assert [one.verdict for one in found.statements if claim in one.claim] == ["holds"], claim
