"""A study's analysis in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trueval.online.user_study.attendance import Attendance
from trueval.online.user_study.forms import DEPENDS, KNOWN, Findings, PairFindings, RankingFindings, ScaleFindings
from trueval.online.user_study.missing_answers import MOST_HIDDEN, MissingAnswers
from trueval.online.user_study.planted_checks import PlantedCheck
from trueval.online.user_study.position_bias import PositionBias
from trueval.online.user_study.preferences import Preference
from trueval.online.user_study.rankings import FirstPlaceTest, RankedSystem
from trueval.online.user_study.rows import share_text
from trueval.online.user_study.scales import ScaleValue
from trueval.render.numbers import p_phrase, percent, rounded

if TYPE_CHECKING:
    from trueval.online.user_study.result import StudyAnalysis

_LEAST = 1e-6  # p-values are told down to this one: exact tests of few people have small ones


def verdict(study: StudyAnalysis) -> str:
    """The findings, then what could have misled, a line each."""
    alpha = 1 - study.manifest["level"]
    lines = finding_sentences(study.findings, alpha)
    lines += [bias_sentence(one, alpha) for one in study.position_bias]
    lines += check_sentences(study, alpha)
    lines += study.against.sentences if study.against is not None else []
    if study.manifest["against"] and study.against is None:
        lines.append("Offline metrics cannot be compared with people: their order of the systems is not known.")
    return "\n".join(lines)


def finding_sentences(found: Findings, alpha: float) -> list[str]:
    """What each form says."""
    lines = []
    if found.rankings is not None:
        lines += _of_rankings(found.rankings, alpha)
    if found.pairs is not None:
        lines += _of_pairs(found.pairs)
    if found.scales is not None:
        lines += _of_scales(found.scales)
    return lines


def _of_rankings(found: RankingFindings, alpha: float) -> list[str]:
    if found.order != KNOWN:
        assert found.missing is not None
        return [_without_blanks(found.missing, found.order)]
    test, best = found.friedman, found.systems[0]
    assert test is not None
    differ = test.p < alpha
    statistic = f"Friedman's χ² = {rounded(test.statistic)} on {test.freedom} df, {p_phrase(test.p, least=_LEAST)}"
    lines = [
        f"Participants rank the systems differently from chance ({statistic})."
        if differ
        else f"The rankings show no difference between the systems ({statistic})."
    ]
    equals = [one for one in found.systems if math.isclose(one.mean_rank, best.mean_rank, rel_tol=1e-9)]
    firsts = [
        f"came first for {one.first} of {_participants(one.first_of, found.participants)} "
        f"({share_text(one.first_share, one.first_low, one.first_high)})"
        for one in equals
    ]
    alone = len(equals) == 1
    came_first = "; ".join(first if alone else f"{one.system} {first}" for one, first in zip(equals, firsts))
    joined = ", and " if alone else ": "
    lines.append(f"{_have(equals)} the best mean rank, {rounded(best.mean_rank)}{joined}{came_first}.")
    if found.first is not None:
        lines.append(first_sentence(found.first))
    return lines + _told(found.preferences)


def _have(equals: Sequence[RankedSystem | ScaleValue]) -> str:
    """Who has something, one or several."""
    *others, last = (one.system for one in equals)
    return f"{', '.join(others)} and {last} have" if others else f"{last} has"


def _participants(trials: int, everybody: int) -> str:
    return f"{trials} participants" + " who ranked it beside others" * (trials < everybody)


def _without_blanks(missing: MissingAnswers, order: str) -> str:
    """Why rankings with lists that were not looked at have no order, and what would tell."""
    other = (
        'a study in which every list needs a place (blanks = "not allowed" in [rank]), or in which people are told '
        'that a blank means worse (blanks = "worse").'
    )
    if order == DEPENDS:
        return (
            "No order of the systems can be told: how often a list was left blank depends on the list "
            f"({_blank(missing)}), so that people may have left out what they do not like. What would tell is {other}"
        )
    return (
        "No order of the systems can be told: that blanks depend on the list cannot be excluded with so few answers "
        f"({_blank(missing)}). With 80 % power only a list would be found that is blank for "
        f"{percent(missing.least, 0)} of participants more or less than the others; less than "
        f"{percent(MOST_HIDDEN, 0)} could mislead no more than chance does. What would tell is more participants, or "
        f"{other}"
    )


def _blank(missing: MissingAnswers) -> str:
    """The test of missing answers, and where they are missing most."""
    most = sorted(zip(missing.of, missing.missing, missing.asked), key=lambda one: (-one[1] / max(one[2], 1), one[0]))
    counts = ", ".join(f"{name} {number:,} of {asked:,}" for name, number, asked in most[:5])
    more = f" and {len(most) - 5} more" if len(most) > 5 else ""
    return f"Cochran's Q, {p_phrase(missing.p, least=_LEAST)}; blank: {counts}{more}"


def _unanswered(missing: MissingAnswers, what: str) -> str:
    """Why choices or scales have no order, and what would tell."""
    return (
        f"no order can be told: whether there is an answer depends on the {what} ({_blank(missing)}), so that those "
        f"who answered may be those who liked it. What would tell is an answer of everybody to every {what}."
    )


def first_sentence(test: FirstPlaceTest) -> str:
    """The exact test of systems named before."""
    names = " or ".join(test.systems)
    left = f" {test.left_out} participants shared first places inside and outside and are left out." * bool(
        test.left_out
    )
    return (
        f"{names}, named before, came first for {test.first} of {test.trials} participants; "
        f"{rounded(test.chance * test.trials, 1)} would by chance: {p_phrase(test.p, least=_LEAST)} (exact binomial "
        f"test, one-sided).{left}"
    )


def _of_pairs(found: PairFindings) -> list[str]:
    lines = [
        f"{found.participants} participants chose between two lists {found.answers:,} times, "
        f"{found.no_difference:,} times without a preference."
    ]
    if found.order != KNOWN:
        assert found.missing is not None
        return [*lines, f"Choices: {_unanswered(found.missing, 'pair')}"]
    return lines + _told(found.preferences)


def _told(preferences: tuple[Preference, ...]) -> list[str]:
    """Which systems are preferred to which, by the sign tests."""
    pairs = [
        (one.one, one.other) if one.verdict == "better" else (one.other, one.one)
        for one in preferences
        if one.verdict != "not shown"
    ]
    if not pairs:
        return [f"Of {len(preferences)} pairs of systems, none differs significantly (exact sign tests, Holm)."]
    by_winner: dict[str, list[str]] = {}
    for winner, loser in pairs:
        by_winner.setdefault(winner, []).append(loser)
    said = "; ".join(f"{winner} to {', '.join(losers)}" for winner, losers in by_winner.items())
    return [f"Preferred significantly (exact sign tests, Holm over {len(preferences)} pairs): {said}."]


def _of_scales(found: ScaleFindings) -> list[str]:
    lines = []
    for question, order in found.order.items():
        if order != KNOWN:
            lines.append(f"{question}: {_unanswered(found.missing[question], 'list')}")
            continue
        values = [one for one in found.values if one.question == question]
        best = max(one.mean for one in values)
        highest = [one for one in values if math.isclose(one.mean, best, rel_tol=1e-9)]
        own = [one for one in found.differences if one.question == question]
        shown = [
            f"{one.one} above {one.other}" if one.verdict == "better" else f"{one.other} above {one.one}"
            for one in own
            if one.verdict != "not shown"
        ]
        told = "; ".join(shown) if shown else f"none of {len(own)} differences between systems is significant"
        lines.append(f"{question}: {_have(highest)} the highest mean, {rounded(best)}; {told}.")
    return lines


def bias_sentence(bias: PositionBias, alpha: float) -> str:
    """Whether positions mattered, and how."""
    what = {"rank": "mean rank", "pair": "share of the choices", "rate": "mean value"}[bias.form]
    names = ("left", "right") if bias.form == "pair" else tuple(map(str, bias.positions))
    means = ", ".join(f"{name}: {rounded(mean)}" for name, mean in zip(names, bias.means))
    found = (
        "Where a list stood made a difference" if bias.p < alpha else "No effect of where a list stood is shown"
    )  # fmt: skip
    return f"{found} ({p_phrase(bias.p, least=_LEAST)}; {what} by position, {means})."


def check_sentences(study: StudyAnalysis, alpha: float) -> list[str]:
    """How many failed, and what the others say without them."""
    if not study.checks:
        return []
    people = len({name for one in study.checks for name in one.participants})
    failed = failed_checks(study.checks)
    if not failed:
        return [f"All {people} participants passed the planted checks."]
    line = f"{len(failed)} of {people} participants failed a planted check."
    if study.careful is None:
        return [f"{line} Nobody is left without them."]
    full, rest = (verdicts(found, alpha) for found in (study.findings, study.careful))
    if full == rest:
        return [f"{line} Without them all verdicts are the same."]
    said = " ".join(finding_sentences(study.careful, alpha))
    return [f"{line} Without them verdicts differ: {said}"]


def failed_checks(checks: tuple[PlantedCheck, ...]) -> tuple[str, ...]:
    """Participants who failed any check."""
    return tuple(sorted({name for one in checks for name in one.failed}))


def verdicts(found: Findings, alpha: float) -> list[object]:
    """All that is called significant, for comparisons."""
    said: list[object] = []
    if found.rankings is not None:
        first, friedman = found.rankings.first, found.rankings.friedman
        said += [friedman is not None and friedman.p < alpha, None if first is None else first.p < alpha]
        said += [one.verdict for one in found.rankings.preferences]
    if found.pairs is not None:
        said += [one.verdict for one in found.pairs.preferences]
    if found.scales is not None:
        said += [one.verdict for one in found.scales.differences]
    return said


def attendance_sentences(found: Attendance) -> list[str]:
    """Who took part, who left and where, how long it took."""
    lines = [f"{found.answered:,} participants answered"]
    if found.started is not None:
        lines[0] += f", of {found.started:,} who started"
    if found.finished is not None:
        lines[0] += f"; {found.finished:,} finished"
    if found.left_at:
        lines.append("Left at: " + ", ".join(f"{page} ({number:,})" for page, number in found.left_at.items()))
    if found.seconds is not None:
        low, middle, high = found.seconds
        lines.append(f"Time on the lists: median {_duration(middle)} (quartiles {_duration(low)}, {_duration(high)})")
    return lines


def _duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> _duration(42), _duration(200)
    ('42 s', '3.3 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
