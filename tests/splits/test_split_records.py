"""A split is one record: what is added by one function is known to Python, the command line, files and the audit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import trueval as tv
from trueval.cli import split_options
from trueval.cli.app import make_app
from trueval.errors import DefinitionError
from trueval.evaluation.shares_of_splits import held_out_shares
from trueval.evaluation.validation_part import carve
from trueval.experiments.experiment_file import Written
from trueval.experiments.splitting import Splitting, rehearse
from trueval.propensity.held_out_shares import HeldOutShares
from trueval.splits import Parts, all_splits, leakage, registry
from trueval.splits.options import choice, share
from trueval.splits.parts import TEST, TRAIN, assemble
from trueval.splits.registry import split
from trueval.splits.row_hashing import Coded, coin


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A split of a test's own; the register and the command line are as they were afterwards."""
    all_splits()
    monkeypatch.setattr(registry, "_SPLITS", dict(registry._SPLITS))
    split_options._parameters.cache_clear()

    @split(
        by="chance",
        options={"part": share("share of the users' rows"), "side": choice("which half", "left", "right")},
        several="half",
        promises=lambda how: ("own_future",) if how.get("side") == "left" else (),
        chance=lambda how: how["part"],
        carved=("user_temporal", ()),
    )
    def halves(log: tv.Interactions, *, part: float = 0.3, side: str = "left", seed: int = 0) -> list[Parts]:
        """Hold out a share, twice."""
        flips = coin(Coded.of(log).hashes(seed, "halves"))
        how = {"how": "halves", "part": part, "side": side, "seed": seed}
        places = (np.where(one < part, TEST, TRAIN) for one in (flips, 1 - flips))
        return [assemble(log, place, how={**how, "fold": fold}) for fold, place in enumerate(places, 1)]

    yield
    split_options._parameters.cache_clear()


@pytest.fixture
def log() -> tv.Interactions:
    rng = np.random.default_rng(0)
    rows = {"user": rng.integers(0, 30, 600), "item": rng.integers(0, 40, 600), "time": np.arange(600)}
    return tv.read(pl.DataFrame(rows).unique(["user", "item"], keep="first", maintain_order=True))


def test_python_knows_it(toy, log):
    first, second = tv.split(log, "halves", part=0.25, seed=3)
    assert first.how == {"how": "halves", "part": 0.25, "side": "left", "seed": 3, "fold": 1}
    assert first.rows == second.rows == len(log)
    with pytest.raises(DefinitionError, match="part must be a share"):
        tv.split(log, "halves", part=2)
    with pytest.raises(DefinitionError, match="did you mean left"):
        tv.split(log, "halves", side="lefft")
    with pytest.raises(DefinitionError, match="has no option 'ratio'"):
        tv.split(log, "halves", ratio=0.2)


def test_the_command_line_knows_it(toy, log, tmp_path):
    log.frame.write_csv(tmp_path / "log.csv")
    said = CliRunner().invoke(make_app(), ["split", "--help"]).output
    assert "halves: share of the users' rows." in " ".join(said.split())
    words = ["split", str(tmp_path / "log.csv"), "--how", "halves", "--part", "0.25", "-o", str(tmp_path / "parts")]
    ran = CliRunner().invoke(make_app(), words, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "parts" / "fold-2" / "test.parquet").exists()


def test_experiments_and_repeats_know_it(toy, log):
    found = Splitting("halves", {"part": 0.2}, (1, 2))
    assert (found.repeated, found.splits_differ) == (True, True)
    names = [repeat.name for repeats in found.repeats(log) for repeat in repeats]
    assert names == ["half 1 of seed 1", "half 2 of seed 1", "half 1 of seed 2", "half 2 of seed 2"]
    with pytest.raises(DefinitionError, match="part must be a share"):
        rehearse(Written({"split": {"how": "halves", "part": 3}}), "halves", {"part": 3})


def test_audit_weights_and_validation_know_it(toy, log):
    left, right = (tv.split(log, "halves", side=side)[0] for side in ("left", "right"))
    assert (leakage(left)["own_future"].verdict, leakage(right)["own_future"].verdict) == ("wrong", "caution")
    assert held_out_shares(left) == HeldOutShares(test=0.3, outside=0.3)
    assert carve(left).how["how"] == "user_temporal"


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": "luck"},
        {"options": {"other": share("x")}},
        {"promises": ("no future",)},
        {"several": "fold", "carved": ("odd", ())},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_record_that_cannot_be_true_is_refused(toy, wrong):
    def odd(log, *, ratio=0.2):
        """Never made."""

    with pytest.raises(TypeError, match="odd"):
        split(**{"by": "chance", "options": {"ratio": share("x")}} | wrong)(odd)


def test_two_of_one_name_are_refused(toy):
    def holdout(log):
        """The second."""

    with pytest.raises(TypeError, match="two splits"):
        split(by="chance", options={})(holdout)


def test_version_needs_no_split():
    """The records are read when `trueval split` is used, not before."""
    probe = (
        "import sys; from trueval.cli.app import make_app\n"
        "try: make_app()(['--version'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", probe], text=True).split())
    assert "trueval.cli.app" in loaded
    assert "polars" not in loaded
