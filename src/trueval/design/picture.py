"""A design as a picture of text: who is ranked against whom in a tiny example.

The picture of a design is made from its tasks, as an evaluation makes them; nothing is drawn by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.interactions import Interactions
from trueval.data.judgements import Judged
from trueval.design.design import Design, RunDesign
from trueval.design.popular_head import count_ratings, drop_head, find_head
from trueval.design.task import Task, make_tasks
from trueval.design.words import words_of
from trueval.errors import DefinitionError
from trueval.splits import split
from trueval.splits.parts import Parts

THRESHOLD = 4
_TRAIN = {"Ann": "A5 C3", "Bob": "A4 E5", "Cid": "B4 D5", "Dee": "A4 G5 H2"}
_TEST = {"Ann": "B5 D4 E2", "Bob": "B4 C1", "Cid": "A5 C2 F4", "Dee": "E3 F5"}
_SMALL = 2  # items of a sample, percentiles
_LEAST_HEAD = 0.1  # one item
_CATALOGUE = "ABCDEFG"  # for LIST: not H
_LISTS = {"Ann": "BGED", "Bob": "DCBF", "Cid": "AEFH", "Dee": "GFBE"}
_RELEVANT, _OTHER, _UNJUDGED, _SEEN, _OUT = "●", "○", "·", "t", " "
_LEGEND = {
    _RELEVANT: "relevant",
    _OTHER: "judged, not relevant",
    _UNJUDGED: "not judged",
    _SEEN: "train item, not ranked",
}


def _table(rows: dict[str, str]) -> pl.DataFrame:
    pairs = [(user, word[0], float(word[1:])) for user, words in rows.items() for word in words.split()]
    return pl.DataFrame(pairs, schema=["user", "item", "value"], orient="row")


def tiny_parts(*, uniform: bool = False) -> Parts:
    """The tiny example: four users, eight items; with a uniform test where a design needs one.

    >>> len(tiny_parts().test), tiny_parts(uniform=True).eta
    (10, 1)
    """
    if uniform:
        log = Interactions.of(pl.concat([_table(_TRAIN), _table(_TEST)]), name="example")
        return split(log, "uniform_test", ratio=0.25, eps=0.5)
    train, test = (Interactions.of(_table(rows), name="example") for rows in (_TRAIN, _TEST))
    return Parts(train, test, how={"how": "given"})


def picture(name: str) -> str:
    r"""A design in words and as a picture of the tiny example.

    >>> print(picture("1R-TI-AN").split("\n\n")[2])
             A B C D E F G H
      Ann B  t ● t   ○ ·        B against 2 others
      Ann D  t   t ● ○ ·        D against 2 others
      Bob B  t ● ○ · t ·        B against 3 others
      Cid A  ● t ○ t ·          A against 2 others
      Cid F    t ○ t · ●        F against 2 others
      Dee F  t · · · ○ ●        F against 4 others
    """
    design = RunDesign.parse(name) if name.strip().lower().startswith("given") else Design.parse(name)
    words = words_of(design)
    width = max(len(word) for word, _ in words)
    legend = _LEGEND | ({_SEEN: "train item"} if isinstance(design, RunDesign) else {})
    lines = [str(design), "", *(f"  {word:<{width}}  {means}" for word, means in words), ""]
    body = list(_run_rows(design) if isinstance(design, RunDesign) else _rows(design))
    shown = "".join(body)
    used = "; ".join(f"{mark} {means}" for mark, means in legend.items() if f" {mark} " in f"{shown} ")
    return "\n".join([*lines, *(line.rstrip() for line in body), "", f"  {used}"]) + "\n"


def _small(design: Design, sample: int) -> Design:
    """The design with numbers that a tiny example can have."""
    percentiles = min(design.percentiles, _SMALL)
    head = design.head and max(design.head, _LEAST_HEAD)
    return replace(design, percentiles=percentiles, sample=min(design.sample, sample), head=head)


def _tasks(design: Design) -> list[Task]:
    """The tasks of a design in the tiny example, with the largest sample that is possible there."""
    parts = tiny_parts(uniform=design.uniform)
    catalogue = pl.Series("item", list(_CATALOGUE)) if design.candidates == "LIST" else None
    for sample in (_SMALL, 1):
        try:
            return make_tasks(parts, _small(design, sample), threshold=THRESHOLD, catalogue=catalogue)
        except DefinitionError:
            if sample == 1 or not design.sample:
                raise
    raise AssertionError


def _rows(design: Design) -> Iterator[str]:
    tasks = _tasks(design)
    items = tasks[0].items.decode(np.arange(len(tasks[0].items))).to_list()
    alone = design.relevant == "1R"
    label = 5 if alone else 3
    yield " " * (label + 4) + " ".join(items)
    for number, task in enumerate(tasks, start=1):
        if design.percentiles:
            yield f"  percentile {number} of {len(tasks)}, {'more' if number == 1 else 'less'} popular"
        for who, marks, said in _units(task):
            yield f"  {who:<{label + 2}}{' '.join(marks)}    {said}"
    if tasks[0].design != design:
        yield f"  (the example is too small for {design}: this is {tasks[0].design})"


def _units(task: Task) -> Iterator[tuple[str, list[str], str]]:
    """For each ranking: for whom, the mark of every item, and what is ranked against what."""
    names = task.users.decode(task.unit_user).to_list()
    items = task.items.decode(np.arange(len(task.items))).to_list()
    for unit, user in enumerate(names):
        relevant, other = _judged_of(task, unit)
        ranked = (
            _of(task.sample, unit)
            if task.sample is not None
            else set(task.candidates.tolist()) - _of(task.barred, unit)
        )
        if task.design.condensed:
            ranked &= relevant | other
        barred = _of(task.barred, unit) & set(task.candidates.tolist())
        own = [{item} for item in sorted(relevant)] if task.design.relevant == "1R" else [relevant]
        for shown in own:
            against = ranked - _relevant_of_user(task, unit)
            marks = [
                _RELEVANT if i in shown else _OTHER if i in against & other else _UNJUDGED if i in against
                else _SEEN if i in barred else _OUT
                for i in range(len(items))
            ]  # fmt: skip
            named = " and ".join(items[i] for i in sorted(shown)) or "nothing"
            number = f"{len(against)} other{'s' * (len(against) != 1)}"
            alone = task.design.relevant == "1R"
            yield f"{user} {named}" if alone else user, marks, f"{named} against {number}"


def _judged_of(task: Task, unit: int) -> tuple[set[int], set[int]]:
    rows = slice(task.judged.rows.start[unit], task.judged.rows.start[unit + 1])
    item, relevant = task.judged.rows.item[rows], task.judged.relevant[rows]
    return set(item[relevant].tolist()), set(item[~relevant].tolist())


def _relevant_of_user(task: Task, unit: int) -> set[int]:
    """Relevant items of the unit's user, also where every one of them is a unit of its own."""
    same = np.flatnonzero(task.unit_user == task.unit_user[unit])
    return set().union(*(_judged_of(task, int(one))[0] for one in same))


def _of(rows: ByUser, unit: int) -> set[int]:
    return set(rows.item[rows.start[unit] : rows.start[unit + 1]].tolist())


def _run_rows(design: RunDesign) -> Iterator[str]:
    """Given lists, each item with its mark."""
    parts = tiny_parts()
    tasks = make_tasks(parts, Design(candidates="AI"), threshold=THRESHOLD)
    task, judged = tasks[0], tasks[0].judged
    if design.head is not None:
        share = max(design.head, _LEAST_HEAD)
        head = find_head(count_ratings(parts.train, parts.test, task.items), share, where=str(design))
        judged = drop_head(judged, head, where=str(design))
    yield "  given lists"
    for unit, user in enumerate(task.users.decode(task.unit_user).to_list()):
        marks = _marks(judged, unit, task, list(_LISTS[user]))
        seen = _of(task.barred, unit) if design.seen == "exclude" else set()
        codes = dict(zip(_LISTS[user], task.items.codes(pl.Series(list(_LISTS[user]))).tolist()))
        shown = [(i, _SEEN if codes[i] in seen else marks[i]) for i in _LISTS[user]]
        if design.condensed:
            shown = [(item, mark) for item, mark in shown if mark in (_RELEVANT, _OTHER)]
        yield f"  {user}  " + "  ".join(f"{place} {item} {mark}" for place, (item, mark) in enumerate(shown, start=1))


def _marks(judged: Judged, unit: int, task: Task, items: list[str]) -> dict[str, str]:
    rows = slice(judged.rows.start[unit], judged.rows.start[unit + 1])
    known = dict(zip(judged.rows.item[rows].tolist(), judged.relevant[rows].tolist()))
    codes = task.items.codes(pl.Series(items)).tolist()
    marks = {True: _RELEVANT, False: _OTHER, None: _UNJUDGED}
    return {item: marks[known.get(code)] for item, code in zip(items, codes)}
