"""Evaluations made of given numbers, so that what comparisons should find is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.evaluation.estimate import Estimate, sums
from trueval.evaluation.outcome import Evaluation, SystemResult
from trueval.metrics.compute import Measured
from trueval.metrics.grammar import parse
from trueval.metrics.metric_values import Ratio

Values = Mapping[str, Mapping[str, Sequence[float]]]  # by system and metric


def system_of(
    values: Mapping[str, Sequence[float]],
    *,
    users: Sequence[Any] | None = None,
    stratum: np.ndarray | None = None,
    ratios: Mapping[str, Ratio] | None = None,
) -> SystemResult:
    """A system with these values; users are numbered unless given (one per value, repeated for several units)."""
    arrays = {label: np.asarray(own, float) for label, own in values.items()}
    ratios = ratios or {}
    arrays |= {label: ratio.per_unit() for label, ratio in ratios.items()}
    n = len(next(iter(arrays.values())))
    column = pl.Series(list(range(n)) if users is None else list(users))
    ids = Ids.of(column)
    codes = ids.codes(column)
    order = np.argsort(codes, kind="stable")
    codes, arrays = codes[order], {label: own[order] for label, own in arrays.items()}
    clusters, cluster = np.unique(codes, return_inverse=True)
    by_label = {
        label: sums(
            Measured(own, ratio=ratios[label].take(order) if label in ratios else None),
            cluster,
            len(clusters),
            None if stratum is None else stratum[order],
        )
        for label, own in arrays.items()
    }
    estimates = {
        label: Estimate(float(s.value()[0]), np.nan, np.nan, s.n, s.undefined) for label, s in by_label.items()
    }
    return SystemResult(
        estimates=estimates, values=arrays, sums=by_label, unit_user=codes, users=ids,
        stratum=None if stratum is None else stratum[order],
    )  # fmt: skip


def evaluation_of(values: Mapping[str, SystemResult], /, **rules: Any) -> Evaluation:
    """An evaluation of systems, under rules that can be changed one by one."""
    labels = list(next(iter(values.values())).estimates)
    specs = {label: parse(label) for label in labels}
    manifest = {
        "population": "relevant", "design": "given", "ties": "random", "interval": "none", "seed": 0,
        "data": {"test": "abc"}, "definitions": {label: spec.definition for label, spec in specs.items()},
        "version": "1",
    }  # fmt: skip
    return Evaluation(dict(values), specs, {}, {**manifest, **rules})


def world(values: Values, /, *, users: Sequence[Any] | None = None, **rules: Any) -> Evaluation:
    """An evaluation of systems with these values by metric."""
    return evaluation_of({name: system_of(own, users=users) for name, own in values.items()}, **rules)
