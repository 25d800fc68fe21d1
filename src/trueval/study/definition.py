"""A study as its file describes it: form, systems, texts, checks; refused with the key's name where it cannot work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueval.data.table_columns import parse_columns
from trueval.errors import DefinitionError, TruevalError, suggest
from trueval.experiments.experiment_file import Written, read_written, show
from trueval.experiments.sources import find_path
from trueval.experiments.system_entries import Entry, read_entries
from trueval.online.user_study.blanks import MEANINGS
from trueval.study.plan import FORMS, RANDOM_LIST, PlanOptions
from trueval.study.section_keys import read_section, read_table, tables
from trueval.study.sections import (
    SECTIONS,
    About,
    Checks,
    Data,
    Information,
    Lists,
    Outside,
    Pair,
    Question,
    Rank,
    Rate,
    Ratings,
    Scale,
    Thanks,
)

MOST_SYSTEMS = 12  # more tabs or pairs than this nobody compares
_OTHERS = ("systems", "comprehension", "words")
_LENGTHS = {"rank": (200, 20), "pair": (10, 10), "rate": (10, 10)}  # of lists: items, and those visible at once


@dataclass(frozen=True)
class Study:
    """One study, all of it known to make sense as far as that can be known without its data."""

    written: Written
    about: About
    data: Data
    lists: Lists
    information: Information
    comprehension: list[Question]
    ratings: Ratings
    form: Rank | Pair | Rate
    scales: list[Scale]
    checks: Checks
    thanks: Thanks
    outside: Outside
    systems: dict[str, Entry]
    words: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the study's file, without its ending."""
        return Path(self.written.name).stem or "study"

    @property
    def folder(self) -> Path:
        """Where the study's file is; answers are kept there unless a database is named."""
        return self.written.base

    @property
    def plan_options(self) -> PlanOptions:
        """All that the plan of a participant depends on."""
        return PlanOptions(
            form=self.about.form, systems=tuple(self.systems), seed=self.about.seed, same=self.checks.same,
            random=self.checks.random, pairs=self.form.pairs if isinstance(self.form, Pair) else 0,
        )  # fmt: skip

    @property
    def blanks(self) -> str | None:
        """What people were told that a list without a place means; None where lists get no places."""
        return self.form.blanks if isinstance(self.form, Rank) else None

    @property
    def digest(self) -> str:
        """A digest of what must not change once people have taken part: form, systems, plan, lists, questions."""
        lasting = {
            "plan": repr(self.plan_options), "lists": [self.lists.length, self.lists.visible],
            "systems": {name: entry.text for name, entry in self.systems.items()},
            "scale": self.ratings.scale, "scales": [one.name for one in self.scales],
        }  # fmt: skip
        if self.blanks in MEANINGS:
            lasting["blanks"] = self.blanks
        return hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()


def read_study(source: str | Path | Mapping[str, Any]) -> Study:
    """Read a study from a TOML file or a mapping of the same form, and refuse what cannot work.

    >>> study = read_study({
    ...     "study": {"title": "Lists", "form": "pair"}, "data": {"path": "."}, "information": {"text": "About …"},
    ...     "pair": {"question": "Which one?"}, "systems": {"popularity": {}, "random": {}},
    ... })
    >>> study.lists.length, list(study.systems)
    (10, ['popularity', 'random'])
    """
    written = read_written(source, what="study file")
    _check_sections(written)
    read: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        if name in FORMS and name != read["study"].form:
            if name in written.sections:
                _refuse_other_form(written, name, read["study"].form)
            continue
        if name == "rank":
            _refuse_partial(written)
        read[name] = read_section(written, name, section)
    about: About = read["study"]
    form = read[about.form]
    scales = _scales(written, form) if isinstance(form, Rate) else []
    study = Study(
        written, about, _found(written, read["data"]), _lengths(written, read["lists"], about.form),
        read["information"], _questions(written), read["ratings"], form, scales, read["checks"], read["thanks"],
        read["outside"], _systems(written), _words(written),
    )  # fmt: skip
    _check_together(study)
    return study


def _check_sections(written: Written) -> None:
    known = [*SECTIONS, *_OTHERS]
    for name, value in written.sections.items():
        if name not in known:
            outside = not isinstance(value, (Mapping, list))
            what = f"{name} is outside of all sections" if outside else f"a study has no section [{name}]"
            raise DefinitionError(
                what, where=written.at("" if outside else name, name * outside), do=suggest(name, known)
            )


def _refuse_other_form(written: Written, name: str, form: str) -> None:
    raise DefinitionError(
        f"[{name}] belongs to another form", where=written.at(name), found=f'form = "{form}"',
        do=f'remove [{name}], or write form = "{name}" in [study]',
    )  # fmt: skip


def _refuse_partial(written: Written) -> None:
    """A key of earlier versions, which let people leave blanks without a meaning."""
    partial = written.section("rank").get("partial")
    if partial is None:
        return
    others = ' or, where people may leave lists out, "worse" (than all lists that have a place) or "not looked at"'
    answered = '; with answers that are there already write "not allowed", and study analyse --blanks' * bool(partial)
    raise DefinitionError(
        "[rank] has no key 'partial': it has to say what a list without a place means",
        where=written.at("rank", "partial"), found=f"partial = {show(partial)}",
        do='write blanks = "not allowed"' + f"{others}{answered}" * bool(partial),
    )  # fmt: skip


def _found(written: Written, data: Data) -> Data:
    """The section [data] with its files found."""
    found = {name: find_path(written, "data", name) for name in ("path", "items") if name in written.section("data")}
    columns = data.columns
    if isinstance(columns, str):
        try:
            columns = parse_columns(columns, tables=("log", "items"))
        except TruevalError as problem:
            raise written.refused(problem, "data", "columns") from None
    if data.pictures and not (written.base / data.pictures).is_dir():
        raise DefinitionError(
            "there is no such folder of pictures", where=written.at("data", "pictures"), found=data.pictures,
            do="give a folder beside the study file; items name a file in it in their column picture",
        )  # fmt: skip
    return Data(found["path"], found.get("items"), columns, data.pictures)


def _lengths(written: Written, lists: Lists, form: str) -> Lists:
    length, visible = _LENGTHS[form]
    length = lists.length or max(length, lists.visible)
    visible = lists.visible or min(visible, length)
    if visible > length:
        raise DefinitionError(
            "more items would be visible than a list has", where=written.at("lists", "visible"),
            found=f"visible = {visible}, length = {length}", do="make visible at most length",
        )  # fmt: skip
    return Lists(length, visible)


def _questions(written: Written) -> list[Question]:
    given = written.sections.get("comprehension", [])
    if not tables().check(given):
        raise DefinitionError(
            "comprehension must be a list of questions", where=written.at("comprehension"), do="write [[comprehension]]"
        )
    questions = []
    for number, one in enumerate(given, 1):
        place = written.at(f"[comprehension] number {number}")
        question = read_table(one, Question, at=_inside(place), name="[[comprehension]]")
        if len(question.answers) < 2 or question.right > len(question.answers):
            raise DefinitionError(
                "right must be the number of one of at least two answers", where=f"{place} right",
                found=f"right = {question.right}, {len(question.answers)} answers", do="count the answers from 1",
            )  # fmt: skip
        questions.append(question)
    return questions


def _inside(place: str) -> Callable[[str], str]:
    return lambda name: f"{place} {name}".rstrip()


def _scales(written: Written, rate: Rate) -> list[Scale]:
    scales = []
    for number, one in enumerate(rate.questions, 1):
        place = written.at("rate", f"questions, number {number}")
        scales.append(read_table(one, Scale, at=_inside(place), name="a question"))
    names = [scale.name for scale in scales]
    if not names or len(set(names)) < len(names):
        raise DefinitionError(
            "[rate] needs questions, each with a name of its own", where=written.at("rate", "questions"),
            found=", ".join(names) or "no question", do="write [[rate.questions]] with name and text",
        )  # fmt: skip
    return scales


def _systems(written: Written) -> dict[str, Entry]:
    entries = read_entries(written)
    if not 2 <= len(entries) <= MOST_SYSTEMS:
        raise DefinitionError(
            f"a study compares 2 to {MOST_SYSTEMS} systems", where=written.at("systems"),
            found=f"{len(entries)} systems", do="write [systems] with one line for each, such as popularity = {}",
        )  # fmt: skip
    if RANDOM_LIST in entries:
        raise DefinitionError(
            f"no system can be called {RANDOM_LIST}", where=written.at("systems", RANDOM_LIST), do="choose another name"
        )
    return entries


def _words(written: Written) -> dict[str, dict[str, str]]:
    given = written.section("words")
    for language, table in given.items():
        if not isinstance(table, Mapping) or not all(isinstance(one, str) for one in table.values()):
            raise DefinitionError(
                f"the words of {language} must be a table of texts", where=written.at("words", language),
                found=show(table)[:200], do=f'write [words.{language}] and lines such as continue = "…"',
            )  # fmt: skip
    return {language: dict(table) for language, table in given.items()}


def _check_together(study: Study) -> None:
    """What single keys cannot tell."""
    written, form = study.written, study.form
    number = len(study.systems) * (len(study.systems) - 1) // 2
    if isinstance(form, Pair) and form.pairs > number:
        raise DefinitionError(
            f"{len(study.systems)} systems have {number} pairs", where=written.at("pair", "pairs"),
            found=f"pairs = {form.pairs}", do="give fewer, or 0 for all",
        )  # fmt: skip
    address = study.thanks.address
    if address and not address.startswith(("https://", "http://")):
        raise DefinitionError(
            "address must be one that a browser can go to", where=written.at("thanks", "address"), found=address,
            do="write https://…",
        )  # fmt: skip
    for language in study.about.languages:
        if language != "en" and language not in study.words:
            raise DefinitionError(
                f"there are no words for the language {language}", where=written.at("study", "languages"),
                do=f"add a section [words.{language}]; words that it leaves out are English",
            )  # fmt: skip
