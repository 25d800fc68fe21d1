"""Storage: each step once, whoever asks and however often; the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_studies import SYSTEMS, settings
from sqlalchemy import delete, select

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
from trueval.study.database import reading, writing
from trueval.study.definition import read_study
from trueval.study.export import export_tables
from trueval.study.identities import hashed
from trueval.study.plan import plan_for
from trueval.study.storage import OPEN_FOR, WAITS_FOR, Storage, StudyFull

Make = Callable[..., Storage]
QUESTION = {"question": "What?", "answers": ["this", "that"], "right": 1}


def _begin(storage: Storage, *, nonce: str | None = None, now: float | None = None) -> str:
    person = storage.enrol(nonce=nonce, now=now).participant.id
    assert begin_tasks(storage, person, {}, ratings={}, now=now)
    return person


def _numbers(storage: Storage) -> dict[str, int]:
    """The number of each participant in the plan."""
    people = tables.participants.c
    with reading(storage.engine) as connection:
        return {row.id: row.number for row in connection.execute(select(people.id, people.number))}


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
        people = list(pool.map(lambda _: _begin(storage), range(40)))
    numbers = _numbers(storage)
    assert sorted(numbers[one] for one in people) == list(range(40))
    for one in people:
        assert storage.plan_of(one) == plan_for(storage.study.plan_options, numbers[one])


def test_many_who_write_at_once_wait_for_their_turn(tmp_path: Path) -> None:
    """Also where SQLite itself hardly waits for the lock of another write."""
    storage = Storage.open(read_study(settings()), f"sqlite:///{tmp_path / 'answers.sqlite'}", busy=0.05)
    with ThreadPoolExecutor(16) as pool:
        people = [one.participant for one in pool.map(lambda _: storage.enrol(), range(64))]
    assert len({one.number for one in people}) == 64


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
    _begin(storage, nonce="a", now=0.0)
    late = storage.enrol(nonce="late", now=0.5).participant.id
    _begin(storage, nonce="b", now=1.0)
    with pytest.raises(StudyFull):
        storage.enrol(nonce="c", now=2.0)
    with pytest.raises(StudyFull):  # who agreed before, and answers for the first time now
        begin_tasks(storage, late, {}, ratings={}, now=2.0)
    assert storage.enrol(nonce="a", now=2.0).token == first.token  # who is inside stays inside
    assert store_answer(storage, first.participant.id, 1, {"ranks": {}}, now=3.0)
    assert storage.enrol(nonce="c", now=100_000.0).new  # who has long gone is not counted


def test_a_place_is_taken_by_the_first_answer(new_storage: Make) -> None:
    storage = new_storage(study={"most_open": 3}, ratings={"least": 1}, comprehension=[QUESTION])
    people = [storage.enrol(now=float(moment)).participant.id for moment in range(50)]
    assert set(_numbers(storage).values()) == set(range(-50, 0))  # none of them has a number of the plan
    for one in people[:3]:
        assert store_comprehension(storage, one, tries=0, right=True, now=100.0)
    for one in people[3:5]:
        with pytest.raises(StudyFull):
            store_comprehension(storage, one, tries=0, right=True, now=101.0)
    assert store_rating(storage, people[0], "i1", 3, source="browse", now=102.0)  # who has a place goes on
    later = 102.0 + WAITS_FOR
    assert store_comprehension(storage, people[3], tries=0, right=True, now=later)
    assert begin_tasks(storage, people[0], {}, ratings={"i1": 3.0}, now=later)
    assert store_comprehension(storage, people[4], tries=0, right=True, now=later)
    with pytest.raises(StudyFull):
        store_comprehension(storage, people[5], tries=0, right=True, now=later)


def test_a_rating_takes_a_place(new_storage: Make) -> None:
    storage = new_storage(study={"most_open": 1}, ratings={"least": 1})
    first, second = (storage.enrol(now=1.0).participant.id for _ in range(2))
    assert store_rating(storage, first, "i1", 3, source="browse", now=2.0)
    with pytest.raises(StudyFull):
        store_rating(storage, second, "i1", 3, source="browse", now=3.0)
    assert ratings_of(storage, second) == {}
    assert store_rating(storage, first, "i1", None, source="browse", now=4.0)
    assert store_rating(storage, second, "i1", 3, source="browse", now=5.0)


def test_places_of_those_who_answered_stay_longer(new_storage: Make) -> None:
    storage = new_storage("pair", study={"most_open": 1})
    first = _begin(storage, now=0.0)
    assert store_answer(storage, first, 1, {"answer": "left"}, now=10.0)
    for moment, free in ((10.0 + WAITS_FOR, False), (9.0 + OPEN_FOR, False), (10.0 + OPEN_FOR, True)):
        if free:
            assert storage.enrol(now=moment).new
        else:
            with pytest.raises(StudyFull):
                storage.enrol(now=moment)


def test_numbers_of_the_plan_return_from_those_who_answer_nothing(new_storage: Make) -> None:
    storage = new_storage()
    plan = [plan_for(storage.study.plan_options, number) for number in range(4)]
    people = [_begin(storage, now=float(moment)) for moment in range(3)]
    assert store_answer(storage, people[1], 1, {"ranks": {"A": 1}}, now=5.0)
    gone = WAITS_FOR + 3.0
    fourth, fifth, sixth = (_begin(storage, now=gone) for _ in range(3))
    numbers = _numbers(storage)
    assert [numbers[one] for one in (people[1], fourth, fifth, sixth)] == [1, 0, 2, 3]
    assert [storage.plan_of(one) for one in (fourth, fifth, sixth)] == [plan[0], plan[2], plan[3]]
    assert max(numbers[people[0]], numbers[people[2]]) < 0
    assert storage.plan_of(people[0]) == plan[0]  # who comes back has the lists that they saw
    assert store_answer(storage, people[0], 1, {"ranks": {"A": 2}}, now=gone)
    assert export_tables(storage)["rankings"]["participant"].unique().sort().to_list() == sorted(people[:2])


def test_databases_of_earlier_versions_go_on(new_storage: Make) -> None:
    """They have one counter, and everybody who enrolled has a number and a plan."""
    storage = new_storage()
    old = storage.enrol().participant.id
    with writing(storage.engine) as connection:
        connection.execute(delete(tables.counters).where(tables.counters.c.name == "enrolled"))
        storage.give_plan(connection, old, now=0.0)
    again = Storage.open(storage.study, storage.engine.url.render_as_string(hide_password=False))
    assert begin_tasks(again, old, {}, ratings={})
    following = _begin(again)
    assert _numbers(again)[following] == 1


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
