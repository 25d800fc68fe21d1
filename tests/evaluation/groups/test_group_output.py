"""Groups on the command line, in JSON, on the terminal and in the HTML page."""

from __future__ import annotations

import json

import polars as pl
import pytest


@pytest.fixture
def grouped(files):
    pl.DataFrame({"user": [f"u{u}" for u in range(10)], "side": ["l", "r"] * 5}).write_csv(files / "users.csv")
    return [
        "evaluate", files / "recs.csv", files / "other.csv", "--test", files / "test.csv", "--users",
        files / "users.csv", "--items", files / "items.csv", "--train", files / "train.csv", "--metrics",
        "ndcg@3,recall@5,coverage@5", "--min-group", "2",
    ]  # fmt: skip


def test_json(trueval, grouped):
    ran = trueval(*grouped, "--by", "side,aspects", "--format", "json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    for system in ("recs", "other"):
        groups = record["systems"][system]["groups"]
        assert set(groups) == {"side", "aspects"}
        assert set(groups["side"]["values"]) == {"l", "r"}
        assert set(groups["side"]["values"]["l"]) == {"ndcg@3", "recall@5", "coverage@5"}
        value = groups["side"]["values"]["l"]["ndcg@3"]
        assert set(value) == {"value", "low", "high", "n", "undefined"}
        assert value["n"] == 5
        ends = [groups["side"]["values"][g]["ndcg@3"]["value"] for g in "lr"]
        gap = groups["side"]["gap"]["ndcg@3"]
        assert gap["value"] == pytest.approx(max(ends) - min(ends))
        assert gap["low"] <= gap["value"] <= gap["high"]
        assert set(gap) == {"value", "low", "high", "groups", "highest", "lowest"}
        assert groups["side"]["ratio"]["ndcg@3"]["value"] == pytest.approx(min(ends) / max(ends))
        assert "coverage@5" not in groups["side"]["gap"]  # it grows with the number of users
        assert set(groups["side"]["opportunity"]) == {"3", "5"}
        assert "parity" not in groups["side"]
        assert set(groups["aspects"]["values"]) == {"a", "b", "c"}
        parity = groups["aspects"]["parity"]
        assert set(parity) == {"plain", "discounted"}
        assert sum(v["value"] for v in parity["plain"]["values"].values()) == pytest.approx(1)
        assert parity["plain"]["values"]["a"]["target"] == pytest.approx(0.25)
    assert any("coverage@5" in warning and "aspects" in warning for warning in record["warnings"])
    at = grouped.index("--users")
    without = json.loads(trueval(*grouped[:at], *grouped[at + 2 : -2], "--format", "json").out)  # no --min-group
    assert "groups" not in without["systems"]["recs"]
    assert without["systems"]["recs"]["metrics"] == record["systems"]["recs"]["metrics"]


def test_table(trueval, grouped):
    ran = trueval(*grouped, "--by", "side,popularity")
    assert ran.code == 0, ran.err
    for word in ("by side", "by popularity", "gap", "ratio", "head", "exposure@5", "judgements of the group's items"):
        assert word in ran.out
    alone = trueval(*grouped[:2], *grouped[3:], "--by", "side")
    block = alone.out.split("by side")[1]
    assert "system" not in block.split("\n")[1]  # one system needs no column


def test_small_groups_are_marked(trueval, grouped):
    ran = trueval(*grouped[:-1], "6", "--by", "side")
    assert "l *" in ran.out
    assert "fewer than 6 users" in ran.out


def test_narrow_terminals_get_a_stacked_table(files):
    from io import StringIO

    import trueval as tv
    from trueval.report.terminal import print_evaluation

    users = pl.DataFrame({"user": [f"u{u}" for u in range(10)], "side": ["l", "r"] * 5})
    result = tv.evaluate_run(
        files / "recs.csv", files / "test.csv", users=users, by="side", metrics=["ndcg@3", "recall@5", "ap@5", "rr"],
        min_group=2,
    )  # fmt: skip
    out = StringIO()
    print_evaluation(result.evaluation, file=out, width=70)
    lines = out.getvalue().split("by side")[1].split("\n")
    assert lines[1].split() == ["system", "group", "metric", "value"]
    assert max(map(len, lines)) <= 70


def test_page(trueval, grouped, files):
    ran = trueval(*grouped, "--by", "side,aspects", "--report", files / "page.html")
    assert ran.code == 0, ran.err
    page = (files / "page.html").read_text()
    assert "<h2>By side</h2>" in page
    assert "exposure@5" in page


def test_the_users_file_does_not_cut(trueval, grouped, files):
    some = pl.read_csv(files / "users.csv").head(4)
    some.write_csv(files / "some.csv")
    record = json.loads(trueval(*grouped, "--by", "side", "--format", "json", "--only-users", files / "some.csv").out)
    assert record["systems"]["recs"]["metrics"]["ndcg@3"]["n"] == 4
    assert [v["ndcg@3"]["n"] for v in record["systems"]["recs"]["groups"]["side"]["values"].values()] == [2, 2]
    some.write_csv(files / "users.csv")
    record = json.loads(trueval(*grouped, "--by", "side", "--format", "json").out)
    assert record["systems"]["recs"]["metrics"]["ndcg@3"]["n"] == 10
    assert "by side: 6 of 10 users are in no group; values of all users count them, too" in record["warnings"]


def test_refusals(trueval, grouped):
    for by, words in (("sid", "did you mean side"), ("provider", "no column"), ("side,side", "twice")):
        ran = trueval(*grouped, "--by", by)
        assert ran.code == 2
        assert ran.out == ""
        assert words in ran.err
    ran = trueval(*grouped[:-1], "0", "--by", "side")
    assert ran.code == 2
    ran = trueval("evaluate", grouped[1], "--test", grouped[4], "--by", "gender")
    assert ran.code == 2
    assert "--users FILE" in ran.err
