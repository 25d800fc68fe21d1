"""What people in a user study prefer: strengths, first places, answers on scales; and whether positions mattered."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import CALM, GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.forest import draw_forest
from trueval.charts.series import in_order, listed, span
from trueval.errors import DefinitionError
from trueval.online.user_study.result import StudyAnalysis
from trueval.render.marks import verdict_text
from trueval.render.numbers import level_percent, p_phrase, percent, rounded


def strengths_chart(found: StudyAnalysis) -> Chart:
    """Strengths of systems with their intervals, the strongest first; 0 is the mean of all systems.

    >>> import trueval as tv
    >>> answers = pl.DataFrame({"participant": [*"ppqqrr"], "system": ["a", "b"] * 3, "rank": [1, 2, 1, 2, 2, 1]})
    >>> strengths_chart(tv.study_analysis(answers)).data["system"].to_list()
    ['a', 'b']
    """
    form = found.findings.rankings or found.findings.pairs
    if form is None or not form.strengths.systems:
        raise _missing("strengths", "rankings, or choices between two lists, whose order is known")
    rows = [
        {
            "system": one.system, "value": one.strength, "low": one.low, "high": one.high,
            "verdict": verdict_text("better" if one.low > 0 else "worse" if one.high < 0 else "not shown"),
        }
        for one in form.strengths.systems
    ]  # fmt: skip
    data = pl.DataFrame(rows).with_columns(pl.col("low", "high").fill_nan(None))
    level = level_percent(found.manifest["level"])
    told = listed([f"{one.system} {rounded(one.strength)}" for one in form.strengths.systems])
    description = (
        f"{told}. 0 is the mean of the systems; lines are {level} intervals by resampling participants, and verdicts "
        "compare with the mean of the systems."
    )
    title = f"Strengths of {len(data)} systems, by {form.participants:,} participants"
    return Chart(
        "strengths", title, description, data,
        lambda frame: draw_forest(frame, row="system", title="strength (logarithm); to the right: preferred"),
    )  # fmt: skip


def first_places_chart(found: StudyAnalysis) -> Chart:
    """How many participants ranked each system first, with exact intervals, and what chance would give."""
    ranked = found.findings.rankings
    if ranked is None or not ranked.systems:
        raise _missing("first_places", "rankings whose order is known")
    rows = [
        {"system": s.system, "share": s.first_share, "low": s.first_low, "high": s.first_high, "first": s.first}
        for s in ranked.systems
    ]
    data = pl.DataFrame(rows)
    chance = ranked.participants / sum(s.first_of for s in ranked.systems)  # one first place of each, among all ranks
    level = level_percent(found.manifest["level"])
    told = listed([f"{s.system} {s.first}" for s in ranked.systems])
    description = f"{told}. Lines are exact {level} intervals; the dashed line is chance, {percent(chance, 0)}."
    title = f"Ranked first, by {ranked.participants:,} participants"
    return Chart("first_places", title, description, data, lambda frame: _shares(frame, chance))


def _shares(data: pl.DataFrame, chance: float) -> Any:
    alt = altair()
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format=".0%", tickCount=6)
    base = alt.Chart(data).encode(y=alt.Y("system:N", title=None, sort=in_order(data, "system")))
    bars = base.mark_bar(color=CALM, opacity=0.35, height=12).encode(
        x=alt.X("share:Q", title="share of participants", scale=scale, axis=axis)
    )
    lines = base.mark_rule(strokeWidth=2, color=GOOD).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color=GOOD).encode(x=alt.X("share:Q", scale=scale))
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3], color=INK).encode(x=alt.datum(chance))
    return alt.layer(bars, rule, lines, points).properties(width=WIDTH, height=alt.Step(24))


def answers_chart(found: StudyAnalysis) -> Chart:
    """Mean answers on scales with their intervals: a panel for each question."""
    scales = found.findings.scales
    if scales is None or not scales.values:
        raise _missing("answers", "answers on scales whose order is known")
    rows = [
        {"question": one.question, "system": one.system, "value": one.mean, "low": one.low, "high": one.high}
        for one in scales.values
    ]
    data = pl.DataFrame(rows).with_columns(pl.col("value", "low", "high").fill_nan(None))
    level = level_percent(found.manifest["level"])
    told = listed([f"{one.question} {one.system} {rounded(one.mean)}" for one in scales.values])
    title = f"Mean answers of {scales.participants:,} participants"
    return Chart("answers", title, f"{told}. Lines are {level} intervals.", data, _means)


def _means(data: pl.DataFrame) -> Any:
    alt = altair()
    ends = span([*data["low"].to_list(), *data["high"].to_list(), *data["value"].to_list()])
    x = {"scale": alt.Scale(domain=ends, nice=False), "axis": alt.Axis(tickCount=6, format="~g")}
    base = alt.Chart(data).encode(y=alt.Y("system:N", title=None, sort=in_order(data, "system")))
    lines = base.mark_rule(strokeWidth=2, color=GOOD).encode(x=alt.X("low:Q", title="mean answer", **x), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color=GOOD).encode(x=alt.X("value:Q", **x))
    header = alt.Header(labelOrient="top", labelAnchor="start")
    panels = alt.Row("question:N", sort=in_order(data, "question"), title=None, header=header)
    return alt.layer(lines, points).properties(width=WIDTH, height=alt.Step(22)).facet(row=panels, spacing=8)


def positions_chart(found: StudyAnalysis) -> Chart:
    """Mean answers at each position, whatever system stood there; without an effect of positions they are equal."""
    if not found.position_bias:
        raise _missing("positions", "answers with positions")
    bias = found.position_bias[0]
    names = ["left", "right"] if bias.form == "pair" else [str(place) for place in bias.positions]
    data = pl.DataFrame({"position": names, "value": bias.means, "answers": bias.counts})
    middle = sum(m * n for m, n in zip(bias.means, bias.counts)) / sum(bias.counts) if bias.form != "pair" else 0.5
    what = {"rank": "mean rank", "pair": "share of the choices", "rate": "mean answer"}[bias.form]
    told = listed([f"{name}: {rounded(mean)}" for name, mean in zip(names, bias.means)], most=12)
    description = f"{what} by position: {told}. Test that positions do not matter: {p_phrase(bias.p)}."
    title = f"Where a list stood: {what} by position"
    return Chart("positions", title, description, data, lambda frame: _places(frame, what, middle))


def _places(data: pl.DataFrame, what: str, middle: float) -> Any:
    alt = altair()
    base = alt.Chart(data).encode(x=alt.X("position:N", title="position", sort=None, axis=alt.Axis(labelAngle=0)))
    scale = alt.Scale(domain=span(data["value"].to_list(), also=[0, middle]), nice=False)
    bars = base.mark_bar(color=GOOD, opacity=0.8, width=26).encode(
        y=alt.Y("value:Q", title=what, scale=scale, axis=alt.Axis(tickCount=5, format="~g"))
    )
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3], color=INK).encode(y=alt.datum(middle))
    return alt.layer(bars, rule).properties(width=min(WIDTH, 90 * len(data)), height=160)


def _missing(name: str, needs: str) -> DefinitionError:
    return DefinitionError(f"the chart {name} needs {needs}", do="choose another chart")
