"""Mistakes in files that were a defect, or were not noticed at all."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Run = Callable[..., Any]


def _ids_as_text(path: Path, *roles: str) -> Path:
    """The table with other ids: text, where all others have numbers."""
    frame = pl.read_csv(path)
    changed = path.with_name(f"text-{path.name}")
    frame.with_columns(pl.format("x{}", role).alias(role) for role in roles if role in frame.columns).write_csv(changed)
    return changed


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A folder with tables whose ids are numbers."""
    rows = [(u, (3 * u + j) % 12, float(1 + j % 5)) for u in range(20) for j in range(6)]
    log = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")
    log.filter(pl.int_range(pl.len()) % 2 == 0).write_csv(tmp_path / "train.csv")
    log.filter(pl.int_range(pl.len()) % 2 == 1).write_csv(tmp_path / "test.csv")
    log.rename({"value": "score"}).write_csv(tmp_path / "recs.csv")
    log.with_columns(item=11 - pl.col("item")).write_csv(tmp_path / "unbiased.csv")
    pl.DataFrame({"item": range(12)}).write_csv(tmp_path / "items.csv")
    pl.DataFrame({"user": range(20), "group": ["a", "b"] * 10}).write_csv(tmp_path / "users.csv")
    return tmp_path


TABLES = {"train": "--train", "test": "--test", "recs": "--recs", "unbiased": "--unbiased", "items": "--items",
          "users": "--users"}  # fmt: skip


@pytest.mark.parametrize("role", ["user", "item"])
@pytest.mark.parametrize("table", TABLES)
def test_an_audit_of_ids_of_two_types_says_so(table: str, role: str, numbers: Path, trueval: Run) -> None:
    """Text in one table and numbers in the others, which the audit is there to find."""
    changed = _ids_as_text(numbers / f"{table}.csv", role)
    if pl.read_csv(changed).equals(pl.read_csv(numbers / f"{table}.csv")):
        pytest.skip("the table has no such ids")
    files = {name: changed if name == table else numbers / f"{name}.csv" for name in TABLES}
    words = [word for name, option in TABLES.items() for word in (option, files[name])]
    refused = trueval("audit", *words, "--by", "group", "--metrics", "ndcg@3")
    assert refused.code == 2
    assert f"{role} ids are of different types" in refused.err


def test_vocabularies_of_text_and_numbers_are_refused() -> None:
    from trueval.data.ids import Ids
    from trueval.errors import DataError

    with pytest.raises(DataError, match="text in one table and numbers in another"):
        Ids.of(pl.Series([1, 2]), pl.Series(["a"]))
    assert Ids.of(pl.Series([1]), pl.Series([2**63], dtype=pl.UInt64)).values.to_list() == [1, 2**63]


@pytest.mark.parametrize("kind", ["world", "skew", "opposed"])
def test_a_threshold_that_no_rating_reaches_is_refused(kind: str, trueval: Run, tmp_path: Path) -> None:
    small = ["--users", "30", "--items", "20", "-o", tmp_path / "world"]
    refused = trueval("simulate", kind, *small, "--threshold", "9")
    assert refused.code == 2
    assert "ratings up to 5" in refused.err
    assert not (tmp_path / "world").exists()
    assert trueval("simulate", kind, *small, "--threshold", "5").code == 0


@pytest.mark.parametrize("c2", ["1e308", "1e10", "-1", "nan", "inf"])
def test_shifts_beyond_all_numbers_are_refused(c2: str, trueval: Run, tmp_path: Path) -> None:
    assert trueval("simulate", "skew", "--c2", c2, "-o", tmp_path / "world").code == 2
    assert not (tmp_path / "world").exists()


def test_answers_that_are_no_text_are_refused() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "trueval", "metrics", "--choose"]
    for environment in ({"PYTHONIOENCODING": "utf-8:strict"}, {}):
        ran = subprocess.run(command, input=b"\xff\xfe\n", capture_output=True, env={**_environment(), **environment})
        assert ran.returncode == 2, ran.stderr


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_dates_are_no_numbers(trueval: Run, tmp_path: Path) -> None:
    """They would become days since 1970."""
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(30)]
    log = {"user": [n // 3 for n in range(30)], "item": [n % 7 for n in range(30)]}
    pl.DataFrame({**log, "value": days}).write_parquet(tmp_path / "log.parquet")
    pl.DataFrame({**log, "rank": [1 + n % 3 for n in range(30)]}).write_parquet(tmp_path / "recs.parquet")
    pl.DataFrame(log).write_parquet(tmp_path / "test.parquet")
    pl.DataFrame({"item": range(30), "count": days}).write_parquet(tmp_path / "displays.parquet")
    answers = {"participant": log["user"], "system": ["a", "b", "c"] * 10}
    pl.DataFrame({**answers, "rank": days}).write_parquet(tmp_path / "ranks.parquet")
    pl.DataFrame({**answers, "value": days}).write_parquet(tmp_path / "scales.parquet")
    shares = f"display_share:{tmp_path / 'displays.parquet'}"
    for words in (
        ["data", "info", tmp_path / "log.parquet"],
        ["split", tmp_path / "log.parquet", "--how", "holdout", "-o", tmp_path / "parts"],
        ["evaluate", tmp_path / "recs.parquet", "--test", tmp_path / "log.parquet"],
        ["evaluate", tmp_path / "recs.parquet", "--test", tmp_path / "test.parquet", "--metrics", "ips(recall)@3",
         "--propensity", shares],
        ["study", "analyse", tmp_path / "ranks.parquet"],
        ["study", "analyse", tmp_path / "scales.parquet"],
    ):  # fmt: skip
        refused = trueval(*words)
        assert refused.code == 2, words


def test_a_database_that_would_not_be_read_is_refused(trueval: Run, tmp_path: Path) -> None:
    pl.DataFrame({"participant": [1, 1], "system": ["a", "b"], "rank": [1, 2]}).write_csv(tmp_path / "ranks.csv")
    refused = trueval("study", "analyse", tmp_path / "ranks.csv", "--database", "sqlite:///nothing.sqlite")
    assert refused.code == 2
    assert "only a study file has a database" in refused.err


# ---- flipped bits ------------------------------------------------------------------------------------------------


def _with_a_flipped_bit(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["log", "users", "items", "user_truth", "item_truth"])
def test_a_flipped_bit_in_a_world_is_noticed(name: str, trueval: Run, tmp_path: Path) -> None:
    world = tmp_path / "world"
    assert (
        trueval("simulate", "world", "--users", "80", "--items", "40", "--threshold", "3", "-o", world, "--quiet").code
        == 0
    )
    path = world / f"{name}.parquet"
    content = path.read_bytes()
    for place in range(4, len(content), len(content) // 5):
        path.write_bytes(_with_a_flipped_bit(content, place))
        refused = trueval("simulate", "loop", world, "--rounds", "1", "-k", "2")
        assert refused.code == 2, place
        assert f"{name}.parquet" in refused.err
    path.write_bytes(content)
    assert trueval("simulate", "loop", world, "--rounds", "1", "-k", "2").code == 0


def test_a_manifest_that_says_something_else_is_noticed(files: Path, trueval: Run) -> None:
    words = ["evaluate", files / "recs.csv", "--test", files / "test.csv", "--resamples", "100", "--quiet"]
    assert trueval(*words, "-o", f"{files / 'result'}/").code == 0
    compare = ["gate", files / "result", files / "result", "--margin", "50%", "--quiet"]
    assert trueval(*compare).code in (0, 3)
    manifest = files / "result" / "manifest.json"
    text = manifest.read_text()
    for old, new in (
        ('"zero"', '"zerp"'),
        ('"given"', '"givan"'),
        ('"relevant"', '"relevand"'),
        ('"seed": 0', '"seed": 1'),
    ):
        assert old in text
        manifest.write_text(text.replace(old, new, 1))
        refused = trueval(*compare)
        assert refused.code == 2, old
        assert "manifest.json and results.parquet" in refused.err


# ---- several outputs ---------------------------------------------------------------------------------------------


def _with_little_space(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that can write no file of more than 80 kB, as on a full disk."""
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "from trueval.cli import run; import trueval.api, trueval.report.html_result; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST)); run()"
    )
    command = [sys.executable, "-c", program.replace("MOST", "80_000"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_of_several_outputs_all_are_written_or_none(files: Path) -> None:
    """The result folder is larger than what is left, and the report is not."""
    report = "page.html"
    rows = [(u * 7919 % 1_000_003, i, u % 97 / 97 + i) for u in range(60_000) for i in range(3)]
    pl.DataFrame(rows, schema=["user", "item", "score"], orient="row").write_csv(files / "many.csv")
    pl.DataFrame(
        [(u * 7919 % 1_000_003, 1 + u % 5) for u in range(60_000)], schema=["user", "item"], orient="row"
    ).write_csv(files / "held.csv")
    before = sorted(path.name for path in files.iterdir())
    (files / report).write_text("an earlier report")
    words = ["evaluate", "many.csv", "--test", "held.csv", "--resamples", "0", "--interval", "none", "-o", "result/"]
    failed = _with_little_space(files, *words, "--report", report)
    assert failed.returncode == 2, failed.stderr
    assert (files / report).read_text() == "an earlier report"
    assert f"wrote {report}" not in failed.stderr
    (files / report).unlink()
    assert sorted(path.name for path in files.iterdir()) == before


def test_verdicts_are_written_with_their_exit_codes(files: Path, trueval: Run) -> None:
    words = ["audit", "--train", files / "train.csv", "--test", files / "train.csv", "--raise-on", "wrong"]
    ran = trueval(*words, "-o", files / "audit.json", "--report", files / "audit.html")
    assert ran.code == 1
    assert (files / "audit.json").exists()
    assert (files / "audit.html").exists()
