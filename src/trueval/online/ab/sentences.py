"""The findings of an A/B test in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trueval.online.ab.comparisons import Compared
from trueval.online.ab.sample_ratio import SampleRatio
from trueval.render.numbers import digits_for, level_percent, p_phrase, percent
from trueval.statistics.multiple_comparisons import NAMES
from trueval.statistics.power import POWER

if TYPE_CHECKING:
    from trueval.online.ab.balance import BalanceCheck
    from trueval.online.ab.result import AbTest


def describe_sample_ratio(ratio: SampleRatio) -> str:
    """Users by arm, against what was expected, and what chance says to it."""
    total = sum(ratio.users.values())
    parts = [
        f"{arm} {n:,} ({percent(n / total, 2)}, expected {percent(ratio.expected[arm], 2)})"
        for arm, n in ratio.users.items()
    ]
    state = f"below {ratio.threshold:g}: MISMATCH" if ratio.failed else f"not below {ratio.threshold:g}: no mismatch"
    p = ("always-valid " if ratio.sequential else "") + p_phrase(ratio.p)
    return f"{' · '.join(parts)}; χ² = {ratio.chi2:.2f}, {p}, {state}"


def describe_balance(result: AbTest) -> list[str]:
    """What was checked beyond the sample ratio, and every check that failed."""
    asked = [check for check in result.balance if check.asked]
    return [*(_describe_asked(asked, result) if asked else []), *_describe_unasked(result)]


def _describe_unasked(result: AbTest) -> list[str]:
    checks = [check for check in result.balance if not check.asked]
    if not checks:
        return []
    names = list(dict.fromkeys(check.name for check in checks))
    failed = list(dict.fromkeys(check.name for check in checks if check.failed))
    state = f"MISMATCH in {', '.join(failed)}, see below" if failed else f"none below {checks[0].threshold:g}"
    return [f"also checked, although not declared as known before the test: {', '.join(names)}: {state}"]


def _describe_asked(asked: list[BalanceCheck], result: AbTest) -> list[str]:
    within = dict.fromkeys(check.name for check in asked if check.test == "sample ratio")
    over = dict.fromkeys(check.name for check in asked if check.test != "sample ratio")
    parts = [f"sample ratio within {', '.join(within)}"] if within else []
    parts += [f"{', '.join(over)} over the arms"] if over else []
    n = f"{len(asked)} check{'s' if len(asked) != 1 else ''}"
    begin = f"balance: {n} ({'; '.join(parts)}), corrected by Holm: "
    if not result.imbalances:
        lowest = min(check.p_corrected for check in asked)
        return [f"{begin}none below {asked[0].threshold:g} (lowest {p_phrase(lowest)})"]
    return [
        f"{begin}MISMATCH, {len(result.imbalances)} below {asked[0].threshold:g}",
        *map(describe_check, _worst(result)),
    ]


def _worst(result: AbTest, most: int = 5) -> list[BalanceCheck]:
    return sorted(result.imbalances, key=lambda check: check.p)[:most]


def describe_check(check: BalanceCheck) -> str:
    """One failed check in words."""
    p = p_phrase(check.p_corrected) if check.p_corrected >= 1e-4 else f"p = {check.p_corrected:.0e}"
    if check.test == "sample ratio":
        return f"  {check.name} {check.group}: {check.detail}; {p}"
    name = "χ²" if check.test == "chi-squared" else "Kruskal–Wallis"
    return f"  {check.name} over the arms: {check.detail}; {name} = {check.statistic:.1f}, {p}"


def verdict(result: AbTest) -> str:
    """The result in words: a mismatch first, then a sentence for each comparison."""
    if result.stopped:
        return (
            f"no verdict: {_mismatch(result)}. Such arms are unlikely to arise by chance: which users were counted may "
            "depend on the arm, and every difference may be due to that. Find the cause first; to see verdicts "
            "anyway, ignore the mismatch explicitly (ignore_mismatch=True, --ignore-mismatch)."
        )
    begin = ""
    if result.sample_ratio.failed or result.imbalances:
        begin = f"A {_mismatch(result)} was ignored on request.\n"
    doubtful = [check for check in result.balance if check.failed and not check.asked]
    if doubtful:
        names = " and ".join(dict.fromkeys(check.name for check in doubtful))
        begin += f"Caution: the arms differ in {names}; if that was known before the test, do not trust what follows.\n"
    return begin + "\n".join(comparison_sentence(c, result) for c in result.comparisons)


def _mismatch(result: AbTest) -> str:
    """Which checks failed."""
    ratio = result.sample_ratio
    parts = [f"sample ratio mismatch ({p_phrase(ratio.p)}, below {ratio.threshold:g})"] if ratio.failed else []
    if result.imbalances:
        names = ", ".join(dict.fromkeys(check.name for check in _worst(result, len(result.balance))))
        worst = _worst(result)[0]
        p = f"{p_phrase(worst.p_corrected)} after Holm, below {worst.threshold:g}"
        parts.append(f"mismatch of the arms in {names} ({p})")
    return " and ".join(parts)


def comparison_sentence(c: Compared, result: AbTest) -> str:
    """One comparison in words."""
    digits = digits_for((c.high - c.low) / 2)
    level = level_percent(result.manifest["level"])
    kind = "always-valid interval" if result.manifest["sequential"] else "interval"
    span = f"{level} {kind} {c.low:+.{digits}f} to {c.high:+.{digits}f}" if c.low == c.low else "no interval"
    span += " before correction" if c.low == c.low and c.p < 1 - result.manifest["level"] <= c.p_corrected else ""
    n, correct = len(result.comparisons), result.manifest["correct"]
    how = "" if n == 1 or correct == "none" else f" by {NAMES[correct]} over {n} comparisons"
    p = p_phrase(c.p_corrected) + how + (f": {c.reason}" if c.reason else "")
    if c.verdict == "not shown":
        could = f"; a difference of {c.detectable:.{digits}f} could be detected with {level_percent(POWER)} power"
        if not c.detectable > 0:
            could = "" if c.reason else ", because all compared values are the same"
        return f"{c.metric}: there is no significant difference between {c.arm} and {c.control} ({span}, {p}){could}."
    size = f"{abs(c.difference):.{digits}f}"
    if math.isfinite(c.relative):
        size += f" ({percent(abs(c.relative))})"
    return f"{c.metric}: {c.arm} is {c.verdict} than {c.control} by {size}, {span}, {p}."
