"""Where an experiment's data come from: paths beside the file, names of known data sets, tables from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.column_roles import LOG_ROLES
from trueval.data.datasets import CATALOGUE, data_home
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.popularity import check_count_of
from trueval.data.read import locate, read
from trueval.data.table_columns import columns_of, read_columns
from trueval.data.users import read_users
from trueval.errors import DefinitionError, TruevalError
from trueval.experiments.experiment_file import Written, show


@dataclass(frozen=True)
class Source:
    """What is read: the log, and tables of items and users where these are given."""

    log: Any
    columns: dict[str, Any] | None = None
    items: Any = None
    users: Any = None
    count: str | None = None

    def read_log(self) -> Interactions:
        """The log."""
        return read(self.log, columns=columns_of(self.columns, "log") or None, count=self.count)

    def read_items(self) -> pl.DataFrame | None:
        """The catalogue, where one was named."""
        return None if self.items is None else read_items(self.items, columns=self.columns)

    def read_users(self) -> pl.DataFrame | None:
        """The table of users, where one was named."""
        return None if self.users is None else read_users(self.users, columns=self.columns)


def read_source(written: Written) -> Source:
    """The section [data], with all its files found."""
    chosen = written.section("data")
    columns = _flat(chosen["columns"]) if "columns" in chosen else None
    found = {name: find_path(written, "data", name) for name in ("path", "items", "users") if name in chosen}
    try:
        read_columns(
            columns, LOG_ROLES, log=found["path"], items=found.get("items"), users=found.get("users"), mar="mar"
        )  # fmt: skip
    except TruevalError as problem:
        raise written.refused(problem, "data", "columns") from None
    count = chosen.get("count")
    if count is not None:
        try:
            check_count_of(count, where="data")
        except TruevalError as problem:
            raise written.refused(problem, "data", "count") from None
    return Source(found["path"], columns, found.get("items"), found.get("users"), count)


def _flat(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by role or table.role; a key items.item that is not in quotes is a table of its own in such files.

    >>> _flat({"item": "product", "items": {"item": "sku"}})
    {'item': 'product', 'items.item': 'sku'}
    """
    found: dict[str, Any] = {}
    for role, column in columns.items():
        inner = column if isinstance(column, Mapping) else None
        found |= {role: column} if inner is None else {f"{role}.{own}": name for own, name in inner.items()}
    return found


def find_path(written: Written, section: str, key: str) -> Any:
    """A path relative to the experiment file, or a known data set; from Python, a table as it is."""
    value = written.section(section)[key]
    if not isinstance(value, (str, Path)):
        if written.text or isinstance(value, (bool, int, float)):
            raise DefinitionError(
                f"{key} must be a string", where=written.at(section, key), found=f"{key} = {show(value)}",
                do=f'for example {key} = "ratings.csv"',
            )  # fmt: skip
        return value
    beside = written.base / Path(value).expanduser()
    known = str(value) in CATALOGUE or (Path(value).name == str(value) and (data_home() / str(value)).exists())
    try:
        return locate(str(value)) if known and not beside.exists() else locate(beside)
    except TruevalError as problem:
        raise written.refused(problem, section, key) from None
