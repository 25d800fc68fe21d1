"""Pointwise metrics of a table of predictions, each with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.calibration.bins import make_bins
from trueval.calibration.calibration_errors import GapRange, base_rate
from trueval.calibration.losses import BrierParts, brier_parts, check_clip, log_losses
from trueval.calibration.metrics import PointSpec, parse_point, parse_points
from trueval.calibration.predictions import Predictions, check_probabilities, read_predictions
from trueval.calibration.reliability import Reliability, reliability
from trueval.calibration.user_bootstrap import Clusters, Summed, draw, estimate, make_clusters, no_interval
from trueval.data.exported_tables import Tabular
from trueval.data.role_names import ColumnMap
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.estimate import Estimate
from trueval.pictures import Reported
from trueval.pictures import draw as picture
from trueval.render.shown import Shown

DEFAULT = ("logloss", "brier", "auc", "gauc", "ece", "ece[by=mass]", "mce")
INTERVALS = ("bootstrap", "none")
_SMALL = 20  # rows of a bin whose share of positives is hardly known


@dataclass(frozen=True)
class Pointwise(Tabular, Shown, Reported):
    """Pointwise metrics of predictions, with intervals. Prints as a table.

    >>> table = pl.DataFrame({"p": [0.8] * 5 + [0.2] * 5, "y": [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]})
    >>> found = pointwise(table, metrics=["ece", "auc"])
    >>> round(found["ece"].value, 6), found["auc"].value
    (0.1, 0.7083333333333334)
    >>> round(found.gaps["ece"].by_chance, 3), found.gaps["ece"].p > 0.05  # ten rows do not show a gap of 0.1
    (0.131, True)

    `gaps` has for ece and mce what they are expected to be if every prediction is right, and the p-value of that.
    """

    report_kind: ClassVar[str] = "pointwise"
    data: Predictions
    specs: Mapping[str, PointSpec]
    estimates: Mapping[str, Estimate]
    gaps: Mapping[str, GapRange]
    manifest: Mapping[str, Any]
    warnings: Sequence[str]

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric if metric in self.estimates else str(parse_point(metric))]

    def __str__(self) -> str:
        from trueval.calibration.render import pointwise_text

        return pointwise_text(self)

    def table(self) -> pl.DataFrame:
        """One row per metric: value, interval, n, undefined; of ece and mce also by_chance and p."""
        rows = []
        for name, e in self.estimates.items():
            gap = self.gaps.get(name)
            chance = (None, None) if gap is None else (gap.by_chance, gap.p)
            rows.append((name, e.value, e.low, e.high, e.n, e.undefined, *chance))
        kinds = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "undefined": pl.Int64}
        schema = {"metric": pl.String, **kinds, "by_chance": pl.Float64, "p": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("low", "high").fill_nan(None))

    def reliability(self, *, bins: int = 10, by: str = "mass") -> Reliability:
        """The data of a reliability diagram; `.table()` of it is a DataFrame."""
        return reliability(self.data, bins=bins, by=by)

    def brier_parts(self, *, bins: int = 10, by: str = "mass") -> BrierParts:
        """Brier's score taken apart; by="value" leaves nothing within bins."""
        return brier_parts(self.data, bins=bins, by=by)

    def plot(self, name: str = "reliability", **options: Any) -> Any:
        """Draw a reliability diagram.

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
        >>> table = pl.DataFrame({"p": [0.8] * 5 + [0.2] * 5, "y": [1, 1, 1, 0, 0] + [1, 0, 0, 0, 0]})
        >>> pointwise(table, metrics="ece").plot(bins=2).title
        'Predicted and observed shares'
        """
        return picture("pointwise", self, name, options)

    def to_dict(self, *, bins: int = 10, by: str = "mass") -> dict[str, Any]:
        """As plain data; what is infinite or undefined becomes None."""
        metrics = {name: estimate_record(e) for name, e in self.estimates.items()}
        for name, gap in self.gaps.items():
            metrics[name] |= {"by_chance": gap.by_chance, "p": gap.p}
        record: dict[str, Any] = {"metrics": metrics}
        if self.data.are_probabilities:
            diagram = self.reliability(bins=bins, by=by)
            record["brier"] = self.brier_parts(bins=bins, by=by).record()
            record["reliability"] = {
                "by": by,
                "ece": diagram.ece,
                "ece_by_chance": diagram.ece_by_chance,
                "bins": diagram.table().to_dicts(),
            }
        return record | {"manifest": dict(self.manifest), "warnings": list(self.warnings)}


def estimate_record(e: Estimate) -> dict[str, Any]:
    """An estimate as plain data.

    >>> estimate_record(Estimate(float("inf"), float("nan"), float("nan"), 3))
    {'value': None, 'low': None, 'high': None, 'n': 3, 'undefined': 0}
    """
    value, low, high = (x if isfinite(x) else None for x in (e.value, e.low, e.high))
    return {"value": value, "low": low, "high": high, "n": e.n, "undefined": e.undefined}


@checked
def pointwise(
    table: Any,
    metrics: str | Sequence[str] | None = None,
    *,
    columns: ColumnMap | str | None = None,
    clip: float | None = None,
    interval: str = "bootstrap",
    resamples: int = 1000,
    seed: int = 0,
) -> Pointwise:
    """Measure predicted probabilities against what happened.

    Parameters
    ----------
    table : table or file
        A row per prediction: the prediction, a label (0 or 1) and, where known, a user and a weight.
    metrics : text or list of text, optional
        Any of logloss, brier, auc, gauc, ece[bins=10,by=width|mass|value] and mce[…]. Default: all that the table
        allows.
    columns : mapping or text, optional
        Column roles that are not clear from common names: {"prediction": "ctr"} or "prediction=ctr,label=bought".
    clip : number, optional
        Keep probabilities this far away from 0 and 1 in logloss, which is infinite where 0 was given to what happened.
        Default: no clipping.
    interval : {"bootstrap", "none"}, default "bootstrap"
        Confidence intervals by a bootstrap over users, or over rows where there is no user column.
    resamples : int, default 1000
        Number of resamples.
    seed : int, default 0
        Seed of the resamples.

    Returns
    -------
    Pointwise
        An estimate by metric (`found["ece"]`), with `gaps`, `reliability()`, `brier_parts()` and `warnings`. Prints
        as a table.

    Raises
    ------
    TruevalError
        For predictions that are not probabilities (unless only their order is measured), and labels other than 0 and 1.

    Examples
    --------
    >>> pointwise(pl.DataFrame({"p": [0.5, 0.9], "y": [0, 1]}), ["brier"])["brier"].value
    0.13
    """
    check_clip(clip)
    data = read_predictions(table, columns=columns)
    specs = chosen(metrics, data)
    if not all(spec.metric.ranks_only for spec in specs):
        check_probabilities(
            data, do="turn scores into probabilities first (tv.calibrate), or ask for auc and gauc only"
        )
    clusters, draws = resamples_of(data, interval=interval, resamples=resamples, seed=seed)
    return measured(data, specs, clusters, draws, clip=clip, seed=seed, asked=interval != "none")[0]


def chosen(metrics: str | Sequence[str] | None, data: Predictions) -> list[PointSpec]:
    """The metrics asked for, or all that the table allows."""
    if metrics is not None:
        return parse_points(metrics)
    return parse_points([name for name in DEFAULT if name != "gauc" or data.user is not None])


def resamples_of(data: Predictions, *, interval: str, resamples: int, seed: int) -> tuple[Clusters, np.ndarray]:
    """What is drawn together, and how often each resample draws it."""
    if interval not in INTERVALS:
        raise DefinitionError(f"unknown interval {interval!r}", do=suggest(interval, INTERVALS))
    clusters = make_clusters(data, seed=seed) if interval == "bootstrap" else Clusters.one(data)
    return clusters, draw(clusters, resamples=resamples if interval == "bootstrap" else 0, seed=seed)


def measured(
    data: Predictions,
    specs: Sequence[PointSpec],
    clusters: Clusters,
    draws: np.ndarray,
    *,
    clip: float | None,
    seed: int,
    asked: bool = True,
) -> tuple[Pointwise, dict[str, Summed]]:
    """All metrics of checked predictions, and their sums for paired differences; `asked` whether with intervals."""
    summed = {str(spec): spec.summed(data, clusters, clip=clip) for spec in specs}
    manifest = {
        "rows": len(data),
        "users": None if data.users is None else len(data.users),
        "positives": data.positives,
        "base_rate": dict(zip(("value", "low", "high"), base_rate(data, make_clusters(data)))),
        "weighted": data.weight is not None,
        "interval": f"95 % bootstrap over {clusters.description}" if len(draws) else "none",
        "clip": clip,
        "seed": seed,
        "definitions": {str(spec): spec.definition for spec in specs},
    }
    gaps = {name: one.gap_range() for name, one in summed.items() if one.gap_range is not None and len(draws)}
    estimates = {name: estimate(one, draws, of=clusters.of, gap=gaps.get(name)) for name, one in summed.items()}
    warnings = _warnings(data, estimates, clip)
    if asked:
        reasons = {name: no_interval(one, draws, of=clusters.of) for name, one in summed.items()}
        warnings += _without_interval({name: reason for name, reason in reasons.items() if reason})
    return Pointwise(data, {str(s): s for s in specs}, estimates, gaps, manifest, warnings), summed


def _without_interval(reasons: Mapping[str, str]) -> list[str]:
    """Values that have no interval although one was asked for, those with the same reason together."""
    return [
        f"no interval for {', '.join(name for name, own in reasons.items() if own == reason)}: {reason}"
        for reason in dict.fromkeys(reasons.values())
    ]


def _warnings(data: Predictions, estimates: Mapping[str, Estimate], clip: float | None) -> list[str]:
    warnings = []
    if "logloss" in estimates and not isfinite(estimates["logloss"].value):
        lost = int((np.isinf(log_losses(data)) & (data.weights > 0)).sum())
        rows = "1 row gives" if lost == 1 else f"{lost:,} rows give"
        warnings.append(
            f"logloss is infinite: {rows} probability 0 to what happened; clip=1e-6 (--clip 1e-6) bounds it"
        )
    if "logloss" in estimates and clip is not None:
        moved = int(((data.value < clip) | (data.value > 1 - clip)).sum())
        warnings.append(f"logloss: {moved:,} of {len(data):,} rows were clipped to [{clip:g}, 1 - {clip:g}]")
    warnings += _small_bins(data, estimates)
    if "auc" in estimates and estimates["auc"].undefined:
        warnings.append("auc is undefined: all labels are equal")
    if "gauc" in estimates and estimates["gauc"].undefined:
        users = estimates["gauc"].n + estimates["gauc"].undefined
        warnings.append(
            f"gauc: {estimates['gauc'].undefined:,} of {users:,} users have one kind of label and are left out"
        )
    return warnings


def _small_bins(data: Predictions, estimates: Mapping[str, Estimate]) -> list[str]:
    """Maxima over bins of which some hold next to nothing: a single row decides them."""
    warnings = []
    for name in estimates:
        spec = parse_point(name)
        if spec.metric.gap == "largest":
            made = make_bins(data, **spec.parameters)
            rows = np.bincount(made.of_row[data.weights > 0], minlength=len(made))
            small = int(((rows > 0) & (rows < _SMALL)).sum())
            if small:
                bins = "1 bin holds" if small == 1 else f"{small:,} bins hold"
                warnings.append(
                    f"{name}: {bins} fewer than {_SMALL} rows (the smallest {rows[rows > 0].min():,}), whose gaps are "
                    "mostly due to chance; use fewer bins, or by=mass"
                )
    return warnings
