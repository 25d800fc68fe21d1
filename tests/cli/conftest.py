"""Running the command line as a person does, in a process of its own or inside the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from trueval.cli import main
from trueval.progress import set_quiet


@dataclass
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def trueval(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ran]]:
    """Run a command; returns its exit code, standard output and standard error."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["trueval", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    yield run
    set_quiet(False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a small run, a second one, a test set, a train log and a catalogue."""
    users, items = [f"u{u}" for u in range(10)], [f"i{i}" for i in range(12)]
    for name, step in (("recs", 1), ("other", 5)):
        rows = [(u, items[(n * step + j) % 12], 1 - j / 10) for n, u in enumerate(users) for j in range(5)]
        pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(tmp_path / f"{name}.csv")
    truth = [(u, items[(n + j * 2) % 12], float(5 - j)) for n, u in enumerate(users) for j in range(3)]
    pl.DataFrame(truth, schema=["user", "item", "value"], orient="row").write_csv(tmp_path / "test.csv")
    train = [(u, items[(n + 7 + j) % 12], 4.0) for n, u in enumerate(users) for j in range(3)]
    pl.DataFrame(train, schema=["user", "item", "value"], orient="row").write_csv(tmp_path / "train.csv")
    pl.DataFrame({"item": items, "aspects": ["a|b" if i % 2 else "c" for i in range(12)]}).write_csv(
        tmp_path / "items.csv"
    )
    return tmp_path
