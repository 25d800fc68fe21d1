"""Comparisons as tables: cells, heads and notes, whatever the format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import JustifyMethod
from rich.table import Table

from trueval.render.marks import COLOURS, verdict_text
from trueval.render.numbers import UNDEFINED, level_percent, number, p_value
from trueval.render.terminal import escape, new_table
from trueval.statistics.multiple_comparisons import NAMES

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison

_TESTS = {
    "t": "paired t-test",
    "exact": "exact sign-flip test (at most 12 users differ, or all by the same amount)",
    "wilcoxon": "Wilcoxon's signed-rank test (zeros by Pratt)",
    "permutation": "sign-flip permutation test",
    "bootstrap": "bootstrap-t of the difference",
    "jackknife": "t-test on a jackknife by groups of users",
}
_TEXT_COLUMNS = ("system", "metric")  # the verdict, at the end, is one too
_DETAILS = ("detectable", "win/tie/loss", "dz")


def correction_head(comparisons: Sequence[Comparison]) -> str:
    """The name of the column of corrected p-values.

    >>> correction_head([])
    'p (Holm)'
    """
    name = comparisons[0].correction if comparisons else "holm"
    return "p (BH)" if name == "bh" else f"p ({NAMES[name]})"


def cells_of(c: Comparison, head: str, *, short: bool = False) -> dict[str, str]:
    """One comparison by the names of columns; `short` writes the verdict in few letters."""
    interval = UNDEFINED if math.isnan(c.low) else f"{number(c.low, sign=True)} … {number(c.high, sign=True)}"
    counted = c.wins + c.ties + c.losses
    return {
        "system": c.system,
        "metric": c.metric,
        "difference": number(c.difference, sign=True),
        f"{level_percent(c.level)} interval": interval,
        "p": p_value(c.p),
        head: p_value(c.p_corrected),
        "dz": "" if math.isnan(c.effect) else f"{c.effect:.2f}".replace("-", "−"),
        "win/tie/loss": f"{c.wins:,}/{c.ties:,}/{c.losses:,}" if counted else "",
        "detectable": "" if math.isnan(c.detectable) else number(c.detectable),
        "verdict": verdict_text(c.verdict, short=short),
    }


def grid(comparisons: Sequence[Comparison], *, short: bool = False) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; columns that are empty in every row are omitted."""
    head = correction_head(comparisons)
    rows = [cells_of(c, head, short=short) for c in comparisons]
    omitted = {name for name in rows[0] if not any(row[name] for row in rows)} if rows else set()
    if comparisons and comparisons[0].correction == "none":
        omitted.add(head)
    names = [name for name in rows[0] if name not in omitted] if rows else []
    return names, [[row[name] for name in names] for row in rows]


def layouts(comparisons: Sequence[Comparison], *, detailed: bool = True) -> Iterator[Table]:
    """The table for a terminal, then the same with short verdicts, then with fewer and fewer columns."""
    names, rows = grid(comparisons)
    _, short_rows = grid(comparisons, short=True)
    head = correction_head(comparisons)
    interval = next(name for name in names if name.endswith("interval"))
    dropped = set() if detailed else set(_DETAILS)

    def table(rows: list[list[str]]) -> Table:
        kept = [name for name in names if name not in dropped]
        return _table(comparisons, kept, [[cell for name, cell in zip(names, row) if name in kept] for row in rows])

    yield table(rows)
    yield table(short_rows)
    for more in (*(_DETAILS if detailed else ()), "p", head, interval):
        dropped.add(more)
        yield table(short_rows)


def _table(comparisons: Sequence[Comparison], names: list[str], rows: list[list[str]]) -> Table:
    table = new_table(title=f"compared with {comparisons[0].baseline}")
    for name in names:
        fold = name == "system"  # a long name takes two lines rather than lose its end
        justify: JustifyMethod = "left" if name in (*_TEXT_COLUMNS, "verdict") else "right"
        table.add_column(name, no_wrap=not fold, justify=justify, overflow="fold" if fold else "ellipsis")
    for place, (c, row) in enumerate(zip(comparisons, rows)):
        if place and c.system != comparisons[place - 1].system:
            table.add_section()
        colour = COLOURS.get(c.verdict)
        *cells, verdict = map(escape, row)
        table.add_row(*cells, f"[{colour}]{verdict}[/]" if colour else verdict)
    return table


# Beside an interval that does not hold 0, the verdict would contradict it without a word on why.
OPEN = "cannot tell: a significant difference that users too rare to be among those measured could reverse"


def describe_method(comparisons: Sequence[Comparison]) -> str:
    """How the comparisons were made, in one line."""
    if not comparisons:
        return ""
    first = comparisons[0]
    tests = list(dict.fromkeys(c.test for c in comparisons))
    parts = [" and ".join(_describe_test(test, comparisons) for test in tests)]
    sides = {c.alternative for c in comparisons}
    parts.append("two-sided" if sides == {"two-sided"} else f"one-sided ({' or '.join(sorted(sides - {'two-sided'}))})")
    if first.correction == "none":
        parts.append("not corrected for the number of comparisons")
    else:
        parts.append(f"{NAMES[first.correction]}'s correction over {first.family} comparisons")
    parts.append(f"{100 * (1 - first.level):.3g} %")
    return ", ".join(parts) + f"; {OPEN}" * any(c.verdict == "cannot tell" for c in comparisons)


def _describe_test(test: str, comparisons: Sequence[Comparison]) -> str:
    own = [c for c in comparisons if c.test == test]
    repeats = max(c.repeats for c in own)
    users = sorted({c.n for c in own})
    over = f"{users[0]:,} users" if len(users) == 1 else f"{users[0]:,} to {users[-1]:,} users"
    text = f"{_TESTS[test]} over {over}" + (f" within {repeats} repeats" if repeats > 1 else "")
    if any(c.estimate == "shift" for c in own):
        text += (
            ", whose differences and intervals are of the shift of those who differ (Hodges–Lehmann), not of the mean"
        )
    return text + (f" ({', '.join(dict.fromkeys(c.metric for c in own))})" if len(own) < len(comparisons) else "")


def legend(comparisons: Sequence[Comparison]) -> list[str]:
    """What the columns mean."""
    lines = [describe_method(comparisons)]
    lines.append("dz = mean difference / standard deviation of users' differences; win: a user with a better value")
    share = (1 - comparisons[0].level) / (1 if comparisons[0].correction == "none" else comparisons[0].family or 1)
    lines.append(f"detectable = true difference found with 80 % power, by a two-sided t-test at level {share:.2g}")
    return lines
