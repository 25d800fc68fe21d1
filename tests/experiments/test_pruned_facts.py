"""Facts that nothing refers to any more are removed, but never while an experiment could still need them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from experiment_worlds import EXPERIMENT, fits, write_experiment

import trueval as tv
from trueval.errors import TruevalError
from trueval.experiments.cache import Cache

OTHER = 'other = { import = "bentmodels:Bent", power = 0.8, mark = "other" }\n'


def facts(place: Path) -> dict[str, int]:
    """Sizes of the facts of an experiment by key."""
    folders = (place / "out" / "facts").iterdir()
    return {folder.name: sum(file.stat().st_size for file in folder.iterdir()) for folder in folders}


def keys(result: tv.ExperimentResult, *systems: str) -> set[str]:
    by_design = result.manifest["facts"].values()
    return {key for repeats in by_design for own in repeats.values() for name, key in own.items() if name in systems}


def test_a_changed_system_keeps_the_facts_of_others_and_loses_its_own(place: Path, trueval: Callable) -> None:
    first = tv.run(write_experiment(place, EXPERIMENT + OTHER), place / "out")
    before = facts(place)
    stale = keys(first, "other")
    assert len(stale) == 2 * 2  # designs and seeds
    assert set(before) == keys(first, "popularity", "plsa", "bent", "other")
    (place / "fits.txt").unlink()
    path = write_experiment(place, EXPERIMENT + OTHER.replace("0.8", "0.2"))
    ran = trueval("run", path, "-o", place / "out", "--resume")
    assert ran.code == 0, ran.err
    assert fits(place) == ["other 3", "other 5"]
    after = facts(place)
    assert before.keys() - after.keys() == stale
    assert len(after) == len(before)
    megabytes = sum(before[key] for key in stale) / 1e6
    assert f"removed stored facts that no system or design uses any more: 4 ({megabytes:.1f} MB)" in ran.err
    again = trueval("run", path, "-o", place / "out", "--resume")
    assert "removed" not in again.err
    assert fits(place) == ["other 3", "other 5"]


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        (', "1R-TI-NN20"', "", 6),  # a design less
        ("[3, 5]", "[5, 6]", 12),  # another seed
        ("plsa = { factors = 4, iterations = 5 }\n", "", 8),  # a system less
        ("threshold = 4", "threshold = 5", 12),  # all is another thing
    ],
)
def test_what_an_experiment_loses_takes_its_facts_along(place: Path, old: str, new: str, left: int) -> None:
    tv.run(place / "experiment.toml", place / "out")
    assert len(facts(place)) == 12
    found = tv.run(write_experiment(place, EXPERIMENT.replace(old, new)), place / "out", resume=True)
    assert len(facts(place)) == left
    assert set(facts(place)) == keys(found, "popularity", "plsa", "bent")


def test_a_run_that_stops_removes_nothing(place: Path) -> None:
    tv.run(place / "experiment.toml", place / "out")
    before = facts(place)
    changed = EXPERIMENT.replace("power = 0.5", "power = 0.6").replace("factors = 4", "factors = 3")
    (place / "stop-bent-5").touch()
    with pytest.raises(TruevalError, match="stopped here"):
        tv.run(write_experiment(place, changed), place / "out", resume=True)
    assert before.items() <= facts(place).items()
    (place / "stop-bent-5").unlink()
    (place / "fits.txt").unlink()
    tv.run(write_experiment(place, EXPERIMENT), place / "out", resume=True)  # back to what it was: nothing is fitted
    assert fits(place) == []
    assert facts(place) == before


def test_only_facts_are_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ("a" * 24)).write_text("a file")
    for key in ("b" * 24, "c" * 24):
        (tmp_path / key).mkdir()
        pl.DataFrame({"x": [1]}).write_parquet(tmp_path / key / "units.parquet")
    size = (tmp_path / ("b" * 24) / "units.parquet").stat().st_size
    assert Cache(tmp_path).prune({"c" * 24}) == (1, size)
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "notes.txt", "a" * 24, "c" * 24}
    assert Cache(None).prune(set()) == Cache(tmp_path / "none").prune(set()) == (0, 0)
