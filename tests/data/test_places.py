"""Inputs that are no files: addresses, pipes, devices, links to nothing, and names that look like something else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from trueval.calibration.calibrator import Calibrator
from trueval.data.places import usable_path
from trueval.data.read import locate, read
from trueval.data.run_tables import read_run
from trueval.data.tables import _MANY_OTHERS, parquet_parts
from trueval.errors import DataError
from trueval.experiments.experiment_file import read_written
from trueval.facts.files import load_facts
from trueval.report.saved_results import load_results

LOG = pl.DataFrame({"user": [1, 2], "item": [3, 4], "value": [1, 2]})
WRITERS = {".csv": LOG.write_csv, ".parquet": LOG.write_parquet, ".jsonl": LOG.write_ndjson}
OPENERS = {
    "log": read,
    "run": read_run,
    "experiment": read_written,
    "result": load_results,
    "calibrator": Calibrator.load,
}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", ["*", "[x]", "a?b", "~x", "-x", "%20", "a b", "é", "s3:", "a,b", "{a}"])
def test_odd_names_are_read_as_they_are(name, suffix, tmp_path, monkeypatch):
    """Also in folders that are called so; a pattern would find the other file as well, or nothing."""
    monkeypatch.chdir(tmp_path)
    for place in (Path(), Path(f"{name}.folder")):
        place.mkdir(exist_ok=True)
        for other in (name, "axb", "x"):
            WRITERS[suffix](place / f"{other}{suffix}")
        assert len(read(place / f"{name}{suffix}")) == len(LOG)
    assert len(read(f"{name}{suffix}")) == len(LOG)


@pytest.mark.parametrize("address", ["s3://x/y.csv", "http://127.0.0.1:9/x.csv", "gs://a", "file:///etc/passwd"])
@pytest.mark.parametrize("opener", ["log", "run", "experiment", "result"])
def test_addresses_are_refused(address, opener):
    with pytest.raises(DataError, match="this is an address"):
        OPENERS[opener](address)


@pytest.mark.parametrize("opener", OPENERS)
def test_pipes_and_devices_are_refused(opener, tmp_path):
    os.mkfifo(tmp_path / "pipe.parquet")
    for special in (tmp_path / "pipe.parquet", Path(os.devnull)):
        with pytest.raises(DataError, match=r"this is not a file|a result is a folder or"):
            OPENERS[opener](special)


def test_a_folder_of_facts_may_not_hold_pipes(tmp_path):
    os.mkfifo(tmp_path / "facts.json")
    with pytest.raises(DataError, match="this is not a file"):
        load_facts(tmp_path)


@pytest.mark.parametrize("opener", OPENERS)
def test_names_that_no_machine_has(opener, tmp_path):
    for name in ("a" * 300 + ".parquet", "a\0b.parquet", os.fsdecode(b"\xff.parquet")):
        with pytest.raises(DataError):
            OPENERS[opener](str(tmp_path / name))


def test_links_to_nothing_say_so(tmp_path):
    for name, target in (("dangling.csv", "nowhere.csv"), ("loop.csv", "loop.csv")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(DataError, match=f"a link to {target}, which is not there") as caught:
            read(tmp_path / name)
        assert f"did you mean {name}" not in str(caught.value)


def test_a_link_to_a_table_is_read(tmp_path):
    LOG.write_csv(tmp_path / "log.csv")
    (tmp_path / "link.csv").symlink_to("log.csv")
    assert len(read(tmp_path / "link.csv")) == len(LOG)


def test_homes_of_nobody_are_names_of_files():
    assert usable_path("~no such person/x.csv") == Path("~no such person/x.csv")
    assert usable_path("~/x.csv") == Path.home() / "x.csv"


@pytest.mark.parametrize("what", ["file", "folder", "inside"])
def test_without_permission(what, tmp_path):
    """In another process, which gives up the rights of root where it has them."""
    folder = tmp_path / "folder"
    folder.mkdir()
    LOG.write_csv(folder / "log.csv")
    (folder / "log.csv" if what == "file" else folder).chmod(0)
    target = folder if what == "folder" else folder / "log.csv"
    code = f"""
import os, sys
import trueval.data.read as r
from trueval.errors import DataError
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    r.read({str(target)!r})
except DataError as error:
    sys.exit(f"refused: {{error}}")
"""
    for parent in tmp_path.parents:
        if parent.owner() == tmp_path.owner() and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o111)
    tmp_path.chmod(0o755)
    try:
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert "refused" in ended.stderr
    assert "ermission" in ended.stderr


def test_a_folder_of_other_things_is_not_searched_to_its_end(tmp_path, monkeypatch):
    found = [(str(tmp_path / str(n)), [], [f"{i}.txt" for i in range(1000)]) for n in range(10**6 // 1000)]
    seen = []
    monkeypatch.setattr("os.walk", lambda _: (seen.append(one) or one for one in found))
    with pytest.raises(DataError, match="too many other files"):
        parquet_parts(tmp_path)
    assert len(seen) <= _MANY_OTHERS // 1000 + 1


def test_parts_are_found_in_order_without_those_of_the_engine(tmp_path):
    names = ["b/2.parquet", "a/1.parquet", "_temporary/0.parquet", ".hidden.parquet", "a/_x.parquet", "a/note.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.relative_to(tmp_path).as_posix() for path in parquet_parts(tmp_path)] == ["a/1.parquet", "b/2.parquet"]


def test_a_data_set_of_the_data_home_is_still_found(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path))
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir("/")
    assert locate("mine") == tmp_path / "mine"
