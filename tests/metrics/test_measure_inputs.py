"""tv.measure at the edges of its inputs: the defined value, an undefined one, or an error; never a silent nonsense."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.metrics.grammar import parse
from trueval.metrics.registry import all_metrics

METRICS = [
    name
    for metric in all_metrics()
    if "propensity" not in metric.needs
    for name in ([metric.name] if metric.cutoff == "none" else [f"{metric.name}@1", f"{metric.name}@3"])
]
USUAL: dict[str, Any] = {
    "ranked": ["a", "b", "c", "d"], "judged": {"a": 5.0, "c": 1.0, "d": 0.0}, "complete": True, "users": 5,
    "popularity": {"a": 3, "b": 2, "c": 1, "d": 0}, "positives": {"a": 3, "b": 2, "c": 1}, "profile": {"d": 3.0},
    "features": {"a": [1, 0], "b": [0, 1], "c": [1, 1], "d": [0.5, 0.2]},
    "aspects": {"a": "x", "b": "y", "c": "x|y", "d": "y"},
}  # fmt: skip
nan, inf = math.nan, math.inf
POSSIBLE: dict[str, list[Any]] = {
    "users": [3, 100],
    "popularity": [{}, {"a": 0, "b": 0}, {"zz": 3}],
    "positives": [{}, {"a": 0}],
    "features": [{}, {"a": [0, 0]}],
    "profile": [(), {"a": -5.0}, ["zz"]],
    "aspects": [{}, {"a": ""}, {"zz": "x"}, {"a": []}],
    "threshold": [0, 100],
    "scores": [[1, 1, 1, 1]],
    "judged": [{}, set(), {"a": -3.0}, {"zz": 1}, {"a": 0}],
    "ranked": [[], ["a"], ["zz"]],
}
IMPOSSIBLE: dict[str, list[Any]] = {
    "users": [0, -1, True, 2.5, nan],
    "popularity": [{"a": -1}, {"a": nan}, {"a": inf}, {"a": "x"}],
    "positives": [{"a": -2}, {"a": nan}, {"a": inf}],
    "features": [{"a": [nan, 1]}, {"a": [inf, 1]}, {"a": [1, 2], "b": [1]}, {"a": []}, {"a": "x"}],
    "profile": [{"a": nan}, {"a": inf}, {"d": "x"}],
    "threshold": [nan, inf],
    "scores": [[1, nan, 0, 0], [inf, 1, 0, 0], [0, 1, 2, 3]],
    "judged": [{"a": nan}, {"a": inf}, {"a": "x"}],
}


def asked(name: str, value: Any) -> dict[str, Any]:
    return USUAL | {name: value}


@pytest.mark.parametrize("name", POSSIBLE)
def test_what_can_be_has_a_value_of_its_range_or_is_undefined_as_documented(name: str) -> None:
    found = 0
    for metric in METRICS:
        (low, high), record = parse(metric).range, parse(metric).metric
        for value in POSSIBLE[name]:
            with np.errstate(all="raise"):
                try:
                    number = tv.measure(metric, **asked(name, value))
                except tv.TruevalError:
                    continue
            found += 1
            if math.isnan(number):
                assert record.undefined != "never", (metric, value)
            else:
                assert low - 1e-12 <= number <= high + 1e-12, (metric, value, number)
                assert math.isfinite(number), (metric, value, number)
    assert found > len(METRICS) / 2


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_is_refused_by_every_metric(name: str) -> None:
    for metric in METRICS:
        for value in IMPOSSIBLE[name]:
            with pytest.raises(tv.TruevalError):
                tv.measure(metric, **asked(name, value))


@pytest.mark.parametrize("metric", ["novelty@1", "epc@1"])
def test_an_item_cannot_have_more_users_than_there_are(metric: str) -> None:
    for users in (1, 2):
        with pytest.raises(tv.TruevalError, match=rf"more users than there are[^$]*3 users of an item, {users} in all"):
            tv.measure(metric, **asked("users", users))
    assert tv.measure("novelty@1", **asked("users", 3)) == 0  # all users have it


@pytest.mark.parametrize("popularity", [{}, {"a": 0}])
def test_shares_of_no_popularity_are_refused(popularity: dict[str, int]) -> None:
    with pytest.raises(tv.TruevalError, match=r"efd[^$]*no item has a train user"):
        tv.measure("efd@1", **asked("popularity", popularity))
