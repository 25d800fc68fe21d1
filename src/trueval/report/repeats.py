"""Folds and seeds side by side, as text."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeats import Repeated

_MOST = 12  # columns of values that a table can take


def repeats_text(repeats: Mapping[str, Evaluation], combined: Evaluation) -> str:
    """A table of every metric and system: mean, standard deviation, and the value of each repeat. Empty for one."""
    if not repeats:
        return ""
    of = "folds and seeds" if ", " in next(iter(repeats)) else combined.manifest["repeats"]["of"]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.title, table.title_justify, table.title_style = f"\nover {of} ({len(repeats)})", "left", "bold"
    shown = list(repeats)[:_MOST]
    for head in ("metric", "system", "mean", "sd", *shown):
        table.add_column(head, justify="left" if head in ("metric", "system") else "right")
    for label in combined.specs:
        for name, system in combined.systems.items():
            values = [part.systems[name].estimates[label].value for part in repeats.values()]
            found = Repeated.of(values)
            cells = [_number(x) for x in (system.estimates[label].value, found.sd, *values[: len(shown)])]
            table.add_row(escape(label), escape(name), *cells)
    out = io.StringIO()
    Console(file=out, width=200, highlight=False, soft_wrap=True).print(table)
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    more = len(repeats) - len(shown)
    return text + (f"{more} more are in per_repeat\n" if more else "")


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"
