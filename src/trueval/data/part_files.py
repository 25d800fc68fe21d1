"""What is there of a download that stopped: part files, whose names say which version of a file they belong to."""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from email.message import Message
from pathlib import Path


def part_files(folder: Path, file_name: str) -> list[Path]:
    """Parts of a file; a link or a folder of such a name is none, and is left alone."""
    ours = re.compile(re.escape(file_name) + r"(\.[A-Za-z0-9_-]+)?\.part")
    found = (path for path in sorted(folder.iterdir()) if ours.fullmatch(path.name))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def new_part(folder: Path, file_name: str, headers: Message) -> Path:
    """An empty file for a version of a file, in place of all earlier parts.

    Where something else has its name (a folder, a link), it gets another name, and cannot be resumed.
    """
    for stale in part_files(folder, file_name):
        stale.unlink()
    part = folder / _part_name(file_name, headers)
    try:
        part.open("xb").close()  # x: follows no link
    except FileExistsError:
        with tempfile.NamedTemporaryFile(prefix=f"{file_name}.", suffix=".part", dir=folder, delete=False) as file:
            return Path(file.name)
    return part


def _part_name(file_name: str, headers: Message) -> str:
    """The name of a part says which version of the file it belongs to, so that it needs no second file."""
    etag = headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
    code = base64.urlsafe_b64encode(validator.encode("utf-8", "replace")).decode().rstrip("=")
    return f"{file_name}.{code}.part" if 0 < len(code) <= 120 else f"{file_name}.part"


def resumable(folder: Path, file_name: str) -> tuple[Path | None, str]:
    """An earlier part and the validator (ETag or date) of the file it was taken from."""
    for part in part_files(folder, file_name):
        code = part.name.removeprefix(f"{file_name}.").removesuffix("part").rstrip(".")
        validator = _decoded(code)
        if validator and part.stat().st_size:
            return part, validator
    return None, ""


def _decoded(code: str) -> str:
    """The validator in the name of a part; nothing where the name is no code, or holds what no header may.

    >>> _decoded("InYxIg"), _decoded("copy"), _decoded("x")
    ('"v1"', '', '')
    """
    try:
        validator = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return validator if validator.isprintable() else ""
