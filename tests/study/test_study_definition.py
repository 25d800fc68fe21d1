"""Study files: what cannot work is refused, with the name of the key."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from small_studies import FORMS, settings

from trueval.errors import TruevalError
from trueval.study.definition import read_study
from trueval.study.example_study import example_text
from trueval.study.sections import SECTIONS
from trueval.study.words_table import english, words_of


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_studies_of_every_form_are_read(form: str) -> None:
    study = read_study(settings(form))
    assert study.about.form == form
    assert (study.lists.length, study.lists.visible) == ((200, 20) if form == "rank" else (10, 10))


SPOILED: list[tuple[str, dict[str, Any], str, str]] = [
    ("rank", {"study": {"form": "order"}}, "form must be one of rank, pair, rate", "[study] form"),
    ("rank", {"study": {"participants": 0}}, "participants must be a whole number", "[study] participants"),
    ("rank", {"study": {"tilte": "x"}}, "has no key 'tilte'", "[study] tilte"),
    ("rank", {"information": {"text": " "}}, "text must be a string that is not blank", "[information] text"),
    ("rank", {"lists": {"length": 201}}, "length must be a whole number from 1 to 200", "[lists] length"),
    ("rank", {"lists": {"length": 5, "visible": 9}}, "more items would be visible", "[lists] visible"),
    ("rank", {"ratings": {"scale": [1, 1]}}, "scale must be a list of 2 to 10 numbers", "[ratings] scale"),
    ("rank", {"ratings": {"popular": 1.5}}, "popular must be a number from 0 to 1", "[ratings] popular"),
    ("rank", {"pair": FORMS["pair"]}, "[pair] belongs to another form", "[pair]"),
    ("rank", {"rank": {"ties": "yes"}}, "ties must be true or false", "[rank] ties"),
    ("pair", {"pair": {"pairs": 4}}, "3 systems have 3 pairs", "[pair] pairs"),
    ("pair", {"pair": {"reasons": ["a", "a"]}}, "reasons must be a list of different strings", "[pair] reasons"),
    ("rate", {"rate": {"questions": []}}, "[rate] needs questions", "[rate] questions"),
    ("rate", {"rate": {"questions": [{"name": "a"}]}}, "text is missing", "[rate] questions, number 1"),
    ("rate", {"rate": {"questions": [{"name": "a", "text": "b"}] * 2}}, "a name of its own", "[rate] questions"),
    ("rank", {"systems": {"popularity": {}}}, "a study compares 2 to 12 systems", "[systems]"),
    ("rank", {"systems": {"popularity": {}, "popularty": {}}}, "no system 'popularty'", "[systems] popularty"),
    ("rank", {"systems": {"(random)": {"system": "random"}, "popularity": {}}}, "can be called (random)", "(random)"),
    ("rank", {"data": {"path": "nothing.csv"}}, "", "[data] path"),
    ("rank", {"data": {"pictures": "nowhere"}}, "no such folder of pictures", "[data] pictures"),
    ("rank", {"thanks": {"address": "javascript:alert(1)"}}, "one that a browser can go to", "[thanks] address"),
    ("rank", {"study": {"languages": ["de"]}}, "no words for the language de", "[study] languages"),
    ("rank", {"words": {"en": {"start": 3}}}, "must be a table of texts", "[words] en"),
    ("rank", {"comprehension": [{"question": "?", "answers": ["a", "b"], "right": 3}]}, "right must be", "right"),
    ("rank", {"comprehension": {"question": "?"}}, "must be a list of questions", "[comprehension]"),
    ("rank", {"nonsense": {}}, "a study has no section [nonsense]", "[nonsense]"),
]


@pytest.mark.parametrize(("form", "sections", "what", "where"), SPOILED, ids=[one[2] or one[3] for one in SPOILED])
def test_what_cannot_work_is_refused_by_name(form: str, sections: dict[str, Any], what: str, where: str) -> None:
    with pytest.raises(TruevalError) as refused:
        read_study(settings(form, **sections))
    assert what in refused.value.what
    assert where in refused.value.where


def test_missing_keys_are_named() -> None:
    study = settings()
    del study["study"]["title"]
    with pytest.raises(TruevalError, match=r"\[study\] title is missing"):
        read_study(study)


def test_files_are_quoted_by_line(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,item,value\n1,2,3\n")
    path = tmp_path / "study.toml"
    text = example_text("rank").replace('pictures = "pictures"', "").replace('items = "items.csv"', "")
    path.write_text(text)
    assert read_study(path).about.participants == 40
    path.write_text(text.replace("least = 8", "least = -1"))
    with pytest.raises(TruevalError) as refused:
        read_study(path)
    line = text.splitlines().index(next(one for one in text.splitlines() if one.startswith("least"))) + 1
    assert refused.value.where == f"study.toml, line {line}: [ratings] least"
    path.write_text("[study\n")
    with pytest.raises(TruevalError, match="the study file is not valid TOML"):
        read_study(path)
    with pytest.raises(TruevalError, match="the study file cannot be read"):
        read_study(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("words", "what"),
    [({"strat": "x"}, "there is no text 'strat'"), ({"progress": "{setp}"}, "never filled"), ({"list": "{"}, "blank")],
)
def test_words_that_do_not_exist_are_refused(words: dict[str, str], what: str) -> None:
    with pytest.raises(TruevalError, match=what):
        words_of(read_study(settings(words={"en": words})))


def test_every_word_is_used_and_every_used_word_exists() -> None:
    import re

    source = Path(__file__).parents[2] / "src" / "trueval" / "study"
    texts = [path.read_text() for path in [*source.glob("templates/*.html"), *source.glob("*.py")]]
    used = {name for text in texts for name in re.findall(r"""(?:\bt|words)\(["'](\w+)["']""", text)}
    used |= {"mark_would", "mark_know", "mark_not", "language_name"}  # put together, or asked for by its table
    made = {"not_found", "form", "too_large", "too_slow", "error", "full"}  # messages, by key and heading
    known = set(english())
    assert used - known - {"mark_"} <= {"title", "information", "question", "thanks_text"}
    assert known <= used | made | {f"{one}_title" for one in made}


def test_what_a_study_file_may_leave_out() -> None:
    """Each key that is not written is as if it were written so; those that the example writes as usual are."""
    usual = {
        "study": {"participants": 30, "seed": 0, "languages": ["en"], "most_open": 500, "per_address": 100},
        "data": {"items": None, "columns": None, "pictures": ""},
        "lists": {"length": 0, "visible": 0},
        "ratings": {"least": 10, "scale": [1, 2, 3, 4, 5], "popular": 0.5, "popular_items": 0.1, "page": 12},
        "rank": {"blanks": "not allowed", "ties": False},
        "pair": {"pairs": 0, "reasons": []},
        "rate": {"marks": True},
        "checks": {"same": False, "random": False},
        "thanks": {"text": "", "code": "", "address": "", "comment": True},
        "outside": {"ids": []},
    }
    for name, section in SECTIONS.items():
        found = {
            one.name: one.default if one.default is not MISSING else one.default_factory()
            for one in fields(section)
            if one.default is not MISSING or one.default_factory is not MISSING
        }
        assert found == usual.get(name, {}), name
    shown = "".join(example_text(form) for form in FORMS)
    for line in (
        "most_open = 500",
        "per_address = 100",
        'languages = ["en"]',
        "popular = 0.5",
        "popular_items = 0.1",
        "page = 12",
    ):
        assert line in shown
