"""Simulated participants in the real storage of a study: enrolled, planned, answered and exported as people are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from trueval.data.read import read
from trueval.data.table_columns import columns_of
from trueval.errors import DataError, DefinitionError, suggest
from trueval.online.user_study.blanks import MEANINGS
from trueval.study import tables
from trueval.study.answers import (
    begin_tasks,
    store_answer,
    store_comment,
    store_comprehension,
    store_rating,
    store_view,
)
from trueval.study.database import address_of, reading, sqlite_file
from trueval.study.definition import Study
from trueval.study.plan import Planned
from trueval.study.simulated_people import SimulatedPeople, SimulatedPerson
from trueval.study.storage import Participant, Storage

_BEGIN = 1_767_225_600.0  # of the simulated clock: 2026-01-01, UTC
_APART = 1200.0  # seconds between participants: those who left do not fill the study


def simulated_address(study: Study) -> str:
    """The database of simulated answers, beside the study file: never the one that real people's answers are in."""
    return f"sqlite:///{study.folder / study.name}-simulated.sqlite"


def simulate_participants(
    study: Study, people: SimulatedPeople, *, participants: int, url: str | None = None
) -> Storage:
    """Let simulated people take part, and return the storage that holds their answers.

    A database that already holds participants is refused: simulated and real answers must not be mixed.
    """
    _check_systems(study, people)
    if people.leaves_blanks and study.blanks not in MEANINGS:
        raise DefinitionError(
            "people cannot leave lists without a place in this study", where=study.written.name,
            found="a chance that they do (partial, disliked or overlooked)",
            do='leave it out, or write blanks = "worse" in [rank]',
        )  # fmt: skip
    address = url or simulated_address(study)
    if _same_database(address, address_of(study)):
        raise DefinitionError(
            "simulated answers must not be mixed with those of people", where="--database", found=address,
            do=f"leave it out: they are written to {simulated_address(study)}",
        )  # fmt: skip
    items = _items(study)
    storage = Storage.open(study, address)
    try:
        with reading(storage.engine) as connection:
            there = connection.execute(select(func.count()).select_from(tables.participants)).scalar_one()
        if there:
            raise DataError(
                "the database already holds participants", where=address, found=f"{there:,}",
                do="remove it, or name another one: --database",
            )  # fmt: skip
        for number in range(participants):
            _take_part(storage, people.person(number), number, items)
    except BaseException:
        storage.close()
        raise
    return storage


def _same_database(one: str, other: str) -> bool:
    """Whether two addresses name one database: files by where they are, however that is written."""
    files = sqlite_file(one), sqlite_file(other)
    return one == other if None in files else len({file.resolve() for file in files if file}) == 1


def _check_systems(study: Study, people: SimulatedPeople) -> None:
    for one in people.each:
        for name in one:
            if name not in study.systems:
                raise DefinitionError(
                    f"the study has no system {name!r}", where="--preference", do=suggest(name, study.systems)
                )
        missing = [name for name in study.systems if name not in one]
        if missing:
            raise DefinitionError(
                "some systems have no strength", where="--preference", found=f"nothing for {', '.join(missing)}",
                do="give a number for each: " + ",".join(f"{name}=0" for name in study.systems),
            )  # fmt: skip


def _items(study: Study) -> list[str]:
    """Ids of the items that are rated: as many of the study's log as people must rate."""
    if not study.ratings.least:
        return []
    log = read(study.data.path, columns=columns_of(study.data.columns, "log") or None)
    items = log.frame["item"].unique().sort().head(study.ratings.least).to_list()
    if len(items) < study.ratings.least:
        raise DataError(
            "the log has fewer items than people must rate", where=str(Path(str(study.data.path)).name),
            found=f"{len(items)} items, {study.ratings.least} ratings",
        )  # fmt: skip
    return [str(item) for item in items]


def _take_part(storage: Storage, person: SimulatedPerson, number: int, items: list[str]) -> None:
    """One participant from consent to thanks, step by step as the pages take them."""
    clock = _Clock(_BEGIN + _APART * number)
    who = storage.enrol(nonce=f"simulated {number}", now=clock.now).participant
    if who.stage == "comprehension":
        store_comprehension(storage, who.id, tries=0, right=True, now=clock.after(20))
    scale = storage.study.ratings.scale
    ratings = {item: float(scale[(number + place) % len(scale)]) for place, item in enumerate(items)}
    for item, value in ratings.items():
        store_rating(storage, who.id, item, value, source="browse", now=clock.after(3))
    begin_tasks(storage, who.id, {}, ratings=ratings, now=clock.after(1))
    plan = storage.plan_of(who.id)
    for task in sorted({one.task for one in plan}):
        if person.leaves():
            return
        _do_task(storage, who, person, [one for one in plan if one.task == task], clock)
    if storage.study.thanks.comment:
        store_comment(storage, who.id, "", now=clock.after(5))


def _do_task(storage: Storage, who: Participant, person: SimulatedPerson, lists: list[Planned], clock: _Clock) -> None:
    form, task = storage.study.about.form, lists[0].task
    for one in lists[:1] if form == "pair" else lists:
        place = 0 if form == "pair" else one.position
        store_view(storage, who.id, task, place, now=clock.now)
        clock.after(person.seconds())
    body: dict[str, Any]
    if form == "rank":
        body = {"ranks": person.rank(lists)}
    elif form == "pair":
        body = {"answer": person.choose(*lists), "reasons": []}
    else:
        points = {scale.name: scale.points for scale in storage.study.scales}
        body = {"scales": person.rate(lists[0], points), "marks": {}}
    store_answer(storage, who.id, task, body, now=clock.after(2))


class _Clock:
    """A clock that goes only when it is told to."""

    def __init__(self, now: float) -> None:
        self.now = now

    def after(self, seconds: float) -> float:
        self.now += seconds
        return self.now
