"""How formulas are written: parts that several metrics share.

A formula says what is computed with the options at hand, and nothing that these overrule. Its signs: `top(k)` the first
k items of the list, `Rel` the relevant test items of the user and `R` their number, `Non` and `N` the judged ones that
are not relevant, `T` the targets. A formula of anti(…) is that of the metric with Non for Rel and N for R.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# Signs and what they mean, for the foot of a result.
SIGNS = {
    "Rel": "relevant test items of the user",
    "R": "number of items in Rel",
    "Non": "judged test items of the user that are not relevant",
    "N": "number of items in Non",
    "T": "targets of the user",
}
CONDENSED = "(TP + FP), the judged items within k"


def legend_of(formulas: Iterable[str]) -> list[str]:
    """What the signs in some formulas mean.

    >>> legend_of(["|top(k) ∩ Rel| / k"])
    ['Rel: relevant test items of the user']
    """
    known = "; ".join(f"{sign}: {words}" for sign, words in signs_in(formulas).items())
    return [known] if known else []


def signs_in(formulas: Iterable[str]) -> dict[str, str]:
    """The signs in some formulas, with what they mean.

    >>> signs_in(["|top(k) ∩ Non| / N"])["N"]
    'number of items in Non'
    """
    text = " ".join(formulas)
    return {sign: words for sign, words in SIGNS.items() if re.search(rf"\b{sign}\b", text)}


def top(o: Mapping[str, Any]) -> str:
    """The part of the list that is looked at.

    >>> top({"k": 10}), top({"k": None})
    ('top(k)', 'the list')
    """
    return "top(k)" if o["k"] else "the list"


def hits(o: Mapping[str, Any]) -> str:
    """The relevant items in it."""
    return f"{top(o)} ∩ Rel"


def number(value: float) -> str:
    """A number in a formula.

    >>> number(0.5), number(2.0)
    ('0.5', '2')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def flipped(formula: str) -> str:
    """A formula with the judged items that are not relevant in the place of the relevant ones.

    >>> flipped("|top(k) ∩ Rel| / min(k, R)")
    '|top(k) ∩ Non| / min(k, N)'
    """
    return re.sub(r"\bR\b", "N", re.sub(r"\bRel\b", "Non", formula))


def gain_over_discount(o: Mapping[str, Any]) -> str:
    """What a hit adds to a discounted cumulative gain.

    >>> gain_over_discount({"gain": "exp", "discount": "lenskit"})
    '(2^value - 1) / max(1, log2(rank))'
    """
    gain = {"linear": "value", "exp": "(2^value - 1)", "binary": "1"}[o["gain"]]
    return f"{gain} / {'log2(rank + 1)' if o['discount'] == 'log2' else 'max(1, log2(rank))'}"


def stratum_weight(o: Mapping[str, Any]) -> str:
    """The weight of an item by its popularity; "" where all weigh the same.

    >>> stratum_weight({"beta": 0.0, "gamma": 1.0, "count_from": "test"})
    "w = n^-0.5, n the item's relevant ratings in test, at least 1"
    """
    power = o["beta"] or o["gamma"] / (o["gamma"] + 1)
    where = {"all": "in train and test, at least 1", "train": "in train plus 1", "test": "in test, at least 1"}
    return f"w = n^-{number(power)}, n the item's relevant ratings {where[o['count_from']]}" if power else ""


def weighted(o: Mapping[str, Any], amount: str, weight: str, *, plain_sum: bool) -> str:
    """A metric that adds an amount a for every hit, each with a weight w, for plain sums and for means over Rel.

    >>> weighted({"k": 5}, "1", "w = 1 / propensity", plain_sum=False)
    'Σ over top(k) ∩ Rel of w / Σ over Rel of w, w = 1 / propensity'
    """
    above = "w" if amount == "1" else "w·a"
    total = f"Σ over {hits(o)} of {above}"
    words = [total if plain_sum else f"{total} / Σ over Rel of w"]
    return ", ".join(words + ([] if amount == "1" else [f"a = {amount}"]) + [weight])


def discounted(o: Mapping[str, Any], worth: str) -> str:
    """A mean over the list, discounted by rank, of what an item is worth.

    >>> discounted({"relevance": True}, "(1 - x)")
    'Σ over top(k) ∩ Rel of disc·(1 - x) / Σ over top(k) of disc, 0 for an empty list, disc = 1/log2(rank + 1)'
    """
    over = "top(k) ∩ Rel" if o["relevance"] else "top(k)"
    return f"Σ over {over} of disc·{worth} / Σ over top(k) of disc, 0 for an empty list, disc = 1/log2(rank + 1)"


def novelty_gain(o: Mapping[str, Any], weight: str = "") -> str:
    """What an item is worth, the less the more of its aspects stand above.

    >>> novelty_gain({"gain": "binary"})
    "J·Σ over the item's aspects of (1 - α)^(relevant items above with the aspect), J = 1"
    """
    worth = "1" if o["gain"] == "binary" else "value / highest value in the data"
    left = "(1 - α)^(relevant items above with the aspect)"
    if o["gain"] == "probabilistic":
        left = "Π over relevant items above with the aspect of (1 - α·J)"
    return f"J·Σ over the item's aspects of {weight}{left}, J = {worth}"


def interest(o: Mapping[str, Any]) -> str:
    """What the weights of aspects are.

    >>> interest({"profile": "train"})
    "w_a the aspect's share of the user's train ratings, the same for all without any"
    """
    return f"w_a the aspect's share of the user's {o['profile']} ratings, the same for all without any"


POOLED = "; numerators and denominators are added up over all users before they are divided"
