"""Off-policy estimates as text, Markdown and LaTeX."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from trueval.online.ope.weights import ALL

if TYPE_CHECKING:
    from trueval.online.ope.result import OffPolicy, Value

WIDTH = 110
_TRUST = {
    "yes": "the log carries the target policy well",
    "with care": "trust weighted estimates with care",
    "no": "do not decide on weighted estimates",
    "undefined": "weighted estimates are undefined",
}
_SIGNS = {"higher": "▲", "lower": "▼", "not shown": " "}


def as_text(found: OffPolicy, *, width: int = WIDTH) -> str:
    """Estimates over all rows, then by position, then what they rest on."""
    text = _fitting(_overall(found), width)
    if _scopes(found):
        text += "\n" + _fitting(_by_position(found), width)
    return text + "\n" + "\n".join(_wrapped(line, width) for line in _footer(found)) + "\n"


def _overall(found: OffPolicy) -> Iterator[Table]:
    """The estimates over all rows; then with half widths in the place of intervals."""
    digits = _digits(found)
    percent = f"{found.manifest['level'] * 100:g} %"
    for short in (False, True):
        words = (
            ("value", "minus naive") if short else (f"value [{percent} interval]", f"minus naive [{percent} interval]")
        )
        table = _table("estimator", *words, "verdict")
        for v in _of(found, ALL):
            verdict = f"{_SIGNS[v.verdict]} {v.verdict}" if v.verdict else ""
            value = plus_minus(v, digits) if short else span(v.value, v.low, v.high, digits)
            table.add_row(v.estimator, value, _difference(v, digits, short=short), verdict)
        yield table


def _by_position(found: OffPolicy) -> Iterator[Table]:
    """Positions side by side, else one below the other, else without intervals."""
    digits, scopes = _digits(found), _scopes(found)
    names = list(dict.fromkeys(v.estimator for v in found.values))
    known = {(v.estimator, v.scope): v for v in found.values}

    def text(name: str, scope: str, bare: bool = False) -> str:
        v = known.get((name, scope))
        return "" if v is None else plus_minus(replace(v, low=math.nan) if bare else v, digits)

    across = _table("estimator", *scopes)
    for name in names:
        across.add_row(name, *(text(name, scope) for scope in scopes))
    yield across
    for bare in (False, True):
        down = _table("", *names)
        for scope in scopes:
            down.add_row(scope, *(text(name, scope, bare) for name in names))
        yield down


def _fitting(layouts: Iterator[Table], width: int) -> str:
    """The first layout that the width allows, else the last."""
    for table in layouts:
        text = _printed(table)
        if max(map(len, text.splitlines())) <= width:
            break
    return text


def as_markdown(found: OffPolicy) -> str:
    """One row per estimator: its value and interval, the difference from the naive one, and by position."""
    head, rows = _grid(found, "±")
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", *(f"{line}  " for line in _footer(found))]) + "\n"


def as_latex(found: OffPolicy) -> str:
    """The same as a booktabs table, what it rests on as comments."""
    head, rows = _grid(found, r"$\pm$")
    lines = [f"% {line}" for line in _footer(found)]
    lines += [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\toprule"]
    lines += [" & ".join(map(_tex, head)) + r" \\", r"\midrule"]
    lines += [" & ".join([_tex(row[0]), *row[1:]]) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def span(value: float, low: float, high: float, digits: int, *, sign: str = "") -> str:
    """A value and its interval.

    >>> span(0.0052, 0.0026, 0.0079, 4), span(float("nan"), 0, 0, 4)
    ('0.0052 [0.0026, 0.0079]', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    bounds = "" if math.isnan(low) else f" [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"
    return f"{value:{sign}.{digits}f}{bounds}"


def plus_minus(v: Value, digits: int, sign: str = "±") -> str:
    """A value with half the width of its interval, or with both ends where it is not symmetric."""
    if math.isnan(v.value):
        return "undefined"
    if abs(v.high + v.low - 2 * v.value) > 0.1 * (v.high - v.low):
        return span(v.value, v.low, v.high, digits)
    return f"{v.value:.{digits}f}" + ("" if math.isnan(v.low) else f" {sign} {(v.high - v.low) / 2:.{digits}f}")


def _of(found: OffPolicy, scope: str) -> list[Value]:
    return [v for v in found.values if v.scope == scope]


def _scopes(found: OffPolicy) -> list[str]:
    return list(dict.fromkeys(v.scope for v in found.values if v.scope != ALL))


def _digits(found: OffPolicy) -> int:
    """Three digits that count in the smallest value, four after the point at least."""
    sizes = [abs(v.value) for v in _of(found, ALL) if math.isfinite(v.value) and v.value != 0]
    return min(9, max(4, 2 - math.floor(math.log10(min(sizes))))) if sizes else 4


def _difference(v: Value, digits: int, *, short: bool = False) -> str:
    if math.isnan(v.difference):
        return ""
    numbers = [round(x, digits) + 0.0 for x in (v.difference, v.difference_low, v.difference_high)]  # no -0.0000
    if short:
        return span(numbers[0], math.nan, math.nan, digits, sign="+")
    return span(numbers[0], numbers[1], numbers[2], digits, sign="+")


def _grid(found: OffPolicy, sign: str) -> tuple[list[str], list[list[str]]]:
    digits, scopes = _digits(found), [ALL, *_scopes(found)]
    known = {(v.estimator, v.scope): v for v in found.values}
    rows = []
    for name in dict.fromkeys(v.estimator for v in found.values):
        cells = [plus_minus(known[name, s], digits, sign) if (name, s) in known else "" for s in scopes]
        rows.append([name, cells[0], _difference(known[name, ALL], digits), *cells[1:]])
    return ["estimator", "value", "minus naive", *scopes[1:]], rows


def _footer(found: OffPolicy) -> list[str]:
    m, s = found.manifest, found.support
    units = f", {m['clusters']:,} users or rounds" if m["clusters"] != m["rows"] else ""
    where = f", {len(m['positions'])} positions" if m["positions"] else ""
    lines = [
        f"log {m['log']}: {m['rows']:,} rows{units}, {m['items']:,} items{where} · propensities: {m['propensity']}"
    ]
    lines.append(f"target: {m['target']}" + (f" · reward model: {m['reward_model']}" if m["reward_model"] else ""))
    interval = {"t": "linearised, Student t", "bootstrap": "percentile bootstrap", "none": "none"}[m["interval"]]
    told = f"{s.rows:,} weights count like {s.effective:,.0f}; mean {s.mean:.3f}"
    told += "" if math.isnan(s.mean_low) else f" [{s.mean_low:.3f}, {s.mean_high:.3f}]"
    told += f", largest {s.largest:.3g}" + ("" if math.isnan(s.top_share) else f", the top 1 % hold {s.top_share:.0%}")
    told += f"; {s.zero:.1%} are 0" if s.zero else ""
    lines += [f"interval: {interval}; verdict: whether the target policy earns more than the live one", told]
    if s.clip is not None and math.isfinite(s.clip):
        asked = " (tuned)" if m["clip"]["asked"] == "tuned" else ""
        lines.append(f"clip {s.clip:.3g}{asked}: {s.clipped:.1%} of weights cut, {s.removed:.1%} of the weight removed")
    if s.unsupported is None:
        lines.append("support: unknown, for only the probabilities of shown items are given")
    else:
        lines.append(f"support: {s.unsupported_here or 0.0:.2%} of the target policy's shows are beyond the log")
    lines += [f"{name} = {text}" for name, text in m["definitions"].items()]
    return [
        *lines,
        f"trust: {found.trust} ({_TRUST[found.trust]})",
        *(f"! {text}" for text in found.warnings),
        *found.assumptions,
    ]


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    return table


def _printed(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=400, highlight=False, markup=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _wrapped(line: str, width: int) -> str:
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _tex(text: str) -> str:
    for character in r"\&%$#_{}":
        text = text.replace(character, rf"\{character}")
    return text
