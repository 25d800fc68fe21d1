"""trueval demo: the files it writes, the page, the words, and whose files it leaves alone."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import polars as pl
import pytest

import trueval as tv
from page_outline import Outline
from trueval.cli import demo_run
from trueval.cli.demo_files import file_names, next_commands


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"USERS": 200, "ITEMS": 120, "INTERACTIONS": 5000}.items():
        monkeypatch.setattr(demo_run, name, value)


@pytest.fixture
def folder(tmp_path: Path, trueval: Callable) -> Path:
    assert trueval("demo", "-o", tmp_path / "demo", "--quiet").code == 0
    return tmp_path / "demo"


def test_all_files_are_written_and_readable(folder: Path) -> None:
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert written == {*file_names(), "demo.json"}
    log, train, test = (tv.read(folder / f"{name}.parquet") for name in ("log", "train", "test"))
    assert len(train) < len(log)
    assert train.frame["time"].max() < test.frame["time"].min()  # type: ignore[operator]
    run = pl.read_parquet(folder / "recs" / "oracle.parquet")
    assert run.columns == ["user", "item", "score", "rank"]
    assert set(run["user"]) == set(test.frame["user"])
    assert not run.join(train.frame, on=["user", "item"], how="semi").height  # nothing that users already have


def test_results_are_valid_and_the_same_as_from_the_written_lists(folder: Path) -> None:
    record = json.loads((folder / "results.json").read_text())
    assert set(record["systems"]) == {"random", "popularity", "average", "oracle"}
    assert {c["baseline"] for c in record["comparisons"]} == {"popularity"}
    metrics = [name for name in demo_run.METRICS if name != "auc"]  # needs more than the first hundred
    again = tv.evaluate_run(
        sorted(str(path) for path in (folder / "recs").glob("*.parquet")), str(folder / "test.parquet"),
        train=str(folder / "train.parquet"), items=str(folder / "items.parquet"), metrics=metrics, threshold=4,
    )  # fmt: skip
    for name, system in record["systems"].items():
        for metric in metrics:
            assert again[name, metric].value == pytest.approx(system["metrics"][metric]["value"], abs=1e-12)
    users = pl.read_parquet(folder / "per_user.parquet")
    mean = users.filter(pl.col("system") == "oracle")["ndcg@10"].mean()
    assert mean == pytest.approx(record["systems"]["oracle"]["metrics"]["ndcg@10"]["value"])


def test_page_is_whole_and_needs_nothing_else(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Outline(text)
    assert page.open == page.addresses == []
    for wanted in (*demo_run.METRICS, *demo_run.SYSTEMS, "Leakage", "by chance", "trueval evaluate"):
        assert wanted in page.text
    assert text.count("<script") == 1
    assert not re.search(r"https?:(?!//www.w3.org/2000/svg)|\burl\((?!#)|@import|<link", text)
    assert "prefers-color-scheme: dark" in text


def test_what_is_printed(tmp_path: Path, trueval: Callable) -> None:
    ran = trueval("demo", "-o", tmp_path / "demo")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[-1] == str(tmp_path / "demo" / "report.html")
    for metric in demo_run.METRICS:
        assert any(line.startswith(metric) for line in lines)
    text = " ".join(ran.out.split())
    assert "of the catalogue to at least one user" in text
    assert "no rating from the user" in text
    assert trueval("demo", "-o", tmp_path / "demo", "--quiet").out.splitlines() == [lines[-1]]


def test_same_seed_same_files_other_seed_other_files(tmp_path: Path, trueval: Callable) -> None:
    for name, seed, threads in (("a", 1, 1), ("b", 1, 2), ("c", 2, 2)):
        trueval("demo", "-o", tmp_path / name, "--seed", seed, "--threads", threads, "--quiet")
    a, b, c = ((tmp_path / name / "results.json").read_text() for name in "abc")
    assert a == b != c


def test_words_are_computed_from_the_values() -> None:
    demo = demo_run.make_demo(3)
    told = " ".join(demo_run.truth_sentences(demo))
    assert f"{10 * demo.true['popularity']:.1f} from popularity" in told
    assert demo.true["oracle"] == max(demo.true.values())
    liked = demo.world.relevance >= 3.5
    top = demo.recs["average"].filter(pl.col("rank") <= 10).join(demo.result.per_user, on="user", how="semi")
    by_hand = [liked[int(u[1:]) - 1, int(i[1:]) - 1] for u, i in top.select("user", "item").iter_rows()]
    assert demo.true["average"] == pytest.approx(sum(by_hand) / len(by_hand))


def test_suggested_commands_work(folder: Path, trueval: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    joined = next_commands(Path("demo")).replace("\\\n", " ")
    commands = [shlex.split(line) for line in joined.splitlines() if line.startswith("trueval ")]
    assert {command[1] for command in commands} == {"evaluate", "compare", "metrics", "data", "split"}
    for _, *arguments in commands:
        globbed = (sorted(map(str, Path().glob(a))) if "*" in a else [a] for a in arguments)
        ran = trueval(*chain.from_iterable(globbed))
        assert ran.code == 0, ran.err
        assert ran.out


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, trueval: Callable) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    ran = trueval("demo", "-o", tmp_path)
    assert ran.code == 2
    assert "use another folder" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert trueval("demo", "-o", tmp_path / "thesis.txt").code == 2


def test_a_second_demo_replaces_the_first_and_nothing_more(folder: Path, trueval: Callable) -> None:
    mine = folder / "recs" / "mine.parquet"
    mine.write_text("mine")
    before = (folder / "results.json").read_text()
    assert trueval("demo", "-o", folder, "--seed", 9, "--quiet").code == 0
    assert (folder / "results.json").read_text() != before
    assert mine.read_text() == "mine"
    assert not list(folder.glob(".writing*"))


def test_unwritable_output(tmp_path: Path, trueval: Callable) -> None:
    (tmp_path / "file").write_text("")
    ran = trueval("demo", "-o", tmp_path / "file" / "below")
    assert ran.code == 2
    assert "could not be written" in ran.err
