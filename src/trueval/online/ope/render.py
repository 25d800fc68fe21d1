"""Off-policy estimates as text, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table

from trueval.online.ope.weights import ALL
from trueval.render.alignment import align_text_left
from trueval.render.latex import latex_table, tex_comment
from trueval.render.markdown import markdown_table, markdown_text
from trueval.render.marks import SIGNS, verdict_text
from trueval.render.numbers import UNDEFINED, level_percent, lopsided, percent, with_interval
from trueval.render.terminal import fill, first_fitting, plain_table, printed
from trueval.render.widths import READING_WIDTH

if TYPE_CHECKING:
    from trueval.online.ope.result import OffPolicy, Value

TRUST = {
    "yes": "the log covers the target policy well",
    "with care": "interpret weighted estimates with care",
    "no": "do not base decisions on weighted estimates",
    "undefined": "weighted estimates are undefined",
}


def as_text(result: OffPolicy, *, width: int = READING_WIDTH) -> str:
    """Estimates over all rows, then by position, then what they rest on."""
    text = printed(first_fitting(_overall(result), width))
    if _scopes(result):
        text += "\n" + printed(first_fitting(_by_position(result), width))
    return text + "\n" + "\n".join(fill(line, width) for line in _footer(result)) + "\n"


def _overall(result: OffPolicy) -> Iterator[Table]:
    """The estimates over all rows; then with half widths in the place of intervals."""
    digits = _digits(result)
    level = level_percent(result.manifest["level"])
    for short in (False, True):
        headings = (
            ("value", "minus naive") if short else (f"value [{level} interval]", f"minus naive [{level} interval]")
        )
        rows = []
        for v in _of(result, ALL):
            verdict = f"{SIGNS.get(v.verdict, ' ')} {verdict_text(v.verdict, short=short)}" if v.verdict else ""
            value = plus_minus(v, digits) if short else with_interval(v.value, v.low, v.high, digits)
            rows.append([v.estimator, value, _difference(v, digits, short=short), verdict])
        head = ["estimator", *headings, "verdict"]
        yield plain_table(head, rows, align=align_text_left(head, ("estimator", "verdict")))


def _by_position(result: OffPolicy) -> Iterator[Table]:
    """Positions side by side, else one below the other, else without intervals."""
    digits, scopes = _digits(result), _scopes(result)
    names = list(dict.fromkeys(v.estimator for v in result.values))
    known = {(v.estimator, v.scope): v for v in result.values}

    def text(name: str, scope: str, bare: bool = False) -> str:
        v = known.get((name, scope))
        return "" if v is None else plus_minus(replace(v, low=math.nan) if bare else v, digits)

    yield plain_table(["estimator", *scopes], [[name, *(text(name, scope) for scope in scopes)] for name in names])
    for bare in (False, True):
        yield plain_table(["", *names], [[scope, *(text(name, scope, bare) for name in names)] for scope in scopes])


def as_markdown(result: OffPolicy) -> str:
    """One row per estimator: its value and interval, the difference from the naive one, and by position."""
    return (
        "\n".join([markdown_table(*estimate_grid(result)), *(f"{markdown_text(line)}  " for line in _footer(result))])
        + "\n"
    )


def as_latex(result: OffPolicy) -> str:
    """The same as a booktabs table, what it rests on as comments."""
    return "\n".join([*map(tex_comment, _footer(result)), latex_table(*estimate_grid(result))])


def plus_minus(v: Value, digits: int) -> str:
    """A value with half the width of its interval, or with both ends where it is not symmetric."""
    if math.isnan(v.value):
        return UNDEFINED
    if lopsided(v.value, v.low, v.high):
        return with_interval(v.value, v.low, v.high, digits)
    return f"{v.value:.{digits}f}" + ("" if math.isnan(v.low) else f" ± {(v.high - v.low) / 2:.{digits}f}")


def _of(result: OffPolicy, scope: str) -> list[Value]:
    return [v for v in result.values if v.scope == scope]


def _scopes(result: OffPolicy) -> list[str]:
    return list(dict.fromkeys(v.scope for v in result.values if v.scope != ALL))


def _digits(result: OffPolicy) -> int:
    """Three digits that count in the smallest value, four after the point at least."""
    sizes = [abs(v.value) for v in _of(result, ALL) if math.isfinite(v.value) and v.value != 0]
    return min(9, max(4, 2 - math.floor(math.log10(min(sizes))))) if sizes else 4


def _difference(v: Value, digits: int, *, short: bool = False) -> str:
    if math.isnan(v.difference):
        return ""
    numbers = [round(x, digits) + 0.0 for x in (v.difference, v.difference_low, v.difference_high)]  # no -0.0000
    if short:
        return with_interval(numbers[0], math.nan, math.nan, digits, sign=True)
    return with_interval(numbers[0], numbers[1], numbers[2], digits, sign=True)


def estimate_grid(result: OffPolicy) -> tuple[list[str], list[list[str]]]:
    """One row per estimator: its value, the difference from the naive one, and its value at every position."""
    digits, scopes = _digits(result), [ALL, *_scopes(result)]
    known = {(v.estimator, v.scope): v for v in result.values}
    rows = []
    for name in dict.fromkeys(v.estimator for v in result.values):
        cells = [plus_minus(known[name, s], digits) if (name, s) in known else "" for s in scopes]
        rows.append([name, cells[0], _difference(known[name, ALL], digits), *cells[1:]])
    return ["estimator", "value", "minus naive", *scopes[1:]], rows


def rests_on(result: OffPolicy) -> list[str]:
    """Log, target, weights and support."""
    m, s = result.manifest, result.support
    units = f", {m['clusters']:,} users or rounds" if m["clusters"] != m["rows"] else ""
    where = f", {len(m['positions'])} positions" if m["positions"] else ""
    lines = [
        f"log {m['log']}: {m['rows']:,} rows{units}, {m['items']:,} items{where} · propensities: {m['propensity']}"
    ]
    lines.append(f"target: {m['target']}" + (f" · reward model: {m['reward_model']}" if m["reward_model"] else ""))
    interval = {"t": "linearised, Student t", "bootstrap": "percentile bootstrap", "none": "none"}[m["interval"]]
    weights_line = f"effective sample size (ESS) {s.effective:,.0f} of {s.rows:,}; weights: mean {s.mean:.3f}"
    weights_line += "" if math.isnan(s.mean_low) else f" [{s.mean_low:.3f}, {s.mean_high:.3f}]"
    weights_line += f", largest {s.largest:.3g}" + (
        "" if math.isnan(s.top_share) else f", the largest 1 % hold {percent(s.top_share, 0)}"
    )
    weights_line += f"; {percent(s.zero)} are 0" if s.zero else ""
    lines += [f"interval: {interval}; verdict: whether the target policy earns more than the live one", weights_line]
    if s.clip is not None and math.isfinite(s.clip):
        asked = " (tuned)" if m["clip"]["asked"] == "tuned" else ""
        lines.append(
            f"clip {s.clip:.3g}{asked}: {percent(s.clipped)} of weights clipped, "
            f"{percent(s.removed)} of their sum removed"
        )
    if s.unsupported is None:
        lines.append("support: unknown, because only the probabilities of shown items are given")
    else:
        lines.append(
            f"support: the log never shows {percent(s.unsupported_here or 0.0, 2)} of what the target policy shows"
        )
    return lines


def _footer(result: OffPolicy) -> list[str]:
    return [
        *rests_on(result),
        *(f"{name} = {text}" for name, text in result.manifest["definitions"].items()),
        f"trust: {result.trust} ({TRUST[result.trust]})",
        *(f"! {text}" for text in result.warnings),
        *result.assumptions,
    ]
