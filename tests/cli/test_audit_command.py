"""trueval audit: exit codes, formats, accepted findings, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

USERS = range(40)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A clean case, one whose train log holds test rows, and lists of which one file lacks users."""
    known = [*((u, 90 + u % 3, 5.0) for u in USERS), *((1000, item, 5.0) for item in range(30))]
    train = pl.DataFrame(known, schema=["user", "item", "value"], orient="row")
    rows = [row for u in USERS for row in ((u, u % 5, 5.0), (u, 10 + u % 5, 1.0), (u, 5 + u % 5, 5.0))]
    test = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")
    train.write_csv(tmp_path / "train.csv")
    test.write_csv(tmp_path / "test.csv")
    pl.concat([train, test.head(3)]).write_csv(tmp_path / "leaky.csv")
    others = list(range(20, 30))
    lists = {
        "shown": {u: [*others[: u % 4], u % 5, *others[u % 4 :]] for u in USERS},
        "hidden": {u: [*others[: u % 3], 5 + u % 5, *others[u % 3 :]] for u in USERS[:24]},
    }
    for name, own in lists.items():
        recs = [(u, item, place) for u, items in own.items() for place, item in enumerate(items, 1)]
        pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row").write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def words(case: Path, train: str = "train") -> list[object]:
    return ["audit", "--train", case / f"{train}.csv", "--test", case / "test.csv", "--threshold", "4"]


@pytest.mark.parametrize(
    ("train", "recs", "raise_on", "code"),
    [
        ("train", False, "caution", 0),
        ("leaky", False, "wrong", 1),
        ("leaky", False, "caution", 1),
        ("leaky", False, None, 0),
        ("train", True, "wrong", 0),
        ("train", True, "caution", 1),
    ],
)
def test_exit_codes(case: Path, trueval: Callable, train: str, recs: bool, raise_on: str | None, code: int) -> None:
    asked = words(case, train)
    asked += ["--recs", case / "shown.csv", case / "hidden.csv"] if recs else []
    asked += ["--raise-on", raise_on] if raise_on else []
    ran = trueval(*asked)
    assert ran.code == code, ran.err
    assert ran.out.startswith("What may be claimed: " if recs else "audit: ")


def test_json(case: Path, trueval: Callable) -> None:
    out = case / "audit.json"
    ran = trueval(*words(case), "--recs", case / "shown.csv", case / "hidden.csv", "-o", out, "--raise-on", "caution")
    assert (ran.code, ran.out) == (1, "")
    record = json.loads(out.read_text())
    assert record["verdict"] == "caution"
    (finding,) = (one for one in record["findings"] if one["check"] == "missing_lists")
    assert finding["verdict"] == "caution"
    assert finding["effect"].startswith("ndcg@10 of hidden is ")
    assert finding["remedy"]
    printed = trueval(*words(case), "--recs", case / "shown.csv", case / "hidden.csv", "--format", "json")
    assert printed.out == out.read_text()


def test_text_is_a_name_of_the_table(case: Path, trueval: Callable) -> None:
    assert trueval(*words(case), "--format", "text").out == trueval(*words(case)).out


def test_accepted_findings_of_an_experiment_file(case: Path, trueval: Callable) -> None:
    data = json.loads(trueval(*words(case, "leaky"), "--format", "json").out)["manifest"]["fingerprint"]
    file = case / "experiment.toml"
    section = '[audit.accept.leaked_pairs]\nreason = "users buy again"\ndata = "{}"\n'
    file.write_text(section.format(data))
    ran = trueval(*words(case, "leaky"), "--accepted", file, "--raise-on", "caution")
    assert ran.code == 0
    assert "accepted: users buy again" in ran.out
    file.write_text(section.format("0" * 12))
    assert trueval(*words(case, "leaky"), "--accepted", file, "--raise-on", "wrong").code == 1
    file.write_text("[audit]\naccept = 3\n")
    ran = trueval(*words(case, "leaky"), "--accepted", file)
    assert ran.code == 2
    assert "accept must be a section" in ran.err


def test_an_experiment_may_have_the_section(case: Path, trueval: Callable) -> None:
    text = f'[data]\npath = "{case / "test.csv"}"\n[evaluation]\nmetrics = ["ndcg@3"]\n[systems]\npopularity = {{}}\n'
    file = case / "experiment.toml"
    file.write_text(text + '[audit.accept.future_rows]\nreason = "known"\ndata = "0a1b"\n')
    assert trueval("run", file, "-o", case / "out", "--quiet").code == 0


def test_systems_are_fitted(case: Path, trueval: Callable) -> None:
    ran = trueval(*words(case), "--systems", "popularity,random", "--metrics", "recall@3")
    assert ran.code == 0, ran.err
    assert "2 systems (popularity and random), design AR-TI-AN" in ran.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--raise-on", "fine"], "unknown verdict 'fine'"),
        (["shown.csv"], "files without an option"),
        (["--systems", "popularity", "--recs", "shown.csv"], "both given"),
        (["--systems", "popularity", "--relevant-change", "much"], "this is no margin"),
        (["--recs", "shown.csv", "--by", "gender", "--users", "train.csv"], "no column 'gender'"),
    ],
)
def test_what_is_refused(
    case: Path, trueval: Callable, monkeypatch: pytest.MonkeyPatch, more: list[str], message: str
) -> None:
    monkeypatch.chdir(case)
    ran = trueval(*words(case), *more)
    assert ran.code == 2
    assert message in ran.err


def test_a_validation_file_with_test_rows(case: Path, trueval: Callable) -> None:
    ran = trueval(*words(case), "--validation", case / "test.csv", "--raise-on", "wrong")
    assert ran.code == 1
    assert "tuned_on_test: Values are those of systems that were chosen on" in ran.out
