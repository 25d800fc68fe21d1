"""Demographic parity and equal opportunity: the toys of the document, and naive recomputations."""

from __future__ import annotations

from math import log2

import numpy as np
import polars as pl
import pytest
from group_worlds import make_world

import trueval as tv


@pytest.fixture(scope="module")
def feed() -> tv.Result:
    """100 places for two providers who own half of the catalogue each: 85 of them go to A."""
    of_a = [9] * 5 + [8] * 5
    rows = [(u, f"A{u}-{r}" if r < a else f"B{u}-{r}", r + 1) for u, a in enumerate(of_a) for r in range(10)]
    recs = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    names = [f"{owner}{u}-{r}" for owner in "AB" for u in range(10) for r in range(10)]
    items = pl.DataFrame({"item": names, "provider": [name[0] for name in names]})
    test = recs.group_by("user").first().select("user", "item")
    return tv.evaluate_run(recs, test, items=items, metrics="ndcg@10", by="provider", seed=1)


def test_parity_of_the_document(feed):
    for against in ("catalogue", "equal"):
        found = feed.parity("provider", against=against)["run"]
        assert found.values["A"].value == pytest.approx(0.85)
        assert found.values["B"].value == pytest.approx(0.15)
        assert found.target == {"A": 0.5, "B": 0.5}
        assert found.gap.value == pytest.approx(0.70)
        assert found.ratio.value == pytest.approx(15 / 85)
        assert found.gap.low < 0.70 < found.gap.high
        assert (found.spread.highest, found.spread.lowest) == ("A", "B")


def test_parity_discounted_and_at_smaller_cutoffs(feed):
    weight = [1 / log2(r + 2) for r in range(10)]
    of_b = sum(sum(weight[9:]) for _ in range(5)) + sum(sum(weight[8:]) for _ in range(5))
    found = feed.parity("provider", discount=True)["run"]
    assert found.values["B"].value == pytest.approx(of_b / (10 * sum(weight)))
    assert feed.parity("provider", k=9)["run"].values["B"].value == pytest.approx(5 / 90)
    assert feed.parity("provider", k=8)["run"].values["B"].value == 0
    assert feed.parity("provider", k=8)["run"].ratio.value == 0


def test_parity_against_the_catalogue():
    """Three quarters of the catalogue and half of the places: a quarter below, the other a quarter above."""
    recs = pl.DataFrame({"user": [1, 1], "item": ["a", "d"], "rank": [1, 2]})
    test = pl.DataFrame({"user": [1], "item": ["a"]})
    items = pl.DataFrame({"item": list("abcd"), "provider": ["x", "x", "x", "y"]})
    result = tv.evaluate_run(recs, test, items=items, metrics="rr@2", by="provider")
    found = result.parity("provider")["run"]
    assert found.gap.value == pytest.approx(0.5)
    assert found.ratio.value == pytest.approx((0.5 / 0.75) / (0.5 / 0.25))
    assert result.parity("provider", against="equal")["run"].gap.value == 0
    assert np.isnan(found.gap.low)  # one user tells nothing of others


def test_items_of_several_groups_count_in_parts():
    world = make_world()
    result = tv.evaluate_run(world.recs, world.test, items=world.items, metrics="ndcg@5", by="genre", interval="none")
    of = {i: (g or "").split("|") if g else [] for i, g in world.items.select("item", "genre").rows()}
    top = world.recs.sort("user", "score", descending=[False, True]).group_by("user", maintain_order=True).head(5)
    places = {g: sum((g in of[i]) / len(of[i]) for i in top["item"] if of[i]) for g in "abc"}
    shares = {g: sum((g in of[i]) / len(of[i]) for i in of if of[i]) for g in "abc"}
    found = result.parity("genre")["run"]
    for g in "abc":
        assert found.values[g].value == pytest.approx(places[g] / sum(places.values()))
        assert found.target[g] == pytest.approx(shares[g] / sum(shares.values()))
    assert sum(e.value for e in found.values.values()) == pytest.approx(1)
    assert any("items are in no group" in w for w in result.warnings) == any(not g for g in of.values())


def test_opportunity_of_the_document():
    """Of 200 users who would like the item, 120 of one group and 80 of the other see it."""
    rows = [(u, "it" if (u < 120 if u < 200 else u < 280) else "no", 1) for u in range(400)]
    recs = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    test = pl.DataFrame({"user": range(400), "item": ["it"] * 400})
    users = pl.DataFrame({"user": range(400), "side": ["1"] * 200 + ["2"] * 200})
    result = tv.evaluate_run(recs, test, users=users, by="side", metrics="hit@1", seed=3)
    found = result.opportunity("side")["run"]
    assert [e.value for e in found.values.values()] == pytest.approx([0.60, 0.40])
    assert found.gap.value == pytest.approx(0.20)
    assert found.ratio.value == pytest.approx(2 / 3)
    error = np.sqrt(0.6 * 0.4 / 200 * 2)
    assert found.gap.low == pytest.approx(0.2 - 1.96 * error, abs=0.02)
    assert found.gap.high == pytest.approx(0.2 + 1.96 * error, abs=0.02)
    assert result.gaps("side")["gap"][0] == pytest.approx(0.20)


def test_opportunity_is_pooled_and_by_items_too():
    world = make_world()
    result = tv.evaluate_run(
        world.recs, world.test, items=world.items, users=world.users, by=["gender", "provider"], threshold=4,
        metrics=["rr", "precision@3", "hit@6"], interval="none", min_group=2,
    )  # fmt: skip
    top = world.recs.sort("user", "score", descending=[False, True], maintain_order=True)
    top = top.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    rows = world.test.filter(pl.col("value") >= 4).join(top, on=["user", "item"], how="left")
    rows = rows.join(world.users, on="user").join(world.items, on="item")
    for k in (3, 6):
        for column in ("gender", "provider"):
            own = rows.drop_nulls(column).group_by(pl.col(column).cast(pl.String))
            rates = dict(own.agg((pl.col("rank") <= k).fill_null(False).mean()).iter_rows())
            found = result.opportunity(column, k=k)["run"]
            assert {g: e.value for g, e in found.values.items()} == pytest.approx(rates)
            assert found.gap.value == pytest.approx(max(rates.values()) - min(rates.values()))
    assert result.opportunity("gender")["run"].what == "true-positive rate@6 by gender"
    with pytest.raises(tv.TruevalError, match=r"not counted at 4[\s\S]*cutoffs 3, 6"):
        result.opportunity("gender", k=4)


def test_refusals(feed):
    with pytest.raises(tv.TruevalError, match=r"not grouped by 'providr'[\s\S]*groups by provider"):
        feed.parity("providr")
    with pytest.raises(tv.TruevalError, match="up to 10 only"):
        feed.parity("provider", k=11)
    with pytest.raises(tv.TruevalError, match="did you mean equal"):
        feed.parity("provider", against="equel")
    with pytest.raises(tv.TruevalError, match="whole number"):
        feed.parity("provider", k=0)
    recs = pl.DataFrame({"user": [1], "item": ["a"], "rank": [1]})
    users = pl.DataFrame({"user": [1], "age": [4]})
    by_user = tv.evaluate_run(recs, recs.select("user", "item"), users=users, by="age", metrics="rr")
    with pytest.raises(tv.TruevalError, match="groups users"):
        by_user.parity("age")
    with pytest.raises(tv.TruevalError, match=r'not grouped by \'x\'[\s\S]*by="x"'):
        tv.evaluate_run(recs, recs.select("user", "item"), metrics="rr").by("x")


def test_a_1R_design_has_no_exposure():
    world = make_world()
    log = tv.Interactions.of(world.train, items=world.items)
    parts = tv.split(log, "holdout", ratio=0.4, seed=1)
    result = tv.evaluate(parts, ["popularity"], design="1R-AI-AN", metrics="ndcg@5", by="provider", interval="none")
    assert result.opportunity("provider")["popularity"].gap.value >= 0
    assert "parity" not in result.to_dict()["systems"]["popularity"]["groups"]["provider"]
    with pytest.raises(tv.TruevalError, match="AR design"):
        result.parity("provider")
