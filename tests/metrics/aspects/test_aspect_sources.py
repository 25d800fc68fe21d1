"""Aspects from every kind of item table give the same values, through every door; what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from aspect_worlds import specs

import trueval as tv
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.item_aspects import item_aspects
from trueval.metrics.registry import all_metrics

# the worked example of the golden file: section A with the train profile, and B's coverage on the same lists
GENRES = {"i1": "a", "i2": "a|b", "i3": "b", "i4": "c", "i5": "b|c", "t1": "a", "t2": "a|c", "t3": "b"}
RECS = pl.DataFrame({"user": ["u"] * 5, "item": ["i1", "i2", "i3", "i4", "i5"], "rank": [1, 2, 3, 4, 5]})
TEST = pl.DataFrame({"user": ["u"] * 4, "item": ["i1", "i2", "i4", "i5"], "value": [5, 4, 2, 3]})
TRAIN = pl.DataFrame({"user": ["u"] * 3, "item": ["t1", "t2", "t3"], "value": [4, 5, 3]})
WANTED = {"abndcg@2": 1.010118, "abndcg@5": 0.980890, "srecall@3": 0.666667, "srr@5": 0.25}

ITEMS, NAMES = list(GENRES), ["a", "b", "c"]
FLAGS = np.array([[name in own.split("|") for name in NAMES] for own in GENRES.values()], np.uint8)
PAIRS = [(item, name) for item, own in GENRES.items() for name in own.split("|")]
TABLES = {
    "a column of text": pl.DataFrame({"item": ITEMS, "genres": list(GENRES.values())}),
    "capitals": pl.DataFrame({"item": ITEMS, "Genre": list(GENRES.values())}),
    "a column of lists": pl.DataFrame({"item": ITEMS, "aspects": [own.split("|") for own in GENRES.values()]}),
    "a long table": pl.DataFrame(PAIRS, schema=["item", "aspect"], orient="row"),
    "a long table of numbers": pl.DataFrame(
        [(item, NAMES.index(name)) for item, name in PAIRS], schema=["item", "tag"], orient="row"
    ),
    "columns of a matrix": pl.DataFrame({"item": ITEMS, **{f"genre_{n}": FLAGS[:, j] for j, n in enumerate(NAMES)}}),
    "columns of flags": pl.DataFrame({"item": ITEMS, **{f"tag:{n}": FLAGS[:, j] > 0 for j, n in enumerate(NAMES)}}),
    "rows of a matrix": pl.DataFrame({"item": ITEMS, "aspects": FLAGS}),
}


def same(found: float, value: float) -> bool:
    return found == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("form", TABLES)
def test_forms_of_item_tables(form: str):
    table = TABLES[form].sample(fraction=1, shuffle=True, seed=1)  # the order of rows says nothing
    result = tv.evaluate_run(RECS, TEST, train=TRAIN, items=table, metrics=list(WANTED), interval="none")
    for metric, value in WANTED.items():
        assert same(result["run", metric].value, value), metric


def test_other_table_libraries():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"item": ITEMS, "genres": list(GENRES.values())})
    result = tv.evaluate_run(RECS, TEST, train=TRAIN, items=table, metrics=["abndcg@5"], interval="none")
    assert same(result["run", "abndcg@5"].value, WANTED["abndcg@5"])


def test_systems():
    """The same list as the ranking of a system: the targets are the items of the catalogue that are not in train."""
    side = TABLES["a column of text"]
    somebody = pl.DataFrame({"user": ["v"], "item": ["i1"], "value": [1]})
    parts = tv.split(pl.concat([TRAIN, somebody]), "given", test=TEST)
    scores = np.array([[9.0 - j for j in range(len(ITEMS))]] * 2)  # items are coded in the order of their names
    result = tv.evaluate(
        parts, {"s": tv.Scores(scores)}, design="AR-AI-AN", metrics=list(WANTED), items=side, interval="none"
    )
    for metric, value in WANTED.items():
        assert same(result["s", metric].value, value), metric


@pytest.mark.parametrize("form", ["a column of text", "a long table", "columns of a matrix"])
def test_command_line(form: str, trueval, tmp_path: Path):
    for name, table in {"recs": RECS, "test": TEST, "train": TRAIN, "items": TABLES[form]}.items():
        table.write_csv(tmp_path / f"{name}.csv")
    given = [f"--{name}={tmp_path}/{name}.csv" for name in ("test", "train", "items")]
    ran = trueval("evaluate", tmp_path / "recs.csv", *given, "--metrics", ",".join(WANTED), "--format", "json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["systems"]["recs"]["metrics"]
    assert {metric: found[metric]["value"] for metric in WANTED} == pytest.approx(WANTED, abs=5e-7)
    shown = trueval("evaluate", tmp_path / "recs.csv", *given, "--metrics", "abndcg@2")
    assert "abndcg@2 exceeds 1 for 1 user, whose list is better than" in shown.out + shown.err


def test_movielens(data_folder):
    """Genres come with the data set: flags behind the first five columns of its item file."""
    log = tv.read(data_folder("ml-100k"))
    items = Ids.of(log.frame["item"])
    own = item_aspects(log.items, items)
    assert own is not None
    lines = (data_folder("ml-100k") / "u.item").read_text(encoding="latin-1").splitlines()
    flags = {int(line.split("|")[0]): sum(map(int, line.split("|")[5:])) for line in lines}
    assert len(own) == 19
    assert np.diff(own.start).tolist() == [flags[int(item)] for item in items.values.to_list()]
    result = tv.evaluate(
        tv.split(log, "holdout", ratio=0.2, seed=1), ["popularity", "random"], interval="none",
        metrics=["abndcg@10", "alpha_ndcg@10", "srecall@10", "nrbp", "err_ia@10", "eu@10", "rbu@10"], threshold=4,
    )  # fmt: skip
    for metric in ("abndcg@10", "alpha_ndcg@10", "nrbp", "err_ia@10", "eu@10", "rbu@10"):
        assert result["popularity", metric].value > result["random", metric].value, metric
    assert result["random", "srecall@10"].value > 0.3


@pytest.mark.parametrize("metric", [m for m in all_metrics() if m.family == "aspects"], ids=lambda m: m.name)
def test_missing_aspects_are_named(metric, trueval, tmp_path: Path):
    asked = metric.name + ("" if metric.cutoff == "none" else "@5")
    with pytest.raises(DefinitionError, match=rf"{asked} needs the aspects of items") as caught:
        tv.evaluate_run(RECS, TEST, train=TRAIN, metrics=[asked])
    assert "items=" in caught.value.do
    assert "--items" in caught.value.do
    for name, table in {"recs": RECS, "test": TEST}.items():
        table.write_csv(tmp_path / f"{name}.csv")
    ran = trueval("evaluate", tmp_path / "recs.csv", "--test", tmp_path / "test.csv", "--metrics", asked)
    assert ran.code == 2
    assert asked in ran.err


def test_missing_train_ratings_are_named():
    for metric in ("abndcg@5", "eu", "rbu@5", "err_ia@5[form=weighted]"):
        with pytest.raises(DefinitionError, match=f"{metric.split('@')[0]} needs the users' train ratings") as caught:
            tv.evaluate_run(RECS, TEST, items=TABLES["a long table"], metrics=[metric])
        assert "profile=test" in caught.value.do


def test_a_matrix_of_anything_else_is_refused():
    wrong = TABLES["columns of a matrix"].with_columns(genre_b=pl.Series([0, 2, 0, 0, 1, 0, 0, 1]))
    with pytest.raises(DataError, match=r"(?s)0 and 1.*item i2, b: 2"):
        tv.evaluate_run(RECS, TEST, train=TRAIN, items=wrong, metrics=["srecall@5"])


def test_negative_ratings_are_refused():
    low = TRAIN.with_columns(value=pl.Series([-1, 2, 3]))
    for metric in ("eu", "rbu", "abndcg@5"):
        with pytest.raises(DefinitionError, match="-1"):
            tv.evaluate_run(RECS, TEST, train=low, items=TABLES["a long table"], metrics=[metric])


def test_the_comparison_with_the_oracle_leaves_no_metric_out():
    assert {spec.metric.name for spec in specs()} == {m.name for m in all_metrics() if m.family == "aspects"}
