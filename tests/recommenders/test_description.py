"""What manifests say of systems: all their parameters as they were in effect, their library, how long a fit took."""

from __future__ import annotations

import importlib.metadata
import json
import re
import time
from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.comparison.join_results import check_comparable
from trueval.design.design import Design
from trueval.design.words import words_of
from trueval.recommenders.registry import find, record_of, systems

KEYS = ("system", "parameters", "definition", "fit_seconds")
FEW = {"factors": 3, "iterations": 2, "sweeps": 2, "epochs": 2}


@pytest.fixture(scope="module")
def parts() -> tv.Parts:
    rng = np.random.default_rng(4)
    log = pl.DataFrame({"user": rng.integers(0, 30, 500), "item": rng.integers(0, 20, 500)}).unique(maintain_order=True)
    return tv.split(
        log.with_columns(value=pl.Series(rng.integers(1, 6, len(log))).cast(pl.Float64)), "holdout", ratio=0.3
    )


def manifest_of(parts: tv.Parts, system: Any, **asked: Any) -> dict[str, Any]:
    options = {"metrics": "ndcg@5", "interval": "none", "threshold": 3, "seed": 11, **asked}
    return tv.evaluate(parts, {"it": system}, **options).manifest


@pytest.mark.parametrize("name", systems())
def test_every_system_tells_all_its_parameters_as_they_were_in_effect(parts, monkeypatch, name):
    """Each field of the dataclass, and what the evaluation decided in place of None."""
    few = {key: value for key, value in FEW.items() if key in find(name).parameters}
    record, made = find(name), tv.make_system(name, test=parts.test, **few)
    try:
        manifest = manifest_of(parts, made)
    except tv.TruevalError as problem:
        if "install" in str(problem):
            pytest.skip(str(problem.what))
        raise
    found = manifest["systems"]["it"]
    assert found["system"] == name
    assert "fit_seconds" not in found  # the tests run under SOURCE_DATE_EPOCH
    own = {one.name: getattr(made, one.name) for one in fields(made) if one.init}
    told = {record.parameters[key].field: value for key, value in found["parameters"].items()}
    decided = {"seed": 11, "threshold": 3.0, "count": "users"}
    for field, value in own.items():
        if field == "test":  # the log that an oracle reads
            continue
        parameter = next(one for one in record.parameters.values() if one.field == field)
        of_evaluation = "evaluation" in parameter.meaning or "the log counts" in parameter.meaning
        right = decided[field] if value is None and of_evaluation else value
        assert told.pop(field) == right, field
    assert not told
    assert json.loads(json.dumps(found)) == found


def test_a_fit_takes_time_unless_the_same_bytes_are_wanted(parts, monkeypatch):
    class Slow:
        def __init__(self) -> None:
            self.power, self.weights = 0.5, np.zeros(3)

        def fit(self, train: Any) -> Any:
            now[0] += 1.25
            self.items, self.fitted_size = len(train.items), 4
            return self

        def score(self, users: np.ndarray) -> np.ndarray:
            return np.zeros((len(users), self.items))

    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    assert manifest_of(parts, Slow())["systems"]["it"] == {
        "system": "Slow", "parameters": {"power": 0.5}, "definition": "Slow",
    }  # fmt: skip
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert manifest_of(parts, Slow())["systems"]["it"]["fit_seconds"] == 1.25
    both = manifest_of(parts, Slow(), seed=[1, 2])["systems"]["it"]
    assert both["fit_seconds"] == 1.25
    seeds = manifest_of(parts, "plsa[factors=2,iterations=2]", seed=[1, 2])["systems"]["it"]
    assert seeds["parameters"]["seed"] == [1, 2]
    assert seeds["parameters"]["factors"] == 2


def test_results_that_took_another_time_are_compared(parts, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    now = iter(range(100000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)) ** 2)
    asked = {"metrics": "ndcg@5", "interval": "none"}
    one, other = (tv.evaluate(parts, {"a": "ease"}, **asked) for _ in range(2))
    assert one.manifest["systems"] != other.manifest["systems"]
    assert tv.gate(one, other).verdict == "cannot tell"  # so few users cannot say that none loses much
    third = tv.evaluate(parts, {"a": "ease[regularization=5]"}, **asked)
    check_comparable(one.manifest, other.manifest, ("one", "other"))
    with pytest.raises(tv.TruevalError, match=r"systems\.a: ease and ease\[regularization=5\]"):
        check_comparable(one.manifest, third.manifest, ("one", "third"))


class Model:
    """A model of a library, as its class says."""

    def __init__(self) -> None:
        self.factors, self.regularization, self._private, self.item_factors = 8, 0.01, 3, np.eye(2)


class WithParams:
    def get_params(self) -> dict[str, Any]:
        return {"alpha": 0.5, "nested": {"depth": 2}, "model": object()}


class WithConfig:
    def __init__(self) -> None:
        self.config = {"embedding_size": 16, "device": object(), "rate": float("inf")}


class Broken(WithParams):
    def get_params(self) -> dict[str, Any]:
        raise RuntimeError("not now")


@pytest.mark.parametrize(
    ("model", "right"),
    [
        (Model(), {"factors": 8, "regularization": 0.01}),
        (WithParams(), {"alpha": 0.5, "nested": {"depth": 2}}),
        (WithConfig(), {"embedding_size": 16, "rate": "inf"}),
        (Broken(), {}),
        (lambda users: 0, {}),
    ],
)
def test_models_of_others_give_what_they_can(model, right):
    from trueval.recommenders.description import model_parameters

    assert model_parameters(model) == right


def test_adapters_tell_their_library_and_its_version(parts):
    implicit = pytest.importorskip("implicit.als")
    model = implicit.AlternatingLeastSquares(factors=4, iterations=2, random_state=0, num_threads=1)
    found = manifest_of(parts, model)["systems"]["it"]
    assert found["library"] == f"implicit {importlib.metadata.version('implicit')}"
    assert (found["fitted"], found["system"]) == ("on train", "AlternatingLeastSquares")
    assert (found["parameters"]["factors"], found["parameters"]["iterations"]) == (4, 2)


HOOKS = [
    "factors", "score_new", "fold_in", "folds_in", "name", "__name__", "caution", "config", "get_params", "get_config",
    "model_dump", "model", "library", "kept", "source", "columns", "n_factors", "node", "trainset",
]  # fmt: skip


@pytest.mark.parametrize("value", [8, "eight"])
@pytest.mark.parametrize("name", HOOKS)
def test_attributes_of_own_systems_are_their_own(parts, name, value):
    """Their parameters may be called like what trueval asks some systems for: `self.factors = 8` ended evaluations."""

    class Mine:
        def __init__(self):
            setattr(self, name, value)

        def fit(self, train):
            self._popularity = train.popularity
            return self

        def score(self, users):
            return np.tile(self._popularity, (len(users), 1)).astype(float)

    ask = {"metrics": "ndcg@5", "interval": "none", "ties": "expected"}
    found = tv.evaluate(parts, {"mine": Mine()}, **ask)
    right = tv.evaluate(parts, {"mine": "popularity"}, **ask)
    assert found.table()["value"].to_list() == pytest.approx(right.table()["value"].to_list())
    described = found.manifest["systems"]["mine"]
    assert isinstance(described["definition"], str)
    assert described["parameters"].get(name, value) == value
    assert len(found.warnings) <= len(right.warnings) + (name == "caution" and isinstance(value, str))


def test_functions_and_runs(parts):
    zeros = tv.Function(lambda users: np.zeros((len(users), parts_items(parts))))
    assert manifest_of(parts, zeros)["systems"]["it"]["parameters"] == {"ids": False}
    run = pl.DataFrame({"user": parts.test.frame["user"], "item": parts.test.frame["item"]}).unique()
    run = run.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    assert manifest_of(parts, tv.Run(run), design="AR-AI-AN")["systems"]["it"] == {"system": "run", "source": "a table"}


def parts_items(parts: tv.Parts) -> int:
    return pl.concat([parts.train.frame["item"], parts.test.frame["item"]]).n_unique()


def test_versions_and_designs_in_words(parts, tmp_path):
    manifest = manifest_of(parts, "popularity", design="1R-TI-NN5")
    assert manifest["design_words"] == dict(words_of(Design.parse("1R-TI-NN5")))
    named = {
        re.split(r"[<>=]", line)[0] for line in importlib.metadata.requires("trueval") or () if "extra" not in line
    }
    numeric = named - {"rich", "typer", "threadpoolctl"}  # what values depend on
    assert set(manifest["versions"]) == {"python", *numeric}
    assert all(manifest["versions"][name] == importlib.metadata.version(name) for name in numeric)
    test = parts.test.frame.select("user", "item")
    given = tv.evaluate_run(test.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")), test, metrics="rr")
    assert given.manifest["design_words"] == {"given": "lists that were made elsewhere, in their own order"}
    page = tv.evaluate(parts, {"mine": "ease"}, metrics="ndcg@5", interval="none").to_html()
    assert "regularization 1000.0" in page
    assert "all relevant items of a user are ranked together" in page


def test_experiments(parts, tmp_path, monkeypatch):
    pl.concat([parts.train.frame, parts.test.frame]).write_parquet(tmp_path / "log.parquet")
    (tmp_path / "ownmodels.py").write_text(
        "class Own:\n    def __init__(self, power=1.0, mark='x'):\n"
        "        self.power, self.mark = power, mark\n\n"
        "    def fit(self, train):\n        self.zeros = 0.0 * train.popularity\n"
        "        return self\n\n    def score(self, users):\n        return 0.0 * users[:, None] + self.zeros\n"
    )
    file = tmp_path / "experiment.toml"
    file.write_text(
        '[data]\npath = "log.parquet"\n[split]\nseeds = [1, 2]\n[evaluation]\ndesigns = ["AR-TI-AN", "1R-TI-NN5"]\n'
        'metrics = "ndcg@5"\n[systems]\nease = {}\nmine = { import = "ownmodels:Own", power = 0.5 }\n'
    )
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    now = iter(range(100000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)) ** 2)
    tv.run(file, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert found["systems"]["ease"]["parameters"] == {"regularization": 1000.0, "threshold": None}
    assert len(found["systems"]["ease"]["fit_seconds"]) == 2
    assert found["systems"]["mine"]["system"] == "ownmodels:Own"
    assert found["systems"]["mine"]["parameters"] == {"power": 0.5, "mark": "x"}
    assert set(found["design_words"]) == {"AR-TI-AN", "1R-TI-NN5"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "regularization=1000.0" in page
    again = tv.run(file, tmp_path / "out", resume=True)  # nothing is fitted again
    assert json.loads(json.dumps(again.manifest["systems"])) == found["systems"]
    assert record_of(tv.make_system("ease")).name == "ease"
