"""Task: a design applied to data. For every unit, what is judged, what is barred, what is ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.interactions import Interactions
from trueval.data.judged import judge
from trueval.design.design import Design
from trueval.design.sample import sample_targets
from trueval.errors import DataError, DefinitionError, rows_found
from trueval.splits.parts import Parts


@dataclass(frozen=True, slots=True)
class Task:
    """One target set per unit. Where `sample` is given it holds each unit's targets, otherwise they are the
    candidates less the barred items. Item and user numbers are codes into `items` and `users`."""

    design: Design
    users: Ids
    items: Ids
    unit_user: np.ndarray
    judged: ByUser
    relevant: np.ndarray
    barred: ByUser
    candidates: np.ndarray
    sample: ByUser | None
    train: ByUser  # all users
    short: int = 0  # units whose sample is smaller than asked for
    seed: int = 0


def make_tasks(
    parts: Parts,
    design: Design,
    *,
    threshold: float | None = None,
    everyone: bool = False,
    catalogue: pl.Series | None = None,
    seed: int = 0,
) -> list[Task]:
    """The ranking tasks of a design: one, or one for each percentile.

    `everyone` adds users without a judgement (population "all"); `catalogue` is the list of items that
    LIST designs rank and, where given, what "all items" means.
    """
    judgements = judge(parts.test.frame, threshold=threshold, where=parts.test.name)
    users, items = _vocabularies(parts, catalogue)
    popularity = _popularity(parts, items)
    if design.uniform and parts.how.get("how") != "uniform_test":
        raise DefinitionError(
            f"the design {design} needs a uniform_test split",
            found=f"a {parts.how.get('how', 'given')} split",
            do='split with how="uniform_test"',
        )
    rows = judgements.with_columns(pl.Series("code", items.codes(judgements["item"])))
    test_items = np.unique(rows["code"].to_numpy())
    candidates = _candidates(design, test_items, items, catalogue)
    _check_inside(rows, candidates, items, design)
    if design.head:
        head = _head(popularity, design.head)
        rows = rows.filter(~pl.Series(np.isin(rows["code"].to_numpy(), head)))
        candidates = np.setdiff1d(candidates, head, assume_unique=True)
        if not rows["relevant"].any():
            raise DataError(
                "no relevant test item is left once the head is removed", where=str(design), do="remove less"
            )
    train = ByUser.code(parts.train.frame.select("user", "item").unique(), users, items)
    judged = ByUser.of(users.codes(rows["user"]), rows["code"].to_numpy(), np.arange(len(rows)), n_users=len(users))
    order = judged.value
    assert order is not None
    judged = ByUser(judged.start, judged.item, rows["value"].to_numpy()[order])
    relevant = rows["relevant"].to_numpy()[order]
    if design.seen == "exclude":
        _check_unseen(train, judged, users, items, parts)
    strata = _percentiles(candidates, popularity, design.percentiles) if design.percentiles else [candidates]
    units = np.arange(len(users)) if everyone else np.flatnonzero(judged.counts)
    return [
        _task(design, users, items, units, judged, relevant, train, stratum, popularity, seed) for stratum in strata
    ]


def _task(
    design: Design, users: Ids, items: Ids, units: np.ndarray, judged: ByUser, relevant: np.ndarray,
    train: ByUser, candidates: np.ndarray, popularity: np.ndarray, seed: int,
) -> Task:  # fmt: skip
    inside = np.isin(judged.item, candidates)
    judged, relevant = judged.where(inside), relevant[inside]
    if design.percentiles:
        units = units[judged.where(relevant).counts[units] > 0]
    unit_user = units.astype(np.int32)
    rows = ByUser(judged.start, judged.item, np.arange(len(judged.item))).pick(units)
    picked = rows.value
    assert picked is not None and judged.value is not None
    judged, relevant = ByUser(rows.start, rows.item, judged.value[picked]), relevant[picked]
    if design.resample:  # every relevant item becomes a unit of its own before sampling
        alone = np.flatnonzero(relevant)
        all_relevant = judged.where(relevant)
        owner = judged.user[alone]
        unit_user = unit_user[owner]
        judged = ByUser(
            np.arange(len(alone) + 1),
            judged.item[alone],
            judged.value[alone] if judged.value is not None else None,
        )
        relevant = np.ones(len(alone), bool)
        relevant_rows = all_relevant.pick(owner)
    else:
        relevant_rows = judged.where(relevant)
    seen = train.pick(unit_user) if design.seen == "exclude" else ByUser.empty(len(unit_user))
    sample, short = None, 0
    if design.sample:
        sample, short = sample_targets(
            design,
            candidates,
            popularity,
            seen,
            relevant_rows,
            judged.where(relevant),
            unit_user,
            len(items),
            seed,
        )
    return Task(design, users, items, unit_user, judged, relevant, seen, candidates, sample, train, short, seed)


def _vocabularies(parts: Parts, catalogue: pl.Series | None) -> tuple[Ids, Ids]:
    logs = [log for log in (parts.train, parts.validation, parts.test) if log is not None]
    for role in ("user", "item"):
        for log in logs[1:]:
            check_same_kind(logs[0].frame[role], log.frame[role], role=role, where=(logs[0].name, log.name))
    columns = [log.frame["item"] for log in logs]
    if catalogue is not None:
        catalogue = plain(catalogue, where="catalogue")
        check_same_kind(logs[0].frame["item"], catalogue, role="item", where=(logs[0].name, "catalogue"))
        columns.append(catalogue)
    return Ids.of(*(log.frame["user"] for log in logs)), Ids.of(*columns)


def _popularity(parts: Parts, items: Ids) -> np.ndarray:
    """Number of ratings of each item in train and test together."""
    logs: list[Interactions] = [parts.train, parts.test]
    codes = np.concatenate([items.codes(log.frame["item"]) for log in logs])
    return np.bincount(codes, minlength=len(items))


def _candidates(design: Design, test_items: np.ndarray, items: Ids, catalogue: pl.Series | None) -> np.ndarray:
    if design.candidates == "TI":
        return test_items
    if catalogue is not None:
        return np.unique(items.codes(plain(catalogue, where="catalogue")))
    if design.candidates == "LIST":
        raise DefinitionError(
            "a LIST design needs the list of candidate items",
            where=str(design),
            do="pass items=… (--items FILE)",
        )
    return np.arange(len(items), dtype=np.int32)


def _check_inside(rows: pl.DataFrame, candidates: np.ndarray, items: Ids, design: Design) -> None:
    outside = ~np.isin(rows["code"].to_numpy(), candidates)
    if outside.any():
        shown = [
            f"user {u}, item {i}" for u, i in rows.filter(pl.Series(outside)).select("user", "item").head(5).rows()
        ]
        raise DataError(
            "test items are outside the given catalogue",
            where=str(design),
            found=rows_found(shown, int(outside.sum())),
            do="add them to the catalogue, or drop them from the test set",
        )


def _head(popularity: np.ndarray, share: float) -> np.ndarray:
    """The most-rated share of all items that were rated at all."""
    number = round(share * np.count_nonzero(popularity))
    return np.sort(np.lexsort((np.arange(len(popularity)), -popularity))[:number])


def _percentiles(candidates: np.ndarray, popularity: np.ndarray, number: int) -> list[np.ndarray]:
    """Candidates cut into popularity percentiles of (nearly) equal size, most popular first."""
    if number > len(candidates):
        raise DefinitionError(
            f"{number} percentiles of {len(candidates)} candidate items",
            do=f"at most P1R{len(candidates)} is possible",
        )
    by_popularity = candidates[np.lexsort((candidates, -popularity[candidates]))]
    return [np.sort(part) for part in np.array_split(by_popularity, number)]


def _check_unseen(train: ByUser, judged: ByUser, users: Ids, items: Ids, parts: Parts) -> None:
    """A test pair that is also in train could never be ranked, and would only look like a miss."""
    seen = train.contains(judged.user, judged.item)
    if seen.any():
        pairs = zip(users.decode(judged.user[seen][:5]), items.decode(judged.item[seen][:5]))
        raise DataError(
            "test pairs are also in the train set, whose items are not ranked",
            where=f"{parts.train.name} and {parts.test.name}",
            found=rows_found([f"user {u}, item {i}" for u, i in pairs], int(seen.sum())),
            do="drop them from one of the two, or allow seen items (design …-seen)",
        )
