"""Pictures of designs show what a naive reading of the design's definition ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trueval.design.design import Design
from trueval.design.picture import picture
from trueval.design.words import WORDS, words_of
from trueval.errors import TruevalError

ITEMS = "ABCDEFGH"
TRAIN = {"Ann": "AC", "Bob": "AE", "Cid": "BD", "Dee": "AGH"}
RELEVANT = {"Ann": "BD", "Bob": "B", "Cid": "AF", "Dee": "F"}
OTHER = {"Ann": "E", "Bob": "C", "Cid": "C", "Dee": "E"}
TESTED = "ABCDEF"


def rows(name: str) -> dict[str, str]:
    """For each row of a picture its label, and the marks of the eight items."""
    text = picture(name).split("\n")
    start = next(i for i, line in enumerate(text) if line.split() == list(ITEMS))
    left = text[start].index("A")
    lines = text[start + 1 : text.index("", start)]
    return {line[:left].strip(): line[left : left + 15].ljust(15)[::2] for line in lines if line[2:5] in TRAIN}


def drawn(user: str, shown: str, candidates: str, *, seen: str = "") -> str:
    """The marks of a user by the definition: `shown` are the relevant items that are ranked."""
    marks = ""
    for item in ITEMS:
        if item in shown:
            marks += "●"
        elif item not in candidates or (item in RELEVANT[user]):
            marks += " "
        elif item in TRAIN[user] and seen != "allow":
            marks += "t"
        else:
            marks += "○" if item in OTHER[user] else "·"
    return marks


@pytest.mark.parametrize(
    ("name", "candidates", "seen"),
    [
        ("AR-TI-AN", TESTED, ""),
        ("AR-AI-AN", ITEMS, ""),
        ("AR-LIST-AN", "ABCDEFG", ""),
        ("AR-AI-AN-seen", ITEMS, "allow"),
    ],
)
def test_all_relevant_items_together(name: str, candidates: str, seen: str) -> None:
    assert rows(name) == {user: drawn(user, RELEVANT[user], candidates, seen=seen) for user in TRAIN}


@pytest.mark.parametrize(("name", "candidates"), [("1R-TI-AN", TESTED), ("1R-AI-AN", ITEMS)])
def test_each_relevant_item_alone(name: str, candidates: str) -> None:
    assert rows(name) == {f"{u} {item}": drawn(u, item, candidates) for u in TRAIN for item in RELEVANT[u]}


def test_the_head_is_the_item_rated_most() -> None:
    """A: three train rows and a test row."""
    assert {marks[0] for marks in rows("AR-AI-AN-head10").values()} == {" "}


def test_samples_have_their_size_and_no_train_item() -> None:
    for label, marks in rows("1R-AI-NN2").items():
        ranked = {item for item, mark in zip(ITEMS, marks) if mark in "○·"}
        assert len(ranked) == 2, label
        assert not ranked & set(TRAIN[label[:3]] + RELEVANT[label[:3]])


def test_condensed_has_judged_items_only() -> None:
    assert all("·" not in marks for marks in rows("AR-TI-AN-condensed").values())


def test_given_lists() -> None:
    assert "Cid  1 A ●  2 E ·  3 F ●  4 H ·" in picture("given")
    assert "Cid  1 A ·  2 E ·  3 F ●  4 H ·" in picture("given-head10")
    assert "Bob  1 C ○  2 B ●" in picture("given-condensed")
    assert "Dee  1 G t" in picture("given")
    assert "Dee  1 G ·" in picture("given-seen")


def test_numbers_too_large_for_the_example_are_told() -> None:
    assert "too small for P1R10-AI-NN100" in picture("P1R10-AI-NN100")
    assert "NN100  a random sample of 100" in picture("P1R10-AI-NN100")


@pytest.mark.parametrize("word", WORDS, ids=lambda one: one.word)
def test_every_word_has_a_picture(word: Any) -> None:
    assert word.example in picture(word.example)


def test_every_word_of_a_design_is_explained() -> None:
    names = ("AR-AI-NN7pop-head3", "UP1R4-LIST-NN9-resample", "AR-TI-AN-condensed-seen")
    assert all(means for name in names for _, means in words_of(Design.parse(name)))


def test_the_command(trueval: Callable[..., Any]) -> None:
    listed = trueval("designs")
    assert listed.code == 0
    assert all(f"  {one.word} " in listed.out for one in WORDS)
    assert trueval("designs", "1R-TI-AN").out == picture("1R-TI-AN")
    wrong = trueval("designs", "AR-XX")
    assert wrong.code == 2
    assert "unknown word" in wrong.err
    with pytest.raises(TruevalError):
        picture("given-NN5")
