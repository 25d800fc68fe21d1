"""Where a study keeps what people answer: participants, their plans, their progress.

Every function that writes is one transaction, on the disk when it returns. What comes twice (a double click, a second
tab, a form sent again) finds that it is no longer the participant's next step, and changes nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from trueval.errors import DataError, TruevalError
from trueval.study import tables
from trueval.study.database import BUSY, NotSaved, address_of, connect, reading, writing
from trueval.study.definition import Study
from trueval.study.identities import hashed, keyed, new_secret, outside_hash
from trueval.study.plan import Planned, plan_for

STAGES = ("invited", "comprehension", "ratings", "tasks", "comment", "done", "excluded")
OPEN_FOR = 6 * 3600.0  # seconds after which a participant who does nothing no longer counts as open


class StudyFull(TruevalError):
    """As many people are taking part as the study allows at the same time."""


@dataclass(frozen=True)
class Participant:
    """A participant as the database has them; `number` counts from 0 and decides the plan."""

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
        try:
            with writing(storage.engine) as connection:
                tables.metadata.create_all(connection)
                storage._settle(connection)
        except NotSaved as problem:
            raise DataError(
                "the study's database cannot be used", where=address_of(study, url).split("@")[-1],
                found=problem.found, do="check its address, rights and free space",
            ) from None  # fmt: skip
        return storage

    def _settle(self, connection: Connection) -> None:
        """Write the settings of a new database; compare those of an old one with the study."""
        rows = connection.execute(select(tables.settings.c.name, tables.settings.c.value))
        known = {row.name: row.value for row in rows}
        if "form key" not in known:
            for name, value in (("form key", new_secret()), ("study", self.study.digest)):
                connection.execute(insert(tables.settings), [{"name": name, "value": value}])
            connection.execute(insert(tables.counters), [{"name": "participants", "value": 0}])
        elif known["study"] != self.study.digest:
            if connection.execute(select(func.count()).select_from(tables.participants)).scalar_one():
                raise DataError(
                    "the study's form, systems, lists, scales, blanks or seed changed after people had taken part",
                    where=self.study.written.name, do="undo the change, or start a new study under another file name",
                )  # fmt: skip
            self.set_setting(connection, "study", self.study.digest)

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
        now: float | None = None,
    ) -> Enrolled:
        """A new participant, with the plan of all their tasks.

        The token of their address follows from the form's `nonce`, or from `outside` ids and their `key`: the same
        form, or the same person of a panel, gets the same participant again.
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
        people = tables.participants.c
        with writing(self.engine) as connection:
            if limited:
                recent = (people.finished.is_(None), people.stage != "excluded", people.last_seen > now - OPEN_FOR)
                if connection.execute(select(func.count()).where(*recent)).scalar_one() >= self.study.about.most_open:
                    raise StudyFull("too many people are taking part at the moment", do="raise most_open in [study]")
            counter = update(tables.counters).where(tables.counters.c.name == "participants")
            number = connection.execute(
                counter.values(value=tables.counters.c.value + 1).returning(tables.counters.c.value)
            ).scalar_one()
            connection.execute(insert(tables.participants), [{**row, "number": number - 1}])
            connection.execute(
                insert(tables.planned),
                [
                    {"participant": row["id"], "task": one.task, "position": one.position, "label": one.label,
                     "system": one.system, "check": one.check}
                    for one in plan_for(self.study.plan_options, number - 1)
                ],
            )  # fmt: skip

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


def _now(now: float | None) -> float:
    return time.time() if now is None else now
