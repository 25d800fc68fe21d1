"""What becomes of a system over time: one row per round or snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.interactions import Interactions
from trueval.data.json_values import without_nan
from trueval.pictures import draw
from trueval.render.latex import latex_table
from trueval.render.markdown import markdown_table
from trueval.render.numbers import decimal
from trueval.render.shown import Shown
from trueval.render.terminal import fill, plain_table, printed
from trueval.render.widths import READING_WIDTH

# Columns that are shown first, and what they are called there.
TITLES = {
    "rows": "rows", "users": "users", "gini": "Gini", "gini_equal": "Gini, equal rows",
    "gini_shown": "Gini shown", "coverage": "coverage", "overlap": "overlap", "jaccard": "Jaccard",
    "true_precision": "true precision", "observed_precision": "observed precision", "click_rate": "click rate",
    "mean_value": "mean value", "old_head": "first head",
}  # fmt: skip
_EXPLAINED = {
    "gini": "Gini: how unevenly rows are spread over items (0 even, 1 one item); in a loop, all rows so far",
    "gini_equal": "Gini, equal rows: the same, of as many rows as the smallest snapshot has",
    "gini_shown": "Gini shown: how unevenly the places of this round's lists are",
    "coverage": "coverage: share of the items that appear",
    "overlap": "overlap: share of a list that another user's list has as well; Jaccard: shared items over all of both",
    "true_precision": "true precision: share of the lists that users really like",
    "observed_precision": "observed precision: what a fifth of the log, held out, says of the same system",
    "old_head": "first head: share of the rows that go to the top 10 % of items of the first snapshot (there the "
    "highest by that choice)",
}
PREFIX = "exposure: "


@dataclass(frozen=True, repr=False)
class Trajectory(Tabular, Shown):
    """Rounds of a feedback loop, or snapshots of a real system, in their order.

    Made by `feedback_loop` and `track`. Prints as a table; `plot()` draws it.

    Attributes
    ----------
    frame : DataFrame
        One row per round (`round`) or snapshot (`snapshot`), one column per measure; `exposure: …` columns are the
        shares of groups of items.
    manifest : mapping
        How it was made.
    log : Interactions or None
        The log after the last round of a loop.

    Examples
    --------
    >>> import trueval as tv
    >>> world = tv.simulate("world", users=60, items=40, seed=1)
    >>> rounds = tv.feedback_loop(world, "popularity", rounds=2, k=5)
    >>> rounds.to_polars()["round"].to_list()
    [0, 1, 2]
    """

    frame: pl.DataFrame
    manifest: Mapping[str, Any]
    log: Interactions | None = field(default=None, repr=False)

    @property
    def step(self) -> str:
        """What a row is: "round" or "snapshot"."""
        return self.frame.columns[0]

    @property
    def measures(self) -> list[str]:
        """Columns that are measured, in their order."""
        return [name for name in TITLES if name in self.frame.columns]

    @property
    def groups(self) -> list[str]:
        """Columns with the exposure of groups of items."""
        return [name for name in self.frame.columns if name.startswith(PREFIX)]

    def __repr__(self) -> str:
        return f"<Trajectory: {len(self.frame)} {self.step}s of {self.manifest.get('system', 'snapshots')}>"

    def table(self) -> pl.DataFrame:
        """One row per round or snapshot."""
        return self.frame

    def __str__(self) -> str:
        text = printed(plain_table(*self._cells(self.measures), align="l" + "r" * len(self.measures)))
        if self.groups:
            text += "\n" + printed(plain_table(*self._cells(self.groups), align="l" + "r" * len(self.groups)))
        notes = [_EXPLAINED[name] for name in self.measures if name in _EXPLAINED]
        return text + "\n" + "\n".join(fill(line, READING_WIDTH) for line in [*self.sentences(), *notes]) + "\n"

    def sentences(self) -> list[str]:
        """What changed from the first to the last row."""
        known = {name: self.frame[name].drop_nulls().to_list() for name in self.measures}
        told = [
            f"{TITLES[name]} {_way(own)}" for name, own in known.items() if name not in ("rows", "users") and own[1:]
        ]
        return ["; ".join(told)] if told else []

    def to_dict(self) -> dict[str, Any]:
        """Manifest and rows, as `trueval simulate loop --format json` prints them."""
        record: dict[str, Any] = without_nan({"manifest": dict(self.manifest), "rows": self.frame.to_dicts()})
        return record

    def to_json(self) -> str:
        """The record as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=str)

    def to_markdown(self) -> str:
        """A Markdown table."""
        return markdown_table(*self._cells([*self.measures, *self.groups]))

    def to_latex(self) -> str:
        """A LaTeX table with booktabs rules."""
        return latex_table(*self._cells([*self.measures, *self.groups]))

    def plot(self, name: str = "trajectory", **options: Any) -> Any:
        """Draw the measures over rounds or snapshots.

        Parameters
        ----------
        name : text, default "trajectory"
            "trajectory", or "exposure": the shares of groups of items.
        **options : options of the chart
            `measures` of "trajectory": a list of columns.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.
        """
        return draw("trajectory", self, name, options)

    def _cells(self, columns: list[str]) -> tuple[list[str], list[list[str]]]:
        heads = (TITLES.get(name, name.removeprefix(PREFIX)) for name in columns)
        head = [self.step, *(name.replace("precision", "prec.").replace("observed", "obs.") for name in heads)]
        rows = self.frame.select(self.step, *columns).iter_rows()
        return head, [[str(first), *map(_text, others)] for first, *others in rows]


def _way(values: Sequence[float]) -> str:
    """From the first to the last value; a change of less than half of what lies between all of them is no way.

    >>> _way([0.5, 0.6, 0.7]), _way([0.5, 0.7, 0.51])
    ('rises: 0.5000 → 0.7000', 'varies between 0.5000 and 0.7000: 0.5000 → 0.5100')
    """
    first, last, least, most = values[0], values[-1], min(values), max(values)
    if 2 * abs(last - first) < most - least:
        way = f"varies between {decimal(least)} and {decimal(most)}"
    else:
        way = "rises" if last > first else "falls" if last < first else "stays"
    return f"{way}: {decimal(first)} → {decimal(last)}"


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:,}" if isinstance(value, int) else decimal(value)
