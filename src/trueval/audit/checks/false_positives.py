"""True or false positives: which of them tells the better system, where what is popular is not what is liked?

Observed precision is distorted where popular items are liked less, observed antiprecision where they are liked more
(Mena-Maldonado et al. 2020). The order of systems by antiprecision is compared with that of the reader; the alignment
of popularity and liking in train says which of the two to trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Reversal
from trueval.audit.drafts import compare_orders, recorded, upheld
from trueval.audit.finding import ALPHA, Finding
from trueval.audit.item_pairs import ItemPairs
from trueval.audit.registry import check
from trueval.audit.sentences import first_of, listed, reversal_sentence, upheld_sentence
from trueval.audit.settings import Setting
from trueval.audit.subject import Subject
from trueval.comparison.tau import taus
from trueval.render.numbers import rounded, short_percent, with_interval
from trueval.statistics.multiple_comparisons import corrected

_NAME, _HEADING = "false_positives", "false positives"
_TOLD = {
    "aligned": "popular items are liked more than others, which speaks for true positives, unless users rate what they "
    "like rather than what they do not",
    "opposed": "popular items are liked less than others: false positives may be nearer to the truth",
    "unclear": "it is unclear whether popular items are liked more or less than others",
}


@check(
    heading=_HEADING, kind="estimate", needs=("ratings",),
    question="Should systems be judged by what users like, or by what they dislike?",
)  # fmt: skip
def false_positives(case: Case) -> Iterable[Finding]:
    """Orders by antiprecision against those of the reader, and which to trust."""
    found = case.item_pairs
    assert found is not None  # the need
    direction = found.alignment.direction
    told = _sentence(found)
    figures: dict[str, Any] = {"direction": direction, "item_pairs": found.to_dict()}
    depth, there = _by_false_positives(case.subject)
    advice = f"--metrics antiprecision@{depth},fallout@{depth}"
    remedy = advice if case.has_unbiased else f"{advice}; items drawn at random would tell (--unbiased FILE)"
    if there is None:
        yield _finding("cannot tell" if direction == "opposed" else "fine", told, figures, remedy)
        return
    label, subject = f"antiprecision@{depth}", case.measured
    labels = dict.fromkeys((one for one in subject.labels if subject.specs[one].better == "higher"), label)
    orders = compare_orders(subject, there, setting=f"by {label}", labels=labels)
    agreement = _observed_and_true(subject, there, label, list(labels))
    remedy = by_agreement(agreement, label, remedy)
    figures |= {label: there.values(label), "pairs": len(orders), "observed_and_true": agreement}
    yield _concluded(orders, Words(label, told + _agreement_sentence(agreement), remedy, direction), figures, subject)


class Words(NamedTuple):
    """What a finding says besides the orders."""

    label: str
    told: str
    remedy: str
    direction: str


def _concluded(orders: list[Reversal], words: Words, figures: dict[str, Any], subject: Subject) -> Finding:
    """The finding, with a correction over these orders alone."""
    q = corrected(np.array([one.p for one in orders], float))
    reversed_ = [one for one, at in zip(orders, q) if at < ALPHA]
    held = upheld(subject.true, reversed_)
    least = float(np.nanmin(q)) if len(q) and not np.isnan(q).all() else np.nan
    more = {**figures, "reversed": [recorded(one) for one in reversed_], "upheld": [list(one.better) for one in held]}
    if not reversed_:
        same = f"No significant difference between systems is reversed by {words.label}. {words.told}"
        # Where popular items are liked less, false positives are advised whether orders differ or not.
        remedy = words.remedy if words.direction == "opposed" else ""
        return Finding(_NAME, _HEADING, "fine", "estimate", same, more, remedy, least)
    first = first_of([reversal_sentence(one, here="as evaluated") for one in reversed_], "reversed order")
    # Antiprecision is a view of its own: which order is right depends on how ratings came about.
    verdict = "fine" if len(held) == len(reversed_) else "cannot tell"
    return _finding(verdict, f"{first} {words.told}{upheld_sentence(held)}", more, words.remedy, least)


def _observed_and_true(subject: Subject, there: Setting, label: str, own: Sequence[str]) -> dict[str, float]:
    """τ between observed and true order, by the reader's metrics and by false positives; empty without true values."""
    true = subject.unbiased({**{one: subject.specs[one] for one in own}, **there.specs})
    if true is None or len(true.systems) < 3:
        return {}
    names = list(true.systems)
    found = {}
    for metric in dict.fromkeys([*own, label]):
        observed = there if metric == label else subject.base
        scores = [np.array([[setting.value(name, metric) for name in names]]) for setting in (observed, true)]
        found[metric] = float(taus(*scores)[0][0])
    return found


def by_agreement(agreement: Mapping[str, float], label: str, remedy: str) -> str:
    """False positives are advised unless an unbiased test shows that their observed order is no nearer to the true one.

    >>> by_agreement({"precision@10": 0.9, "antiprecision@10": -0.7}, "antiprecision@10", "--metrics antiprecision@10")
    'judge by the unbiased test (unbiased_order): observed orders by antiprecision@10 are no nearer to it'
    >>> by_agreement({"precision@10": -0.5, "antiprecision@10": 0.7}, "antiprecision@10", "--metrics antiprecision@10")
    '--metrics antiprecision@10'
    """
    others = [tau for metric, tau in agreement.items() if metric != label]
    if not others or agreement[label] > max(others):
        return remedy
    return f"judge by the unbiased test (unbiased_order): observed orders by {label} are no nearer to it"


def _agreement_sentence(agreement: Mapping[str, float]) -> str:
    """How far observed orders are the true ones."""
    said = [f"{rounded(tau)} by {metric}" for metric, tau in agreement.items() if tau == tau]
    return f" Kendall's τ between observed order and that on the unbiased test: {listed(said)}." if said else ""


def _sentence(found: ItemPairs) -> str:
    """Which to trust, with the numbers that say so."""
    value = with_interval(found.alignment.value, found.alignment.low, found.alignment.high, 3, sign=True)
    value = value.replace("-", "−")
    disagree = short_percent(found.disagree.share)
    return (
        f"In train, {_TOLD[found.alignment.direction]} (the share of likes among all ratings, minus the mean of the "
        f"items' own shares: {value}). The best rankings by observed precision and by observed antiprecision disagree "
        f"on {disagree} of the pairs of items."
    )


def _by_false_positives(subject: Subject | None) -> tuple[int, Setting | None]:
    """The systems by antiprecision at the reader's cutoff; None where it is not known."""
    if subject is None or len(subject.names) < 2 or not subject.labels:
        return 10, None
    depth = max([subject.specs[label].k or 0 for label in subject.labels]) or 10
    return depth, subject.view("", lambda one: one.facts, subject.more_specs([f"antiprecision@{depth}"]))


def _finding(verdict: str, sentence: str, figures: dict[str, Any], remedy: str, p: float = np.nan) -> Finding:
    return Finding(_NAME, _HEADING, verdict, "estimate", sentence, figures, "" if verdict == "fine" else remedy, p)
