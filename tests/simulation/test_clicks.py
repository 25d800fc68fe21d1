"""Click models against their definitions, one outcome after the other; the value of policies."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.simulation.click_models import ClickModel

ATTRACTION = [0.8, 0.05, 0.5, 0.3]
MODELS = [
    ClickModel(), ClickModel(decay=0.0), ClickModel(decay=0.5), ClickModel(kind="cascade"),
    ClickModel(kind="cascade", patience=0.7),
]  # fmt: skip


def enumerated(model: ClickModel) -> list[float]:
    """P(click) at each place: the probabilities of all outcomes in which it is clicked, by the definition."""
    places, found = range(len(ATTRACTION)), [0.0] * len(ATTRACTION)
    if model.kind == "position":
        for looks in itertools.product((0, 1), repeat=4):
            for attracted in itertools.product((0, 1), repeat=4):
                p = 1.0
                for k in places:
                    theta = 1 / (k + 1) ** model.decay
                    p *= (theta if looks[k] else 1 - theta) * (ATTRACTION[k] if attracted[k] else 1 - ATTRACTION[k])
                for k in places:
                    found[k] += p * (looks[k] and attracted[k])
        return found
    for attracted in itertools.product((0, 1), repeat=4):
        for patient in itertools.product((0, 1), repeat=4):
            p = 1.0
            for k in places:
                p *= (ATTRACTION[k] if attracted[k] else 1 - ATTRACTION[k]) * (
                    model.patience if patient[k] else 1 - model.patience
                )
            for k in places:  # down to the first click, or until patience ends
                if attracted[k]:
                    found[k] += p
                    break
                if not patient[k]:
                    break
    return found


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_probabilities_by_enumeration(model: ClickModel) -> None:
    assert model.probabilities(np.array([ATTRACTION]))[0] == pytest.approx(enumerated(model))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_drawn_clicks_have_these_probabilities(model: ClickModel) -> None:
    rng, number = np.random.default_rng(2), 40_000
    coins, looks = rng.random((2, number, 4))
    looked, clicked = model.draw(np.tile(ATTRACTION, (number, 1)), coins, looks)
    p = np.array(enumerated(model))
    assert (np.abs(clicked.mean(axis=0) - p) < 4.5 * np.sqrt(p * (1 - p) / number)).all()
    assert not (clicked & ~looked).any()
    if model.kind == "cascade":
        assert clicked.sum(axis=1).max() == 1


def test_short_lists_have_no_clicks_behind_their_end() -> None:
    short = np.array([[0.5, np.nan, np.nan]])
    for model in MODELS:
        assert model.probabilities(short)[0, 1:].tolist() == [0, 0]


@pytest.fixture(scope="module")
def world() -> tv.World:
    return tv.simulate("world", users=120, items=40, seed=5)


@pytest.fixture(scope="module")
def lists(world: tv.World) -> pl.DataFrame:
    rows = world.sample(per_user=5, seed=1).frame
    return rows.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))


@pytest.mark.parametrize("model", ["position", "cascade"])
def test_clicks_of_a_world(world: tv.World, lists: pl.DataFrame, model: str) -> None:
    repeats = 300
    shown = [world.clicks(lists, model, seed=seed) for seed in range(repeats)]
    first = shown[0]
    assert first.columns == ["user", "item", "position", "examined", "click", "p_click"]
    relevant = np.array([world.ratings([u], [i])[0, 0] >= 4 for u, i in first.select("user", "item").iter_rows()])
    attraction = np.where(relevant, 0.8, 0.05).reshape(120, 5)
    p = ClickModel(kind=model).probabilities(attraction)
    assert first["p_click"].to_numpy() == pytest.approx(p.ravel())
    assert world.value(lists, model) == pytest.approx(p.sum() / 120)
    counts = sum(one["click"].to_numpy() for one in shown)
    z = (counts - repeats * p.ravel()) / np.sqrt(repeats * p.ravel() * (1 - p.ravel()))
    assert abs(z.mean()) < 0.2
    assert 0.85 < z.std() < 1.15
    assert not shown[0].equals(shown[1])
    assert shown[0].equals(world.clicks(lists.sample(fraction=1.0, shuffle=True, seed=1), model, seed=0))


def test_scores_order_lists_too(world: tv.World, lists: pl.DataFrame) -> None:
    scored = lists.select("user", "item", score=-pl.col("rank"))
    assert world.clicks(scored).equals(world.clicks(lists))
    assert world.value(tv.Run(scored)) == world.value(lists)


def test_values_of_stochastic_policies(world: tv.World) -> None:
    weight = np.arange(1, 41) / np.arange(1, 41).sum()
    policy = pl.DataFrame({"item": np.arange(1, 41), "probability": weight})
    attraction = np.where(world.complete >= 4, 0.8, 0.05)
    assert world.value(policy) == pytest.approx((attraction @ weight).mean())
    own = pl.concat([policy.with_columns(user=pl.lit(u)) for u in (3, 9)])
    assert world.value(own) == pytest.approx((attraction[[2, 8]] @ weight).mean())
    second = policy.with_columns(position=pl.lit(2))
    assert world.value(second) == pytest.approx((attraction @ weight).mean() / 2)
    with pytest.raises(DefinitionError, match="cascade model needs lists"):
        world.value(second, "cascade")


def test_logged_clicks_give_off_policy_estimates_a_truth(world: tv.World) -> None:
    uniform = pl.DataFrame({"item": np.arange(1, 41), "probability": 1 / 40})
    good = np.where(np.arange(40) % 3 == 0, 3.0, 1.0)
    target = pl.DataFrame({"item": np.arange(1, 41), "probability": good / good.sum()})
    log = world.logged(target, rounds=400, seed=1)
    shares = log["item"].value_counts().sort("item")["count"].to_numpy() / len(log)
    p = good / good.sum()
    assert (np.abs(shares - p) < 4.5 * np.sqrt(p / len(log))).all()
    assert log["propensity"].to_numpy() == pytest.approx(p[log["item"].to_numpy() - 1])
    found = tv.ope(world.logged(uniform, rounds=400, seed=2), target, estimators="ips,snips")
    for name in ("ips", "snips"):  # about 48,000 rows: a standard error near 0.003
        assert found[name].value == pytest.approx(world.value(target), abs=0.012)
    own = pl.concat([target.with_columns(user=pl.lit(u)) for u in (3, 9)])
    assert set(world.logged(own, rounds=50)["user"]) == {3, 9}


def test_bad_policies(world: tv.World, lists: pl.DataFrame) -> None:
    with pytest.raises(DataError, match="add up to 1"):
        world.value(pl.DataFrame({"item": [1], "probability": [0.5]}))
    with pytest.raises(DataError, match="columns item, probability"):
        world.value(pl.DataFrame({"item": [1], "probability": [1.0], "day": [3]}))
    with pytest.raises(DataError, match="no such id"):
        world.value(pl.DataFrame({"item": [999], "probability": [1.0]}))
    with pytest.raises(DataError, match="rank or a score"):
        world.clicks(lists.drop("rank"))
    with pytest.raises(DataError, match="no such id"):
        world.clicks(pl.DataFrame({"user": ["u1"], "item": [1], "rank": [1]}))
    with pytest.raises(DefinitionError, match="did you mean cascade"):
        world.clicks(lists, "cascad")
    for wrong in ({"patience": 2.0}, {"decay": -1.0}, {"liked": -0.1}):
        with pytest.raises(DefinitionError, match=next(iter(wrong))):
            ClickModel(**wrong)
