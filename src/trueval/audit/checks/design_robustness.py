"""Robustness of the order of systems: other designs, other metrics, fewer judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.popularity_designs import parsed_design
from trueval.audit.registry import check
from trueval.audit.settings import Setting
from trueval.audit.subject import Subject
from trueval.facts.views import one_relevant
from trueval.metrics.compute import has_meaning_in_1r

_REMEDY = 'report the designs side by side: trueval run with designs = ["AR-TI-AN", "1R-TI-AN", "AR-AI-AN"]'


@check(
    heading="robustness",
    kind="estimate",
    needs=("systems", "pairs", "facts"),
    question="Does the order hold in other settings?",
)
def design_robustness(case: Case) -> Iterable[Finding | Draft]:
    """Reversals under designs that ask the same of a system: one relevant item at a time, all items as candidates.
    Popular and unjudged items have checks of their own."""
    subject = case.measured
    settings = list(_same_question(subject))
    orders = [one for setting in settings for one in compare_orders(subject, setting, setting=setting.name)]
    ways = " or ".join(setting.name for setting in settings)
    question = Question(
        "design_robustness", "robustness", f"under {subject.design}",
        f"No significant difference between systems is reversed {ways}.", "", _REMEDY,
        "It cannot be told whether the order of systems holds under other designs: none could be tried.",
    )  # fmt: skip
    yield draft_of(question, orders)


def _same_question(subject: Subject) -> Iterator[Setting]:
    design = parsed_design(subject.design)
    if design is None or (design.relevant == "AR" and not design.condensed and not design.sample):
        specs = {label: spec for label, spec in subject.tested_specs.items() if has_meaning_in_1r(spec)}
        words = "with one relevant item at a time (1R)"
        setting = subject.view(words, lambda one: one_relevant(one.facts), specs) if specs else None
        if setting is not None:
            yield setting
    if design is not None and design.candidates == "TI" and not design.uniform:
        ranked = subject.under(str(replace(design, candidates="AI")))
        setting = subject.measured("with all items as candidates (AI)", ranked, subject.tested_specs)
        if setting is not None:
            yield setting
