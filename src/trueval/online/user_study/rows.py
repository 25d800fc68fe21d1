"""The tables of a study's analysis: as data, and as cells for people."""

from __future__ import annotations

from typing import Any

from trueval.online.user_study.forms import KNOWN, Findings, PairFindings, RankingFindings, ScaleFindings
from trueval.online.user_study.missing_answers import MissingAnswers
from trueval.online.user_study.preferences import Preference, Strength
from trueval.render.marks import SIGNS, verdict_text
from trueval.render.numbers import level_percent, p_value, percent, rounded, with_interval

Cells = tuple[list[str], list[list[str]]]


def table_rows(found: Findings) -> list[dict[str, Any]]:
    """One row per form and system (and question); columns that a form does not have are missing.

    Where no order is known, a row says how often the system was answered, and no more.
    """
    rows: list[dict[str, Any]] = []
    if found.rankings is not None:
        strength = {one.system: one for one in found.rankings.strengths.systems}
        for system in found.rankings.systems:
            rows.append({"form": "rank", **system.record(), **_strength_columns(strength.get(system.system))})
        if found.rankings.order != KNOWN and (missing := found.rankings.missing) is not None:
            rows += [
                {"form": "rank", "system": name, "ranked": asked - number, "unranked": number}
                for name, number, asked in zip(missing.of, missing.missing, missing.asked)
            ]
    if found.pairs is not None:
        rows += [
            {"form": "pair", "system": one.system, **_strength_columns(one)} for one in found.pairs.strengths.systems
        ]
        if found.pairs.order != KNOWN and (missing := found.pairs.missing) is not None:
            rows += [
                {"form": "pair", "pair": name, "answers": asked - number, "unanswered": number}
                for name, number, asked in zip(missing.of, missing.missing, missing.asked)
            ]
    if found.scales is not None:
        rows += [{"form": "rate", **one.record()} for one in found.scales.values]
        rows += [
            {"form": "rate", "question": question, "system": name, "n": asked - number}
            for question, missing in found.scales.missing.items()
            if found.scales.order[question] != KNOWN
            for name, number, asked in zip(missing.of, missing.missing, missing.asked)
        ]
    return rows


def _strength_columns(one: Strength | None) -> dict[str, Any]:
    return {} if one is None else {"strength": one.strength, "strength_low": one.low, "strength_high": one.high}


def ranking_cells(found: RankingFindings, level: float) -> Cells:
    """Every system: ranks, constraints, first places, strength."""
    strength = {one.system: one for one in found.strengths.systems}
    of = level_percent(level)
    head = ["system", "mean rank", "ranked by", "fulfilled", "violated", "tied", "first", f"share first [{of}]"]
    rows = [
        [
            one.system, rounded(one.mean_rank), f"{one.ranked:,} of {one.ranked + one.unranked:,}",
            f"{one.fulfilled:,}", f"{one.violated:,}", f"{one.tied:,}",
            f"{one.first:,}" + (f" (+{one.first_shared:,} shared)" if one.first_shared else ""),
            share_text(one.first_share, one.first_low, one.first_high),
            strength_text(strength.get(one.system)),
        ]
        for one in found.systems
    ]  # fmt: skip
    return [*head, f"strength [{of}]"], rows


def missing_cells(found: MissingAnswers, *, what: str = "system") -> Cells:
    """How often each list, or pair of lists, was answered: all that can be said where that depends on the list."""
    rows = [
        [name, f"{asked - missing:,} of {asked:,}", percent(missing / asked if asked else float("nan"), 0)]
        for name, missing, asked in zip(found.of, found.missing, found.asked)
    ]
    return [what, "answered by", "blank"], rows


def strength_cells(found: PairFindings, level: float) -> Cells:
    """Every system's strength, and what it means in choices."""
    head = ["system", f"strength [{level_percent(level)}]", "preferred to the average"]
    return head, [[one.system, strength_text(one), percent(one.preferred, 0)] for one in found.strengths.systems]


def preference_cells(found: tuple[Preference, ...], *, answers: bool = False) -> Cells:
    """Every two systems: participants for the one, neither, the other; and the verdict."""
    head = ["one", "other", "prefer one", "neither", "prefer other", "p (Holm)", "verdict on one"]
    rows = [
        [
            one.one, one.other, f"{one.prefer_one:,}", f"{one.neither:,}", f"{one.prefer_other:,}",
            p_value(one.p_corrected), verdict_cell(one.verdict),
        ]
        for one in found
    ]  # fmt: skip
    if answers:
        head.insert(5, "answers")
        for row, one in zip(rows, found):
            row.insert(5, f"{one.answers_one} / {one.answers_neither} / {one.answers_other}")
    return head, rows


def scale_cells(found: ScaleFindings, level: float) -> Cells:
    """Every question and system: mean and median with their intervals."""
    of = level_percent(level)
    rows = [
        [
            one.question, one.system, f"{one.n:,}", with_interval(one.mean, one.low, one.high, 2),
            with_interval(one.median, one.median_low, one.median_high, 1),
        ]
        for one in found.values
    ]  # fmt: skip
    return ["question", "system", "participants", f"mean [{of}]", f"median [{of}]"], rows


def difference_cells(found: ScaleFindings, level: float) -> Cells:
    """Every question and two systems."""
    head = [
        "question",
        "one",
        "other",
        "participants",
        f"difference [{level_percent(level)}]",
        "p (Holm)",
        "verdict on one",
    ]
    rows = [
        [
            one.question, one.one, one.other, f"{one.n:,}",
            with_interval(one.difference, one.low, one.high, 2, sign=True),
            p_value(one.p_corrected), verdict_cell(one.verdict),
        ]
        for one in found.differences
    ]  # fmt: skip
    return head, rows


def verdict_cell(verdict: str) -> str:
    """A verdict with its sign.

    >>> verdict_cell("better"), verdict_cell("not shown")
    ('▲ better', 'no significant difference')
    """
    return f"{SIGNS.get(verdict, '')} {verdict_text(verdict)}".lstrip()


def share_text(share: float, low: float, high: float) -> str:
    """A share of people with its interval.

    >>> share_text(0.5, 0.272, 0.728)
    '50 % [27, 73]'
    """
    return f"{percent(share, 0)} [{100 * low:.0f}, {100 * high:.0f}]" if share == share else ""


def strength_text(one: Strength | None) -> str:
    """A strength with its interval."""
    if one is None:
        return ""
    ends = f" [{rounded(one.low)}, {rounded(one.high)}]" if one.low == one.low else ""
    return rounded(one.strength) + ends
