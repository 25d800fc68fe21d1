"""Rerunning papers: choice of figures, folders, data, and what is written."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError, OutputError
from trueval.experiments.experiment import read_experiment
from trueval.papers.experiment_files import experiment_text
from trueval.papers.record import claim, not_comparable, number
from trueval.papers.registry import NAMES, paper_of


def files(folder: Path) -> dict[str, bytes]:
    """Contents of all files but the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def test_a_number_holds_within_its_tolerance() -> None:
    assert number("1", "x", published=32.7, here=32.61, tolerance=0.1).verdict == "holds"
    assert number("1", "x", published=32.7, here=32.5, tolerance=0.1).verdict == "differs"
    assert number("1", "x", published=1703, here=float("nan"), tolerance=1).verdict == "differs"


def test_shown_numbers_have_the_digits_of_the_paper() -> None:
    found = number("1", "x", published=0.0077, here=0.00812, tolerance=1)
    assert (found.published, found.here) == ("0.0077", "0.0081")


def test_claims_hold_or_do_not() -> None:
    assert [claim("1", "x", holds=is_so, evidence="e").verdict for is_so in (True, False)] == ["holds", "does not hold"]
    assert not_comparable("1", "x", published="1", here="2", note="other data").verdict == "not comparable"


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / name)
    found = files(tmp_path / "one")
    names = {"index.html", "summary.md", "statements.csv", "manifest.json", "tables/bellogin2017-7.parquet"}
    assert names <= set(found)
    assert found == files(tmp_path / "two")


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / "out")
    before = files(tmp_path / "out")
    with pytest.raises(OutputError, match="already holds"):
        tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / "out")
    tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / "out", resume=True)
    assert files(tmp_path / "out") == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError):
        tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / "other")
    assert files(tmp_path / "other") == {"mine.txt": b"mine"}


def test_a_rerun_of_another_paper_is_not_replaced(tmp_path: Path) -> None:
    tv.reproduce("bellogin2017", "7", quick=True, out=tmp_path / "out")
    before = files(tmp_path / "out")
    with pytest.raises(OutputError, match="another paper"):
        tv.reproduce("steck2011", "table1", quick=True, out=tmp_path / "out", resume=True)
    assert files(tmp_path / "out") == before


def test_what_verdicts_are_about_is_said(tmp_path: Path) -> None:
    """A claim that does not hold in a generated world says nothing about the paper; tables are not called figures."""
    found = tv.reproduce("steck2011", "table1", quick=True, out=tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    for text in (str(found), page):
        words = " ".join(text.split())
        assert "A generated world stands in for MovieLens 1M" in words
        assert "quick version has fewer repetitions" in words
        assert "Another number here: mean rank, β_w = 0.67 (Table 1): 0.105 apart" in words
    log = tv.simulate("world", users=80, items=200, ratings=4000, seed=1).log
    assert found.stand_ins() != tv.reproduce("bellogin2017", "7", data=log).stand_ins() == []


def test_what_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(DefinitionError, match="did you mean bellogin2017"):
        tv.reproduce("bellogin")
    with pytest.raises(DefinitionError, match="has no figure '12'"):
        tv.reproduce("bellogin2017", "12")
    with pytest.raises(DefinitionError, match="no data called 'songs'"):
        tv.reproduce("bellogin2017", data={"songs": "."})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"user": [1], "item": [1]}, "needs ratings"),
        ({"user": [1, 2], "item": [1, 1], "value": [3, 4]}, "0 of 2 ratings"),
        ({"user": [1, 2], "item": [1, 1], "value": [3, 5]}, "too small"),
    ],
)
def test_data_that_cannot_be_used_is_refused_before_the_work(
    tmp_path: Path, table: dict[str, list[int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        tv.reproduce("bellogin2017", data=pl.DataFrame(table), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tables_of_another_format_are_refused_with_what_can_be_done(tmp_path: Path) -> None:
    """The command has no --columns, which other commands advise."""
    pl.DataFrame({"who": [1], "what": [1], "stars": [5]}).write_csv(tmp_path / "ratings.csv")
    with pytest.raises(DataError, match="no user column") as refused:
        tv.reproduce("bellogin2017", "7", data=tmp_path / "ratings.csv", out=tmp_path / "out")
    assert "MovieLens 1M in its original format" in refused.value.do
    assert "--columns" not in refused.value.do


def test_data_are_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    pl.DataFrame({"user": [1, 2], "item": [1, 1], "value": [3, 5]}).write_csv(place / "ratings.csv")
    before = files(tmp_path)
    for out in (place, place / "ratings.csv"):
        with pytest.raises(OutputError):
            tv.reproduce("bellogin2017", "7", data=place / "ratings.csv", out=out)
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", [file for paper in NAMES for file in paper_of(paper).experiments])
def test_experiment_files_are_read_as_any_other(name: str) -> None:
    """Metrics, designs, systems and their parameters are checked as those of a user's file."""
    written = tomllib.loads(experiment_text(name))
    log = tv.simulate("world", users=60, items=80, ratings=1500, seed=1).log
    experiment = read_experiment({**written, "data": {**written["data"], "path": log}})
    assert list(experiment.systems) == list(written["systems"])
    assert list(experiment.plans) == written["evaluation"]["designs"]


def test_the_command(trueval: Callable, tmp_path: Path) -> None:
    ran = trueval("reproduce", "steck2011", "table1", "--quick", "-o", tmp_path / "out", "--format", "csv")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("figure,claim,published,here,verdict,evidence,note\n")
    assert (tmp_path / "out" / "index.html").exists()
    assert "index.html" in ran.err
    for words, said in (
        (["steck", "-o", tmp_path / "a"], "did you mean steck2011?"),
        (["steck2011", "9", "-o", tmp_path / "a"], "has no figure '9'"),
        (["steck2011", "--data", "nowhere.csv", "-o", tmp_path / "a"], "nowhere.csv"),
        (["steck2011", "--data", "a", "--data", "b", "-o", tmp_path / "a"], "two data sets have one name"),
        (["steck2011", "table1", "-o", tmp_path / "out"], "already holds a rerun"),
    ):
        ran = trueval("reproduce", *words)
        assert ran.code == 2
        assert said in ran.err
    assert not (tmp_path / "a").exists()


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that were finished are not made again, and the files are those of a run that was not stopped."""
    from trueval.papers.bellogin2017 import skewness

    whole = tv.reproduce("bellogin2017", "5", quick=True, out=tmp_path / "whole")
    made = skewness._values

    def stopped(setting: object, alpha: float) -> pl.DataFrame:
        if alpha == 2.0:
            raise KeyboardInterrupt
        return made(setting, alpha)  # type: ignore[arg-type]

    monkeypatch.setattr(skewness, "_values", stopped)
    with pytest.raises(KeyboardInterrupt):
        tv.reproduce("bellogin2017", "5", quick=True, out=tmp_path / "again")
    kept = files(tmp_path / "again")
    assert sum(name.startswith("steps/") for name in kept) == 2
    assert "index.html" not in kept
    monkeypatch.setattr(skewness, "_values", made)
    again = tv.reproduce("bellogin2017", "5", quick=True, out=tmp_path / "again", resume=True)
    assert again.statements == whole.statements
    assert files(tmp_path / "again") == files(tmp_path / "whole")
