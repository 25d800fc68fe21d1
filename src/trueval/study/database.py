"""The connection to a study's database: SQLite beside the study file, or PostgreSQL by its address.

A transaction that writes takes SQLite's lock when it begins: nothing it has read can change before it writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from trueval.errors import DataError, TruevalError
from trueval.study.definition import Study

BUSY = 5.0  # seconds that a write waits for one of another process before people are told
TURN = 20.0  # and for those of its own process, which are known to go on

# SQLite lets one write at a time, and those that wait ask again and again, in no order: under load some never get their
# turn. Writes of one process wait here instead.
_TURNS: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()


class NotSaved(TruevalError):
    """What was sent could not be stored; whoever sent it must be told, and may try again."""


def address_of(study: Study, url: str | None = None) -> str:
    """The database's address: the one given, else an SQLite file beside the study file."""
    return url or f"sqlite:///{study.folder / study.name}.sqlite"


def check_there(study: Study, url: str | None = None) -> None:
    """Refuse an SQLite database that is not there: reading it would make an empty one."""
    address = address_of(study, url)
    file = Path(address.removeprefix("sqlite:///"))
    if address.startswith("sqlite:///") and not file.exists():
        raise DataError(
            "the study has no answers yet", where=study.written.name, found=f"no file {file.name}",
            do="trueval study serve first; or name another database (--database)",
        )  # fmt: skip


def connect(url: str, *, busy: float = BUSY) -> Engine:
    """An engine for SQLite (WAL, every commit on the disk) or PostgreSQL."""
    url = url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)
    try:
        if url.startswith("sqlite"):
            engine = create_engine(
                url, connect_args={"timeout": busy}, pool_size=20, max_overflow=30, pool_timeout=busy
            )
            event.listen(engine, "connect", _prepare)
            event.listen(engine, "begin", _begin)
            _TURNS[engine] = Lock()
            return engine
        return create_engine(url, pool_size=20, max_overflow=20, pool_timeout=busy, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError, ImportError) as problem:
        raise DataError(
            "the database's address cannot be used", where="--database", found=f"{problem}".splitlines()[0],
            do="write sqlite:///FILE or postgresql://USER@HOST/NAME; PostgreSQL needs psycopg",
        ) from None  # fmt: skip


def _prepare(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions are begun by _begin, not by the driver
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
        cursor.execute(f"PRAGMA {pragma}")
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
