"""Fetch data sets: with progress, resuming where an earlier attempt stopped, and checked before use."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from trueval.data.archives import unpack
from trueval.data.datasets import CATALOGUE, Dataset, data_home, dataset
from trueval.errors import DataError, OutputError
from trueval.progress import note, progress

_ATTEMPTS, _TIMEOUT, _CHUNK = 4, 30.0, 1 << 17
_AGENT = {"User-Agent": "trueval (https://pypi.org/project/trueval)"}
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256"}
_PAUSE = 0.5  # seconds before the second attempt, doubled at each further one


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
    if target.is_dir():
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
    try:
        home.mkdir(parents=True, exist_ok=True)
        return _fetch_and_unpack(name, url, checksum, target)
    except OSError as error:
        raise OutputError(
            "the data set could not be stored",
            where=str(target),
            found=str(error),
            do="free space, or set TRUEVAL_HOME",
        ) from error


def _fetch_and_unpack(name: str, url: str, checksum: str | None, target: Path) -> Path:
    file_name = Path(urlsplit(url).path).name or name
    algorithm, digest = _expected(checksum)
    part = fetch(url, target.parent, file_name=file_name)
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
        unpack(part, target, file_name=file_name)
    except DataError:
        part.unlink()
        raise
    part.unlink()
    return target


def fetch(url: str, folder: Path, *, file_name: str) -> Path:
    """Download a file as `<file_name>….part`, resuming an earlier part of the same version."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError(
            "only http and https addresses can be fetched",
            where=url,
            found=urlsplit(url).scheme or "no scheme",
            do="check the address",
        )
    trouble = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            done = _attempt(url, folder, file_name)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                found = f"{error.code} {error.reason}"
                raise DataError(
                    "the server does not provide the file", where=url, found=found, do="check the address"
                ) from error
            trouble = f"{error.code} {error.reason}"
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            trouble = str(getattr(error, "reason", error)) or type(error).__name__
        else:
            if done is not None:
                return done
            trouble = "the connection was closed before the end"
    kept = sum(part.stat().st_size for part in _parts(folder, file_name))
    raise DataError(
        "the download did not finish",
        where=url,
        found=trouble,
        do=f"run it again: it resumes after the {kept:,} bytes it already has"
        if kept
        else "check the connection, then run it again",
    )


def _parts(folder: Path, file_name: str) -> list[Path]:
    return [path for path in folder.glob("*.part") if path.name.startswith(f"{file_name}.")]


def _attempt(url: str, folder: Path, file_name: str) -> Path | None:
    """One request; the finished part file, or None if the connection ended early."""
    part, validator = _resumable(folder, file_name)
    headers = dict(_AGENT)
    have = part.stat().st_size if part else 0
    if part and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
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
        if response.status != 206 or part is None or not continues:
            if response.status == 206:  # a piece that nobody asked for
                raise http.client.HTTPException("the server sent a different part of the file than requested")
            for stale in _parts(folder, file_name):
                stale.unlink()
            part, have = folder / _part_name(file_name, response.headers), 0
        total = have + int(response.headers.get("Content-Length") or 0)
        return _receive(response, part, have=have, total=total)


def _receive(response: http.client.HTTPResponse, part: Path, *, have: int, total: int) -> Path | None:
    title = f"fetching {part.name.split('.')[0]} (kB)"
    with part.open("ab" if have else "wb") as file, progress(title, total // 1000) as step:
        reported = 0
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            have += len(chunk)
            if have // 1000 > reported:
                step(have // 1000 - reported)
                reported = have // 1000
        file.flush()
        os.fsync(file.fileno())
    return part if not total or have == total else None


def _part_name(file_name: str, headers: http.client.HTTPMessage) -> str:
    """The name of a part says which version of the file it belongs to, so that it needs no second file."""
    etag = headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
    code = base64.urlsafe_b64encode(validator.encode()).decode().rstrip("=")
    return f"{file_name}.{code}.part" if 0 < len(code) <= 120 else f"{file_name}.part"


def _resumable(folder: Path, file_name: str) -> tuple[Path | None, str]:
    """An earlier part and the validator (ETag or date) of the file it was taken from."""
    for part in _parts(folder, file_name):
        code = part.name.removeprefix(f"{file_name}.").removesuffix("part").rstrip(".")
        if code and part.stat().st_size:
            return part, base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).decode()
    return None, ""


def _expected(checksum: str | None) -> tuple[str, str | None]:
    """Algorithm and digest of a checksum, which may have to be fetched itself."""
    if checksum is None:
        return "sha256", None
    where = checksum
    if checksum.startswith(("http://", "https://")):
        request = urllib.request.Request(checksum, headers=_AGENT)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                checksum = response.read(4096).decode("ascii", "replace")
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise DataError(
                "the published checksum could not be fetched",
                where=where,
                found=str(error),
                do="try again, or give checksum=",
            ) from error
    digests = [word for word in re.findall(r"\b[0-9a-fA-F]+\b", checksum) if len(word) in _ALGORITHMS]
    if not digests:
        raise DataError("this is not a checksum", where=where, found=repr(checksum[:80]), do="write md5:… or sha256:…")
    return _ALGORITHMS[len(digests[0])], digests[0].lower()


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
