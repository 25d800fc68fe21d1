"""Popularity bias: does the order of systems come from popular items?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from trueval.audit.case import Case
from trueval.audit.changes import Reversal, differences
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.settings import HEAD, Setting, without_head
from trueval.audit.subject import Subject
from trueval.design.design import Design
from trueval.errors import TruevalError

PERCENTILES = 10
BETA = 0.5
# In simulated worlds these kept the true order under every observation, unlike head removal (docs/corrections.md).
_REMEDY = (
    "judge by orders that unjudged items do not sway: --condensed, --metrics bpref; P1R10 designs compare items of one "
    "popularity; a test set of items drawn at random tells (--unbiased FILE)"
)


@dataclass(frozen=True)
class Alternative:
    """Values with less weight on popular items."""

    words: str
    setting: Setting
    orders: list[Reversal]


@check(
    heading="popularity bias", kind="estimate", needs=("systems", "pairs", "facts", "popularity"),
    question="Does the order of systems come from popular items?",
)  # fmt: skip
def popularity_bias(case: Case) -> Iterable[Finding | Draft]:
    """Orders by percentile (P1R), without the head, and by stratified recall, against those of the reader."""
    subject = case.measured
    found = [one for one in (*_designs(subject), _stratified(subject)) if one is not None]
    figures: dict[str, Any] = {
        one.words: {label: one.setting.values(label) for label in one.setting.specs} for one in found
    }
    if not any(one.orders for one in found):
        sentence = (
            "It cannot be told whether the order of systems comes from popular items: no other design was possible."
        )
        yield Finding("popularity_bias", "popularity bias", "cannot tell", "estimate", sentence, figures, _REMEDY)
        return
    ways = " or ".join(one.words for one in found if one.orders)
    question = Question(
        "popularity_bias", "popularity bias", "as evaluated",
        f"No significant difference between systems is reversed {ways}.",
        "The order depends on how much popular items count.", _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, [order for one in found for order in one.orders])


def _designs(subject: Subject) -> Iterable[Alternative | None]:
    """Other designs of systems that can be ranked again; for lists, the head's judgements taken out."""
    design = _parsed(subject.design)
    if design is None:
        yield _alternative(
            subject, "without the tenth of the items that is most popular", subject.view("", without_head)
        )
        return
    if not design.head and not design.percentiles and not design.uniform:
        other = replace(design, head=HEAD)
        yield _ranked(subject, other, "without the tenth of the items that is most popular")
    if not design.percentiles and not design.uniform and not design.condensed:
        other = replace(design, relevant="1R", percentiles=PERCENTILES)
        yield _ranked(subject, other, "against items of the same popularity")


def _ranked(subject: Subject, design: Design, words: str) -> Alternative | None:
    ranked = subject.under(str(design))
    specs = subject.tested_specs
    if design.relevant == "1R":
        specs = {
            label: spec
            for label, spec in specs.items()
            if not spec.transforms and spec.metric.has_meaning_in_1r(spec.parameters)
        }
    return _alternative(subject, words, subject.measured(str(design), ranked, specs) if specs else None)


def _alternative(subject: Subject, words: str, setting: Setting | None) -> Alternative | None:
    if setting is None:
        return None
    return Alternative(words, setting, compare_orders(subject, setting, setting=words))


def _stratified(subject: Subject) -> Alternative | None:
    """Recall that counts items the less the more relevant ratings they have, against plain recall."""
    if _parsed(subject.design) is not None and Design.parse(subject.design).relevant != "AR":
        return None
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    specs = subject.more_specs([f"recall@{depth}", f"recall@{depth}[beta={BETA}]"])
    setting = subject.view("", lambda one: one.facts, specs)
    if setting is None:
        return None
    plain, weighted = specs
    here = {plain: differences(setting, plain, pairs=subject.pairs(subject.labels[0]))}
    words = f"by recall@{depth} with popular items weighted down (beta={BETA})"
    orders = compare_orders(subject, setting, setting=words, labels={plain: weighted}, here=here)
    return Alternative(words, setting, orders)


def _parsed(design: str) -> Design | None:
    try:
        return Design.parse(design)
    except TruevalError:
        return None
