"""Drafts of findings about orders that are reversed and values that change, as most checks of estimates make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from trueval.audit.changes import Difference, Pair, Reversal, ValueChange, differences, reversals
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.sentences import (
    change_sentence,
    close_sentence,
    first_of,
    reversal_sentence,
    unconfirmed_sentence,
    upheld_sentence,
)
from trueval.audit.settings import Setting
from trueval.audit.subject import Subject


@dataclass(frozen=True)
class Question:
    """What a check of alternatives asks, and the words of its answer.

    `here` follows a difference as the reader has it ("as given"); `holds` is said where nothing changes, `why` explains
    what a change means, `remedy` what to do about it; `unknown` is said where nothing could be tested.
    """

    check: str
    heading: str
    here: str
    holds: str
    why: str
    remedy: str
    unknown: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


def compare_orders(
    subject: Subject, there: Setting | None, *, setting: str, labels: Mapping[str, str] | None = None,
    here: Mapping[str, Mapping[Pair, Difference]] | None = None,
) -> list[Reversal]:  # fmt: skip
    """Reversals between the reader's values and another setting, on every metric.

    `labels` names the metric of the other setting that is compared with each of the reader's.
    """
    if there is None or len(there.systems) < 2:
        return []
    found: list[Reversal] = []
    for label, other in (labels or {label: label for label in subject.labels}).items():
        if other in there.specs:
            own = (here or subject.here)[label]
            found += reversals(label, own, differences(there, other, pairs=own), setting=setting)
    return found


def upheld(true: Setting | None, reversed_: Sequence[Reversal]) -> list[Reversal]:
    """Orders that are reversed elsewhere, but that an unbiased test upholds (Bonferroni's correction over them).

    What is given back has the difference on the unbiased test in place of the reversed one.
    """
    if true is None:
        return []
    found = []
    for one in reversed_:
        pair = (one.here.first, one.here.second)
        if one.metric not in true.specs or not set(pair) <= set(true.systems):
            continue
        there = differences(true, one.metric, pairs=[pair])[pair]
        if there.value * one.here.value > 0 and there.p * len(reversed_) < ALPHA:
            found.append(replace(one, there=there))
    return found


def draft_of(
    question: Question, orders: Sequence[Reversal], changes: Sequence[ValueChange] = (), *, true: Setting | None = None
) -> Draft:
    """A caution where an order is reversed or a value changes, after the correction over the whole audit.

    `true` has the values on an unbiased test, where these are what the alternative is to come near: an order that they
    uphold is no caution.
    """
    p = np.array([*(one.p for one in orders), *(one.p for one in changes)], float)

    def conclude(q: np.ndarray) -> Finding:
        elsewhere = [one for one, at in zip(orders, q) if at < ALPHA]
        held = upheld(true, elsewhere)
        known = {(one.metric, one.better) for one in held}
        reversed_ = [one for one in elsewhere if (one.metric, one.better) not in known]
        moved = [one for one, at in zip(changes, q[len(orders) :]) if at < ALPHA]
        swapped = [one for one, at in zip(orders, q) if one.here.value * one.there.value < 0 and not at < ALPHA]
        figures = {
            **question.figures, "pairs": len(orders), "reversed": [recorded(one) for one in reversed_],
            "values": [asdict(one) for one in changes], "within_noise": len(swapped),
            **({"upheld": [list(one.better) for one in held]} if held else {}),
        }  # fmt: skip
        if not len(q) and question.unknown:
            return _finding(question, "cannot tell", question.unknown, figures, np.nan)
        least = float(np.nanmin(q)) if len(q) and not np.isnan(q).all() else np.nan
        if not reversed_ and not moved:
            lost = [one for one in swapped if one.here.p < ALPHA]
            close = close_sentence([one for one in swapped if not one.here.p < ALPHA], here=question.here)
            if lost:
                text = f"{unconfirmed_sentence(lost)} {question.why}{upheld_sentence(held)}{close}"
                return _finding(question, "cannot tell", text, figures, least)
            if held:
                text = first_of([reversal_sentence(one, here=question.here) for one in elsewhere], "reversed order")
                return _finding(question, "fine", f"{text}{upheld_sentence(held)}{close}", figures, least)
            return _finding(question, "fine", f"{question.holds}{close}", figures, least)
        said = []
        if reversed_:
            told = [reversal_sentence(one, here=question.here) for one in reversed_]
            said.append(first_of(told, "reversed order"))
        if moved:
            said.append(first_of([change_sentence(one) for one in moved], "changed value"))
        text = f"{' '.join(said)} {question.why}{upheld_sentence(held)}"
        orders_here = tuple(one.here.statement(one.metric, "+" if one.here.value > 0 else "-") for one in reversed_)
        return replace(_finding(question, "caution", text.strip(), figures, least), statements=orders_here)

    return Draft(p, conclude)


def _finding(question: Question, verdict: str, sentence: str, figures: Mapping[str, Any], p: float) -> Finding:
    remedy = "" if verdict == "fine" else question.remedy
    return Finding(question.check, question.heading, verdict, "estimate", sentence, figures, remedy, p)


def recorded(one: Reversal) -> dict[str, Any]:
    """A reversed order as plain data."""
    return {
        "metric": one.metric, "setting": one.setting, "systems": list(one.better),
        "here": one.here.value, "there": one.there.value, "p": one.p,
    }  # fmt: skip
