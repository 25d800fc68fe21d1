"""trueval study new, check, serve, export, invite."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import uvicorn
from study_sites import Process, free_port, write_study
from visitors import Visitor

from trueval.study import serving
from trueval.study.data_dictionary import COLUMNS
from trueval.study.definition import read_study
from trueval.study.site import Site
from trueval.study.storage import Storage

Run = Callable[..., Any]


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_the_example_is_ready(form: str, trueval: Run, tmp_path: Path) -> None:
    assert trueval("study", "new", "-o", tmp_path / "new", "--form", form, "--quiet").code == 0
    checked = trueval("study", "check", tmp_path / "new" / "study.toml", "--quiet")
    assert checked.code == 0
    assert f"form {form}, 5 systems" in checked.out
    assert "40 participants show with 80 % power" in checked.out.replace("\u00a0", " ")
    assert "400 items" in checked.out
    assert "pictures" not in checked.out  # every picture of the example is there


def test_a_folder_of_others_is_left_alone(trueval: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    refused = trueval("study", "new", "-o", tmp_path)
    assert refused.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt"]
    assert trueval("study", "new", "-o", tmp_path / "new", "--form", "order").code == 2


def test_a_study_that_cannot_work_is_refused(trueval: Run, tmp_path: Path) -> None:
    path = write_study(tmp_path, systems={"a": {"system": "popularity"}, "b": {"run": "none.csv"}})
    for command in (["check"], ["serve", "--port", free_port()], ["export", "-o", tmp_path / "out"]):
        refused = trueval("study", command[0], path, *command[1:])
        if command[0] != "export":  # which needs no systems
            assert refused.code == 2
            assert "none.csv" in refused.err
    assert trueval("study", "check", tmp_path / "nothing.toml").code == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_in_use_is_refused_before_anything_is_made(workers: int, trueval: Run, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    before = sorted(tmp_path.iterdir())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        refused = trueval("study", "serve", path, "--port", other.getsockname()[1], "--workers", workers)
    assert refused.code == 2
    assert "cannot be served at this address" in refused.err
    assert "secret" not in refused.out
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("url", [None, "sqlite:///elsewhere.sqlite"])
def test_each_of_several_processes_opens_the_database_that_was_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str | None
) -> None:
    """What the first process was told reaches the others by their environment; without a name it is the study's."""
    path, opened = write_study(tmp_path), []
    for name in (serving._STUDY, serving._DATABASE):
        monkeypatch.setenv(name, "of an earlier study")
    monkeypatch.setattr(uvicorn, "run", lambda app, *, workers, **settings: opened.append((app, workers)))
    serving.serve_by_several(str(path), url, host="127.0.0.1", port=8000, workers=3)
    assert opened.pop() == ("trueval.study.serving:app_of_worker", 3)
    monkeypatch.setattr(Site, "open", lambda study, named: opened.append((study.about.title, named)))
    monkeypatch.setattr(serving, "make_app", lambda site, **settings: "app")
    monkeypatch.setattr(serving, "set_quiet", lambda quiet: None)
    assert serving.app_of_worker() == "app"
    assert opened == [(read_study(path).about.title, url)]


@pytest.mark.parametrize("participants", [1, 40, 1000])
def test_the_power_that_check_tells_is_that_of_the_exact_test(participants: int, tmp_path: Path) -> None:
    from scipy.stats import binom

    from trueval.study.readiness import check_study

    path = write_study(
        tmp_path, study={"participants": participants}, systems={f"s{n}": {"system": "popularity"} for n in range(5)}
    )
    told = check_study(read_study(path))[-1].replace("\u00a0", " ")
    needed = next(k for k in range(participants + 2) if binom.sf(k - 1, participants, 0.2) <= 0.05)
    shares = [s / 100 for s in range(21, 100) if binom.sf(needed - 1, participants, s / 100) >= 0.8]
    assert (f"first by {100 * shares[0]:.0f} % of them" if shares else "too few") in told
    assert bool(shares) == (participants > 1)


def test_serve_prints_the_secret_once_and_export_writes_tables(trueval: Run, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    path = write_study(tmp_path, "rate")
    printed = []
    for _ in range(2):
        server = Process(path, free_port())
        try:
            with httpx.Client(base_url=server.address, timeout=600) as client:
                person = Visitor(client).begin().rate(3).finish("=1+1")
                assert "Thank you" in person.page.text
        finally:
            printed.append(server.stop())
    assert "secret of the results page" in printed[0]
    assert "secret of the results page" not in printed[1]
    assert (
        trueval("study", "export", path, "-o", tmp_path / "safe", "--format", "csv", "--csv-safe", "--quiet").code == 0
    )
    assert pl.read_csv(tmp_path / "safe" / "comments.csv")["text"].to_list() == ["'=1+1"] * 2
    for format in ("parquet", "csv"):
        assert trueval("study", "export", path, "-o", tmp_path / format, "--format", format, "--quiet").code == 0
        names = sorted(one.name for one in (tmp_path / format).iterdir())
        assert names == sorted([*(f"{n}.{format}" for n in [*COLUMNS, "dictionary", "position_counts"]), "study.json"])
    for name, columns in COLUMNS.items():
        table = pl.read_parquet(tmp_path / "parquet" / f"{name}.parquet")
        assert table.schema == {column: kind for column, kind, _ in columns}
    assert len(pl.read_parquet(tmp_path / "parquet" / "participants.parquet")) == 2
    about = json.loads((tmp_path / "csv" / "study.json").read_text())
    assert about["participants"] == {"planned": 30, "began": 2, "finished": 2}
    assert "0.5 of each page" in about["ratings"]["offered"]


def test_a_database_that_is_not_there_is_not_made(trueval: Run, tmp_path: Path) -> None:
    path = write_study(tmp_path)
    before = sorted(tmp_path.iterdir())
    for words in (["export", path, "-o", tmp_path / "out"], ["analyse", path]):
        for more in ([], ["--database", f"sqlite:///{tmp_path / 'other.sqlite'}"]):
            refused = trueval("study", *words, *more)
            assert refused.code == 2
            assert "no answers yet" in refused.err
    assert sorted(tmp_path.iterdir()) == before
    Storage.open(read_study(path)).enrol()
    refused = trueval("study", "analyse", path)
    assert refused.code == 2
    assert "nobody has answered yet" in refused.err
    assert "participants who began: 1" in refused.err
    refused = trueval("study", "analyse", tmp_path / "study.sqlite")
    assert refused.code == 2
    assert "give the study file" in refused.err


def test_invitations(trueval: Run, tmp_path: Path) -> None:
    path = write_study(tmp_path, ratings={"least": 0}, systems={"ours": {"run": "run.csv"}, "popularity": {}})
    rows = [(f"u{u}", f"i{j}", j) for u in range(3) for j in range(30)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv(tmp_path / "run.csv")
    out = tmp_path / "invitations.csv"
    assert trueval("study", "invite", path, "--address", "https://study.example.org/", "-o", out, "--quiet").code == 0
    made = pl.read_csv(out)
    assert made["user"].to_list() == ["u0", "u1", "u2"]
    assert made["address"].str.starts_with("https://study.example.org/p/").all()
    storage = Storage.open(read_study(path))
    assert all(storage.find(one.rpartition("/")[2]).stage == "invited" for one in made["address"])
    (tmp_path / "users.txt").write_text("u9\n")
    options = ["--address", "https://x", "--users", tmp_path / "users.txt", "-o", tmp_path / "none.csv"]
    refused = trueval("study", "invite", path, *options)
    assert refused.code == 2
    assert "u9" in refused.err
    assert not (tmp_path / "none.csv").exists()
