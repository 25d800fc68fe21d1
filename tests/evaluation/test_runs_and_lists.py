"""Runs beside systems, candidates listed by user, streamed files, and several runs over one catalogue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.run_tables import read_run

METRICS = ["ndcg@5", "ap", "rr", "recall@3"]


@pytest.fixture(scope="module")
def world() -> tuple[tv.Parts, np.ndarray, pl.DataFrame]:
    rng = np.random.default_rng(0)
    log = pl.DataFrame({"user": rng.integers(0, 50, 2000), "item": rng.integers(0, 60, 2000)}).unique(
        maintain_order=True
    )
    scores = rng.standard_normal((50, 60)).astype(np.float32)
    run = pl.DataFrame(
        {"user": np.repeat(np.arange(50), 60), "item": np.tile(np.arange(60), 50), "score": scores.ravel()}
    )
    return tv.split(log, "holdout", ratio=0.3, seed=1), scores, run


@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-TI-AN", "1R-AI-AN", "AR-TI-AN-condensed", "AR-AI-AN-head10"])
def test_a_complete_run_equals_its_system(world, design):
    parts, scores, run = world
    result = tv.evaluate(parts, {"model": scores, "run": tv.Run(run)}, design=design, metrics=METRICS, interval="none")
    for metric in METRICS:
        assert result["model", metric].value == pytest.approx(result["run", metric].value, abs=1e-12)


def test_a_run_refuses_sampled_targets(world):
    parts, _, run = world
    with pytest.raises(tv.TruevalError, match="cannot be evaluated under AR-TI-NN5"):
        tv.evaluate(parts, {"run": tv.Run(run)}, design="AR-TI-NN5", metrics="rr")


def test_candidates_listed_by_user(world):
    parts, scores, run = world
    same = tv.evaluate(parts, {"m": scores}, design="AR-LIST-AN", items=run.select("user", "item"), metrics=METRICS)
    whole = tv.evaluate(parts, {"m": scores}, design="AR-AI-AN", metrics=METRICS)
    for metric in METRICS:
        assert same["m", metric].value == whole["m", metric].value
        assert same.random[metric] == pytest.approx(whole.random[metric])
    test = parts.test.frame.select("user", "item")
    only = tv.evaluate(parts, {"m": scores}, design="AR-LIST-AN", items=test, metrics=["precision@1", "rr"])
    assert only["m", "precision@1"].value == 1  # nothing but relevant items to rank
    with pytest.raises(tv.TruevalError, match="not among the candidates"):
        tv.evaluate(parts, {"m": scores}, design="AR-LIST-AN", items=test.head(-1), metrics="rr")


@pytest.mark.parametrize("ties", ["random", "expected", "worst"])
def test_streaming_changes_nothing(world, tmp_path: Path, monkeypatch, ties):
    parts, _, run = world
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 130)
    path = tmp_path / "run.parquet"
    coarse = run.with_columns(pl.col("score").round(1)).filter(pl.col("user") % 7 != 0)  # some users get nothing
    coarse.sort("user").write_parquet(path)
    of_lists = ["novelty@3"] if ties == "worst" else ["novelty@3", "coverage@3", "seen@3", "popularity_rank@3"]
    ask = {"train": parts.train, "metrics": [*METRICS, *of_lists], "ties": ties}
    for population, missing in (("relevant", "zero"), ("relevant", "drop"), ("all", "zero"), ("all", "drop")):
        asked = {**ask, "population": population, "missing": missing}
        whole = tv.evaluate_run(path, parts.test, **asked)
        pieces = tv.evaluate_run(path, parts.test, sorted_by_user=True, **asked)
        assert whole.table().equals(pieces.table())
        assert whole.warnings == pieces.warnings
        order = ["system", "user"]
        assert whole.per_user.sort(order).equals(pieces.per_user.sort(order))
    shuffled = tmp_path / "shuffled.parquet"
    coarse.sample(fraction=1, shuffle=True, seed=3).write_parquet(shuffled)
    with pytest.raises(tv.TruevalError, match="not sorted by user"):
        tv.evaluate_run(shuffled, parts.test, sorted_by_user=True, metrics="rr")


def test_a_streamed_run_with_ids_of_another_type_is_refused(world, tmp_path: Path):
    parts, _, run = world
    run.sort("user").with_columns(pl.col("user").cast(pl.String)).write_parquet(tmp_path / "run.parquet")
    with pytest.raises(tv.TruevalError, match="user ids are of different types"):
        tv.evaluate_run(tmp_path / "run.parquet", parts.test, sorted_by_user=True, metrics="rr")


def test_row_order_and_threads_change_nothing(world):
    parts, _, run = world
    coarse = run.with_columns(pl.col("score").round(1))
    base = tv.evaluate_run(coarse, parts.test, metrics=METRICS, seed=3, threads=1)
    other = tv.evaluate_run(
        coarse.sample(fraction=1, shuffle=True, seed=1), parts.test.frame.sample(fraction=1, shuffle=True, seed=2),
        metrics=METRICS, seed=3, threads=3,
    )  # fmt: skip
    assert base.table().equals(other.table())


def test_input_types_agree(world, tmp_path: Path):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    parts, _, run = world
    few, test = run.filter(pl.col("item") < 30), parts.test.frame
    few.write_csv(tmp_path / "run.csv")
    few.write_ndjson(tmp_path / "run.jsonl")
    base = tv.evaluate_run(few, test, metrics=METRICS).table()
    forms = [
        (pandas.DataFrame(few.to_dict(as_series=False)), pandas.DataFrame(test.to_dict(as_series=False))),
        (pyarrow.table(few.to_dict(as_series=False)), pyarrow.table(test.to_dict(as_series=False))),
    ]
    for recs, truth in forms:
        assert tv.evaluate_run(recs, truth, metrics=METRICS).table().equals(base)
    for name in ("run.csv", "run.jsonl"):
        assert tv.evaluate_run(tmp_path / name, test, metrics=METRICS).table().equals(base)
    as_text = [frame.with_columns(pl.col("user", "item").cast(pl.String)) for frame in (few, test)]
    as_category = [frame.with_columns(pl.col("user", "item").cast(pl.Categorical)) for frame in as_text]
    for recs, truth in (as_text, as_category, (as_text[0], as_category[1])):
        # text sorts otherwise than numbers, so sums are taken in another order
        values = tv.evaluate_run(recs, truth, metrics=METRICS).table()["value"]
        assert values.to_list() == pytest.approx(base["value"].to_list(), abs=1e-14)


def test_ids_beyond_float_precision():
    big = 2**53
    recs = pl.DataFrame({"user": [big, big], "item": [big + 1, big], "rank": [1, 2]})
    test = pl.DataFrame({"user": [big], "item": [big]})
    assert tv.evaluate_run(recs, test, metrics="rr")["run", "rr"].value == 0.5


def test_coverage_is_over_one_catalogue():
    test = pl.DataFrame({"user": [1], "item": ["a"]})
    runs = {
        "one": pl.DataFrame({"user": [1], "item": ["a"], "rank": [1]}),
        "two": pl.DataFrame({"user": [1, 1], "item": ["a", "b"], "rank": [1, 2]}),
    }
    result = tv.evaluate_run(runs, test, metrics="coverage@2")
    assert result["one", "coverage@2"].value == 0.5
    assert result["two", "coverage@2"].value == 1
    assert any("catalogue" in warning for warning in result.warnings)


def test_popularity_counts_every_train_user():
    """Users without a judgement still make items popular."""
    train = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["a", "a", "a", "b"]})
    test = pl.DataFrame({"user": [1], "item": ["b"]})
    run = pl.DataFrame({"user": [1], "item": ["a"], "rank": [1]})
    extra = pl.DataFrame({"user": [1], "item": ["b"], "rank": [2]})
    result = tv.evaluate_run(pl.concat([run, extra]), test, train=train, metrics="average_popularity@1")
    assert result["run", "average_popularity@1"].value == 3


def test_a_streamed_piece_may_have_nothing_in_common_with_the_test_set(tmp_path):
    # the last user comes in a piece of their own, with a list that nobody judged
    run = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 9], "score": [0.9, 0.1, 0.8, 0.2, 0.5]})
    test = pl.DataFrame({"user": [1, 2, 3], "item": [2, 1, 1]})
    run.write_parquet(tmp_path / "run.parquet")
    whole = tv.evaluate_run(run, test, metrics=["rr"], interval="none")
    streamed = tv.evaluate_run(tmp_path / "run.parquet", test, metrics=["rr"], interval="none", sorted_by_user=True)
    assert streamed.table()["value"].to_list() == whole.table()["value"].to_list() == [pytest.approx(0.5)]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("column", "what"), [("user", "no user"), ("item", "no item")])
def test_a_run_with_nothing_in_common_is_refused(tmp_path, streamed, column, what):
    run = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "score": [0.9, 0.1, 0.8]})
    run.with_columns(pl.col(column) + 100).write_parquet(tmp_path / "run.parquet")
    with pytest.raises(tv.TruevalError, match=what):
        tv.evaluate_run(
            tmp_path / "run.parquet", pl.DataFrame({"user": [1, 2], "item": [2, 1]}), metrics=["rr"],
            sorted_by_user=streamed,
        )  # fmt: skip


@pytest.mark.parametrize("order", ["user", "item"])
def test_large_files_are_streamed_where_they_are_sorted_and_the_result_is_the_same(tmp_path, monkeypatch, order):
    rng = np.random.default_rng(4)
    run = pl.DataFrame({"user": rng.integers(0, 40, 900), "item": rng.integers(0, 60, 900)}).unique()
    run = run.with_columns(score=pl.Series(rng.random(len(run)))).sort(order, "score")
    test = pl.DataFrame({"user": rng.integers(0, 45, 300), "item": rng.integers(0, 60, 300)}).unique()
    run.write_parquet(tmp_path / "run.parquet", row_group_size=50)
    asked = {"metrics": ["ndcg@5", "rr", "coverage@5"], "resamples": 50}
    whole = tv.evaluate_run(tmp_path / "run.parquet", test, **asked)
    monkeypatch.setattr("trueval.data.whole_runs.MANY_ROWS", 100)
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 50)
    read_whole = []
    monkeypatch.setattr("trueval.data.whole_runs.read_run", lambda *a, **o: read_whole.append(1) or read_run(*a, **o))
    large = tv.evaluate_run(tmp_path / "run.parquet", test, **asked)
    assert bool(read_whole) == (order == "item")
    assert large.table().equals(whole.table())
    assert large.per_user.equals(whole.per_user)


@pytest.mark.parametrize("design", ["1R-TI-NN20", "1R-AI-AN", "P1R2-TI-AN", "AR-TI-AN"])
def test_the_default_metrics_are_those_with_a_meaning_under_the_design(world, design):
    parts, scores, _ = world
    for several in (parts, [parts, parts]):
        result = tv.evaluate(several, {"m": scores}, design=design, interval="t")
        measured = [str(spec) for spec in result.evaluation.specs.values()]
        assert measured == ["ndcg@10", "recall@10"] + ["coverage@10"] * design.startswith("AR")
        assert any("not measured" in w and "coverage@10" in w for w in result.warnings) != design.startswith("AR")
    if "1R" in design:  # who asks for it must know that it is not to be had
        with pytest.raises(tv.TruevalError, match="coverage@10 has no meaning"):
            tv.evaluate(parts, {"m": scores}, design=design, metrics=["ndcg@10", "coverage@10"])
