"""The lists of a run: coded, by user, and in order."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import move_to_users, user_blocks
from trueval.data.coded_column import CodedColumn
from trueval.data.column_pieces import in_one_array
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.missing_ids import ids_missing, what_to_do
from trueval.data.together import users_together
from trueval.errors import DataError
from trueval.facts.invalid_places import REFUSE
from trueval.facts.run_checks import check_agreement, check_catalogue, check_ranks, not_finite
from trueval.facts.tie_rules import BY_ID, OF_LIBRARIES
from trueval.facts.truth import Truth
from trueval.kernels import choose, in_order
from trueval.kernels.seeds import derive

_STABLE = 15  # items up to which numba's sort is an insertion sort
_INTERPRETED = 100  # how much slower it is without a compiler


@dataclass(frozen=True, slots=True)
class OrderedLists:
    """Ordered lists by user; `score` is empty where only ranks were given."""

    start: np.ndarray
    item: np.ndarray
    score: np.ndarray
    distinct: bool  # known to have no equal scores in a list


def order_run(
    run: pl.DataFrame, truth: Truth, *, ties: str, name: str, items: CodedColumn | None = None,
    invalid: str = REFUSE,
) -> OrderedLists:  # fmt: skip
    """Code a run and put every list in order, equal scores by the tie rule; `items` is its column, if it is coded.

    Items outside the catalogue are refused, unless there is another rule for `invalid` places: they are then ordered
    among the others, and equal scores fall to them as to any item.
    """
    rule = ties
    if rule in OF_LIBRARIES:
        ties = "given"
        if "score" in run.columns:  # as in those libraries, ranks beside scores do not count
            run = run.drop("rank", strict=False)
    if rule in BY_ID:
        run, items = _by_falling_id(run, rule, name), None
    item = code_ids(run, "item", truth.items, name) if items is None else items.within(truth.items, keep=False)
    if invalid != REFUSE:
        item = _with_strangers(run, item, truth)
    elif truth.catalogue is not None:
        check_catalogue(run, item, truth.catalogue, name)
    has_score, has_rank = "score" in run.columns, "rank" in run.columns
    if not (has_score or has_rank or ties == "given"):
        raise DataError(
            "the run has neither a score nor a rank",
            where=name,
            found="columns " + ", ".join(run.columns),
            do="add one, name it with columns, or use ties=given if the rows are in order",
        )
    key = _sort_key(run, has_score=has_score, has_rank=has_rank, name=name)
    kernels = choose("lists", len(run))
    start, item, key = _by_user(kernels, run, truth.users, item, key, name)
    distinct = len(key) > 0 and _in_order(kernels, start, key)
    if len(key) and not distinct:
        key = key if key.flags.writeable else key.copy()  # codes are ours, scores may be the caller's
        if rule == "ranx" and has_score:
            _order_like_ranx(start, key, item)
        _sort(kernels, start, key, item, truth, ties=ties, name=name)
    if has_rank:
        check_ranks(start, key, item, truth, name)
        if has_score:
            check_agreement(run, code_ids(run, "user", truth.users, name), name)
        key = np.empty(0)
    return OrderedLists(start, item, key, distinct)


def _with_strangers(run: pl.DataFrame, item: np.ndarray, truth: Truth) -> np.ndarray:
    """The codes of a run, those of strangers behind those of items: each has its own chance among equal scores."""
    rows = np.flatnonzero(item < 0)
    if not len(rows):
        return item
    assert truth.strangers is not None
    item = item if item.flags.writeable else item.copy()
    strange = plain(run["item"].gather(pl.Series(rows, dtype=pl.UInt32)), where="run, column item")
    item[rows] = len(truth.items) + truth.strangers.codes(strange)
    return item


def _by_falling_id(run: pl.DataFrame, rule: str, name: str) -> pl.DataFrame:
    """Rows in the order in which the rule takes equal scores; trec_eval compares ids as text, scores with 32 bits."""
    item = plain(run["item"], where=f"{name}, column item")
    if rule == "trec_eval" and "score" in run.columns and run["score"].dtype.is_numeric():
        run = run.with_columns(pl.col("score").cast(pl.Float32))
    if rule == "trec_eval":
        item = item.cast(pl.String)
    return run[item.arg_sort(descending=True)]


def _order_like_ranx(start: np.ndarray, key: np.ndarray, item: np.ndarray) -> None:
    """Lists as ranx orders them when a run is made, and again when it is made comparable.

    It calls numba's sort, which keeps the order of equals in up to 15 items alone.
    """
    length = np.diff(start)
    work = int(length[length > _STABLE].sum())
    if work:
        kernels = choose("library_order", work * _INTERPRETED)
        kernels.order_twice(start, key, item, _STABLE + 1)


def code_ids(run: pl.DataFrame, role: str, vocabulary: Ids, name: str) -> np.ndarray:
    """Codes of the users or items of a run, -1 for those outside the vocabulary.

    >>> code_ids(pl.DataFrame({"item": ["b", "z"]}), "item", Ids(pl.Series(["a", "b"])), "run").tolist()
    [1, -1]
    """
    return vocabulary.codes(_ids(run, role, vocabulary, name))


def _ids(run: pl.DataFrame, role: str, vocabulary: Ids, name: str) -> pl.Series:
    """The users or items of a run, once it is known that they can be looked up."""
    column = plain(run[role], where=f"{name}, column {role}")
    if column.null_count():
        rows = f"{column.null_count():,} rows"  # in an order that is not the file's
        raise ids_missing(role, where=name, found=rows, do=what_to_do(role))
    check_same_kind(column, vocabulary.values, role=role, where=(name, "the test set"))
    return column


def _by_user(
    kernels: Any, run: pl.DataFrame, users: Ids, item: np.ndarray, key: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the list of each user starts, and items and keys in this order."""
    column = _ids(run, "user", users, name)
    together = users_together(column, users)
    if together is None:
        start = np.zeros(len(users) + 1, np.int64)
        return start, *kernels.group_lists(users.codes(column), start, item, key, keep=False)
    return move_to_users(*together, len(users), item, key)


def _in_order(kernels: Any, start: np.ndarray, key: np.ndarray) -> bool:
    """Whether every list already falls strictly: then there is nothing to sort and nothing tied."""
    return all(in_order(lambda part: kernels.falls(start, key, part.start, part.stop), user_blocks(len(start) - 1)))


def _sort_key(run: pl.DataFrame, *, has_score: bool, has_rank: bool, name: str) -> np.ndarray:
    column = run["rank"] if has_rank else run["score"] if has_score else None
    if column is None:
        return np.empty(0)
    if not column.dtype.is_numeric():
        raise DataError(
            "scores and ranks must be numbers",
            where=f"{name}, column {column.name}",
            found=f"type {column.dtype}",
        )
    if column.null_count():
        raise DataError(
            "scores or ranks are missing",
            where=f"{name}, column {column.name}",
            found=f"{column.null_count():,} rows",
        )
    if has_rank:
        return -in_one_array(column.cast(pl.Float64))
    return in_one_array(column if column.dtype == pl.Float32 else column.cast(pl.Float64))


def _sort(
    kernels: ModuleType, start: np.ndarray, key: np.ndarray, item: np.ndarray, truth: Truth, *, ties: str, name: str
) -> None:
    units = len(start) - 1
    users = np.arange(units) if truth.streams is None else truth.streams.astype(np.int64)
    seed = derive(truth.seed, "ties")

    def sort(part: slice) -> int:
        return kernels.order_lists(start, key, item, users, seed, ties == "given", part.start, part.stop)

    bad = [unit for unit in in_order(sort, user_blocks(units)) if unit >= 0]
    if bad:
        part = slice(start[bad[0]], start[bad[0] + 1])
        wrong = ~np.isfinite(key[part])
        user = truth.users.decode(np.array([bad[0]]))[0]
        examples = zip(truth.item_ids(item[part][wrong][:5]), key[part][wrong][:5])
        raise not_finite([(user, i, s) for i, s in examples], int((~np.isfinite(key)).sum()), name)
