"""The key of the ids that a panel puts into the address: private, one for all processes, and deletable."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from study_sites import make_site, write_study
from visitors import Visitor

from trueval.study.definition import read_study
from trueval.study.identities import ids_key, key_file

testclient = pytest.importorskip("starlette.testclient", reason="needs the extra study")


@pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
def test_the_key_of_outside_ids_is_private_and_can_be_deleted(tmp_path: Path) -> None:
    from trueval.study.app import make_app

    site = make_site(tmp_path, outside={"ids": ["PID"]})
    Visitor(testclient.TestClient(make_app(site), base_url="http://study")).begin("?PID=somebody")
    path = key_file(site.study)
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()
    stored = (tmp_path / "study.sqlite").read_bytes() + (tmp_path / "study.sqlite-wal").read_bytes()
    assert b"somebody" not in stored
    assert site.ids_key is not None
    assert site.ids_key.encode() not in stored


def test_processes_that_start_together_have_one_key_of_outside_ids(tmp_path: Path) -> None:
    """A worker that read the file of another one half written would give the same person another place."""
    study = read_study(write_study(tmp_path, outside={"ids": ["PID"]}))
    before = {path.name for path in tmp_path.iterdir()}
    for _ in range(20):
        gate = threading.Barrier(8)

        def one(_: int, gate: threading.Barrier = gate) -> str | None:
            gate.wait()
            return ids_key(study, make=True)

        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(one, range(8)))
        assert len(keys) == 1
        assert all(keys)
        assert {path.name for path in tmp_path.iterdir()} - before == {"study.ids-key"}
        key_file(study).unlink()
