"""The numbers that the commands print on the demo's data, kept in a file: no change of structure may move one of them.

Numbers alone are compared, by their place in the JSON output, so that wording is free. After a change that is meant to
move numbers: python tests/snapshot/test_snapshot.py writes the file anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

KEPT = Path(__file__).with_name("numbers.json")
EXPERIMENT = """
[data]
path = "log.parquet"
items = "items.parquet"
threshold = 4
[split]
how = "holdout"
seeds = [1, 2]
[evaluation]
designs = ["AR-TI-AN", "1R-TI-NN50"]
metrics = ["ndcg@10", "precision@10", "coverage@10"]
baseline = "popularity"
[systems]
popularity = {}
average = {}
random = {}
"""
COMMANDS = {
    "evaluate": ["evaluate", "recs/average.parquet", "recs/oracle.parquet", "recs/popularity.parquet", "--test",
                 "test.parquet", "--train", "train.parquet", "--items", "items.parquet", "--users", "users.parquet",
                 "--threshold", "4", "--baseline", "popularity", "--by", "activity", "-o", "result/",
                 "--metrics", "ndcg@10,recall@20,ap@10,antiprecision@10,coverage@10,gini@10,novelty@10"],
    "compare": ["compare", "result", "--baseline", "popularity", "--test", "wilcoxon", "--format", "json"],
    "run": ["run", "experiment.toml", "-o", "experiment", "--format", "json"],
    "ab": ["ab", "ab.parquet", "--arm", "arm", "--metrics", "ctr=clicks/shows,bought,revenue=amount,seconds",
           "--format", "json"],
    "ope": ["ope", "bandit.parquet", "--target", "policy.parquet", "--format", "json"],
    "calibrate": ["calibrate", "later.parquet", "--validation", "earlier.parquet", "--format", "json"],
}  # fmt: skip


def write_inputs(folder: Path) -> None:
    """What the demo does not write: an experiment, and tables of users made from its log."""
    (folder / "experiment.toml").write_text(EXPERIMENT)
    log = pl.read_parquet(folder / "log.parquet").sort("user", "item")
    rng = np.random.default_rng(0)
    users = log.group_by("user", maintain_order=True).agg(shows=pl.len(), clicks=(pl.col("value") >= 4).sum())
    n = len(users)
    users.with_columns(
        arm=pl.Series(np.where(rng.random(n) < 0.5, "control", "new")), bought=pl.Series(rng.random(n) < 0.1),
        amount=pl.Series(np.where(rng.random(n) < 0.1, rng.lognormal(2, 1, n), 0.0)),
        seconds=pl.Series(rng.lognormal(3, 1, n)),
    ).write_parquet(folder / "ab.parquet")  # fmt: skip
    shown = np.minimum(rng.geometric(0.3, 4000), 6)
    chance = np.append(0.3 * 0.7 ** np.arange(5), 0.7**5)
    pl.DataFrame({
        "user": rng.integers(0, 900, 4000), "item": shown, "click": (rng.random(4000) < shown / 12).astype(int),
        "propensity": chance[shown - 1],
    }).write_parquet(folder / "bandit.parquet")  # fmt: skip
    pl.DataFrame({"item": range(1, 7), "probability": [1 / 6] * 6}).write_parquet(folder / "policy.parquet")
    for name in ("earlier", "later"):
        p = rng.beta(1, 4, 3000)
        table = {"user": rng.integers(0, 500, 3000), "prediction": p, "label": (rng.random(3000) < p**1.3).astype(int)}
        pl.DataFrame(table).write_parquet(folder / f"{name}.parquet")


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, float | None]]:
    """Numbers of a JSON value with their places; manifests aside, which tell versions and fingerprints."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("manifest", "warnings"):
                yield from leaves(inner, f"{at}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{at}/{number}")
    elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield at, value


def printed(folder: Path) -> dict[str, dict[str, float | None]]:
    """The numbers of every command."""
    _command(["demo", "-o", str(folder), "--quiet"], folder.parent)
    write_inputs(folder)
    found = {}
    for name, words in COMMANDS.items():
        out = _command(words, folder)
        out = (folder / "result" / "summary.json").read_text() if name == "evaluate" else out
        found[name] = dict(leaves(json.loads(out)))
    return found


def _command(words: list[str], folder: Path) -> str:
    ran = subprocess.run([sys.executable, "-m", "trueval", *words], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_no_number_moves(tmp_path):
    kept, found = json.loads(KEPT.read_text()), printed(tmp_path / "demo")
    assert list(found) == list(kept)
    for name, numbers in found.items():
        assert numbers.keys() == kept[name].keys(), name
        for place, value in numbers.items():
            wanted = kept[name][place]  # None where there is no number, which approx does not take
            same = value is None if wanted is None else value == pytest.approx(wanted, rel=1e-9, abs=1e-12)
            assert same, (name, place, value, wanted)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        KEPT.write_text(json.dumps(printed(Path(made) / "demo"), indent=0) + "\n")
