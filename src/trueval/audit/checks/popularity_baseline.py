"""A popularity baseline that wins."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import differences
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import size
from trueval.audit.settings import Setting
from trueval.audit.subject import POPULARITY, Subject
from trueval.render.numbers import number, short_percent
from trueval.render.statements import Sign

_REMEDY = (
    "tune the systems (tv.tune), or recommend what is popular; report the difference: trueval compare … --baseline "
    "popularity"
)


@check(
    heading="popularity bias", kind="estimate", needs=("systems", "facts", "popularity"),
    question="Do the systems beat recommending what is popular?",
)  # fmt: skip
def popularity_baseline(case: Case) -> Iterable[Finding | Draft]:
    """Whether popularity is better than the best of the other systems, and how much of their lead it explains."""
    subject = case.measured
    name = getattr(subject, "popularity_name", "") or POPULARITY
    own = [one for one in subject.names if one != name and not subject.is_random(one)]
    if not own:
        sentence = "There is no system to compare with popularity: popularity is all that was given."
        yield Finding("popularity_baseline", "popularity bias", "fine", "fact", sentence)
        return
    setting = subject.measured("", subject.with_popularity, subject.tested_specs)
    if setting is None:
        return
    for label in subject.labels:
        yield _against(subject, setting, label, own, name)


def _against(subject: Subject, setting: Setting, label: str, own: list[str], name: str) -> Draft:
    """The best system of the reader against popularity: one test on one side."""
    side = -1 if subject.specs[label].better == "lower" else 1
    best = max(own, key=lambda one: side * setting.value(one, label))
    pair = differences(setting, label, [best, name])
    one = next(iter(pair.values()))
    one = one if one.first == best else one.turned()
    values = {system: setting.value(system, label) for system in (*own, name)}
    share = _explained(subject, label, side, values[best], values[name])
    figures: dict[str, Any] = {"metric": label, "values": values, "share_of_lead": share, "best": best}

    def conclude(q: np.ndarray) -> Finding:
        p, lead = float(q[0]), _lead(best, name, share)

        def finding(verdict: str, sentence: str, sign: Sign) -> Finding:
            remedy, said = "" if verdict == "fine" else _REMEDY, (one.statement(label, sign),)
            return Finding(
                "popularity_baseline", "popularity bias", verdict, "estimate", sentence, figures, remedy, p, said
            )

        if p < ALPHA and one.value < 0:
            return finding(
                "caution",
                f"{name} is better than {best}, the best of the other systems, on {label} by {size(one, turned=True)}: "
                f"{number(values[name])} against {number(values[best])}.",
                "-",
            )
        if one.value > 0 and one.p * len(own) < ALPHA:  # the best of so many
            return finding("fine", f"{best} is better than {name} on {label} by {size(one)}.{lead}", "+")
        first, other, turned = (name, best, True) if one.value < 0 else (best, name, False)
        return finding(
            "cannot tell",
            f"It cannot be told whether {best}, the best of the other systems, or {name} is better on {label}: {first} "
            f"is above {other} by {size(one, turned=turned)}, which is not significant after the correction over the "
            f"audit.{lead}",
            "?",
        )

    return Draft(np.array([one.p / 2 if one.value < 0 else 1.0 if one.p == one.p else math.nan]), conclude)


def _lead(best: str, name: str, share: float) -> str:
    return (
        "" if math.isnan(share) else f" {name} has {short_percent(share)} of the lead of {best} over a random ranking."
    )


def _explained(subject: Subject, label: str, side: int, best: float, popularity: float) -> float:
    """How much of the lead of the best system over a random ranking popularity has; NaN where one has no lead."""
    if subject.with_chance is None:
        return math.nan
    chance = subject.with_chance.chance(label)
    leads = [side * (value - chance) for value in (popularity, best)]
    return leads[0] / leads[1] if min(leads) > 0 else math.nan
