"""Facts from recommendations already made: lists are coded, ordered and joined with the judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.judged import Judged, check_overlap
from trueval.design.task import Task
from trueval.errors import DataError, DefinitionError, rows_found
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import blocks, choose, in_order, threads
from trueval.kernels.seeds import derive


@dataclass(frozen=True, slots=True)
class Truth:
    """What runs are held against: coded judgements, train profiles, and the items there are.

    `catalogue` marks the items that may be recommended; None where nobody said which.
    """

    users: Ids
    items: Ids
    judged: Judged
    train: ByUser | None
    catalogue: np.ndarray | None
    seed: int = 0
    streams: np.ndarray | None = None  # numbers of the users' tie streams, where these are part of a whole


def run_facts(
    run: pl.DataFrame, truth: Truth, *, ties: str = "random", name: str = "run", whole: bool = True
) -> RankingFacts:
    """Facts of a run: a table with `user`, `item` and `score` or `rank` (or, with ties="given", neither).

    A part of a run (`whole=False`) may well have nothing in common with the test set, a whole run may not.
    """
    lists = order_run(run, truth, ties=ties, name=name)
    if whole:
        check_common_ids(run["user"], run["item"], truth, name)
    units = len(truth.users)
    rows = len(truth.judged.rows.item)
    rank, above, tied = (np.zeros(rows, np.int32) for _ in range(3))
    order = np.zeros(rows, np.int64)
    kernels = choose("lists", len(lists.item) + rows)

    def join(part: slice) -> int:
        return kernels.join_lists(
            lists.start, lists.item, lists.score, truth.judged.rows.start, truth.judged.rows.item, len(truth.items),
            part.start, part.stop, order, rank, above, tied,
        )  # fmt: skip

    doubled = list(in_order(join, _parts(units)))
    if max(doubled, default=-1) >= 0:
        _refuse_duplicates(lists, truth, name)
    splits = np.zeros(int(np.diff(lists.start).max(initial=0)), np.int64)
    if len(lists.score):
        kernels.count_splits(lists.start, lists.score, splits)
    assert truth.judged.rows.value is not None
    n_catalogue = len(truth.items) if truth.catalogue is None else int(truth.catalogue.sum())
    targets = np.zeros(units, np.int64)
    if truth.catalogue is not None:
        targets[:] = n_catalogue
        if truth.train is not None:
            targets -= truth.train.where(truth.catalogue[truth.train.item]).counts
    whole = truth.catalogue is not None and bool((np.diff(lists.start) == targets).all() and (rank > 0).all())
    return RankingFacts(
        unit_user=np.arange(units, dtype=np.int32),
        start=truth.judged.rows.start,
        item=truth.judged.rows.item[order],
        value=truth.judged.rows.value[order],
        relevant=truth.judged.relevant[order],
        rank=rank,
        above=above,
        tied=tied,
        list_start=lists.start,
        list_item=lists.item,
        targets=targets,
        users=truth.users,
        items=truth.items,
        catalogue=n_catalogue,
        exact=whole,
        ties=ties if len(lists.score) else "random",
        highest=truth.judged.highest,
        splits=splits,
    )


def run_task_facts(run: pl.DataFrame, task: Task, *, ties: str = "random", name: str = "run") -> RankingFacts:
    """Facts of a run under a design: its lists cut to each user's targets, which must not be sampled."""
    if task.sample is not None:
        raise DefinitionError(
            f"the run {name} cannot be judged under {task.design}",
            found="a list says nothing about the rank of targets it does not show",
            do="use a design with all non-relevant items (AN), or the model itself",
        )
    users = Ids(task.users.decode(task.unit_user))
    candidate = np.zeros(len(task.items), bool)
    candidate[task.candidates] = True
    truth = Truth(users, task.items, task.judged, task.barred, candidate, task.seed, task.unit_user)
    user = _ids(run, "user", users, name)
    item = _ids(run, "item", task.items, name)
    _check_catalogue(run, item, np.ones(len(task.items), bool), name)
    kept = candidate[item] & ~task.barred.contains(user, item)
    return run_facts(run.filter(pl.Series(kept)), truth, ties=ties, name=name).changed(
        unit_user=task.unit_user, users=task.users
    )


@dataclass(frozen=True, slots=True)
class Lists:
    """Ordered lists by user; `score` is empty where only ranks were given."""

    start: np.ndarray
    item: np.ndarray
    score: np.ndarray


def order_run(run: pl.DataFrame, truth: Truth, *, ties: str, name: str) -> Lists:
    """Code a run and put every list in order, equal scores by the tie rule."""
    user, item = (
        _ids(run, role, vocabulary, name) for role, vocabulary in (("user", truth.users), ("item", truth.items))
    )
    if truth.catalogue is not None:
        _check_catalogue(run, item, truth.catalogue, name)
    has_score, has_rank = "score" in run.columns, "rank" in run.columns
    if not (has_score or has_rank or ties == "given"):
        raise DataError(
            "the run has neither a score nor a rank",
            where=name,
            found="columns " + ", ".join(run.columns),
            do="add one, name it with columns, or say that rows are in order (ties=given)",
        )
    key = _sort_key(run, has_score=has_score, has_rank=has_rank, name=name)
    kernels = choose("lists", len(run))
    start = np.zeros(len(truth.users) + 1, np.int64)
    if not kernels.grouped_starts(user, start):
        order = kernels.group_order(user, start)
        item, key = item[order], key[order] if len(key) else key
    if len(key) and not _in_order(kernels, start, key):
        key = key if key.flags.writeable else key.copy()  # codes are ours, scores may be the caller's
        _sort(kernels, start, key, item, truth, ties=ties, name=name)
    if has_rank:
        _check_ranks(start, key, item, truth, name)
        if has_score:
            _check_agreement(run, user, item, truth, start, name)
        key = np.empty(0)
    return Lists(start, item, key)


def check_common_ids(users: pl.Series, items: pl.Series, truth: Truth, name: str) -> None:
    """Refuse a run without a user of the test set, or without an item: every value would be a silent zero."""
    judged = np.flatnonzero(np.bincount(truth.judged.rows.item, minlength=len(truth.items)))
    for what, column, vocabulary, there in (
        ("user", users, truth.users, np.arange(len(truth.users))),
        ("item", items, truth.items, judged),
    ):
        common = any(
            bool(np.isin(vocabulary.codes(plain(column[part.start : part.stop], where=name)), there).any())
            for part in blocks(len(column), 100_000)  # as a rule the first ones will do
        )
        check_overlap(
            np.full(min(len(column), 1), common),
            what=what,
            where=f"{name} and the test set",
            examples=(column.head(3).to_list(), vocabulary.decode(there[:3]).to_list()),
        )


def _ids(run: pl.DataFrame, role: str, vocabulary: Ids, name: str) -> np.ndarray:
    column = plain(run[role], where=f"{name}, column {role}")
    if column.null_count():
        raise DataError(
            f"{role} ids are missing",
            where=name,
            found=f"{column.null_count():,} rows",
            do="fill or drop them",
        )
    check_same_kind(column, vocabulary.values, role=role, where=(name, "the test set"))
    return vocabulary.codes(column)


def _parts(units: int) -> list[slice]:
    """Lists cut for the workers."""
    return blocks(units, max(1024, units // (4 * threads()) + 1))


def _in_order(kernels: Any, start: np.ndarray, key: np.ndarray) -> bool:
    """Whether every list already falls strictly: then there is nothing to sort and nothing tied."""
    return all(in_order(lambda part: kernels.falls(start, key, part.start, part.stop), _parts(len(start) - 1)))


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
        return -column.cast(pl.Float64).to_numpy()
    return (column if column.dtype == pl.Float32 else column.cast(pl.Float64)).to_numpy()


def _sort(kernels, start: np.ndarray, key: np.ndarray, item: np.ndarray, truth: Truth, *, ties: str, name: str) -> None:
    units = len(start) - 1
    users = np.arange(units) if truth.streams is None else truth.streams.astype(np.int64)
    seed = derive(truth.seed, "ties")

    def sort(part: slice) -> int:
        return kernels.order_lists(start, key, item, users, seed, ties == "given", part.start, part.stop)

    bad = [unit for unit in in_order(sort, _parts(units)) if unit >= 0]
    if bad:
        part = slice(start[bad[0]], start[bad[0] + 1])
        wrong = ~np.isfinite(key[part])
        shown = zip(truth.items.decode(item[part][wrong][:5]), key[part][wrong][:5])
        user = truth.users.decode(np.array([bad[0]]))[0]
        raise DataError(
            "scores must be finite numbers",
            where=name,
            found=rows_found([f"user {user}, item {i}: {s}" for i, s in shown], int((~np.isfinite(key)).sum())),
            do="drop these rows or give them a score",
        )


def _check_catalogue(run: pl.DataFrame, item: np.ndarray, catalogue: np.ndarray, name: str) -> None:
    outside = item < 0
    outside[~outside] = ~catalogue[item[~outside]]
    if outside.any():
        shown = [f"user {u}, item {i}" for u, i in run.select("user", "item").filter(pl.Series(outside)).head(5).rows()]
        raise DataError(
            "recommended items are outside the catalogue",
            where=name,
            found=rows_found(shown, int(outside.sum())),
            do="add them to the catalogue, or remove them from the run",
        )


def _refuse_duplicates(lists: Lists, truth: Truth, name: str) -> None:
    unit = np.repeat(np.arange(len(lists.start) - 1), np.diff(lists.start))
    pairs = pl.DataFrame({"unit": unit, "item": lists.item}).filter(pl.struct("unit", "item").is_duplicated())
    shown = pairs.unique().sort("unit", "item").head(5)
    ids = zip(truth.users.decode(shown["unit"].to_numpy()), truth.items.decode(shown["item"].to_numpy()))
    raise DataError(
        "an item is recommended to the same user twice",
        where=name,
        found=rows_found([f"user {u}, item {i}" for u, i in ids], len(pairs)),
        do="keep each item once in a list",
    )


def _check_ranks(start: np.ndarray, key: np.ndarray, item: np.ndarray, truth: Truth, name: str) -> None:
    unit = np.repeat(np.arange(len(start) - 1), np.diff(start))
    same = np.flatnonzero((key[1:] == key[:-1]) & (unit[1:] == unit[:-1]))
    if len(same):
        users = truth.users.decode(unit[same[:5]])
        found = [
            f"user {u}, items {' and '.join(map(str, truth.items.decode(item[j : j + 2])))}: rank {-key[j]:g}"
            for u, j in zip(users, same)
        ]
        raise DataError(
            "a list has the same rank twice",
            where=name,
            found=rows_found(found, len(same)),
            do="give every item its own rank",
        )


def _check_agreement(
    run: pl.DataFrame, user: np.ndarray, item: np.ndarray, truth: Truth, start: np.ndarray, name: str
) -> None:
    """Where both are given, a better rank must not have a worse score."""
    rows = run.select("user", "item", "score", "rank").with_columns(pl.Series("unit", user)).filter(pl.col("unit") >= 0)
    rows = rows.sort("unit", "rank")
    falls = rows["score"].diff() > 0
    wrong = falls & (rows["unit"].diff() == 0)
    if wrong.fill_null(False).any():
        shown = rows.filter(wrong.fill_null(False)).head(5)
        found = [
            f"user {u}, item {i}: rank {r}, score {s:g}"
            for u, i, s, r in shown.select("user", "item", "score", "rank").rows()
        ]
        raise DataError(
            "ranks contradict scores: a lower place has a higher score",
            where=name,
            found=rows_found(found, int(wrong.sum())),
            do="drop the column that is wrong (lower scores are better? then drop score)",
        )
