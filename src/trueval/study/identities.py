"""Secrets of a study: tokens of participants, hashes of outside ids, tokens of forms, the secret of the results."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from trueval.data.writing import writing
from trueval.study.definition import Study


def new_secret() -> str:
    """A random text of 256 bits, for addresses and forms.

    >>> len(new_secret())
    43
    """
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """What is stored in place of a secret. Secrets have 256 bits, so that a plain hash cannot be searched."""
    return hashlib.sha256(secret.encode()).hexdigest()


def keyed(key: str, *parts: str) -> str:
    """A keyed hash of some texts, as a text for addresses.

    >>> keyed("key", "ab", "c") == keyed("key", "a", "bc")
    False
    """
    message = b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)
    return base64.urlsafe_b64encode(hmac.digest(key.encode(), message, "sha256")).decode().rstrip("=")


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def outside_ids(study: Study, given: Mapping[str, str]) -> dict[str, str]:
    """The ids that the study asks for, as far as the address had all of them; else none."""
    found = {name: given[name] for name in study.outside.ids if given.get(name)}
    return found if len(found) == len(study.outside.ids) else {}


def ids_key(study: Study, *, make: bool) -> str | None:
    """The key of outside ids, a file beside the study: once it is deleted, nobody can be traced."""
    path = key_file(study)
    if not path.exists():
        if not make:
            return None
        with writing(path, what="the key of outside ids could not be written"):
            _make_key(path)
    return path.read_text().strip()


def _make_key(path: Path) -> None:
    """Write a new key, whole or not at all; where another process was quicker, its key stays."""
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    file = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "w") as made:
            made.write(new_secret())
        with suppress(FileExistsError):
            os.link(own, path)
    finally:
        own.unlink()


def key_file(study: Study) -> Path:
    """Where the key of outside ids is."""
    return study.folder / f"{study.name}.ids-key"


def outside_hash(key: str, ids: Mapping[str, str], names: Sequence[str]) -> str:
    """What is stored of outside ids."""
    return keyed(key, "stored", *(ids[name] for name in names))
