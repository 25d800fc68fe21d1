"""Pointwise metrics and reliability diagrams as text."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from trueval.calibration.bins import Reliability, wilson
from trueval.evaluation.estimate import Estimate

if TYPE_CHECKING:
    from trueval.calibration.calibrate import Calibration, Change
    from trueval.calibration.metrics import PointSpec
    from trueval.calibration.pointwise import Pointwise

_ARROWS = {"higher": " ↑", "lower": " ↓"}
_SIGNS = {"better": "▲", "worse": "▼", "not shown": " "}
_BAR = 24
_WIDTH = 100


def pointwise_text(found: Pointwise, *, bins: int = 10, by: str = "mass") -> str:
    """Metrics with intervals, Brier's parts, and the reliability diagram."""
    table = _table("metric", "value")
    for name, one in found.estimates.items():
        table.add_row(_head(found.specs, name), value_text(one))
    lines = [_printed(table), *_rests_on(found), ""]
    if found.data.are_probabilities:
        lines += [_parts(found, bins, by, "brier"), "", *diagram(found.reliability(bins=bins, by=by))]
    return "\n".join([*lines, *_definitions(found), *_said(found.warnings)]) + "\n"


def calibration_text(found: Calibration, *, bins: int = 10, by: str = "mass") -> str:
    """Before and after, the change, and both reliability diagrams on one scale."""
    table = _table("metric", "before", "after", "change (95 % interval)")
    for name, one in found.after.estimates.items():
        before = value_text(found.before.estimates[name]) if name in found.before.estimates else "not a probability"
        table.add_row(_head(found.after.specs, name), before, value_text(one), _change(found.changes.get(name)))
    sides = {"after": found.after}
    if found.calibrator.input == "probability":
        sides = {"before": found.before, **sides}
    about = found.calibrator.fitted_on
    fitted = f"{found.calibrator.method}, fitted on {about.get('name')} ({about.get('rows', 0):,} rows)"
    lines = [_printed(table), f"{fitted}: {found.calibrator.told}", *_rests_on(found.after), ""]
    diagrams = {name: side.reliability(bins=bins, by=by) for name, side in sides.items()}
    scale = max(_scale(one) for one in diagrams.values())
    lines += [_parts(side, bins, by, f"brier {name}") for name, side in sides.items()]
    for name, drawn in diagrams.items():
        lines += ["", *diagram(drawn, title=name, scale=scale)]
    return "\n".join([*lines, *_definitions(found.after), *_said(found.warnings)]) + "\n"


def value_text(e: Estimate) -> str:
    """A value with its interval.

    >>> value_text(Estimate(0.5, 0.4, 0.61, 10)), value_text(Estimate(float("inf"), float("nan"), float("nan"), 1))
    ('0.5000 [0.4000, 0.6100]', 'infinite')
    """
    if isnan(e.value):
        return "undefined"
    if e.value == float("inf"):
        return "infinite"
    return f"{e.value:.4f}" + ("" if isnan(e.low) else f" [{e.low:.4f}, {e.high:.4f}]")


def diagram(found: Reliability, *, title: str = "", scale: float | None = None) -> list[str]:
    """A reliability diagram: bars show what happened, ◆ what was predicted.

    Where many distinct values are bins of their own, the first and the last are shown.
    """
    scale = scale or _scale(found)
    words = {"width": "bins of equal width", "mass": "bins of equal mass", "value": "one bin per distinct prediction"}
    head = f"reliability{' ' + title if title else ''} ({words[found.by]}; █ observed share, ◆ mean prediction)"
    low, high = wilson(found.observed, found.effective)
    digits = 4 if scale < 0.1 else 3
    lines = [head, f"{'predictions':>15} {'rows':>11}  0{'':{_BAR - 2}}{scale:<6.3g} {'mean p':>7} observed, 95 %"]
    places = list(range(len(found.bin)))
    shown = places if len(places) <= 40 else [*places[:20], *places[-20:]]
    for place in shown:
        span = f"{found.low[place]:.{digits}f}–{found.high[place]:.{digits}f}"
        bar = _bar(found.observed[place] / scale, found.predicted[place] / scale)
        seen = f"{found.observed[place]:.{digits}f} [{low[place]:.{digits}f}, {high[place]:.{digits}f}]"
        lines.append(f"{span:>15} {found.n[place]:>11,}  {bar} {found.predicted[place]:>11.{digits}f} {seen}")
    if len(shown) < len(places):
        lines.append(f"{'':>15} {len(places) - len(shown):,} bins in the middle are left out")
    chance = f"about {found.ece_by_chance:.4f} would be seen if every prediction were right"
    return [*lines, f"mean gap {found.ece:.4f}; {chance}"]


def _bar(share: float, mark: float) -> str:
    """A bar of a share, with a mark at another."""
    full = round(share * _BAR)
    cells = ["█"] * full + ["·"] * (_BAR - full)
    cells[min(_BAR - 1, int(mark * _BAR))] = "◆"
    return "".join(cells)


def _scale(found: Reliability) -> float:
    """The end of the bars: small shares, such as clicks, would not be seen on a scale up to 1."""
    most = max(float(found.observed.max()), float(found.predicted.max()))
    return next(end for end in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if most <= end or end == 1)


def _parts(found: Pointwise, bins: int, by: str, name: str) -> str:
    parts = found.brier_parts(bins=bins, by=by)
    sum_ = f"{parts.reliability:.4f} reliability - {parts.resolution:.4f} resolution"
    sum_ += f" + {parts.uncertainty:.4f} uncertainty"
    return f"{name} {parts.brier:.4f} = {sum_} {'+' if parts.within >= 0 else '-'} {abs(parts.within):.4f} within bins"


def _rests_on(found: Pointwise) -> list[str]:
    m = found.manifest
    users = "" if m["users"] is None else f", {m['users']:,} users"
    weighted = ", weighted" if m["weighted"] else ""
    lines = [f"{m['rows']:,} rows{users}, {m['positives']:,} positives{weighted} · interval: {m['interval']}"]
    return [line for text in lines for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]


def _definitions(found: Pointwise) -> list[str]:
    told = [f"{name} = {text}" for name, text in found.manifest["definitions"].items()]
    told.append("a prediction on an edge belongs to the bin below; observed: Wilson's interval, rows as independent")
    return ["", *(textwrap.fill(text, _WIDTH, subsequent_indent="  ") for text in told)]


def _said(warnings: Sequence[str]) -> list[str]:
    filled = [textwrap.fill(f"! {text}", _WIDTH, subsequent_indent="  ") for text in warnings]
    return ["", *filled] if filled else []


def _head(specs: Mapping[str, PointSpec], name: str) -> str:
    return name + _ARROWS[specs[name].metric.better]


def _change(change: Change | None) -> str:
    if change is None or isnan(change.difference):
        return ""
    difference, low, high = (round(x, 4) + 0.0 for x in (change.difference, change.low, change.high))  # no -0.0000
    span = "" if isnan(low) else f" [{low:+.4f}, {high:+.4f}]"
    return f"{_SIGNS[change.verdict]} {difference:+.4f}{span}"


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _printed(table: Table) -> str:
    out = io.StringIO()
    console = Console(file=out, width=160, highlight=False, markup=False, soft_wrap=True)
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
