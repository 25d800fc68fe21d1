"""Requests to web servers, none of which is trusted: where they may lead, how long they may take, how much may come."""

from __future__ import annotations

import functools
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from pathlib import Path
from typing import IO, Any

from trueval.data.addresses import checked_address, is_downgrade, shown_address
from trueval.data.size_limits import DOWNLOAD_GB
from trueval.errors import DataError
from trueval.progress import progress

TROUBLE = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)
_AGENT = {"User-Agent": "trueval (https://pypi.org/project/trueval)"}
_TIMEOUT, _CHUNK = 30.0, 1 << 17  # seconds without a byte; bytes
_WINDOW, _SLOWEST = 60.0, 1000.0  # seconds; bytes per second below which a server is given up
_REDIRECTS = 5


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Few, to web addresses only, and never from https to http."""

    max_redirections = _REDIRECTS
    max_repeats = 2

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        address = checked_address(newurl)
        if is_downgrade(req.full_url, address):
            raise DataError(
                "the server sends from https to http, which anybody on the way could change",
                where=shown_address(req.full_url),
                found=shown_address(newurl),
                do="use another address of the file, one that begins with https",
            )
        return super().redirect_request(req, fp, code, msg, headers, address)  # type: ignore[arg-type]


@functools.cache
def _opener() -> urllib.request.OpenerDirector:
    """Only what http and https need: nothing here opens files, ftp or data addresses."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def open_address(url: str, headers: Mapping[str, str] | None = None) -> Any:
    """The answer of a server; a DataError where the address, or one that it leads to, is not to be used."""
    try:
        request = urllib.request.Request(url, headers={**_AGENT, **(headers or {})})
        return _opener().open(request, timeout=_TIMEOUT)
    except DataError:
        raise
    except (ValueError, UnicodeError) as error:  # an address in the answer that cannot be read
        raise http.client.HTTPException(f"the server answers with an address that cannot be: {error}") from error


def declared_length(headers: Message) -> int | None:
    """The length that a server declares, where that is a number.

    >>> headers = Message()
    >>> headers["Content-Length"] = "-3"
    >>> declared_length(headers) is None
    True
    """
    text = headers.get("Content-Length", "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def check_as_it_is(headers: Message, url: str, file_name: str) -> None:
    """Refuse an answer that was packed on the way; servers say so of .gz files too, which are what was asked for."""
    coding = headers.get("Content-Encoding", "").strip().lower()
    if coding in ("", "identity") or (coding in ("gzip", "x-gzip") and file_name.lower().endswith((".gz", ".tgz"))):
        return
    raise DataError(
        "the server does not send the file as it is",
        where=shown_address(url),
        found=f"Content-Encoding {coding[:40]!r}",
        do="fetch the file with a browser, and give the file",
    )


def receive(response: Any, part: Path, *, have: int, most: int, url: str) -> Path | None:
    """Write what comes after the `have` bytes of a part; the part when it is whole, None if the connection ended early.

    A server that sends more than `most`, or next to nothing for a minute, is given up.
    """
    length = declared_length(response.headers)
    total = None if length is None else have + length
    if (total or 0) > most:
        raise _too_much(url, most)
    title = f"fetching {part.name.split('.')[0]} (kB)"
    with part.open("ab" if have else "wb") as file, progress(title, (total or 0) // 1000) as step:
        said, since, before = 0, time.monotonic(), have
        while chunk := response.read1(_CHUNK):
            file.write(chunk)
            have += len(chunk)
            if have > most:
                raise _too_much(url, most)
            if have // 1000 > said:
                step(have // 1000 - said)
                said = have // 1000
            if (passed := time.monotonic() - since) >= _WINDOW:
                if have - before < _SLOWEST * passed:
                    raise TimeoutError(f"the server sends less than {_SLOWEST:g} bytes per second")
                since, before = time.monotonic(), have
        file.flush()
        os.fsync(file.fileno())
    return part if total is None or have == total else None


def _too_much(url: str, most: int) -> DataError:
    return DataError(
        "the server sends more than the file can have",
        where=shown_address(url),
        found=f"more than {most / 1e9:g} GB",
        do=f"check the address; if it is right, set the environment variable {DOWNLOAD_GB} to the gigabytes to allow",
    )
