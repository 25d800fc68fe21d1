"""The connection to a study's database: SQLite beside the study file, or PostgreSQL by its address.

A transaction that writes takes SQLite's lock when it begins: nothing it has read can change before it writes.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from trueval.errors import DataError, TruevalError
from trueval.study.definition import Study

BUSY = 5.0  # seconds that a write waits for one of another process before people are told
TERMINATED = 128 + signal.SIGTERM  # exit code of a command that was asked to stop, as shells report it
TURN = 20.0  # and for those of its own process, which are known to go on

# SQLite lets one write at a time, and those that wait ask again and again, in no order: under load some never get their
# turn. Writes of one process wait here instead.
_TURNS: WeakKeyDictionary[Engine, threading.Lock] = WeakKeyDictionary()

# Engines that are closed when the process ends, whatever ended it: SQLite then moves what is in its log (-wal) into the
# file itself, which somebody may copy alone.
_OPEN: WeakSet[Engine] = WeakSet()


class NotSaved(TruevalError):
    """What was sent could not be stored; whoever sent it must be told, and may try again."""


def address_of(study: Study, url: str | None = None) -> str:
    """The database's address: the one given, else an SQLite file beside the study file."""
    return url or f"sqlite:///{study.folder / study.name}.sqlite"


def sqlite_file(address: str) -> Path | None:
    """The file of an SQLite database; None for another kind of database.

    >>> sqlite_file("sqlite:///answers.sqlite"), sqlite_file("postgresql://study@db/study")
    (PosixPath('answers.sqlite'), None)
    """
    url = _parsed(address)
    if url.get_backend_name() != "sqlite":
        return None
    if url.database in (None, "", ":memory:") or url.query or str(url.database).startswith("file:"):
        raise DataError(
            "an SQLite database must be a file", where="--database", found=address,
            do="write sqlite:///FILE: what is in memory alone is lost when the command ends",
        )  # fmt: skip
    return Path(str(url.database))


def check_there(study: Study, url: str | None = None) -> None:
    """Refuse an SQLite database that is not there: reading it would make an empty one."""
    file = sqlite_file(address_of(study, url))
    if file is None or (file.is_file() and file.stat().st_size):
        return
    raise DataError(
        "the study has no answers yet", where=study.written.name,
        found=f"{file.name} is {'an empty file' if file.is_file() else 'no file'}" if file.exists()
        else f"no file {file.name}",
        do="trueval study serve first; or name another database (--database)",
    )  # fmt: skip


def connect(url: str, *, busy: float = BUSY, make: bool = True) -> Engine:
    """An engine for SQLite (WAL, every commit on the disk) or PostgreSQL; `make` prepares a new SQLite file."""
    file = sqlite_file(url)
    try:
        if file is not None:
            if make:
                _make_private(file)
            engine = create_engine(
                _parsed(url), connect_args={"timeout": busy}, pool_size=20, max_overflow=30, pool_timeout=busy
            )
            event.listen(engine, "connect", _prepare if make else _prepare_reading)
            event.listen(engine, "begin", _begin)
            _TURNS[engine] = threading.Lock()
        else:
            engine = create_engine(_parsed(url), pool_size=20, max_overflow=20, pool_timeout=busy, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError, ImportError) as problem:
        raise _unusable(problem) from None
    _OPEN.add(engine)
    return engine


def _parsed(address: str) -> URL:
    """The parts of an address, with the driver that is used for PostgreSQL."""
    for name in ("postgresql://", "postgres://"):
        if address.startswith(name):
            address = "postgresql+psycopg://" + address.removeprefix(name)
    try:
        return make_url(address)
    except (ArgumentError, ValueError) as problem:
        raise _unusable(problem) from None


def _unusable(problem: Exception) -> DataError:
    return DataError(
        "the database's address cannot be used", where="--database", found=f"{problem}".splitlines()[0],
        do="write sqlite:///FILE or postgresql://USER@HOST/NAME; PostgreSQL needs psycopg",
    )  # fmt: skip


def _make_private(file: Path) -> None:
    """Make a new file that only its owner can read; SQLite gives the same rights to the files beside it."""
    with suppress(OSError):  # it is there, or SQLite says why it cannot be
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def close(engine: Engine) -> None:
    """End all connections; the file of an SQLite database then holds everything, without the log beside it."""
    if engine in _TURNS:
        with suppress(SQLAlchemyError, sqlite3.Error):
            connection = engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
    engine.dispose()


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """While the block runs, a request to stop (SIGTERM) unwinds the program, so that databases are closed."""

    def stop(number: int, frame: Any) -> None:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():  # only that one may receive signals
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@atexit.register
def _close_all() -> None:
    gc.collect()  # connections that a signal or an error interrupted are held by the frames that it left
    for engine in list(_OPEN):
        file = Path(engine.url.database or "")
        if engine not in _TURNS or file.is_file():  # one that was removed must not be made again
            close(engine)


def _prepare(connection: Any, record: Any) -> None:
    _prepare_reading(connection, record)
    cursor = connection.cursor()
    # With wal_autocheckpoint=1 each commit also reaches the file itself: the file alone is nearly complete after a
    # power cut, too.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=1"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _prepare_reading(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by _begin, not by the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is committed on the disk when the block ends, or leaves nothing behind."""
    with _told(), _turn(engine), engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def _turn(engine: Engine) -> Iterator[None]:
    """Wait until no other thread writes to the same SQLite file."""
    turn = _TURNS.get(engine)
    if turn is not None and not turn.acquire(timeout=TURN):
        raise NotSaved("the database could not be used", found="other writes take too long")
    try:
        yield
    finally:
        if turn is not None:
            turn.release()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the database."""
    with _told(), engine.connect() as connection:
        yield connection


@contextmanager
def _told() -> Iterator[None]:
    """Failures of the database as one error; breaches of its rules are for the caller."""
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, PoolTimeout) as problem:
        reason = str(getattr(problem, "orig", None) or problem).splitlines()[0]
        raise NotSaved("the database could not be used", found=reason) from problem
    except SQLAlchemyError as problem:
        raise NotSaved("the database could not be used", found=str(problem).splitlines()[0]) from problem
