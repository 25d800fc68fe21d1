"""Every number that a public function takes, tried with values that no one means: a result or a `TruevalError`."""

from __future__ import annotations

import inspect
import re
import warnings

import pytest
from fuzz_inputs import frames

import trueval as tv

VALUES = [float("nan"), float("inf"), float("-inf"), -1, 0, 1e300, 10**30, 10**400]
_PLAIN = {"metrics": "ndcg@3,recall@2", "interval": "none"}


def _parts():
    return tv.split(frames()["log"], "holdout", ratio=0.3)


def _result():
    return tv.evaluate(_parts(), ["popularity", "random"], **_PLAIN)


# How each function is called with good arguments, and numbers that its signature does not show.
CALLS = {
    "evaluate": (lambda **o: tv.evaluate(_parts(), ["popularity"], **{**_PLAIN, **o}), ()),
    "evaluate_run": (lambda **o: tv.evaluate_run(frames()["recs"], frames()["test"], **{**_PLAIN, **o}), ()),
    "compare": (lambda **o: tv.compare(_result(), baseline="random", **o), ()),
    "agreement": (lambda **o: tv.agreement(_result(), **o), ()),
    "split": (lambda **o: tv.split(frames()["log"], "holdout", **o), ("ratio", "validation")),
    "ab_test": (lambda **o: tv.ab_test(frames()["ab"], arm="arm", metrics="bought,seconds:median=seconds", **o), ()),
    "ab_plan": (lambda **o: tv.ab_plan(**{"baseline": 0.1, "effect": 0.02, **o}), ()),
    "ope": (lambda **o: tv.ope(frames()["bandit"], frames()["policy"], **o), ()),
    "calibrate": (lambda **o: tv.calibrate(frames()["later"], validation=frames()["earlier"], **o), ()),
    "pointwise": (lambda **o: tv.pointwise(frames()["later"], **o), ()),
    "tune": (lambda **o: tv.tune("itemknn", {"k": [1, 2]}, data=_parts(), metric="ndcg@3", **o), ()),
    "power": (lambda **o: tv.power(**{"sd": 0.2, "users": 400, **o}), ()),
    "check_axioms": (lambda **o: tv.check_axioms("nrbp", **{"worlds": 5, **o}), ()),
    "measure": (lambda **o: tv.measure("hit@1", ["a", "b"], {"a": 4}, **o), ()),
}


def numbers_of(name: str) -> list[str]:
    """Parameters of a public function that may be numbers."""
    declared = inspect.signature(getattr(tv, name)).parameters.values()
    found = [p.name for p in declared if re.search(r"\b(int|float)\b(?!\])", str(p.annotation).split("[")[0])]
    return [*found, *CALLS[name][1]]


@pytest.mark.parametrize("name", CALLS)
def test_numbers_of_functions(name):
    call, _ = CALLS[name]
    assert numbers_of(name)
    for parameter in numbers_of(name):
        for value in VALUES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**{parameter: value})
            except tv.TruevalError:
                continue
            except Exception as problem:
                pytest.fail(f"{name}({parameter}={str(value)[:40]}): {type(problem).__name__}: {problem}")


def test_propensities(assert_result_or_refused):
    for value in VALUES:
        for make in (
            lambda value: tv.Propensity.popularity(frames()["train"], gamma=value),
            lambda value: tv.Propensity.position(frames()["bandit"].with_columns(position=1), steps=value),
        ):
            assert_result_or_refused(make, value)
