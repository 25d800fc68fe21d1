"""The experiment among the examples runs on the data of the demo."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from trueval.cli import demo_run

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example_runs_after_the_demo(tmp_path: Path, trueval: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"USERS": 100, "ITEMS": 500, "INTERACTIONS": 3000}.items():
        monkeypatch.setattr(demo_run, name, value)
    assert trueval("demo", "-o", tmp_path / "demo-output", "--quiet").code == 0
    (tmp_path / "examples").mkdir()
    shutil.copy(EXAMPLES / "companions.py", tmp_path / "examples")
    text = (EXAMPLES / "experiment.toml").read_text().replace("factors = ", "iterations = 5, factors = ")
    (tmp_path / "examples" / "experiment.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    ran = trueval("run", "examples/experiment.toml", "-o", "my-results", "--quiet")
    assert ran.code == 0, ran.err
    for design in ("AR-AI-AN", "1R-AI-NN100", "P1R5-AI-NN50"):
        assert f"\n{design}\n" in ran.out
        assert (tmp_path / "my-results" / "designs" / design / "seed-3" / "results.parquet").exists()
    assert trueval("compare", "my-results/designs/AR-AI-AN", "--baseline", "popularity", "--quiet").code == 0
