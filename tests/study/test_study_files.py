"""The file of answers alone: complete after every way in which a command ends, private, and copied while it is used."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from small_studies import settings
from study_sites import LIMIT, Process, free_port, served, write_study
from visitors import Visitor

from trueval.errors import TruevalError
from trueval.study.backup import back_up
from trueval.study.database import connect, reading, sqlite_file
from trueval.study.definition import Study, read_study
from trueval.study.export import export_tables
from trueval.study.site import Site
from trueval.study.storage import Storage

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn", reason="needs the extra study")
Run = Callable[..., Any]


def _alone(study: Path, folder: Path, file: str = "study.sqlite") -> dict[str, Any]:
    """What the answers are to somebody who copies the file without those beside it."""
    folder.mkdir(exist_ok=True)
    shutil.copy(study.parent / file, folder / "copy.sqlite")
    return export_tables(read_study(study), f"sqlite:///{folder / 'copy.sqlite'}")


def _beside(study: Path) -> list[str]:
    return sorted(path.name for path in study.parent.iterdir() if path.name.endswith(("-wal", "-shm", "-journal")))


def _take_part(address: str, people: int = 2) -> None:
    for _ in range(people):
        with httpx.Client(base_url=address, timeout=LIMIT) as client:
            assert "Thank you" in Visitor(client).begin().rate(3).finish("fine").page.text


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_file_alone_has_all_answers_after_the_server_ended(
    way: signal.Signals, workers: int, tmp_path: Path
) -> None:
    if workers == 2 and way == signal.SIGKILL:
        pytest.skip("kills the process that minds the workers, not these")
    study = write_study(tmp_path, "pair")
    server = Process(study, free_port(), "--workers", str(workers))
    _take_part(server.address)
    server.running.send_signal(way)
    server.running.communicate(timeout=LIMIT)
    assert server.running.returncode == (-way if way == signal.SIGKILL else 0)
    answers = _alone(study, tmp_path / "elsewhere")
    assert answers["participants"]["finished"].null_count() == 0
    assert len(answers["participants"]) == 2
    assert len(answers["pairs"]) == 6
    if way != signal.SIGKILL:
        assert _beside(study) == []


def test_an_error_while_the_study_is_opened_closes_the_database(tmp_path: Path) -> None:
    study = write_study(tmp_path, systems={"popularity": {}, "ours": {"run": "none.csv"}})
    (tmp_path / "none.csv").write_text("user,item,score\n")
    with pytest.raises(TruevalError):
        Site.open(read_study(study))
    assert _beside(study) == []


def test_simulated_people_are_all_in_the_file(trueval: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    assert trueval("study", "simulate", study, "--participants", "12", "--quiet").code == 0
    assert _beside(study) == []
    assert len(_alone(study, tmp_path / "elsewhere", "study-simulated.sqlite")["participants"]) == 12
    refused = trueval("study", "simulate", study, "--participants", "1", "--database",
                      f"sqlite:///{tmp_path}/../{tmp_path.name}/study.sqlite")  # fmt: skip
    assert refused.code == 2
    assert "must not be mixed" in refused.err


def test_a_simulation_that_is_stopped_closes_its_database(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    command = [sys.executable, "-m", "trueval", "study", "simulate", str(study), "--participants", "100000"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    file, ready = tmp_path / "study-simulated.sqlite", threading.Event()
    try:
        while not ready.wait(0.05):
            assert running.poll() is None
            if file.exists() and _people(file) > 3:
                ready.set()
        running.terminate()
        running.communicate(timeout=LIMIT)
    finally:
        running.kill()
    assert running.returncode == 143
    assert _beside(study) == []
    assert len(_alone(study, tmp_path / "elsewhere", file.name)["participants"]) > 3


def _people(file: Path) -> int:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=LIMIT)) as answers:
        try:
            return answers.execute("SELECT count(*) FROM participants").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def test_reading_commands_refuse_what_is_no_study(trueval: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    empty, blank, other, text = (tmp_path / f"{name}.sqlite" for name in ("empty", "blank", "other", "text"))
    empty.touch()
    with closing(sqlite3.connect(blank)) as made:  # as a file is whose tables are still in the log beside it
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("PRAGMA user_version=1")
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE participants (id TEXT)")
    text.write_text("no database at all, but long enough to have a header " * 50)
    for file in (empty, blank, other, text, tmp_path / "absent.sqlite", tmp_path):
        before = file.read_bytes() if file.is_file() else None
        for command in (["export", "-o", tmp_path / "out"], ["analyse"], ["backup", "-o", tmp_path / "out.sqlite"]):
            refused = trueval("study", command[0], study, *command[1:], "--database", f"sqlite:///{file}")
            assert refused.code == 2, (file, command)
        assert before == (file.read_bytes() if file.is_file() else None)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.sqlite").exists()
    assert not (tmp_path / "absent.sqlite").exists()


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file:x?mode=memory"])
def test_a_database_in_memory_is_refused(address: str, trueval: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    for command in (["export", "-o", tmp_path / "out"], ["analyse"], ["backup", "-o", tmp_path / "out.sqlite"],
                    ["simulate", "--participants", "1"], ["serve", "--port", free_port()]):  # fmt: skip
        refused = trueval("study", command[0], study, *command[1:], "--database", address)
        assert refused.code == 2, command
        assert "must be a file" in refused.err
    assert sqlite_file("postgresql://study@db/study") is None


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_answers_and_copies_are_private(tmp_path: Path) -> None:
    study, before = _study(tmp_path), os.umask(0o000)
    try:
        storage = Storage.open(study)
        storage.enrol()
        back_up(study, tmp_path / "copy.sqlite")
    finally:
        os.umask(before)
    files = [path for path in tmp_path.iterdir() if ".sqlite" in path.name]
    assert len(files) == 4  # two databases, and what is beside the open one
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    storage.close()


def _study(folder: Path, **sections: Any) -> Study:
    return read_study(write_study(folder, **sections))


def test_a_copy_of_a_study_that_is_served_is_complete(trueval: Run, tmp_path: Path) -> None:
    path = write_study(tmp_path, "pair")
    site = Site.open(read_study(path))
    with served(site) as address:
        _take_part(address, 2)
        copied = trueval("study", "backup", path, "-o", tmp_path / "copy.sqlite")
        assert copied.code == 0
        assert "2 participants" in copied.err
        _take_part(address, 1)
    # what the server still holds open does not matter to the copy
    copy = export_tables(read_study(path), f"sqlite:///{tmp_path / 'copy.sqlite'}")
    assert len(copy["participants"]) == 2
    assert len(copy["pairs"]) == 6
    assert not list(tmp_path.glob("copy.sqlite?*"))


def test_copies_made_between_writes_are_each_one_moment(tmp_path: Path) -> None:
    """Participants and the counter of them are written together, and a copy has both or neither."""
    study = _study(tmp_path, ratings={"least": 0})
    storage, stop, problems = Storage.open(study), threading.Event(), []
    storage.enrol()

    def write() -> None:
        try:
            while not stop.is_set():
                storage.enrol()
        except BaseException as problem:
            problems.append(problem)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    try:
        for turn in range(5):
            copy = tmp_path / f"copy{turn}.sqlite"
            people = back_up(study, copy)
            with closing(sqlite3.connect(copy)) as made:
                counter = made.execute("SELECT value FROM counters WHERE name = 'enrolled'").fetchone()[0]
            assert people == counter
            seen.append(people)
    finally:
        stop.set()
        writer.join()
        storage.close()
    assert not problems
    assert seen == sorted(seen)


def test_a_copy_never_replaces_a_database_in_use(trueval: Run, tmp_path: Path) -> None:
    study = write_study(tmp_path)
    storage = Storage.open(read_study(study))
    storage.enrol()
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "study.sqlite")
    other = Storage.open(read_study(settings()), f"sqlite:///{tmp_path / 'other.sqlite'}")
    other.enrol()
    for name in ("study.sqlite", "link.sqlite", "other.sqlite", "no/such/folder.sqlite"):
        assert trueval("study", "backup", study, "-o", tmp_path / name).code == 2
    assert trueval("study", "backup", study, "-o", "x", "--database", "postgresql://study@db/study").code == 2
    assert len(export_tables(storage)["participants"]) == len(export_tables(other)["participants"]) == 1
    for one in (storage, other):
        one.close()


def test_an_engine_that_reads_changes_no_file(tmp_path: Path) -> None:
    storage = Storage.open(_study(tmp_path))
    storage.enrol()
    storage.close()
    before = (tmp_path / "study.sqlite").read_bytes()
    engine = connect(f"sqlite:///{tmp_path / 'study.sqlite'}", make=False)
    with reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM participants").scalar_one() == 1
    engine.dispose()
    assert (tmp_path / "study.sqlite").read_bytes() == before
