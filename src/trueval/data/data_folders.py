"""Whether a folder holds anything that could be read as a data set."""

from __future__ import annotations

import re
from pathlib import Path

from trueval.data.layouts import layout_of
from trueval.data.tables import SUFFIXES, table_suffix
from trueval.errors import DataError

_ABOUT = re.compile(r"(read.?me|licen[cs]e|copying|changelog|changes)\b", re.IGNORECASE)


def check_holds_data(folder: Path, *, where: str, do: str = "check the address, or where the file comes from") -> None:
    """Refuse a folder without a known data set and without a single table."""
    if layout_of(folder) is not None:
        return
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if any(table_suffix(path) in SUFFIXES and not _ABOUT.match(path.name) for path in files):
        return
    raise DataError(
        "there is no data set in it",
        where=where,
        found=", ".join(ascii(path.name)[1:-1][:60] for path in files[:8]) or "an empty folder",
        do=do,
    )
