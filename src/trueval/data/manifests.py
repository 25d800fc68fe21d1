"""The file in a folder of ours that says what the folder holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueval.data.places import check_not_special
from trueval.errors import DataError


def read_manifest(path: Path, parse: Callable[[str], dict[str, Any]], *, what: str, do: str) -> dict[str, Any]:
    """What a manifest says; one that is absent, or that `parse` does not take (a ValueError), is refused.

    >>> read_manifest(Path("nowhere/made.json"), dict, what="this is no folder of ours", do="make one")
    Traceback (most recent call last):
    trueval.errors.DataError: this is no folder of ours
      where: nowhere
      found: made.json: [Errno 2] No such file or directory: 'nowhere/made.json'
      do:    make one
    """
    try:
        check_not_special(path)
        return parse(path.read_text(encoding="utf-8"))
    except DataError:
        raise
    except (OSError, ValueError) as problem:
        raise DataError(what, where=str(path.parent), found=f"{path.name}: {problem}", do=do) from problem
