"""Outputs that would destroy what is read, or each other: refused before any work."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueval.data.datasets import data_home
from trueval.data.layouts import layout_of
from trueval.errors import OutputError
from trueval.report.saved_results import MANIFEST, SUMMARY, TABLE

# Files by which a folder is known as one of results, and all that trueval writes into such a folder.
_MARKERS = (TABLE, "experiment.json", "designs")
_OF_RESULTS = (TABLE, SUMMARY, MANIFEST, "report.html", "experiment.json", "experiment.toml", "facts.json",
               "units.parquet", "users.parquet", "items.parquet")  # fmt: skip
_SPLIT = "split.json"
_OF_A_SPLIT = ("train", "validation", "test", "observed", "dropped", "candidates", "users", "items")


class Output(NamedTuple):
    """A file or folder to be written, and the option that names it. `names` are files that a folder will have."""

    option: str
    path: Path
    folder: bool = False
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.option} {self.path}".strip()


def check_outputs(outputs: Sequence[Output], inputs: Iterable[Any]) -> None:
    """Refuse an output that is an input, contains one or would become part of one, and outputs that are the same.

    Two names mean the same file if the file system says so (links, `..`), or, for what does not exist yet, if they
    lead to the same path. Inputs may be anything: what does not name a file or folder is ignored.

    >>> check_outputs([Output("-o", Path("a.csv")), Output("--per-user", Path("./x/../a.csv"))], [])
    Traceback (most recent call last):
    trueval.errors.OutputError: two outputs are the same file
      where: -o a.csv and --per-user x/../a.csv
      do:    give them different names
    """
    for output in outputs:
        if str(output.path) == "-":
            raise OutputError(
                "the output needs a name", where=str(output), do=f"omit {output.option} to print, or name a file"
            )
    for one, other in itertools.combinations(outputs, 2):
        _check_two(one, other)
    if outputs:
        read = list(dict.fromkeys(itertools.chain.from_iterable(map(places, inputs))))
        for output, place in itertools.product(outputs, read):
            _check_input(output, place)


def places(source: Any) -> Iterator[Path]:
    """The files and folders that an input names; several where it is several, or belongs to a saved split.

    >>> list(places("ndcg@10")), list(places({"a": None, "b": 3}))
    ([], [])
    """
    if isinstance(source, Mapping):
        source = tuple(source.values())
    if isinstance(source, (list, tuple, set)):
        for one in source:
            yield from places(one)
    elif isinstance(source, (str, os.PathLike)) and str(source):
        text = str(source)
        if "://" in text:  # an address; only that of an SQLite database names a file
            text = text.removeprefix("sqlite:///") if text.startswith("sqlite:///") else ""
        for place in (Path(text), Path(text.partition(":")[2] or text), *_known(text)):  # display_share:displays.csv
            if text and _exists(place := _expanded(place)):
                yield place
                yield from _read_with(place)
                return


def _known(text: str) -> list[Path]:
    """Where a data set of this name would be."""
    try:
        return [data_home() / text] if Path(text).name == text else []
    except RuntimeError:  # an account without a home
        return []


def _read_with(place: Path) -> Iterator[Path]:
    """Files that are read because another one is: the other parts of a saved split, the answers to a study."""
    if place.suffix == ".toml" and _exists(place.with_suffix(".sqlite")):
        yield place.with_suffix(".sqlite")
    if place.is_file() and (place.parent / _SPLIT).is_file():
        yield place.parent / _SPLIT
        yield from filter(_exists, (place.parent / f"{name}.parquet" for name in _OF_A_SPLIT))


def _check_two(one: Output, other: Output) -> None:
    if same_file(one.path, other.path):
        raise OutputError("two outputs are the same file", where=f"{one} and {other}", do="give them different names")
    for folder, file in ((one, other), (other, one)):
        if folder.folder and any(same_file(folder.path / name, file.path) for name in folder.names):
            raise OutputError(
                "two outputs are the same file",
                where=f"{one} and {other}",
                found=f"{folder.option} writes {file.path.name} into its folder",
                do=f"give {file.option} another name",
            )


def _check_input(output: Output, place: Path) -> None:
    if same_file(output.path, place):
        raise _refused("the output would overwrite an input", output, f"{place} is read")
    if output.folder and _is_inside(place, output.path):
        raise _refused("the output folder contains an input", output, f"{place} is read")
    if not place.is_dir() or not _is_inside(output.path, place):
        return
    if _is_of_results(place):
        if output.path.name in _OF_RESULTS and _exists(output.path):
            raise _refused("the output would overwrite a part of an input", output, f"{place} is read")
        return
    if not output.folder and _exists(output.path):
        raise _refused("the output would overwrite a part of an input", output, f"{place} is read, with its files")
    if (output.folder or output.path.suffix.lower() == ".parquet") and layout_of(place) is None:
        raise _refused("the output would become a part of an input", output, f"{place} is read, with all its files")


def _is_of_results(folder: Path) -> bool:
    return any((folder / name).exists() for name in _MARKERS) or any(folder.glob(f"*/{TABLE}"))


def _refused(what: str, output: Output, found: str) -> OutputError:
    return OutputError(what, where=str(output), found=found, do="choose another name for the output")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file: by the file system where both exist, otherwise by where they lead."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        pass
    try:
        return _real(one) == _real(other)
    except (OSError, ValueError):  # no name of a file; whoever writes it says so
        return False


def _is_inside(place: Path, folder: Path) -> bool:
    try:
        return any(same_file(parent, folder) for parent in Path(_real(place)).parents)
    except (OSError, ValueError):
        return False


def _real(path: Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # ~nobody
        return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
