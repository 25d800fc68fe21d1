"""Values by group equal those of an evaluation of the group alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from group_worlds import World, make_world

import trueval as tv
from trueval.evaluation.group_measures import looks_for
from trueval.metrics.grammar import parse
from trueval.metrics.registry import all_metrics

METRICS = ["ndcg@5", "ap@8", "precision@5", "recall@5", "rr", "hit@3", "novelty@5", "coverage@5", "gini@5"]
# what has an exact value under a tie rule, whatever the scores
EXACT = {"random": METRICS, "expected": METRICS[:-1], "best": METRICS[:-2], "worst": METRICS[:-2]}


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


def evaluate(world: World, **options) -> tv.Result:
    given = {"metrics": METRICS, "threshold": 4, "train": world.train, "items": world.items, "interval": "none"}
    return tv.evaluate_run(world.recs, options.pop("test", world.test), **given | options)


@pytest.mark.parametrize("ties", ["random", "expected", "best"])
def test_user_groups_equal_evaluations_of_the_users(ties):
    world = make_world(tied=ties != "random")
    metrics = EXACT[ties]
    options = {"ties": ties, "interval": "t", "metrics": metrics}
    result = evaluate(world, users=world.users, by="gender", min_group=1, **options)
    for gender in ("f", "m"):
        own = world.users.filter(gender=gender)["user"]
        alone = evaluate(world, test=world.test.filter(pl.col("user").is_in(own.implode())), **options)
        rows = result.by("gender").filter(group=gender)
        for metric in metrics:
            row = rows.filter(metric=metric).row(0, named=True)
            wanted = alone["run", metric]
            assert row["value"] == pytest.approx(wanted.value, abs=1e-12), metric
            assert (row["n"], row["undefined"]) == (wanted.n, wanted.undefined)
            assert row["low"] == pytest.approx(wanted.low, abs=1e-12) or np.isnan(wanted.low)


def test_user_groups_are_means_of_the_units(world):
    result = evaluate(world, users=world.users, by="gender")
    per_user = result.per_user.join(world.users, on="user")
    means = per_user.drop_nulls("gender").group_by("gender").agg(pl.col("ndcg@5", "rr").mean())
    for gender, ndcg, rr in means.rows():
        rows = result.by("gender").filter(group=gender)
        assert rows.filter(metric="ndcg@5")["value"][0] == pytest.approx(ndcg)
        assert rows.filter(metric="rr")["value"][0] == pytest.approx(rr)
    told = result.by("gender").filter(metric="rr")["n"].sum()
    n = result["run", "rr"].n
    assert told < n
    assert f"by gender: {n - told} of {n} users are in no group; values of all users count them, too" in result.warnings


def members(world: World, column: str, group: str) -> pl.Series:
    values = world.items[column].cast(pl.String).str.split("|")
    return world.items.filter(values.list.contains(group))["item"].implode()


def example(name: str) -> str:
    """A way to write each metric, with whatever of its defaults looks at the whole test set said explicitly."""
    metric = next(m for m in all_metrics() if m.name == name)
    return name + ("@5" if metric.cutoff != "none" else "") + ("[gmax=5]" if name == "err" else "")


READABLE = [m.name for m in all_metrics() if looks_for(parse(example(m.name))) and not m.exact and m.family != "errors"]


@pytest.mark.parametrize("name", [*READABLE, "anti(precision)", "anti(ndcg)"])
def test_item_groups_equal_evaluations_of_their_judgements(world, name):
    """The lists stay, the judgements are cut to the group: the same as a test set that knows nothing else."""
    metric = name if "(" not in name else f"{name}@5"
    metric = metric if "@" in metric else example(name)
    result = evaluate(world, metrics=metric, by=["genre", "provider"], population="judged", ties="expected")
    found = looks_for(parse(metric))
    for column, groups in (("genre", "abc"), ("provider", "0123")):
        for group in groups:
            test = world.test.filter(pl.col("item").is_in(members(world, column, group)))
            alone = evaluate(world, test=test, metrics=metric, population="judged", ties="expected")
            wants = pl.col("value") >= 4 if found == "relevant" else pl.col("value") < 4
            has = test.filter(wants)["user"].unique().implode()
            values = alone.per_user.filter(pl.col("user").is_in(has))[str(parse(metric))]
            row = result.by(column).filter(group=group).row(0, named=True)
            assert row["value"] == pytest.approx(values.mean(), abs=1e-12)
            assert row["n"] == values.count()
            assert row["n"] + row["undefined"] == 60


@pytest.mark.parametrize("metric", ["auc", "atop", "auc[against=judged]", "rprecision"])
def test_item_groups_of_whole_rankings(world, metric):
    everything = world.items.select("item")
    recs = pl.DataFrame({"user": range(60)}).join(everything, how="cross")
    recs = recs.with_columns(score=pl.Series(np.random.default_rng(1).integers(0, 30, len(recs))))
    options = {"metrics": metric, "threshold": 4, "items": world.items, "ties": "expected", "interval": "none"}
    rows = tv.evaluate_run(recs, world.test, by="provider", **options).by("provider")
    for group in range(4):
        test = world.test.filter(pl.col("item") % 4 == group)
        alone = tv.evaluate_run(recs, test, **options)["run", metric]
        row = rows.filter(group=str(group)).row(0, named=True)
        assert row["value"] == pytest.approx(alone.value, abs=1e-12)
        assert row["n"] == alone.n


def test_item_groups_by_hand():
    """One list a b c d; b and d are relevant, and b is the only one of its group."""
    recs = pl.DataFrame({"user": 1, "item": list("abcd"), "rank": [1, 2, 3, 4]})
    test = pl.DataFrame({"user": [1, 1], "item": ["b", "d"]})
    items = pl.DataFrame({"item": list("abcde"), "kind": ["x", "x", "y", "y", "z"]})
    metrics = ["rr", "precision@4", "ap", "recall@2"]
    rows = tv.evaluate_run(recs, test, items=items, metrics=metrics, by="kind", interval="none").by("kind")
    values = {(g, m): v for g, m, v in rows.select("group", "metric", "value").rows()}
    assert [values["x", m] for m in metrics] == [1 / 2, 1 / 4, 1 / 2, 1]
    assert [values["y", m] for m in metrics] == [1 / 4, 1 / 4, 1 / 4, 0]
    assert [values["z", m] for m in metrics] == [None] * 4
    assert rows.filter(group="z")["undefined"].to_list() == [1] * 4


@pytest.mark.parametrize("ties", ["random", "expected", "worst"])
def test_streaming_changes_nothing(tmp_path: Path, monkeypatch, ties):
    world = make_world(tied=True)
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 45)
    path = tmp_path / "run.parquet"
    world.recs.filter(pl.col("user") % 5 > 0).sort("user").write_parquet(path)
    options = {
        "by": ["gender", "genre", "popularity", "activity"], "users": world.users, "min_group": 2, "ties": ties,
        "interval": "bootstrap", "resamples": 50,
    }  # fmt: skip
    given = {"metrics": EXACT[ties], "threshold": 4, "train": world.train, "items": world.items, **options}
    whole = tv.evaluate_run(path, world.test, **given)
    pieces = tv.evaluate_run(path, world.test, sorted_by_user=True, **given)
    for column in options["by"]:
        assert whole.by(column).equals(pieces.by(column))
        assert whole.gaps(column).equals(pieces.gaps(column))
        assert whole.opportunity(column) == pieces.opportunity(column)
    for discount in (False, True) if ties != "worst" else ():
        assert whole.parity("genre", discount=discount) == pieces.parity("genre", discount=discount)


def test_row_order_and_threads_change_nothing(world):
    options = {"by": "gender,genre,taste", "interval": "bootstrap", "resamples": 30, "min_group": 2}
    base = evaluate(world, users=world.users, threads=1, **options)
    shuffled = World(*(getattr(world, f).sample(fraction=1, shuffle=True, seed=5) for f in World.__annotations__))
    other = evaluate(shuffled, users=shuffled.users, threads=3, **options)
    for column in ("gender", "genre", "taste"):
        assert base.by(column).equals(other.by(column))
        assert base.gaps(column).equals(other.gaps(column))


@pytest.mark.parametrize("design", ["AR-AI-AN", "1R-AI-AN", "AR-AI-NN10", "P1R2-AI-AN", "AR-AI-AN-condensed"])
def test_systems_under_designs(world, design):
    """Groups of a partition of users, weighted by their units, make up the whole; so do items of 1R units."""
    log = pl.concat([world.train, world.test.select("user", "item")])
    parts = tv.split(tv.Interactions.of(log, items=world.items), "holdout", ratio=0.4, seed=1)
    result = tv.evaluate(
        parts, ["popularity", "random"], design=design, metrics="ndcg@5", interval="t", min_group=2,
        by=["activity", "provider", "popularity"],
    )  # fmt: skip
    for name in ("popularity", "random"):
        label = next(iter(result.evaluation.specs))
        whole = result[name, label]
        columns = ["activity"] if design.startswith("AR") else ["activity", "provider", "popularity"]
        for column in columns:
            rows = result.by(column).filter(system=name)
            assert rows["n"].sum() == whole.n
            if "P1R" not in design:  # percentiles are averaged, whatever their sizes
                assert (rows["value"] * rows["n"]).sum() / whole.n == pytest.approx(whole.value)


def test_rating_errors_by_item_group(world):
    log = pl.DataFrame(
        {"user": [0, 0, 1, 1, 0, 1], "item": [0, 1, 0, 1, 2, 3], "value": [4.0, 2.0, 5.0, 1.0, 3.0, 3.0]}
    )
    parts = tv.split(tv.Interactions.of(log), "holdout", ratio=0.34, seed=2)
    items = pl.DataFrame({"item": range(4), "kind": ["x", "y", "x", "y"]})
    scores = np.arange(8, dtype=float).reshape(2, 4)
    result = tv.evaluate(
        parts, {"model": scores}, design="AR-AI-AN", items=items, by="kind", metrics="mae", interval="none", min_group=1
    )
    test = parts.test.frame.join(items, on="item")
    for kind in test["kind"].unique():
        own = test.filter(kind=kind)
        errors = [abs(scores[u, i] - v) for u, i, v in own.select("user", "item", "value").rows()]
        assert result.by("kind").filter(group=kind)["value"][0] == pytest.approx(np.mean(errors))


def test_rules_of_other_libraries_stay_inside_the_group(world):
    """empty_is_zero counts users without relevant items as 0, but not those without any of the group's."""
    result = evaluate(world, metrics="recall@5", by="provider", compat="trec_eval", train=None)
    for group in range(4):
        test = world.test.filter(pl.col("item") % 4 == group, pl.col("value") >= 4)
        assert result.by("provider").filter(group=str(group))["n"][0] == test["user"].n_unique()
