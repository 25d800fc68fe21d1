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


def implicit_values(setting: Setting) -> pl.DataFrame:
    """Values on the world, under a temporal split (AR, 1R) and a uniform test (U1R); `split_by` tells them apart."""
    return setting.step("implicit world", _values)


def _values(setting: Setting) -> pl.DataFrame:
    log = plays(quick=setting.quick, seed=setting.seed)
    size = 99 if not setting.quick else 29
    sample = min(2500, log.n_items // 2)
    parts: dict[str, tuple[dict[str, Any], list[str]]] = {
        "temporal": ({"how": "temporal", "ratio": 0.2}, [f"AR-TI-NN{sample}", f"1R-TI-NN{size}"]),
        "uniform": ({"how": "uniform_test", "ratio": 0.1, "seeds": [1, 2, 3]}, [f"U1R-TI-NN{size}"]),
    }
    found = []
    for name, (how, designs) in parts.items():
        metrics = _METRICS if name == "temporal" else _METRICS[:1]
        result = setting.experiment({
            "data": {"path": log}, "split": how, "systems": _SYSTEMS,
            "evaluation": {"designs": designs, "metrics": metrics, "interval": "none"},
        })  # fmt: skip
        found.append(values_of(result).with_columns(split_by=pl.lit(name)))
    return pl.concat(found)


def plays(*, quick: bool, seed: int) -> Interactions:
    """A log of plays: users of a world and the items they met, all of them positive, with times."""
    size = {"users": 300, "items": 800, "ratings": 20_000} if quick else {
        "users": 1000, "items": 8000, "ratings": 300_000}  # fmt: skip
    world = simulate("world", seed=seed, alpha=1.4, **size)
    return world.log.keep(world.log.frame.drop("value"), name="a generated world of plays")
