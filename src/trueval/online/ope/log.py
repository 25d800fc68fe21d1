"""The log of the live policy: one row per shown item, with what it earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trueval.data.ids import as_text
from trueval.data.role_names import ColumnMap
from trueval.errors import DataError, DefinitionError
from trueval.online.ope.tables import RoleTable, bandit_table, numbers, read_roles

_ROLES = bandit_table(needs=("item", "reward"), may_have=("user", "position", "propensity"))


def read_log(source: Any, columns: ColumnMap, *, name: str = "log") -> RoleTable:
    """Read a log with its roles as column names.

    >>> import polars as pl
    >>> log = pl.DataFrame({"action": ["a", "b"], "click": [1, 0], "propensity_score": [0.5, 0.5]})
    >>> read_log(log, {}).frame.columns
    ['item', 'reward', 'propensity']
    """
    log = read_roles(source, columns, roles=_ROLES, name=name)
    rewards = numbers(log.frame, "reward", where=log.name)
    return replace(log, frame=log.frame.with_columns(rewards.alias("reward")))


def context_columns(log: RoleTable, context: str | Sequence[str]) -> list[str]:
    """The columns of the log that the reward model sees beside item and position; known in every row."""
    asked = context.split(",") if isinstance(context, str) else context
    names = [log.column(name.strip(), what="context") for name in asked if name.strip()]
    for name in names:
        if name in ("item", "reward", "propensity"):
            raise DefinitionError(f"the {name} cannot be a context column", found=", ".join(names), do="leave it out")
        check_known(log, name)
    return [name for name in dict.fromkeys(names) if name != "position"]


def check_known(table: RoleTable, column: str) -> None:
    """Refuse a column with missing values, or one that holds neither text nor numbers."""
    series = table.frame[column]
    as_text(series.head(1), what="contexts", where=f"{table.name}, column {column}")
    unknown = series.is_null() | (~series.is_finite() if series.dtype.is_float() else False)
    if unknown.any():
        raise DataError(
            "the context is missing in some rows",
            where=f"{table.name}, column {column}",
            found=f"{int(unknown.sum()):,} of {len(series):,} rows",
            do="fill these rows, e.g. with 'unknown'",
        )
