"""Calibrate predictions on a validation part, and measure the change on the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.calibration.calibrator import Calibrator
from trueval.calibration.fit import fit_calibrator
from trueval.calibration.losses import check_clip
from trueval.calibration.metrics import PointSpec
from trueval.calibration.pointwise import Pointwise, chosen, measured, resamples_of
from trueval.calibration.predictions import Predictions, check_probabilities, read_predictions
from trueval.calibration.reuse_checks import fingerprint, refuse_seen_table, refuse_shared_rows
from trueval.calibration.user_bootstrap import FEWEST, Summed, bounds
from trueval.data.exported_tables import Tabular
from trueval.data.json_values import json_text
from trueval.data.role_names import ColumnMap
from trueval.data.table_columns import columns_of, read_columns
from trueval.errors import DataError
from trueval.evaluation.estimate import Estimate
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown
from trueval.statistics.student import t_quantile

_COLUMN = "calibrated"


@dataclass(frozen=True, slots=True)
class Change:
    """After minus before on one metric, over the same resamples."""

    metric: str
    difference: float
    low: float
    high: float
    verdict: str  # "better", "worse" or "not shown"

    def record(self) -> dict[str, Any]:
        """As plain data; what is infinite or undefined becomes None."""
        return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in asdict(self).items()}


@dataclass(frozen=True)
class Calibration(Tabular, Shown, Reported):
    """Predictions before and after calibration. Prints as a table with reliability diagrams."""

    report_kind: ClassVar[str] = "calibration"
    calibrator: Calibrator
    before: Pointwise
    after: Pointwise
    changes: Mapping[str, Change]
    warnings: Sequence[str]

    def __str__(self) -> str:
        from trueval.calibration.render import calibration_text

        return calibration_text(self)

    def table(self) -> pl.DataFrame:
        """One row per metric: its value before and after, the difference with its interval, and the verdict.

        What cannot be measured of scores that are no probabilities is null before, and so is its change.
        """
        rows = []
        for name, after in self.after.estimates.items():
            before, change = self.before.estimates.get(name), self.changes.get(name)
            moved = (None,) * 4 if change is None else (change.difference, change.low, change.high, change.verdict)
            rows.append((name, None if before is None else before.value, after.value, *moved))
        numbers = ("before", "after", "difference", "low", "high")
        schema = {"metric": pl.String, **dict.fromkeys(numbers, pl.Float64), "verdict": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col(numbers).fill_nan(None))

    @property
    def frame(self) -> pl.DataFrame:
        """The table of predictions as it was given, rows and columns in their order, with a column `calibrated`."""
        data = self.before.data
        return data.source.with_columns(pl.Series(_COLUMN, self.calibrator.apply(data.frame["prediction"])))

    def plot(self, name: str = "reliability", **options: Any) -> Any:
        """Draw reliability diagrams before and after.

        Parameters
        ----------
        name : text, default "reliability"
            "reliability".
        **options : options of the chart
            `bins` (default 10) and `by`: "mass" (the default), "width" or "value".

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> rows = {"user": range(6), "item": range(6), "p": [0.9, 0.8, 0.9, 0.2, 0.1, 0.2], "y": [1, 0, 1, 0, 1, 0]}
        >>> test = pl.DataFrame(rows)
        >>> calibrate(test, validation=test.with_columns(pl.col("user") + 100), metrics="brier").plot(bins=2).title
        'Predicted and observed shares, before and after'
        """
        return draw("calibration", self, name, options)

    def to_dict(self, *, bins: int = 10, by: str = "mass") -> dict[str, Any]:
        """The record that `trueval calibrate --format json` prints."""
        from trueval import __version__

        before, after = (side.to_dict(bins=bins, by=by) for side in (self.before, self.after))
        manifest = {**before.pop("manifest"), "version": __version__, "test": fingerprint(self.before.data)}
        manifest["definitions"] = after.pop("manifest")["definitions"]
        for side in (before, after):
            side.pop("warnings")
        return {
            "calibrator": self.calibrator.to_dict(sample=False),
            "before": before,
            "after": after,
            "changes": {name: change.record() for name, change in self.changes.items()},
            "manifest": manifest,
            "warnings": list(self.warnings),
        }

    def to_json(self, *, bins: int = 10, by: str = "mass") -> str:
        """The record as text."""
        return json_text(self.to_dict(bins=bins, by=by))


@checked
def calibrate(
    predictions: Any,
    *,
    validation: Any,
    method: str = "platt",
    input: str = "auto",
    metrics: str | Sequence[str] | None = None,
    clip: float | None = None,
    columns: ColumnMap | str | None = None,
    interval: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
) -> Calibration:
    """Fit a calibrator on a validation table, apply it to predictions, and measure before and after.

    Parameters
    ----------
    predictions : table or file
        The test table: a prediction and a label per row (see `pointwise`).
    validation : table, file or Calibrator
        Such a table to fit on, a Calibrator fitted earlier, or the JSON file of one.
    method : {"platt", "isotonic"}, default "platt"
        Platt's sigmoid, or isotonic regression. A calibrator that is given has its own.
    input : {"auto", "probability", "score"}, default "auto"
        What predictions are (see `fit_calibrator`); "auto" takes them for scores where either table has values outside
        [0, 1].
    metrics : text or list of text, optional
        As for `pointwise`. Default: all that the table allows.
    clip : number, optional
        Keep probabilities this far away from 0 and 1, in logloss and in Platt's log odds. Default: no clipping.
    columns : mapping or text, optional
        Column roles that are not clear from common names, for both tables.
    interval : {"bootstrap", "none"}, default "bootstrap"
        Confidence intervals by a bootstrap over users, or over rows where there is no user column.
    resamples : int, default 1000
        Number of resamples.
    seed : int, default 0
        Seed of the resamples.

    Returns
    -------
    Calibration
        The `calibrator`, the metrics `before` and `after`, their `changes` with intervals, and `frame`: the table with
        a column `calibrated`. Prints as a table with reliability diagrams.

    Raises
    ------
    TruevalError
        For tables that share rows: a calibrator evaluated on the rows it was fitted on always looks good.

    Examples
    --------
    >>> rows = {"user": range(6), "item": range(6), "p": [0.9, 0.8, 0.9, 0.2, 0.1, 0.2], "y": [1, 0, 1, 0, 1, 0]}
    >>> test = pl.DataFrame(rows)
    >>> found = calibrate(test, validation=test.with_columns(pl.col("user") + 100), metrics=["brier", "auc"])
    >>> bool(found.after["auc"].value == found.before["auc"].value), found.frame.columns[-1]
    (True, 'calibrated')
    """
    check_clip(clip)
    fitted = isinstance(validation, Calibrator) or str(validation).endswith(".json")
    roles = read_columns(columns, predictions=predictions, validation=None if fitted else validation)
    data = read_predictions(predictions, columns=columns_of(roles, "predictions"))
    if _COLUMN in data.source.columns:
        raise DataError(
            f"the table already has a column {_COLUMN}",
            where=data.name,
            found="columns " + ", ".join(data.source.columns),
            do="rename or drop it: the calibrated predictions would take its name",
        )
    calibrator, warnings = _calibrator(data, validation, method=method, input=input, clip=clip, columns=roles)
    if calibrator.input == "probability":
        check_probabilities(data, do="predictions of both tables must be probabilities, or set input='score'")
    specs = chosen(metrics, data)
    asked = interval != "none"
    clusters, draws = resamples_of(data, interval=interval, resamples=resamples, seed=seed)
    # Scores are no probabilities, whatever their range: only their order can be judged before.
    ranked = [spec for spec in specs if calibrator.input == "probability" or spec.metric.ranks_only]
    before, summed_before = measured(data, ranked, clusters, draws, clip=clip, seed=seed, asked=asked)
    moved = data.with_values(calibrator.apply(data.value))
    after, summed_after = measured(moved, specs, clusters, draws, clip=clip, seed=seed, asked=asked)
    sums = {str(s): (summed_before[str(s)], summed_after[str(s)]) for s in ranked}
    changes = {str(s): _change(s, before[str(s)], after[str(s)], *sums[str(s)], draws) for s in ranked}
    all_warnings = [*warnings, *_both(before.warnings, after.warnings), *_ties(data, moved, calibrator)]
    return Calibration(calibrator, before, after, changes, all_warnings)


def _calibrator(
    data: Predictions, validation: Any, *, method: str, input: str, clip: float | None, columns: ColumnMap
) -> tuple[Calibrator, list[str]]:
    """A calibrator that has not seen the test rows, and what could not be checked."""
    if isinstance(validation, str | Path) and str(validation).endswith(".json"):
        validation = Calibrator.load(validation)
    if isinstance(validation, Calibrator):
        return validation, refuse_seen_table(validation, data)
    name = None if isinstance(validation, str | Path) else "validation"
    fitted_on = read_predictions(validation, columns=columns_of(columns, "validation"), name=name)
    warnings = refuse_shared_rows(fitted_on, data)
    calibrator = fit_calibrator(fitted_on, method=method, input=_input(input, fitted_on, data), clip=clip)
    return calibrator, warnings


def _input(input: str, validation: Predictions, test: Predictions) -> str:
    """With "auto", scores in either table mean scores in both."""
    both = validation.are_probabilities and test.are_probabilities
    return "score" if input == "auto" and not both else input


def _change(
    spec: PointSpec, before: Estimate, after: Estimate, left: Summed, right: Summed, draws: np.ndarray
) -> Change:
    difference = after.value - before.value if isfinite(after.value) and isfinite(before.value) else float("nan")
    low = high = float("nan")
    if isfinite(difference) and len(draws):
        values = [side.resampled(draws) for side in (left, right)]
        if left.gap_range is not None:
            low, high = _gap_change(before, after, left, right, values[1] - values[0])
        elif isfinite(before.low) and isfinite(after.low):
            low, high = bounds(values[1] - values[0], n=right.rarest)
        elif np.abs(values[1] - values[0]).max() < 1e-12:  # the ranking is kept whatever is drawn
            low = high = 0.0
    verdict = "not shown"
    # A change of the last digits is rounding, not a finding: calibration keeps the ranking.
    if isfinite(low) and (low > 0 or high < 0) and abs(difference) > 1e-12:
        verdict = "better" if (difference > 0) == (spec.metric.better == "higher") else "worse"
    return Change(str(spec), difference, low, high, verdict)


def _gap_change(
    before: Estimate, after: Estimate, left: Summed, right: Summed, resampled: np.ndarray
) -> tuple[float, float]:
    """An interval of after - before for gaps, which chance makes larger on either side, by at most what it would add
    to gaps of 0.

    A mean gap moves smoothly with the rows: beyond that it varies as its resamples do, before and after together. A
    largest gap may rest on a single row, and a table with hardly any positive tells little by its resamples: there
    the interval is what both intervals leave open.
    """
    assert left.gap_range is not None
    assert right.gap_range is not None
    if not right.smooth or right.rarest is None or right.rarest < FEWEST:
        return after.low - before.high, after.high - before.low
    reach = t_quantile(level=0.95, freedom=right.rarest - 1) * float(resampled.std())
    difference = after.value - before.value
    return difference - right.gap_range().by_chance - reach, difference + left.gap_range().by_chance + reach


def _both(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Warnings of both sides, those they share once."""
    shared = [text for text in before if text in after]
    before_only = [f"before: {text}" for text in before if text not in shared]
    return [*shared, *before_only, *(f"after: {text}" for text in after if text not in shared)]


def _ties(before: Predictions, after: Predictions, calibrator: Calibrator) -> list[str]:
    had, has = len(before.first_of_ties), len(after.first_of_ties)
    if calibrator.method == "platt" or has == had:
        return []
    return [f"{had:,} distinct predictions became {has:,}: rows of one isotonic level are now tied, none are reordered"]
