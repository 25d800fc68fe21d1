"""Options are declared once: defaults, keys of experiment files and the help of commands agree."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields

import pytest

import trueval as tv
from trueval.cli.evaluate import evaluate_command
from trueval.evaluation.declared_options import OPTIONS, default, passed_on
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.interval_method import RESAMPLES
from trueval.evaluation.options import EvaluationOptions
from trueval.experiments.keys import KINDS

# Where a function decides by itself: metrics by the design, intervals by the number of parts.
OWN = {"evaluate": {"metrics", "interval"}, "evaluate_run": {"metrics"}, "evaluate_command": {"metrics"}}


def test_declared_options_are_the_fields() -> None:
    own = {field.name: field.default for field in fields(EvaluationOptions) if field.name != "metrics"}
    assert own == {name: option.default for name, option in OPTIONS.items() if name != "metrics"}
    assert (default("resamples"), default("min_group")) == (RESAMPLES, MIN_GROUP)


@pytest.mark.parametrize("function", [tv.evaluate, tv.evaluate_run, evaluate_command], ids=lambda f: f.__name__)
def test_defaults_of_functions_and_commands_are_the_declared_ones(function) -> None:
    parameters = inspect.signature(function).parameters
    own = OWN[function.__name__]
    assert set(OPTIONS) <= set(parameters)
    assert {n: parameters[n].default for n in OPTIONS if n not in own} == {
        n: o.default for n, o in OPTIONS.items() if n not in own
    }


def test_experiment_files_have_the_options_as_keys() -> None:
    assert set(passed_on()) < set(KINDS["evaluation"])
    assert {"metrics", "interval", "by"} < set(KINDS["evaluation"])
    assert not {"threshold", "seed", "users"} & set(KINDS["evaluation"])


def test_options_are_inert() -> None:
    options = EvaluationOptions(metrics="ndcg@10")
    with pytest.raises(TypeError):
        EvaluationOptions("ndcg@10")  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        options.seed = 1  # type: ignore[misc]
