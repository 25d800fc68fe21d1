"""Runs in parts, of which some have a random ranking beside them and some have none; names of runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import trueval as tv
from trueval.data.tables import SUFFIXES, stem
from trueval.evaluation.engines import local
from trueval.evaluation.engines.plan import MeasurementPlan
from trueval.evaluation.held_out import read_held_out
from trueval.evaluation.measurements import merge_measurements
from trueval.evaluation.options import EvaluationOptions

ITEMS = list(range(8))


def world(sated: tuple[int, ...]) -> dict[str, pl.DataFrame]:
    """Users whose lists are four of the items they have not seen; the sated have seen everything."""
    users = range(6)
    seen = {user: ITEMS if user in sated else [(user + j) % 8 for j in range(3)] for user in users}
    shown = {user: [item for item in ITEMS if item not in seen[user]][:4] for user in users}
    train = [(user, item) for user in users for item in seen[user]]
    recs = [(user, item, rank) for user in users for rank, item in enumerate(shown[user] or ITEMS[:1], 1)]
    test = [(user, shown[user][user % 4]) for user in users if shown[user] and user != 3]
    return {
        "train": pl.DataFrame(train, schema=["user", "item"], orient="row"),
        "recs": pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row"),
        "test": pl.DataFrame(test, schema=["user", "item"], orient="row"),
        "items": pl.DataFrame({"item": ITEMS}),
    }


@pytest.mark.parametrize("population", ["all", "judged", "relevant"])
@pytest.mark.parametrize("sated", [(), (0,), (2,), (5,), (0, 5)])
@pytest.mark.parametrize("rows", [1, 5, 9])
def test_streamed_and_whole_agree_where_a_user_has_seen_everything(
    sated: tuple[int, ...], rows: int, population: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = world(sated)
    for name, table in given.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    paths = {name: str(tmp_path / f"{name}.parquet") for name in given}
    options = {"train": paths["train"], "items": paths["items"], "population": population, "metrics": "ndcg@3,hit@2"}
    whole = tv.evaluate_run(paths["recs"], paths["test"], **options)
    monkeypatch.setattr(local, "STREAMED_ROWS", rows)
    streamed = tv.evaluate_run(paths["recs"], paths["test"], sorted_by_user=True, **options)
    assert streamed.random == whole.random
    assert streamed.table().equals(whole.table())


@pytest.mark.parametrize("without", [0, 1, 2])
def test_parts_with_and_without_a_random_ranking_add_up_in_any_order(without: int) -> None:
    """As the workers of a cluster answer: whichever part comes first."""
    given = world((without * 2,))
    options = EvaluationOptions(metrics="ndcg@3,hit@2", population="all", interval="none")
    held = read_held_out(given["test"], options, train=given["train"], items=given["items"])
    ids = {"user": given["recs"]["user"], "item": given["recs"]["item"]}
    plan = MeasurementPlan.of("run", held, ids, first=True)
    codes = plan.truth.users.codes(pl.Series(range(6))).reshape(3, 2)
    parts = [plan.part(given["recs"].filter(pl.col("user").is_in(list(map(int, own)))), own) for own in codes]
    whole = plan.whole(given["recs"]).measurements
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        merged = merge_measurements([parts[place].measurements for place in order])
        assert merged.random.keys() == whole.random.keys()
        assert merged.unit_user.tolist() == whole.unit_user.tolist()


def test_the_command_line_with_a_user_who_has_seen_everything(trueval, tmp_path: Path) -> None:
    for name, table in world((5,)).items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    files = [f"--{name}={tmp_path / name}.parquet" for name in ("test", "train", "items")]
    ran = trueval("evaluate", tmp_path / "recs.parquet", *files, "--sorted-by-user", "--population", "all")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".csv.gz", ".parquet.zst", ".csv.zip", ".CSV", ".ascii", ""])
def test_only_known_endings_are_cut_from_names(suffix: str) -> None:
    for name in ("bpr.v1", "bpr", "als-0.05", "2024.01.02", "a.b.c"):
        assert stem(Path("runs") / f"{name}{suffix}") == name


def test_runs_keep_the_dots_of_their_names(trueval, tmp_path: Path) -> None:
    given = world(())
    for name in ("bpr.v1", "bpr.v2"):
        given["recs"].write_parquet(tmp_path / f"{name}.parquet")
    given["recs"].write_csv(tmp_path / "als.0.5.csv")
    (tmp_path / "parts.v3").mkdir()
    given["recs"].write_parquet(tmp_path / "parts.v3" / "part-0.parquet")
    given["test"].write_csv(tmp_path / "test.csv")
    runs = [tmp_path / name for name in ("bpr.v1.parquet", "bpr.v2.parquet", "als.0.5.csv", "parts.v3")]
    result = tv.evaluate_run(runs, given["test"], metrics="hit@2", interval="none")
    assert list(result.evaluation.systems) == ["bpr.v1", "bpr.v2", "als.0.5", "parts.v3"]
    test = ["--test", tmp_path / "test.csv", "--metrics", "hit@2", "--baseline", "bpr.v1"]
    ran = trueval("evaluate", *runs, *test, "--format", "json")
    assert ran.code == 0, ran.err
