"""The target policy: the probability of showing each item, in each case that it distinguishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.column_roles import shortened
from trueval.data.ids import check_same_kind, plain
from trueval.data.read import locate
from trueval.data.role_names import ColumnMap
from trueval.errors import DataError, DefinitionError, rows_found
from trueval.online.ope.log import check_known
from trueval.online.ope.tables import RoleTable, bad_rows, bandit_table, numbers, read_roles

_FORMS = "a table or file of probabilities, a log of the policy, 'uniform', 'column:NAME' or 'choice:NAME'"
_ROLES = bandit_table(needs=("item",), may_have=("user", "position", "reward", "probability"))
_TOLERANCE = 1e-4  # of probabilities that should add up to 1: tables are written with some digits


@dataclass(frozen=True)
class Policy:
    """Probabilities of items by the columns in `keys`; items that are not in the table have probability 0.

    Where only the probabilities of the shown items are known, there is no table but the name of their column.
    """

    source: str
    table: pl.DataFrame | None  # keys, item, probability
    keys: tuple[str, ...] = ()
    column: str | None = None
    own_log: pl.DataFrame | None = None  # of the policy itself, where there is one

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """The probability of the item of each row."""
        if self.table is None:
            return rows[self.column or ""]
        on = [*self.keys, "item"]
        found = rows.select(on).join(self.table, on=on, how="left", maintain_order="left")
        return found["probability"].fill_null(0.0)


def read_policy(target: Any, log: RoleTable, *, columns: ColumnMap) -> Policy:
    """The target policy in any of its forms.

    A table of item, probability and, where they matter, position and context columns of the log; the same
    without probabilities, one item per context (a deterministic policy); a log of the policy, with rewards,
    whose shares of items by position stand for it; "uniform" over the items of the log; "column:NAME", the
    policy's probability of each shown item; "choice:NAME", the item it would have shown in each row.

    >>> log = RoleTable(pl.DataFrame({"item": ["a", "b"], "reward": [1, 0]}), "log", {})
    >>> read_policy("uniform", log, columns={}).of(log.frame).to_list()
    [0.5, 0.5]
    """
    if isinstance(target, Policy):
        return target
    if isinstance(target, str):
        kind, colon, detail = target.partition(":")
        if target == "uniform":
            items = log.frame.select(pl.col("item").unique().sort())
            return Policy(f"uniform over {len(items):,} items of the log", items.with_columns(probability=1 / pl.len()))
        if colon and kind in ("column", "choice") and detail:
            name = log.column(detail, what="target policy")
            return _column(log, name) if kind == "column" else _choice(log, name)
        if not Path(target).exists() and not Path(target).suffix:
            raise DefinitionError("unknown target policy", found=repr(target), do=f"give {_FORMS}")
        locate(target)
    table = read_roles(target, columns, roles=_ROLES, name="target", side=True)
    check_same_kind(log.frame["item"], table.frame["item"], role="item", where=(log.name, table.name))
    policy = _of_log(table, log) if "reward" in table.frame.columns else _of_table(table, log)
    _check_cases(policy, log)
    return policy


def _column(log: RoleTable, name: str) -> Policy:
    p = numbers(log.frame, name, where=log.name, role="target probability")
    _check_range(log.frame.with_columns(p), name, log.name)
    return Policy(f"column {name}", None, column=name)


def _choice(log: RoleTable, name: str) -> Policy:
    if name in ("item", "probability"):
        raise DefinitionError(
            "the items that the policy would have shown need a column of their own",
            where=log.name,
            found=f"choice:{name}, the {'items that were shown' if name == 'item' else 'probabilities'}",
            do="name the column of the policy's own items, choice:NAME",
        )
    chosen = plain(log.frame[name], where=f"{log.name}, column {name}")
    check_same_kind(log.frame["item"], chosen, role="item", where=("shown items", f"column {name}"))
    if chosen.null_count():
        do = "fill in the item that the policy shows in every row"
        raise bad_rows(log.frame, chosen.is_null(), name, "the chosen item is missing", where=log.name, do=do)
    table = log.frame.select(name, item=chosen, probability=pl.lit(1.0)).unique().sort("item")
    return Policy(f"deterministic, column {name}", table, (name,))


def _of_log(table: RoleTable, log: RoleTable) -> Policy:
    frame = table.frame.with_columns(numbers(table.frame, "reward", where=table.name).alias("reward"))
    keys = [key for key in ("position",) if key in frame.columns and key in log.frame.columns]
    shares = frame.group_by([*keys, "item"]).agg(probability=pl.len().cast(pl.Float64)).sort([*keys, "item"])
    total = pl.col("probability").sum()
    shares = shares.with_columns(probability=pl.col("probability") / (total.over(keys) if keys else total))
    by = " by position" if keys else ""
    return Policy(f"shares of items{by} in {len(frame):,} rows of {table.name}", shares, tuple(keys), own_log=frame)


def _of_table(table: RoleTable, log: RoleTable) -> Policy:
    frame = table.frame
    keys = [column for column in frame.columns if column not in ("item", "probability")]
    unknown = [key for key in keys if key not in log.frame.columns]
    if unknown:
        raise DataError(
            f"the policy depends on {unknown[0]!r}, which is not a column of the log",
            where=table.name,
            found=f"columns of the log: {shortened(log.names)}",
            do="drop the column, or call it `probability` if it holds the probabilities",
        )
    for key in keys:
        check_known(table, key)
        check_known(log, key)
    name = "table" if table.name == "target" else table.name
    if "probability" not in frame.columns:
        _check_single(frame, keys, table.name)
        return Policy(f"deterministic, {name}", frame.with_columns(probability=pl.lit(1.0)), tuple(keys))
    frame = frame.with_columns(numbers(frame, "probability", where=table.name).alias("probability"))
    _check_range(frame, "probability", table.name)
    _check_distributions(frame, keys, table.name)
    kept = frame.filter(pl.col("probability") > 0).select(*keys, "item", "probability").sort([*keys, "item"])
    return Policy(name, kept, tuple(keys))


def _check_range(frame: pl.DataFrame, column: str, where: str) -> None:
    wrong = (frame[column] < 0) | (frame[column] > 1 + 1e-9)
    if wrong.any():
        what = "probabilities of the target policy must lie between 0 and 1"
        raise bad_rows(frame, wrong, column, what, where=where, do="correct these rows")


def _check_single(frame: pl.DataFrame, keys: Sequence[str], name: str) -> None:
    same = ", ".join(keys) or "case"
    many = frame.select(keys).is_duplicated() if keys else pl.repeat(len(frame) > 1, len(frame), eager=True)
    if many.any():
        raise DataError(
            "a policy without probabilities must show one item per case",
            where=name,
            found=f"{int(many.sum()):,} rows for the same {same}; columns {shortened(frame.columns)}",
            do="add a column `probability`, or a reward column if this is a log of the policy",
        )


def _check_distributions(frame: pl.DataFrame, keys: Sequence[str], name: str) -> None:
    doubled = frame.select([*keys, "item"]).is_duplicated()
    if doubled.any():
        what = "the policy names an item twice in one case"
        raise bad_rows(frame, doubled, "probability", what, where=name, do="write each item of a case once")
    by = [pl.col(key) for key in keys] or [pl.lit("all").alias("cases")]
    totals = frame.group_by(by).agg(total=pl.col("probability").sum()).sort(pl.all())
    wrong = totals.filter((pl.col("total") - 1).abs() > _TOLERANCE)
    if len(wrong):
        examples = [
            ", ".join(f"{k} {row[k]}" for k in keys) + (": " if keys else "") + f"sum {row['total']:.6g}"
            for row in wrong.head(5).iter_rows(named=True)
        ]
        raise DataError(
            "probabilities of the target policy must add up to 1" + (f" for each {', '.join(keys)}" if keys else ""),
            where=name,
            found=rows_found(examples, len(wrong)).replace("row", "case", 1),
            do="give every item its probability; items left out count as 0",
        )


def _check_cases(policy: Policy, table: RoleTable) -> None:
    """Every case of the log must be one that the policy knows, and some items must be the same."""
    assert policy.table is not None
    log = table.frame
    for key in policy.keys:
        if policy.table.schema[key] != log.schema[key]:
            raise DataError(
                f"the column {key} has different types in the log and in the policy",
                where=policy.source,
                found=f"log {log.schema[key]}, policy {policy.table.schema[key]}",
                do="write it with one type in both tables",
            )
    if policy.keys:
        lost = log.select(policy.keys).unique().join(policy.table, on=policy.keys, how="anti").sort(policy.keys)
        if len(lost):
            examples = [", ".join(f"{k} {v}" for k, v in row.items()) for row in lost.head(5).rows(named=True)]
            raise DataError(
                "the policy does not cover some cases of the log",
                where=policy.source,
                found=rows_found(examples, len(lost)).replace("row", "case", 1),
                do="add these cases to the policy, or drop their rows from the log",
            )
    if not policy.table["item"].is_in(log["item"].unique().to_list()).any():
        raise DataError(
            "no item of the policy is in the log",
            where=f"{policy.source} and {table.name}",
            found=f"policy e.g. {policy.table['item'][0]!r}, log e.g. {log['item'][0]!r}",
            do="use the same item ids in both",
        )
