"""Where groups come from: columns, strata, sizes, and what is refused."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import polars as pl
import pytest
from group_worlds import World, make_world
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.evaluation.strata import equal_groups


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


def evaluate(world: World, **options) -> tv.Result:
    return tv.evaluate_run(world.recs, world.test, **{"metrics": "rr", "interval": "none", "threshold": 4} | options)


def test_small_groups_are_shown_but_not_compared(world):
    users = world.users.with_columns(side=pl.when(pl.col("user") < 3).then(pl.lit("few")).otherwise(pl.lit("x")))
    users = users.with_columns(side=pl.when(pl.col("user") > 30).then(pl.lit("y")).otherwise("side"))
    result = evaluate(world, users=users, by="side", min_group=20)
    rows = result.by("side")
    assert rows["group"].to_list() == ["few", "x", "y"]
    assert rows["compared"].to_list() == [False, True, True]
    values = dict(rows.select("group", "value").iter_rows())
    assert result.gaps("side")["gap"][0] == pytest.approx(abs(values["x"] - values["y"]))
    assert result.gaps("side")["groups"][0] == 2
    assert any("fewer than 20 users" in w and "few (3)" in w for w in result.warnings)
    default = evaluate(world, users=users, by="side")  # 30 by default: x and few are too small
    assert default.gaps("side")["gap"].to_list() == [None]
    both = evaluate(world, users=users, by="side", min_group=1)
    assert both.gaps("side")["groups"][0] == 3
    assert not [w for w in both.warnings if "fewer" in w]
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(tv.TruevalError, match="whole number"):
            evaluate(world, users=users, by="side", min_group=wrong)


def test_unknown_columns(world):
    with pytest.raises(tv.TruevalError, match=r"no column 'gendr'[\s\S]*did you mean gender") as caught:
        evaluate(world, users=world.users, items=world.items, by="gendr")
    assert "--users" not in str(caught.value)  # both tables are there
    with pytest.raises(
        tv.TruevalError, match=r"no table of users[\s\S]*no table of items[\s\S]*--users FILE[\s\S]*--items"
    ):
        evaluate(world, by="gender")
    with pytest.raises(
        tv.TruevalError, match=r"no table of users; did you mean genre[\s\S]*users=… \(--users FILE\)"
    ) as caught:
        evaluate(world, items=world.items, by="gender")
    assert "--items" not in str(caught.value)
    with pytest.raises(tv.TruevalError, match=r"activity needs the train log[\s\S]*--train FILE"):
        evaluate(world, by="activity")
    with pytest.raises(tv.TruevalError, match="the same column twice"):
        evaluate(world, users=world.users, by="gender, gender")
    for wrong in ("", "gender,", [""], [3]):
        with pytest.raises(tv.TruevalError, match="names"):
            evaluate(world, users=world.users, by=wrong)
    for key in ("user", "item"):
        with pytest.raises(tv.TruevalError, match="no column"):
            evaluate(world, users=world.users, items=world.items, by=key)


def test_a_column_of_both_tables_must_be_told(world):
    users = world.users.with_columns(provider=pl.col("user") % 2)
    with pytest.raises(tv.TruevalError, match="user:provider or item:provider"):
        evaluate(world, users=users, items=world.items, by="provider")
    result = evaluate(world, users=users, items=world.items, by=["user:provider", "item:provider"])
    assert result.by("user:provider")["group"].to_list() == ["0", "1"]
    assert result.by("item:provider")["group"].to_list() == ["0", "1", "2", "3"]
    named = world.items.with_columns(popularity=pl.lit("all"))
    result = evaluate(world, items=named, train=world.train, by=["popularity", "item:popularity"])
    assert result.by("popularity")["group"].to_list() == ["head", "mid", "tail"]
    assert result.by("item:popularity")["group"].to_list() == ["all"]


def test_tables_that_come_with_a_log(world):
    test = tv.Interactions.of(world.test, users=world.users)
    train = tv.Interactions.of(world.train, items=world.items)
    result = tv.evaluate_run(world.recs, test, train=train, metrics="rr", by="gender,provider", interval="none")
    assert result.by("gender")["group"].to_list() == ["f", "m"]
    assert len(result.by("provider")) == 4
    # a bare list of candidates does not hide what the log knows of its items
    ids = world.items["item"].to_list()
    result = tv.evaluate_run(world.recs, test, train=train, items=ids, metrics="rr", by="provider", interval="none")
    assert len(result.by("provider")) == 4


def test_forms_of_columns(world):
    n = len(world.users)
    forms = {
        "number": list(range(n)), "whole": [float(u % 2) for u in range(n)], "flag": [u % 2 == 0 for u in range(n)],
        "lists": [["x", "y"][: u % 3] for u in range(n)], "padded": [[" p", "q ", "", None][u % 4] for u in range(n)],
    }  # fmt: skip
    users = world.users.with_columns(pl.Series(name, values, strict=False) for name, values in forms.items())
    users = users.with_columns(number=pl.col("number") % 12, category=pl.col("gender").cast(pl.Categorical))
    result = evaluate(world, users=users, by=[*forms, "category"])

    def labels(column: str) -> list[str]:
        return result.by(column)["group"].to_list()

    assert labels("number") == [str(u) for u in range(12)]  # 2 before 10
    assert labels("whole") == ["0", "1"]
    assert labels("flag") == ["false", "true"]
    assert labels("lists") == ["x", "y"]
    evaluated = world.test.filter(pl.col("value") >= 4)["user"].unique()
    assert result.by("lists")["n"].to_list() == [(evaluated % 3 > 0).sum(), (evaluated % 3 == 2).sum()]
    assert labels("padded") == ["p", "q"]
    assert labels("category") == ["f", "m"]
    with pytest.raises(tv.TruevalError, match=r"words or numbers[\s\S]*Struct"):
        evaluate(world, users=users.with_columns(s=pl.struct("number")), by="s")


def test_groups_that_cannot_be(world):
    many = pl.DataFrame({"user": range(120), "zip": range(120)})
    test = pl.DataFrame({"user": range(120), "item": [0] * 120})
    recs = pl.DataFrame({"user": range(120), "item": [0] * 120, "rank": 1})
    with pytest.raises(tv.TruevalError, match=r"'zip' has 120 different values[\s\S]*at most 100"):
        tv.evaluate_run(recs, test, users=many, by="zip", metrics="rr")
    with pytest.raises(tv.TruevalError, match="the same user twice"):
        evaluate(world, users=pl.concat([world.users, world.users.head(1)]), by="gender")
    with pytest.raises(tv.TruevalError, match="no user of the evaluation has a value of 'gender'"):
        evaluate(world, users=world.users.with_columns(pl.col("user") + 1000), by="gender")
    with pytest.raises(tv.TruevalError, match="different types"):
        evaluate(world, users=world.users.with_columns(pl.col("user").cast(pl.String)), by="gender")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 7))
def test_equal_groups_are_equal_and_in_order(amounts, number):
    values = np.array(amounts, float)
    group = equal_groups(values, np.arange(len(values)), number=number, seed=4)
    sizes = np.bincount(group, minlength=number)
    assert sizes.max() - sizes.min() <= 1
    for low, high in zip(range(number), range(1, number)):
        if sizes[low] and sizes[high]:
            assert values[group == low].max() <= values[group == high].min()


def test_equals_are_parted_by_chance_not_by_id():
    group = equal_groups(np.zeros(1000), np.arange(1000), seed=0)
    assert abs(np.corrcoef(group, np.arange(1000))[0, 1]) < 0.1
    assert (group != equal_groups(np.zeros(1000), np.arange(1000), seed=1)).any()


def test_strata_of_users(world):
    """Naively: train rows of each user, and the median of the train rows of their items."""
    result = evaluate(world, train=world.train, by=["activity", "taste"])
    counts = dict(world.train["item"].value_counts().iter_rows())
    relevant = world.test.filter(pl.col("value") >= 4)["user"].unique().sort().to_list()
    profiles = {u: [counts[i] for i in world.train.filter(user=u)["item"]] for u in relevant}
    for column, amount in (("activity", len), ("taste", np.median)):
        found = result.evaluation.system("run").by(column).groups
        own = [sorted(found.members(g).tolist()) for g in range(5)]
        assert sorted(chain(*own)) == relevant
        assert max(map(len, own)) - min(map(len, own)) <= 1
        for low, high in pairwise(own):
            assert max(amount(profiles[u]) for u in low) <= min(amount(profiles[u]) for u in high)
        first, last = (amount(profiles[u]) for u in (own[0][0], own[-1][-1]))
        assert found.about.startswith(f"{min(amount(profiles[u]) for u in own[0]):g} to ")
        assert first <= last


def test_users_without_a_profile_have_no_taste(world):
    train = world.train.filter(pl.col("user") >= 10)
    result = evaluate(world, train=train, by=["activity", "taste"])
    without = result.evaluation.system("run").by("taste").groups.without
    relevant = world.test.filter(pl.col("value") >= 4, pl.col("user") < 10)["user"].n_unique()
    assert without == relevant > 0
    assert result.by("activity")["n"].sum() == result["run", "rr"].n


def test_head_mid_tail():
    """Ten items of falling popularity: one is the head, five are the tail."""
    train = pl.DataFrame([(u, i) for i in range(10) for u in range(20 - i)], schema=["user", "item"], orient="row")
    test = pl.DataFrame({"user": [30, 30, 30, 31], "item": [0, 3, 9, 8]})
    recs = pl.DataFrame({"user": [30, 30, 31], "item": [0, 9, 1], "rank": [1, 2, 1]})
    result = tv.evaluate_run(recs, test, train=train, metrics=["recall@2", "rr"], by="popularity", interval="none")
    rows = {(g, m): (v, n) for g, m, v, n in result.by("popularity").select("group", "metric", "value", "n").rows()}
    assert rows["head", "recall@2"] == (1, 1)
    assert rows["mid", "recall@2"] == (0, 1)
    assert rows["tail", "recall@2"] == (0.5, 2)
    assert rows["tail", "rr"] == (0.25, 2)
    assert result.parity("popularity")["run"].target == pytest.approx({"head": 0.1, "mid": 0.4, "tail": 0.5})
