"""What a person may give by mistake is refused in words: no bare TypeError, no StopIteration, no error of polars."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv

ROWS = 40


def log_of() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    pairs = [(u, int(i)) for u in range(20) for i in rng.choice(15, 8, replace=False)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    return log.with_columns(value=pl.Series(rng.integers(1, 6, len(log)).astype(float)), time=pl.int_range(pl.len()))


LOG = log_of()
PARTS = tv.split(LOG, "holdout", ratio=0.3)
TEST = PARTS.test.frame
RUN = LOG.select("user", "item", score=pl.col("time") % 7 / 7)
RESULT = tv.evaluate_run({"a": RUN, "b": RUN.with_columns(score=-pl.col("score"))}, TEST, metrics="ndcg@5,recall@5")
PREDICTED = pl.DataFrame({"prediction": np.linspace(0.1, 0.9, 60), "label": [0, 1, 1] * 20, "user": [0, 1, 2, 3] * 15})
ARMS = pl.DataFrame({"user": range(60), "arm": ["a", "b"] * 30, "clicks": [0, 1, 1] * 20})
SHOWN = pl.DataFrame({"item": ["a", "b"] * 20, "click": [0, 1, 1, 0] * 10, "propensity": [0.5] * 40})
WRONG: dict[str, Any] = {
    "None": None, "3": 3, "-1": -1, "3.5": 3.5, "nan": float("nan"), "text": "nonsense", "no text": "", "bytes": b"x",
    "[]": [], "[1]": [1], "{}": {}, "{a: 1}": {"a": 1}, "object": object(), "table": pl.DataFrame({"x": [1]}),
    "empty table": pl.DataFrame(), "function": lambda x: x, "class": dict, "True": True, "array": np.zeros(3),
    "column": pl.Series([1]), "log": LOG, "result": RESULT, "parts": PARTS, "tuple": ("a", "b"), "set": {"a"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A wrong word may be a good name for a folder: what is written under it stays out of the project."""
    monkeypatch.chdir(tmp_path)


# Calls that work; each argument in turn is replaced by what is wrong.
CALLS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "read": ([LOG], {"columns": None, "name": None}),
    "split": ([LOG, "holdout"], {"seed": 0, "min_user": 0, "min_item": 0, "ratio": 0.3, "by": "user"}),
    "leakage": ([PARTS], {}),
    "systems": (["popularity"], {}),
    "make_system": (["average"], {"mu": 2.0}),
    "tune": (
        ["average", {"mu": [1.0]}],
        {"data": PARTS, "metric": "ndcg@10", "on": "validation", "ratio": 0.2, "design": "AR-TI-AN",
         "threshold": None, "folder": None, "seed": 0, "threads": None},
    ),
    "evaluate": (
        [PARTS, ["popularity"]],
        {"design": "AR-TI-AN", "metrics": "ndcg@5", "threshold": None, "population": "relevant", "missing": "zero",
         "ties": "random", "interval": "t", "resamples": 50, "items": None, "compat": None, "seed": 0,
         "threads": None, "by": None, "users": None, "min_group": 1, "propensity": None, "level": 0.95},
    ),
    "evaluate_run": (
        [RUN, TEST],
        {"train": None, "items": None, "metrics": "ndcg@5", "threshold": None, "population": "relevant",
         "missing": "zero", "ties": "random", "condensed": False, "without_head": None, "interval": "t",
         "resamples": 50, "columns": None, "sorted_by_user": False, "compat": None, "seed": 0, "threads": None,
         "by": None, "users": None, "min_group": 1, "propensity": None, "level": 0.95, "engine": "local"},
    ),
    "compare": (
        [RESULT],
        {"baseline": "a", "metrics": "ndcg@5", "test": "t", "correct": "holm", "alternative": "two-sided",
         "level": 0.95, "resamples": 100, "seed": 0},
    ),
    "measure": (["ndcg@5", ["a", "b"], {"a"}], {"threshold": None, "complete": False, "ties": "random", "users": 1}),
    "pointwise": ([PREDICTED], {"columns": None}),
    "fit_calibrator": ([PREDICTED], {"columns": None}),
    "calibrate": (
        [PREDICTED], {"validation": PREDICTED.with_columns(prediction=pl.col("prediction") / 2), "columns": None},
    ),
    "ab_test": (
        [ARMS],
        {"arm": "arm", "metrics": "clicks", "user": "user", "pre": None, "control": None, "expected_shares": None,
         "segments": None, "time": None, "correct": "holm", "level": 0.95, "ignore_mismatch": False,
         "sequential": False, "min_group": 1, "seed": 0},
    ),
    "ab_plan": (
        [],
        {"baseline": 0.2, "effect": 0.01, "sd": None, "users": None, "arms": 2, "split": "1:1", "metrics": 1,
         "power": 0.8, "level": 0.95, "daily_users": None, "variance_reduction": 0.0},
    ),
    "ope": (
        [SHOWN, "uniform"],
        {"estimators": None, "propensity": None, "clip": "tuned", "reward": None, "position": None, "context": (),
         "columns": None, "interval": "t", "level": 0.95, "resamples": 50, "seed": 0},
    ),
    "run": (
        [{"data": {"path": LOG}, "evaluation": {"metrics": "ndcg@5"}, "systems": {"popularity": {}}}],
        {"resume": False, "seed": None, "threads": None},
    ),
}  # fmt: skip


def said_or_done(what: str, call: Callable[[], Any]) -> str:
    """Nothing where a call works or is refused in words; otherwise what went wrong."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    except tv.TruevalError:
        return ""
    except BaseException as problem:  # polars panics are no exceptions of the usual kind
        return f"{what}: {type(problem).__name__}: {problem}"[:200]
    return ""


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_arguments_of_the_wrong_kind(name: str):
    function, (given, named) = getattr(tv, name), CALLS[name]
    function(*given, **named)
    failures = []
    for label, wrong in WRONG.items():
        for place in range(len(given)):
            arguments = [*given[:place], wrong, *given[place + 1 :]]
            failures.append(said_or_done(f"argument {place} = {label}", lambda: function(*arguments, **named)))  # noqa: B023
        for key in named:
            failures.append(said_or_done(f"{key} = {label}", lambda: function(*given, **{**named, key: wrong})))  # noqa: B023
    assert [failure for failure in failures if failure] == []


@pytest.mark.parametrize("method", ["by", "gaps", "parity", "opportunity", "compare", "__getitem__"])
def test_methods_of_a_result(method: str):
    failures = [said_or_done(label, lambda: getattr(RESULT, method)(wrong)) for label, wrong in WRONG.items()]  # noqa: B023
    assert [failure for failure in failures if failure] == []


# ---- what people have tried ----------------------------------------------------------------------------------


def test_values_of_a_result():
    assert RESULT["a", "ndcg@5"] == RESULT["a", "ndcg@5[gain=linear]"] == RESULT["a"]["ndcg@5"]
    assert list(RESULT["a"]) == ["ndcg@5", "recall@5"]
    with pytest.raises(tv.TruevalError, match="'ndcg@20' was not measured") as caught:
        RESULT["a", "ndcg@20"]
    assert "ndcg@5" in caught.value.do
    with pytest.raises(tv.TruevalError, match="no system 'als'"):
        RESULT["als"]
    with pytest.raises(tv.TruevalError, match="by system and metric"):
        RESULT["a", "ndcg@5", "x"]


class Model:
    def fit(self, train: Any) -> Model:
        self.scores = train.popularity
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        return np.tile(self.scores, (len(users), 1))


@pytest.mark.parametrize("systems", [[Model], Model, {"mine": Model}, ["popularity", Model]], ids=str)
def test_a_class_is_no_system(systems):
    with pytest.raises(tv.TruevalError, match="Model is a class, not a system") as caught:
        tv.evaluate(PARTS, systems, metrics="ndcg@5")
    assert "Model(" in caught.value.do
    assert tv.evaluate(PARTS, [Model()], metrics="ndcg@5")["Model"]
    with pytest.raises(tv.TruevalError, match="a name, a class or a function"):
        tv.tune(Model(), {"k": [1]}, data=PARTS)


@pytest.mark.parametrize("given", [RUN, LOG, tv.read(LOG), "recs.csv", None, [RUN]], ids=lambda x: type(x).__name__)
def test_recommendations_are_not_parts(given):
    with pytest.raises(tv.TruevalError, match="evaluate needs the parts of a split") as caught:
        tv.evaluate(given, TEST)
    assert "tv.evaluate_run(recs, test)" in caught.value.do


def test_the_shown_item_is_no_choice(trueval, tmp_path):
    shown = SHOWN.rename({"item": "item_id"})
    shown.write_csv(tmp_path / "log.csv")
    found = trueval("ope", tmp_path / "log.csv", "--target", "choice:item_id")
    assert found.code == 2
    assert "a column of their own" in found.err


# ---- columns of every type -----------------------------------------------------------------------------------

COLUMNS = pl.DataFrame({
    "user_id": [i % 8 for i in range(ROWS)], "item_id": [i % 3 for i in range(ROWS)],
    "click": [i * 7 % 5 % 2 for i in range(ROWS)], "propensity": [1 / 3] * ROWS,
    "text": [f"t{i % 4}" for i in range(ROWS)], "number": [(i + 1) / (ROWS + 1) for i in range(ROWS)],
    "negative": [-1.0 * i for i in range(ROWS)], "flag": [i % 2 == 0 for i in range(ROWS)],
    "day": [dt.date(2024, 1, 1 + i % 28) for i in range(ROWS)],
    "moment": [dt.datetime(2024, 1, 1 + i % 28, tzinfo=dt.UTC) for i in range(ROWS)],
    "nothing": pl.Series([None] * ROWS, dtype=pl.Null), "holes": [None if i % 5 else i for i in range(ROWS)],
    "lists": [[i] for i in range(ROWS)], "nan": [float("nan")] * ROWS, "one": [1] * ROWS,
    "probability": [0.5] * ROWS, "place": [1 + i % 2 for i in range(ROWS)],
    "group": ["old" if i % 2 else "new" for i in range(ROWS)], "span": [dt.timedelta(days=i) for i in range(ROWS)],
    "category": pl.Series([f"c{i % 2}" for i in range(ROWS)], dtype=pl.Categorical),
    "struct": [{"a": i} for i in range(ROWS)], "bytes": [b"x"] * ROWS, "clock": [dt.time(1, 2, 3)] * ROWS,
    "decimal": pl.Series(range(ROWS)).cast(pl.Decimal(10, 2)), "infinite": [float("inf")] * ROWS,
})  # fmt: skip
NAMES = [*COLUMNS.columns, "nosuch", ""]
ONE_EACH = COLUMNS.with_columns(user_id=pl.int_range(pl.len()))
PAIRS = COLUMNS.rename({"user_id": "user", "item_id": "item"}).unique(["user", "item"], maintain_order=True)
SCORED = PAIRS.select("user", "item", score="number")


def by_column(name: str) -> dict[str, Callable[[], Any]]:
    """Everything that takes the name of a column, with this name."""
    ab: dict[str, Any] = {"arm": "group", "metrics": "m=click", "user": "user_id"}
    predicted = {"prediction": "number", "label": "click", "weight": None}
    calls: dict[str, Callable[[], Any]] = {
        "ope choice": lambda: tv.ope(COLUMNS, f"choice:{name}"),
        "ope column": lambda: tv.ope(COLUMNS, f"column:{name}"),
        "ope propensity": lambda: tv.ope(COLUMNS, "uniform", propensity=f"column:{name}"),
        "propensity": lambda: tv.evaluate_run(
            SCORED, PAIRS, propensity=f"column:{name}", metrics="snips(recall)@2", interval="none"
        ),
        "by user": lambda: tv.evaluate_run(
            SCORED, SCORED, users=PAIRS.unique("user").drop("item"), by=name, metrics="rr", min_group=1
        ),
        "by item": lambda: tv.evaluate_run(
            SCORED, SCORED, items=PAIRS.unique("item").drop("user"), by=name, metrics="rr", min_group=1
        ),
    }
    for option in ("reward", "position", "context"):
        calls[f"ope {option}"] = lambda option=option: tv.ope(COLUMNS, "uniform", **{option: name})
    for option in ("arm", "user", "pre", "segments", "time"):
        calls[f"ab {option}"] = lambda option=option: tv.ab_test(ONE_EACH, **{**ab, option: name})
    for metric in (name, f"m={name}", f"m={name}/one", f"m=click/{name}", f"m:median={name}", f"m:trimmed={name}"):
        calls[f"ab {metric}"] = lambda metric=metric: tv.ab_test(ONE_EACH, **{**ab, "metrics": metric})
    for role in ("prediction", "label", "user", "item", "time", "weight"):
        roles = {**predicted, role: name}
        calls[f"pointwise {role}"] = lambda roles=roles: tv.pointwise(COLUMNS, columns=roles)
        calls[f"calibrator {role}"] = lambda roles=roles: tv.fit_calibrator(COLUMNS, columns=roles)
    for role in ("user", "item", "score", "rank"):
        calls[f"run {role}"] = lambda role=role: tv.evaluate_run(PAIRS, SCORED, columns={role: name}, metrics="rr")
    for role in ("user", "item", "value", "time"):
        calls[f"split {role}"] = lambda role=role: tv.split(tv.read(COLUMNS, columns={role: name}), "holdout")
        calls[f"temporal {role}"] = lambda role=role: tv.split(tv.read(COLUMNS, columns={role: name}), "temporal")
    return calls


def test_the_table_of_columns_can_be_used_at_all():
    clicks = COLUMNS["click"].mean()
    assert tv.ope(COLUMNS, "uniform")["naive"].value == pytest.approx(clicks)
    assert tv.ab_test(ONE_EACH, arm="group", metrics="m=click", user="user_id").table()["n"].sum() == len(ONE_EACH)
    fitted = tv.fit_calibrator(COLUMNS, columns={"prediction": "number", "label": "click", "weight": None})
    yes, no = COLUMNS["click"].sum(), (1 - COLUMNS["click"]).sum()
    targets = (yes * (yes + 1) / (yes + 2) + no / (no + 2)) / (yes + no)  # Platt's; the mean of the fit is theirs
    assert fitted.apply(COLUMNS["number"]).mean() == pytest.approx(targets, abs=1e-6)
    parts = tv.split(tv.read(COLUMNS, columns={"time": "one"}), "holdout")
    assert len(parts.train) + len(parts.test) == len(COLUMNS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_columns_of_any_type_for_anything(name: str):
    failures = [said_or_done(what, call) for what, call in by_column(name).items()]
    assert [failure for failure in failures if failure] == []
