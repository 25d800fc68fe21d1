"""Runs read from files in which every list stands in order: the same values, notes and errors as of a table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data import sorted_runs
from trueval.evaluation.engines.plan import MeasurementPlan
from trueval.kernels import use_kernels

CUT = "ndcg@10,recall@5,ap@10,rr@3,hit@1,rbp@10,coverage@5,gini@10,novelty@10"
DEEP = "ndcg,ap,rr,rprec,err@20,bpref"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(sorted_runs, "_BYTES", 37 * 8)
    monkeypatch.setattr(sorted_runs, "_SAMPLE", 5)
    with use_kernels("compiled"):
        yield


@pytest.fixture
def measured(monkeypatch):
    """Whether each sorted run was measured as one."""
    found = []
    before = MeasurementPlan.sorted

    def watched(self, run):
        part = before(self, run)
        found.append(part is not None)
        return part

    monkeypatch.setattr(MeasurementPlan, "sorted", watched)
    return found


def tables(kind: str = "whole", *, backwards: bool = False, seed: int = 5) -> dict[str, pl.DataFrame]:
    """A run with a list of up to twelve items for most users, test and train sets."""
    rng = np.random.default_rng(seed)
    lists = {user: rng.permutation(40)[: rng.integers(1, 13)] for user in range(60) if user % 7 != 3}
    users = sorted(lists, reverse=backwards)
    run = pl.DataFrame({
        "user": np.repeat(users, [len(lists[user]) for user in users]),
        "item": np.concatenate([lists[user] for user in users]),
        "score": np.concatenate([np.sort(rng.random(len(lists[user])))[::-1] for user in users]),
    })  # fmt: skip
    pairs = pl.DataFrame({"user": rng.integers(0, 64, 500), "item": rng.integers(0, 45, 500)}).unique(
        maintain_order=True
    )
    test = pairs.head(250).with_columns(value=pl.Series(rng.integers(0, 6, 250).astype(float)))
    found = {"run": run, "test": test, "train": pairs.tail(len(pairs) - 250)}
    if kind == "whole":
        return found
    as_text = [
        pl.format(f"{role} {'x' * (20 if kind == 'long' else 0)}{{}}", role).alias(role) for role in ("user", "item")
    ]
    return {name: frame.with_columns(as_text) for name, frame in found.items()}


def both(run: pl.DataFrame, folder, **asked) -> list:
    """The result, or the error, of the run as a table and as a file."""
    path = folder / "run.parquet"
    run.write_parquet(path, row_group_size=50)
    found = []
    for recs in ({"run": run}, {"run": path}):
        try:
            result = tv.evaluate_run(recs, **asked)
            found.append((result.table(), result.per_user, result.warnings, result.to_json()))
        except tv.TruevalError as error:
            found.append((type(error), error.what, error.found, error.do))
    return found


def same(left, right) -> bool:
    return all(a.equals(b) if isinstance(a, pl.DataFrame) else a == b for a, b in zip(left, right, strict=True))


OPTIONS = [
    {"metrics": CUT},
    {"metrics": DEEP},
    {"metrics": CUT, "threshold": 3, "population": "judged"},
    {"metrics": DEEP, "population": "all"},
    {"metrics": CUT, "missing": "drop", "seed": 9},
    *({"metrics": metrics, "ties": rule} for rule in ("given", "expected", "worst", "best") for metrics in (CUT, DEEP)),
    {"metrics": "ndcg@10,recall@5,ap@10", "condensed": True},
    {"metrics": "ndcg@10,recall@5", "without_head": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["whole", "short", "long"])
def test_a_file_in_order_gives_what_its_table_gives(tmp_path, measured, kind, options):
    for backwards in (False, True):
        data = tables(kind, backwards=backwards)
        asked = {"test": data["test"], "train": data["train"], "interval": "none", "resamples": 30, **options}
        table, file = both(data["run"], tmp_path, **asked)
        assert same(table, file)
        assert isinstance(table[0], pl.DataFrame)
    assert measured == [True, True]


KINDS = [
    *(("score", kind) for kind in (pl.Float16, pl.Float32, pl.Int8, pl.UInt16, pl.Int64, pl.Int128, pl.Decimal(12, 6))),
    *((role, kind) for role in ("user", "item")
      for kind in (pl.Int8, pl.UInt8, pl.Int32, pl.UInt32, pl.UInt64, pl.Int128, pl.UInt128, pl.Categorical)),
]  # fmt: skip


@pytest.mark.parametrize(("role", "kind"), KINDS, ids=str)
def test_columns_of_every_kind(tmp_path, role, kind):
    data = tables()
    scores = data["run"].with_columns(-pl.int_range(pl.len()).over("user").cast(pl.Float64).alias("score") + 100)
    change = pl.col(role).cast(pl.String) if kind == pl.Categorical else pl.col(role)
    run = scores.with_columns(change.cast(kind))
    test = data["test"].with_columns(change.cast(pl.String)) if kind == pl.Categorical else data["test"]
    table, file = both(run, tmp_path, test=test, metrics=CUT.replace(",novelty@10", ""), interval="none")
    assert isinstance(table[0], pl.DataFrame)
    assert same(table, file)


def test_with_a_catalogue(tmp_path, measured):
    data = tables()
    asked = {"test": data["test"], "metrics": CUT.replace(",novelty@10", ""), "interval": "none"}
    for items, as_sorted in ((45, True), (30, False)):  # all items, and fewer than are recommended
        catalogue = pl.DataFrame({"item": np.arange(items)})
        judged = data["test"].filter(pl.col("item") < items)
        table, file = both(data["run"], tmp_path, **(asked | {"test": judged, "items": catalogue}))
        assert same(table, file)
        assert measured.pop() == as_sorted
        assert isinstance(table[0], pl.DataFrame) == as_sorted


def test_lists_of_all_targets_have_exact_ranks(tmp_path, measured):
    run = pl.DataFrame({
        "user": np.repeat(np.arange(4), 10), "item": np.tile(np.arange(10), 4), "score": np.tile(-np.arange(10.0), 4),
    })  # fmt: skip
    test = pl.DataFrame({"user": [0, 1, 2, 3], "item": [3, 4, 9, 0]})
    asked = {"test": test, "items": pl.DataFrame({"item": np.arange(10)}), "metrics": "auc,ndcg@5", "interval": "none"}
    table, file = both(run, tmp_path, **asked)
    assert same(table, file)
    assert isinstance(table[0], pl.DataFrame)
    assert measured == [False]  # `run_facts` tells that the ranks are exact


def at_row_77(role: str, value: float | None) -> pl.Expr:
    return pl.when(pl.int_range(pl.len()) == 77).then(value).otherwise(role).alias(role)


FAULTS = {
    "an item twice": pl.col("item").shift(2).over("user").fill_null(pl.col("item")),
    "no user in common": pl.col("user") + 1000,
    "no item in common": pl.col("item") + 1000,
    "users as text": pl.col("user").cast(pl.String),
    "items as text": pl.col("item").cast(pl.String),
    "a score that is missing": at_row_77("score", None),
    "a score that is no number": at_row_77("score", float("nan")),
    "an id that is missing": at_row_77("item", None),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_what_is_wrong_is_told_in_the_same_words(tmp_path, fault):
    data = tables()
    table, file = both(
        data["run"].with_columns(FAULTS[fault]), tmp_path, test=data["test"], metrics="ndcg@10", interval="none"
    )
    assert isinstance(table[0], type)
    assert same(table, file)


def test_a_user_who_comes_back_has_one_list(tmp_path, measured):
    run = tables()["run"]
    again = pl.concat([run, pl.DataFrame({"user": [0], "item": [44], "score": [-5.0]})])
    table, file = both(again, tmp_path, test=tables()["test"], metrics=CUT.replace(",novelty@10", ""), interval="none")
    assert same(table, file)
    assert measured == [False]
