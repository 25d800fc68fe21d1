"""Facts saved and loaded: the same bits, and nothing half written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fact_worlds import THRESHOLD, facts_of, make_world, possible_world, truth

import trueval
from trueval.data.checksummed_json import file_checksum, seal, unseal
from trueval.design.design import Design
from trueval.errors import DataError, OutputError
from trueval.facts.files import load_facts, save_facts
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import select

ARRAYS = (
    "unit_user", "start", "item", "value", "relevant", "rank", "above", "tied", "list_start", "list_item", "targets",
    "splits", "score", "stratum", "pool", "list_rank", "list_same",
)  # fmt: skip
SINGLE = ("catalogue", "exact", "ties", "counted", "one_relevant", "condensed", "label")


def check_same(left: RankingFacts, right: RankingFacts) -> None:
    for name in ARRAYS:
        one, other = getattr(left, name), getattr(right, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.dtype == other.dtype, name
            assert one.tobytes() == other.tobytes(), name
    for name in SINGLE:
        assert getattr(left, name) == getattr(right, name), name
    for name in ("users", "items"):
        one, other = getattr(left, name).values, getattr(right, name).values
        assert one.dtype == other.dtype
        assert one.equals(other)


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("ties", ["random", "worst", "expected"])
@pytest.mark.parametrize("design", ["AR-TI-AN", "AR-AI-NN2", "1R-AI-NN2pop", "P1R2-AI-NN1", "AR-TI-AN-condensed"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, design, ties, strings):
    world, _ = possible_world(3, Design.parse(design), strings=strings)
    facts = facts_of(world, design, ties=ties)
    assert save_facts(facts, tmp_path / "facts") == tmp_path / "facts"
    check_same(load_facts(tmp_path / "facts"), facts)


def test_empty_lists_odd_numbers_and_huge_ids(tmp_path: Path):
    run = pl.DataFrame({"user": [2**60 + 1], "item": [-5], "score": [1e-310]})
    test = {(2**60 + 1, 7): 0.1 + 0.2, (2**60 + 2, -5): 1e300, (3, 2**62): 5e-324}
    facts = run_facts(run, truth(test, run))
    facts = facts.changed(score=np.array([np.nan, np.inf, -0.0], np.float32), label={"design": "given", "seed": 3})
    assert facts.length.tolist() == [0, 1, 0]
    save_facts(facts, str(tmp_path / "deep" / "facts"))
    check_same(load_facts(str(tmp_path / "deep" / "facts")), facts)
    nobody = select(facts, np.zeros(3, bool))
    save_facts(nobody, tmp_path / "nobody")
    check_same(load_facts(tmp_path / "nobody"), nobody)


def test_the_public_names(tmp_path: Path):
    facts = facts_of(make_world(1), "AR-TI-AN")
    trueval.save_facts(facts, tmp_path / "facts")
    check_same(trueval.load_facts(tmp_path / "facts"), facts)


def test_tables_are_readable_by_anybody(tmp_path: Path):
    world = make_world(5, strings=True)
    facts = facts_of(world, "AR-TI-AN")
    save_facts(facts, tmp_path / "facts")
    units = pl.read_parquet(tmp_path / "facts" / "units.parquet")
    items = pl.read_parquet(tmp_path / "facts" / "items.parquet")["item"].to_list()
    for row in units.iter_rows(named=True):
        judged = {items[code]: value for code, value in zip(row["item"], row["value"])}
        assert judged == world.judged(row["user"])
        assert row["relevant"] == [value >= THRESHOLD for value in row["value"]]


def test_saving_again_replaces_facts_and_nothing_else(tmp_path: Path):
    old, new = facts_of(make_world(1), "AR-TI-AN"), facts_of(make_world(2), "AR-AI-AN")
    folder = tmp_path / "facts"
    save_facts(old, folder)
    save_facts(new, folder)
    check_same(load_facts(folder), new)
    other = tmp_path / "other"
    other.mkdir()
    save_facts(new, other)  # empty, so it may be used
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("keep me")
    with pytest.raises(OutputError, match="already something else"):
        save_facts(new, mine)
    assert (mine / "notes.txt").read_text() == "keep me"
    with pytest.raises(OutputError, match="a file"):
        save_facts(new, mine / "notes.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts", "mine", "other"]


def test_a_failure_leaves_the_old_facts_and_no_trace(tmp_path: Path, monkeypatch):
    old, new = facts_of(make_world(1), "AR-TI-AN"), facts_of(make_world(2), "AR-AI-AN")
    folder = tmp_path / "facts"
    save_facts(old, folder)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(OutputError, match="No space left"):
            save_facts(new, folder)
    with monkeypatch.context() as patch:
        swap = os.replace
        patch.setattr("trueval.data.writing.exchange", lambda one, other: False)  # as on systems that cannot
        patch.setattr("os.replace", lambda a, b: full() if Path(a).name == "new" else swap(a, b))
        with pytest.raises(OutputError, match="No space left"):
            save_facts(new, folder)
    check_same(load_facts(folder), old)
    assert [path.name for path in tmp_path.iterdir()] == ["facts"]


def spoil_json(folder: Path, **changes) -> None:
    """Facts that another version might have written."""
    told = unseal((folder / "facts.json").read_text())
    told = {name: value for name, value in (told | changes).items() if value != "gone"}
    (folder / "facts.json").write_text(seal(told))


def without_rank(folder: Path) -> None:
    path = folder / "units.parquet"
    pl.read_parquet(path).drop("rank").write_parquet(path)
    checksums = unseal((folder / "facts.json").read_text())["checksums"]
    spoil_json(folder, checksums={**checksums, "units": file_checksum(path)})


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda f: (f / "facts.json").unlink(), "not a folder of facts"),
        (lambda f: (f / "facts.json").write_text("{"), "not a folder of facts"),
        (lambda f: spoil_json(f, version=99), "version 2"),
        (lambda f: spoil_json(f, ties="gone"), "no ties"),
        (lambda f: spoil_json(f, units=77), "77"),
        (lambda f: (f / "units.parquet").write_bytes(b"PAR1 nothing"), "another checksum"),
        (lambda f: (f / "items.parquet").unlink(), r"items\.parquet"),
        (without_rank, "no rank"),
    ],
)
def test_folders_that_are_not_facts_are_refused(tmp_path: Path, spoil, told):
    save_facts(facts_of(make_world(1), "AR-TI-AN"), tmp_path / "facts")
    spoil(tmp_path / "facts")
    with pytest.raises(DataError, match=told):
        load_facts(tmp_path / "facts")


def test_a_single_bit_that_is_another_one_is_seen(tmp_path: Path):
    save_facts(facts_of(make_world(1), "AR-TI-AN"), tmp_path / "facts")
    rng = np.random.default_rng(3)
    for path in sorted((tmp_path / "facts").iterdir()):
        whole = path.read_bytes()
        for place in {0, len(whole) - 1, *rng.integers(0, len(whole), 60).tolist()}:
            flipped = bytearray(whole)
            flipped[place] ^= 1 << int(rng.integers(8))
            for damaged in (bytes(flipped), whole[:place]):
                path.write_bytes(damaged)
                with pytest.raises(DataError):
                    load_facts(tmp_path / "facts")
        path.write_bytes(whole)
    load_facts(tmp_path / "facts")
