"""Where a study keeps what people answer: participants, their plans, their progress.

Every function that writes is one transaction, on the disk when it returns. What comes twice (a double click, a second
tab, a form sent again) finds that it is no longer the participant's next step, and changes nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, and_, func, insert, inspect, or_, select, update
from sqlalchemy.exc import IntegrityError

from trueval.errors import DataError, TruevalError
from trueval.study import tables
from trueval.study.database import BUSY, NotSaved, address_of, check_there, close, connect, reading, writing
from trueval.study.definition import Study
from trueval.study.identities import hashed, keyed, new_secret, outside_hash
from trueval.study.plan import Planned, plan_for

STAGES = ("invited", "comprehension", "ratings", "tasks", "comment", "done", "excluded")
OPEN_FOR = 6 * 3600.0  # seconds after which a participant who does nothing no longer counts as open
WAITS_FOR = 1800.0  # the same for who has answered no task: their number in the plan then goes to somebody else


class StudyFull(TruevalError):
    """As many people are taking part as the study allows at the same time."""


@dataclass(frozen=True)
class Participant:
    """A participant as the database has them.

    `number` counts from 0 and decides the plan. Until somebody has seen a list it is negative, and they have no plan:
    people who look and leave take no place in it.
    """

    id: str
    number: int
    language: str
    stage: str
    comprehension_tries: int
    known_user: str | None = None
    finished: float | None = None


@dataclass(frozen=True)
class Enrolled:
    """A participant and the token of their address; `new` is False where the same form came again."""

    participant: Participant
    token: str
    new: bool


@dataclass(frozen=True)
class Storage:
    """The database of one study. Functions in `answers` store what participants do."""

    study: Study
    engine: Engine

    @staticmethod
    def open(study: Study, url: str | None = None, *, busy: float = BUSY) -> Storage:
        """Connect, and make the tables where there are none; refuse a study that changed since people took part."""
        storage = Storage(study, connect(address_of(study, url), busy=busy))
        with storage._usable(url), writing(storage.engine) as connection:
            tables.metadata.create_all(connection)
            storage._settle(connection)
        return storage

    @staticmethod
    def read(study: Study, url: str | None = None) -> Storage:
        """Connect to answers that are there, and change nothing; refuse a database without the tables of a study."""
        check_there(study, url)
        storage = Storage(study, connect(address_of(study, url), make=False))
        with storage._usable(url), reading(storage.engine) as connection:
            there = set(inspect(connection).get_table_names())
            missing = [table.name for table in tables.metadata.sorted_tables if table.name not in there]
            if missing:
                raise DataError(
                    "this database has no answers of a study", where=_without_password(study, url),
                    found=f"no table {missing[0]}" + f", nor {len(missing) - 1} others" * (len(missing) > 1),
                    do="if it was copied while the study was served, copy it again with trueval study backup; else "
                    "name another one (--database)",
                )  # fmt: skip
            stored = tables.settings.c
            if connection.execute(select(stored.value).where(stored.name == "study")).scalar() != study.digest:
                storage._refuse_changed(connection)
        return storage

    @contextmanager
    def _usable(self, url: str | None) -> Iterator[None]:
        """Failures while a database is opened, as one error; its connections do not outlive them."""
        try:
            yield
        except NotSaved as problem:
            self.close()
            raise DataError(
                "the study's database cannot be used", where=_without_password(self.study, url),
                found=problem.found, do="check its address, rights and free space",
            ) from None  # fmt: skip
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all connections; what an SQLite database keeps in a log beside its file is moved into the file."""
        close(self.engine)

    def __enter__(self) -> Storage:
        """The storage, which is closed when the block ends."""
        return self

    def __exit__(self, *problem: object) -> None:
        """Close it."""
        self.close()

    def _settle(self, connection: Connection) -> None:
        """Write the settings of a new database; compare those of an old one with the study."""
        rows = connection.execute(select(tables.settings.c.name, tables.settings.c.value))
        known = {row.name: row.value for row in rows}
        counters = set(connection.execute(select(tables.counters.c.name)).scalars())
        for name in {"participants", "enrolled"} - counters:  # databases of earlier versions have only the first
            connection.execute(insert(tables.counters), [{"name": name, "value": 0}])
        if "form key" not in known:
            for name, value in (("form key", new_secret()), ("study", self.study.digest)):
                connection.execute(insert(tables.settings), [{"name": name, "value": value}])
        elif known["study"] != self.study.digest:
            self._refuse_changed(connection)
            self.set_setting(connection, "study", self.study.digest)

    def _refuse_changed(self, connection: Connection) -> None:
        """Refuse a study that is not the one that people took part in, if anybody did."""
        if connection.execute(select(func.count()).select_from(tables.participants)).scalar_one():
            raise DataError(
                "the study's form, systems, lists, scales, blanks or seed changed after people had taken part",
                where=self.study.written.name, do="undo the change, or start a new study under another file name",
            )  # fmt: skip

    # ---- settings ------------------------------------------------------------------------------------------------

    def setting(self, name: str) -> str | None:
        """One of the study's settings."""
        with reading(self.engine) as connection:
            return connection.execute(select(tables.settings.c.value).where(tables.settings.c.name == name)).scalar()

    def set_setting(self, connection: Connection, name: str, value: str) -> None:
        """Set one of the study's settings."""
        changed = connection.execute(update(tables.settings).where(tables.settings.c.name == name).values(value=value))
        if not changed.rowcount:
            connection.execute(insert(tables.settings), [{"name": name, "value": value}])

    def results_secret(self, *, anew: bool = False) -> str | None:
        """The secret of the results page where there is none yet, or a new one: only its hash is kept."""
        with writing(self.engine) as connection:
            known = connection.execute(
                select(tables.settings.c.value).where(tables.settings.c.name == "results secret")
            ).scalar()
            if known and not anew:
                return None
            secret = new_secret()
            self.set_setting(connection, "results secret", hashed(secret))
            return secret

    # ---- participants --------------------------------------------------------------------------------------------

    def enrol(
        self,
        *,
        nonce: str | None = None,
        outside: Mapping[str, str] | None = None,
        key: str | None = None,
        language: str = "en",
        known_user: str | None = None,
        invited: bool = False,
        admit: Callable[[], None] = lambda: None,
        now: float | None = None,
    ) -> Enrolled:
        """A new participant, who gets a plan of their tasks with their first list.

        The token of their address follows from the form's `nonce`, or from `outside` ids and their `key`: the same
        form, or the same person of a panel, gets the same participant again. `admit` may refuse whoever is new.
        """
        form_key = self.setting("form key")
        assert form_key is not None
        nonce = nonce or new_secret()
        stored = None
        if outside and key:
            stored = outside_hash(key, outside, self.study.outside.ids)
            nonce = keyed(key, "nonce", *(outside[name] for name in self.study.outside.ids))
        token = keyed(form_key, "participant", nonce)
        known = self.find(token)
        if known is not None:
            return Enrolled(known, token, False)
        admit()
        row = {
            "id": secrets.token_hex(8), "token_hash": hashed(token), "outside_hash": stored, "known_user": known_user,
            "language": language, "stage": "invited" if invited else self.first_stage, "consented": not invited,
            "comprehension_tries": 0, **dict.fromkeys(("started", "last_seen"), None if invited else _now(now)),
        }  # fmt: skip
        try:
            self._add(row, limited=not invited, now=_now(now))
            new = True
        except IntegrityError:  # the same form, sent twice at the same moment
            new = False
        found = self.find(token)
        assert found is not None
        return Enrolled(found, token, new)

    def _add(self, row: dict[str, Any], *, limited: bool, now: float) -> None:
        with writing(self.engine) as connection:
            if limited:
                self.check_places(connection, now=now)
            number = _next(connection, "enrolled")
            connection.execute(insert(tables.participants), [{**row, "number": -1 - number}])

    def check_places(self, connection: Connection, *, now: float) -> None:
        """Refuse one more where as many people are taking part as the study allows.

        A place is taken by the first answer, not by agreeing to take part; it is free again when nothing has come from
        its participant for a while.
        """
        people, rated = tables.participants.c, tables.ratings.c.participant
        answered = select(tables.answers.c.participant)
        begun = or_(
            people.stage.in_(("tasks", "comment")), people.comprehension_tries > 0, people.id.in_(select(rated))
        )
        recent = or_(
            people.last_seen > now - WAITS_FOR, and_(people.last_seen > now - OPEN_FOR, people.id.in_(answered))
        )
        taking_part = (people.finished.is_(None), people.stage != "excluded", begun, recent)
        if connection.execute(select(func.count()).where(*taking_part)).scalar_one() >= self.study.about.most_open:
            raise StudyFull("too many people are taking part at the moment", do="raise most_open in [study]")

    def give_plan(self, connection: Connection, participant: str, *, now: float) -> None:
        """Give a participant the first free number of the plan, with the lists that they are to see.

        A number is free again where whoever had it has seen a list, answered nothing, and gone. Should they come back,
        they keep the lists that they saw.
        """
        people = tables.participants
        answered = select(tables.answers.c.participant)
        left = (people.c.number >= 0, people.c.stage == "tasks", people.c.last_seen <= now - WAITS_FOR,
                people.c.id.not_in(answered))  # fmt: skip
        query = select(people.c.id, people.c.number).where(*left).order_by(people.c.number).limit(1)
        free = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
        if free is None:
            number = _next(connection, "participants")
        else:
            number = free.number
            self._set_number(connection, free.id, -1 - _next(connection, "enrolled"))
        self._set_number(connection, participant, number)
        connection.execute(
            insert(tables.planned),
            [
                {"participant": participant, "task": one.task, "position": one.position, "label": one.label,
                 "system": one.system, "check": one.check}
                for one in plan_for(self.study.plan_options, number)
            ],
        )  # fmt: skip

    def _set_number(self, connection: Connection, participant: str, number: int) -> None:
        people = tables.participants
        connection.execute(update(people).where(people.c.id == participant).values(number=number))

    @property
    def first_stage(self) -> str:
        """Where people start who have agreed to take part."""
        return "comprehension" if self.study.comprehension else "ratings"

    def find(self, token: str) -> Participant | None:
        """The participant with this token."""
        with reading(self.engine) as connection:
            return self.participant(connection, tables.participants.c.token_hash == hashed(token))

    def participant(self, connection: Connection, condition: Any, *, lock: bool = False) -> Participant | None:
        """The participant for whom a condition holds; `lock` keeps others from changing them meanwhile."""
        columns = tables.participants.c
        query = select(*(columns[name] for name in Participant.__dataclass_fields__)).where(condition)
        row = connection.execute(query.with_for_update() if lock else query).one_or_none()
        return None if row is None else Participant(**row._mapping)

    def plan_of(self, participant: str) -> list[Planned]:
        """All lists that a participant is to see, task by task."""
        columns = tables.planned.c
        query = (
            select(columns.task, columns.position, columns.label, columns.system, columns.check)
            .where(columns.participant == participant)
            .order_by(columns.task, columns.position)
        )
        with reading(self.engine) as connection:
            return [Planned(**row._mapping) for row in connection.execute(query)]


def _next(connection: Connection, counter: str) -> int:
    """The value of a counter, which counts one on: numbers of the plan ("participants"), or people who "enrolled"."""
    counters = tables.counters
    counted = update(counters).where(counters.c.name == counter).values(value=counters.c.value + 1)
    return connection.execute(counted.returning(counters.c.value)).scalar_one() - 1


def _without_password(study: Study, url: str | None) -> str:
    return address_of(study, url).split("@")[-1]


def _now(now: float | None) -> float:
    return time.time() if now is None else now
