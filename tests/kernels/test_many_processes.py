"""Kernels that many threads and processes need at once: loaded whole, compiled for each type, kept undamaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_worker import USES, evaluate

from trueval.kernels import sealed_files, use_kernels
from trueval.kernels.kernel_cache import _Files

WORKER = Path(__file__).with_name("kernel_worker.py")

# A module is in sys.modules before its first line has run. Here loading takes long, and all threads ask meanwhile.
SLOW_LOADING = """
import importlib.machinery, sys, threading, time
from trueval.kernels import choose
from trueval.kernels.compiled import load

real = importlib.machinery.SourceFileLoader.exec_module
def slow(self, module):
    time.sleep(0.2 if module.__name__.startswith("trueval.kernels.") else 0)
    real(self, module)
importlib.machinery.SourceFileLoader.exec_module = slow

def ask(barrier, family, found):
    barrier.wait()
    for _ in range(20):
        found.append(set(dir(load(family))))
        if family not in ("als", "svdpp"):  # which have no plain form
            found.append(set(dir(choose(family, 0))))
        time.sleep(0.03)

for family in sys.argv[1:]:
    barrier, found = threading.Barrier(8), []
    threads = [threading.Thread(target=ask, args=(barrier, family, found)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(found) == (160 if family in ("als", "svdpp") else 320), f"a thread of {family} failed"
    half = [names for names in found if not set(dir(load(family))) <= names]
    assert not half, f"{len(half)} times half of {family}"
"""


def test_threads_wait_for_kernels_that_are_being_loaded():
    done = subprocess.run([sys.executable, "-c", SLOW_LOADING, *USES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def at_once(families: list[str], folder: Path) -> list[str]:
    """What processes that start together, with one folder for what they compile, find."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    environment.pop("TRUEVAL_KERNELS", None)
    started = [
        subprocess.Popen([sys.executable, str(WORKER), family], env=environment, stdout=-1, stderr=-1, text=True)
        for family in families
    ]
    found = [process.communicate() for process in started]
    assert [error for process, (_, error) in zip(started, found) if process.returncode] == []
    return [out.strip() for out, _ in found]


def kept(folder: Path) -> dict[Path, int]:
    """Compiled files, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def check_family(family: str, processes: int, folder: Path) -> None:
    found = at_once([family] * processes, folder)
    with use_kernels("plain"):
        assert set(found) == {evaluate(family)}
    before = kept(folder)
    assert {path.suffix for path in before} == {".kernel"}
    assert at_once([family], folder) == found[:1]
    assert kept(folder) == before  # what is there is used


def test_processes_that_start_together_find_the_same(tmp_path):
    check_family("neighbours", 6, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("family", USES)
def test_many_processes_of_every_family_find_the_same(tmp_path, family):
    check_family(family, 16, tmp_path)


def files(folder: Path, stamp: bytes = b"source") -> _Files:
    return _Files(str(folder), "family.kernel", stamp)


def test_processes_that_write_at_once_keep_what_each_wrote(tmp_path):
    """Both find nothing, then both write, each for other types: numba's index would give one's code to the other."""
    one, other = files(tmp_path), files(tmp_path)
    assert one.load("int32") is other.load("int64") is None
    one.save("int32", "code for int32")
    other.save("int64", "code for int64")
    for each in (one, other, files(tmp_path)):
        assert (each.load("int32"), each.load("int64")) == ("code for int32", "code for int64")
    one.flush()
    assert other.load("int64") is None


def test_compiled_code_that_is_not_as_it_was_is_compiled_again(tmp_path):
    files(tmp_path).save("int32", list(range(50)))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(bytes(changed))
        assert files(tmp_path).load("int32") is None
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert files(tmp_path).load("int32") is None
    files(tmp_path).save("int32", "anew")
    assert files(tmp_path).load("int32") == "anew"
    assert files(tmp_path, b"another source").load("int32") is None


def test_code_is_that_of_all_sources_and_not_of_its_own_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed_files, "__file__", str(tmp_path / "sealed_files.py"))
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("1")
    first = sealed_files.source_stamp.__wrapped__()
    assert sealed_files.source_stamp.__wrapped__() == first
    (tmp_path / "b.py").write_text("2")
    assert sealed_files.source_stamp.__wrapped__() != first


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path):
    (tmp_path / "gone").write_text("a file, no folder")
    files(tmp_path / "gone").save("int32", "code")
    assert files(tmp_path / "gone").load("int32") is None
