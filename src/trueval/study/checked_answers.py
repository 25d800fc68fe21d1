"""Answers as forms send them, checked: what is stored is complete and has only values that the study knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueval.online.user_study.blanks import NOT_LOOKED_AT
from trueval.study.definition import Study
from trueval.study.plan import Planned
from trueval.study.sections import Pair, Rank
from trueval.study.words_table import Words

MARKS = ("would", "know", "not")


class Incomplete(Exception):  # no error: people are asked for what is missing
    """An answer that is not complete; its text is what people are told."""


def checked_answer(
    study: Study, plan: list[Planned], fields: Mapping[str, str], words: Words, *, length: int
) -> dict[str, Any]:
    """The body of an answer (see `answers.store_answer`) from the fields of a form; `length` is that of the list."""
    if isinstance(study.form, Rank):
        return {"ranks": _ranks(study.form, [one.label for one in plan], fields, words)}
    if isinstance(study.form, Pair):
        if fields.get("answer") not in ("left", "right", "none"):
            raise Incomplete(words("pair_need"))
        reasons = [text for number, text in enumerate(study.form.reasons, 1) if fields.get(f"reason-{number}")]
        return {"answer": fields["answer"], "reasons": reasons}
    scales = {}
    for number, scale in enumerate(study.scales, 1):
        value = _whole(fields.get(f"scale-{number}"), scale.points)
        if value is None:
            raise Incomplete(words("rate_need"))
        scales[scale.name] = value
    places = range(1, length + 1) if study.form.marks else ()
    marks = {str(place): fields[f"mark-{place}"] for place in places if fields.get(f"mark-{place}") in MARKS}
    return {"scales": scales, "marks": marks}


def _ranks(form: Rank, labels: list[str], fields: Mapping[str, str], words: Words) -> dict[str, int | None]:
    ranks = {label: _whole(fields.get(f"place-{label}"), len(labels)) for label in labels}
    given = [place for place in ranks.values() if place is not None]
    if form.blanks == "not allowed" and len(given) < len(labels):
        raise Incomplete(words("rank_need_all"))
    if not form.ties and len(set(given)) < len(given):
        raise Incomplete(words("rank_twice"))
    if 1 not in given:
        raise Incomplete(words("rank_need_one"))
    if form.blanks == NOT_LOOKED_AT and len(given) < 2:
        raise Incomplete(words("rank_need_two"))
    return ranks


def _whole(text: str | None, most: int) -> int | None:
    """A whole number from 1 to `most`; None for anything else.

    >>> _whole("3", 5), _whole("6", 5), _whole("", 5), _whole("٣", 5)
    (3, None, None, None)
    """
    known = text is not None and text.isascii() and text.isdecimal() and len(text) < 4
    return int(text) if known and text is not None and 1 <= int(text) <= most else None
