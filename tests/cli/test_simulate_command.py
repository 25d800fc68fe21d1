"""`trueval simulate` and `trueval track`: what they write, print and refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import trueval as tv


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tv.simulate("world", users=60, items=30, seed=1).log.frame.write_csv("log.csv")
    return tmp_path


def test_a_world_is_written_and_read_again(place: Path, trueval: Callable) -> None:
    ran = trueval("simulate", "world", "--users", "50", "--items", "30", "--gamma", "0.5", "--seed", "3", "-o", "world")
    assert ran.code == 0
    assert "50 users, 30 items" in ran.out
    manifest = json.loads(Path("world/world.json").read_text())
    assert manifest["options"]["gamma"] == 0.5
    assert manifest["rows"] == len(pl.read_parquet("world/log.parquet"))
    world = tv.World.load("world")
    same = tv.simulate("world", users=50, items=30, gamma=0.5, seed=3)
    assert world.log.frame.sort("time", "user", "item").equals(same.log.frame)
    assert world.truth("popularity") == same.truth("popularity")
    ran = trueval("split", "world/log.parquet", "--how", "temporal", "-o", "parts")
    assert ran.code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["skew", "--alpha", "2"], "skew: 1,000 users"),
        (["skew", "log.csv", "--alpha", "1"], "alpha=1.0"),
        (["opposed", "--users", "60", "--items", "30"], "opposed: 60 users"),
        (["opposed", "log.csv", "--strength", "0.5"], "strength=0.5"),
        (["like", "log.csv", "--taste", "0.3"], "ratings per item (Kolmogorov"),
        (["like", "log.csv", "--columns", "user=user,item=item"], "Gini of items"),
    ],
)
def test_other_kinds(place: Path, trueval: Callable, words: list[str], said: str) -> None:
    ran = trueval("simulate", *words, "-o", "out")
    assert ran.code == 0, ran.err
    assert said in ran.out
    assert len(tv.World.load("out").log) > 0
    quiet = trueval("simulate", *words, "-o", "out", "--force", "--quiet")
    assert quiet.code == 0
    assert quiet.out == ""


def test_threads_change_no_bit(place: Path, trueval: Callable) -> None:
    for number in ("1", "3"):
        words = ["--users", "300", "--items", "80", "--ratings", "4000", "--threads", number, "-o", f"w{number}"]
        assert trueval("simulate", "world", *words).code == 0
    assert pl.read_parquet("w1/log.parquet").equals(pl.read_parquet("w3/log.parquet"))


def test_a_loop(place: Path, trueval: Callable) -> None:
    ran = trueval("simulate", "loop", "log.csv", "--rounds", "2", "-k", "3", "--system", "average", "-o", "rounds.csv")
    assert ran.code == 0, ran.err
    assert pl.read_csv("rounds.csv")["round"].to_list() == [0, 1, 2]
    assert trueval("simulate", "world", "--users", "60", "--items", "30", "-o", "world").code == 0
    ran = trueval("simulate", "loop", "world", "--rounds", "1", "-k", "3", "--format", "json")
    found = json.loads(ran.out)
    assert found["manifest"]["system"] == "popularity"
    assert found["rows"][1]["true_precision"] >= 0
    assert "exposure: provider 1" in found["rows"][1]


def test_tracking(place: Path, trueval: Callable) -> None:
    ran = trueval("track", "log.csv", "--periods", "3")
    assert ran.code == 0
    assert "Gini" in ran.out
    Path("series").mkdir()
    for month in ("2024-01", "2024-02"):
        pl.read_csv("log.csv").write_parquet(f"series/{month}.parquet")
    pl.DataFrame({"item": range(1, 31), "brand": ["x", "y", "z"] * 10}).write_csv("items.csv")
    ran = trueval("track", "series", "--items", "items.csv", "--by", "brand", "--format", "csv")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1].startswith("2024-01,")
    assert "exposure: z" in ran.out.splitlines()[0]
    ran = trueval("track", "series/2024-01.parquet", "log.csv", "-o", "out.md")
    assert ran.code == 0
    assert Path("out.md").read_text().startswith("| snapshot |")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "world", "--users", "0", "-o", "out"], "more users"),
        (["simulate", "world", "--alignment", "7", "-o", "out"], "alignment must be from -1 to 1"),
        (["simulate", "world", "--ratings", "10000000", "-o", "out"], "cannot be drawn"),
        (["simulate", "world", "--gamma", "nan", "-o", "out"], "gamma must be a finite number"),
        (["simulate", "world", "--seed", "-1", "-o", "out"], "seed must be"),
        (["simulate", "world", "-o", "out.csv"], "must be a folder"),
        (["simulate", "skew", "--alpha", "9", "-o", "out"], "alpha must be"),
        (["simulate", "skew", "nothing.csv", "-o", "out"], "no such file"),
        (["simulate", "opposed", "log.csv", "--users", "9", "-o", "out"], "no option 'users'"),
        (["simulate", "opposed", "--strength", "3", "-o", "out"], "strength must be"),
        (["simulate", "like", "log.csv", "--liked", "2", "-o", "out"], "liked must be"),
        (["simulate", "like", "log.csv", "--columns", "user=uid", "-o", "out"], "uid"),
        (["simulate", "loop", "log.csv", "--system", "nobody"], "unknown system"),
        (["simulate", "loop", "log.csv", "--rounds", "0"], "rounds must be"),
        (["simulate", "loop", "log.csv", "-k", "500"], "shorter than the catalogue"),
        (["simulate", "loop", "log.csv", "--model", "psychic"], "no click model"),
        (["simulate", "loop", "log.csv", "--by", "colour"], "no groups 'colour'"),
        (["simulate", "loop", "nothing"], "no such file"),
        (["simulate", "loop", "log.csv", "-o", "rounds.xyz"], "no output format"),
        (["track", "log.csv", "--periods", "1"], "so many periods"),
        (["track", "log.csv", "--by", "colour"], "table of items"),
        (["track", "nothing"], "no such file"),
    ],
)
def test_bad_input(place: Path, trueval: Callable, words: list[str], said: str) -> None:
    before = sorted(place.rglob("*"))
    ran = trueval(*words)
    assert ran.code == 2, ran.out
    assert said in ran.err
    assert sorted(place.rglob("*")) == before


def test_a_damaged_world(place: Path, trueval: Callable) -> None:
    Path("broken").mkdir()
    Path("broken/world.json").write_text('{"kind": 3')
    ran = trueval("simulate", "loop", "broken")
    assert ran.code == 2
    assert "not a world" in ran.err
