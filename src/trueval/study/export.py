"""A study's answers as tables: the only place where systems are named together with what people did."""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import polars as pl
from sqlalchemy import Connection, Table, select

from trueval.study import tables
from trueval.study.data_dictionary import COLUMNS, table_schema
from trueval.study.database import reading
from trueval.study.definition import Study
from trueval.study.plan import RANDOM_LIST
from trueval.study.storage import Storage


def export_tables(
    study: Study | Storage, url: str | None = None, *, names: Iterable[str] = tuple(COLUMNS)
) -> dict[str, pl.DataFrame]:
    """What a study has stored, in the tables of `data_dictionary`, all or those with these `names`.

    Invited people who did not come are left out. Rows are ordered by participant, in the order in which they came, and
    by task and position.
    """
    if isinstance(study, Study):
        with Storage.read(study, url) as storage:
            return export_tables(storage, names=names)
    storage = study
    with reading(storage.engine) as connection:
        return _Answers(storage.study, connection).tables(names)


class _Answers:
    """The rows of the database, read once, by participant."""

    def __init__(self, study: Study, connection: Connection) -> None:
        self.study, self.form = study, study.about.form
        people = _rows(connection, tables.participants, "started", "id")
        self.people = {one["id"]: one for one in people if one["stage"] != "invited"}
        self.planned = _grouped(_rows(connection, tables.planned, "task", "position"))
        self.views = _grouped(_rows(connection, tables.views, "id"))
        self.answers = _grouped(_rows(connection, tables.answers, "task"))
        self.ratings = _grouped(_rows(connection, tables.ratings, "at", "item"))
        self.comments = _grouped(_rows(connection, tables.comments, "at"))
        self.lists = {
            (one["participant"], one["system"]): json.loads(one["items"]) for one in _rows(connection, tables.lists)
        }

    def tables(self, names: Iterable[str]) -> dict[str, pl.DataFrame]:
        made = {name: [row for person in self.people for row in getattr(self, f"_{name}")(person)] for name in names}
        return {
            name: pl.DataFrame(rows, schema=table_schema(name), orient="row", infer_schema_length=None)
            for name, rows in made.items()
        }

    def _participants(self, person: str) -> Iterable[tuple[Any, ...]]:
        one = self.people[person]
        answered = {answer["task"] for answer in self.answers[person]}
        following = min((row["task"] for row in self.planned[person] if row["task"] not in answered), default=0)
        page = f"task {following}" if one["stage"] == "tasks" else one["stage"]
        yield (
            person, _moment(one["started"]), _moment(one["finished"]), page, one["language"], one["consented"],
            one["comprehension_tries"], len(self.ratings[person]), self.study.about.participants,
        )  # fmt: skip

    def _shown(self, person: str) -> Iterable[tuple[Any, ...]]:
        """Lists of the tasks that were reached."""
        seconds, switches, reached = self._time_on_lists(person)
        for row in self.planned[person]:
            if row["task"] not in reached:
                continue
            place = row["task"], 0 if self.form == "pair" else row["position"]
            length = len(self.lists[person, row["system"]]) if (person, row["system"]) in self.lists else None
            yield (
                person, row["task"], self.form, row["position"], row["label"], row["system"], row["check"], length,
                seconds.get(place, 0.0), switches.get(place, 0),
            )  # fmt: skip

    def _time_on_lists(self, person: str) -> tuple[dict[Any, float], dict[Any, int], set[int]]:
        """Seconds that each list was in view, how often it was switched to, and the tasks that were reached."""
        ends = {answer["task"]: answer["at"] for answer in self.answers[person]}
        seconds: dict[Any, float] = defaultdict(float)
        switches: dict[Any, int] = defaultdict(int)
        seen = self.views[person]
        for view, after in zip(seen, [*seen[1:], None]):
            task, place = view["task"], (view["task"], view["position"])
            same_task = after is not None and after["task"] == task
            end = after["at"] if after is not None and same_task else ends.get(task, view["at"])
            seconds[place] += max(0.0, end - view["at"])
            if after is not None and same_task and after["position"] != view["position"]:
                switches[task, after["position"]] += 1
        return {place: round(time, 3) for place, time in seconds.items()}, switches, {view["task"] for view in seen}

    def _answered(self, person: str) -> Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Each answer with the lists of its task."""
        for answer in self.answers[person]:
            yield json.loads(answer["body"]), [row for row in self.planned[person] if row["task"] == answer["task"]]

    def _rankings(self, person: str) -> Iterable[tuple[Any, ...]]:
        for body, shown in self._answered(person) if self.form == "rank" else ():
            for row in shown:
                place = body["ranks"].get(row["label"])
                yield person, row["task"], row["system"], row["position"], place, row["check"], self.study.blanks

    def _pairs(self, person: str) -> Iterable[tuple[Any, ...]]:
        for body, (left, right) in self._answered(person) if self.form == "pair" else ():
            reasons = "|".join(body.get("reasons", []))
            yield person, left["task"], left["system"], right["system"], body["answer"], reasons, left["check"]

    def _scales(self, person: str) -> Iterable[tuple[Any, ...]]:
        for body, (row,) in self._answered(person) if self.form == "rate" else ():
            for question, value in body["scales"].items():
                yield person, row["task"], row["system"], row["position"], question, value, row["check"]

    def _marks(self, person: str) -> Iterable[tuple[Any, ...]]:
        for body, (row,) in self._answered(person) if self.form == "rate" else ():
            items = self.lists.get((person, row["system"]), [])
            for place, mark in body.get("marks", {}).items():
                if int(place) <= len(items):
                    yield person, row["task"], row["system"], items[int(place) - 1], mark, row["check"]

    def _ratings(self, person: str) -> Iterable[tuple[Any, ...]]:
        for row in self.ratings[person]:
            yield person, row["item"], row["value"], row["source"]

    def _lists(self, person: str) -> Iterable[tuple[Any, ...]]:
        for system in [*self.study.systems, RANDOM_LIST]:
            for place, item in enumerate(self.lists.get((person, system), []), 1):
                yield person, system, place, item

    def _comments(self, person: str) -> Iterable[tuple[Any, ...]]:
        for row in self.comments[person]:
            yield person, row["text"]


def _rows(connection: Connection, table: Table, *order: str) -> list[dict[str, Any]]:
    query = select(table).order_by(*(table.c[name] for name in order))
    return [dict(row._mapping) for row in connection.execute(query)]


def _grouped(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["participant"]].append(row)
    return grouped


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
