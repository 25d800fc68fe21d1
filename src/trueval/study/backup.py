"""A copy of a study's answers that is complete, also while people answer."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from trueval.data.writing import writing
from trueval.errors import DefinitionError, OutputError
from trueval.study.database import BUSY, address_of, sqlite_file
from trueval.study.definition import Study
from trueval.study.storage import Storage


def back_up(study: Study, output: Path, *, url: str | None = None) -> int:
    """Copy the study's SQLite database into one file that only its owner can read; returns how many took part.

    The copy is SQLite's own (its backup interface): one moment of the database, whoever writes meanwhile.
    """
    file = sqlite_file(address_of(study, url))
    if file is None:
        raise DefinitionError(
            "only SQLite databases are copied by this command", where="--database", found="PostgreSQL",
            do="use pg_dump: it, too, is complete while the study is served",
        )  # fmt: skip
    with Storage.read(study, url):  # refuses what is no study's database
        pass
    _check_output(output, file)
    with writing(output, what="the copy could not be written"):
        return _copy(file, output)


def _check_output(output: Path, file: Path) -> None:
    """Refuse to write over the database itself, or over one that is in use: its log would be applied to the copy."""
    beside = [Path(f"{output}{ending}") for ending in ("-wal", "-shm", "-journal")]
    used = [one.name for one in beside if one.exists()]
    same = output.exists() and output.samefile(file)
    if same or used:
        raise OutputError(
            "the copy would replace the study's database" if same else "a database in use cannot be replaced",
            where=str(output), found=f"{used[0]} beside it" if used else "the same file", do="choose another name",
        )  # fmt: skip


def _copy(file: Path, output: Path) -> int:
    """Copy into a file beside the output, check it, and put it in its place."""
    part = output.with_name(f"{output.name}.{secrets.token_hex(4)}")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        try:
            with closing(sqlite3.connect(file, timeout=BUSY)) as old, closing(sqlite3.connect(part)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
                answer = new.execute("PRAGMA integrity_check").fetchone()[0]
                if answer != "ok":
                    raise OutputError("the copy is damaged", where=str(file), found=answer, do="check the disk")
                people = int(new.execute("SELECT count(*) FROM participants WHERE stage <> 'invited'").fetchone()[0])
        except sqlite3.Error as problem:
            raise OutputError(
                "the database could not be copied", where=str(file), found=str(problem),
                do="check the free space and the disk",
            ) from None  # fmt: skip
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(output)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                Path(f"{part}{ending}").unlink()
    return people
