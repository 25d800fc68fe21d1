"""Unjudged items: what the test set says nothing about counts as a miss."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from trueval.audit.case import Case
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.settings import RankedSystem
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import condense
from trueval.render.numbers import short_percent

# In all worlds of docs/corrections.md, τ of condensed nDCG with the true order was at most 0.05 below that of a random
# test.
_REMEDY = (
    "report both: trueval evaluate … --condensed ranks judged items alone, and came nearly as close to the true order "
    "in simulated worlds as a random test of the same size; a test set with more judgements would tell"
)


@check(
    heading="sparsity bias", kind="estimate", needs=("systems", "facts"),
    question="Does the order depend on items that nobody has judged?",
)  # fmt: skip
def unjudged_items(case: Case) -> Iterable[Finding | Draft]:
    """The share of unjudged items in the lists, and whether orders are reversed without them."""
    subject = case.measured
    assert subject.ranked is not None
    first = next(iter(subject.ranked.values())).facts
    if first.one_relevant or first.condensed or first.stratum is not None:
        return  # there are no lists, or no unjudged items in them
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    specs = subject.more_specs([f"unjudged@{depth}"])
    shares = subject.view("", lambda one: one.facts, specs)
    if shares is None:
        return
    label = next(iter(specs))
    figures = {"unjudged": shares.values(label), "depth": depth}
    told = listed([f"{name} {short_percent(share)}" for name, share in shares.values(label).items()])
    told = f"unjudged of the first {depth}: {told}"
    only = [bool(one.facts.relevant.all()) for one in subject.ranked.values()]
    if all(only):
        sentence = (
            f"It cannot be told whether the order of systems holds for items that nobody has judged ({told}): the test "
            "set knows relevant items alone, so that lists without the others are all alike."
        )
        remedy = "add judgements of items that are not relevant, or an unbiased test set (--unbiased FILE)"
        yield Finding("unjudged_items", "sparsity bias", "cannot tell", "estimate", sentence, figures, remedy)
        return
    there = subject.view("", _condensed)
    question = Question(
        "unjudged_items", "sparsity bias", "with unjudged items as misses",
        "No significant difference between systems is reversed where unjudged items are left out of the lists "
        f"({told}).",
        f"{told[0].upper()}{told[1:]}.", _REMEDY,
        f"It cannot be told how good unjudged items are, which count as misses ({told}); a second system would tell "
        "whether the order of both depends on them.", figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting="on judged items alone"), true=subject.true)


def _condensed(one: RankedSystem) -> RankingFacts:
    found = condense(one.facts)
    assert np.all(found.rank >= 0)
    return found
