"""What participants do, stored once: each function is one step of a participant, and says whether it was taken.

The first answer takes one of the places of the study (`most_open`), or raises StudyFull; the lists, which follow the
ratings, one of the numbers of its plan. A step that is not the participant's next one (it was taken before, in another
tab, by a form sent again) is not taken again: the function returns False and nothing changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from trueval.study import tables
from trueval.study.database import reading, writing
from trueval.study.storage import Participant, Storage

COMPREHENSION_TRIES = 2
MOST_RATINGS = 5000  # of one participant
MOST_VIEWS = 2000  # of one task


def accept_invitation(storage: Storage, participant: str, *, language: str, now: float | None = None) -> bool:
    """An invited person agrees to take part."""
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "invited":
            return False
        _change(
            connection, participant, now, stage=storage.first_stage, consented=True, language=language, started=_at(now)
        )
        return True


def store_comprehension(
    storage: Storage, participant: str, *, tries: int, right: bool, now: float | None = None
) -> bool:
    """An attempt at the comprehension check; `tries` is how many there were when its page was made."""
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "comprehension" or person.comprehension_tries != tries:
            return False
        if not tries:
            storage.check_places(connection, now=_at(now))
        failed = not right and tries + 1 >= COMPREHENSION_TRIES
        stage = "ratings" if right else "excluded" if failed else "comprehension"
        _change(connection, participant, now, stage=stage, comprehension_tries=tries + 1)
        return True


def store_rating(
    storage: Storage, participant: str, item: str, value: float | None, *, source: str, now: float | None = None
) -> bool:
    """Rate an item, rate it anew, or take the rating back (None), as long as no list has been seen."""
    ratings = tables.ratings
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        number = select(func.count()).where(ratings.c.participant == participant)
        rated = connection.execute(number).scalar_one()
        if person.stage != "ratings" or rated >= MOST_RATINGS:
            return False
        if not rated and not person.comprehension_tries:
            storage.check_places(connection, now=_at(now))
        own = (ratings.c.participant == participant) & (ratings.c.item == item)
        connection.execute(delete(ratings).where(own))
        if value is not None:
            row = {"participant": participant, "item": item, "value": value, "source": source, "at": _at(now)}
            connection.execute(insert(ratings), [row])
        _change(connection, participant, now)
        return True


def ratings_of(storage: Storage, participant: str) -> dict[str, float]:
    """The ratings of a participant, by the text of the item's id."""
    with reading(storage.engine) as connection:
        return _ratings(connection, participant)


def begin_tasks(
    storage: Storage,
    participant: str,
    lists: Mapping[str, Sequence[str]],
    *,
    ratings: Mapping[str, float],
    now: float | None = None,
) -> bool:
    """End the ratings and begin with the tasks: `lists` are what systems recommend for these `ratings`.

    Where the ratings have changed since (in another tab), or are too few, nothing changes.
    """
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "ratings" or len(ratings) < storage.study.ratings.least:
            return False
        if _ratings(connection, participant) != dict(ratings):
            return False
        if not ratings and not person.comprehension_tries:
            storage.check_places(connection, now=_at(now))
        if person.number < 0:  # databases of earlier versions gave numbers to all who enrolled
            storage.give_plan(connection, participant, now=_at(now))
        rows = [
            {"participant": participant, "system": system, "items": json.dumps(list(items))}
            for system, items in lists.items()
        ]
        if rows:
            connection.execute(insert(tables.lists), rows)
        _change(connection, participant, now, stage="tasks", known_user=None)
        _opened(storage, connection, participant, 1, now)
        return True


def lists_of(storage: Storage, participant: str) -> dict[str, list[str]]:
    """The lists that were made for a participant, by system: ids of items as text."""
    columns = tables.lists.c
    with reading(storage.engine) as connection:
        rows = connection.execute(select(columns.system, columns["items"]).where(columns.participant == participant))
        return {system: json.loads(items) for system, items in rows}


def current_task(storage: Storage, participant: str) -> int | None:
    """The task that a participant is to do next; None where all are done."""
    with reading(storage.engine) as connection:
        return _current(connection, participant)


def store_view(
    storage: Storage, participant: str, task: int, position: int, *, draft: Any = None, now: float | None = None
) -> bool:
    """A list came into view; what is chosen so far may be kept with it."""
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "tasks" or _current(connection, participant) != task:
            return False
        seen = select(func.count()).where(tables.views.c.participant == participant, tables.views.c.task == task)
        if connection.execute(seen).scalar_one() < MOST_VIEWS:
            row = {"participant": participant, "task": task, "position": position, "at": _at(now)}
            connection.execute(insert(tables.views), [row])
        if draft is not None:
            own = (tables.drafts.c.participant == participant) & (tables.drafts.c.task == task)
            connection.execute(delete(tables.drafts).where(own))
            connection.execute(
                insert(tables.drafts), [{"participant": participant, "task": task, "body": json.dumps(draft)}]
            )
        return True


def draft_of(storage: Storage, participant: str, task: int) -> dict[str, Any]:
    """What a participant had chosen when they last switched lists."""
    columns = tables.drafts.c
    with reading(storage.engine) as connection:
        query = select(columns.body).where(columns.participant == participant, columns.task == task)
        body = connection.execute(query).scalar()
        return {} if body is None else json.loads(body)


def store_answer(
    storage: Storage, participant: str, task: int, body: Mapping[str, Any], *, now: float | None = None
) -> bool:
    """The answer to a task. Bodies, by form:

    rank: {"ranks": {label: place or None}}; pair: {"answer": "left", "right" or "none", "reasons": [texts]};
    rate: {"scales": {question: number}, "marks": {place in the list, from 1: mark}}.
    """
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "tasks" or _current(connection, participant) != task:
            return False
        row = {"participant": participant, "task": task, "body": json.dumps(dict(body)), "at": _at(now)}
        connection.execute(insert(tables.answers), [row])
        following = _current(connection, participant)
        if following is not None:
            _change(connection, participant, now)
            _opened(storage, connection, participant, following, now)
        elif storage.study.thanks.comment:
            _change(connection, participant, now, stage="comment")
        else:
            _change(connection, participant, now, stage="done", finished=_at(now))
        return True


def store_comment(storage: Storage, participant: str, text: str, *, now: float | None = None) -> bool:
    """The free text at the end, which may be empty, and with it the end."""
    with writing(storage.engine) as connection:
        person = _locked(storage, connection, participant)
        if person.stage != "comment":
            return False
        if text.strip():
            connection.execute(insert(tables.comments), [{"participant": participant, "text": text, "at": _at(now)}])
        _change(connection, participant, now, stage="done", finished=_at(now))
        return True


def _locked(storage: Storage, connection: Connection, participant: str) -> Participant:
    """The participant, whom nobody else changes until the transaction ends."""
    person = storage.participant(connection, tables.participants.c.id == participant, lock=True)
    assert person is not None, "participants are never deleted while a study runs"
    return person


def _change(connection: Connection, participant: str, now: float | None, **values: Any) -> None:
    people = tables.participants
    connection.execute(update(people).where(people.c.id == participant).values(last_seen=_at(now), **values))


def _ratings(connection: Connection, participant: str) -> dict[str, float]:
    columns = tables.ratings.c
    rows = connection.execute(select(columns["item"], columns["value"]).where(columns.participant == participant))
    return {row.item: row.value for row in rows}


def _current(connection: Connection, participant: str) -> int | None:
    planned, answers = tables.planned.c, tables.answers.c
    answered = select(answers.task).where(answers.participant == participant)
    query = select(func.min(planned.task)).where(planned.participant == participant, planned.task.not_in(answered))
    return connection.execute(query).scalar()


def _opened(storage: Storage, connection: Connection, participant: str, task: int, now: float | None) -> None:
    """The first list of a task comes into view with its page; position 0 stands for both lists of a pair."""
    columns = tables.planned.c
    first = select(func.min(columns.position)).where(columns.participant == participant, columns.task == task)
    position = 0 if storage.study.about.form == "pair" else connection.execute(first).scalar_one()
    row = {"participant": participant, "task": task, "position": position, "at": _at(now)}
    connection.execute(insert(tables.views), [row])


def _at(now: float | None) -> float:
    return time.time() if now is None else now
