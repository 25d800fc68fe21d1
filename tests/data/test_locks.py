"""One writer at a time in a folder: whatever happens to it, the next one is not held up for ever."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from trueval.data import locks
from trueval.data.locks import LOCK, locked
from trueval.errors import OutputError

HOLDER = """
import sys
from pathlib import Path
from trueval.data.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds tmp_path/out."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "out")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_another_process_is_named(tmp_path: Path, holder: subprocess.Popen) -> None:
    with pytest.raises(OutputError, match=f"process {holder.pid} on {socket.gethostname()}"), locked(tmp_path / "out"):
        pass
    holder.communicate("")
    assert not (tmp_path / "out").exists()  # it was made for the lock, and nothing was written
    with locked(tmp_path / "out"):
        (tmp_path / "out" / "a.txt").write_text("")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


def test_a_killed_holder_holds_nobody_up(tmp_path: Path, holder: subprocess.Popen) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "out" / LOCK).exists()
    with locked(tmp_path / "out"):
        assert json.loads((tmp_path / "out" / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / "out" / LOCK).exists()


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), OSError("x"), SystemExit(3)])
def test_the_lock_ends_with_the_block(tmp_path: Path, problem: BaseException) -> None:
    for _ in range(2):
        with pytest.raises(type(problem)), locked(tmp_path / "deep" / "out"):
            raise problem
        assert not (tmp_path / "deep").exists()


def test_the_same_thread_may_ask_again_and_another_may_not(tmp_path: Path) -> None:
    refused = []

    def other() -> None:
        try:
            with locked(tmp_path):
                pass
        except OutputError as error:
            refused.append(str(error))

    with locked(tmp_path), locked(tmp_path / "." / "x" / ".."):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(refused) == 1
    other()
    assert len(refused) == 1


def told(**changed: object) -> str:
    own = {"process": os.getpid(), "host": socket.gethostname(), "started": "1"}
    return json.dumps({**own, **changed})


def test_a_process_of_another_machine_is_left_to_people(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(told(host="elsewhere"))
    with pytest.raises(OutputError, match=rf"(?s)on elsewhere.*remove .*{LOCK}"), locked(tmp_path):
        pass
    assert (tmp_path / LOCK).exists()


@pytest.mark.parametrize(
    "content",
    ["", "no json", "[]", told(), told(process=2**22 + 1)],
    ids=["empty", "no json", "a list", "this process", "another process"],
)
def test_what_a_lock_file_says_does_not_lock(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK).write_text(content)
    with locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(OutputError), locked(tmp_path / "out"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


class TestWithoutLocksOfTheFileSystem:
    @pytest.fixture(autouse=True)
    def no_locks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*arguments: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(locks.fcntl, "flock", refuse)

    def test_the_file_is_the_lock(self, tmp_path: Path) -> None:
        with locked(tmp_path):
            assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()
        assert not list(tmp_path.iterdir())

    def test_a_running_process_has_it(self, tmp_path: Path, holder: subprocess.Popen) -> None:
        with pytest.raises(OutputError, match=f"process {holder.pid}"), locked(tmp_path / "out"):
            pass
        holder.kill()
        holder.wait()
        with locked(tmp_path / "out"):
            pass

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say when a process started")
    def test_a_number_that_another_process_has_now(self, tmp_path: Path) -> None:
        (tmp_path / LOCK).write_text(told(process=os.getppid()))
        with locked(tmp_path):
            assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


def test_names_that_no_folder_can_have(tmp_path: Path) -> None:
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(OutputError, match="could not be written"), locked(tmp_path / name):
            pass
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="could not be written"), locked(tmp_path / "file" / "below"):
        pass
