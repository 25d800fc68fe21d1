"""Popularity bias: orders of systems where popular items count less. A view, and no caution by itself.

Against truth, orders that these views reverse are reversed hardly more often than they hold: where ratings depend on
their value alone, or popular items are truly better, the reader's order is right and the view is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Reversal, differences
from trueval.audit.drafts import compare_orders, recorded, upheld
from trueval.audit.finding import ALPHA, Finding
from trueval.audit.popularity_designs import WORDS, PopularityDesigns, parsed_design, share_text
from trueval.audit.registry import check
from trueval.audit.sentences import first_of, listed, reversal_sentence, upheld_sentence
from trueval.audit.settings import Setting
from trueval.audit.subject import Subject
from trueval.statistics.multiple_comparisons import corrected

BETA = 0.5
TESTED = ("head", "P1R", "U1R")  # orders under these are compared with the reader's; the other ones are shown
_REMEDY = "a test set of items drawn at random tells which order is right (--unbiased FILE)"


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
def popularity_bias(case: Case) -> Iterable[Finding]:
    """Orders by percentile (P1R), without the head, on a uniform test and by stratified recall, against the reader's
    own. Holm's correction runs over these alone."""
    subject, earned = case.measured, case.popularity_designs
    assert earned is not None  # the needs
    found = [*_designs(subject, earned), *_stratified(subject)]
    figures: dict[str, Any] = {
        **{one.words: {label: one.setting.values(label) for label in one.setting.specs} for one in found},
        "popularity_designs": earned.to_dict(),
    }
    remedy = "" if case.has_unbiased else _REMEDY
    orders = [order for one in found for order in one.orders]
    if not orders:
        sentence = (
            "It cannot be told whether the order of systems comes from popular items: no other design was possible."
        )
        yield Finding("popularity_bias", "popularity bias", "cannot tell", "estimate", sentence, figures, remedy)
        return
    q = corrected(np.array([one.p for one in orders]))
    reversed_ = [one for one, at in zip(orders, q) if at < ALPHA]
    figures |= {"pairs": len(orders), "reversed": [recorded(one) for one in reversed_]}
    ways = " or ".join(one.words for one in found if one.orders)
    told, least = _told(subject, earned), float(np.nanmin(q)) if not np.isnan(q).all() else math.nan
    if not reversed_:
        sentence = f"Seen {ways}, no significant difference between systems is reversed. This does not show that the "
        sentence += f"order has nothing to do with popularity.{told}"
        yield Finding("popularity_bias", "popularity bias", "fine", "estimate", sentence, figures, "", least)
        return
    said = first_of([reversal_sentence(one, here="as evaluated") for one in reversed_], "reversed order")
    held = upheld(subject.true, reversed_)
    sentence = f"{said} Popular items count less there, which is another question and not a better answer.{told}"
    yield Finding(
        "popularity_bias", "popularity bias", "fine" if len(held) == len(reversed_) else "cannot tell", "estimate",
        f"{sentence}{upheld_sentence(held)}", figures, remedy, least,
    )  # fmt: skip


def _designs(subject: Subject, earned: PopularityDesigns) -> Iterable[Alternative]:
    """Designs under which popular items count less than under the reader's."""
    design = parsed_design(subject.design)
    if design is not None and (design.percentiles or design.uniform):
        return
    for kind in TESTED:
        if kind in earned.settings and not (kind == "head" and design is not None and design.head):
            setting, words = earned.settings[kind], WORDS[kind]
            yield Alternative(words, setting, compare_orders(subject, setting, setting=words))


def _told(subject: Subject, earned: PopularityDesigns) -> str:
    """How much of the best system's lead over chance popularity has, by design."""
    label = subject.labels[0]
    own = {one.kind: one for one in earned.rows if one.metric == label and one.systems}
    if "AR" not in own:
        return ""
    side = own["AR"].side
    best = max(own["AR"].systems, key=lambda name: side * own["AR"].systems[name])
    shares = {one.design: one.explained(best) for one in own.values()}
    said = [f"{share_text(share)} under {design}" for design, share in shares.items() if share == share]
    return f" Of the lead of {best} over a random ranking on {label}, popularity has {listed(said)}." if said else ""


def _stratified(subject: Subject) -> Iterable[Alternative]:
    """Recall that counts items the less the more relevant ratings they have, against plain recall."""
    design = parsed_design(subject.design)
    if design is not None and design.relevant != "AR":
        return
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    specs = subject.more_specs([f"recall@{depth}", f"recall@{depth}[beta={BETA}]"])
    setting = subject.view("", lambda one: one.facts, specs)
    if setting is None:
        return
    plain, weighted = specs
    here = {plain: differences(setting, plain, pairs=subject.pairs(subject.labels[0]))}
    words = f"by recall@{depth} with popular items weighted down (beta={BETA})"
    orders = compare_orders(subject, setting, setting=words, labels={plain: weighted}, here=here)
    yield Alternative(words, setting, orders)
