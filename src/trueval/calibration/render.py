"""Pointwise metrics and reliability diagrams as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from trueval.calibration.reliability import Reliability
from trueval.evaluation.estimate import Estimate
from trueval.render.marks import ARROWS, SIGNS
from trueval.render.numbers import p_phrase, p_value, with_interval
from trueval.render.terminal import fill, plain_table, printed
from trueval.render.widths import READING_WIDTH

if TYPE_CHECKING:
    from trueval.calibration.calibrate import Calibration, Change
    from trueval.calibration.calibration_errors import GapRange
    from trueval.calibration.metrics import PointSpec
    from trueval.calibration.pointwise import Pointwise

_BAR = 24
_WIDE = 98  # what the table of changes needs
_LEAST_P = 0.001  # draws do not tell smaller ones apart


def pointwise_text(result: Pointwise, *, bins: int = 10, by: str = "mass", width: int = READING_WIDTH) -> str:
    """Metrics with intervals, Brier's parts, and the reliability diagram."""
    head, rows = point_grid(result)
    lines = point_notes(result)
    if result.data.are_probabilities:
        lines += ["", _parts(result, bins, by, "brier"), "", *diagram(result.reliability(bins=bins, by=by))]
    return (
        printed(plain_table(head, rows))
        + "\n"
        + _filled([*lines, "", *point_definitions(result), *_warning_lines(result.warnings)], width)
    )


def point_grid(result: Pointwise) -> tuple[list[str], list[list[str]]]:
    """Every metric with its interval; of gaps, what calibrated predictions would show."""
    head = ["metric", "value [95 % interval]", *(["if calibrated", "p"] if result.gaps else [])]
    rows = []
    for name, one in result.estimates.items():
        chance = _chance(result.gaps.get(name)) or [""] * (len(head) - 2)
        rows.append([_head(result.specs, name), value_text(one), *chance])
    return head, rows


def calibration_text(result: Calibration, *, bins: int = 10, by: str = "mass", width: int = READING_WIDTH) -> str:
    """Before and after, the change, and both reliability diagrams on one scale.

    A narrow window gets the intervals of the changes only.
    """
    head, rows = change_grid(result, narrow=width < _WIDE)
    sides = {"after": result.after}
    if result.calibrator.input == "probability":
        sides = {"before": result.before, **sides}
    lines = [*calibration_notes(result), *_by_chance(sides), ""]
    lines += [_parts(side, bins, by, f"brier {name}") for name, side in sides.items()]
    diagrams = {name: side.reliability(bins=bins, by=by) for name, side in sides.items()}
    scale = max(_scale(one) for one in diagrams.values())
    for name, drawn in diagrams.items():
        lines += ["", *diagram(drawn, title=name, scale=scale)]
    return (
        printed(plain_table(head, rows))
        + "\n"
        + _filled([*lines, "", *point_definitions(result.after), *_warning_lines(result.warnings)], width)
    )


def change_grid(result: Calibration, *, narrow: bool = False) -> tuple[list[str], list[list[str]]]:
    """Every metric before and after, and its change; where it is narrow, only the change has an interval."""
    rows = []
    for name, one in result.after.estimates.items():
        known = result.before.estimates.get(name)
        before = "not a probability" if known is None else value_text(known, bare=narrow)
        after = value_text(one, bare=narrow)
        rows.append([_head(result.after.specs, name), before, after, _change(result.changes.get(name))])
    return ["metric", "before", "after", "change [95 % interval]"], rows


def calibration_notes(result: Calibration) -> list[str]:
    """What was fitted on what, and the rows that were measured."""
    about = result.calibrator.fitted_on
    fitted = f"{result.calibrator.method}, fitted on {about.get('name')} ({about.get('rows', 0):,} rows)"
    return [f"{fitted}: {result.calibrator.description}", *point_notes(result.after)]


def _chance(gap: GapRange | None) -> tuple[str, ...]:
    """What calibrated predictions would show, and the p-value of that."""
    return () if gap is None else (f"{gap.by_chance:.4f}", p_value(gap.p, least=_LEAST_P))


def _by_chance(sides: Mapping[str, Pointwise]) -> list[str]:
    """Of each gap metric, before and after: what calibrated predictions would show, and the p-value of that."""
    lines = []
    for name in sides["after"].gaps:
        both = [(when, side.gaps[name]) for when, side in sides.items()]
        parts = [f"{when} {gap.by_chance:.4f} if calibrated, {p_phrase(gap.p, least=_LEAST_P)}" for when, gap in both]
        lines.append(f"{name}: " + "; ".join(parts))
    return ["", *lines] if lines else []


def value_text(e: Estimate, *, bare: bool = False) -> str:
    """A value with its interval, or bare.

    >>> value_text(Estimate(0.5, 0.4, 0.61, 10)), value_text(Estimate(float("inf"), float("nan"), float("nan"), 1))
    ('0.5000 [0.4000, 0.6100]', 'infinite')
    """
    if e.value == float("inf"):
        return "infinite"
    return with_interval(e.value, nan if bare else e.low, e.high)


def diagram(result: Reliability, *, title: str = "", scale: float | None = None) -> list[str]:
    """A reliability diagram: bars show what happened, ◆ what was predicted.

    Where many distinct values are bins of their own, the first and the last are shown.
    """
    scale = scale or _scale(result)
    bin_kinds = {
        "width": "bins of equal width",
        "mass": "bins of equal mass",
        "value": "one bin per distinct prediction",
    }
    head = f"reliability{' ' + title if title else ''}, {bin_kinds[result.by]} (█ observed share, ◆ mean p)"
    low, high = result.interval
    digits = 4 if scale < 0.1 else 3
    lines = [head, f"{'predictions':>13} {'rows':>10} 0{f'{scale:g}':>{_BAR - 1}} {'mean p':>6} observed"]
    places = list(range(len(result.bin)))
    visible = places if len(places) <= 40 else [*places[:20], *places[-20:]]
    for place in visible:
        span = f"{result.low[place]:.{digits}f}–{result.high[place]:.{digits}f}"
        bar = _bar(result.observed[place] / scale, result.predicted[place] / scale)
        seen = f"{result.observed[place]:.{digits}f} [{low[place]:.{digits}f}, {high[place]:.{digits}f}]"
        lines.append(f"{span:>13} {result.n[place]:>10,} {bar} {result.predicted[place]:>6.{digits}f} {seen}")
    if len(visible) < len(places):
        lines.append(f"{'':>13} {len(places) - len(visible):,} bins in the middle are not shown")
    chance = f"{result.ece_by_chance:.4f} is expected by chance if every prediction is right"
    return [*lines, f"mean gap {result.ece:.4f}; {chance}"]


def _bar(share: float, mark: float) -> str:
    """A bar of a share, with a mark at another."""
    full = round(share * _BAR)
    cells = ["█"] * full + ["·"] * (_BAR - full)
    cells[min(_BAR - 1, int(mark * _BAR))] = "◆"
    return "".join(cells)


def _scale(result: Reliability) -> float:
    """The end of the bars: small shares, such as clicks, would not be seen on a scale up to 1."""
    most = max(float(result.observed.max()), float(result.predicted.max()))
    return next(end for end in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if most <= end or end == 1)


def _parts(result: Pointwise, bins: int, by: str, name: str) -> str:
    parts = result.brier_parts(bins=bins, by=by)
    sum_ = f"{parts.reliability:.4f} reliability - {parts.resolution:.4f} resolution"
    sum_ += f" + {parts.uncertainty:.4f} uncertainty"
    sum_ = sum_.replace(" reliability", f" reliability ({parts.reliability_by_chance:.4f} if calibrated)", 1)
    return f"{name} {parts.brier:.4f} = {sum_} {'+' if parts.within >= 0 else '-'} {abs(parts.within):.4f} within bins"


def point_notes(result: Pointwise) -> list[str]:
    """The rows that were measured, and how intervals were made."""
    m = result.manifest
    users = "" if m["users"] is None else f", {m['users']:,} users"
    weighted = ", weighted" if m["weighted"] else ""
    rate = "{value:.4f} [{low:.4f}, {high:.4f}]".format(**m["base_rate"])
    rows = f"{m['rows']:,} rows{users}, {m['positives']:,} positives{weighted}, share of positives {rate}"
    return [rows, f"interval: {m['interval']}"]


def point_definitions(result: Pointwise) -> list[str]:
    """What every number means."""
    return [*(f"{name} = {text}" for name, text in result.manifest["definitions"].items()), *point_remarks(result)]


def point_remarks(result: Pointwise) -> list[str]:
    """What the numbers of gaps and bins mean, besides the definitions of the metrics."""
    lines = []
    if result.manifest["interval"] != "none" and any(s.metric.gap for s in result.specs.values()):
        lines.append(
            "if calibrated: expected ece and mce if every prediction is right, because labels are random; p: "
            "probability of a value at least as large in that case; intervals contain 0 unless p is below 0.025"
        )
    users = "" if result.data.users is None else ", adjusted for correlated rows of one user"
    lines.append(f"a prediction on an edge belongs to the bin below; observed: Wilson's 95 % interval{users}")
    return lines


def _warning_lines(warnings: Sequence[str]) -> list[str]:
    return ["", *(f"! {text}" for text in warnings)] if warnings else []


def _filled(lines: Sequence[str], width: int) -> str:
    """Lines cut to the width; those that begin with blanks, or hold bars, are set already."""
    cut = [line if "█" in line or "◆" in line or line[:1] == " " else fill(line, width) for line in lines]
    return "\n".join(cut) + "\n"


def _head(specs: Mapping[str, PointSpec], name: str) -> str:
    return name + ARROWS[specs[name].metric.better]


def _change(change: Change | None) -> str:
    if change is None or isnan(change.difference):
        return ""
    difference, low, high = (round(x, 4) + 0.0 for x in (change.difference, change.low, change.high))  # no -0.0000
    return f"{SIGNS.get(change.verdict, ' ')} {with_interval(difference, low, high, sign=True)}"
