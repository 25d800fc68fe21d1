"""Compiled kernels are read from files that nobody else can have written, and from no others."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_worker import evaluate

from trueval.kernels import cache_folder, use_kernels
from trueval.kernels.kernel_cache import _Files
from trueval.kernels.sealed_files import DIGEST, digest, source_stamp
from trueval.kernels.trusted_paths import distrust

WORKER = Path(__file__).with_name("kernel_worker.py")
FAMILY = "neighbours"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
SOMEBODY = 54321


class Planted:
    """What runs a command when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def work(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    surroundings.pop("TRUEVAL_KERNELS", None)
    return subprocess.run([sys.executable, str(WORKER), FAMILY], env=surroundings, capture_output=True, text=True)


def plant(folder: Path, marker: Path) -> list[Path]:
    """Put a stranger's code into all compiled files; their digests are right, for everybody can compute them."""
    paths = list(folder.rglob("*.kernel"))
    body = pickle.dumps(Planted(marker))
    for path in paths:
        path.write_bytes(digest(body, source_stamp()) + body)
    assert paths
    return paths


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with all that the family needs."""
    folder = tmp_path_factory.mktemp("filled") / "cache"
    done = work(folder)
    assert done.returncode == 0, done.stderr
    return folder


def planted(filled: Path, tmp_path: Path, change) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Plant code into a cache and change its permissions; what a process then does, and whether the code ran."""
    folder, marker = tmp_path / "cache", tmp_path / "ran"
    shutil.copytree(filled, folder)
    change(folder, plant(folder, marker))
    return work(folder, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "own")), marker.exists()


def test_the_planted_code_would_run_where_all_is_trusted(filled, tmp_path):
    """Else the tests below would show nothing."""
    assert planted(filled, tmp_path, lambda folder, paths: None)[1]


def give(path: Path) -> None:
    os.chown(path, SOMEBODY, SOMEBODY)


CHANGES = {
    "the folder is open to all": lambda folder, paths: folder.chmod(0o777),
    "the inner folder is open to the group": lambda folder, paths: paths[0].parent.chmod(0o770),
    "files are open to all": lambda folder, paths: [path.chmod(0o666) for path in paths],
    "files are links": lambda folder, paths: [
        (path.rename(path.with_suffix(".other")), path.symlink_to(path.with_suffix(".other"))) for path in paths
    ],
}
GIFTS = {
    "the folder belongs to somebody": lambda folder, paths: give(folder),
    "the inner folder belongs to somebody": lambda folder, paths: give(paths[0].parent),
    "files belong to somebody": lambda folder, paths: [give(path) for path in paths],
}


@pytest.mark.parametrize("change", [*CHANGES, *(pytest.param(name, marks=as_root) for name in GIFTS)])
def test_planted_code_is_not_run(filled, tmp_path, change):
    done, ran = planted(filled, tmp_path, {**CHANGES, **GIFTS}[change])
    assert not ran
    assert done.returncode == 0, done.stderr
    with use_kernels("plain"):
        assert done.stdout.strip() == evaluate(FAMILY)
    assert done.stderr.count("compiled kernels are not kept in NUMBA_CACHE_DIR") == ("folder" in change)


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Choose a folder as a new process would; sources and home are in `tmp_path`."""
    kept = tmp_path / "home"
    kept.mkdir(mode=0o700)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    monkeypatch.setattr(cache_folder.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(cache_folder, "__file__", str(tmp_path / "sources" / "cache_folder.py"))
    for name, mode in (("sources", 0o755), ("temporary", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    return cache_folder.cache_folder.__wrapped__


def test_folders_in_their_order(anew, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert anew().parent == tmp_path / "chosen"
    (tmp_path / "chosen").chmod(0o777)
    assert anew() == tmp_path / "sources" / "__pycache__"
    assert capsys.readouterr().err.count("not kept in NUMBA_CACHE_DIR") == 1
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert stat.S_IMODE((tmp_path / "sources" / "__pycache__").stat().st_mode) == 0o755
    (tmp_path / "sources").chmod(0o777)
    users = anew()
    assert users.is_relative_to(tmp_path / "home")
    assert stat.S_IMODE(users.stat().st_mode) == 0o700
    (tmp_path / "home").chmod(0o777)
    last = anew()
    assert last.is_relative_to(tmp_path / "temporary")
    assert [stat.S_IMODE(place.stat().st_mode) for place in (last, last.parent)] == [0o700, 0o700]
    assert capsys.readouterr().err == ""
    (tmp_path / "temporary").chmod(0o777)
    assert anew() is None
    assert "compiled kernels are not kept on disk" in capsys.readouterr().err


def test_nothing_is_written_into_a_folder_that_is_open_to_all(anew, tmp_path, monkeypatch):
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen").chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen" / "deeper"))
    anew()
    assert not list((tmp_path / "chosen").iterdir())


@as_root
def test_the_folder_among_temporary_files_that_somebody_made_before_us(anew, tmp_path, capsys):
    for name in ("sources", "home"):
        (tmp_path / name).chmod(0o777)
    first = anew()
    give(first.parent)
    assert anew() is None
    assert "belongs to another user" in capsys.readouterr().err


def test_files_are_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        _Files(str(tmp_path), "family.kernel", b"source").save("int32", "code")
    finally:
        os.umask(before)
    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert len(path.read_bytes()) > DIGEST
    assert _Files(str(tmp_path), "family.kernel", b"source").load("int32") == "code"


def test_links_are_followed_to_where_they_lead(tmp_path):
    safe, open_to_all = tmp_path / "safe", tmp_path / "open"
    for place in (safe / "inner", open_to_all / "inner"):
        place.mkdir(parents=True)
    open_to_all.chmod(0o777)
    (tmp_path / "good").symlink_to("safe")
    (tmp_path / "bad").symlink_to(open_to_all)
    (tmp_path / "round").symlink_to("round")
    (open_to_all / "back").symlink_to("../safe")
    (tmp_path / "through").symlink_to("open/back")
    assert distrust(safe / "inner") == distrust(tmp_path / "good" / "inner") == ""
    assert "symbolic link" in distrust(tmp_path / "good")
    assert "can be written by others" in distrust(tmp_path / "bad" / "inner")
    assert "can be written by others" in distrust(tmp_path / "through" / "inner")
    assert distrust(tmp_path / "round" / "inner")
    (tmp_path / "file").write_text("")
    assert "no folder" in distrust(tmp_path / "file")


def test_without_a_folder_kernels_are_compiled_in_memory():
    code = (
        "from trueval.kernels import cache_folder; cache_folder.cache_folder = lambda: None\n"
        "from trueval.kernels.compiled import load; import numpy as np\n"
        "kernel = load('lists').look_up; out = np.empty(2, np.int32)\n"
        "kernel(np.array([5, 7]), np.int64(5), np.array([0, -1, 1], np.int32), out); print(out.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[0, 1]", 0), done.stderr
