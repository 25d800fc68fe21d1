"""Baselines of the gate: results of one system, kept in a folder under names of their own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueval.errors import DataError, DefinitionError, OutputError, suggest
from trueval.report.compare_results import parts_of
from trueval.report.saved_results import save_per_user

_NAME = re.compile(r"\w[\w.=@+ -]*")


def baseline_path(folder: Path, name: str) -> Path:
    """The file of a baseline: users' values with the manifest.

    >>> baseline_path(Path("baselines"), "als").as_posix()
    'baselines/als.parquet'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError("this is no name for a baseline", found=repr(name), do="use letters, digits, - and _")
    return folder / f"{name}.parquet"


def save_baseline(result: Any, path: Path, *, system: str | None = None) -> None:
    """Write a result of one system as a baseline."""
    parts = parts_of(result)
    if len(parts) > 1:
        raise DataError(
            "a baseline holds the result of one seed or fold",
            found=", ".join(parts),
            do="give one of them, or call tv.gate with result folders",
        )
    (evaluation,) = parts.values()
    known = list(evaluation.systems)
    if system is None and len(known) > 1:
        raise DefinitionError("the result has several systems", found=", ".join(known), do="choose one with system=…")
    name = known[0] if system is None else system
    if name not in known:
        raise DefinitionError(f"the result has no system {name!r}", do=suggest(name, known))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(
            "the folder of baselines cannot be made", where=str(path.parent), found=str(problem)
        ) from None
    save_per_user(replace(evaluation, systems={name: evaluation.systems[name]}), path)
