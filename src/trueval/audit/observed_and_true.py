"""Do observed values rank systems like the true ones? Metric by metric, where there is an unbiased test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from trueval.arguments import checked
from trueval.comparison.agreement import agree
from trueval.comparison.comparison import label_of
from trueval.comparison.design_agreement import Alike, alike_notes, between_designs
from trueval.comparison.render_agreement import tau_text
from trueval.data.exported_tables import Tabular
from trueval.errors import DataError, DefinitionError, suggest, visible
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.grammar import split_list
from trueval.render.numbers import rounded
from trueval.render.shown import Shown
from trueval.render.terminal import plain_table, printed

OBSERVED, TRUE = "observed", "true"


@dataclass(frozen=True, slots=True)
class ObservedAndTrue(Tabular, Shown):
    """Kendall's τ-b between the order of systems by observed and by true values, and between metrics on either side.

    Attributes
    ----------
    metrics : list of Alike
        For each metric, τ of its observed with its true values: an estimate for the population of users with its
        interval (`tau`, `low`, `high`), and τ of the values found (`observed`).
    pairs : list of Alike
        The same between every two metrics on one side: `metric` is the side, `one` and `other` are the metrics. Better
        counts as higher for all of them.

    Examples
    --------
    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
    >>> runs = {
    ...     name: pl.DataFrame({"user": range(30), "item": [0 if u < hits else 1 for u in range(30)], "rank": 1})
    ...     for name, hits in (("a", 25), ("b", 15), ("c", 5))
    ... }
    >>> one = tv.evaluate_run(runs, test, metrics="hit@1").evaluation
    >>> observed_and_true(one, one).metrics[0].observed
    1.0
    """

    metrics: list[Alike]
    pairs: list[Alike]

    def __getitem__(self, metric: str) -> Alike:
        """Observed against true values of one metric."""
        known = {own.metric: own for own in self.metrics}
        if metric not in known:
            raise DefinitionError(f"there is no metric {metric!r} on both sides", do=suggest(metric, known))
        return known[metric]

    def __str__(self) -> str:
        rows = [[own.metric, own.summary, rounded(own.observed)] for own in self.metrics]
        text = printed(plain_table(["metric", "τ of observed and true", "of these values"], rows, align="lrr"))
        if self.pairs:
            rows = [
                [f"{own.one} and {own.other}", own.metric, tau_text(own.tau, own.low, own.high), rounded(own.observed)]
                for own in self.pairs
            ]
            head = ["metrics", "values", "τ", "of these values"]
            text += "\n" + printed(plain_table(head, rows, align="llrr"))
        return text + "\n" + "\n".join(map(visible, alike_notes(self.metrics)))

    def table(self) -> pl.DataFrame:
        """One row per τ: of a metric's observed with its true values, then between metrics on either side."""
        kinds = (("observed and true", self.metrics), ("two metrics", self.pairs))
        rows = [{"of": kind, **own.record()} for kind, several in kinds for own in several]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"metrics": [own.record() for own in self.metrics], "pairs": [own.record() for own in self.pairs]}


@checked
def observed_and_true(
    observed: Evaluation | Sequence[Evaluation],
    true: Evaluation | Sequence[Evaluation],
    *,
    metrics: str | Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> ObservedAndTrue:
    """Compare how observed and true values of each metric rank the systems that both evaluations have.

    Parameters
    ----------
    observed : Evaluation or list of these
        Values on a test set as it was collected; several are folds or seeds.
    true : Evaluation or list of these
        Values on an unbiased test set (ratings of items chosen at random).
    metrics : text or list of text, optional
        Default: all that both have.
    level : number, default 0.95
        Level of the intervals.
    seed : int, default 0
        Seed of the draws behind them.

    Returns
    -------
    ObservedAndTrue
        τ for each metric, and between every two metrics on either side. Prints as tables.

    Raises
    ------
    TruevalError
        For fewer than three systems that both have, and no metric in common.

    Examples
    --------
    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(30), "item": [0] * 30})
    >>> hits = {"a": 25, "b": 15, "c": 5}
    >>> runs = {
    ...     n: pl.DataFrame({"user": range(30), "item": [0 if u < h else 1 for u in range(30)], "rank": 1})
    ...     for n, h in hits.items()
    ... }
    >>> turned = dict(zip(hits, reversed(runs.values())))
    >>> sides = [tv.evaluate_run(own, test, metrics="hit@1").evaluation for own in (runs, turned)]
    >>> observed_and_true(*sides)["hit@1"].observed
    -1.0
    """
    sides = {OBSERVED: _several(observed), TRUE: _several(true)}
    found = between_designs(sides, level=level, seed=seed)
    if metrics is not None:
        asked = split_list(metrics) if isinstance(metrics, str) else metrics
        specs = sides[OBSERVED][0].specs
        chosen = [str(specs[label_of(name, specs)]) for name in asked]
        found = [own for own in found if own.metric in chosen]
    if not found:
        names = ["; ".join([", ".join(one[0].systems), ", ".join(one[0].specs)]) for one in sides.values()]
        raise DataError(
            "observed and true values have fewer than three systems, or no metric, in common",
            found=f"observed: {names[0]}\ntrue: {names[1]}",
            do="evaluate the same systems by the same metrics on both test sets",
        )
    labels = [own.metric for own in found]
    pairs = [pair for name, own in sides.items() for pair in _between(name, own, labels, found[0], seed=seed)]
    return ObservedAndTrue(found, pairs)


def _several(given: Evaluation | Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations behind one that is the mean of folds or seeds, or those that are given."""
    if isinstance(given, Evaluation):
        return list(given.repeats.values()) or [given]
    return list(given)


def _between(side: str, parts: Sequence[Evaluation], metrics: Sequence[str], like: Alike, *, seed: int) -> list[Alike]:
    """τ of every two metrics on one side."""
    if len(metrics) < 2:
        return []
    a = agree({side: parts}, metrics=metrics, level=like.level, seed=seed)
    found = []
    for i, one in enumerate(a.labels):
        for j, other in enumerate(a.labels[:i]):
            tau, low, high, seen = (float(m[j, i]) for m in (a.tau.value, a.tau.low, a.tau.high, a.tau.observed))
            found.append(Alike(side, other, one, tau, low, high, len(a.systems), a.level, seen))
    return found
