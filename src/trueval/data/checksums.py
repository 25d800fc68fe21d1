"""Files that show when they have changed: JSON with a checksum of itself, and checksums of other files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueval.data.json_values import parse_json

_SEAL = "checksum"


def seal(record: Mapping[str, Any]) -> str:
    """JSON that carries its checksum.

    >>> unseal(seal({"a": 1}))
    {'a': 1}
    >>> unseal(seal({"a": 1}).replace("1", "3"))
    Traceback (most recent call last):
    ValueError: the checksum does not match
    """
    plain = json.dumps(record, indent=1, ensure_ascii=False, default=str)
    checksum = hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()
    return json.dumps({**record, _SEAL: checksum}, indent=1, ensure_ascii=False, default=str) + "\n"


def unseal(text: str) -> dict[str, Any]:
    """The record that was sealed; a ValueError where the text has changed in any way."""
    record = parse_json(text)
    if not isinstance(record, dict) or record.pop(_SEAL, None) is None:
        raise ValueError("there is no checksum")
    if seal(record) != text:
        raise ValueError("the checksum does not match")
    return record


def file_checksum(path: Path) -> str:
    """A checksum of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
