"""Calibrated predictions, and predictions as they are, as HTML pages."""

from __future__ import annotations

from trueval.calibration.calibrate import Calibration
from trueval.calibration.pointwise import Pointwise
from trueval.calibration.render import calibration_notes, change_grid, point_grid, point_notes, point_remarks
from trueval.render.html_elements import Section, hint, page, section, sentences, warned
from trueval.render.marks import verdict_text
from trueval.render.numbers import with_interval
from trueval.report.findings import listed
from trueval.report.html_charts import figures
from trueval.report.html_comparisons import manifest_foot
from trueval.report.origin import UNKNOWN, Origin


def calibration_page(found: Calibration, *, title: str = "Calibration", origin: Origin = UNKNOWN) -> str:
    """What changed, both reliability diagrams, every metric before and after, and what they rest on.

    >>> import polars as pl, trueval as tv
    >>> rows = {"user": range(6), "item": range(6), "p": [0.9, 0.8, 0.9, 0.2, 0.1, 0.2], "y": [1, 0, 1, 0, 1, 0]}
    >>> test = pl.DataFrame(rows)
    >>> found = tv.calibrate(test, validation=test.with_columns(pl.col("user") + 100), metrics="brier")
    >>> "brier after calibration" in calibration_page(found)
    True
    """
    columns, rows = change_grid(found)
    changes = {name: change for name, change in found.changes.items() if change.difference == change.difference}
    kept = [name for name, change in changes.items() if change.difference == change.low == change.high == 0]
    told = [
        f"{name} after calibration: {verdict_text(change.verdict)} "
        f"({with_interval(change.difference, change.low, change.high, sign=True)})."
        for name, change in changes.items()
        if name not in kept
    ]
    told += [f"{listed(kept)} after calibration: unchanged."] if kept else []
    body = [
        sentences(told),
        section(Section("Reliability", figures=figures("calibration", found))),
        section(Section("Before and after", columns=columns, rows=rows)),
        hint([*calibration_notes(found), *point_remarks(found.after)]),
        *warned(found.warnings),
    ]
    return page(title, body, about=origin.about(_data(found.after)), foot=manifest_foot(found.to_dict()["manifest"]))


def pointwise_page(found: Pointwise, *, title: str = "Predictions", origin: Origin = UNKNOWN) -> str:
    """The reliability diagram, every metric, and what they rest on."""
    columns, rows = point_grid(found)
    body = [
        section(Section("Reliability", figures=figures("pointwise", found))),
        section(Section("Metrics", columns=columns, rows=rows)),
        hint([*point_notes(found), *point_remarks(found)]),
        *warned(found.warnings),
    ]
    return page(title, body, about=origin.about(_data(found)), foot=manifest_foot(dict(found.manifest)))


def _data(found: Pointwise) -> str:
    m = found.manifest
    return f"{m['rows']:,} predictions, {m['positives']:,} positives" + (
        "" if m["users"] is None else f", {m['users']:,} users"
    )
