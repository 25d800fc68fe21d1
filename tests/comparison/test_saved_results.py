"""Results written and read again are the same results, and say so when they are not results at all."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from comparison_worlds import evaluation_of, system_of

import trueval as tv
from trueval.errors import DataError, OutputError
from trueval.metrics.metric_values import Ratio
from trueval.report.saved_results import load_result, save_folders

RNG = np.random.default_rng(41)


def log(users=60, items=40, each=8):
    rows = [(f"u{u}", f"i{i}", float(RNG.integers(1, 6))) for u in range(users) for i in RNG.choice(items, each, False)]
    return pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")


def evaluated(design="AR-TI-AN", seed=0, **options):
    parts = tv.split(log(), "holdout", ratio=0.4, seed=seed)
    metrics = ["ndcg@5", "recall@5", "anti(precision)@5", "coverage@5", "gini@5"] if design[0] == "A" else ["ndcg@5"]
    systems = ["popularity", "random", "average"]
    return tv.evaluate(parts, systems, design=design, metrics=metrics, threshold=3, seed=seed, **options)


def same(one, other):
    """All that comparisons use is equal to the last bit."""
    assert list(one.systems) == list(other.systems)
    assert list(one.specs) == list(other.specs)
    for name, system in one.systems.items():
        read = other.systems[name]
        assert repr(system.estimates) == repr(read.estimates)
        for label, s in system.sums.items():
            assert np.array_equal(s.numerator, read.sums[label].numerator)
            assert np.array_equal(s.denominator, read.sums[label].denominator)
            assert s.finish is read.sums[label].finish
        for label, found in system.jackknife.items():
            assert np.array_equal(found.one, read.jackknife[label].one)


@pytest.mark.parametrize("design", ["AR-TI-AN", "1R-TI-AN", "P1R10-TI-AN", "AR-TI-NN10"])
def test_a_result_survives_the_disk(tmp_path, design):
    result = evaluated(design)
    result.save(tmp_path / "result")
    same(result.evaluation, load_result(tmp_path / "result"))
    here, there = tv.compare(result), tv.compare(tmp_path / "result")
    assert repr(here.rows) == repr(there.rows)
    assert {path.name for path in (tmp_path / "result").iterdir()} == {
        "results.parquet", "summary.json", "manifest.json",
    }  # fmt: skip
    manifest = json.loads((tmp_path / "result" / "manifest.json").read_text())
    assert manifest["design"] == design
    assert json.loads((tmp_path / "result" / "summary.json").read_text())["systems"].keys() == here_systems(result)


def here_systems(result):
    return result.evaluation.systems.keys()


def test_pooled_metrics_survive_the_disk(tmp_path):
    systems = {
        name: system_of(
            {},
            users=range(30),
            ratios={
                "rmse": Ratio(RNG.random(30) * 4, RNG.integers(1, 5, 30).astype(float), np.sqrt),
                "recall@5": Ratio(RNG.random(30), RNG.integers(1, 5, 30).astype(float)),
            },
        )
        for name in "ab"
    }
    evaluation = evaluation_of(systems)
    save_folders({"": evaluation}, tmp_path / "result")
    same(evaluation, load_result(tmp_path / "result"))
    (one, *_), (other, *_) = tv.compare(tmp_path / "result"), tv.compare(tv.Result(evaluation))
    assert one == other


def test_systems_in_folders_of_their_own(tmp_path):
    """Evaluated apart and joined, systems compare as if evaluated together."""
    test = log()
    runs = {n: test.select("user", "item").with_columns(score=RNG.random(len(test))) for n in ("a", "b", "c")}
    options = {"metrics": "ndcg@5,recall@5", "threshold": 3, "interval": "t"}
    together = tv.evaluate_run(runs, test, **options).compare("a")
    for name, run in runs.items():
        tv.evaluate_run({name: run}, test, **options).save(tmp_path / name)
    apart = tv.compare([tmp_path / name for name in runs], baseline="a")
    assert [c.record() for c in apart] == [c.record() for c in together]


def test_folds_and_seeds_are_saved_side_by_side(tmp_path):
    parts = tv.split(log(), "kfold", n=3)
    result = tv.evaluate(parts, ["popularity", "random"], metrics=["ndcg@5", "coverage@5"], threshold=3)
    result.save(tmp_path / "folds")
    here, there = result.compare("random"), tv.compare(tmp_path / "folds", baseline="random")
    assert {c.repeats for c in here} == {3}
    assert {c.metric for c in here} == {"ndcg@5", "coverage@5"}  # folds may have different catalogues
    assert repr(here.rows) == repr(there.rows)


def test_different_catalogues_leave_coverage_out(tmp_path):
    """Without a catalogue each run's own items are in it; hits do not mind, coverage does."""
    test = pl.DataFrame({"user": range(20), "item": range(20)})
    for name, top in (("a", 20), ("b", 30)):
        run = pl.DataFrame({"user": range(20), "item": [u % 19 + top - 20 for u in range(20)], "rank": 1})
        tv.evaluate_run({name: run}, test, metrics="hit@1,coverage@1").save(tmp_path / name)
        tv.evaluate_run({name: run}, test, metrics="coverage@1").save(tmp_path / f"only {name}")
    found = tv.compare([tmp_path / "a", tmp_path / "b"])
    assert [c.metric for c in found] == ["hit@1"]
    assert any("catalogues differ in size" in note and "coverage@1" in note for note in found.notes)
    with pytest.raises(DataError, match="items in the catalogue: 20"):
        tv.compare([tmp_path / "only a", tmp_path / "only b"])


def test_coverage_is_compared_by_leaving_users_out():
    """A system that shows everyone the same has less coverage than one that shows something else to each."""
    test = pl.DataFrame({"user": range(100), "item": [u % 50 for u in range(100)]})
    runs = {
        "wide": test.with_columns(rank=pl.lit(1)),
        "narrow": test.with_columns(item=pl.col("user") % 2, rank=pl.lit(1)),
    }
    found = tv.evaluate_run(runs, test, metrics="coverage@1", items=list(range(60))).compare("narrow")
    (c,) = found
    assert (c.test, c.verdict) == ("jackknife", "better")
    assert c.difference == pytest.approx(50 / 60 - 2 / 60)
    assert c.low < c.difference < c.high
    assert "coverage@1" in str(found)
    twins = {"wide": runs["wide"], "again": runs["wide"]}
    (c,) = tv.evaluate_run(twins, test, metrics="coverage@1", items=list(range(60))).compare("wide")
    assert (c.difference, c.p, c.verdict) == (0, 1, "not shown")


def test_what_is_no_result(tmp_path):
    with pytest.raises(DataError, match="no result to read"):
        tv.compare(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"no results\.parquet"):
        tv.compare(tmp_path)
    pl.DataFrame({"system": ["a"], "user": [1]}).write_parquet(tmp_path / "bare.parquet")
    with pytest.raises(DataError, match="does not say how its values were made"):
        tv.compare(tmp_path / "bare.parquet")
    pl.DataFrame({"system": ["a"], "user": [1]}).write_csv(tmp_path / "bare.csv")
    with pytest.raises(DataError, match="a folder or a parquet file"):
        tv.compare(tmp_path / "bare.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no parquet")
    with pytest.raises(DataError, match="could not be read as a result"):
        tv.compare(tmp_path / "broken.parquet")


def test_a_result_replaces_its_older_self(tmp_path):
    for seed in (1, 2):
        evaluated(interval="none", seed=seed).save(tmp_path / "result")
    assert load_result(tmp_path / "result").manifest["seed"] == 2


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError):
        evaluated(interval="none").save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_with_only_a_manifest_beside_the_table(tmp_path):
    """As another program may write it: users' values and a manifest, nothing inside the table."""
    result = evaluated(interval="t")
    result.save(tmp_path)
    pl.read_parquet(tmp_path / "results.parquet").write_parquet(tmp_path / "results.parquet")
    here, there = (tv.compare(r, metrics="ndcg@5,recall@5") for r in (result, tmp_path))
    assert repr(here.rows) == repr(there.rows)
