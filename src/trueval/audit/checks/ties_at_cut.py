"""Ties at the cut: would another order of equal scores change the conclusion?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trueval.audit.case import Case
from trueval.audit.changes import Difference, Pair, ValueChange, differences, reversals, value_changes
from trueval.audit.drafts import Question, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.registry import check
from trueval.audit.settings import RankedSystem, Setting
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.render.numbers import short_percent

_REMEDY = "--ties expected (the exact mean over all orders), or scores without ties"


@check(
    heading="robustness", kind="estimate", needs=("systems", "facts"),
    question="Do values depend on the order of equal scores?",
)  # fmt: skip
def ties_at_cut(case: Case) -> Iterable[Finding | Draft]:
    """Values with relevant items first and last among their equals, and orders with ties against the better system."""
    subject = case.measured
    assert subject.ranked is not None
    tied = {name: _tied(one.facts) for name, one in subject.ranked.items()}
    depth = max([subject.specs[label].k or 0 for label in subject.labels])
    cut = {name: one.facts.tie_rate(depth) for name, one in subject.ranked.items()}
    figures = {"judged_items_with_an_equal": tied, "lists_with_a_tie_at_the_cut": cut}
    if not any(tied.values()):
        sentence = "No value depends on the order of equal scores: no judged item has an equal."
        if isinstance(subject, GivenRuns) and not all("score" in run.columns for run in subject.runs.values()):
            sentence = (
                "No judged item has an equal in the lists. Ties that were broken where ranks were written leave no "
            )
            sentence += "trace."
        yield Finding("ties_at_cut", "robustness", "fine", "fact", sentence, figures)
        return
    labels = [label for label in subject.labels if subject.specs[label].metric.ties == "judged"]
    specs = {label: subject.specs[label] for label in labels}
    worst, best = (subject.view("", change, specs) if specs else None for change in (_worst, _best))
    if worst is None or best is None:
        sentence = "It cannot be told how far values depend on the order of equal scores: these metrics have no bounds."
        yield Finding("ties_at_cut", "robustness", "cannot tell", "estimate", sentence, figures, "use ndcg, recall, …")
        return
    names = [name for name in subject.names if tied[name]]
    orders, changes = [], list[ValueChange]()
    for label in labels:
        here = subject.here[label]
        orders += reversals(
            label, here, _against(here, worst, best, label), setting="when ties are resolved against it"
        )
        for there, rule in ((worst, "in the worst order of ties"), (best, "in the best order of ties")):
            named = Setting(rule, there.systems, there.specs)
            changes += value_changes(subject.base, named, label, relevant=case.relevant(label), systems=names)
    most = max(names, key=lambda name: cut[name])
    told = f"in {short_percent(cut[most])} of the lists of {most}, the cut falls between equal scores"
    if not cut[most]:
        most = max(names, key=lambda name: tied[name])
        told = f"{short_percent(tied[most])} of the judged items that {most} ranks have an equal"
    question = Question(
        "ties_at_cut", "robustness", f"with ties={subject.options.ties}",
        "In no order of equal scores is a significant difference reversed, or a value changed by more than is "
        f"relevant: {told}.",
        f"{told[0].upper()}{told[1:]}.", _REMEDY, figures=figures,
    )  # fmt: skip
    yield draft_of(question, orders, changes)


def _tied(facts: RankingFacts) -> float:
    """Share of ranked judged items with an equal."""
    ranked = facts.rank > 0
    return float((facts.tied[ranked] > 1).mean()) if ranked.any() else 0.0


def _best(one: RankedSystem) -> RankingFacts:
    # ranks are settled then, and metrics of the judged items alone read nothing else
    return with_ties(one.facts, "best").changed(ties="random")


def _worst(one: RankedSystem) -> RankingFacts:
    return with_ties(one.facts, "worst").changed(ties="random")


def _against(here: Mapping[Pair, Difference], worst: Setting, best: Setting, label: str) -> dict[Pair, Difference]:
    """Each pair with the better system's ties in the worst order, and the other's in the best."""
    found: dict[Pair, Difference] = {}
    for (first, second), one in here.items():
        sides = (worst, best) if one.value > 0 else (best, worst)
        both = {name: side.systems[name] for name, side in zip((first, second), sides)}
        found |= differences(Setting("", both, worst.specs), label)
    return found
