"""The command line, the Cookie Cats test, the HTML page and the example."""

from __future__ import annotations

import csv
import io
import json
import runpy
from pathlib import Path

import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest
from test_ab_tables import users_table

import trueval as tv

METRICS = "ctr=clicks/impressions,conversion=converted,dwell:median=seconds"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    users_table(600).write_csv(tmp_path / "users.csv")
    return tmp_path / "users.csv"


@pytest.fixture(scope="session")
def cookie_cats(data_folder):
    return data_folder("ab-cookie-cats") / "cookie_cats.csv"


def test_cookie_cats(cookie_cats):
    """Arms of 44,700 and 45,489 players; 8,502 and 8,279 of them were back after seven days."""
    found = tv.ab_test(
        cookie_cats, arm="test_version", metrics="retention_1, retention_7, rounds:median=sum_gamerounds"
    )
    assert found.sample_ratio.users == {"gate_30": 44_700, "gate_40": 45_489}
    assert found.sample_ratio.p == pytest.approx(0.0086, abs=5e-5)
    assert found.stopped
    seven = found.comparisons[1]
    assert seven.difference == pytest.approx(8279 / 45_489 - 8502 / 44_700, abs=1e-12)
    span = confint_proportions_2indep(8279, 45_489, 8502, 44_700, method="newcomb", compare="diff")
    assert (seven.low, seven.high) == pytest.approx(span)
    assert (round(seven.low, 4), round(seven.high, 4)) == (-0.0133, -0.0031)
    assert seven.p == pytest.approx(proportions_ztest([8502, 8279], [44_700, 45_489])[1])
    assert seven.verdict == "no verdict"
    assert found.manifest["user"] == "userid"


def test_cookie_cats_from_the_command_line(trueval, cookie_cats):
    ran = trueval("ab", cookie_cats, "--arm", "test_version", "--metrics", "retention_7")
    assert ran.code == 0, ran.err
    assert "no verdict: sample ratio mismatch (p = 0.0086, below 0.01)" in ran.out
    assert "-0.0082 [-0.0133, -0.0031]" in ran.out
    ran = trueval("ab", cookie_cats, "--arm", "test_version", "--metrics", "retention_7", "--ignore-mismatch")
    assert "gate_40 is lower than gate_30 by 0.0082 (4.3 %)" in ran.out


def test_json_is_the_record(trueval, table):
    ran = trueval("ab", table, "--arm", "arm", "--metrics", METRICS, "--format", "json", "--pre", "seconds_before")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert record["control"] == "a"
    assert set(record["arms"]["b"]["metrics"]) == {"ctr", "conversion", "dwell"}
    assert {"value", "low", "high", "n"} == set(record["arms"]["a"]["metrics"]["ctr"])
    keys = {"metric", "arm", "control", "difference", "low", "high", "relative", "p", "p_corrected", "verdict"}
    assert keys <= set(record["comparisons"][0])
    assert record["sample_ratio"]["threshold"] == 0.01
    assert record["comparisons"][2]["variance_reduction"] is None  # a median is not adjusted
    assert record == tv.ab_test(table, arm="arm", metrics=METRICS, pre="seconds_before").record()


def test_csv_markdown_latex_and_files(trueval, table, tmp_path):
    rows = list(csv.DictReader(io.StringIO(trueval("ab", table, "--arm", "arm", "--format", "csv").out)))
    assert [(r["metric"], r["arm"]) for r in rows[:2]] == [("ctr", "a"), ("ctr", "b")]
    assert rows[0]["difference"] == ""
    assert float(rows[1]["difference_low"]) < float(rows[1]["difference"]) < float(rows[1]["difference_high"])
    options = ["--metrics", METRICS, "--segments", "country"]
    markdown = trueval("ab", table, "--arm", "arm", *options, "--format", "md").out
    widths = {line.count("|") for line in markdown.split("\n") if line.startswith("|")}
    assert widths == {9, 10}  # eight columns, nine with groups
    latex = trueval("ab", table, "--arm", "arm", *options, "--format", "latex").out
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 2
    page = tmp_path / "page.html"
    ran = trueval("ab", table, "--arm", "arm", *options, "-o", tmp_path / "out.txt", "--report", page)
    assert ran.out == ""
    assert "conversion" in (tmp_path / "out.txt").read_text()
    html = page.read_text()
    assert "<h2>Sample ratio</h2>" in html
    assert "<h2>By country</h2>" in html
    assert html.count("<script") == 1
    assert "Files" in html


def test_sequential_shares_and_control_at_the_command_line(trueval, table):
    ran = trueval("ab", table, "--arm", "arm", "--metrics", "converted", "--sequential", "2000", "--control", "b",
                  "--shares", "a=1,b=1")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "always valid (normal mixture, narrowest at 2,000 users)" in ran.out
    assert "control arm: b" in ran.out


@pytest.mark.parametrize("width", [70, 80, 100, 150])
def test_text_fits_the_window(table, width):
    from trueval.online.ab.render import as_text

    found = tv.ab_test(table, arm="arm", metrics=METRICS, segments="country", pre="seconds_before")
    text = as_text(found, width=width)
    assert max(map(len, text.split("\n"))) <= width
    assert "difference [95 %]" in text


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--arm", "armm"], "did you mean arm"),
        (["--metrics", "ctr=clicks/impression"], "did you mean impressions"),
        (["--metrics", "dwell:medain=seconds"], "^"),
        (["--control", "z"], "there is no arm 'z'"),
        (["--shares", "a"], "shares are written arm=number"),
        (["--shares", "a=1,c=1"], "does not exist"),
        (["--format", "xml"], "unknown format"),
        (["--correct", "x"], "unknown correction"),
        (["--level", "95"], "level must be from"),
        (["--sequential", "0"], "100 users or more"),
        (["--segments", "nothing"], "there is no column 'nothing'"),
        (["--report", "{}/no/page.html"], "cannot be written"),
        (["-o", "{}"], "it is a folder"),
    ],
)
def test_refusals_have_exit_code_2_and_write_nothing(trueval, table, options, word):
    before = {path.name for path in table.parent.iterdir()}
    options = [text.format(table.parent) for text in options]
    base = [] if "--arm" in options else ["--arm", "arm"]
    ran = trueval("ab", table, *base, *options)
    assert ran.code == 2
    assert word in ran.err
    assert ran.out == ""
    assert {path.name for path in table.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("9999,a,5,2,true,1,1,at", "more clicks than impressions"),
        ("9999,a,1,-2,true,1,1,at", "must not be negative"),
        ("9999,a,,2,true,1,1,at", "missing or not finite"),
        ("9999,a,x,2,true,1,1,at", "missing or not finite"),
        ("9999,,1,2,true,1,1,at", "some rows have no arm"),
        (",a,1,2,true,1,1,at", "user ids are missing"),
        ("9999,c,1,2,true,1,1,at", "an arm has a single user"),
        ("0,b,1,2,true,1,1,at", "a user is in two arms"),
        ("9999,a,1,2", "missing or not finite"),
        ("9999,a,1,2,true,1,1,at,7,8", "could not be read"),
    ],
)
def test_bad_rows_of_a_file(trueval, table, line, word):
    table.write_text(table.read_text() + line + "\n")
    ran = trueval("ab", table, "--arm", "arm", "--metrics", METRICS)
    assert ran.code == 2
    assert word in ran.err


def test_plan_at_the_command_line(trueval):
    ran = trueval("ab-plan", "--baseline", "0.1", "--effect", "10%", "--daily-users", "2000")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("14,751 users per arm, 29,502 in 2 arms")
    assert "15 days at 2,000 new users a day; run whole weeks: 3" in ran.out
    record = json.loads(trueval("ab-plan", "--baseline", "0.1", "--users", "29502", "--format", "json").out)
    assert record["effect"] == pytest.approx(0.01, rel=1e-4)
    assert trueval("ab-plan", "--baseline", "3", "--effect", "0.1").code == 2
    ran = trueval("ab-plan", "--baseline", "20", "--sd", "30", "--effect", "1", "--split", "10:1")
    control, new = tv.ab_plan(baseline=20, sd=30, effect=1, split=[10, 1]).users_by_arm
    assert ran.out.startswith(f"{control:,} users in the control, {new:,} in the new arm, {control + new:,} in all\n")


def test_page_escapes_names():
    from trueval.report.html_ab import ab_page

    frame = users_table(100).with_columns(arm=pl.col("arm").replace({"a": "<b>"}))
    assert "<b>:" not in (page := ab_page(tv.ab_test(frame, arm="arm", metrics="converted")))
    assert "&lt;b&gt;" in page


def test_example_runs(capsys):
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "ab_test.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "ctr: new is higher than old" in out
    assert "CUPED with clicks_before" in out
