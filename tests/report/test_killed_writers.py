"""A process that is killed at any moment leaves the old result or the new one, for trueval and for everybody else."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import trueval as tv
from trueval.errors import TruevalError
from trueval.report.commit import COMMITTED, finish_commit
from trueval.report.folder import write_together
from trueval.report.saved_results import MANIFEST, SUMMARY, TABLE, load_result

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, and killed")
EVENTS = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.listdir", "os.scandir")


def killed_at(number: int, do: Callable[[], None]) -> bool:
    """Run something in a process of its own that is killed at its n-th call of the file system; whether it was."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def hook(event: str, arguments: tuple) -> None:
            nonlocal count
            if event in EVENTS:
                count += 1
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            do()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def contents(folder: Path) -> dict[str, bytes]:
    hidden = (name for name in os.listdir(folder) if name.startswith("."))
    leave = {folder / name for name in hidden}
    files = (path for path in folder.rglob("*") if path.is_file() and not leave.intersection([path, *path.parents]))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def write(folder: Path, files: dict[str, bytes]) -> None:
    made = {name: lambda path, text=text: path.write_bytes(text) for name, text in files.items() if name != MANIFEST}
    write_together(folder, made, marker=MANIFEST, manifest={"by": files[MANIFEST].decode()})


OLD = {"a.txt": b"old a", "sub/b.txt": b"old b", "gone/c.txt": b"old c", MANIFEST: b"old"}
NEW = {"a.txt": b"new a", "sub/b.txt": b"new b", "new/d.txt": b"new d", MANIFEST: b"new"}


@pytest.fixture
def old_and_new(tmp_path: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    for name, files in (("old", OLD), ("new", NEW)):
        write(tmp_path / name, files)
        (tmp_path / name / "mine.txt").write_text("mine")
    (tmp_path / "old" / "sub" / "mine.txt").write_text("mine")
    (tmp_path / "new" / "sub" / "mine.txt").write_text("mine")
    return contents(tmp_path / "old"), contents(tmp_path / "new")


def test_killed_at_every_call(tmp_path: Path, old_and_new: tuple) -> None:
    old, new = old_and_new
    seen, number = set(), 0
    killed = True
    while killed:
        number += 1
        folder = tmp_path / f"at-{number}"
        shutil.copytree(tmp_path / "old", folder)
        killed = killed_at(number, lambda folder=folder: write(folder, NEW))
        raw = contents(folder)  # as somebody sees it who does not know trueval
        assert raw.items() <= old.items() or raw.items() <= new.items(), number
        assert raw["mine.txt"] == raw["sub/mine.txt"] == b"mine"
        finish_commit(folder)
        whole = contents(folder)
        assert whole in (old, new), number
        seen.add(whole == new)
        write(folder, NEW)  # the next writer is not held up, and clears the rest away
        assert contents(folder) == new
        assert {path.name for path in folder.glob(".*")} == set()
    assert number > 20
    assert seen == {False, True}


def test_killed_again_while_the_rest_is_finished(tmp_path: Path, old_and_new: tuple) -> None:
    _, new = old_and_new
    number, found = 0, 0
    while killed_at(number := number + 1, lambda: write(tmp_path / "at", NEW)) or number == 1:
        if (tmp_path / "at" / COMMITTED).exists():
            for second in range(1, 60, 2):
                folder = tmp_path / f"again-{number}-{second}"
                shutil.copytree(tmp_path / "at", folder)
                if not killed_at(second, lambda folder=folder: finish_commit(folder)):
                    break
                finish_commit(folder)
                assert contents(folder) == new
                found += 1
        shutil.rmtree(tmp_path / "at", ignore_errors=True)
        shutil.copytree(tmp_path / "old", tmp_path / "at")
    assert found > 20


def test_a_new_folder_is_there_or_not(tmp_path: Path, old_and_new: tuple) -> None:
    number = 0
    while killed_at(number := number + 1, lambda: write(tmp_path / f"deep-{number}" / "out", NEW)):
        folder = tmp_path / f"deep-{number}" / "out"
        finish_commit(folder)
        found = contents(folder) if folder.exists() else {}
        assert not found or len(found) == len(NEW)
        write(folder, NEW)
        assert contents(folder).keys() == NEW.keys()


# ---- results -----------------------------------------------------------------------------------------------------


def evaluated(seed: int) -> tv.Result:
    pairs = [(u, (u * 7 + j * j * seed) % 23) for u in range(30) for j in range(6)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row").unique()
    return tv.evaluate(tv.split(log, "holdout", seed=seed), ["popularity", "random"], metrics="ndcg@5", seed=seed)


def value(folder: Path) -> float:
    return load_result(folder).systems["popularity"].estimates["ndcg@5"].value


def test_readers_of_results_see_one_of_them(tmp_path: Path) -> None:
    for seed in (1, 2):
        evaluated(seed).save(tmp_path / f"{seed}")
    values = [value(tmp_path / f"{seed}") for seed in (1, 2)]
    assert values[0] != values[1]
    new = contents(tmp_path / "2")

    def replace(folder: Path) -> None:
        write(folder, new)  # as bytes: the threads of polars do not survive a fork

    number = 0
    killed = True
    while killed:
        number += 1
        folder = tmp_path / "out"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "1", folder)
        killed = killed_at(number, lambda folder=folder: replace(folder))
        found = values.index(value(folder))
        assert (folder / SUMMARY).read_bytes() == (tmp_path / f"{found + 1}" / SUMMARY).read_bytes()
        assert (folder / TABLE).read_bytes() == (tmp_path / f"{found + 1}" / TABLE).read_bytes()
    assert found == 1


def test_results_of_folds_are_replaced_together(tmp_path: Path) -> None:
    pairs = [(u, (u * 7 + j * j) % 23) for u in range(30) for j in range(6)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    for folds in (3, 2):
        found = tv.evaluate(tv.split(log, "kfold", n=folds), ["popularity", "random"], metrics="ndcg@5")
        found.save(tmp_path / f"{folds}")
        found.save(tmp_path / f"{folds}")
        assert len(list((tmp_path / f"{folds}").iterdir())) == folds
    before = contents(tmp_path / "3")
    with pytest.raises(TruevalError, match="other folds"):
        found.save(tmp_path / "3")
    assert contents(tmp_path / "3") == before


# ---- what strangers write ----------------------------------------------------------------------------------------


def test_lists_of_strangers_move_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    write(tmp_path / "out", NEW)
    (tmp_path / "out" / MANIFEST).write_text('{"files": ["../mine.txt", "/etc/hostname", "a.txt"]}')
    write(tmp_path / "out", {"a.txt": b"3", MANIFEST: b""})
    assert (tmp_path / "mine.txt").read_text() == "mine"
    committed = tmp_path / "out" / COMMITTED
    for text in ('{"in": [], "out": ["../mine.txt"]}', '{"in": ["../../x"], "out": []}', "no json", "[]", '{"in": 3}'):
        committed.mkdir(exist_ok=True)
        (committed / "moves.json").write_text(text)
        with pytest.raises(TruevalError, match="damaged"):
            finish_commit(tmp_path / "out")
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_may_not_write_is_told_why_nothing_can_be_read(tmp_path: Path, old_and_new: tuple) -> None:
    for folder in (tmp_path, *tmp_path.parents):  # the other user must get here; pytest's folders are private
        if folder.name.startswith(("pytest-", "popen-", "test_")):
            folder.chmod(0o755)
    number = 0
    while not (tmp_path / "at" / COMMITTED).exists():
        shutil.rmtree(tmp_path / "at", ignore_errors=True)
        shutil.copytree(tmp_path / "old", tmp_path / "at")
        assert killed_at(number := number + 1, lambda: write(tmp_path / "at", NEW))
    (tmp_path / "at" / COMMITTED).chmod(0o755)

    def read() -> None:
        os.setuid(65534)
        with pytest.raises(TruevalError, match="being replaced when a process was stopped"):
            finish_commit(tmp_path / "at")

    assert not killed_at(10**6, read)
    finish_commit(tmp_path / "at")
    assert contents(tmp_path / "at") == old_and_new[1]
