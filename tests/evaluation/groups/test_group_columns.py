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
        with pytest.raises(tv.TruevalError, match=r"whole number|must be from 1"):
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
    with pytest.raises(tv.TruevalError, match=r"text or numbers[\s\S]*Struct"):
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


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 7), st.randoms())
def test_equal_amounts_are_in_one_group(amounts, number, chance):
    """Groups are in order, equals together, and sizes differ from equal ones by no more than equals explain."""
    values = np.array(amounts, float)
    group = equal_groups(values, number=number)
    assert group.min() >= 0
    assert group.max() < number
    for amount in set(amounts):
        assert len(set(group[values == amount])) == 1
    for low, high in pairwise(sorted(set(group))):
        assert values[group == low].max() < values[group == high].min()
    largest = max(amounts.count(amount) for amount in amounts)
    for g in range(number):  # both ends of a group move by less than half of the equals there, and by rounding
        assert abs((group <= g).sum() - (g + 1) * len(values) / number) <= largest / 2
    order = list(range(len(values)))
    chance.shuffle(order)  # whoever comes first, and whatever the ids
    assert equal_groups(values[order], number=number).tolist() == group[order].tolist()


def test_distinct_amounts_make_groups_of_equal_size():
    for size, number in ((10, 5), (11, 5), (14, 5), (3, 5)):
        sizes = np.bincount(equal_groups(np.arange(size, dtype=float), number=number), minlength=number)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("column", ["activity", "taste"])
def test_users_with_equal_amounts_get_one_label_that_tells_the_amount(column):
    """Most users have one train row: all of them are in one group, whatever their ids and the seed."""
    rows = [(u, i) for u in range(60) for i in range(1 if u < 45 else 1 + u % 4)]
    train = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    test = pl.DataFrame({"user": range(60), "item": [9] * 60})
    recs = pl.DataFrame({"user": range(60), "item": [9] * 60, "rank": [1] * 60})
    counts = dict(train["item"].value_counts().iter_rows())
    amount = {u: 1 if u < 45 else 1 + u % 4 for u in range(60)}
    if column == "taste":
        amount = {u: float(np.median([counts[i] for i in range(n)])) for u, n in amount.items()}
    for seed in (0, 1):
        result = tv.evaluate_run(recs, test, train=train, metrics="rr", by=column, interval="none", seed=seed)
        found = result.evaluation.system("run").by(column).groups
        own = [sorted({amount[u] for u in found.members(g).tolist()}) for g in range(len(found))]
        assert len(set(chain(*own))) == sum(map(len, own))
        ends = [dict.fromkeys((low, high)) for low, *_, high in ([*each, each[-1]] for each in own)]
        assert found.labels == tuple("–".join(f"{x:g}" for x in end) for end in ends)


def test_strata_when_runs_have_other_users():
    """With all users in the population, a run may bring users of its own, and with them other groups."""
    train = pl.DataFrame({"user": [1, 1, 2, 3, 3, 3], "item": [1, 2, 1, 1, 2, 3]})
    test = pl.DataFrame({"user": [1, 2], "item": [4, 4]})
    users = {"one": [1, 2], "two": [1, 2, 7, 8, 9]}
    runs = {name: pl.DataFrame({"user": own, "item": 4, "rank": 1}) for name, own in users.items()}
    for names in (["one", "two"], ["two", "one"]):
        result = tv.evaluate_run(
            {name: runs[name] for name in names}, test, train=train, metrics="rr", by="activity", population="all",
        )  # fmt: skip
        shown = {name: rows["group"].to_list() for (name,), rows in result.by("activity").group_by("system")}
        assert shown == {"one": ["1", "2", "3"], "two": ["0", "1", "2", "3"]}
        assert any("0 (3), 1 (1)" in note or "1 (1), 2 (1), 3 (1), 0 (3)" in note for note in result.warnings)


def test_strata_of_users(world):
    """Naively: train rows of each user, and the median of the train rows of their items."""
    result = evaluate(world, train=world.train, by=["activity", "taste"])
    counts = dict(world.train["item"].value_counts().iter_rows())
    relevant = world.test.filter(pl.col("value") >= 4)["user"].unique().sort().to_list()
    profiles = {u: [counts[i] for i in world.train.filter(user=u)["item"]] for u in relevant}
    for column, amount in (("activity", len), ("taste", np.median)):
        found = result.evaluation.system("run").by(column).groups
        own = [sorted(found.members(g).tolist()) for g in range(len(found))]
        assert sorted(chain(*own)) == relevant
        for low, high in pairwise(own):
            assert max(amount(profiles[u]) for u in low) < min(amount(profiles[u]) for u in high)
        for members, label in zip(own, found.labels):
            amounts = [amount(profiles[u]) for u in members]
            assert label == "–".join(f"{x:g}" for x in dict.fromkeys((min(amounts), max(amounts))))
        assert found.about.startswith("groups by")


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
