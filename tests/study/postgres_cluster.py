"""A PostgreSQL of our own for the tests: a cluster in a temporary folder, on a free port, stopped by its folder."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl, of the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def cluster() -> Iterator[Callable[[], str]]:
    """Start a server; yields a function that makes a database and returns its address."""
    programs = _programs()
    pytest.importorskip("psycopg", reason="no psycopg: pip install '.[test]'")
    if programs is None:
        pytest.skip("no PostgreSQL (Debian, Ubuntu: apt-get install postgresql)")
    if os.name != "posix" or (os.getuid() == 0 and not _known("postgres")):
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    place = Path(tempfile.mkdtemp(prefix="trueval-postgres-"))
    owner = _as_owner(place)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(*command: object) -> None:
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120, **owner)

    options = f"-h 127.0.0.1 -p {port} -k {place} -c shared_buffers=16MB -c max_connections=150"
    try:
        run(programs / "initdb", "-D", place / "data", "-U", "study", "-A", "trust", "-E", "UTF8", "--no-sync")
        run(programs / "pg_ctl", "-D", place / "data", "-w", "-l", place / "log", "-o", options, "start")
        try:
            names = (f"study{number}" for number in itertools.count())

            def new_database() -> str:
                name = next(names)
                run(programs / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "study", name)
                return f"postgresql://study@127.0.0.1:{port}/{name}"

            yield new_database
        finally:
            run(programs / "pg_ctl", "-D", place / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _as_owner(place: Path) -> dict[str, object]:
    """PostgreSQL refuses to run as root: then the folder belongs to Debian's user for it, who runs it."""
    if os.getuid() != 0:
        return {"cwd": place}
    person = pwd.getpwnam("postgres")
    os.chown(place, person.pw_uid, person.pw_gid)
    return {"cwd": place, "user": person.pw_uid, "group": person.pw_gid}
