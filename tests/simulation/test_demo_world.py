"""Synthetic worlds: repeatable, shaped like real logs, and with a truth that can be measured against."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.simulation.demo_world import World, make_world
from trueval.splits.parts import Parts


def gini(counts: np.ndarray) -> float:
    x = np.sort(counts)
    return float(np.abs(x[:, None] - x[None, :]).sum() / (2 * len(x) ** 2 * x.mean()))


def counts(world: World) -> np.ndarray:
    return np.bincount(world.items.codes(world.log.frame["item"]), minlength=len(world.items))


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=3)


def test_same_seed_same_world_other_seed_other_world() -> None:
    a, b, c = (make_world(users=80, items=60, seed=seed) for seed in (5, 5, 6))
    assert a.log.frame.equals(b.log.frame)
    for one, other in ((a.log.items, b.log.items), (a.log.users, b.log.users)):
        assert one is not None
        assert one.equals(other)
    assert (a.relevance == b.relevance).all()
    assert not a.log.frame.equals(c.log.frame)


def test_log_looks_like_a_log(world: World) -> None:
    frame = world.log.frame
    assert frame.columns == ["user", "item", "value", "time"]
    assert frame["user"].n_unique() == 1000  # nobody without interactions
    assert abs(len(frame) - 25_000) < 50
    assert not frame.select("user", "item").is_duplicated().any()
    assert frame["time"].is_sorted()
    assert frame["time"].max() - frame["time"].min() > 700 * 86_400
    assert {"u0001", "u1000"} <= set(frame["user"])
    assert "i0042" in world.items.values


@pytest.mark.parametrize("seed", range(4))
def test_values_and_popularity_are_skewed_as_in_real_data(seed: int) -> None:
    drawn = make_world(seed=seed)
    share = np.bincount(drawn.log.frame["value"].cast(pl.Int64), minlength=6)[1:] / len(drawn.log)
    assert share.sum() == pytest.approx(1)  # whole values from 1 to 5
    assert share[0] < share[1] < share[2] < share[3]
    assert share[2:].sum() > 0.8
    assert 0.6 < gini(counts(drawn)) < 0.8


def test_side_tables(world: World) -> None:
    items, users = world.log.items, world.log.users
    assert items is not None
    assert users is not None
    assert items["item"].to_list() == world.items.values.to_list()
    assert items["title"].n_unique() == 500
    number = items["aspects"].list.len()
    assert sorted(number.unique()) == [1, 2, 3]
    assert items["aspects"].explode().n_unique() == 8
    assert items["provider"].n_unique() == 5
    sizes = dict(users["group"].value_counts().iter_rows())
    assert sizes["A"] > 2 * sizes["B"] > 0
    rows = world.log.frame.join(users, on="user").group_by("user", "group").len().group_by("group").agg(pl.mean("len"))
    active = dict(rows.iter_rows())
    assert active["A"] > 1.3 * active["B"]


def test_nothing_happens_before_an_item_is_released(world: World) -> None:
    assert world.log.items is not None
    rows = world.log.frame.join(world.log.items, on="item")
    assert (rows["time"] >= rows["released"]).all()
    assert world.log.items["released"].n_unique() > 100


def test_activity_is_log_normal() -> None:
    number = make_world(users=3000, items=400, groups=[1.0], seed=1).log.frame.group_by("user").len()["len"].to_numpy()
    logs = np.log(number)
    skew = ((logs - logs.mean()) ** 3).mean() / logs.std() ** 3
    assert abs(skew) < 0.3
    assert number.mean() > 1.2 * np.median(number)


def test_skew_grows_with_popularity() -> None:
    skews = [gini(counts(make_world(popularity=gamma, seed=2))) for gamma in (0.0, 0.5, 1.0, 1.5)]
    assert skews == sorted(skews)
    assert skews[-1] - skews[0] > 0.3


def test_observed_pairs_are_liked_more_unless_chance_alone_chooses(world: World) -> None:
    def lead(drawn: World) -> float:
        """By how much observed pairs exceed the same users' averages."""
        true, user = drawn.relevance, drawn.users.codes(drawn.log.frame["user"])
        return float((true[user, drawn.items.codes(drawn.log.frame["item"])] - true.mean(axis=1)[user]).mean())

    assert lead(world) > 0.5
    uniform = make_world(popularity=0, choice=0, seed=3)
    assert abs(lead(uniform)) < 0.03
    assert gini(counts(uniform)) < 0.15


def test_given_values_scatter_around_true_ones() -> None:
    exact, noisy = (make_world(noise=noise, seed=4) for noise in (0.0, 1.0))
    frame = exact.log.frame
    true = exact.relevance[exact.users.codes(frame["user"]), exact.items.codes(frame["item"])]
    assert (frame["value"].to_numpy() == np.clip(np.rint(true), 1, 5)).all()
    assert noisy.log.frame["value"].std() > frame["value"].std()


def test_genres_carry_taste(world: World) -> None:
    """Items that share their genres are liked by the same users; others are not."""
    assert world.log.items is not None
    aspects = [frozenset(names) for names in world.log.items["aspects"].to_list()]
    alike = np.corrcoef(world.relevance.T)
    same = np.array([[a == b for b in aspects] for a in aspects]) & ~np.eye(len(aspects), dtype=bool)
    apart = np.array([[not a & b for b in aspects] for a in aspects])
    assert alike[same].mean() > alike[apart].mean() + 0.3


def test_alignment_ties_quality_to_popularity() -> None:
    def tie(alignment: float) -> float:
        drawn = make_world(alignment=alignment, choice=0, seed=5)
        return float(np.corrcoef(counts(drawn), drawn.relevance.mean(axis=0))[0, 1])

    assert tie(2.0) > 0.3 > -0.3 > tie(-2.0)


def test_true_values_by_id(world: World) -> None:
    users, items = ["u0007", "u0002"], ["i0100", "i0001", "i0050"]
    assert (world.true_values(users, items) == world.relevance[np.ix_([6, 1], [99, 0, 49])]).all()
    assert world.true_values(users).shape == (2, 500)
    assert world.relevance.dtype == np.float32
    assert np.allclose(
        world.relevance, world.user_factors.astype(float) @ world.item_factors.T.astype(float), atol=1e-4
    )
    with pytest.raises(DataError, match="no such id"):
        world.true_values(["u0001", "u9999"])


def test_truth_beats_popularity_when_everything_is_judged() -> None:
    """Against complete judgements the true relevance is perfect, whatever a biased test set says."""
    world = make_world(users=200, items=100, seed=6)
    liked = world.relevance.ravel()
    everything = pl.DataFrame({
        "user": np.repeat(world.users.values.to_numpy(), 100),
        "item": np.tile(world.items.values.to_numpy(), 200),
        "value": liked.astype(float),
    })  # fmt: skip
    unseen = everything.join(world.log.frame, on=["user", "item"], how="anti")
    parts = Parts(world.log, tv.Interactions.of(unseen, name="truth"))
    oracle = tv.Function(world.true_values, ids=True)
    result = tv.evaluate(
        parts, {"oracle": oracle, "popularity": "popularity"}, design="AR-AI-AN", metrics="ndcg@10,auc",
        threshold=3.5, interval="none",
    )  # fmt: skip
    assert result["oracle", "ndcg@10"].value == pytest.approx(1)
    assert result["oracle", "auc"].value == pytest.approx(1)
    assert result["popularity", "auc"].value < 0.9


def test_a_large_world_has_the_size_that_was_asked_for() -> None:
    large = make_world(users=6000, items=4000, interactions=1_000_000)
    assert abs(len(large.log) - 1_000_000) < 1000


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"users": 0}, "users"),
        ({"items": 1}, "items"),
        ({"genres": 0}, "genres"),
        ({"groups": ()}, "groups"),
        ({"users": 10, "items": 10, "interactions": 51}, "10 to 50 interactions"),
        ({"users": 10, "items": 10, "interactions": 9}, "10 to 50 interactions"),
    ],
)
def test_impossible_worlds(asked: dict, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        make_world(**asked)


def test_smallest_worlds() -> None:
    for items in (2, 3, 20):
        tiny = make_world(users=1, items=items, genres=1, providers=1, groups=[1])
        assert tiny.log.n_users == 1
    assert make_world(users=30, items=12_000, interactions=30).items.values[0] == "i00001"
