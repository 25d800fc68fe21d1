"""A comparison as a sentence: better, worse or no significant difference; by how much; how sure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trueval.comparison.rare_users import one_in
from trueval.render.numbers import level_percent, number, p_phrase
from trueval.statistics.multiple_comparisons import NAMES
from trueval.statistics.permutation_test import least_p
from trueval.statistics.power import POWER

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison

TESTS = {
    "t": "t-test",
    "exact": "exact sign-flip test",
    "wilcoxon": "Wilcoxon's test",
    "permutation": "permutation test",
    "bootstrap": "bootstrap-t",
    "jackknife": "t-test on a jackknife",
}


def comparison_sentence(c: Comparison) -> str:
    """The sentence."""
    if math.isnan(c.p):
        return f"{c.system} and {c.baseline} cannot be compared on {c.metric}: {_too_few(c)}."
    if c.wins == c.losses == 0 and c.ties and not c.difference:
        return f"{c.system} and {c.baseline} have the same {c.metric} for every user ({c.n:,} users)."
    sure = f"{p_phrase(c.p_corrected)} ({_basis(c)})"
    if c.verdict in ("better", "worse"):
        size, ends = abs(c.difference), [c.low, c.high] if c.difference >= 0 else [-c.high, -c.low]
        return f"{_claim(c, f'is {c.verdict} than')} by {_shift(c)}{number(size)}{_interval(*ends)}, {sure}."
    found = f"{_shift(c)}{number(c.difference, sign=True)}{_interval(c.low, c.high)}, {sure}"
    if c.verdict == "cannot tell":
        relation = "differs from" if c.better == "neither" else f"is {_direction(c)} than"
        return f"It cannot be told whether {_claim(c, relation)}: {found}. {rare_users(c)}."
    if c.verdict == "different":
        return f"{_claim(c, 'differs from')} by {found}."
    no_difference = f"{_no_difference(c)}: {found}."
    if c.p_corrected < 1 - c.level:
        return f"{no_difference} Mean and ranks point in opposite directions."
    if not c.enough:
        least = f"the smallest possible p-value is {least_p(c.n):.2g}"
        return f"{no_difference} With so few users no difference can be significant: {least}."
    small = c.estimate == "mean" and abs(c.difference) < c.detectable
    return f"{no_difference} {_reach(c)}." if small else no_difference


def _shift(c: Comparison) -> str:
    """What the number after it is, where it is not the difference of the means."""
    return "a shift of " if c.estimate == "shift" else ""


def rare_users(c: Comparison) -> str:
    """Why a significant difference may still be none."""
    alpha = (1 - c.level) / (2 if c.alternative == "two-sided" else 1)
    what = "Differences" if c.better == "neither" else "Losses" if _direction(c) == "better" else "Gains"
    unseen = f"{what} of fewer than 1 in {one_in(c.n, alpha):,} users can be missed among {c.n:,} users"
    return f"{unseen}, and could reverse the difference"


def _direction(c: Comparison) -> str:
    return "better" if (c.difference > 0) == (c.better == "higher") else "worse"


def _no_difference(c: Comparison) -> str:
    if c.alternative in ("better", "worse"):
        return _claim(c, f"is not significantly {c.alternative} than")
    return f"There is no significant difference between {c.system} and {c.baseline} on {c.metric}"


def _interval(low: float, high: float) -> str:
    return ", no interval" if math.isnan(low) else f" [{number(low)}, {number(high)}]"


def _claim(c: Comparison, relation: str) -> str:
    return f"{c.system} {relation} {c.baseline} on {c.metric}"


def _reach(c: Comparison) -> str:
    users = f"{c.n:,} users" + (f" and {c.repeats} repeats" if c.repeats > 1 else "")
    return f"{users} could detect a difference of {number(c.detectable)} with {level_percent(POWER)} power"


def _too_few(c: Comparison) -> str:
    if c.n < 2:
        return f"{'only one user' if c.n else 'no user'} has a value for both systems"
    return "there is nothing to resample"


def _basis(c: Comparison) -> str:
    over = f"{TESTS[c.test]}, {c.n:,} users" + (f", {c.repeats} repeats" if c.repeats > 1 else "")
    over += f": {c.reason}" if c.reason else ""
    if c.family < 2:
        return over
    return f"{'uncorrected' if c.correction == 'none' else f'{NAMES[c.correction]} over {c.family}'}; {over}"
