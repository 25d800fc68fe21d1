"""An A/B test as text, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from trueval.errors import visible
from trueval.online.ab.comparisons import ArmValue, Compared
from trueval.online.ab.sentences import describe_balance, describe_sample_ratio
from trueval.render.alignment import align_text_left
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.marks import SIGNS, verdict_text
from trueval.render.numbers import digits_for, interval, level_percent, p_value, percent, with_interval
from trueval.render.terminal import escape, fill, first_fitting, plain_table, printed
from trueval.render.widths import PIPED_WIDTH
from trueval.statistics.multiple_comparisons import NAMES

if TYPE_CHECKING:
    from trueval.online.ab.result import AbTest

_TEXT_COLUMNS = ("metric", "group", "arm", "verdict")  # aligned to the left


def as_text(result: AbTest, *, width: int = PIPED_WIDTH) -> str:
    """The check of the sample ratio, the values, the verdict in words, and what the numbers rest on."""
    users = sum(result.sample_ratio.users.values())
    head = f"A/B test of {users:,} users, {len(result.arms)} arms, {describe_control(result)}"
    parts = [fill(head, width), fill("sample ratio: " + describe_sample_ratio(result.sample_ratio), width)]
    parts += [*(fill(line, width) for line in describe_balance(result)), ""]
    parts.append(_fitting(result, "", width))
    parts += ["", *(fill(line, width) for line in result.verdict.split("\n")), ""]
    for segment in result.manifest["segments"]:
        if any(c.segment == segment for c in result.segments):
            parts += [f"by {visible(segment)}", _fitting(result, segment, width), ""]
    parts += [fill(line, width) for line in foot(result)]
    parts += [fill(f"! {warning}", width) for warning in result.warnings]
    return "\n".join(parts) + "\n"


def describe_control(result: AbTest) -> str:
    """Which arm is the control, and why."""
    return f"control arm: {result.arms[0]} ({result.manifest['control_is']})"


def foot(result: AbTest) -> list[str]:
    """How intervals and p were made, what each metric is, and what was done to the table."""
    m = result.manifest
    level, corrected = level_percent(m["level"]), _correction(m["correct"], len(result.comparisons))
    lines = [f"{level} confidence intervals by user, not corrected; p {corrected}"]
    if m["sequential"]:
        lines[0] += f"; always valid (normal mixture, narrowest at {m['sequential']:,} users)"
    if result.segments:
        lines.append(f"segments: p {_correction(m['correct'], len(result.segments))}")
    saved = {c.metric: c.variance_reduction for c in result.comparisons if math.isfinite(c.variance_reduction)}
    if saved:
        reductions = ", ".join(f"{name} {percent(share, 0)}" for name, share in saved.items())
        lines.append(f"CUPED with {', '.join(m['pre'])}: variance of the difference reduced by {reductions}")
    lines += [f"{name} = {text}" for name, text in result.definitions.items()]
    return lines + list(result.notes)


def _correction(correct: str, n: int) -> str:
    return "uncorrected" if correct == "none" or n == 1 else f"corrected by {NAMES[correct]} over {n} comparisons"


def headings(result: AbTest) -> list[str]:
    """Columns of the tables."""
    level = level_percent(result.manifest["level"])
    return [
        "metric", "group", "arm", "users", "value", f"value [{level}]", f"difference [{level}]", f"relative [{level}]",
        "p" if result.manifest["correct"] == "none" else f"p ({NAMES[result.manifest['correct']]})", "verdict",
    ]  # fmt: skip


def rows(result: AbTest, segment: str = "") -> list[dict[str, str]]:
    """One row per metric, group and arm, as text."""
    compared = {(c.group, c.metric, c.arm): c for c in (*result.comparisons, *result.segments) if c.segment == segment}
    ranks = {metric.name for metric in result.metrics if metric.kind == "mannwhitney"}
    body = []
    for v in result.values:
        if v.segment != segment:
            continue
        others = [c for (group, metric, _), c in compared.items() if (group, metric) == (v.group, v.metric)]
        cells = _cells(v, compared.get((v.group, v.metric, v.arm)), others, v.metric in ranks)
        body.append(dict(zip(headings(result), cells)))
    if segment:  # all groups of a metric together
        names = [m.name for m in result.metrics]
        body.sort(key=lambda row: names.index(row["metric"]))
    return body


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


def visible_columns(result: AbTest, segment: str, hidden: Sequence[str] = ()) -> list[str]:
    """Headings that are used: no groups without segments, one column of values."""
    out = {"value", *hidden} | (set() if segment else {"group"})
    return [name for name in headings(result) if name not in out]


def _layouts(result: AbTest, segment: str) -> Iterator[Table]:
    """The whole table, then narrower ones: short verdicts first, then fewer columns."""
    h = headings(result)
    full, brief = (verdict_text("not shown", short=short) for short in (False, True))
    dropped = ((), (), (h[7],), (h[7], h[5]), (h[7], h[5], "users"), (h[7], h[5], "users", "verdict"))
    for step, hidden in enumerate(dropped):
        names = [name for name in h if name not in hidden and (segment or name != "group")]
        names = [name for name in names if name != "value" or h[5] in hidden]
        table = plain_table(names, [], align=align_text_left(names, _TEXT_COLUMNS))
        before = ("", "")
        for row in rows(result, segment):
            now = (row["metric"], row["group"])
            if before != ("", "") and now[0] != before[0]:
                table.add_section()
            cells = row | {"metric": row["metric"] if now[0] != before[0] else ""}
            cells |= {"group": row["group"] if now != before else ""}
            cells |= {"verdict": row["verdict"].replace(full, brief)} if step else {}
            table.add_row(*(escape(cells[name]) for name in names))
            before = now
        yield table


def _fitting(result: AbTest, segment: str, width: int) -> str:
    return printed(first_fitting(_layouts(result, segment), width)).rstrip("\n")


def _flat(result: AbTest) -> Iterator[tuple[list[str], list[list[str]]]]:
    for segment in ("", *result.manifest["segments"]):
        body = rows(result, segment)
        names = visible_columns(result, segment)
        if body:
            yield names, [[row[name] for name in names] for row in body]


def as_markdown(result: AbTest) -> str:
    """Tables with the sample ratio above and the verdict below."""
    lines = ["C" + markdown_text(describe_control(result))[1:], ""]
    lines += [f"Sample ratio: {markdown_text(describe_sample_ratio(result.sample_ratio))}", ""]
    lines += [f"{markdown_text(line.strip())}  " for line in describe_balance(result)] + (
        [""] if result.balance else []
    )
    for names, body in _flat(result):
        lines.append(markdown_table(names, body, align=align_text_left(names, _TEXT_COLUMNS)))
    lines += [f"{markdown_text(line)}  " for line in result.verdict.split("\n")]
    lines += ["", *(f"- {markdown_text(note)}" for note in result.notes)]
    lines += [f"- **Warning:** {markdown_text(warning)}" for warning in result.warnings]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(result: AbTest) -> str:
    """Booktabs tables, the sample ratio and the verdict as comments."""
    lines = [describe_control(result), f"sample ratio: {describe_sample_ratio(result.sample_ratio)}"]
    lines += [line.strip() for line in describe_balance(result)]
    lines += [*result.verdict.split("\n"), *result.notes, *(f"warning: {warning}" for warning in result.warnings)]
    tables = [latex_table(names, body, align=align_text_left(names, _TEXT_COLUMNS)) for names, body in _flat(result)]
    return "\n".join([*map(tex_comment, lines), *tables])
