"""Options are declared once: defaults, keys of experiment files and the help of commands agree."""

from __future__ import annotations

import inspect
import json
from dataclasses import FrozenInstanceError, fields

import polars as pl
import pytest

import trueval as tv
from trueval.cli.audit import audit_command
from trueval.cli.evaluate import evaluate_command
from trueval.cli.gate import gate_command
from trueval.evaluation.declared_options import OPTIONS, default, passed_on
from trueval.evaluation.defaults import METRICS
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.interval_method import RESAMPLES
from trueval.evaluation.options import EvaluationOptions
from trueval.experiments.keys import KINDS
from trueval.report.result import Result

# Where a function decides by itself: intervals by the number of parts, and an audit tests metrics one by one.
OWN = {"evaluate": {"interval"}, "audit": {"metrics"}, "audit_command": {"metrics"}}
EVALUATIONS = [tv.evaluate, tv.evaluate_run, evaluate_command]
# Those that share some of the options.
OTHERS = [tv.audit, audit_command, tv.gate, gate_command, Result.audit]


def test_declared_options_are_the_fields() -> None:
    own = {field.name: field.default for field in fields(EvaluationOptions) if field.name != "metrics"}
    assert own == {name: option.default for name, option in OPTIONS.items() if name != "metrics"}
    assert (default("resamples"), default("min_group")) == (RESAMPLES, MIN_GROUP)


@pytest.mark.parametrize("function", [*EVALUATIONS, *OTHERS], ids=lambda f: f.__qualname__)
def test_defaults_of_functions_and_commands_are_the_declared_ones(function) -> None:
    parameters = inspect.signature(function).parameters
    shared = set(OPTIONS) & set(parameters) - OWN.get(function.__name__, set())
    assert set(OPTIONS) <= set(parameters) or function in OTHERS
    assert len(shared) >= (1 if function in OTHERS else 15)
    assert {n: parameters[n].default for n in shared} == {n: OPTIONS[n].default for n in shared}


def test_metrics_are_the_same_wherever_none_are_asked_for(tmp_path, trueval) -> None:
    pairs = [(u, (u + j * j) % 11) for u in range(30) for j in range(5)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    parts = tv.split(log, "holdout", ratio=0.4)
    run = parts.test.frame.select("user", "item").with_columns(score=-pl.int_range(pl.len()).cast(pl.Float64))
    for name, frame in (("log", log), ("run", run), ("test", parts.test.frame)):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "e.toml").write_text('[data]\npath = "log.parquet"\n[systems]\npopularity = {}\n')
    words = ("evaluate", tmp_path / "run.parquet", "--test", tmp_path / "test.parquet", "--format", "json")
    found = {
        "evaluate": tv.evaluate(parts, ["popularity"]),
        "evaluate_run": tv.evaluate_run(run, parts.test.frame),
        "run": tv.run(tmp_path / "e.toml")["AR-TI-AN"],
    }
    asked = {name: list(result.evaluation.specs) for name, result in found.items()}
    record = json.loads(trueval(*words).out)
    asked["trueval evaluate"] = list(record["systems"]["run"]["metrics"])
    assert asked == {name: list(METRICS) for name in asked}
    for name in ("interval", "level", "resamples", "population", "ties", "missing", "threshold", "compat", "seed"):
        values = [record["manifest"].get(name), *(result.manifest.get(name) for result in found.values())]
        assert len(set(values)) == 1, name


def test_metrics_that_mean_nothing_are_left_out_everywhere(tmp_path, trueval) -> None:
    pairs = [(u, (u + j * j) % 11) for u in range(30) for j in range(5)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    log.write_parquet(tmp_path / "log.parquet")
    text = '[data]\npath = "log.parquet"\n[evaluation]\ndesigns = "1R-TI-NN5"\n[systems]\npopularity = {}\n'
    (tmp_path / "e.toml").write_text(text)
    design = "1R-TI-NN5"
    one = tv.evaluate(tv.split(log, "holdout"), ["popularity"], design=design)
    assert list(one.evaluation.specs) == list(tv.run(tmp_path / "e.toml")[design].evaluation.specs)
    run = log.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    run.write_parquet(tmp_path / "run.parquet")
    words = ("evaluate", tmp_path / "run.parquet", "--test", tmp_path / "log.parquet", "--compat", "replay")
    ran = trueval(*words, "--format", "json")
    own = list(json.loads(ran.out)["systems"]["run"]["metrics"])
    assert own == list(tv.evaluate_run(run, log, compat="replay").evaluation.specs) == ["ndcg@10", "recall@10"]


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
