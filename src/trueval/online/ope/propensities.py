"""How likely the live policy was to show what it showed: given, or estimated from the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.data.column_roles import shortened
from trueval.data.frames import is_table
from trueval.data.role_names import ColumnMap
from trueval.errors import DataError, DefinitionError
from trueval.online.ope.log import read_log
from trueval.online.ope.tables import RoleTable, bad_rows, numbers
from trueval.propensity.propensity import Propensity, read_gamma

_FORMS = "column:NAME, uniform, display_share, popularity:GAMMA, position_model or randomised:FILE"


@dataclass(frozen=True)
class Chances:
    """The chance of each row's item (`p`), or of each row's place to be looked at (`examination`)."""

    source: str
    estimated: bool
    p: np.ndarray | None = None
    examination: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def read_chances(propensity: Any, table: RoleTable, *, columns: ColumnMap) -> Chances:
    """Propensities of the log's rows, checked.

    >>> log = RoleTable(pl.DataFrame({"item": ["a", "a", "b", "c"], "reward": [0, 1, 0, 0]}), "log", {})
    >>> read_chances("display_share", log, columns={}).p.tolist()
    [0.5, 0.5, 0.25, 0.25]
    """
    log = table.frame
    if propensity is None or (isinstance(propensity, str) and propensity.startswith("column:")):
        return _given(table, None if propensity is None else propensity.partition(":")[2])
    if isinstance(propensity, Propensity) or is_table(propensity):
        return _looked_up(propensity, log)
    kind, _, detail = str(propensity).partition(":")
    if kind == "uniform":
        items = log["item"].n_unique()
        return Chances(f"uniform over the {items:,} items of the log", False, np.full(len(log), 1 / items))
    if kind == "display_share":
        return _shares(log)
    if kind == "popularity":
        return _popularity(log, detail)
    if kind in ("position_model", "randomised", "randomized"):
        return _examination(kind, detail, table, columns)
    raise DefinitionError("unknown source of propensities", found=repr(propensity), do=f"give {_FORMS}")


def _given(table: RoleTable, name: str | None) -> Chances:
    if name is None and "propensity" not in table.frame.columns:
        raise DataError(
            "the log has no propensities: how likely each item was to be shown",
            where=table.name,
            found="no propensity column",
            do=f"name the column, or choose how to estimate them, with propensity= (--propensity): {_FORMS}",
        )
    column = table.column(name, what="propensities") if name is not None else "propensity"
    p = numbers(table.frame, column, where=table.name, role="propensity")
    return Chances("the log", False, _checked(table.frame.with_columns(p), column, table.name))


def _checked(log: pl.DataFrame, column: str, where: str) -> np.ndarray:
    p = log[column]
    wrong = (p <= 0) | (p > 1)
    if wrong.any():
        what = "propensities must be above 0 and at most 1"
        do = "correct these rows or estimate the propensities: an item that was shown had a probability above 0"
        raise bad_rows(log, wrong, column, what, where=where, do=do)
    return p.to_numpy()


def _looked_up(source: Any, log: pl.DataFrame) -> Chances:
    found = Propensity.read(source, train=None, test=None)  # type: ignore[arg-type]  # tables and objects need no log
    p = found.of(log).to_numpy()
    if found.keys == ["position"]:
        return Chances(found.source, True, examination=p, notes=found.notes)
    return Chances(found.source, not found.source.startswith(("table", "column")), p)


def _shares(log: pl.DataFrame) -> Chances:
    """Share of an item among the rows of a position."""
    keys = [key for key in ("position",) if key in log.columns]
    counts = log.group_by([*keys, "item"]).agg(p=pl.len().cast(pl.Float64))
    total = pl.col("p").sum()
    table = counts.with_columns(p=pl.col("p") / (total.over(keys) if keys else total))
    source = "display share" + (" by position" if keys else "")
    return Chances(source, True, Propensity(table, source).of(log).to_numpy())


def _popularity(log: pl.DataFrame, gamma: str) -> Chances:
    """The popularity power law, scaled so that the chances of all items add up to 1; a log of what was shown has a row
    for each time, and all of them count."""
    found = Propensity.popularity(log, gamma=read_gamma(gamma, where=f"popularity:{gamma}"), count="rows")
    table = found.table.with_columns(p=pl.col("p") / pl.col("p").sum())
    source = f"popularity, gamma={float(gamma):g}"  # every item of the log is seen in it
    return Chances(source, True, Propensity(table, source).of(log).to_numpy())


def _examination(kind: str, detail: str, log: RoleTable, columns: ColumnMap) -> Chances:
    if kind != "position_model" and not detail:
        raise DefinitionError("the randomised slice must be a file", found=kind, do="randomised:slice.csv")
    source = log if kind == "position_model" else read_log(detail, columns)
    for table in (log, source):
        if "position" not in table.frame.columns:
            raise DataError(
                "the position-based model needs positions",
                where=table.name,
                found="columns " + shortened(table.names),
                do="name their column with position='…' (--position slot)",
            )
    clicks = source.frame.select("item", "position", click=pl.col("reward"))
    wrong = ~clicks["click"].is_in([0.0, 1.0])
    if wrong.any():
        what = "the position-based model needs clicks that are 0 or 1"
        do = "name the column of clicks as reward"
        raise bad_rows(source.frame, wrong, "reward", what, where=source.name, do=do)
    fitted = Propensity.position(clicks) if kind == "position_model" else Propensity.randomised(clicks)
    return Chances(fitted.source, True, examination=fitted.of(log.frame).to_numpy(), notes=fitted.notes)
