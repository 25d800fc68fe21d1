"""The part of figures 2, 8 and 9 on listening data: a generated world in which every observed pair is positive."""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.data.interactions import Interactions
from trueval.papers.bellogin2017.evaluation import values_of
from trueval.papers.setting import Setting
from trueval.simulation.simulate import simulate

_METRICS = ["precision@10", "bpref", "infap", "rr", "recall[gamma=1]@10"]
_SYSTEMS = {
    "pLSA": {"system": "plsa", "factors": 30}, "MF": {"system": "wrmf", "factors": 30},
    "kNN": {"system": "userknn", "k": 100}, "popularity": {}, "random": {},
}  # fmt: skip


def temporal_values(setting: Setting) -> pl.DataFrame:
    """Values on the world under a temporal split, in AR and 1R."""
    log = plays(quick=setting.quick, seed=setting.seed)
    designs = [f"AR-TI-NN{min(2500, log.n_items // 2)}", f"1R-TI-NN{_sample(setting)}"]
    how = {"how": "temporal", "ratio": 0.2}
    return setting.step("plays, temporal", _values, how=how, designs=designs, metrics=_METRICS, systems=_SYSTEMS)


def uniform_values(setting: Setting) -> pl.DataFrame:
    """P@10 of popularity and random on the world under a uniform test, without and with train items as targets."""
    designs = [f"U1R-TI-NN{_sample(setting)}", f"U1R-TI-NN{_sample(setting)}-seen"]
    how = {"how": "uniform_test", "ratio": 0.1, "seeds": [1, 2, 3]}
    plain: dict[str, Any] = {"popularity": {}, "random": {}}
    return setting.step("plays, uniform", _values, how=how, designs=designs, metrics=["precision@10"], systems=plain)


def _sample(setting: Setting) -> int:
    return 29 if setting.quick else 99


def _values(
    setting: Setting, how: dict[str, Any], designs: list[str], metrics: list[str], systems: dict[str, Any]
) -> pl.DataFrame:
    evaluation = {"designs": designs, "metrics": metrics, "interval": "none"}
    log = plays(quick=setting.quick, seed=setting.seed)
    return values_of(
        setting.experiment({"data": {"path": log}, "split": how, "systems": systems, "evaluation": evaluation})
    )


def plays(*, quick: bool, seed: int) -> Interactions:
    """A log of plays: users of a world and the items they met, all of them positive, with times."""
    size = {"users": 300, "items": 800, "ratings": 20_000} if quick else {
        "users": 1000, "items": 8000, "ratings": 300_000}  # fmt: skip
    world = simulate("world", seed=seed, alpha=1.4, **size)
    return world.log.keep(world.log.frame.drop("value"), name="a generated world of plays")
