"""Web addresses: checked before anything is asked of them, and shown without secrets."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, unquote, urlsplit

from trueval.errors import DataError

_LONGEST = 100  # characters of a file name
_IN_BRACKETS = re.compile(r"\[[0-9a-fA-F:.]+\](:[0-9]*)?")
_KEPT = "%/:=&?~#+!$,;'@()*[]"


def checked_address(url: str) -> str:
    """An address as it is sent: http or https, a host, no secrets; letters beyond ASCII encoded.

    >>> checked_address("https://exämple.org/a b.zip")
    Traceback (most recent call last):
    trueval.errors.DataError: the address holds blanks or control characters
    ...
    >>> checked_address("https://exämple.org/ä.zip")
    'https://xn--exmple-cua.org/%C3%A4.zip'
    """
    shown = shown_address(url)
    if re.search(r"[\s\x00-\x1f\x7f]", url):
        raise _refused(
            "the address holds blanks or control characters", shown, repr(shown)[:120], "write %20 for a blank"
        )
    parts = _split(url)
    if parts is None:
        raise _refused("this is not a web address", shown, "a host or port that cannot be", "check the address")
    if parts.scheme not in ("http", "https"):
        raise _refused("only http and https can be fetched", shown, parts.scheme or "no scheme", "check the address")
    if not parts.hostname:
        raise _refused("this is not a web address", shown, "no host", "write https://host/file.zip")
    if "@" in parts.netloc:
        raise _refused(
            "addresses with a user name or password are not fetched",
            shown,
            "a name before the host",
            "fetch the file with a browser or curl, and unpack it",
        )
    try:
        host = parts.netloc.encode("idna").decode() if not parts.netloc.isascii() else parts.netloc
    except UnicodeError as error:
        raise _refused("this is not a web address", shown, "a host that cannot be", "check the address") from error
    path, query = quote(parts.path, safe=_KEPT), quote(parts.query, safe=_KEPT)
    return parts._replace(netloc=host, path=path, query=query, fragment="").geturl()


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        possible = parts.port != 0  # reading the port checks it
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    return parts if possible and ("[" not in host or _IN_BRACKETS.fullmatch(host)) else None


def _refused(what: str, shown: str, found: str, do: str) -> DataError:
    return DataError(what, where=shown, found=found, do=do)


def shown_address(url: str) -> str:
    """An address for messages and notes: without user name and password, on one line.

    >>> shown_address("https://me:secret@example.org/x.zip")
    'https://…@example.org/x.zip'
    """
    hidden = re.sub(r"^(\s*[A-Za-z0-9+.-]*:?/*)[^/?#]*@", r"\1…@", url, flags=re.DOTALL)
    plain = "".join(character if character.isprintable() else "?" for character in hidden)
    return plain if len(plain) <= 300 else f"{plain[:300]}…"


def is_downgrade(before: str, after: str) -> bool:
    """Whether one would go from an encrypted address to a plain one.

    >>> is_downgrade("https://a/x", "http://a/x"), is_downgrade("http://a/x", "https://a/x")
    (True, False)
    """
    return urlsplit(before).scheme == "https" and urlsplit(after).scheme != "https"


def file_name_of(url: str, *, otherwise: str) -> str:
    """The file name at the end of an address, with nothing in it that a file system could take for more.

    >>> file_name_of("https://example.org/a/..%2f..%2fx.zip?v=1", otherwise="mine")
    'x.zip'
    >>> file_name_of("https://example.org/", otherwise="mine")
    'mine'
    """
    last = re.split(r"[/\\]", unquote(urlsplit(url).path))[-1]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", last).lstrip(".-")
    if len(plain) > _LONGEST:  # the end says what kind of file it is
        plain = plain[-_LONGEST:].lstrip(".-")
    return plain if re.search(r"[A-Za-z0-9]", plain) else otherwise
