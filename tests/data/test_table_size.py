"""Files that do not fit into memory are refused before they are read, and all others are read as ever."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from trueval import memory
from trueval.data import table_size
from trueval.data.read import read
from trueval.errors import DataError

ROWS = 50_000


@pytest.fixture
def log() -> pl.DataFrame:
    return pl.DataFrame({"user": np.repeat(np.arange(ROWS // 10), 10), "item": np.tile(np.arange(10), ROWS // 10)})


@pytest.fixture
def little(monkeypatch):
    """A machine with a hundred kilobytes left, on which small files count as large."""
    monkeypatch.setattr(memory, "available", lambda: 100_000)
    monkeypatch.setattr(table_size, "available", lambda: 100_000)
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(table_size, "_MANY", 0)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_does_not_fit_is_refused_with_figures(log, ending, tmp_path, little):
    path = tmp_path / f"log.{ending}"
    getattr(log, f"write_{ending}")(path)
    with pytest.raises(DataError, match=r"not enough memory for this table[^$]*MB needed, 0 MB available[^$]*do:"):
        read(path)


def test_of_compressed_text_it_is_only_said(log, tmp_path, little, capsys):
    path = tmp_path / "log.csv.zst"
    log.write_csv(path, compression="zstd")
    assert len(read(path)) == ROWS
    assert "may take" in capsys.readouterr().err


def test_with_room_nothing_changes(log, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table_size, "_MANY", 0)
    log.write_parquet(tmp_path / "log.parquet")
    assert len(read(tmp_path / "log.parquet")) == ROWS
    assert capsys.readouterr().err == ""


def test_the_least_of_machine_groups_and_limits_counts(tmp_path, monkeypatch):
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (groups / "jobs" / "mine").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    (proc / "self" / "cgroup").write_text("0::/jobs/mine\n")
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUPS", groups)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert memory.available() == 8000 * 1024
    (groups / "jobs" / "mine" / "memory.max").write_text("max\n")
    (groups / "jobs" / "mine" / "memory.current").write_text("5000\n")
    assert memory.available() == 8000 * 1024
    (groups / "jobs" / "memory.max").write_text("6000\n")  # a group above limits those below
    (groups / "jobs" / "memory.current").write_text("5500\n")
    (groups / "jobs" / "memory.stat").write_text("anon 1\ninactive_file 100\nactive_file 50\n")
    assert memory.available() == 650
    (proc / "self" / "cgroup").write_text("4:memory:/old\n0::/\n")
    (groups / "memory" / "old").mkdir(parents=True)
    (groups / "memory" / "old" / "memory.limit_in_bytes").write_text("4000\n")
    (groups / "memory" / "old" / "memory.usage_in_bytes").write_text("3000\n")
    assert memory.available() == 1000
    (proc / "self" / "status").write_text("VmSize: 3 kB\nVmData:\t 2 kB\n")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2500 if which == resource.RLIMIT_DATA else -1, -1))
    assert memory.available() == 2500 - 2048


def test_nothing_is_known_where_the_system_does_not_say(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    assert memory.available() is None
    memory.need_memory(1e30, "anything", do="nothing")


def test_too_low_a_limit_of_addresses_is_refused_before_libraries_are_loaded():
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9));"
        "sys.argv = ['trueval', 'data', 'list']; from trueval.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ.copy())
    assert done.returncode == 2
    assert "ulimit -v" in done.stderr
