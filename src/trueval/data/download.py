"""Fetch data sets: with progress, resuming where an earlier attempt stopped, and checked before use."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import re
import shutil
import time
import urllib.error
from pathlib import Path

from trueval.data.addresses import checked_address, file_name_of, is_downgrade, shown_address
from trueval.data.archives import unpack
from trueval.data.data_folders import check_holds_data
from trueval.data.datasets import CATALOGUE, Dataset, data_home, dataset, is_fetched
from trueval.data.part_files import new_part, part_files, resumable
from trueval.data.size_limits import most_downloaded
from trueval.data.web import TROUBLE, check_as_it_is, open_address, receive
from trueval.errors import DataError, OutputError
from trueval.progress import note

_ATTEMPTS = 4
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256"}
_PAUSE = 0.5  # seconds before the second attempt, doubled at each further one
_STALE = 86_400  # seconds after which nobody unpacks any more


def get(name: str, *, home: Path | None = None, url: str | None = None, checksum: str | None = None) -> Path:
    """Fetch a data set into the data home and return its folder; nothing happens if it is there already.

    A name outside the catalogue needs its `url`. `checksum` is `md5:…`, `sha256:…`, or the address of a file
    that holds the digest; that of the catalogue holds for mirrors too.

    >>> get("netflix", home=Path("nowhere"))
    Traceback (most recent call last):
    trueval.errors.DataError: this data set cannot be fetched automatically
    ...
    """
    home = data_home() if home is None else Path(home)
    known = CATALOGUE.get(name) or (dataset(name) if url is None else Dataset(name, "", "", 0))
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise DataError(
            "this name cannot be used for a folder",
            where="name",
            found=repr(name),
            do="use letters, digits, - and _",
        )
    target = home / name
    if _is_here(target):
        note(f"{name} is already in {target}")
        return target
    url, checksum = url or known.url, checksum or known.checksum
    if url is None:
        raise DataError(
            "this data set cannot be fetched automatically",
            where=name,
            found=known.licence,
            do=f"{known.how}\nand put the files into {target}",
        )
    if known.licence:
        note(f"{name}: {known.licence}")
    address = checked_address(url)
    try:
        home.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        return _fetch_and_unpack(name, address, checksum, target, most_downloaded(known.megabytes))
    except OSError as error:
        raise OutputError(
            "the data set could not be stored",
            where=str(target),
            found=str(error),
            do="free space, or set TRUEVAL_HOME",
        ) from error


def _is_here(target: Path) -> bool:
    """Whether a data set has been fetched; an empty folder is none, and anything else in its place is an error."""
    if is_fetched(target.name, target.parent):
        check_holds_data(target, where=str(target), do="remove the folder, then fetch the data set again")
        return True
    if not target.is_dir() and (target.exists() or target.is_symlink()):
        raise OutputError(
            "the folder of the data set cannot be made",
            where=str(target),
            found="a file, or a link to nothing, of that name",
            do="move it away, or give another home",
        )
    return False


def _remove_leftovers(target: Path) -> None:
    """What a process that was killed left behind: the empty folder, and places where it was unpacking, a day ago."""
    if target.is_dir():
        target.rmdir()
    work = re.compile(rf"\.{re.escape(target.name)}-[a-z0-9_]{{8}}")
    for path in target.parent.iterdir():
        if work.fullmatch(path.name) and not path.is_symlink():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    shutil.rmtree(path)


def _fetch_and_unpack(name: str, url: str, checksum: str | None, target: Path, most: int) -> Path:
    file_name = file_name_of(url, otherwise=name)
    algorithm, digest = _expected(checksum, of=url)
    part = fetch(url, target.parent, file_name=file_name, most=most)
    actual = _digest(part, algorithm)
    if digest is None:
        note(f"no checksum is published for {file_name}; the downloaded file has {algorithm} {actual}")
    elif actual != digest:
        part.unlink()
        raise DataError(
            "the downloaded file does not match its published checksum",
            where=url,
            found=f"{algorithm} {actual}, expected {digest}",
            do="fetch it again; if this repeats, the file has changed or is not genuine",
        )
    try:
        unpack(part, target, file_name=file_name, accept=lambda folder: check_holds_data(folder, where=file_name))
    except DataError:
        part.unlink()
        raise
    part.unlink()
    return target


def fetch(url: str, folder: Path, *, file_name: str, most: int) -> Path:
    """Download a file as `<file_name>….part`, resuming an earlier part of the same version."""
    trouble = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            done = _attempt(url, folder, file_name, most)
        except DataError:  # not a matter of another attempt, nor of what came so far
            for part in part_files(folder, file_name):
                part.unlink()
            raise
        except urllib.error.HTTPError as error:
            trouble = f"{error.code} {error.reason}".split("\n")[0]
            if error.code < 500:
                raise DataError(
                    "the server does not provide the file", where=url, found=trouble, do="check the address"
                ) from error
        except TROUBLE as error:
            trouble = str(getattr(error, "reason", error)) or type(error).__name__
        else:
            if done is not None:
                return done
            trouble = "the connection was closed before the end"
    kept = sum(part.stat().st_size for part in part_files(folder, file_name))
    raise DataError(
        "the download did not finish",
        where=url,
        found=trouble,
        do=f"run it again: it resumes after the {kept:,} bytes it already has"
        if kept
        else "check the connection, then run it again",
    )


def _attempt(url: str, folder: Path, file_name: str, most: int) -> Path | None:
    """One request; the finished part file, or None if the connection ended early."""
    part, validator = resumable(folder, file_name)
    have = part.stat().st_size if part else 0
    try:
        response = open_address(url, {"Range": f"bytes={have}-", "If-Range": validator} if part else {})
    except urllib.error.HTTPError as error:
        if error.code != 416 or part is None:
            raise
        # Nothing is left to send: the part is whole, or it belongs to another file.
        if error.headers.get("Content-Range", "").rpartition("/")[2] == str(have):
            return part
        part.unlink()
        return None
    with response:
        continues = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        check_as_it_is(response.headers, url, file_name)
        if response.status != 206 or part is None or not continues:
            if response.status == 206:  # a piece that nobody asked for
                raise http.client.HTTPException("the server sent a different part of the file than requested")
            part, have = new_part(folder, file_name, response.headers), 0
        return receive(response, part, have=have, most=most, url=url)


def _expected(checksum: str | None, *, of: str = "") -> tuple[str, str | None]:
    """Algorithm and digest of a checksum, which may have to be fetched itself."""
    if checksum is None:
        return "sha256", None
    where, kind = checksum, checksum.partition(":")[0].lower()
    if kind in ("http", "https"):
        where, checksum = shown_address(checksum), _published(checksum, of)
    digests = [word for word in re.findall(r"\b[0-9a-fA-F]+\b", checksum) if len(word) in _ALGORITHMS]
    if not digests or (kind in _ALGORITHMS.values() and _ALGORITHMS[len(digests[0])] != kind):
        raise DataError("this is not a checksum", where=where, found=repr(checksum[:80]), do="write md5:… or sha256:…")
    return _ALGORITHMS[len(digests[0])], digests[0].lower()


def _published(url: str, of: str) -> str:
    """What the file of a checksum says; it is as safe on its way as the data that it is the checksum of."""
    address = checked_address(url)
    if is_downgrade(of, address):
        raise DataError(
            "the checksum of a file from https would come by http, which anybody on the way could change",
            where=shown_address(url),
            found="http",
            do="use an address that begins with https, or give the checksum itself",
        )
    try:
        with open_address(address) as response:
            return str(response.read(4096).decode("ascii", "replace"))
    except (*TROUBLE, OSError) as error:
        raise DataError(
            "the published checksum could not be fetched",
            where=shown_address(url),
            found=str(error).split("\n")[0],
            do="try again, or give checksum=",
        ) from error


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
