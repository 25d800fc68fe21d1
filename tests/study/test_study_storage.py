"""Storage: each step once, whoever asks and however often; the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_studies import SYSTEMS, settings
from sqlalchemy import select

from trueval.errors import TruevalError
from trueval.study import tables
from trueval.study.answers import (
    accept_invitation,
    begin_tasks,
    current_task,
    draft_of,
    lists_of,
    ratings_of,
    store_answer,
    store_comment,
    store_comprehension,
    store_rating,
    store_view,
)
from trueval.study.database import reading
from trueval.study.definition import read_study
from trueval.study.export import export_tables
from trueval.study.identities import hashed
from trueval.study.plan import plan_for
from trueval.study.storage import Storage, StudyFull

Make = Callable[..., Storage]
QUESTION = {"question": "What?", "answers": ["this", "that"], "right": 1}


def _begin(storage: Storage) -> str:
    person = storage.enrol().participant.id
    assert begin_tasks(storage, person, {}, ratings={})
    return person


def test_a_participant_goes_through_a_ranking(new_storage: Make) -> None:
    storage = new_storage("rank", ratings={"least": 2}, comprehension=[QUESTION])
    enrolled = storage.enrol(now=100.0)
    person = enrolled.participant.id
    assert storage.find(enrolled.token) == enrolled.participant
    assert storage.find("somebody else") is None
    assert store_comprehension(storage, person, tries=0, right=False, now=101)
    assert not store_comprehension(storage, person, tries=0, right=False)  # a double click is no second try
    assert store_comprehension(storage, person, tries=1, right=True, now=102)
    assert store_rating(storage, person, "i1", 4, source="search", now=103)
    assert not begin_tasks(storage, person, {}, ratings=ratings_of(storage, person))  # too few
    assert store_rating(storage, person, "i2", 1, source="browse", now=104)
    assert store_rating(storage, person, "i2", 2, source="browse", now=104)
    assert not begin_tasks(storage, person, {}, ratings={"i1": 4.0, "i2": 1.0})  # changed in another tab
    lists = {name: ["i3", "i4"] for name in SYSTEMS}
    assert begin_tasks(storage, person, lists, ratings={"i1": 4.0, "i2": 2.0}, now=110)
    assert not begin_tasks(storage, person, lists, ratings={"i1": 4.0, "i2": 2.0})
    assert not store_rating(storage, person, "i9", 1, source="search")  # lists have been seen
    assert lists_of(storage, person) == lists
    assert current_task(storage, person) == 1
    assert store_view(storage, person, 1, 3, draft={"A": "2"}, now=112)
    assert store_view(storage, person, 1, 1, draft={"A": "1"}, now=117)
    assert draft_of(storage, person, 1) == {"A": "1"}
    ranks = {"A": 1, "B": None, "C": 2}
    assert store_answer(storage, person, 1, {"ranks": ranks}, now=120)
    assert not store_answer(storage, person, 1, {"ranks": {"A": 3, "B": 2, "C": 1}})
    assert not store_view(storage, person, 1, 2)
    assert store_comment(storage, person, "Nice.", now=130)
    assert not store_comment(storage, person, "Again.")
    found = export_tables(storage)
    assert found["participants"].drop("participant", "started", "finished").rows() == [("done", "en", True, 2, 2, 30)]
    plan = plan_for(storage.study.plan_options, 0)
    assert found["rankings"].rows() == [
        (person, 1, one.system, one.position, ranks[one.label], None, "worse") for one in plan
    ]  # fmt: skip
    assert found["shown"].select("label", "list_length", "seconds", "switches").rows() == [
        ("A", 2, 5.0, 1), ("B", 2, 0.0, 0), ("C", 2, 5.0, 1)
    ]  # fmt: skip
    assert found["ratings"].rows() == [(person, "i1", 4.0, "search"), (person, "i2", 2.0, "browse")]
    assert found["comments"].rows() == [(person, "Nice.")]


def test_pairs_are_exported_with_sides(new_storage: Make) -> None:
    storage = new_storage("pair", checks={"same": True, "random": True})
    person = _begin(storage)
    plan = storage.plan_of(person)
    given = []
    for task in range(1, 6):
        answer = {
            "answer": ["left", "right", "none"][task % 3],
            "reasons": ["fits my taste", "more variety"][: task % 3],
        }
        assert store_answer(storage, person, task, answer)
        left, right = (one for one in plan if one.task == task)
        given.append(
            (person, task, left.system, right.system, answer["answer"], "|".join(answer["reasons"]), left.check)
        )
    assert current_task(storage, person) is None
    assert export_tables(storage)["pairs"].rows() == given


def test_scales_and_marks_are_exported(new_storage: Make) -> None:
    storage = new_storage("rate", thanks={"comment": False})
    person = storage.enrol().participant.id
    assert begin_tasks(storage, person, {name: [f"{name}1", f"{name}2"] for name in SYSTEMS}, ratings={})
    for task in (1, 2, 3):
        body = {"scales": {"relevance": task, "novelty": 7}, "marks": {"2": "know"}}
        assert store_answer(storage, person, task, body)
    found = export_tables(storage)
    plan = plan_for(storage.study.plan_options, 0)
    assert found["marks"].rows() == [(person, one.task, one.system, f"{one.system}2", "know", None) for one in plan]
    assert found["scales"].filter(question="relevance")["value"].to_list() == [1, 2, 3]
    assert found["participants"]["finished"].null_count() == 0


def test_the_same_form_is_the_same_participant(new_storage: Make) -> None:
    storage = new_storage()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: storage.enrol(nonce="one click"), range(8)))
    assert len({one.token for one in made}) == 1
    assert sum(one.new for one in made) == 1
    assert len(export_tables(storage)["participants"]) == 1


def test_who_takes_part_already_has_no_invitation_to_accept(new_storage: Make) -> None:
    storage = new_storage()
    enrolled = storage.enrol()
    assert not accept_invitation(storage, enrolled.participant.id, language="en")
    assert storage.find(enrolled.token) == enrolled.participant


def test_numbers_are_given_once_each(new_storage: Make) -> None:
    storage = new_storage()
    with ThreadPoolExecutor(8) as pool:
        people = [one.participant for one in pool.map(lambda _: storage.enrol(), range(40))]
    assert sorted(one.number for one in people) == list(range(40))
    for one in people:
        assert storage.plan_of(one.id) == plan_for(storage.study.plan_options, one.number)


def test_many_who_write_at_once_wait_for_their_turn(tmp_path: Path) -> None:
    """Also where SQLite itself hardly waits for the lock of another write."""
    storage = Storage.open(read_study(settings()), f"sqlite:///{tmp_path / 'answers.sqlite'}", busy=0.05)
    with ThreadPoolExecutor(16) as pool:
        people = [one.participant for one in pool.map(lambda _: storage.enrol(), range(64))]
    assert sorted(one.number for one in people) == list(range(64))


def test_one_of_many_answers_is_stored(new_storage: Make) -> None:
    storage = new_storage()
    person = _begin(storage)
    with ThreadPoolExecutor(8) as pool:
        ranks = [{"ranks": {"A": number}} for number in range(1, 9)]
        stored = list(pool.map(lambda body: store_answer(storage, person, 1, body), ranks))
    assert sum(stored) == 1
    kept = export_tables(storage)["rankings"].drop_nulls("rank")["rank"].to_list()
    assert kept == [ranks[stored.index(True)]["ranks"]["A"]]


def test_two_wrong_answers_end_the_study(new_storage: Make) -> None:
    storage = new_storage(comprehension=[QUESTION])
    person = storage.enrol().participant.id
    assert store_comprehension(storage, person, tries=0, right=False)
    assert store_comprehension(storage, person, tries=1, right=False)
    assert not store_comprehension(storage, person, tries=2, right=True)
    assert export_tables(storage)["participants"]["last_page"].to_list() == ["excluded"]


def test_no_more_than_the_open_participants_allowed(new_storage: Make) -> None:
    storage = new_storage(study={"most_open": 2})
    first = storage.enrol(nonce="a", now=0.0)
    storage.enrol(nonce="b", now=1.0)
    with pytest.raises(StudyFull):
        storage.enrol(nonce="c", now=2.0)
    assert storage.enrol(nonce="a", now=2.0).token == first.token  # who is inside stays inside
    assert storage.enrol(nonce="c", now=100_000.0).new  # who has long gone is not counted


def test_outside_ids_are_hashed_with_a_key(new_storage: Make) -> None:
    storage = new_storage(outside={"ids": ["PROLIFIC_PID", "SESSION_ID"]})
    ids = {"PROLIFIC_PID": "5a9d64f5f6dfdd0001eaa73d", "SESSION_ID": "s1"}
    first = storage.enrol(outside=ids, key="k")
    assert storage.enrol(outside=ids, key="k").token == first.token
    assert storage.enrol(outside={**ids, "SESSION_ID": "s2"}, key="k").token != first.token
    with reading(storage.engine) as connection:
        stored = repr([connection.execute(select(table)).all() for table in tables.metadata.sorted_tables])
    assert "5a9d64f5" not in stored
    assert first.token not in stored
    assert hashed(first.token) in stored


def test_a_changed_study_is_refused_once_people_took_part(database: str) -> None:
    old, new = read_study(settings()), read_study(settings(study={"seed": 8}))
    Storage.open(old, database)
    storage = Storage.open(new, database)  # nobody has taken part: the study may still change
    storage.enrol()
    with pytest.raises(TruevalError, match="changed after people had taken part"):
        Storage.open(old, database)
    Storage.open(read_study(settings(study={"seed": 8, "title": "Another title"})), database)


def test_the_secret_of_the_results_is_given_once(new_storage: Make) -> None:
    storage = new_storage()
    secret = storage.results_secret()
    assert secret is not None
    assert storage.results_secret() is None
    assert storage.setting("results secret") == hashed(secret)
    assert storage.results_secret(anew=True) != secret
