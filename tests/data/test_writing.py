"""Files are written whole or not at all, wherever they are written to and whatever fails."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest

from trueval.data import writing
from trueval.data.writing import exchange, whole_folder, write_whole
from trueval.errors import OutputError

WRITERS = {
    "text": lambda path: path.write_text("x" * 100_000),
    "parquet": lambda path: pl.DataFrame({"a": range(100_000)}).write_parquet(path),
    "csv": lambda path: pl.DataFrame({"a": range(100_000)}).write_csv(path),
    "ndjson": lambda path: pl.DataFrame({"a": range(100_000)}).write_ndjson(path),
}
# A limit on the size of files does what a full disk does; it cannot be taken back, so it is set in a process apart.
LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_writing import WRITERS
from trueval.data.writing import whole_folder, write_whole
from trueval.errors import OutputError
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
place = Path(sys.argv[1])
for name, write in WRITERS.items():
    try:
        write_whole(place / "old.txt", write)
    except OutputError as error:
        print(name, error.found)
    try:
        with whole_folder(place / "folder", what="not written", do="make room") as new:
            write(new / "a")
    except OutputError as error:
        print(name, error.found)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of resources")
def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("old")
    code = LIMITED.format(tests=str(Path(__file__).parent))
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout.splitlines() == [f"{name} File too large" for name in WRITERS for _ in range(2)], ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old.txt"]
    assert (tmp_path / "old.txt").read_text() == (tmp_path / "folder" / "a").read_text() == "old"


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("x")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, problem: BaseException) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise problem

    (tmp_path / "a.csv").write_text("old")
    with pytest.raises((OutputError, KeyboardInterrupt, ValueError)):
        write_whole(tmp_path / "a.csv", fail)
    new_folder = whole_folder(tmp_path / "deep" / "folder", what="not written", do="")
    with pytest.raises((OutputError, KeyboardInterrupt, ValueError)), new_folder as new:
        fail(new / "a")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.csv", "a")
        (tmp_path / "old.csv").write_text("old")
        for mode in (0o600, 0o664, 0o444):
            os.chmod(tmp_path / "old.csv", mode)
            write_whole(tmp_path / "old.csv", "new")
            assert stat.S_IMODE((tmp_path / "old.csv").stat().st_mode) == mode
        with whole_folder(tmp_path / "folder", what="", do="") as new:
            (new / "a").write_text("")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert (modes["new.csv"], modes["folder"], modes["a"]) == (0o640, 0o750, 0o640)


def test_links_are_written_through(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "link.csv").symlink_to("inner/real.csv")  # which is not there yet
    for text in ("one", "two"):
        write_whole(tmp_path / "link.csv", text)
        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "inner" / "real.csv").read_text() == text
    (tmp_path / "lost.csv").symlink_to("nowhere/real.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for name in ("lost.csv", "loop.csv"):
        with pytest.raises(OutputError):
            write_whole(tmp_path / name, "x")
        assert (tmp_path / name).is_symlink()
    (tmp_path / "folder").symlink_to("inner")
    with whole_folder(tmp_path / "folder", what="", do="") as new:
        (new / "b").write_text("")
    assert (tmp_path / "folder").is_symlink()
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["b"]


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "stdout.csv").symlink_to("/dev/stdout")
    reasons = {
        tmp_path / "pipe.csv": "not a regular file",
        tmp_path / "folder.csv": "it is a folder",
        tmp_path / "stdout.csv": "not a regular file|an open stream",
        Path("/dev/null"): "not a regular file",
        Path("/dev/full"): "not a regular file",
        Path("/dev/fd/77"): "an open stream",
        tmp_path / "gone" / "a.csv": "No such file",
        tmp_path / ("x" * 300): "too long",
        tmp_path / "a\0b.csv": "NUL",
        tmp_path / "pipe.csv" / "a.csv": "Not a directory",
    }
    for path, reason in reasons.items():
        with pytest.raises(OutputError, match=reason):
            write_whole(path, "x")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["x" * 255, "a." + "x" * 200, "new\nline.csv", " ", "-", "é" * 120 + ".csv"])
def test_every_name_that_the_system_takes(tmp_path: Path, name: str) -> None:
    write_whole(tmp_path / name, "x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_path_that_is_no_valid_text_can_be_in_a_report(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", '"recs-\udcff.csv"')
    assert (tmp_path / "a.json").read_text() == '"recs-\\udcff.csv"'


@pytest.mark.skipif(os.geteuid() != 0 or not hasattr(os, "fork"), reason="only root can become somebody else")
def test_a_folder_that_may_not_be_written() -> None:
    # not below pytest's own folder: another run that starts meanwhile closes that to others again
    with tempfile.TemporaryDirectory() as folder:
        _may_not_be_written(Path(folder))


def _may_not_be_written(folder: Path) -> None:
    code = f"""
import os, trueval.data.writing as w, trueval.report.files as f
from pathlib import Path
from trueval.errors import OutputError
os.setuid(65534)
place = Path({str(folder)!r})
for do in (lambda: w.write_whole(place / "a.csv", "x"), lambda: f.check_writable(place / "a.csv"),
           lambda: f.check_writable(place / "mine.csv")):
    try:
        do()
    except OutputError as error:
        print(error.found)
"""
    folder.chmod(0o755)
    (folder / "mine.csv").write_text("mine")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if "ModuleNotFoundError" in ran.stderr:
        pytest.skip("others may not read the source")
    assert "Permission denied" in ran.stdout, ran.stderr
    assert ran.stdout.count("is not a folder that can be written") >= 1


def test_folders_are_exchanged_where_the_system_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for can in (True, False):
        if not can:
            monkeypatch.setattr(writing, "exchange", lambda one, other: False)
        for text in ("one", "two"):
            with whole_folder(tmp_path / "out", what="", do="") as new:
                (new / "a").write_text(text)
            assert (tmp_path / "out" / "a").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform != "linux", reason="known to work on Linux")
def test_exchange(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "inside").write_text("")
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot exchange")
    assert (tmp_path / "a" / "inside").exists()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "a", tmp_path / "none")
