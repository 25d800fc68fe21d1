"""Folds and seeds side by side, as text."""

from __future__ import annotations

from collections.abc import Mapping

from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeats import Repeated
from trueval.render.numbers import decimal
from trueval.render.terminal import plain_table, printed

_MOST = 12  # columns of values that a table can take


def repeats_text(repeats: Mapping[str, Evaluation], combined: Evaluation) -> str:
    """A table of every metric and system: mean, standard deviation, and the value of each repeat. Empty for one."""
    if not repeats:
        return ""
    of = "folds and seeds" if ", " in next(iter(repeats)) else combined.manifest["repeats"]["of"]
    visible = list(repeats)[:_MOST]
    rows = []
    for label in combined.specs:
        for name, system in combined.systems.items():
            values = [part.systems[name].estimates[label].value for part in repeats.values()]
            found = Repeated.of(values)
            numbers = (system.estimates[label].value, found.sd, *values[: len(visible)])
            rows.append([label, name, *(decimal(x, undefined="–") for x in numbers)])
    head = ["metric", "system", "mean", "sd", *visible]
    table = plain_table(head, rows, align="ll", title=f"over {of} ({len(repeats)})")
    more = len(repeats) - len(visible)
    return printed(table) + (f"{more} more are in per_repeat\n" if more else "")
