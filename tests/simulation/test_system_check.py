"""Whether systems stand in a world as they do in its log, on rows that the world was not fitted to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DefinitionError
from trueval.simulation.like import fit_world
from trueval.simulation.system_check import WITHOUT, check_systems, denser

SYSTEMS = {"popularity": "popularity", "itemknn": "itemknn", "average": "average"}


@pytest.fixture(scope="module")
def log() -> tv.Interactions:
    """People who meet items of their own fifth ten times as often as others: who personalises is far ahead."""
    rng = np.random.default_rng(3)
    users, items = 300, 150
    affinity = np.where(np.arange(users)[:, None] % 5 == np.arange(items) % 5, 10.0, 1.0)
    rate = 0.35 * rng.uniform(0.4, 1.0, (users, 1)) * (np.arange(1, items + 1) + 5.0) ** -0.5 * affinity
    user, item = np.nonzero(rng.random(rate.shape) < np.minimum(rate, 0.95))
    value = rng.choice([1, 2, 3, 4, 5], len(user), p=[0.1, 0.1, 0.2, 0.3, 0.3])
    return tv.Interactions.of(pl.DataFrame({"user": user, "item": item, "value": value}))


def test_the_world_is_fitted_to_a_part_and_systems_stand_as_in_the_log(log: tv.Interactions) -> None:
    seen = []

    def fit(rows: tv.Interactions) -> tv.World:
        seen.append(len(rows))
        return fit_world(rows, seed=1)

    check = check_systems(log, fit, systems=SYSTEMS, seed=1)
    assert seen == [pytest.approx(0.8 * len(log), rel=0.02)]
    assert check.designs == ("AR-TI-AN", "1R-TI-AN", "1R-TI-NN50")
    lead = check.data[:, 1] - check.data[:, 0]
    assert (lead > 0.05).all()
    assert check.world[:, 1] - check.world[:, 0] == pytest.approx(lead, rel=0.6)
    assert check.tau == pytest.approx(np.ones(3))
    assert check.reversals == ()
    assert check.spectrum[1] == pytest.approx(check.spectrum[0], rel=0.35)
    parts = tv.split(log, "holdout", ratio=0.2, seed=1)
    result = tv.evaluate(parts, ["itemknn"], metrics="ndcg@10", threshold=4, interval="none", seed=1)
    assert check.data[0, 1] == pytest.approx(result["itemknn", "ndcg@10"].value)


def test_a_world_without_structure_is_found_out(log: tv.Interactions) -> None:
    """One that is met by popularity alone: there nothing is gained by knowing who met what."""

    def flat(rows: tv.Interactions) -> tv.World:
        rng = np.random.default_rng(1)
        mixed = rows.frame.with_columns(item=pl.Series(rng.permutation(rows.frame["item"].to_numpy())))
        return fit_world(tv.Interactions.of(mixed.unique(["user", "item"], maintain_order=True)), seed=1)

    check = check_systems(log, flat, systems=SYSTEMS, seed=1)
    assert ("AR-TI-AN", "itemknn", "popularity") in check.reversals
    assert any("itemknn is above popularity in the data" in line for line in check.sentences())
    assert "itemknn is above popularity" in str(check)


def test_the_table_of_the_fit_has_it_where_it_is_asked_for(log: tv.Interactions) -> None:
    assert tv.simulate("like", log, seed=1).fit.systems is None
    few = log.keep(log.frame.filter(pl.col("user") < 120).select("user", "item"))
    world = tv.simulate("like", few, seed=1, check=True)
    check = world.fit.systems
    assert check.systems == WITHOUT
    names = world.fit.table()["property"].to_list()
    assert "held out: itemknn over popularity, 1R-TI-AN ndcg@10" in names
    assert "held out: share of the top ten singular values" in names
    assert "τ of both orders" in str(world.fit)
    assert len(check.table()) == 18
    assert "check" not in world.options
    with pytest.raises(DefinitionError, match="no option 'check'"):
        tv.simulate("opposed", few, check=True)


def test_denser_worlds_have_more_rows_and_the_same_tastes(log: tv.Interactions) -> None:
    for world in (fit_world(log), tv.simulate("world", users=200, items=100)):
        more = denser(world, 1.25)
        assert more.expected == pytest.approx(1.25 * world.expected, rel=0.1)
        assert (more.complete == world.complete).all()
