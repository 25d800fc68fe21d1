"""Finished steps of a rerun, kept as parquet files, so that a run that was stopped can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.writing import make_folder, write_whole


@dataclass(frozen=True)
class KeptSteps:
    """Tables by a name and by a key of all that decides them.

    `common` is what decides every step: paper, data, seed, version.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     steps = KeptSteps(Path(place), {"seed": 1})
    ...     steps.put("a step", {"k": 10}, pl.DataFrame({"value": [1]}))
    ...     steps.get("a step", {"k": 10})["value"].to_list(), steps.get("a step", {"k": 20})
    ([1], None)
    """

    folder: Path
    common: Mapping[str, Any]

    def get(self, name: str, parameters: Mapping[str, Any]) -> pl.DataFrame | None:
        """The table of a step; None where there is none, or only a damaged one."""
        path = self._path(name, parameters)
        try:
            return pl.read_parquet(path) if path.is_file() else None
        except (OSError, pl.exceptions.PolarsError):
            return None

    def put(self, name: str, parameters: Mapping[str, Any], table: pl.DataFrame) -> None:
        """Keep a table, written whole or not at all."""
        make_folder(self.folder)
        write_whole(self._path(name, parameters), lambda place: table.write_parquet(place))

    def _path(self, name: str, parameters: Mapping[str, Any]) -> Path:
        decided = json.dumps({"step": name, **self.common, **parameters}, sort_keys=True, default=str)
        key = hashlib.sha256(decided.encode()).hexdigest()[:16]
        return self.folder / f"{name.replace(' ', '-')}-{key}.parquet"
