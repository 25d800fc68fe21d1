"""Task: a design applied to data. For every unit, what is judged, what is barred, what is ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.judgements import Judged, judge
from trueval.design.design import Design
from trueval.design.popular_head import count_ratings, drop_head, find_head
from trueval.design.sample import sample_targets
from trueval.design.targets import check_inside, check_unseen
from trueval.errors import DataError, DefinitionError, rows_found
from trueval.splits.parts import Parts
from trueval.splits.registry import split_of


@dataclass(frozen=True, slots=True)
class Task:
    """One target set per unit. Where `sample` is given it holds each unit's targets, otherwise they are the
    candidates less the barred items. Item and user numbers are codes into `items` and `users`."""

    design: Design
    users: Ids
    items: Ids
    unit_user: np.ndarray
    judged: Judged  # by unit
    barred: ByUser
    candidates: np.ndarray
    sample: ByUser | None
    train: ByUser  # all users
    short: int = 0  # units whose sample is smaller than asked for
    seed: int = 0
    pool: np.ndarray | None = None  # non-relevant candidates each unit's sample was drawn from


def make_tasks(
    parts: Parts,
    design: Design,
    *,
    threshold: float | None = None,
    everyone: bool = False,
    catalogue: pl.DataFrame | pl.Series | None = None,
    seed: int = 0,
) -> list[Task]:
    """The ranking tasks of a design: one, or one for each percentile.

    `everyone` adds users without a judgement (population "all"); `catalogue` is what LIST designs rank and,
    where given, what "all items" means: a column of items, or a table, whose `user` column lists each user's own.
    """
    if isinstance(catalogue, pl.Series):
        catalogue = catalogue.alias("item").to_frame()
    listed = None if catalogue is None else plain(catalogue["item"], where="catalogue")
    users, items = _vocabularies(parts, listed)
    own = _own_lists(design, catalogue, users, items)
    judged = judge(parts.test, users, items, threshold=threshold)
    by_popularity = design.head or design.percentiles or design.weights == "popularity"
    popularity = count_ratings(parts.train, parts.test, items) if by_popularity else np.empty(0, np.int64)
    if design.uniform and not ((made := split_of(parts.how)) and made.uniform):
        raise DefinitionError(
            f"the design {design} needs a uniform_test split",
            found=f"a {parts.how.get('how', 'given')} split",
            do='split with how="uniform_test"',
        )
    candidates = _candidates(design, judged.rows.item, items, listed)
    offered = np.zeros(len(items), bool)
    offered[candidates] = True
    check_inside(judged, offered, users, items, where=str(design))
    if design.head:
        head = find_head(popularity, design.head, where=str(design))
        judged = drop_head(judged, head, where=str(design))
        candidates = np.setdiff1d(candidates, head, assume_unique=True)
    train = ByUser.code(parts.train.frame, users, items).distinct()
    if design.seen == "exclude":
        check_unseen(train, judged, users, items, where=f"{parts.train.name} and {parts.test.name}")
    strata = _percentiles(candidates, popularity, design.percentiles) if design.percentiles else [candidates]
    units = np.arange(len(users)) if everyone else np.flatnonzero(judged.rows.counts)
    return [_task(design, users, items, units, judged, train, stratum, popularity, own, seed) for stratum in strata]


def _task(
    design: Design, users: Ids, items: Ids, units: np.ndarray, judged: Judged, train: ByUser,
    candidates: np.ndarray, popularity: np.ndarray, lists: ByUser | None, seed: int,
) -> Task:  # fmt: skip
    judged = judged.where(np.isin(judged.rows.item, candidates))
    if design.percentiles:
        units = units[judged.rows.where(judged.relevant).counts[units] > 0]
    unit_user = units.astype(np.int32)
    judged = judged.pick(units)
    relevant = judged.rows.where(judged.relevant)
    own = relevant
    if design.resample:  # every relevant item becomes a unit of its own before sampling
        owner = own.user
        unit_user = unit_user[owner]
        own = ByUser(np.arange(len(owner) + 1), own.item, own.value)
        judged = Judged(own, np.ones(len(owner), bool), judged.highest)
        relevant = relevant.pick(owner)
    seen = train.pick(unit_user) if design.seen == "exclude" else ByUser.empty(len(unit_user))
    sample, pool, short = None, None, 0
    if lists is not None:
        offered = lists.pick(unit_user)
        offered = offered.where(np.isin(offered.item, candidates))  # less the head
        sample = _targets_of(offered, seen, judged, unit_user, users, items)
    if design.sample:
        sample, pool = sample_targets(design, candidates, popularity, seen, relevant, own, unit_user, len(items), seed)
        short = int((pool < design.sample).sum())
    return Task(design, users, items, unit_user, judged, seen, candidates, sample, train, short, seed, pool)


def _vocabularies(parts: Parts, catalogue: pl.Series | None) -> tuple[Ids, Ids]:
    logs = [log for log in (parts.train, parts.validation, parts.test, parts.observed) if log is not None]
    for role in ("user", "item"):
        for log in logs[1:]:
            check_same_kind(logs[0].frame[role], log.frame[role], role=role, where=(logs[0].name, log.name))
    columns = [log.frame["item"] for log in logs]
    if catalogue is not None:
        check_same_kind(logs[0].frame["item"], catalogue, role="item", where=(logs[0].name, "catalogue"))
        columns.append(catalogue)
    return Ids.of(*(log.frame["user"] for log in logs)), Ids.of(*columns)


def _candidates(design: Design, judged: np.ndarray, items: Ids, catalogue: pl.Series | None) -> np.ndarray:
    if design.candidates == "TI":
        tested = np.zeros(len(items), bool)  # to mark them is faster than to sort or hash the items of all judgements
        tested[judged] = True
        return np.flatnonzero(tested).astype(np.int32)
    if catalogue is not None:
        return np.unique(items.codes(catalogue))
    if design.candidates == "LIST":
        raise DefinitionError(
            "a LIST design needs the list of candidate items",
            where=str(design),
            do="pass items=… (--items FILE)",
        )
    return np.arange(len(items), dtype=np.int32)


def _own_lists(design: Design, catalogue: pl.DataFrame | None, users: Ids, items: Ids) -> ByUser | None:
    """Candidates user by user, where the catalogue lists them so."""
    if design.candidates != "LIST" or catalogue is None or "user" not in catalogue.columns:
        return None
    if design.sample or design.percentiles:
        raise DefinitionError(
            "candidates listed by user cannot be sampled or cut", where=str(design), do="use …-LIST-AN"
        )
    rows = catalogue.select("user", "item").with_columns(plain(catalogue["user"], where="catalogue"))
    check_same_kind(users.values, rows["user"], role="user", where=("the log", "catalogue"))
    return ByUser.code(rows, users, items).distinct()


def _targets_of(lists: ByUser, seen: ByUser, judged: Judged, unit_user: np.ndarray, users: Ids, items: Ids) -> ByUser:
    """Each unit's listed candidates that its user has not seen; relevant items must be among them."""
    outside = judged.relevant & ~lists.contains(judged.rows.user, judged.rows.item)
    if outside.any():
        first = np.flatnonzero(outside)[:5]
        pairs = zip(users.decode(unit_user[judged.rows.user[first]]), items.decode(judged.rows.item[first]))
        raise DataError(
            "relevant test items are not among the candidates of their users",
            where="catalogue",
            found=rows_found([f"user {u}, item {i}" for u, i in pairs], int(outside.sum())),
            do="add them to the users' lists",
        )
    return lists.where(~seen.contains(lists.user, lists.item))


def _percentiles(candidates: np.ndarray, popularity: np.ndarray, number: int) -> list[np.ndarray]:
    """Candidates cut into popularity percentiles of (nearly) equal size, most popular first."""
    if number > len(candidates):
        raise DefinitionError(
            f"{number} percentiles cannot be made of {len(candidates)} candidate items",
            do=f"at most P1R{len(candidates)} is possible",
        )
    by_popularity = candidates[np.lexsort((candidates, -popularity[candidates]))]
    return [np.sort(part) for part in np.array_split(by_popularity, number)]
