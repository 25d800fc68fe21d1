"""The words of all pages, by language: English comes with trueval, a study adds or replaces."""

from __future__ import annotations

import string
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trueval.errors import DefinitionError, suggest
from trueval.study.definition import Study

# Texts of the study itself that a language may replace, too.
OWN = ("title", "information", "question", "thanks_text")
_RIGHT_TO_LEFT = ("ar", "dv", "fa", "he", "ps", "ur", "yi")


@cache
def english() -> dict[str, str]:
    """The English words by key."""
    return tomllib.loads((Path(__file__).parent / "words" / "en.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Words:
    """The words of one language; what it leaves out is English."""

    language: str
    table: dict[str, str]

    def __call__(self, key: str, /, **filled: object) -> str:
        """A text with its blanks filled in.

        >>> Words("en", english())("progress", step=1, steps=4)
        'Step 1 of 4'
        """
        return self.table[key].format(**filled) if filled else self.table[key]

    def own(self, text: str) -> str:
        """A text of the study's own, such as an answer or a reason: in this language where it has a translation.

        >>> Words("de", {"It is new": "Es ist neu"}).own("It is new"), Words("en", {}).own("It is new")
        ('Es ist neu', 'It is new')
        """
        return self.table.get(text, text)

    @property
    def direction(self) -> str:
        """Whether the language is written from the left or from the right."""
        return "rtl" if self.language.split("-")[0] in _RIGHT_TO_LEFT else "ltr"


def words_of(study: Study) -> dict[str, Words]:
    """The words of every language of a study, the first being the default; keys that do not exist are refused."""
    own = {
        "title": study.about.title, "information": study.information.text,
        "question": getattr(study.form, "question", ""), "thanks_text": study.thanks.text,
    }  # fmt: skip
    known, translated = {**english(), **own}, own_texts(study)
    for language, table in study.words.items():
        for key, text in table.items():
            if key in translated:
                continue
            if key not in known:
                raise DefinitionError(
                    f"there is no text {key!r}", where=study.written.at("words", language), do=suggest(key, known)
                )
            extra = _blanks(text) - (_blanks(known[key]) if key not in OWN else set())
            if extra and key not in OWN:
                raise DefinitionError(
                    f"{key} has a blank that is never filled", where=study.written.at("words", language),
                    found="{" + "}, {".join(sorted(extra)) + "}", do=f"the English text is: {known[key]}",
                )  # fmt: skip
    return {one: Words(one, {**known, **study.words.get(one, {})}) for one in study.about.languages}


def own_texts(study: Study) -> set[str]:
    """The study's own texts that a language translates by the text itself: questions, answers, scales, reasons."""
    texts = [text for one in study.comprehension for text in (one.question, *one.answers)]
    texts += [text for scale in study.scales for text in (scale.text, scale.low, scale.high)]
    return {text for text in [*texts, *getattr(study.form, "reasons", [])] if text}


def missing_words(study: Study) -> dict[str, int]:
    """How many texts each language of a study lacks, besides the one that the study file is written in (the first)."""
    given = {"title", "information", "question"} if hasattr(study.form, "question") else {"title", "information"}
    return {
        language: sum(
            key not in study.words.get(language, {})
            for key in [*(english() if language != "en" else ()), *((given | own_texts(study)) if place else ())]
        )
        for place, language in enumerate(study.about.languages)
    }


def _blanks(text: str) -> set[str]:
    """The names in braces.

    >>> _blanks("{count} of {least}") == {"count", "least"}
    True
    """
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError:
        return {"unbalanced braces"}
