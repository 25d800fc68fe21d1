"""trueval compare: formats, files, and what it refuses."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest


@pytest.fixture
def results(trueval, files):
    """Two runs evaluated apart, as a folder and as a file."""
    base = ("--test", files / "test.csv", "--metrics", "ndcg@3,recall@5", "--quiet")
    for name, where in (("recs", ("-o", f"{files}/first/")), ("other", ("--per-user", files / "second.parquet"))):
        ran = trueval("evaluate", files / f"{name}.csv", *base, *where)
        assert ran.code == 0, ran.err
    return files / "first", files / "second.parquet"


def test_folder_and_file_are_joined(trueval, results):
    ran = trueval("compare", *results, "--baseline", "other", "--format", "json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert {c["metric"] for c in record["comparisons"]} == {"ndcg@3", "recall@5"}
    assert {c["system"] for c in record["comparisons"]} == {"recs"}
    assert record["comparisons"][0].keys() >= {"difference", "low", "high", "p", "p_corrected", "verdict", "sentence"}
    assert record["systems"].keys() == {"recs", "other"}
    assert record["manifest"]["comparison"]["test"] == "t"


def test_same_as_evaluate_with_a_baseline(trueval, files, results):
    ran = trueval(
        "evaluate", files / "recs.csv", files / "other.csv", "--test", files / "test.csv", "--metrics",
        "ndcg@3,recall@5", "--baseline", "other", "--format", "json",
    )  # fmt: skip
    apart = trueval("compare", *results, "--baseline", "other", "--format", "json")
    assert json.loads(ran.out)["comparisons"] == json.loads(apart.out)["comparisons"]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation", "bootstrap"])
@pytest.mark.parametrize("correct", ["holm", "bonferroni", "bh", "none"])
def test_every_test_and_correction(trueval, results, test, correct):
    options = ("--test", test, "--correct", correct, "--format", "csv", "--seed", "3")
    ran, again = (trueval("compare", *results, *options) for _ in range(2))
    assert ran.code == 0, ran.err
    assert ran.out == again.out
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {row["test"] for row in rows} == {"exact" if test == "t" else test}  # ten users
    assert test != "t" or {row["reason"] for row in rows} == {"too few for t"}
    assert all(0 < float(row["p"]) <= float(row["p_corrected"]) <= 1 for row in rows)


@pytest.mark.parametrize("style", ["table", "md", "latex"])
def test_tables(trueval, results, style):
    ran = trueval("compare", *results, "--baseline", "other", "--format", style)
    assert ran.code == 0, ran.err
    for word in ("recs", "other", "ndcg@3", "Holm", "win/tie/loss", "10 users"):
        assert word in ran.out, word
    if style == "latex":
        assert ran.out.count(r"\begin{tabular}") == ran.out.count(r"\end{tabular}") == 2
        assert ran.out.count(r"\toprule") == ran.out.count(r"\bottomrule") == 2
        assert ran.out.count("{") == ran.out.count("}")
        assert all(ord(character) < 128 for character in ran.out)
    else:
        assert "recs is better than other" in ran.out or "no significant difference" in ran.out


def test_marks_in_the_tables_of_evaluate(trueval, files):
    base = ("--test", files / "many.csv", "--metrics", "ndcg@3", "--baseline", "miss", "--format")
    many = pl.DataFrame({"user": range(30), "item": [f"i{u}" for u in range(30)]})
    many.write_csv(files / "many.csv")
    many.with_columns(rank=1).write_csv(files / "hit.csv")
    many.with_columns(pl.col("item").reverse(), rank=1).write_csv(files / "miss.csv")
    shown = trueval("evaluate", files / "hit.csv", files / "miss.csv", *base, "md").out
    assert "▲" in shown
    assert "▲ better than miss; no mark: no significant difference\n" in shown
    assert "Holm" in shown
    shown = trueval("evaluate", files / "hit.csv", files / "miss.csv", *base, "latex").out
    assert "$^{+}$" in shown
    assert r"\multicolumn{2}{l}{\footnotesize" in shown


def test_a_difference_that_rare_users_could_reverse_has_no_mark(trueval, files):
    """Ten users of whom six gain: p is 0.03, but one in four users more could lose all that one can lose."""
    base = (
        "evaluate", files / "recs.csv", files / "other.csv", "--test", files / "test.csv", "--metrics", "ndcg@3",
        "--baseline", "other", "--format",
    )  # fmt: skip
    shown = trueval(*base, "md").out
    assert "▲" not in shown
    assert "no significant difference or cannot tell from other" in shown
    for form in ("table", "md", "latex"):
        words = " ".join(trueval(*base, form).out.split())
        assert "cannot tell: a significant difference that users too rare to be among those measured" in words, form
    (row,) = json.loads(trueval(*base, "json").out)["comparisons"]
    assert row["p_corrected"] < 0.05 < row["p_rare"]
    assert row["verdict"] == "cannot tell"
    assert "Losses of fewer than 1 in 3 users can be missed among 10 users" in row["sentence"]


def test_written_to_a_file(trueval, files, results):
    ran = trueval("compare", *results, "-o", files / "out.md", "--format", "md")
    assert (ran.code, ran.out) == (0, "")
    assert "| system |" in (files / "out.md").read_text()


def test_agreement(trueval, files):
    items = [f"i{i}" for i in range(12)]
    for step in (2, 7):
        rows = [(f"u{n}", items[(n + step * j) % 12], 1 - j / 10) for n in range(10) for j in range(5)]
        pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(files / f"step{step}.csv")
    runs = [files / name for name in ("recs.csv", "other.csv", "step2.csv", "step7.csv")]
    trueval("evaluate", *runs, "--test", files / "test.csv", "--metrics", "ndcg@3,recall@5", "-o", f"{files}/all/")
    ran = trueval("compare", files / "all", "--agreement", "--format", "json")
    assert ran.code == 0, ran.err
    (pair,) = json.loads(ran.out)["agreement"]
    assert -1 <= pair["tau_low"] <= pair["tau"] <= pair["tau_high"] <= 1
    assert "top-weighted" in trueval("compare", files / "all", "--agreement").out


def assert_refused(run, words, *arguments):
    ran = run(*arguments)
    assert ran.code == 2, ran.out + ran.err
    assert ran.out == ""
    for word in words:
        assert word.lower() in ran.err.lower(), ran.err


def test_what_is_refused(trueval, files, results):
    assert_refused(trueval, ["no result", "nowhere"], "compare", files / "nowhere")
    assert_refused(trueval, ["did you mean other"], "compare", *results, "--baseline", "othr")
    assert_refused(trueval, ["nothing to compare"], "compare", results[0])
    assert_refused(trueval, ["same seed"], "compare", results[0], results[0])
    assert_refused(trueval, ["parquet"], "compare", files / "test.csv")
    for option, value in [
        ("--test", "z"), ("--correct", "hom"), ("--alternative", "x"), ("--format", "xml"), ("--level", "2"),
        ("--metrics", "ndcg@9"), ("--metrics", "ndgc@3"), ("-o", files / "no" / "file"),
    ]:  # fmt: skip
        assert_refused(trueval, ["error"], "compare", *results, option, value)
    assert_refused(trueval, ["three systems"], "compare", *results, "--agreement")


def test_different_rules_are_named(trueval, files, results):
    base = (
        "evaluate",
        files / "other.csv",
        "--test",
        files / "test.csv",
        "--metrics",
        "ndcg@3",
        "--quiet",
        "--per-user",
    )
    trueval(*base, files / "worst.parquet", "--ties", "worst", "--population", "judged", "--condensed")
    words = ["ties: random and worst", "population: relevant and judged", "design: given and given-condensed"]
    assert_refused(trueval, words, "compare", results[0], files / "worst.parquet")
    pl.read_csv(files / "test.csv").head(20).write_csv(files / "less.csv")
    trueval(*(files / "less.csv" if part == files / "test.csv" else part for part in base), files / "less.parquet")
    assert_refused(trueval, ["data.test: "], "compare", results[0], files / "less.parquet")


def test_result_folders_do_not_touch_other_files(trueval, files):
    (files / "mine").mkdir()
    (files / "mine" / "notes.txt").write_text("keep me")
    ask = ["evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "rr", "-o"]
    for folder, words in ((files / "mine", "already something"), (files, "contains an input")):
        ran = trueval(*ask, f"{folder}/")
        assert ran.code == 2
        assert words in ran.err
        assert not (folder / "results.parquet").exists()
    assert (files / "mine" / "notes.txt").read_text() == "keep me"
