"""Metrics of graded gains on values that are no grades: refused, never a silent 0."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from metric_worlds import World, every_spec, stratified_specs

import trueval as tv
from trueval.metrics.compute import compute
from trueval.metrics.spec import Spec

ITEMS = list("abcdef")
SPECS = [*every_spec("accuracy", "incomplete", "aspects", cutoffs=(3,)), *stratified_specs(cutoffs=(3,))]


def counted(most: float) -> World:
    """A user who played three items once or twice, with a perfect ranking; another who played one very often."""
    judged = {"u0": {"a": 2.0, "b": 1.0, "c": 1.0, "f": 0.0}, "u1": {"d": most, "e": 1.0}}
    features = {item: [1.0, float(item < "c"), float(item > "b")] for item in ITEMS}
    return World(
        {"u0": [[item] for item in ITEMS], "u1": [[item] for item in "deabcf"]}, judged, None,
        {"u0": ["t"], "u1": ["t", "f"]}, {**features, "t": [1.0, 1.0, 0.0]},
    )  # fmt: skip


def value_of(spec: Spec, world: World) -> float:
    """What the user with the perfect ranking gets."""
    values = compute(spec, world.facts(), world.inputs()).per_unit
    assert values is not None
    return float(values[0])


def test_no_metric_of_counts_is_silently_nothing():
    """Whoever is shown all that was played, and nothing before it, must not score as if shown nothing."""
    refused: dict[Spec, tv.TruevalError] = {}
    for spec in SPECS:
        try:
            value = value_of(spec, counted(500.0))
        except tv.TruevalError as error:
            refused[spec] = error
            continue
        assert abs(value) > 1e-3, str(spec)
    graded = {s for s in SPECS if s.metric.name in ("abndcg", "rbu") or s.parameters.get("form") == "weighted"}
    graded |= {s for s in SPECS if s.parameters.get("gain") in ("exp", "graded", "probabilistic")}
    graded |= {s for s in SPECS if s.metric.name == "err"}  # gmax=5 and 7 are below the highest value
    assert set(refused) == graded
    assert all(error.found and error.do for error in refused.values())


@pytest.mark.parametrize("most", [1.0, 2.0, 4.0, 5.0, 10.0])
def test_grades_are_measured(most):
    for spec in SPECS:
        if spec.parameters.get("gmax", 0) == 0 or spec.parameters["gmax"] >= max(most, 2):
            assert np.isfinite(value_of(spec, counted(most))), str(spec)


def test_what_err_says_of_play_counts():
    test = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "c"], "value": [1.0, 300.0, 2.0]})
    run = pl.DataFrame({"user": [1, 2], "item": ["a", "c"], "rank": [1, 1]})
    with pytest.raises(tv.TruevalError, match="err needs values of a bounded scale") as caught:
        tv.evaluate_run(run, test, metrics="err@10", interval="none")
    assert "values up to 300" in caught.value.found
    assert "gmax=5" in caught.value.do
    # all parts of a run are refused alike: user 2 alone would have passed
    with pytest.raises(tv.TruevalError, match="bounded scale"):
        tv.evaluate_run(run.filter(pl.col("user") == 2), test, metrics="ndcg@10[gain=exp]", interval="none")
    stated = tv.evaluate_run(run, test, metrics="err@10[gmax=300]", interval="none")
    assert stated["run", "err@10[gmax=300]"].value == pytest.approx(0, abs=1e-12)  # asked for in so many words
    turned = tv.evaluate_run(run, test, metrics="anti(err)@10", threshold=2, interval="none")
    assert turned["run", "anti(err)@10"].value == 0.25  # (2^1 - 1) / 2^1 at rank 1 of one of two users
