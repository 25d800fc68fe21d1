"""Systems that are no better than a random ranking."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Difference, differences
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed, size
from trueval.audit.settings import CHANCE, Setting
from trueval.audit.subject import Subject
from trueval.render.numbers import number
from trueval.render.statements import Sign, Statement
from trueval.statistics.significance_tests import t_test

_REMEDY = (
    "check that scores and ids belong together (a shuffled column, an offset of one), and that higher is better; a "
    "system that knows little of these users, or that recommends what the test set hardly has, looks the same"
)
_MORE = "more test users would tell"
_MEASURE = "add a metric with a value by chance, such as ndcg@10: trueval metrics NAME says whether there is one"
_SHARE = (
    0.25  # of the best lead over chance: what is shown to have less, and not shown to have any, is as good as random
)


@check(
    heading="robustness", kind="estimate", needs=("systems", "chance"),
    question="Are the systems better than chance?",
)  # fmt: skip
def random_baseline(case: Case) -> Iterable[Finding | Draft]:
    """Systems shown to have hardly any lead over chance: less than is relevant or, by default, than a quarter of the
    lead of the best system. A lead that is not shown is no such evidence, and cannot be told.

    Such a system may have its ids or scores mixed up, unless it is one of trueval's own that was fitted here: then it
    is a result, and fine."""
    subject = case.measured
    setting = subject.with_chance
    label = next((label for label in subject.labels if not math.isnan(subject.chance(label))), "")
    if not label:
        without = f"A random ranking has no known value of {listed(subject.labels)}."
        sentence = f"It cannot be told whether the systems are better than chance. {without}"
        said = tuple(Statement("value by chance", (label,), "?") for label in subject.labels)
        yield Finding(
            "random_baseline", "robustness", "cannot tell", "fact", sentence, {"metrics": subject.labels}, _MEASURE,
            statements=said,
        )  # fmt: skip
        return
    if setting is None:
        yield _by_intervals(subject, label)
        return
    popular = getattr(subject, "popularity_name", "")
    names = [name for name in subject.names if not subject.is_random(name) and name != popular]
    leads = {name: _lead(setting, label, name) for name in names}
    chance = setting.chance(label)
    figures = {"metric": label, "chance": chance, "leads": {name: one.value for name, one in leads.items()}}
    value = Statement("value by chance", (label,), "=", chance)
    if not names:
        sentence = f"A random ranking scores {number(chance)} on {label}; there is no system to compare with it."
        yield Finding("random_baseline", "robustness", "fine", "fact", sentence, figures, statements=(value,))
        return
    if case.relevant_change is not None:
        least, words = case.relevant(label), "the smallest relevant change"
    else:
        best, lead = _best(subject, setting, label, leads)
        least, words = _SHARE * lead, f"a quarter of the lead of {best}"

    def conclude(q: np.ndarray) -> Finding:
        below = [name for name, one in leads.items() if not _above(one)]
        hardly = [name for name, at in zip(leads, q) if at < ALPHA and name in below]
        unknown = [name for name in below if name not in hardly]
        others = [name for name in below if not subject.is_registered(name)]  # their ids may be mixed up
        p = float(np.nanmin(q)) if not np.isnan(q).all() else math.nan
        signs: dict[str, Sign] = {name: "0" if name in hardly else "?" if name in unknown else "+" for name in leads}
        said = (
            value,
            *(replace(one.statement(label, signs[name]), quantity="lead over chance") for name, one in leads.items()),
        )
        made = partial(Finding, "random_baseline", "robustness", kind="estimate", figures=figures, p=p, statements=said)
        if hardly:
            sentence = (
                f"{listed(hardly)} {'is' if len(hardly) == 1 else 'are'} hardly better than a random ranking on "
                f"{label} ({number(chance)}), if at all: the lead is shown to be less than {words}, {number(least)}: "
                f"{_told(hardly, leads)}.{_result([name for name in hardly if name not in others])}"
            )
            if set(hardly) & set(others):
                return made(verdict="caution", sentence=sentence, remedy=_REMEDY)
            if not others:
                return made(verdict="fine", sentence=sentence)
            sentence += f" Of {listed(unknown)} it cannot be told, by a lead of {_told(unknown, leads)}."
            return made(verdict="cannot tell", sentence=sentence, remedy=_REMEDY)
        if unknown:
            sentence = (
                f"It cannot be told whether all systems are better than a random ranking on {label} "
                f"({number(chance)}), by a lead of {_told(unknown, leads)}."
            )
            return made(verdict="cannot tell", sentence=sentence, remedy=_REMEDY if others else _MORE)
        sentence = f"A random ranking scores {number(chance)} on {label}, and {_every(subject)} are better."
        return made(verdict="fine", sentence=sentence)

    yield Draft(np.array([_no_better(one, least) for one in leads.values()]), conclude)


def _by_intervals(subject: Subject, label: str) -> Finding:
    """Of a finished result without ranks: whether the intervals of the systems lie above the value by chance."""
    chance, side = subject.chance(label), -1 if subject.specs[label].better == "lower" else 1
    names = [name for name in subject.names if not subject.is_random(name)]
    estimates = {name: subject.base.systems[name].estimates[label] for name in names}
    ends = {name: one.low if side > 0 else one.high for name, one in estimates.items()}
    below = [name for name, end in ends.items() if not side * (end - chance) > 0]
    bounded = not all(math.isnan(ends[name]) for name in below)
    figures = {"metric": label, "chance": chance, "values": {name: one.value for name, one in estimates.items()}}
    said = (Statement("value by chance", (label,), "=", chance),)
    sentence = f"A random ranking scores {number(chance)} on {label}"
    if not below:
        sentence += f", and {_every(subject)} are better." if names else "; there is no system to compare with it."
        return Finding("random_baseline", "robustness", "fine", "fact", sentence, figures, statements=said)
    are, its, does = ("is", "its interval", "does") if len(below) == 1 else ("are", "their intervals", "do")
    why = f"{its} {does} not lie on the better side of it" if bounded else "the result has no intervals"
    sentence += f". {listed(below)} {are} not shown to be better: {why}."
    return Finding("random_baseline", "robustness", "cannot tell", "fact", sentence, figures, _MORE, statements=said)


def _every(subject: Subject) -> str:
    """All systems that are compared with a random ranking."""
    random = [name for name in subject.names if subject.is_random(name)]
    return f"all systems but {listed(random)}" if random else "all systems"


def _told(names: Iterable[str], leads: Mapping[str, Difference]) -> str:
    return listed([f"{name} {size(leads[name])}" for name in names])


def _result(names: Sequence[str]) -> str:
    """Why it is no fault of these systems."""
    whose = f" As trueval fitted {listed(names)} itself, ids and scores belong together: this is a result."
    return whose if names else ""


def _lead(setting: Setting, label: str, name: str) -> Difference:
    one = next(iter(differences(setting, label, [name, CHANCE]).values()))
    return one if one.first == name else one.turned()


def _best(subject: Subject, setting: Setting, label: str, leads: Mapping[str, Difference]) -> tuple[str, float]:
    """The best lead over chance of a system or of the popularity baseline."""
    found = {name: one.value for name, one in leads.items()}
    popular = subject.measured("", subject.with_popularity, subject.tested_specs)
    side = -1 if subject.specs[label].better == "lower" else 1
    if popular is not None:
        found |= {
            name: side * (popular.value(name, label) - setting.chance(label))
            for name in popular.systems
            if name not in found
        }
    best = max(found, key=lambda name: found[name])
    return best, max(found[best], 0.0)


def _above(lead: Difference) -> bool:
    """Whether a system is shown to be better than chance, however little."""
    return lead.value > 0 and lead.p < ALPHA


def _no_better(lead: Difference, least: float) -> float:
    """p of a lead that is smaller than this."""
    if not lead.error > 0 or math.isnan(lead.p):
        return math.nan
    return t_test(lead.value - least, lead.error, lead.free, "less")
