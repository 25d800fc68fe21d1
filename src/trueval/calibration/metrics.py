"""The pointwise metrics: one record each, and their names with parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from trueval.calibration.auc import area, area_of_counts, areas_by_user
from trueval.calibration.bins import BY, MOST_BINS, Bins, make_bins
from trueval.calibration.calibration_errors import make_gaps
from trueval.calibration.losses import log_losses
from trueval.calibration.predictions import Predictions
from trueval.calibration.user_bootstrap import BOTH, Clusters, Summed
from trueval.errors import DataError, DefinitionError, suggest
from trueval.metrics.grammar import split_list
from trueval.metrics.registry import Parameter

# The area of a resample is computed from this many bins of equal mass; the bins themselves are exact where
# there are no more distinct predictions than that.
_AREA_BINS = 1000

_BINNED = {
    "bins": Parameter(10, low=1, high=MOST_BINS, meaning="number of bins"),
    "by": Parameter("width", choices=BY, meaning="bins of equal width, of equal mass, or one per distinct prediction"),
}


@dataclass(frozen=True)
class PointMetric:
    """A metric of predicted probabilities."""

    name: str
    summary: str
    formula: str
    range: tuple[float, float]
    better: str
    compute: Callable[..., Summed]
    reference: str
    parameters: Mapping[str, Parameter]
    undefined: str = "never"
    ranks_only: bool = False  # needs the order of predictions alone, so that scores will do
    clips: bool = False  # clips predictions away from 0 and 1 on request
    gap: str = ""  # of bins: "mean" or "largest" distance of what was predicted from what was observed


@dataclass(frozen=True)
class PointSpec:
    """A metric with its parameters; its text is canonical, defaults left out.

    >>> str(parse_point("ece[by=mass, bins=10]"))
    'ece[by=mass]'
    """

    metric: PointMetric
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        changed = {k: v for k, v in self.parameters.items() if v != self.metric.parameters[k].default}
        return self.metric.name + (f"[{','.join(f'{k}={changed[k]}' for k in sorted(changed))}]" if changed else "")

    @property
    def definition(self) -> str:
        """The full definition, with every parameter."""
        return "; ".join([self.metric.formula, *(f"{k}={v}" for k, v in sorted(self.parameters.items()))])

    def summed(self, data: Predictions, clusters: Clusters, *, clip: float | None = None) -> Summed:
        """The metric as a function of sums over groups."""
        extra = {"clip": clip} if self.metric.clips else {}
        return self.metric.compute(data, clusters, **self.parameters, **extra)


def parse_point(text: str) -> PointSpec:
    """Read one metric: a name, perhaps with parameters in brackets.

    >>> parse_point("logloss").metric.better
    'lower'
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text)
    if match is None:
        raise DefinitionError("a metric is written name or name[parameter=value]", found=repr(text))
    name = match[1]
    if name not in POINTWISE:
        raise DefinitionError(f"unknown pointwise metric {name!r}", do=suggest(name.lower(), POINTWISE))
    metric = POINTWISE[name]
    values = {key: parameter.default for key, parameter in metric.parameters.items()}
    given: set[str] = set()
    for part in filter(None, (part.strip() for part in (match[2] or "").split(","))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in metric.parameters:
            do = suggest(key, metric.parameters) if metric.parameters else f"{name} has no parameters: leave it out"
            raise DefinitionError(f"{name} has no parameter {key!r}", where=text, do=do)
        if key in given or not equals:
            raise DefinitionError(f"expected {key}=value, once", where=text, found=part)
        given.add(key)
        values[key] = metric.parameters[key].read(value, name=key, metric=name)
        if key == "bins":
            if values[key] != int(values[key]):
                raise DefinitionError("the number of bins must be a whole number", where=text, found=value)
            values[key] = int(values[key])
    return PointSpec(metric, values)


def parse_points(texts: str | Iterable[str]) -> list[PointSpec]:
    """Read several metrics; the same one twice is an error.

    >>> [str(spec) for spec in parse_points("logloss, ece[bins=15]")]
    ['logloss', 'ece[bins=15]']
    """
    specs = [parse_point(text) for text in (split_list(texts) if isinstance(texts, str) else texts)]
    if not specs:
        raise DefinitionError("no metric was given", do="for example metrics=['logloss', 'ece']")
    seen: set[str] = set()
    for name in map(str, specs):
        if name in seen:
            raise DefinitionError(f"the metric {name} is given twice", do="name each metric once")
        seen.add(name)
    return specs


def _ratio(sums: np.ndarray) -> np.ndarray:
    return np.where(sums[:, 1] > 0, sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1), np.nan)


def _mean(data: Predictions, clusters: Clusters, values: np.ndarray) -> Summed:
    """The weighted mean of a value per row; infinite values have no resamples."""
    statistics = np.stack([clusters.total(data.weights * values), clusters.total(data.weights)], axis=1)
    finite = bool(np.isfinite(statistics).all())
    value = float(_ratio(statistics.sum(axis=0)[None])[0]) if finite else float("inf")
    return Summed(statistics, _ratio, value, len(data), rarest=_rarest(data, clusters))


def _rarest(data: Predictions, clusters: Clusters) -> int:
    """Users (or rows) with a positive, or those with a negative if they are fewer; groups stand for their users."""
    counted = data.weights > 0
    return min(
        len(np.unique((clusters.group if data.user is None else data.user)[counted & (data.label == kind)]))
        for kind in (0, 1)
    )


def _logloss(data: Predictions, clusters: Clusters, *, clip: float | None = None) -> Summed:
    used = log_losses(data, clip=clip)
    return _mean(data, clusters, np.where(data.weights > 0, used, 0))  # 0 · ∞: a row without weight has no say


def _brier(data: Predictions, clusters: Clusters) -> Summed:
    return _mean(data, clusters, (data.value - data.label) ** 2)


def _auc(data: Predictions, clusters: Clusters) -> Summed:
    value = area(data)
    known = not np.isnan(value)
    few = len(data.first_of_ties) <= _AREA_BINS
    place = make_bins(data, by="value") if few else make_bins(data, bins=_AREA_BINS, by="mass")
    won = data.weights * data.label
    tables = [clusters.table(place.of_row, len(place), x) for x in (won, data.weights - won)]

    def finish(sums: np.ndarray) -> np.ndarray:
        return area_of_counts(sums[:, : len(place)], sums[:, len(place) :])

    n = len(data)
    return Summed(
        np.concatenate(tables, axis=1),
        finish,
        value,
        n if known else 0,
        0 if known else n,
        rarest=_rarest(data, clusters),
    )


def _gauc(data: Predictions, clusters: Clusters) -> Summed:
    if data.user is None or data.users is None:
        raise DataError(
            "gauc needs a user column",
            where=data.name,
            found="columns " + ", ".join(data.frame.columns),
            do="name the column with columns={'user': …} (--columns user=…), or leave gauc out",
        )
    own = areas_by_user(data)
    known = ~np.isnan(own.area)
    group = np.zeros(len(data.users), np.int64)
    group[data.user] = clusters.group
    numerator, denominator = np.where(known, own.weight * own.area, 0), np.where(known, own.weight, 0)
    statistics = [np.bincount(group, x, minlength=clusters.n_groups) for x in (numerator, denominator)]
    sums = np.stack(statistics, axis=1)
    n = int(known.sum())
    return Summed(sums, _ratio, float(_ratio(sums.sum(axis=0)[None])[0]), n, len(known) - n, rarest=n, rests_on=BOTH)


def _gaps(data: Predictions, clusters: Clusters, bins: int, by: str) -> tuple[np.ndarray, Bins]:
    """Sums of weight and of weighted (prediction - label), by group and bin."""
    made = make_bins(data, bins=bins, by=by)
    if clusters.n_groups * len(made) > 10_000_000:
        raise DefinitionError(
            "too many bins for an interval",
            found=f"{len(made):,} bins, {clusters.n_groups:,} {clusters.of}",
            do="use fewer bins, or interval='none'",
        )
    w = data.weights
    parts = [clusters.table(made.of_row, len(made), x) for x in (w, w * (data.value - data.label))]
    return np.concatenate(parts, axis=1), made


def _ece(data: Predictions, clusters: Clusters, *, bins: int, by: str) -> Summed:
    statistics, made = _gaps(data, clusters, bins, by)

    def finish(sums: np.ndarray) -> np.ndarray:
        weight = sums[:, : len(made)].sum(axis=1)
        return np.abs(sums[:, len(made) :]).sum(axis=1) / np.where(weight > 0, weight, np.nan)

    value = float(finish(statistics.sum(axis=0)[None])[0])
    ranged = cache(lambda: make_gaps(data, made, clusters).ece())
    return Summed(statistics, finish, value, len(data), gap_range=ranged, rarest=_rarest(data, clusters))


def _mce(data: Predictions, clusters: Clusters, *, bins: int, by: str) -> Summed:
    statistics, made = _gaps(data, clusters, bins, by)

    def finish(sums: np.ndarray) -> np.ndarray:
        weight = sums[:, : len(made)]
        return (np.abs(sums[:, len(made) :]) / np.where(weight > 0, weight, np.inf)).max(axis=1)

    value = float(finish(statistics.sum(axis=0)[None])[0])
    ranged = cache(lambda: make_gaps(data, made, clusters).mce())
    return Summed(statistics, finish, value, len(data), gap_range=ranged, smooth=False)


POINTWISE: dict[str, PointMetric] = {
    metric.name: metric
    for metric in [
        PointMetric(
            "logloss", "Mean negative logarithm of the probability given to what happened.",
            "mean of -log p where it happened, -log(1 - p) where it did not (natural logarithm)",
            (0, np.inf), "lower", _logloss, "Good 1952", {}, "infinite where 0 was given to what happened",
            clips=True,
        ),
        PointMetric(
            "brier", "Mean squared difference between probability and outcome.", "mean of (p - y)²", (0, 1), "lower",
            _brier, "Brier 1950; decomposition: Murphy 1973", {},
        ),
        PointMetric(
            "auc", "Chance that a random positive is predicted above a random negative.",
            "share of (positive, negative) pairs of rows in the right order, ties count 1/2", (0, 1), "higher", _auc,
            "Hanley and McNeil 1982", {}, "without positives or without negatives", True,
        ),
        PointMetric(
            "gauc", "AUC of each user's own rows, averaged by number of impressions.",
            "Σ_u n_u·AUC_u / Σ_u n_u over users with both classes", (0, 1), "higher", _gauc,
            "Zhu et al. 2017 (Optimized Cost per Click in Taobao Display Advertising)", {},
            "users with one class only are left out and counted", True,
        ),
        PointMetric(
            "ece", "Expected calibration error: mean gap between predicted and observed share.",
            "Σ_bins (weight of bin / total) · |mean p - share of positives|", (0, 1), "lower", _ece,
            "Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017", _BINNED, gap="mean",
        ),
        PointMetric(
            "mce", "Maximum calibration error: the largest gap of any bin.",
            "max over bins of |mean p - share of positives|", (0, 1), "lower", _mce,
            "Naeini, Cooper and Hauskrecht 2015", _BINNED, gap="largest",
        ),
    ]
}  # fmt: skip
