"""What looks wrong with a run before any metric is read: ids that hardly meet, lists of items already known."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser, user_blocks
from trueval.data.ids import Ids
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.truth import Truth
from trueval.kernels import choose, in_order
from trueval.metrics.spec import Spec

if TYPE_CHECKING:
    from trueval.design.task import Task

_EXAMPLES = 3


def count_seen(facts: RankingFacts, train: ByUser | None, specs: Iterable[Spec]) -> np.ndarray:
    """Rows of the lists within the deepest cutoff: those whose item is in the user's train rows, and all."""
    if train is None:
        return np.zeros(2, np.int64)
    depth = max((spec.k or facts.depth for spec in specs), default=facts.depth)
    recommended = int(np.minimum(facts.length, depth).sum())
    kernel = choose("seen", recommended).count_seen

    def count(part: slice) -> int:
        return kernel(facts.list_start, facts.list_item, train.start, train.item, depth, part.start, part.stop)

    return np.array([sum(in_order(count, user_blocks(len(facts)))), recommended], np.int64)


def notes_on_seen(seen: np.ndarray) -> list[str]:
    """A note where half or more of what is recommended was in train; `seen` as counted above.

    >>> notes_on_seen(np.array([1, 2]))
    ["1 of 2 recommended items are in their users' train rows: should seen items be recommended?"]
    """
    known, recommended = map(int, seen)
    if not recommended or 2 * known < recommended:
        return []
    sentence = f"{known:,} of {recommended:,} recommended items are in their users' train rows"
    return [f"{sentence}: should seen items be recommended?"]


def notes_on_users(run: pl.Series, users: Ids, *, tested: np.ndarray, in_run: np.ndarray) -> list[str]:
    """Notes where few of the `tested` users are in the run, and where more would be if ids were written alike."""
    found, number = int((tested & in_run).sum()), int(tested.sum())
    notes = []
    if 2 * found < number:
        notes.append(f"only {found:,} of {number:,} test users are in the run: are the ids the same?")
    lost = users.decode(np.flatnonzero(tested & ~in_run))
    if lost.dtype != pl.String or not len(lost):
        return notes
    run = Ids.of(run).values
    return notes + _meeting("user", run.filter(pl.Series(users.codes(run) < 0)), lost)


def notes_on_items(run: pl.Series, truth: Truth, train_items: np.ndarray | None) -> list[str]:
    """The same for items, which test set, train set or catalogue may know."""
    known = truth.judged.items(len(truth.items))
    for there in (truth.head, truth.catalogue, train_items):
        if there is not None:
            known[there] = True
    if known.all() and truth.strangers is None:
        return []
    own, codes = np.zeros(len(truth.items), bool), truth.items.codes(run)
    own[codes[codes >= 0]] = True
    unknown = Ids.of(run.filter(pl.Series(codes < 0))).values
    strange, lost = own & ~known, known & ~own
    number, notes = int(own.sum()) + len(unknown), []
    if 2 * (int(strange.sum()) + len(unknown)) > number:
        sets = "the test set" if train_items is None else "the test or train set"
        notes.append(f"only {int((own & known).sum()):,} of {number:,} recommended items are in {sets}")
    strangers, missed = (truth.items.decode(np.flatnonzero(some)) for some in (strange, lost))
    strangers = pl.concat([strangers, unknown]) if len(unknown) else strangers
    return notes + _meeting("item", strangers, missed)


def notes_on_task(run: pl.DataFrame, task: Task) -> list[str]:
    """What looks wrong with a run under a design, which has cut its lists to items the user has not seen."""
    tested, in_run = np.zeros(len(task.users), bool), np.zeros(len(task.users), bool)
    tested[task.unit_user[np.diff(task.judged.rows.start) > 0]] = True
    user, item = task.users.codes(run["user"]), task.items.codes(run["item"])
    in_run[user[user >= 0]] = True
    place = np.full(len(task.users), -1)
    place[task.unit_user] = np.arange(len(task.unit_user))
    unit = np.where(user >= 0, place[user], -1)
    seen = np.array([task.barred.contains(unit, item).sum(), (unit >= 0).sum()])
    return notes_on_users(run["user"], task.users, tested=tested, in_run=in_run) + notes_on_seen(seen)


def _meeting(role: str, run: pl.Series, lost: pl.Series) -> list[str]:
    """A note on ids of a run that would meet lost ones if they were written alike."""
    if lost.dtype != pl.String or not len(run):
        return []
    lost_ids = {_alike(value): value for value in lost.to_list()[::-1]}
    pairs = [(value, lost_ids[key]) for value in run.to_list() if (key := _alike(value)) in lost_ids]
    if not pairs:
        return []
    some = ", ".join(f"{ours!r} and {theirs!r}" for ours, theirs in pairs[:_EXAMPLES])
    many = f"{len(pairs):,} {role} ids of the run" if len(pairs) > 1 else f"1 {role} id of the run"
    match = "differ" if len(pairs) > 1 else "differs"
    return [f"{many} {match} from a known id only by spaces, case, zeros or Unicode form: {some}"]


def _alike(text: str) -> str:
    """An id as a careless reader would see it.

    >>> _alike(" Ａbc"), _alike("007"), _alike("12.0"), _alike("-0.50")
    ('abc', '7', '12', '-0.50')
    """
    text = unicodedata.normalize("NFKC", text).strip().casefold()
    whole, point, rest = text.partition(".")
    if whole.isdecimal() and point and not rest.strip("0"):
        text = whole
    return text.lstrip("0") or "0" if text.isdecimal() else text
