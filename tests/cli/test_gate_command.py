"""trueval gate: exit codes, formats, files, and what it refuses."""

from __future__ import annotations

import json

import polars as pl
import pytest

USERS = 300


@pytest.fixture
def results(trueval, tmp_path):
    """Results of runs that hit some share of users: as files, and the first as a folder."""
    test = pl.DataFrame({"user": range(USERS), "item": [u % 7 for u in range(USERS)]})
    test.write_csv(tmp_path / "test.csv")
    groups = ["a" if u % 2 else "b" for u in range(USERS)]
    pl.DataFrame({"user": range(USERS), "country": groups}).write_csv(tmp_path / "users.csv")
    for name, hits in (("old", 200), ("equal", 200), ("lost", 100), ("near", 190)):
        run = test.with_columns(item=pl.when(pl.col("user") < hits).then("item").otherwise(9), rank=pl.lit(1))
        run.write_csv(tmp_path / f"{name}.csv")
        ran = trueval(
            "evaluate", tmp_path / f"{name}.csv", "--test", tmp_path / "test.csv", "--metrics", "hit@1,coverage@1",
            "--items", _items(tmp_path), "--per-user", tmp_path / f"{name}.parquet", "--quiet",
        )  # fmt: skip
        assert ran.code == 0, ran.err
    return tmp_path


def _items(folder):
    path = folder / "items.csv"
    pl.DataFrame({"item": range(10)}).write_csv(path)
    return path


@pytest.mark.parametrize(("name", "code", "word"), [("equal", 0, "pass"), ("lost", 1, "worse"), ("near", 3, "cannot")])
def test_exit_codes(trueval, results, name, code, word):
    ran = trueval("gate", results / f"{name}.parquet", results / "old.parquet", "--metrics", "hit@1", "--margin", "5%")
    assert ran.code == code, ran.err
    assert word in ran.out
    assert f"{name} (new) against old (old)" in ran.out


def test_bad_input_is_two(trueval, results):
    for words in (
        ("missing.parquet", results / "old.parquet"),
        (results / "old.parquet", results / "test.csv"),
        (results / "old.parquet", results / "old.parquet", "--margin", "much"),
        (results / "old.parquet", results / "old.parquet", "--metrics", "map"),
        (results / "old.parquet", results / "old.parquet", "--level", "2"),
        (results / "old.parquet", results / "old.parquet", "--by", "country"),
        (results / "old.parquet", results / "old.parquet", "--users", results / "users.csv", "--by", "city"),
        (results / "old.parquet", results / "old.parquet", "-o", results / "x.pdf"),
    ):
        ran = trueval("gate", *words)
        assert ran.code == 2, words
        assert ran.err.startswith("error: ")
        assert not ran.out


def test_another_test_set_is_refused_by_name(trueval, results):
    test = pl.read_csv(results / "test.csv").head(200)
    test.write_csv(results / "other.csv")
    words = ("--metrics", "hit@1", "--per-user", results / "other.parquet", "--quiet")
    assert trueval("evaluate", results / "old.csv", "--test", results / "other.csv", *words).code == 0
    ran = trueval("gate", results / "other.parquet", results / "old.parquet")
    assert ran.code == 2
    assert "data.test" in ran.err


def test_system_metrics_have_margins_of_their_own(trueval, results):
    words = ("--margin", "hit@1=5%,coverage@1=0.3", "--format", "json")
    ran = trueval("gate", results / "equal.parquet", results / "old.parquet", *words)
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)["rows"]
    assert [(row["metric"], row["test"], row["margin"]) for row in rows] == [
        ("hit@1", "bounded mean", pytest.approx(0.05 * 2 / 3)), ("coverage@1", "jackknife", 0.3),
    ]  # fmt: skip


def test_groups(trueval, results):
    words = ("--margin", "5%", "--users", results / "users.csv", "--by", "country", "--format", "json")
    ran = trueval("gate", results / "lost.parquet", results / "old.parquet", "--metrics", "hit@1", *words)
    assert ran.code == 1, ran.err
    record = json.loads(ran.out)
    assert [row["group"] for row in record["rows"]] == ["", "a", "b"]
    assert record["worst_group"]["by"] == "country"


def test_markdown_into_a_file(trueval, results):
    out = results / "comment.md"
    ran = trueval("gate", results / "lost.parquet", results / "old.parquet", "--metrics", "hit@1", "-o", out, "--quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    text = out.read_text()
    assert text.startswith("**trueval gate: ❌ worse**")
    assert "| hit@1 | 0.6667 | 0.3333 | −0.3333 |" in text


def test_help_has_exit_codes_and_examples(trueval):
    ran = trueval("gate", "--help")
    assert ran.code == 0
    for word in ("Exit codes", "Examples", "--margin", "--old-system", "--min-group"):
        assert word in ran.out
