"""An A/B test as text, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from trueval.errors import visible
from trueval.online.ab.comparisons import ArmValue, Compared
from trueval.online.ab.sentences import balance_words, ratio_words
from trueval.render.alignment import words_left
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.marks import SIGNS, verdict_text
from trueval.render.numbers import digits_for, interval, level_percent, p_value, percent, with_interval
from trueval.render.terminal import escape, fill, first_fitting, plain_table, printed
from trueval.render.widths import PIPED_WIDTH
from trueval.statistics.multiple_comparisons import NAMES

if TYPE_CHECKING:
    from trueval.online.ab.result import AbTest

_WORDS = ("metric", "group", "arm", "verdict")  # columns of words


def as_text(found: AbTest, *, width: int = PIPED_WIDTH) -> str:
    """The check of the sample ratio, the values, the verdict in words, and what the numbers rest on."""
    users = sum(found.sample_ratio.users.values())
    head = f"A/B test of {users:,} users, {len(found.arms)} arms, {control_words(found)}"
    parts = [fill(head, width), fill("sample ratio: " + ratio_words(found.sample_ratio), width)]
    parts += [*(fill(line, width) for line in balance_words(found)), ""]
    parts.append(_fitting(found, "", width))
    parts += ["", *(fill(line, width) for line in found.verdict.split("\n")), ""]
    for segment in found.manifest["segments"]:
        if any(c.segment == segment for c in found.segments):
            parts += [f"by {visible(segment)}", _fitting(found, segment, width), ""]
    parts += [fill(line, width) for line in foot(found)]
    parts += [fill(f"! {warning}", width) for warning in found.warnings]
    return "\n".join(parts) + "\n"


def control_words(found: AbTest) -> str:
    """Which arm is the control, and why."""
    return f"control arm: {found.arms[0]} ({found.manifest['control_is']})"


def foot(found: AbTest) -> list[str]:
    """How intervals and p were made, what each metric is, and what was done to the table."""
    m = found.manifest
    level, corrected = level_percent(m["level"]), _correction(m["correct"], len(found.comparisons))
    lines = [f"{level} confidence intervals by user, not corrected; p {corrected}"]
    if m["sequential"]:
        lines[0] += f"; always valid (normal mixture, narrowest at {m['sequential']:,} users)"
    if found.segments:
        lines.append(f"segments: p {_correction(m['correct'], len(found.segments))}")
    saved = {c.metric: c.variance_reduction for c in found.comparisons if math.isfinite(c.variance_reduction)}
    if saved:
        told = ", ".join(f"{name} {percent(share, 0)}" for name, share in saved.items())
        lines.append(f"CUPED with {', '.join(m['pre'])}: variance of the difference reduced by {told}")
    lines += [f"{name} = {text}" for name, text in found.definitions.items()]
    return lines + list(found.notes)


def _correction(correct: str, n: int) -> str:
    return "uncorrected" if correct == "none" else f"corrected by {NAMES[correct]} over {n} comparisons"


def headings(found: AbTest) -> list[str]:
    """Columns of the tables."""
    level = level_percent(found.manifest["level"])
    return [
        "metric", "group", "arm", "users", "value", f"value [{level}]", f"difference [{level}]", f"relative [{level}]",
        "p" if found.manifest["correct"] == "none" else f"p ({NAMES[found.manifest['correct']]})", "verdict",
    ]  # fmt: skip


def rows(found: AbTest, segment: str = "") -> list[dict[str, str]]:
    """One row per metric, group and arm, as text."""
    compared = {(c.group, c.metric, c.arm): c for c in (*found.comparisons, *found.segments) if c.segment == segment}
    ranks = {metric.name for metric in found.metrics if metric.kind == "mannwhitney"}
    shown = []
    for v in found.values:
        if v.segment != segment:
            continue
        others = [c for (group, metric, _), c in compared.items() if (group, metric) == (v.group, v.metric)]
        cells = _cells(v, compared.get((v.group, v.metric, v.arm)), others, v.metric in ranks)
        shown.append(dict(zip(headings(found), cells)))
    if segment:  # all groups of a metric together
        names = [m.name for m in found.metrics]
        shown.sort(key=lambda row: names.index(row["metric"]))
    return shown


def _cells(v: ArmValue, c: Compared | None, others: Sequence[Compared], ranks: bool) -> list[str]:
    """The cells of an arm; values and differences have the same decimals unless the latter are of ranks."""
    digits = max((digits_for((other.high - other.low) / 2) for other in others), default=4)
    own = digits_for((v.high - v.low) / 2) if ranks else digits
    first = [v.metric, v.group, v.arm, f"{v.n:,}", f"{v.value:.{own}f}", with_interval(v.value, v.low, v.high, own)]
    if c is None:
        return [*first, "", "", "", "control"]
    change = with_interval(c.difference, c.low, c.high, digits, sign=True)
    relative = ""
    if math.isfinite(c.relative):
        places = min(2, digits_for(50 * (c.relative_high - c.relative_low)))
        ends = interval(100 * c.relative_low, 100 * c.relative_high, places, sign=True)
        relative = f"{percent(c.relative, places, sign=True)} {ends}".rstrip()
    verdict = f"{SIGNS.get(c.verdict, '')} {verdict_text(c.verdict)}".lstrip()
    return [*first, change, relative, p_value(c.p_corrected), verdict]


def columns_shown(found: AbTest, segment: str, left_out: Sequence[str] = ()) -> list[str]:
    """Headings that are used: no groups without segments, one column of values."""
    out = {"value", *left_out} | (set() if segment else {"group"})
    return [name for name in headings(found) if name not in out]


def _layouts(found: AbTest, segment: str) -> Iterator[Table]:
    """The whole table, then narrower ones: short verdicts first, then fewer columns."""
    h = headings(found)
    full, brief = (verdict_text("not shown", short=short) for short in (False, True))
    dropped = ((), (), (h[7],), (h[7], h[5]), (h[7], h[5], "users"), (h[7], h[5], "users", "verdict"))
    for step, left_out in enumerate(dropped):
        names = [name for name in h if name not in left_out and (segment or name != "group")]
        names = [name for name in names if name != "value" or h[5] in left_out]
        table = plain_table(names, [], align=words_left(names, _WORDS))
        before = ("", "")
        for row in rows(found, segment):
            now = (row["metric"], row["group"])
            if before != ("", "") and now[0] != before[0]:
                table.add_section()
            cells = row | {"metric": row["metric"] if now[0] != before[0] else ""}
            cells |= {"group": row["group"] if now != before else ""}
            cells |= {"verdict": row["verdict"].replace(full, brief)} if step else {}
            table.add_row(*(escape(cells[name]) for name in names))
            before = now
        yield table


def _fitting(found: AbTest, segment: str, width: int) -> str:
    return printed(first_fitting(_layouts(found, segment), width)).rstrip("\n")


def _flat(found: AbTest) -> Iterator[tuple[list[str], list[list[str]]]]:
    for segment in ("", *found.manifest["segments"]):
        body = rows(found, segment)
        names = columns_shown(found, segment)
        if body:
            yield names, [[row[name] for name in names] for row in body]


def as_markdown(found: AbTest) -> str:
    """Tables with the sample ratio above and the verdict below."""
    lines = ["C" + markdown_text(control_words(found))[1:], ""]
    lines += [f"Sample ratio: {markdown_text(ratio_words(found.sample_ratio))}", ""]
    lines += [f"{markdown_text(line.strip())}  " for line in balance_words(found)] + ([""] if found.balance else [])
    for names, body in _flat(found):
        lines.append(markdown_table(names, body, align=words_left(names, _WORDS)))
    lines += [f"{markdown_text(line)}  " for line in found.verdict.split("\n")]
    lines += ["", *(f"- {markdown_text(note)}" for note in found.notes)]
    lines += [f"- **Warning:** {markdown_text(warning)}" for warning in found.warnings]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(found: AbTest) -> str:
    """Booktabs tables, the sample ratio and the verdict as comments."""
    lines = [control_words(found), f"sample ratio: {ratio_words(found.sample_ratio)}"]
    lines += [line.strip() for line in balance_words(found)]
    lines += [*found.verdict.split("\n"), *found.notes, *(f"warning: {warning}" for warning in found.warnings)]
    tables = [latex_table(names, body, align=words_left(names, _WORDS)) for names, body in _flat(found)]
    return "\n".join([*map(tex_comment, lines), *tables])
