"""Propensities: every source, what is refused, the weighted metrics, and whether they are unbiased."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from oracles.naive_metrics import snips_value
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse, parse_all
from trueval.metrics.measure import toy_facts
from trueval.metrics.metric_inputs import Inputs, RowPropensity
from trueval.propensity.propensity import Propensity
from trueval.propensity.weight_diagnostics import Diagnostics


def measured(metric: str, ranked: list[str], relevant: dict[str, float], *, complete: bool = False) -> float:
    """One user's value with propensities by item."""
    facts = toy_facts(ranked, set(relevant), complete=complete)
    log = Interactions.of(pl.DataFrame({"user": ["user"] * len(relevant), "item": list(relevant)}))
    table = pl.DataFrame({"item": list(relevant), "p": list(relevant.values())})
    rows = RowPropensity.make(Propensity(table, "given"), log, facts.users, facts.items, threshold=None)
    return compute(parse(metric), facts, Inputs(propensity=rows)).value()


def test_toy_of_the_chapter():
    """p_A = .8, p_B = .2; clicks on A, A, B weigh 2.5 and 5 in all."""
    p = Propensity.display_share(pl.DataFrame({"item": ["A"] * 8 + ["B"] * 2}))
    weights = 1 / p.of(pl.DataFrame({"item": ["A", "A", "B"]})).to_numpy()
    assert weights[:2].sum() == pytest.approx(2.5)
    assert weights[2] == pytest.approx(5)


@pytest.mark.parametrize(
    ("gamma", "recall", "dcg"), [(1, 0.575641, 0.512007), (1.69, 0.542856, 0.502544), (-1, 0.583333, 0.563814)]
)
def test_golden_j(gamma, recall, dcg):
    """Items with n train rows at 0-based place Z; weights n^-((γ+1)/2), self-normalised per user.

    The published dcg is the mean over relevant items: ours, a sum, divided by their number.
    """
    users = {"u1": [(100, 0), (25, 2), (4, 5)], "u2": [(64, 4), (1, 1)]}
    found = {"recall": [], "dcg": []}
    for rows in users.values():
        ranked = [f"x{z}" for z in range(10)]
        for _, z in rows:
            ranked[z] = f"r{z}"
        relevant = {f"r{z}": (n / 100) ** ((gamma + 1) / 2) for n, z in rows}
        found["recall"].append(measured("snips(recall)@3[average=mean]", ranked, relevant))
        found["dcg"].append(measured("snips(dcg)[average=mean]", ranked, relevant) / len(rows))
    assert np.mean(found["recall"]) == pytest.approx(recall, abs=1e-6)
    assert np.mean(found["dcg"]) == pytest.approx(dcg, abs=1e-6)
    assert np.mean(found["recall"]) == pytest.approx(snips_value("recall", users, gamma=gamma, k=3, n_items=10))


def test_popularity_power_law():
    train = pl.DataFrame({"user": [1, 2, 3, 4, 1], "item": ["a", "a", "a", "a", "b"]})
    p = Propensity.popularity(train, gamma=1)
    assert dict(p.table.rows()) == {"a": 1.0, "b": 0.25}
    assert set(Propensity.popularity(train, gamma=-1).table["p"]) == {1.0}
    assert Propensity.popularity(train, gamma=-1).unseen == 1.0
    assert p.of(pl.DataFrame({"item": ["b", "new"]})).to_list() == [0.25, 0.125]  # half a row of four
    assert "unseen in train" in p.source
    for gamma in ("x", "nan", "-2", "inf"):
        with pytest.raises(tv.TruevalError, match="gamma must be a number"):
            Propensity.read(f"popularity:{gamma}", train=Interactions.of(train), test=Interactions.of(train))
    with pytest.raises(TypeError):
        Propensity.popularity(train)  # no default gamma


@pytest.mark.parametrize("p", [0.0, -0.1, 1.5, float("nan"), None])
def test_what_is_not_a_chance_is_refused(p):
    log = pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "p": [0.5, p]})
    with pytest.raises(tv.TruevalError, match=r"(?s)above 0 and at most 1.*item b"):
        Propensity.column(log, "p")


def test_missing_propensities_are_refused():
    with pytest.raises(tv.TruevalError, match="no propensity"):
        Propensity.display_share(pl.DataFrame({"item": ["a"]})).of(pl.DataFrame({"item": ["a", "b"]}))
    with pytest.raises(tv.TruevalError, match="need the column position"):
        Propensity(pl.DataFrame({"position": [1], "p": [1.0]}), "x").of(pl.DataFrame({"item": ["a"]}))
    with pytest.raises(tv.TruevalError, match="--propensity"):
        tv.measure("snips(recall)@2", ["a"], {"a"})


def test_uniform_propensities_change_nothing_and_constants_have_no_spread():
    ranked, relevant = list("abcdef"), {"b": 0.3, "e": 0.3, "z": 0.3}
    assert measured("snips(recall)@3", ranked, relevant) == pytest.approx(1 / 3)
    # every relevant item shown: the term is constant, whatever the weights
    assert measured("snips(recall)@6", ranked, {"a": 0.9, "b": 0.01}) == 1
    assert measured("ips(precision)@6", ranked, {"a": 0.5, "b": 0.25}) == pytest.approx((2 + 4) / 6)


def test_clipping():
    assert measured("ips(precision)@2[clip=3]", ["a", "b"], {"a": 0.5, "b": 0.1}) == pytest.approx((2 + 3) / 2)
    d = Diagnostics.of(np.array([0.5, 0.1]), clip=3)
    assert (d.clipped, d.removed) == (0.5, pytest.approx(7 / 12))
    assert d.largest == 3


def test_what_cannot_be_weighted_is_said():
    with pytest.raises(tv.TruevalError, match="not a sum over relevant"):
        measured("ips(rr)", ["a"], {"a": 0.5})
    with pytest.raises(tv.TruevalError, match=r"snips\(recall\)"):
        measured("ips(recall)@3", ["a"], {"a": 0.5})


def test_the_plain_value_stands_beside():
    for asked, beside in (
        ("snips(recall)@5[clip=10]", "recall@5[average=pooled]"),
        ("snips(recall)@5[average=mean]", "recall@5"),
        ("snips(auc[against=judged])", "auc[against=judged,average=pooled]"),
        ("snips(precision)@5", "precision@5"),
        ("snips(precision)@5[average=mean]", "precision@5"),
        ("ips(rbp)[p=0.5]", "rbp[p=0.5]"),
    ):
        assert [str(s) for s in parse_all(asked)] == [beside, str(parse(asked))]


def test_ips_is_unbiased_and_the_naive_value_is_not():
    """Truth: 12 relevant items of 60 per user, seen with known chance; popular ones far more often."""
    rng = np.random.default_rng(1)
    n_items, k, rounds = 60, 10, 400
    p = np.clip(1 / np.arange(1, n_items + 1) ** 0.6, 0.1, 1)
    ranked = [f"x{i:02}" for i in range(n_items)]  # a system that ranks by popularity
    truly = rng.choice(n_items, 12, replace=False)
    true = {"precision": np.count_nonzero(truly < k) / k, "dcg": float(np.sum(1 / np.log2(truly + 2)))}
    estimates = {"ips(precision)@10": [], "precision@10": [], "ips(dcg)": [], "dcg": []}
    facts_of = {}
    for _ in range(rounds):
        seen = truly[rng.random(12) < p[truly]]
        if not len(seen):
            for name in estimates:
                estimates[name].append(0.0)
            continue
        relevant = {ranked[i]: p[i] for i in seen}
        facts_of[tuple(seen)] = relevant
        for name in estimates:
            estimates[name].append(measured(name, ranked, relevant))
    for name, truth in (("precision", true["precision"]), ("dcg", true["dcg"])):
        cut = "@10" if name == "precision" else ""
        weighted, plain = np.array(estimates[f"ips({name}){cut}"]), np.array(estimates[f"{name}{cut}"])
        error = weighted.std() / np.sqrt(rounds)
        assert abs(weighted.mean() - truth) < 4 * error
        assert abs(plain.mean() - truth) > 10 * plain.std() / np.sqrt(rounds)


def test_ids_of_any_kind():
    p = Propensity.display_share(pl.DataFrame({"item": pl.Series([1, 1, 2], dtype=pl.Int16)}))
    log = Interactions.of(pl.DataFrame({"user": [5], "item": [2]}))
    rows = RowPropensity.make(p, log, Ids(pl.Series([5])), Ids(pl.Series([2])), threshold=None)
    assert rows.pairs.value.tolist() == [pytest.approx(1 / 3)]


def test_end_to_end_with_what_to_know_beside():
    test = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "p": [0.5, 0.1, 0.5]})
    train = pl.DataFrame({"user": [1, 5, 3, 4], "item": ["c", "a", "a", "b"]})
    recs = pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "rank": [1, 1]})
    asked = "snips(recall)@1,snips(recall)@1[average=mean],ips(precision)@1[clip=4]"
    result = tv.evaluate_run(recs, test, metrics=asked, propensity="column:p", population="all")
    assert result["run", "recall@1"].value == pytest.approx((1 / 2 + 1) / 2)
    assert result["run", "recall@1[average=pooled]"].value == pytest.approx(2 / 3)
    assert result["run", "snips(recall)@1"].value == pytest.approx(4 / 14)
    assert result["run", "snips(recall)@1[average=mean]"].value == pytest.approx((2 / 12 + 1) / 2)
    told = result.manifest["propensity"]
    assert told["largest"] == 10
    assert told["effective"] == pytest.approx(14**2 / (4 + 100 + 4))
    assert told["clip"]["4"]["removed"] == pytest.approx(6 / 14)
    assert "effective sample size (ESS)" in str(result)
    by_popularity = tv.evaluate_run(recs, test, train=train, metrics="snips(recall)@1", propensity="popularity:1")
    assert by_popularity["run", "snips(recall)@1"].value == pytest.approx(2 / 4)
    for wrong in ("popularity:1", "column:q", "nothing"):
        with pytest.raises(tv.TruevalError):
            tv.evaluate_run(recs, test, metrics="snips(recall)@1", propensity=wrong)


@pytest.mark.parametrize(("rows", "top"), [(1, 1), (60, 1), (100, 1), (199, 1), (200, 2), (1000, 10), (1050, 10)])
def test_the_top_share_is_that_of_one_row_in_a_hundred(rows, top):
    """The largest 1 % of rows, rounded down, at least one row."""
    weights = np.random.default_rng(rows).uniform(1, 30, rows)
    expected = sum(sorted(weights)[-top:]) / sum(weights)
    assert Diagnostics.of(1 / weights).top_share == pytest.approx(expected, rel=1e-12)
    clipped = np.minimum(weights, 20)
    expected = sum(sorted(clipped)[-top:]) / sum(clipped)
    assert Diagnostics.of(1 / weights, clip=20).top_share == pytest.approx(expected, rel=1e-12)
