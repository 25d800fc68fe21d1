"""Intervals at the command line: what is asked for is done, said, and kept in the manifest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A run of forty users with lists of their own, and a test set."""
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.permutation(60)[:5] for _ in range(40)])
    users = np.repeat(np.arange(40), 5)
    pl.DataFrame({"user": users, "item": items, "rank": np.tile(np.arange(1, 6), 40)}).write_csv(tmp_path / "recs.csv")
    pl.DataFrame({"user": users, "item": rng.integers(0, 60, size=200)}).unique().write_csv(tmp_path / "test.csv")
    return tmp_path


def run_json(trueval, files, *options: object) -> dict:
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "ndcg@5,coverage@5", "--format",
        "json", *options,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def reach(record: dict, metric: str) -> float:
    found = record["systems"]["recs"]["metrics"][metric]
    return found["high"] - found["low"]


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
def test_level_makes_intervals_wider(trueval, files, interval):
    records = [run_json(trueval, files, "--interval", interval, "--level", level) for level in (0.5, 0.95, 0.99)]
    for metric in ("ndcg@5", "coverage@5"):
        widths = [reach(record, metric) for record in records]
        assert widths[0] < widths[1] < widths[2], metric
    assert [record["manifest"]["level"] for record in records] == [0.5, 0.95, 0.99]
    assert records[0]["manifest"]["interval"] == interval


def test_resamples_are_in_the_manifest_where_users_are_drawn(trueval, files):
    assert run_json(trueval, files, "--resamples", 5000)["manifest"]["resamples"] == 5000
    assert "resamples" not in run_json(trueval, files, "--interval", "t")["manifest"]
    plain = run_json(trueval, files, "--interval", "none")
    assert "level" not in plain["manifest"]
    assert plain["systems"]["recs"]["metrics"]["ndcg@5"]["low"] is None


def test_the_same_seed_gives_the_same_interval(trueval, files):
    options = ("--interval", "bca", "--resamples", 500)
    same = [run_json(trueval, files, *options, "--seed", seed) for seed in (1, 1, 2)]
    assert same[0]["systems"] == same[1]["systems"]
    assert same[0]["systems"] != same[2]["systems"]


def test_the_footer_says_how(trueval, files):
    ran = trueval(
        "evaluate", files / "recs.csv", "--test", files / "test.csv", "--interval", "bca", "--resamples", 2000,
        "--level", 0.9, "--metrics", "ndcg@5,coverage@5",
    )  # fmt: skip
    assert "90 % BCa bootstrap over users, 2,000 resamples" in ran.out
    assert "coverage@5: jackknife over groups of users" in ran.out


@pytest.mark.parametrize(
    ("option", "value"),
    [("--interval", "bac"), ("--level", 95), ("--level", 0), ("--resamples", 3), ("--resamples", -1)],
    ids=str,
)
def test_nonsense_is_refused_before_anything_is_written(trueval, files, option, value):
    out = files / "out.json"
    ran = trueval("evaluate", files / "recs.csv", "--test", files / "test.csv", option, value, "-o", out)
    assert ran.code == 2
    assert ran.err.strip()
    assert not out.exists()
