"""`trueval data` as a person or a script calls it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trueval.cli.data import app
from trueval.errors import DataError, DefinitionError
from trueval.progress import set_quiet

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _loud_again() -> Iterator[None]:
    yield
    set_quiet(False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("uid,sku,stars,ts\n1,a,5,978307200\n1,a,4,978307300\n2,b,5,978393600\n")
    return path


def test_list_marks_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path))
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").touch()
    (tmp_path / "ml-100k").mkdir()  # empty: nothing is here
    result = RUNNER.invoke(app, ["list"])
    table = [line.split("\t") for line in result.stdout.splitlines()]
    rows = {row[0]: row[1] for row in table}
    checks = {row[0]: row[5] for row in table}
    told = [checks[name] for name in ("ml-1m", "ml-latest-small", "coat", "netflix")]
    assert told == ["md5", "published md5", "no checksum", "by you"]
    assert result.exit_code == 0
    assert (rows["ml-1m"], rows["ml-100k"], rows["netflix"]) == ("here", "get", "by hand")


def test_info_in_words(log: Path) -> None:
    result = RUNNER.invoke(app, ["info", str(log)])
    assert result.exit_code == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert ["rows", "3"] in lines
    words = "1 rows repeat a user-item pair; pairs with several rows: 1, 2 rows in all; systems learn each pair once"
    assert ["duplicates", f"{words}, with the mean of its values"] in lines
    assert "2001-01-01 00:00:00 to 2001-01-02 00:00:00" in result.stdout
    assert "\x1b" not in result.stdout


def test_info_as_json(log: Path) -> None:
    result = RUNNER.invoke(app, ["info", str(log), "--format", "json", "--quiet"])
    numbers = json.loads(result.stdout)
    assert (numbers["rows"], numbers["users"], numbers["items"], numbers["duplicates"]) == (3, 2, 2, 1)


def test_info_with_columns(log: Path) -> None:
    result = RUNNER.invoke(app, ["info", str(log), "--columns", "user=sku,item=uid", "--format", "json"])
    assert json.loads(result.stdout)["per_user"]["max"] == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["info", "nowhere.csv"], DataError),
        (["get", "nothing"], DefinitionError),
        (["get", "netflix"], DataError),
        (["info", "LOG", "--columns", "usr=uid"], DefinitionError),
        (["info", "LOG", "--columns", "user=who"], DataError),
    ],
)
def test_errors_pass_through_to_the_caller(log: Path, arguments: list[str], error: type[Exception]) -> None:
    result = RUNNER.invoke(app, [str(log) if word == "LOG" else word for word in arguments])
    assert isinstance(result.exception, error)
    assert not result.stdout


def test_get_prints_the_folder(tmp_path: Path) -> None:
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").touch()
    result = RUNNER.invoke(app, ["get", "ml-1m", "--home", str(tmp_path), "--quiet"])
    assert result.stdout.strip() == str(tmp_path / "ml-1m")
    assert not result.stderr


def test_tables_on_a_terminal(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.cli.data._on_terminal", lambda: True)
    listed, described = RUNNER.invoke(app, ["list"]), RUNNER.invoke(app, ["info", str(log)])
    assert listed.exit_code == described.exit_code == 0
    assert "MovieLens" in listed.stdout
    assert "stored in" in listed.stdout
    assert "─" in described.stdout
    assert "Gini of items" in described.stdout


@pytest.mark.parametrize("command", ["list", "get", "info"])
def test_help_has_an_example(command: str) -> None:
    result = RUNNER.invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"trueval data {command}" in result.stdout
