"""What a known layout of a data-set folder is: how to recognise it, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trueval.data.interactions import Interactions


def _never(path: Path) -> bool:
    return False


@dataclass(frozen=True)
class Layout:
    """A data set as its publishers pack it.

    `holds` recognises the folder; `read` takes the folder and a name for the log. `is_log` recognises a bare log file
    whose columns are known though it has no header, read by `read_log`. `unbiased` gives the biased log and
    the test set without selection bias.
    """

    name: str
    holds: Callable[[Path], bool]
    read: Callable[[Path, str], Interactions]
    is_log: Callable[[Path], bool] = _never
    read_log: Callable[[Path, str], Interactions] | None = None
    unbiased: Callable[[Path, str], tuple[Interactions, Interactions]] | None = None


def has_files(*names: str) -> Callable[[Path], bool]:
    """A test for folders that hold all of these files.

    >>> has_files("ratings.dat", "movies.dat")(Path("nowhere"))
    False
    """
    return lambda folder: all((folder / name).is_file() for name in names)
