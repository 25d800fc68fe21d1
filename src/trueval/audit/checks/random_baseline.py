"""Systems that are no better than a random ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Difference, differences
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed, size
from trueval.audit.settings import CHANCE
from trueval.render.numbers import number
from trueval.statistics.significance_tests import t_test

_REMEDY = "check that scores and ids belong together (a shuffled column, an offset of one), and that higher is better"


@check(
    heading="robustness", kind="estimate", needs=("systems", "facts", "chance"),
    question="Are the systems better than chance?",
)  # fmt: skip
def random_baseline(case: Case) -> Iterable[Finding | Draft]:
    """Systems shown to be no better than chance: their lead is significantly below the smallest relevant change."""
    subject = case.measured
    assert subject.with_chance is not None
    setting, label = subject.with_chance, subject.labels[0]
    names = [name for name in subject.names if not subject.is_random(name)]
    leads: dict[str, Difference] = {}
    for name in names:
        one = next(iter(differences(setting, label, [name, CHANCE]).values()))
        leads[name] = one if one.first == name else one.turned()
    chance = setting.value(CHANCE, label)
    relevant = {name: case.relevant(label) if case.relevant_change else one.detectable for name, one in leads.items()}
    figures = {"metric": label, "chance": chance, "leads": {name: one.value for name, one in leads.items()}}
    if not names:
        sentence = f"A random ranking scores {number(chance)} on {label}; no other system was given."
        yield Finding("random_baseline", "robustness", "fine", "fact", sentence, figures)
        return

    def conclude(q: np.ndarray) -> Finding:
        none = [name for name, at in zip(leads, q) if at < ALPHA and not _above(leads[name])]
        least = float(np.nanmin(q)) if not np.isnan(q).all() else math.nan
        if not none:
            below = [name for name, one in leads.items() if not _above(one)]
            told = listed([f"{name} by {size(leads[name])}" for name in below])
            rest = f"; not shown to be better: {told}." if below else ", and all systems are better."
            sentence = f"A random ranking scores {number(chance)} on {label}{rest}"
            return Finding("random_baseline", "robustness", "fine", "estimate", sentence, figures, "", least)
        told = listed([f"{name} by {size(leads[name])}" for name in none])
        sentence = (
            f"{listed(none)} cannot be told from a random ranking on {label} ({number(chance)}): the lead is {told}, "
            f"less than the smallest relevant change{_sizes(none, relevant)}."
        )
        return Finding("random_baseline", "robustness", "caution", "estimate", sentence, figures, _REMEDY, least)

    yield Draft(np.array([_no_better(one, relevant[name]) for name, one in leads.items()]), conclude)


def _above(lead: Difference) -> bool:
    """Whether a system is shown to be better than chance, however little."""
    return lead.value > 0 and lead.p < ALPHA


def _sizes(names: list[str], relevant: dict[str, float]) -> str:
    sizes = list(dict.fromkeys(number(relevant[name]) for name in names))
    return f" of {sizes[0]}" if len(sizes) == 1 else f" ({', '.join(sizes)})"


def _no_better(lead: Difference, relevant: float) -> float:
    """p of a lead that is smaller than the smallest relevant change, by default the detectable lead."""
    if not lead.error > 0 or math.isnan(lead.p) or math.isnan(relevant):
        return math.nan
    return t_test(lead.value - relevant, lead.error, lead.free, "less")
