"""The Spark engine, on a real Spark: what it finds is what the local engine finds, and so are its refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.metrics.registry import all_metrics

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ASKED = ["ndcg@5", "recall@10", "ap", "rr", "coverage@5", "gini@5"]


class Files:
    """Runs, logs and side tables of a small world, in a folder. A few users get no list, a few are in no test."""

    def __init__(self, folder: Path, ids: str = "int") -> None:
        rng = np.random.default_rng(7)
        users, items = 90, 70
        pairs = pl.DataFrame({"user": rng.integers(0, users, 3000), "item": rng.integers(0, items, 3000)})
        pairs = pairs.unique(maintain_order=True)
        pairs = pairs.with_columns(value=pl.Series(rng.integers(1, 6, len(pairs))).cast(pl.Float64))
        scores = rng.standard_normal((users, items)).round(1)  # with many equals
        lists = [
            (u, int(i), float(scores[u, i])) for u in range(users) if u % 11 for i in np.argsort(-scores[u])[:12]
        ] + [(users + 3, 1, 0.5), (users + 3, 2, 0.4)]  # fmt: skip
        self.run = pl.DataFrame(lists, schema=["user", "item", "score"], orient="row")
        self.train, self.test = pairs.head(1500), pairs.slice(1500)
        genres = ["a|b", "b", "c", "a|c", "c|d"]
        self.items = pl.DataFrame({"item": range(items), "aspects": [genres[i % 5] for i in range(items)]})
        self.users = pl.DataFrame({"user": range(users), "country": [f"c{u % 3}" for u in range(users)]})
        if ids == "text":
            for name in ("run", "train", "test", "items", "users"):
                frame = getattr(self, name)
                roles = [role for role in ("user", "item") if role in frame.columns]
                setattr(self, name, frame.with_columns(pl.format("{}-{}", pl.lit(r[0]), r).alias(r) for r in roles))
        self.folder = folder
        for name in ("run", "train", "test", "items", "users"):
            getattr(self, name).sample(fraction=1, shuffle=True, seed=1).write_parquet(folder / f"{name}.parquet")

    def __getitem__(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


@pytest.fixture(scope="module", params=["int", "text"])
def files(request, tmp_path_factory) -> Files:
    return Files(tmp_path_factory.mktemp("spark"), request.param)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Files:
    return Files(tmp_path_factory.mktemp("spark"))


def assert_same(one: Any, other: Any) -> None:
    assert one.table().equals(other.table())
    assert json.loads(one.to_json()) == json.loads(other.to_json())
    order = ["system", "user"]
    assert one.per_user.sort(order).equals(other.per_user.sort(order))


def both(recs: Any, test: Any, **asked: Any) -> tuple[Any, Any]:
    return tv.evaluate_run(recs, test, **asked), tv.evaluate_run(recs, test, engine="spark", **asked)


def test_every_metric_is_the_same_to_the_bit(files):
    metrics = [
        metric.name if metric.cutoff == "none" else f"{metric.name}@5"
        for metric in all_metrics()
        if not metric.exact and metric.name not in ("mae", "mse", "rmse")
    ]
    assert len(metrics) > 35
    metrics += ["anti(precision)@5", "recall@10[beta=0.5]", "ips(precision)@5", "snips(recall)@5", "snips(dcg)@5"]
    local, spark = both(
        files["run"], files["test"], train=files["train"], items=files["items"], threshold=4, metrics=metrics,
        propensity="popularity:0.5", population="all",
    )  # fmt: skip
    assert_same(local, spark)


@pytest.mark.parametrize(
    "asked",
    [
        {"population": "all", "ties": "expected"},
        {"population": "judged", "ties": "worst", "interval": "none"},
        {"ties": "best", "condensed": True, "interval": "t"},
        {"without_head": 0.1, "compat": "trec_eval"},
        {"seen": "allow", "population": "all", "items": pl.DataFrame({"item": range(70)})},
        {"by": "country,popularity", "min_group": 5},
        {"missing": "drop"},
        {"only_users": list(range(0, 60, 2))},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_every_option_is_the_same_to_the_bit(whole, asked):
    exact = {"expected": ASKED[:-1], "worst": ASKED[:-2], "best": ASKED[:-2]}  # under these tie rules
    metrics = exact.get(asked.get("ties"), ASKED)
    if "by" in asked:
        asked = {**asked, "users": whole["users"]}
    local, spark = both(whole["run"], whole["test"], train=whole["train"], metrics=metrics, seed=3, **asked)
    assert_same(local, spark)
    assert "c0" in str(spark.to_json()) or "by" not in asked


def test_the_number_of_parts_changes_nothing(whole, monkeypatch):
    expected = tv.evaluate_run(whole["run"], whole["test"], metrics=ASKED)
    for rows in (37, 400):
        monkeypatch.setattr("trueval.evaluation.engines.spark.PART_ROWS", rows)
        assert_same(expected, tv.evaluate_run(whole["run"], whole["test"], metrics=ASKED, engine="spark"))


def test_tables_of_spark_folders_addresses_and_small_files(whole, spark, tmp_path):
    expected = tv.evaluate_run({"run": whole["run"]}, whole["test"], metrics=ASKED)
    named = spark.read.parquet(str(whole["run"])).withColumnRenamed("user", "uid.x").withColumnRenamed("score", "pred")
    parts = tmp_path / "parts"
    parts.mkdir()
    for n in range(3):
        whole.run.gather_every(3, n).write_parquet(parts / f"{n}.parquet")
    whole.run.write_csv(tmp_path / "run.csv")
    columns = {"user": "uid.x", "score": "pred"}
    for source, options in [
        (named, {"columns": columns}),
        (parts, {}),
        (whole["run"].as_uri(), {}),
        (tmp_path / "run.csv", {}),
        (whole.run, {}),
        (whole.run.to_pandas(), {}),
    ]:
        found = tv.evaluate_run({"run": source}, whole["test"], metrics=ASKED, engine="spark", **options)
        assert_same(expected, found)
    held = {"test": spark.read.parquet(str(whole["test"])), "items": whole["items"].as_uri()}
    expected = tv.evaluate_run({"run": whole["run"]}, whole["test"], items=whole["items"], metrics=ASKED)
    found = tv.evaluate_run({"run": whole["run"]}, metrics=ASKED, engine="spark", **held)
    assert found.table().equals(expected.table())


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_rows_that_were_overwritten_do_not_count(whole, spark, tmp_path, kind):
    """Spark alone reads all files of a folder; where the folder cannot be read here, its log is reason to refuse."""
    folder, old = tmp_path / "run", whole.run.with_columns(score=-pl.col("score"))
    if kind == "delta":
        pytest.importorskip("deltalake")
        for version in (old, whole.run):
            version.write_delta(folder, mode="overwrite")
    else:
        pytest.importorskip("pyiceberg")
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=tmp_path.as_uri())
        catalog.create_namespace("n")
        table = catalog.create_table("n.t", schema=old.to_arrow().schema, location=folder.as_uri())
        table.append(old.to_arrow())
        table.overwrite(whole.run.to_arrow())
    assert_same(*(tv.evaluate_run({"run": source}, whole["test"], engine="spark") for source in (whole["run"], folder)))
    with pytest.raises(tv.TruevalError, match="does not follow") as refused:
        tv.evaluate_run(folder.as_uri(), whole["test"], engine="spark")
    assert kind in refused.value.found.lower()
    frame = spark.createDataFrame(whole.run.to_arrow())  # what the error advises
    assert_same(*(tv.evaluate_run({"run": one}, whole["test"], engine="spark") for one in (frame, whole["run"])))


def test_several_runs_share_a_catalogue(whole, tmp_path):
    whole.run.filter(pl.col("item") % 2 == 0).write_parquet(tmp_path / "even.parquet")
    whole.run.filter(pl.col("item") % 2 == 1).write_parquet(tmp_path / "odd.parquet")
    local, spark = both([tmp_path / "even.parquet", tmp_path / "odd.parquet"], whole["test"], metrics=ASKED)
    assert_same(local, spark)
    assert spark.compare("even").table().equals(local.compare("even").table())


def test_the_command_says_the_same(whole, trueval):
    ask = ["evaluate", whole["run"], "--test", whole["test"], "--metrics", "ndcg@5,coverage@5", "--format", "json"]
    local, spark = trueval(*ask), trueval(*ask, "--engine", "spark")
    assert (spark.code, spark.out) == (0, local.out)
    assert f"{len(whole.run):,} recommendations on Spark, 1 partition by user" in spark.err
    assert "Spark" not in trueval(*ask, "--engine", "spark", "--quiet").err


WRONG = {
    "an item twice": (lambda run: pl.concat([run, run.head(1)]), "same user twice"),
    "score is NaN": (lambda run: run.with_columns(score=pl.when(pl.col("item") == 3).then(np.nan).otherwise(1.0)),
                     "finite numbers"),
    "score is text": (lambda run: run.with_columns(score=pl.lit("high")), "must be numbers"),
    "neither score nor rank": (lambda run: run.drop("score"), "neither a score nor a rank"),
    "a rank twice": (lambda run: run.select("user", "item", rank=1), "same rank twice"),
    "half a rank": (lambda run: run.select("user", "item", rank=1.5), "whole numbers"),
    "ids are missing": (lambda run: run.with_columns(user=pl.when(pl.col("item") != 3).then("user")),
                        "user ids are missing"),
    "no item column": (lambda run: run.drop("item"), "item"),
    "text for numbers": (lambda run: run.with_columns(pl.col("user").cast(pl.String)), "user ids"),
    "strangers": (lambda run: run.with_columns(pl.col("user") + 1000), "no user in common"),
    "empty": (lambda run: run.head(0), "empty"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_bad_runs_are_refused_in_the_same_words(whole, tmp_path, trueval, what):
    spoil, words = WRONG[what]
    spoil(whole.run).write_parquet(tmp_path / "run.parquet")
    ask = ["evaluate", tmp_path / "run.parquet", "--test", whole["test"], "--metrics", "rr"]
    local, spark = trueval(*ask), trueval(*ask, "--engine", "spark", "-o", tmp_path / "out.txt")
    assert (local.code, spark.code) == (2, 2)
    assert words in spark.err
    first = [[line for line in ran.err.splitlines() if line.startswith("error:")] for ran in (local, spark)]
    assert first[0] == first[1] != []
    assert not (tmp_path / "out.txt").exists()


def test_the_order_of_rows_does_not_matter_without_equal_scores(whole):
    run = pl.read_parquet(whole["run"]).with_row_index("place").with_columns(score=pl.col("place").cast(pl.Float64))
    local, spark = both(run.drop("place"), whole["test"], metrics=ASKED, compat="ranx", interval="none")
    assert_same(local, spark)


def test_what_cannot_be_done_is_said(whole, tmp_path, trueval, monkeypatch):
    ask = ["evaluate", whole["run"], "--test", whole["test"], "--metrics", "rr", "--engine"]
    assert "did you mean spark?" in trueval(*ask, "sparc").err
    given = trueval(*ask, "spark", "--ties", "given")
    assert given.code == 2
    assert "does not keep the order of rows" in given.err
    assert "set by compat=ranx" in trueval(*ask, "spark", "--compat", "ranx").err
    catalogue = tmp_path / "few.csv"
    whole.items.select("item").head(5).write_csv(catalogue)
    outside = trueval(*ask, "spark", "--items", catalogue)
    assert outside.code == 2
    assert "test items are outside the given catalogue" in outside.err
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing of the kind")
    refused = trueval("evaluate", broken, "--test", whole["test"], "--metrics", "rr", "--engine", "spark")
    assert refused.code == 2
    assert "Spark failed" in refused.err
    missing = trueval("evaluate", "nowhere.parquet", "--test", whole["test"], "--metrics", "rr", "--engine", "spark")
    assert missing.code == 2
    assert "no such file" in missing.err
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    without = trueval(*ask, "spark")
    assert without.code == 2
    assert "trueval[spark]" in without.err


def test_workers_import_nothing_from_the_folder_that_the_command_is_in(tmp_path):
    (tmp_path / "csv.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w'); raise ImportError('planted')")
    pl.DataFrame({"user": [1, 2], "item": [1, 2], "score": [1.0, 2.0]}).write_parquet(tmp_path / "recs.parquet")
    pl.DataFrame({"user": [1, 2], "item": [1, 3]}).write_parquet(tmp_path / "test.parquet")
    arguments = ["evaluate", "recs.parquet", "--test", "test.parquet", "--engine", "spark", "--metrics", "hit@1"]
    # -P as in the command, which has no current folder among its places to import from
    command = [sys.executable, "-P", "-c", "from trueval.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("invalid", ["miss", "drop"])
def test_places_that_cannot_count_and_only_some_users(whole, invalid):
    some = whole.run.filter(pl.col("user") % 3 == 0)
    strange = some.with_columns(item=pl.col("item") + 1000, score=pl.col("score") - 0.1)
    run = pl.concat([whole.run, strange, some.with_columns(score=pl.col("score") - 5)])
    local, spark = both(
        run, whole.test, train=whole.train, items=whole.items, threshold=4, invalid=invalid, only_users=list(range(60)),
        metrics=[*ASKED, "novelty@5", "ild@5", "srecall@5"],
    )  # fmt: skip
    assert_same(local, spark)
    record = spark.to_dict()["systems"]["run"]["invalid"]
    assert min(record["outside"], record["repeated"]) > 0
    assert spark.per_user["user"].max() < 60
