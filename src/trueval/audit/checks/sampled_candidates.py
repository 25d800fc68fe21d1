"""Sampled candidates: relevant items ranked against a few others, instead of all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.checks.relevant_items_first import hits_together
from trueval.audit.drafts import Question, compare_orders, draft_of
from trueval.audit.finding import Draft, Finding
from trueval.audit.given_runs import GivenRuns
from trueval.audit.larger_targets import larger_targets
from trueval.audit.registry import check
from trueval.audit.sentences import listed
from trueval.audit.subject import Subject
from trueval.audit.top_of_lists import TopOfLists, deepest_cutoff, lists_of
from trueval.comparison.tau import taus
from trueval.design.design import Design
from trueval.errors import TruevalError
from trueval.evaluation.options import specs_of
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.sampling_correction import corrected
from trueval.render.numbers import number, rounded, short_percent

_WHOLE = (
    0.95  # share of users whose relevant items are all in their list: no recommender of a large catalogue does that
)
_DRAWN = 100  # candidates, as is usual
_SHORT = 0.5  # of the catalogue: longer lists may well hold everything
# Of five systems on three splits of a real log, and of oracles in simulated worlds, relevant test items are listed at
# most 2.4 times as often as two lists agree on another item; out of 20 or 50 candidates drawn uniformly, 6 to 44 times.
_TIMES, _SURE = 5.0, 8.0
_FOUND = 0.15  # share of the relevant items that is listed: of fewer, nothing is too good
_LARGE = 0.25  # of the catalogue in a list: a sample is hardly less than all
_SCREEN = 2.5  # times the exposure of the most shown items: agreement, which takes longer, is hardly higher
_USERS = 30


@check(heading="sampled metrics", kind="estimate", needs=("systems", "facts"), question="Are items ranked against all?")
def sampled_candidates(case: Case) -> Iterable[Finding | Draft]:
    """Whether the order of systems is that of the full ranking."""
    subject = case.measured
    if isinstance(subject, GivenRuns):
        yield _of_lists(subject)
        return
    design = Design.parse(subject.design) if subject.design else Design()
    if not design.sample:
        yield _of_full(subject)
        return
    full = str(replace(design, sample=0, weights="uniform", resample=False))
    figures: dict[str, Any] = {"sample": design.sample, "corrected": _corrected(subject)}
    ranked = subject.under(full)
    specs = {label: spec for label, spec in specs_of(subject.options).items() if not spec.metric.system}
    there = subject.measured(f"under {full}", ranked, specs)
    if there is None:
        sentence = (
            f"It cannot be told whether the order of systems is that of the full ranking: items are ranked against "
            f"{design.sample:,} sampled ones, and these systems cannot be ranked again."
        )
        yield Finding(
            "sampled_candidates", "sampled metrics", "cannot tell", "estimate", sentence, figures, f"--design {full}"
        )
        return
    labels = {label: label.partition("|n=")[0] for label in subject.labels}
    first = subject.labels[0]
    values = [
        f"{name} {number(subject.base.value(name, first))} instead of {number(there.value(name, labels[first]))}"
        for name in there.systems
    ]
    figures["full"] = {name: there.value(name, labels[first]) for name in there.systems}
    told = f"With {design.sample:,} sampled candidates {labels[first]} is another quantity: {listed(values)}."
    question = Question(
        "sampled_candidates", "sampled metrics", f"under {design}",
        f"No significant difference between systems is reversed in the full ranking. {told}",
        told, f"--design {full}", figures=figures,
    )  # fmt: skip
    yield draft_of(question, compare_orders(subject, there, setting=f"under {full}", labels=labels))


def _of_full(subject: Subject) -> Finding:
    """The full ranking, and what a sample would make of the order: expected values, from the ranks that are known."""
    sentence = "All candidates are ranked: no value is that of a sample."
    figures: dict[str, Any] = {"sample": 0}
    label = subject.labels[0]
    facts = {name: one.facts for name, one in (subject.ranked or {}).items()}
    whole = len(facts) > 2 and not any(one.condensed or one.stratum is not None for one in facts.values())
    try:
        sizes = larger_targets(facts, [label], [_DRAWN + 1]) if whole else None
    except TruevalError:  # a metric that is not of one rank, or ranks that are not known
        sizes = None
    if sizes is not None and sizes["targets"].n_unique() == 2:
        rows = sizes.group_by("targets", maintain_order=True).agg("system", "value").sort("targets")
        sampled, full = (dict(zip(*row)) for row in rows.select("system", "value").rows())
        scores = [np.array([[values[name] for name in facts]]) for values in (sampled, full)]
        tau = float(taus(*scores)[0][0])
        figures |= {"against_100_1r": sampled, "against_all_1r": full, "tau": tau}
        sentence += (
            f" Each relevant item against {_DRAWN} drawn ones instead of all (1R), {label} would order the systems "
            f"with τ = {rounded(tau)} to the full ranking."
        )
    return Finding("sampled_candidates", "sampled metrics", "fine", "fact", sentence, figures)


def _corrected(subject: Subject) -> dict[str, dict[str, Any]]:
    """Estimates of the full values from the sampled ranks, where there are any."""
    found: dict[str, dict[str, Any]] = {}
    for name, one in (subject.ranked or {}).items():
        for label in subject.labels:
            try:
                own = corrected(one.facts, label.partition("|n=")[0])
            except TruevalError:
                continue
            found.setdefault(name, {})[label] = {"value": own.value, "low": own.low, "high": own.high, "note": own.note}
    return found


def _of_lists(subject: GivenRuns) -> Finding:
    """Lists that hold the relevant test items of their users far more often than what else they hold allows."""
    shares = {name: _whole(one.facts) for name, one in subject.ranked.items()}
    depth = deepest_cutoff(subject)
    tops = {name: TopOfLists.of(facts, depth) for name, facts in lists_of(subject).items()}
    known = {name: known_better(one) for name, one in tops.items()}
    figures = {"users_with_all_relevant_items_listed": shares, "hits_against_agreement": known}
    label = subject.labels[0]
    whole = [name for name, share in shares.items() if share >= _WHOLE]
    some = [name for name, times in known.items() if times >= _TIMES and name not in whole]
    # what stands before all else is told by relevant_items_first: a sample leaves the order to the ranking
    some = [name for name in some if not hits_together(tops[name]).odd]
    odd = [name for name in subject.names if name in whole or name in some]
    if not odd:
        sentence = "No list looks like a sample of candidates that was drawn around the test set."
        return Finding("sampled_candidates", "sampled metrics", "fine", "estimate", sentence, figures)
    values = [f"{name} {number(subject.base.value(name, label))}" for name in odd]
    said = []
    if whole:
        held = [f"{name} {short_percent(shares[name])}" for name in whole]
        said.append(
            f"lists hold every relevant test item of nearly all users ({listed(held)}) and only few other items"
        )
    if some:
        held = [f"{name} {short_percent(tops[name].recall)}, {rounded(known[name])} times" for name in some]
        said.append(
            f"the first {depth} places hold the relevant test items far more often than two lists agree on any other "
            f"item ({listed(held)})"
        )
    others = [name for name in subject.names if name not in odd]
    against = f" They cannot be compared with {listed(others)}, which rank more items." if others else ""
    sentence = (
        f"{label} ({listed(values)}) is not that of a ranking of all items: {'; '.join(said)}. They rank a sample that "
        f"was drawn around the test set, or the test set was known.{against}"
    )
    remedy = "rank all items (or those with test ratings) for each user, and evaluate these lists"
    sure = bool(whole) or any(known[name] >= _SURE for name in some)
    verdict = "wrong" if sure else "caution"
    return Finding("sampled_candidates", "sampled metrics", verdict, "estimate", sentence, figures, remedy)


def known_better(lists: TopOfLists) -> float:
    """How many times as often relevant test items are listed as two lists that share an item agree on another one;
    NaN where a sample of candidates would change little, or is ruled out.

    Out of a sample, what is listed besides the test items is up to the draw: no item is shown to more users than have
    it in their sample, and the same taste leads to other lists. A ranking of all items repeats itself.
    """
    few = len(lists) < _USERS or not lists.by_chance < _LARGE
    if few or lists.recall < max(_FOUND, 3 * lists.by_chance) or not lists.exposure.any():
        return math.nan
    if lists.recall < _SCREEN * lists.top_exposure:
        return math.nan
    return lists.recall / max(lists.agreement(), 1 / len(lists))


def _whole(facts: RankingFacts) -> float:
    """Share of users whose list holds all their relevant items, among those with a short list; NaN without any."""
    short = (facts.R > 0) & (facts.length > 0) & (facts.length < _SHORT * facts.catalogue)
    if short.sum() < 0.5 * (facts.R > 0).sum():
        return math.nan
    found = np.bincount(facts.unit[facts.relevant & (facts.rank > 0)], minlength=len(facts))
    return float((found[short] == facts.R[short]).mean())
