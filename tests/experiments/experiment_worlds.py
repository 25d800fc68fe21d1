"""A small world in a folder: a log, a module with a system that counts its fits, and experiment files."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import polars as pl

from trueval.simulation.demo_world import make_world

MODULE = '''
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


class Bent:
    """Popularity to a power, bent a little for every user. Writes down every fit."""

    def __init__(self, power=1.0, mark="bent"):
        self.power, self.mark = power, mark

    def fit(self, train):
        with (HERE / "fits.txt").open("a") as file:
            file.write(f"{self.mark} {train.seed}\\n")
        if (HERE / f"stop-{self.mark}-{train.seed}").exists():
            self.stop()
        self.weight = train.popularity.astype(np.float64) ** self.power
        return self

    def stop(self):
        raise RuntimeError("stopped here")

    def score(self, users):
        bend = np.cos(np.outer(users + 1, np.arange(len(self.weight)) + 1))
        return self.weight + 2 * bend


class Killed(Bent):
    """The same, but where it should stop the whole process is killed."""

    def stop(self):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)


class Careless(Bent):
    def fit(self, train):
        super().fit(train)


class Rude:
    def __init__(self, power=1.0):
        raise TypeError("no such power")

    def fit(self, train): ...
    def score(self, users): ...


def make_bent(**parameters):
    return Bent(**parameters)


NOTHING = 3


class Empty:
    pass
'''

EXPERIMENT = """\
[data]
path = "log.parquet"
threshold = 4

[split]
how = "holdout"
ratio = 0.25
seeds = [3, 5]

[evaluation]
designs = ["AR-TI-AN", "1R-TI-NN20"]
metrics = ["ndcg@10", "recall@20", "coverage@10"]
baseline = "popularity"

[systems]
popularity = {}
plsa = { factors = 4, iterations = 5 }
bent = { import = "bentmodels:Bent", power = 0.5 }
"""


def make_folder(folder: Path, *, seed: int = 0) -> Path:
    """The folder with log.parquet, bentmodels.py and experiment.toml."""
    world = make_world(users=60, items=80, interactions=1300, seed=seed)
    world.log.frame.write_parquet(folder / "log.parquet")
    assert world.log.items is not None
    world.log.items.write_parquet(folder / "items.parquet")
    (folder / "bentmodels.py").write_text(MODULE)
    (folder / "experiment.toml").write_text(EXPERIMENT)
    return folder


def write_experiment(folder: Path, text: str, name: str = "experiment.toml") -> Path:
    """An experiment file with this text."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def fits(folder: Path) -> list[str]:
    """What was fitted, in order: mark and seed."""
    file = folder / "fits.txt"
    return file.read_text().splitlines() if file.exists() else []


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sections(**changed: Any) -> dict[str, Any]:
    """An experiment as a mapping, on a log in memory."""
    world = make_world(users=60, items=50, interactions=1500, seed=1)
    base: dict[str, Any] = {
        "data": {"path": world.log.frame, "threshold": 4},
        "split": {"ratio": 0.25, "seed": 7},
        "evaluation": {"metrics": ["ndcg@10", "auc"]},
        "systems": {"popularity": {}, "average": {}},
    }
    return {name: {**base.get(name, {}), **changed.get(name, {})} for name in {**base, **changed}}


def head(frame: pl.DataFrame, **where: str) -> pl.DataFrame:
    """Rows with these values, without columns that hold nothing."""
    own = frame.filter([pl.col(name) == value for name, value in where.items()]).drop(*where)
    return own.select([name for name in own.columns if own[name].null_count() < len(own)])
