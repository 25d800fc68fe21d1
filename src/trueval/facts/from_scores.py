"""Facts from a system that scores: one blocked pass gives lists and exact ranks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trueval.design.task import Task
from trueval.errors import DataError
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.seeds import derive
from trueval.progress import progress
from trueval.recommenders.protocol import Recommender

# Rows of one matrix product. A BLAS may round differently for different shapes, and for different rows of one
# product. So the shape is fixed, and a user's row is the user's place among all who are ranked for, modulo this:
# scores must not depend on how users are cut into blocks.
PRODUCT_ROWS = 64


def rank_system(
    system: Recommender,
    task: Task,
    *,
    depth: int = 100,
    ties: str = "random",
    block: int = 256,
    name: str = "system",
) -> RankingFacts:
    """Rank every unit's targets with a fitted system.

    `depth` is the length of the lists kept; ranks are exact to the last target whatever it is. `block` is
    the number of units one worker takes at a time; it changes nothing but speed.
    """
    units = len(task.unit_user)
    judged = len(task.judged.rows.item)
    depth = max(1, min(depth, len(task.candidates)))
    out = _Output(units, judged, depth)
    scorer = _Scorer(system, task)
    work = units * (len(task.candidates) if task.sample is None else 10 * (task.design.sample or 1))
    kernels = choose("ranking", work)

    def rank(part: slice) -> tuple[slice, np.ndarray]:
        splits = np.zeros(depth, np.int64)
        _rank_block(kernels, scorer, task, part, ties, out, splits, name)
        return part, splits

    # workers bring the parallelism; a BLAS with threads of its own would fight them
    with threadpool_limits(1, user_api="blas"), progress(f"ranking {name}", units) as step:
        for part, splits in in_order(rank, blocks(units, block)):
            out.splits += splits
            step(part.stop - part.start)
    return _facts(task, out, ties)


class _Output:
    """Arrays that the blocks fill, each its own part."""

    def __init__(self, units: int, judged: int, depth: int) -> None:
        self.top = np.full((units, depth), -1, np.int32)
        self.targets = np.zeros(units, np.int64)
        self.rank = np.zeros(judged, np.int32)
        self.above = np.zeros(judged, np.int32)
        self.tied = np.zeros(judged, np.int32)
        self.score = np.full(judged, np.nan, np.float32)
        self.splits = np.zeros(depth, np.int64)


class _Scorer:
    """Scores of a block of users for the candidates (full ranking) or for all items (sampled)."""

    def __init__(self, system: Recommender, task: Task) -> None:
        self.system = system
        whole = task.sample is not None or len(task.candidates) == len(task.items)
        self.columns = None if whole else task.candidates
        self.n_items = len(task.items)
        self.ranked = np.unique(task.unit_user)
        self.kept = threading.local()
        self.factors: tuple[np.ndarray, np.ndarray] | None = None
        offered: Any = getattr(system, "factors", None)
        if offered is not None:
            user_factors, item_factors = offered()
            chosen = item_factors if self.columns is None else item_factors[self.columns]
            kind = np.result_type(user_factors, item_factors)
            kind = kind if kind in (np.float32, np.float64) else np.dtype(np.float64)
            self.factors = user_factors, np.ascontiguousarray(chosen.T, dtype=kind)

    def __call__(self, users: np.ndarray, name: str) -> np.ndarray:
        if self.factors is not None:
            return self._product(users)
        scores = np.asarray(self.system.score(users))
        if scores.shape != (len(users), self.n_items):
            raise DataError(
                f"{name} returned scores of the wrong shape",
                found=f"{scores.shape}, expected {(len(users), self.n_items)}",
                do="return one row per user asked for and one column per item",
            )
        if scores.dtype not in (np.float32, np.float64):
            scores = scores.astype(np.float64)
        return np.ascontiguousarray(scores if self.columns is None else scores[:, self.columns])

    def _product(self, users: np.ndarray) -> np.ndarray:
        assert self.factors is not None
        user_factors, item_factors = self.factors
        lead = int(np.searchsorted(self.ranked, users[0])) % PRODUCT_ROWS
        height = -(-(lead + len(users)) // PRODUCT_ROWS) * PRODUCT_ROWS
        scores = self._buffer(height, item_factors)
        rows = np.zeros((height, user_factors.shape[1]), item_factors.dtype)
        rows[lead : lead + len(users)] = user_factors[users]
        for part in blocks(height, PRODUCT_ROWS):
            np.matmul(rows[part], item_factors, out=scores[part])
        return scores[lead : lead + len(users)]

    def _buffer(self, height: int, item_factors: np.ndarray) -> np.ndarray:
        """A worker's own block of scores, used again for every block: fresh memory costs more than the product."""
        kept = getattr(self.kept, "scores", None)
        if kept is None or len(kept) < height:
            kept = self.kept.scores = np.empty((height, item_factors.shape[1]), item_factors.dtype)
        return kept[:height]


def _rank_block(
    kernels: Any,
    scorer: _Scorer,
    task: Task,
    part: slice,
    ties: str,
    out: _Output,
    splits: np.ndarray,
    name: str,
) -> None:
    users = task.unit_user[part]
    start = task.judged.rows.start[part.start : part.stop + 1]
    rows = slice(start[0], start[-1])
    judged_item = task.judged.rows.item[rows]
    shared = (users, derive(task.seed, "ties"), ties == "given", out.top.shape[1], out.top[part])
    ranks = (out.rank[rows], out.above[rows], out.tied[rows], splits)
    local = start - start[0]
    if task.sample is None:
        scores = scorer(users, name)
        columns = _columns(judged_item, task.candidates)
        barred_start = task.barred.start[part.start : part.stop + 1]
        barred = _columns(task.barred.item[barred_start[0] : barred_start[-1]], task.candidates)
        keep = barred >= 0
        barred_local = np.concatenate([[0], np.cumsum(keep)])[barred_start - barred_start[0]]
        owner = np.repeat(np.arange(len(users)), np.diff(start))
        inside = columns >= 0
        out.score[rows][inside] = scores[owner[inside], columns[inside]]
        bad = kernels.rank_rows(
            scores,
            task.candidates,
            barred_local,
            barred[keep],
            local,
            columns,
            *shared,
            out.targets[part],
            *ranks,
        )
    else:
        asked, which = np.unique(users, return_inverse=True)
        scores = scorer(asked, name)
        t_start = task.sample.start[part.start : part.stop + 1]
        targets = task.sample.item[t_start[0] : t_start[-1]]
        owner = np.repeat(np.arange(len(users)), np.diff(start))
        out.score[rows] = scores[which[owner], judged_item]
        places = _places(owner, judged_item, t_start - t_start[0], targets, len(task.items))
        out.targets[part] = np.diff(t_start)
        bad = kernels.rank_targets(scores, which, t_start - t_start[0], targets, local, places, *shared, *ranks)
    if bad >= 0:
        user = task.users.decode(users[bad : bad + 1])[0]
        raise DataError(
            f"{name} gave a score that is not a finite number",
            where=f"user {user!r}",
            found="NaN or infinity",
            do="give every item a finite score (a very low one for what must not be recommended)",
        )


def _columns(items: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Place of items among the sorted candidates, -1 outside."""
    if len(candidates) and candidates[-1] == len(candidates) - 1:
        return np.where(items < len(candidates), items, -1).astype(np.int32)
    place = np.minimum(np.searchsorted(candidates, items), len(candidates) - 1)
    return np.where(candidates[place] == items, place, -1).astype(np.int32)


def _places(owner: np.ndarray, items: np.ndarray, t_start: np.ndarray, targets: np.ndarray, n_items: int) -> np.ndarray:
    """Place of judged items among their own unit's sorted targets, -1 where they are not targets."""
    t_owner = np.repeat(np.arange(len(t_start) - 1, dtype=np.int64), np.diff(t_start))
    keys, wanted = t_owner * n_items + targets, owner.astype(np.int64) * n_items + items
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[place] == wanted if len(keys) else np.zeros(len(wanted), bool)
    return np.where(found, place - t_start[owner], -1).astype(np.int32)


def _facts(task: Task, out: _Output, ties: str) -> RankingFacts:
    order = choose("lists", len(out.rank)).order_rows(task.judged.rows.start, out.rank)
    length = np.minimum(out.targets, out.top.shape[1])
    full = bool((length == out.top.shape[1]).all())  # as a rule; then lists are the rows of the table as they are
    assert task.judged.rows.value is not None
    return RankingFacts(
        unit_user=task.unit_user,
        start=task.judged.rows.start,
        item=task.judged.rows.item[order],
        value=task.judged.rows.value[order],
        relevant=task.judged.relevant[order],
        rank=out.rank[order],
        above=out.above[order],
        tied=out.tied[order],
        score=out.score[order],
        list_start=np.concatenate([[0], np.cumsum(length)]),
        list_item=out.top.ravel() if full else out.top[out.top >= 0],
        targets=out.targets,
        users=task.users,
        items=task.items,
        catalogue=len(task.candidates),
        exact=True,
        highest=task.judged.highest,
        ties=ties,
        splits=out.splits,
        pool=task.pool if task.design.weights == "uniform" else None,
        one_relevant=task.design.resample,
    )
