"""Facts from a system that scores: one blocked pass gives lists and exact ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueval.data.judgements import Judged
from trueval.design.task import Task
from trueval.errors import DataError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.scorer import MOST_ROWS, PRODUCT_ROWS, Scorer
from trueval.facts.tie_rules import SETTLED, with_ties
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.seeds import derive
from trueval.kernels.threads import threads
from trueval.memory import need_memory
from trueval.progress import progress
from trueval.recommenders.protocol import Recommender
from trueval.statistics.resampling import one_thread

BLOCK = 256  # units that one worker takes at a time


def rank_system(
    system: Recommender,
    task: Task,
    *,
    depth: int = 100,
    ties: str = "random",
    block: int | None = None,
    name: str = "system",
) -> RankingFacts:
    """Rank every unit's targets with a fitted system.

    `depth` is the length of the lists kept; ranks are exact to the last target whatever it is. `block` is the number
    of units one worker takes at a time (256, or as many as one product of factors is made for); it changes nothing but
    speed.
    """
    units = len(task.unit_user)
    depth = max(1, min(depth, len(task.candidates)))
    # one place more tells whether the last item of a list has equals behind it
    out = _Output(task.judged, depth) if ties in SETTLED else _Output(task.judged, depth + 1, equals=True)
    scorer = Scorer(system, task)
    if scorer.factors is None:  # whose products are made in small pieces
        at_once = min(units, (block or BLOCK) * threads())
        what = f"scores of {len(task.items):,} items for {at_once:,} users at once"
        need_memory(4.0 * at_once * len(task.items), what, where=name, do="use fewer threads, or fewer items")
    work = units * (len(task.candidates) if task.sample is None else 10 * (task.design.sample or 1))
    kernels = choose("ranking", work)

    def rank(part: slice) -> tuple[slice, np.ndarray]:
        splits = np.zeros_like(out.splits)
        _rank_block(kernels, scorer, task, part, ties, out, splits, name)
        return part, splits

    # workers bring the parallelism; a BLAS with threads of its own would fight them
    with one_thread(), progress(f"ranking {name}", units) as step:
        users = max(len(scorer.ranked), 1)
        scorer.widen((block or MOST_ROWS) * users // max(units, 1))
        widest = scorer.rows * units // users if scorer.rows > PRODUCT_ROWS else 0
        for part, splits in in_order(rank, blocks(units, block or max(BLOCK, widest))):
            out.splits += splits
            step(part.stop - part.start)
    facts = _facts(task, out, depth)
    return facts.changed(ties=ties) if ties in SETTLED else with_ties(facts, ties)


class _Output:
    """Arrays that the blocks fill, each its own part. Judged items stand best first, as the kernel leaves them."""

    def __init__(self, judged: Judged, depth: int, *, equals: bool = False) -> None:
        assert judged.rows.value is not None
        units, rows = len(judged.rows.start) - 1, len(judged.rows.item)
        self.top = np.zeros((units, depth), np.int32)
        self.targets = np.zeros(units, np.int64)
        self.rank = np.zeros(rows, np.int32)
        self.above = np.zeros(rows, np.int32)
        self.tied = np.zeros(rows, np.int32)
        self.score = np.zeros(rows, np.float32)
        self.splits = np.zeros(depth, np.int64)
        self.same = np.zeros((units, depth), bool) if equals else None
        self.given = (judged.rows.item, judged.rows.value, judged.relevant)
        # what is the same for all (every value 1, everything relevant) is in order as it is
        self.item, self.value, self.relevant = (
            column if len(column) and column.min() == column.max() else np.zeros_like(column) for column in self.given
        )

    def judged(self, rows: slice, order: np.ndarray) -> tuple[np.ndarray, ...]:
        """What the kernel says of some judged items; which of them comes first it says in `order`."""
        return order, self.rank[rows], self.above[rows], self.tied[rows], self.score[rows]

    def compare(self, units: slice, scores: np.ndarray) -> None:
        """Note which items of some units' lists score like the next; `scores` are those of the lists."""
        if self.same is not None:
            both = (self.top[units, :-1] >= 0) & (self.top[units, 1:] >= 0)
            self.same[units, :-1] = both & (scores[:, :-1] == scores[:, 1:])

    def place(self, kernels: Any, start: np.ndarray, order: np.ndarray) -> None:
        """Put the judged items of some units where the kernel put their ranks."""
        for own, given in zip((self.item, self.value, self.relevant), self.given):
            if own is not given:
                kernels.follow(start, order, given, own)


def _rank_block(
    kernels: Any, scorer: Scorer, task: Task, part: slice, ties: str, out: _Output, splits: np.ndarray, name: str
) -> None:
    rank = _rank_all if task.sample is None else _rank_sample
    how = (derive(task.seed, "ties"), ties == "given", out.top.shape[1])
    bad = rank(kernels, scorer, task, part, how, out, splits, name)
    if bad >= 0:
        user = task.users.decode(task.unit_user[bad : bad + 1])[0]
        if hasattr(scorer.system, "refusal"):  # a system that knows why
            raise scorer.system.refusal(int(task.unit_user[bad]))
        raise DataError(
            f"{name} gave a score that is not a finite number",
            where=f"user {user!r}",
            found="NaN or infinity",
            do="give every item a finite score (a very low one for what must not be recommended)",
        )


def _rank_all(
    kernels: Any, scorer: Scorer, task: Task, part: slice, how: Any, out: _Output, splits: np.ndarray, name: str
) -> int:
    """Rank all candidates but the barred ones; the first unit with a score that is not finite, or -1."""
    start, barred_start = (rows.start[part.start : part.stop + 1] for rows in (task.judged.rows, task.barred))
    judged = _columns(task.judged.rows.item[start[0] : start[-1]], task.candidates)
    barred = _columns(task.barred.item[barred_start[0] : barred_start[-1]], task.candidates)
    barred_start = barred_start - barred_start[0]
    if len(barred) and barred.min() < 0:
        keep = barred >= 0
        barred, barred_start = barred[keep], np.concatenate([[0], np.cumsum(keep)])[barred_start]
    for piece, scores in scorer(task.unit_user[part], name):
        units = slice(part.start + piece.start, part.start + piece.stop)
        own = task.judged.rows.start[units.start : units.stop + 1]
        order = np.empty(own[-1] - own[0], np.int32)
        bad = kernels.rank_rows(
            scores, task.candidates, barred_start[piece.start : piece.stop + 1], barred, own - own[0],
            judged[own[0] - start[0] : own[-1] - start[0]], task.unit_user[units], *how,
            out.top[units], out.targets[units], out.judged(slice(own[0], own[-1]), order), splits,
        )  # fmt: skip
        if bad >= 0:
            return units.start + bad
        out.place(kernels, own, order)
        if out.same is not None:
            columns = _columns(out.top[units].ravel(), task.candidates).reshape(out.top[units].shape)
            out.compare(units, np.take_along_axis(scores, columns, axis=1))
    return -1


def _rank_sample(
    kernels: Any, scorer: Scorer, task: Task, part: slice, how: Any, out: _Output, splits: np.ndarray, name: str
) -> int:
    """Rank each unit's own targets; the first unit with a score that is not finite, or -1."""
    assert task.sample is not None
    users = task.unit_user[part]
    start, t_start = (s[part.start : part.stop + 1] for s in (task.judged.rows.start, task.sample.start))
    rows = slice(start[0], start[-1])
    targets = task.sample.item[t_start[0] : t_start[-1]]
    owner = np.repeat(np.arange(len(users)), np.diff(start))
    places = _places(owner, task.judged.rows.item[rows], t_start - t_start[0], targets, len(task.items))
    out.targets[part] = np.diff(t_start)
    asked, which = np.unique(users, return_inverse=True)
    for piece, scores in scorer(asked, name):
        # units of one user stand together, so those of a piece of users do
        first, last = np.searchsorted(which, (piece.start, piece.stop))
        own, t_own = start[first : last + 1], t_start[first : last + 1]
        order = np.empty(own[-1] - own[0], np.int32)
        bad = kernels.rank_targets(
            scores, which[first:last] - piece.start, t_own - t_own[0],
            targets[t_own[0] - t_start[0] : t_own[-1] - t_start[0]], own - own[0],
            places[own[0] - start[0] : own[-1] - start[0]], users[first:last], *how,
            out.top[part.start + first : part.start + last], out.judged(slice(own[0], own[-1]), order), splits,
        )  # fmt: skip
        if bad >= 0:
            return part.start + int(first) + bad
        out.place(kernels, own, order)
        rows, unit = slice(own[0], own[-1]), np.repeat(which[first:last] - piece.start, np.diff(own))
        out.score[rows] = scores[unit, out.item[rows]]  # judged items that are no targets have scores, too
        if out.same is not None:
            units = slice(part.start + int(first), part.start + int(last))
            out.compare(units, scores[(which[first:last] - piece.start)[:, None], out.top[units]])
    return -1


def _columns(items: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Place of items among the sorted candidates, -1 outside."""
    if len(candidates) and candidates[-1] == len(candidates) - 1:
        return items if int(items.max(initial=0)) < len(candidates) else np.where(items < len(candidates), items, -1)
    place = np.minimum(np.searchsorted(candidates, items), len(candidates) - 1)
    return np.where(candidates[place] == items, place, -1).astype(np.int32)


def _places(owner: np.ndarray, items: np.ndarray, t_start: np.ndarray, targets: np.ndarray, n_items: int) -> np.ndarray:
    """Place of judged items among their own unit's sorted targets, -1 where they are not targets."""
    t_owner = np.repeat(np.arange(len(t_start) - 1, dtype=np.int64), np.diff(t_start))
    target_keys, judged_keys = t_owner * n_items + targets, owner.astype(np.int64) * n_items + items
    place = np.minimum(np.searchsorted(target_keys, judged_keys), max(len(target_keys) - 1, 0))
    found = target_keys[place] == judged_keys if len(target_keys) else np.zeros(len(judged_keys), bool)
    return np.where(found, place - t_start[owner], -1).astype(np.int32)


def _facts(task: Task, out: _Output, depth: int) -> RankingFacts:
    length = np.minimum(out.targets, depth)
    top = out.top[:, :depth]
    full = bool((length == depth).all())  # as a rule; then lists are the rows of the table as they are
    return RankingFacts(
        unit_user=task.unit_user,
        start=task.judged.rows.start,
        item=out.item,
        value=out.value,
        relevant=out.relevant,
        rank=out.rank,
        above=out.above,
        tied=out.tied,
        score=out.score,
        list_start=np.concatenate([[0], np.cumsum(length)]),
        list_item=top.ravel() if full else top[top >= 0],
        list_same=None if out.same is None else out.same[:, :depth][top >= 0],
        targets=out.targets,
        users=task.users,
        items=task.items,
        catalogue=len(task.candidates),
        exact=True,
        highest=task.judged.highest,
        splits=out.splits[:depth],
        pool=task.pool if task.design.weights == "uniform" else None,
        one_relevant=task.design.resample,
    )
