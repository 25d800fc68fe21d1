"""The systems that lead on each metric: the best, and all that are not significantly worse."""

from __future__ import annotations

import math

from trueval.evaluation.outcome import Evaluation

_OPEN = ("not shown", "cannot tell")


def leaders(evaluation: Evaluation) -> dict[str, set[str]]:
    """By metric, the system with the best value and those that no paired test shows to be worse than it.

    The test is Student's t over users (and seeds, where there are several), two-sided at 5 %, with Holm's correction
    over the systems compared on the metric. Metrics without a better side, and those that cannot be tested, have none.

    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(40), "item": 0})
    >>> hits = {"a": 30, "b": 29, "c": 5}
    >>> runs = {n: test.with_columns(item=(pl.col("user") >= k).cast(int), rank=1) for n, k in hits.items()}
    >>> sorted(leaders(tv.evaluate_run(runs, test, metrics="hit@1").evaluation)["hit@1"])
    ['a', 'b']
    """
    found: dict[str, set[str]] = {}
    if len(evaluation.systems) < 2:
        return found
    from trueval.comparison.comparison import ComparisonOptions, compare_joined
    from trueval.comparison.join_results import join

    joined = join(dict(evaluation.repeats) or {"": evaluation})
    for label, spec in evaluation.specs.items():
        values = {name: system.estimates[label].value for name, system in evaluation.systems.items()}
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        if spec.better == "neither" or label not in joined.specs or not known:
            continue
        best = (max if spec.better == "higher" else min)(known, key=known.__getitem__)
        rows = compare_joined(joined, best, metrics=[label], options=ComparisonOptions())
        if rows:
            found[label] = {best, *(c.system for c in rows if c.verdict in _OPEN and c.system in known)}
    return found
