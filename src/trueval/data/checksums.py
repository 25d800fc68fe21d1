"""Files that show when they have changed: JSON with a checksum of itself, and checksums of other files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SEAL = "checksum"


def seal(told: Mapping[str, Any]) -> str:
    """JSON that carries its checksum.

    >>> unseal(seal({"a": 1}))
    {'a': 1}
    >>> unseal(seal({"a": 1}).replace("1", "3"))
    Traceback (most recent call last):
    ValueError: the checksum is another one
    """
    plain = json.dumps(told, indent=1, ensure_ascii=False, default=str)
    checksum = hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()
    return json.dumps({**told, _SEAL: checksum}, indent=1, ensure_ascii=False, default=str) + "\n"


def unseal(text: str) -> dict[str, Any]:
    """What was sealed; a ValueError where a single bit of the text is another one."""
    try:
        told = json.loads(text)
    except RecursionError:  # thousands of brackets, none of which were sealed
        raise ValueError("there is no checksum") from None
    if not isinstance(told, dict) or told.pop(_SEAL, None) is None:
        raise ValueError("there is no checksum")
    if seal(told) != text:
        raise ValueError("the checksum is another one")
    return told


def file_checksum(path: Path) -> str:
    """A checksum of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
