"""Sentences that several checks have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueval.audit.changes import Difference, Reversal, ValueChange
from trueval.render.numbers import digits_for, number

_MOST = 3  # of the same kind, in one sentence


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence; of many the first ones.

    >>> listed(["a", "b", "c"]), listed([str(n) for n in range(9)])
    ('a, b and c', '0, 1, 2, 3, 4 and 4 more')
    """
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def counted(many: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2000, "row"), counted(2, "pair differs", "pairs differ")
    ('1 row', '2,000 rows', '2 pairs differ')
    """
    return f"{many:,} {one if many == 1 else several or one + 's'}"


def size(one: Difference, *, turned: bool = False) -> str:
    """A difference and its interval."""
    side = -1 if turned else 1
    low, high = (one.low, one.high) if side > 0 else (-one.high, -one.low)
    value = side * one.value
    if not (math.isfinite(low) and math.isfinite(high)):
        return number(value)
    digits = digits_for((high - low) / 2)
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]".replace("-", "−")


def reversal_sentence(one: Reversal, *, here: str) -> str:
    """One reversed order."""
    first, second = one.better
    turned = one.here.value < 0
    return (
        f"{first} is better than {second} on {one.metric} {here}, by {size(one.here, turned=turned)}, but worse "
        f"{one.setting}, by {size(one.there, turned=not turned)}"
    )


def change_sentence(one: ValueChange) -> str:
    """One value that changes by more than is relevant."""
    digits = digits_for(max((one.high - one.low) / 2, 1e-6)) if math.isfinite(one.high - one.low) else 4
    ends = f" [{one.low:+.{digits}f}, {one.high:+.{digits}f}]" if math.isfinite(one.low) else ""
    moved = f"{one.change:+.{digits}f}{ends}".replace("-", "−")
    return (
        f"{one.metric} of {one.system} is {number(one.after)} {one.setting} instead of {number(one.before)}: {moved}, "
        f"more than the smallest relevant change of {number(one.relevant)}"
    )


def first_of(sentences: Sequence[str], rest: str) -> str:
    """The first sentences, and how many more there are."""
    more = len(sentences) - _MOST
    return "; ".join([*sentences[:_MOST], *([f"and {counted(more, rest)} more"] if more > 0 else [])]) + "."


def close_sentence(swapped: Sequence[Reversal], *, here: str) -> str:
    """Systems that are close here, and change places there."""
    pairs = list(dict.fromkeys(f"{r.here.first} and {r.here.second} on {r.metric}" for r in swapped))
    return f" Close {here}, and changing places within noise: {'; '.join(pairs)}." if pairs else ""


def unconfirmed_sentence(lost: Sequence[Reversal]) -> str:
    """Leads that are significant here, and there neither confirmed nor significantly reversed."""
    told = [
        f"{r.better[0]} over {r.better[1]} on {r.metric} {r.setting} ({size(r.there, turned=r.here.value < 0)})"
        for r in lost
    ]
    which = "this lead holds: it is" if len(lost) == 1 else "these leads hold: they are"
    return (
        f"It cannot be told whether {which} not found again, but no reversal is shown either, for which lead and "
        f"reversal must both be significant after the correction: {first_of(told, 'lead')}"
    )


def upheld_sentence(held: Sequence[Reversal]) -> str:
    """Orders that are those of the unbiased test, whatever they are elsewhere."""
    told = [
        f"{r.better[0]} over {r.better[1]} on {r.metric} ({size(r.there, turned=r.here.value < 0)})"
        for r in {(r.metric, r.better): r for r in held}.values()
    ]
    return f" The unbiased test upholds the order as evaluated: {first_of(told, 'order')}" if told else ""
