"""trueval evaluate: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest


def frame(path: Path, **columns: object) -> Path:
    table = pl.DataFrame(columns)
    table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)
    return path


def test_json_keeps_the_contract(trueval, files):
    ran = trueval(
        "evaluate", files / "recs.csv", files / "other.csv", "--test", files / "test.csv", "--metrics",
        "ndcg@3,recall@5[cap=true],coverage@5", "--baseline", "other", "--format", "json",
    )  # fmt: skip
    assert ran.code == 0
    record = json.loads(ran.out)
    assert set(record) >= {"systems", "comparisons", "manifest", "warnings"}
    value = record["systems"]["recs"]["metrics"]["ndcg@3"]
    assert set(value) == {"value", "low", "high", "n", "undefined"}
    assert value["low"] <= value["value"] <= value["high"]
    assert value["n"] == 10
    comparison = record["comparisons"][0]
    wanted = {"metric", "system", "baseline", "difference", "low", "high", "p", "p_corrected", "verdict"}
    assert set(comparison) >= wanted
    assert comparison["verdict"] in ("better", "worse", "not shown")
    assert set(record["manifest"]) >= {"population", "design", "ties", "definitions", "seed", "version"}
    assert record["manifest"]["design"] == "given"
    assert set(record["manifest"]["definitions"]) == {"ndcg@3", "recall@5[cap=true]", "coverage@5"}


def test_values_are_right(trueval, files):
    """User n's list is i_n, i_n+1 … and i_n, i_n+2, i_n+4 are relevant."""
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "precision@5,rr,ap@5", "--format",
        "json", "--interval", "t",
    )  # fmt: skip
    metrics = json.loads(ran.out)["systems"]["recs"]["metrics"]
    assert metrics["precision@5"]["value"] == pytest.approx(3 / 5)
    assert metrics["rr"]["value"] == 1
    assert metrics["ap@5"]["value"] == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


@pytest.mark.parametrize("style", ["table", "csv", "md", "latex"])
def test_formats(trueval, files, style):
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "ndcg@3", "--format", style
    )
    assert ran.code == 0
    assert "ndcg@3" in ran.out
    assert "recs" in ran.out


def test_files_are_written(trueval, files):
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--train", files / "train.csv", "--items",
        files / "items.csv", "--metrics", "ndcg@3,novelty@3,ild@3,seen@3,gini@3", "-o", files / "out.json", "--format",
        "json", "--per-user", files / "users.parquet", "--report", files / "report.html",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.out == ""
    assert json.loads((files / "out.json").read_text())["systems"]
    assert pl.read_parquet(files / "users.parquet").columns == [
        "system",
        "user",
        "ndcg@3",
        "novelty@3",
        "ild@3",
        "seen@3",
    ]
    assert "ndcg@3" in (files / "report.html").read_text()


def test_only_users_option_cuts_the_population(trueval, files):
    frame(files / "some.csv", user=["u1", "u2"])
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--only-users", files / "some.csv",
        "--metrics", "rr", "--format", "json",
    )  # fmt: skip
    assert json.loads(ran.out)["systems"]["recs"]["metrics"]["rr"]["n"] == 2


def test_columns_option(trueval, files):
    renamed = pl.read_csv(files / "recs.csv").rename({"user": "who", "item": "what", "score": "how_much"})
    renamed.write_csv(files / "odd.csv")
    ran = trueval(
        "evaluate", files / "odd.csv", "--test", files / "test.csv", "--metrics", "rr", "--format", "json",
        "--columns", "user=who,item=what,score=how_much",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["systems"]["odd"]["metrics"]["rr"]["value"] == 1


def assert_refused(run, words, *arguments, code=2):
    """The command is refused with one message that has these words, and prints no result."""
    ran = run(*arguments)
    assert ran.code == code, ran.err + ran.out
    assert ran.out == ""
    for word in words:
        assert word.lower() in ran.err.lower(), ran.err
    return ran


def test_unknown_metric_and_syntax(trueval, files):
    base = ("evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics")
    assert_refused(trueval, ["unknown metric", "did you mean", "ndcg"], *base, "ndgc@10")
    caret = assert_refused(trueval, ["cutoff"], *base, "ndcg@0").err.split("\n")
    at = next(i for i, line in enumerate(caret) if line.strip() == "^")
    assert caret[at].index("^") - caret[at - 1].index("ndcg@0") in (4, 5)
    for text in (
        "ndcg@-1",
        "ndcg@2.5",
        "ndcg@",
        "ndcg@5[",
        "ndcg@5[gain]",
        "ndcg@5[gain=x]",
        "ndcg@5[nope=1]",
        "(ndcg)@5",
    ):
        assert_refused(trueval, ["error"], *base, text)
    assert_refused(trueval, ["twice"], *base, "ndcg@5,ndcg@5[gain=linear]")
    assert_refused(trueval, ["needs a cutoff"], *base, "precision")
    assert_refused(trueval, ["auc", "rank of every"], *base, "auc")
    assert_refused(trueval, ["novelty@5", "train"], *base, "novelty@5")


def test_options_that_do_not_exist(trueval, files):
    base = ("evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr")
    for option, value in [
        ("--population", "everyone"), ("--ties", "wild"), ("--compat", "trec"), ("--interval", "x"),
        ("--format", "xml"), ("--baseline", "nobody"), ("--columns", "user=nope"), ("--columns", "usr=user"),
    ]:  # fmt: skip
        assert_refused(trueval, ["error"], *base, option, value)


def test_threshold_above_every_value(trueval, files):
    assert_refused(
        trueval, ["threshold", "3 to 5"], "evaluate", files / "recs.csv", "--test", files / "test.csv",
        "--threshold", "6",
    )  # fmt: skip


def test_empty_and_broken_files(trueval, files):
    (files / "empty.csv").write_text("")
    (files / "header.csv").write_text("user,item,score\n")
    (files / "broken.parquet").write_bytes(b"PAR1 this is not parquet")
    for name in ("empty.csv", "header.csv", "broken.parquet", "absent.csv"):
        assert_refused(trueval, [name.split(".")[0]], "evaluate", files / name, "--test", files / "test.csv")
        assert_refused(trueval, [name.split(".")[0]], "evaluate", files / "recs.csv", "--test", files / name)


def test_columns_that_are_missing(trueval, files):
    frame(files / "none.csv", who=["u1"], item=["i1"], score=[1.0])
    assert_refused(trueval, ["user", "columns"], "evaluate", files / "none.csv", "--test", files / "test.csv")
    frame(files / "unranked.csv", user=["u1"], item=["i1"])
    assert_refused(
        trueval, ["neither a score nor a rank"], "evaluate", files / "unranked.csv", "--test", files / "test.csv"
    )
    implicit = frame(files / "implicit.csv", user=["u1"], item=["i1"])
    assert_refused(trueval, ["value column"], "evaluate", files / "recs.csv", "--test", implicit, "--threshold", "3")


def test_null_ids(trueval, files):
    path = frame(files / "null.parquet", user=["u1", None], item=["i1", "i2"], score=[1.0, 0.5])
    assert_refused(trueval, ["missing"], "evaluate", path, "--test", files / "test.csv")
    path = frame(files / "nulltest.parquet", user=["u1", "u1"], item=["i1", None])
    assert_refused(trueval, ["missing"], "evaluate", files / "recs.csv", "--test", path)


def test_ids_that_cannot_match(trueval, files):
    numbers = frame(files / "numbers.parquet", user=[1, 2], item=[1, 2], score=[1.0, 0.5])
    assert_refused(trueval, ["different types", "integer", "string"], "evaluate", numbers, "--test", files / "test.csv")
    strangers = frame(files / "strangers.csv", user=["x1", "x2"], item=["i1", "i2"], score=[1.0, 0.5])
    assert_refused(trueval, ["no user"], "evaluate", strangers, "--test", files / "test.csv")
    others = frame(files / "others.csv", user=["u1", "u2"], item=["x1", "x2"], score=[1.0, 0.5])
    assert_refused(trueval, ["no item"], "evaluate", others, "--test", files / "test.csv")


def test_duplicates(trueval, files):
    twice = frame(files / "twice.csv", user=["u1", "u1", "u2"], item=["i1", "i1", "i2"], score=[1.0, 0.5, 1.0])
    assert_refused(trueval, ["twice", "user u1, item i1"], "evaluate", twice, "--test", files / "test.csv")
    truth = frame(files / "truth.csv", user=["u1", "u1"], item=["i1", "i1"], value=[5.0, 2.0])
    assert_refused(trueval, ["different values", "user u1, item i1"], "evaluate", files / "recs.csv", "--test", truth)
    ranks = frame(files / "ranks.csv", user=["u1", "u1"], item=["i1", "i2"], rank=[1, 1])
    assert_refused(trueval, ["same rank twice"], "evaluate", ranks, "--test", files / "test.csv")


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_scores_that_are_not_finite(trueval, files, score):
    path = frame(files / "odd.parquet", user=["u1", "u1", "u2"], item=["i1", "i2", "i1"], score=[1.0, score, 2.0])
    assert_refused(trueval, ["finite", "user u1, item i2"], "evaluate", path, "--test", files / "test.csv")
    path = frame(files / "odd.parquet", user=["u1", "u1"], item=["i1", "i2"], score=[1.0, score], rank=[1, 2])
    assert_refused(trueval, ["finite", "user u1, item i2"], "evaluate", path, "--test", files / "test.csv")


def test_rank_against_score(trueval, files):
    path = frame(files / "contrary.csv", user=["u1", "u1"], item=["i1", "i2"], score=[0.1, 0.9], rank=[1, 2])
    assert_refused(trueval, ["contradict", "user u1, item i2"], "evaluate", path, "--test", files / "test.csv")


def test_items_outside_the_catalogue(trueval, files):
    few = frame(files / "few.csv", item=["i0", "i1"])
    words = ["evaluate", files / "recs.csv", "--items", few, "--test"]
    assert_refused(trueval, ["test items are outside the given catalogue", "item i2"], *words, files / "test.csv")
    inside = frame(files / "inside.csv", user=["u0"], item=["i0"])
    assert_refused(trueval, ["recommended items are outside the catalogue", "--invalid miss"], *words, inside)


def test_places_that_cannot_count(trueval, files):
    """The relevant item of u0 is third: below two items that nobody knows, or first once they are dropped."""
    recs = frame(files / "made.csv", user=["u0"] * 4, item=["x", "y", "i0", "i0"], score=[4.0, 3.0, 2.0, 1.0])
    test, few = frame(files / "inside.csv", user=["u0"], item=["i0"]), frame(files / "few.csv", item=["i0", "i1"])
    words = ["evaluate", recs, "--test", test, "--items", few, "--metrics", "rr", "--format", "json"]
    for rule, right in (("miss", 1 / 3), ("drop", 1)):
        record = json.loads(trueval(*words, "--invalid", rule).out)
        found = record["systems"]["made"]
        assert found["metrics"]["rr"]["value"] == pytest.approx(right)
        assert found["invalid"] == {"outside": 2, "repeated": 1, "places": 4, "share": 0.75}
        assert record["manifest"]["invalid"] == rule
        assert any("3 of 4 places (75.0 %)" in warning for warning in record["warnings"])
    assert_refused(trueval, ["unknown rule for places", "miss"], *words, "--invalid", "mis")
    audit = ["audit", "--test", test, "--recs", recs, "--items", few, "--metrics", "rr", "--format", "json"]
    ran = trueval(*audit, "--invalid", "miss")
    (finding,) = (one for one in json.loads(ran.out)["findings"] if one["check"] == "duplicates")
    assert (finding["verdict"], finding["figures"]["invalid"]["made"]["outside"]) == ("fine", 2)
    assert_refused(trueval, ["outside the catalogue"], *audit)
    assert trueval(*words[:-2], "--invalid", "miss", "--report", files / "page.html").code == 0
    assert "invalid=miss" in (files / "page.html").read_text()


def test_nobody_left(trueval, files):
    zero = frame(files / "zero.csv", user=["u1"], item=["i1"], value=[0.0])
    assert_refused(trueval, ["relevant"], "evaluate", files / "recs.csv", "--test", zero)


def test_output_that_cannot_be_written(trueval, files):
    for option, name in [
        ("-o", "no/such/out.txt"),
        ("--per-user", "no/such/users.parquet"),
        ("--report", "no/such/r.html"),
    ]:
        assert_refused(
            trueval, ["written"], "evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr",
            option, files / name,
        )  # fmt: skip
    ran = trueval("evaluate", files / "recs.csv", "--test", files / "test.csv", "--per-user", files / "users.xyz")
    assert ran.code == 2
    assert not list(files.glob("*users*"))
    assert not (files / "no").exists()


def test_two_runs_of_one_name(trueval, files):
    assert_refused(
        trueval, ["two runs"], "evaluate", files / "recs.csv", files / "recs.csv", "--test", files / "test.csv"
    )


def test_small_inputs_load_little(files):
    """Ten users need neither compiled kernels nor statistics (`benchmarks/run.py small` says how long they take)."""
    command = ["evaluate", str(files / "recs.csv"), "--test", str(files / "test.csv")]
    probe = (
        "import sys; from trueval.cli import main; sys.argv = ['trueval', *sys.argv[1:]]\n"
        "try: main()\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", probe, *command], text=True).split())
    assert "polars" in loaded
    assert loaded.isdisjoint({"numba", "scipy.stats"})
