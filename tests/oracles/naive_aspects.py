"""Aspect metrics once more, straight from the formulas of spec/metrics.md section 8: lists, dicts and `math` only.

Like `naive_metrics`, this must never import or imitate `trueval`. Items are compared by their names, which must sort
like the codes of the code under test; every greedy step looks at every target. Greedy orders are found in exact
fractions (0.3 is three tenths), so that equal gains are equal and not a matter of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Aspects = Mapping[Any, Iterable[str]]
NAN = float("nan")


def exact(number: float | Fraction) -> Fraction:
    """The decimal number that was meant."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


def interest(profile: Mapping[Any, float], aspects: Aspects, names: Sequence[str]) -> dict[str, Fraction]:
    """γ_u(a): the share of the ratings of the profile that fall on each aspect; uniform for an empty profile."""
    weight = {a: sum((exact(r) for i, r in profile.items() if a in aspects.get(i, ())), Fraction(0)) for a in names}
    total = sum(weight.values())
    return {a: weight[a] / total if total > 0 else Fraction(1, len(names)) for a in names}


def log2(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def greedy(targets: Iterable[Any], k: int, gain: Callable[[list[Any], Any], float]) -> list[Any]:
    """The best k targets one after the other; among equals the one with the smaller name."""
    order: list[Any] = []
    rest = sorted(targets)
    while rest and len(order) < k:
        gains = [gain(order, item) for item in rest]
        order.append(rest.pop(gains.index(max(gains))))
    return order


def dcg(ranked: Sequence[Any], k: int | None, gain: Callable[[list[Any], Any], float], discount=log2) -> float:
    shown = list(ranked)[:k]
    return sum(discount(rank) * float(gain(shown[: rank - 1], item)) for rank, item in enumerate(shown, 1))


# ---- αβ-nDCG -------------------------------------------------------------------------------------------------


def abndcg(
    ranked: Sequence[Any], ratings: Mapping[Any, float], aspects: Aspects, targets: Iterable[Any],
    gamma: Mapping[str, float], k: int, *, alpha: float, beta: float, low: float, high: float, rescale: bool = False,
) -> float:  # fmt: skip
    ratings = {item: exact(value) for item, value in ratings.items()}
    alpha, beta, low, high = exact(alpha), exact(beta), exact(low), exact(high)

    def p(a: str, item: Any) -> Fraction:
        if a not in aspects.get(item, ()):
            return Fraction(0)
        if item not in ratings:
            return alpha
        return beta * ((ratings[item] - low) / (high - low) if rescale else ratings[item] / high)

    def gain(above: list[Any], item: Any) -> Fraction:
        none = Fraction(1)
        for a, interested in gamma.items():
            left = interested
            for other in above:
                left *= 1 - p(a, other)
            none *= 1 - p(a, item) * left
        return 1 - none

    best = dcg(greedy(targets, k, gain), k, gain)
    return dcg(ranked, k, gain) / best if best > 0 else NAN


# ---- novelty-biased gains ------------------------------------------------------------------------------------


def novelty(
    relevant: Mapping[Any, float], aspects: Aspects, *, alpha: float, form: str, high: float,
    weights: Mapping[str, Fraction] | None = None,
) -> Callable[[list[Any], Any], Fraction]:  # fmt: skip
    """Σ over aspects of J·w·(1-α)^(relevant items above with it); probabilistic: Π(1-αJ) instead of the power."""
    alpha = exact(alpha)

    def worth(item: Any) -> Fraction:
        return (
            Fraction(item in relevant)
            if item not in relevant or form == "binary"
            else exact(relevant[item]) / exact(high)
        )

    def gain(above: list[Any], item: Any) -> Fraction:
        total = Fraction(0)
        for a in set(aspects.get(item, ())):
            before = [other for other in above if other in relevant and a in aspects.get(other, ())]
            if form == "probabilistic":
                left = math.prod(1 - alpha * worth(other) for other in before)
            else:
                left = (1 - alpha) ** len(before)
            total += worth(item) * left * (1 if weights is None else weights[a])
        return total

    return gain


def alpha_ndcg(ranked, relevant, aspects, k, *, alpha, form="binary", high=1.0) -> float:
    gain = novelty(relevant, aspects, alpha=alpha, form=form, high=high)
    best = dcg(greedy(relevant, k, gain), k, gain)
    return dcg(ranked, k, gain) / best if best > 0 else NAN


def number_of_aspects(items: Iterable[Any], aspects: Aspects) -> int:
    return len({a for item in items for a in aspects.get(item, ())})


def nrbp(ranked, relevant, aspects, *, alpha, beta, form="binary", high=1.0) -> float:
    gain = novelty(relevant, aspects, alpha=alpha, form=form, high=high)
    number = number_of_aspects(relevant, aspects)
    total = dcg(ranked, None, gain, lambda rank: beta ** (rank - 1))
    return (1 - (1 - alpha) * beta) / number * total if number else NAN


def err_ia(ranked, relevant, aspects, k, *, alpha, form="ndeval", weights=None, high=1.0) -> float:
    if form == "weighted":
        return sum(float(w) * _err(ranked, relevant, aspects, k, a, high) for a, w in weights.items())
    number = number_of_aspects(relevant, aspects)
    if not number:
        return NAN
    total = dcg(ranked, k, novelty(relevant, aspects, alpha=alpha, form="binary", high=1.0), lambda rank: 1 / rank)
    if form == "plain":
        return alpha * total / number
    return total / number / sum((1 - alpha) ** (rank - 1) / rank for rank in range(1, k + 1))


def _err(ranked, relevant, aspects, k, aspect, high) -> float:
    """Expected reciprocal rank of one aspect."""
    left, total = 1.0, 0.0
    for rank, item in enumerate(ranked[:k], 1):
        if aspect in aspects.get(item, ()):
            s = (2 ** relevant.get(item, 0.0) - 1) / 2**high
            total += left * s / rank
            left *= 1 - s
    return total


def eu(ranked, relevant, aspects, k, weights, *, alpha, e, discount="log2", beta=0.9, form="binary", high=1.0) -> float:
    gain = novelty(relevant, aspects, alpha=alpha, form=form, high=high, weights=weights)
    rate = log2 if discount == "log2" else lambda rank: beta ** (rank - 1)
    return dcg(ranked, k, lambda above, item: gain(above, item) - exact(e), rate)


def rbu(ranked, relevant, aspects, k, weights, *, p, e) -> float:
    highest = {a: max((g for i, g in relevant.items() if a in aspects.get(i, ())), default=0.0) for a in weights}
    left = {a: float(w) for a, w in weights.items()}
    total = 0.0
    for rank, item in enumerate(ranked[:k], 1):
        gain = 0.0
        for a in set(aspects.get(item, ())):
            rel = (2 ** relevant.get(item, 0.0) - 1) / 2 ** highest[a]
            gain += rel * left[a]
            left[a] *= 1 - rel
        total += p ** (rank - 1) * (gain - e)
    return (1 - p) * total


# ---- coverage ------------------------------------------------------------------------------------------------


def srecall(ranked, attainable_by: Iterable[Any], aspects, k, *, only=None) -> float:
    """`only`: the items that count in the list (None: all)."""
    possible = {a for item in attainable_by for a in aspects.get(item, ())}
    seen = {a for item in ranked[:k] if only is None or item in only for a in aspects.get(item, ())}
    return len(seen & possible) / len(possible) if possible else NAN


def srr(ranked, attainable_by: Iterable[Any], aspects, k, *, only=None) -> float:
    attainable = list(attainable_by)
    if math.isnan(srecall(ranked, attainable, aspects, k, only=only)):
        return NAN
    for rank in range(1, min(k, len(ranked)) + 1):
        if srecall(ranked, attainable, aspects, rank, only=only) == 1:
            return 1 / rank
    return 0.0
