"""An A/B test as text, Markdown and LaTeX."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trueval.online.ab.comparisons import ArmValue, Compared
from trueval.online.ab.words import balance_words, digits_for, p_text, percent, ratio_words
from trueval.statistics.corrections import NAMES

if TYPE_CHECKING:
    from rich.table import Table

    from trueval.online.ab.result import AbTest

WIDTH = 150  # where the text is not shown in a window

_SIGNS = {"higher": "▲ higher", "lower": "▼ lower"}


def as_text(found: AbTest, *, width: int = WIDTH) -> str:
    """The check of the sample ratio, the values, the verdict in words, and what the numbers rest on."""
    users = sum(found.sample_ratio.users.values())
    head = f"A/B test of {users:,} users, {len(found.arms)} arms, {control_words(found)}"
    parts = [_wrapped(head, width), _wrapped("sample ratio: " + ratio_words(found.sample_ratio), width)]
    parts += [*(_wrapped(line, width) for line in balance_words(found)), ""]
    parts.append(_fitting(found, "", width))
    parts += ["", *(_wrapped(line, width) for line in found.verdict.split("\n")), ""]
    for segment in found.manifest["segments"]:
        if any(c.segment == segment for c in found.segments):
            parts += [f"by {segment}", _fitting(found, segment, width), ""]
    parts += [_wrapped(line, width) for line in foot(found)]
    parts += [_wrapped(f"! {warning}", width) for warning in found.warnings]
    return "\n".join(parts) + "\n"


def control_words(found: AbTest) -> str:
    """Which arm is the control, and why."""
    return f"control arm: {found.arms[0]} ({found.manifest['control_is']})"


def foot(found: AbTest) -> list[str]:
    """How intervals and p were made, what each metric is, and what was done to the table."""
    m = found.manifest
    level = f"{100 * m['level']:g} %"
    lines = [f"intervals {level}, by user, not corrected; p {_correction(m['correct'], len(found.comparisons))}"]
    if m["sequential"]:
        lines[0] += f"; always valid (normal mixture, tightest at {m['sequential']:,} users)"
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
    level = f"{100 * found.manifest['level']:g} %"
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
    value = f"{v.value:.{own}f}"
    first = [v.metric, v.group, v.arm, f"{v.n:,}", value, value + _span(v.low, v.high, own)]
    if c is None:
        return [*first, "", "", "", "control"]
    change = f"{c.difference:+.{digits}f}" + _span(c.low, c.high, digits, sign=True)
    relative = ""
    if math.isfinite(c.relative):
        places = min(2, digits_for(50 * (c.relative_high - c.relative_low)))
        relative = percent(c.relative, places, sign=True)
        relative += _span(100 * c.relative_low, 100 * c.relative_high, places, sign=True)
    return [*first, change, relative, p_text(c.p_corrected), _SIGNS.get(c.verdict, c.verdict)]


def _span(low: float, high: float, digits: int, *, sign: bool = False) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    plus = "+" if sign else ""
    return f" [{low:{plus}.{digits}f}, {high:{plus}.{digits}f}]"


def columns_shown(found: AbTest, segment: str, left_out: Sequence[str] = ()) -> list[str]:
    """Headings that are used: no groups without segments, one column of values."""
    out = {"value", *left_out} | (set() if segment else {"group"})
    return [name for name in headings(found) if name not in out]


def _layouts(found: AbTest, segment: str) -> Iterator[Table]:
    """The whole table, then narrower ones."""
    from rich import box
    from rich.table import Table

    h = headings(found)
    for left_out in ((), (h[7],), (h[7], h[5]), (h[7], h[5], "users"), (h[7], h[5], "users", "verdict")):
        names = [name for name in h if name not in left_out and (segment or name != "group")]
        names = [name for name in names if name != "value" or h[5] in left_out]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for name in names:
            words = name in ("metric", "group", "arm", "verdict")
            table.add_column(name, justify="left" if words else "right", no_wrap=True)
        before = ("", "")
        for row in rows(found, segment):
            now = (row["metric"], row["group"])
            if before != ("", "") and now[0] != before[0]:
                table.add_section()
            cells = row | {"metric": row["metric"] if now[0] != before[0] else ""}
            cells |= {"group": row["group"] if now != before else ""}
            table.add_row(*(cells[name] for name in names))
            before = now
        yield table


def _fitting(found: AbTest, segment: str, width: int) -> str:
    """The first layout that fits, else the narrowest."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=10_000, highlight=False, markup=False)
    for table in _layouts(found, segment):
        if console.measure(table).maximum <= width:
            break
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _wrapped(line: str, width: int) -> str:
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _flat(found: AbTest) -> Iterator[tuple[list[str], list[list[str]]]]:
    for segment in ("", *found.manifest["segments"]):
        body = rows(found, segment)
        names = columns_shown(found, segment)
        if body:
            yield names, [[row[name] for name in names] for row in body]


def as_markdown(found: AbTest) -> str:
    """Tables with the sample ratio above and the verdict below."""
    lines = ["C" + control_words(found)[1:], ""]
    lines += [f"Sample ratio: {ratio_words(found.sample_ratio)}", ""]
    lines += [f"{line.strip()}  " for line in balance_words(found)] + ([""] if found.balance else [])
    for names, body in _flat(found):
        lines += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in body]
        lines.append("")
    lines += [f"{line}  " for line in found.verdict.split("\n")]
    lines += ["", *(f"- {note}" for note in found.notes), *(f"- **Warning:** {warning}" for warning in found.warnings)]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(found: AbTest) -> str:
    """Booktabs tables, the sample ratio and the verdict as comments."""
    lines = [f"% {control_words(found)}", f"% sample ratio: {ratio_words(found.sample_ratio)}"]
    lines += [f"% {line.strip()}" for line in balance_words(found)]
    lines += [f"% {line}" for line in (*found.verdict.split("\n"), *found.notes)]
    lines += [f"% warning: {warning}" for warning in found.warnings]
    for names, body in _flat(found):
        words = ("metric", "group", "arm", "verdict")
        lines += [r"\begin{tabular}{" + "".join("l" if name in words else "r" for name in names) + "}", r"\toprule"]
        lines += [" & ".join(map(_tex, names)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(_tex, row)) + r" \\" for row in body]
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    for mark in r"\&%$#_{}":
        text = text.replace(mark, rf"\{mark}" if mark != "\\" else r"\textbackslash ")
    return text.replace("▲", r"$\uparrow$").replace("▼", r"$\downarrow$")
