"""Answers as forms send them: what is stored, and what people are asked for."""

from __future__ import annotations

from typing import Any

import pytest
from small_studies import settings

from trueval.study.checked_answers import Incomplete, checked_answer
from trueval.study.definition import read_study
from trueval.study.plan import Planned
from trueval.study.words_table import words_of


def answered(form: str, fields: dict[str, str], *, length: int = 5, **sections: Any) -> dict[str, Any]:
    study = read_study(settings(form, **sections))
    plan = [Planned(1, place, label, f"s{place}") for place, label in enumerate("ABC", 1)]
    return checked_answer(study, plan, fields, next(iter(words_of(study).values())), length=length)


def test_marks_are_of_the_places_of_the_list() -> None:
    """From the first to the last, and of no others, which only a forged form has; other marks are left out."""
    scales = {"scale-1": "5", "scale-2": "7"}
    marks = {f"mark-{place}": "know" for place in range(7)} | {"mark-3": "not", "mark-4": "love"}
    found = answered("rate", scales | marks, rate={"marks": True})
    assert found["marks"] == {"1": "know", "2": "know", "3": "not", "5": "know"}
    assert found["scales"] == {"relevance": 5, "novelty": 7}
    assert answered("rate", scales | marks, rate={"marks": False})["marks"] == {}


@pytest.mark.parametrize("wrong", [{"scale-1": "0"}, {"scale-1": "6"}, {"scale-2": "8"}, {"scale-2": ""}, {}])
def test_every_scale_is_answered_on_its_points(wrong: dict[str, str]) -> None:
    fields = {"scale-1": "1", "scale-2": "1"} | wrong if wrong else {"scale-1": "1"}
    with pytest.raises(Incomplete):
        answered("rate", fields)


def test_reasons_are_those_that_were_ticked() -> None:
    ticked = {"answer": "left", "reason-0": "yes", "reason-2": "yes", "reason-3": "yes"}
    assert answered("pair", ticked) == {"answer": "left", "reasons": ["more variety"]}
    assert answered("pair", {"answer": "none", "reason-1": "yes"})["reasons"] == ["fits my taste"]
    with pytest.raises(Incomplete):
        answered("pair", {"answer": "both"})


@pytest.mark.parametrize(
    ("places", "ranks"),
    [(("1", "2", "3"), (1, 2, 3)), (("3", "1", ""), (3, 1, None)), (("4", "1", "0"), (None, 1, None)),
     (("2", "3", ""), None), (("1", "1", "2"), None), (("", "", ""), None)],
)  # fmt: skip
def test_places_are_from_one_to_the_number_of_lists(
    places: tuple[str, ...], ranks: tuple[int | None, ...] | None
) -> None:
    """One list is the best, and no two share a place where ties are not allowed."""
    fields = {f"place-{label}": place for label, place in zip("ABC", places)}
    if ranks is None:
        with pytest.raises(Incomplete):
            answered("rank", fields, rank={"ties": False})
    else:
        assert answered("rank", fields, rank={"ties": False})["ranks"] == dict(zip("ABC", ranks))


def test_blanks_that_are_not_allowed() -> None:
    fields = {"place-A": "2", "place-B": "1", "place-C": "3"}
    assert answered("rank", fields, rank={"blanks": "not allowed"})["ranks"] == {"A": 2, "B": 1, "C": 3}
    with pytest.raises(Incomplete):
        answered("rank", {**fields, "place-C": ""}, rank={"blanks": "not allowed"})
