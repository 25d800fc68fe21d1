"""Every preset against the library it is named after, on every metric that both have (`libraries.py` has the tables).

trec_eval, ranx and Spark are in the environment of the tests; RecTools, RePlay and recommenders in that of
`make test-adapters`. What LensKit, RecBole and compiled ranx say was recorded by running them (`record_values.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import libraries
import polars as pl
import pytest
from worlds import COMPLETE, LONG, WORLDS, World

import trueval as tv
from trueval.evaluation.compat import PRESETS
from trueval.metrics.grammar import parse

HERE = Path(__file__).parent
RANKED = {"rectools", "recbole"}  # take ranks, not scores, so that nothing is left to be tied


def table(rows: list[tuple], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def run_of(world: World, *, ranks: bool = False) -> pl.DataFrame:
    if ranks and not world.complete:
        rows = [(u, i, rank) for u, items in world.ranked.items() for rank, i in enumerate(items, 1)]
        return table(rows, "user", "item", "rank")
    return table([(u, i, s) for u, row in world.lists.items() for i, s in row.items()], "user", "item", "score")


def test_of(world: World) -> pl.DataFrame:
    return table([(u, i, float(g)) for u, row in world.judged.items() for i, g in row.items()], "user", "item", "value")


test_of.__test__ = False  # type: ignore[attr-defined]


def ours(world: World, metrics: list[str], compat: str, **options: Any) -> dict[str, float]:
    """Our values under a preset. Metrics that differ in nothing but defaults written out are asked for apart."""
    options |= {"train": table(world.seen, "user", "item"), "items": pl.DataFrame({"item": world.catalogue})}
    options |= {"threshold": world.level} if world.level > 1 else {}
    turns: list[dict[str, str]] = []
    for metric in metrics:
        text = str(parse(metric))
        turn = next((turn for turn in turns if text not in turn), None)
        if turn is None:
            turns.append(turn := {})
        turn[text] = metric
    found: dict[str, float] = {}
    for turn in turns:
        run, test = run_of(world, ranks=compat in RANKED), test_of(world)
        result = tv.evaluate_run(run, test, metrics=list(turn.values()), compat=compat, interval="none", **options)
        found |= zip(turn.values(), result.table()["value"])
    return found


def assert_equal(world: World, theirs: dict[str, float], compat: str, **options: Any) -> None:
    found = ours(world, list(theirs), compat, **options)
    close = 1e-7 if world.complete else 1e-9  # GAUC is a sum of 32-bit numbers
    wrong = {
        metric: (found[metric], value) for metric, value in theirs.items() if not abs(found[metric] - value) < close
    }
    assert not wrong, f"{compat}, {world.name}: (ours, theirs) {wrong}"
    assert world.complete or len(set(theirs.values())) > 5  # a library that says 0 to all would agree with anything


def named(worlds: list[World]) -> Any:
    return pytest.mark.parametrize("world", worlds, ids=lambda world: world.name)


@named(WORLDS + LONG)
def test_trec_eval(world):
    pytest.importorskip("pytrec_eval")
    assert_equal(world, libraries.trec_eval(world), "trec_eval")


@named(WORLDS + LONG)
@pytest.mark.parametrize("library", ["rectools", "replay", "recommenders"])
def test_pandas_libraries(library, world):
    needed = {"rectools": "rectools.metrics", "recommenders": "recommenders.evaluation.python_evaluation"}
    pytest.importorskip(needed.get(library, "replay.metrics"), reason=f"make test-adapters has {library}")
    assert_equal(world, getattr(libraries, library)(world), library)


@pytest.mark.parametrize("library", ["lenskit", "recbole", "ranx"])
def test_recorded(library):
    recorded = json.loads((HERE / "recorded" / f"{library}.json").read_text())["values"]
    worlds = {world.name: world for world in WORLDS + COMPLETE + LONG}
    assert len(recorded) >= len(WORLDS) + (len(LONG) if library == "ranx" else 0)
    for name, theirs in recorded.items():
        assert_equal(worlds[name], theirs, library)


def test_ranx():
    """Without ties: uncompiled, since compiling takes minutes, ranx orders equal scores in another way."""
    pytest.importorskip("ranx")
    done = subprocess.run(
        [sys.executable, HERE / "record_values.py", "ranx", "--untied"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["values"]
    assert len(found) == len(WORLDS) / 2
    for world in WORLDS:
        if not world.tied:
            assert_equal(world, found[world.name], "ranx")


@named([*WORLDS[:4], LONG[2]])
def test_spark(world, spark):
    assert_equal(world, libraries.spark(world, spark.sparkContext), "spark")


@pytest.mark.parametrize("compat", sorted(PRESETS))
def test_streamed_runs_give_the_same(compat, tmp_path):
    world = WORLDS[3]
    asked = {"metrics": ["ap@3", "ndcg@5", "recall@40", "rr"], "compat": compat, "interval": "none"}
    run = run_of(world).sort("user", maintain_order=True)
    run.write_parquet(tmp_path / "run.parquet")
    whole = tv.evaluate_run({"run": run}, test_of(world), **asked)
    pieces = tv.evaluate_run(tmp_path / "run.parquet", test_of(world), sorted_by_user=True, **asked)
    assert whole.table().equals(pieces.table())
