"""No interval leaves the range of what it is about: every metric, method and kind of estimate, of very few users."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.metrics.registry import all_metrics

METRICS = [
    metric.name if metric.cutoff == "none" else f"{metric.name}@3"
    for metric in all_metrics()
    if not metric.exact and metric.family != "errors" and "propensity" not in metric.needs
]
INTERVALS = ["t", "bootstrap", "bca"]
ITEMS = [f"i{j}" for j in range(8)]


def tiny(users: int, seed: int) -> dict[str, Any]:
    """Two runs of a few users with few items each, and all that metrics may need; hits are at either end."""
    rng = np.random.default_rng(seed)
    runs = {}
    for name in ("one", "other"):
        rows = [(u, item, rank) for u in range(users) for rank, item in enumerate(rng.permutation(ITEMS)[:4], 1)]
        runs[name] = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    test = [(u, item, float(rng.integers(1, 6))) for u in range(users) for item in rng.permutation(ITEMS)[:2]]
    train = [
        (u, item, float(rng.integers(1, 6))) for u in range(users, users + 9) for item in rng.permutation(ITEMS)[:3]
    ]
    aspects = [rng.choice(["a", "b", "a|b"]) for _ in ITEMS]
    items = pl.DataFrame({"item": ITEMS, "aspects": aspects, "provider": ["x", "y", "x", "x", "z", "x", "x", "y"]})
    return {
        "recs": runs, "test": pl.DataFrame(test, schema=["user", "item", "value"], orient="row"),
        "train": pl.DataFrame(train, schema=["user", "item", "value"], orient="row"), "items": items,
        "users": pl.DataFrame({"user": range(users), "group": [f"g{u % 2}" for u in range(users)]}),
        "metrics": METRICS, "by": ["group", "provider"], "min_group": 1, "threshold": 3, "resamples": 60,
    }  # fmt: skip


def outside(value: float, low: float, high: float, range: tuple[float, float]) -> bool:
    """Whether an interval leaves a range or excludes its own value; NaN is no interval."""
    known = [end for end in (low, high) if not math.isnan(end)]
    inside = all(range[0] <= end <= range[1] for end in known)
    return not inside or (not math.isnan(value) and low > value + 1e-12) or high < value - 1e-12


@pytest.mark.parametrize(("interval", "users", "seed"), list(itertools.product(INTERVALS, [2, 3, 5], range(2))))
def test_every_interval_is_within_its_range(interval: str, users: int, seed: int) -> None:
    result = tv.evaluate_run(**tiny(users, seed), interval=interval)
    ranges = {label: spec.range for label, spec in result.evaluation.specs.items()}
    found = [(system, label, e.value, e.low, e.high, ranges[label])
             for system in result.evaluation.systems for label, e in result[system].items()]  # fmt: skip
    for row in result.compare("one").table().iter_rows(named=True):
        low, high = ranges[row["metric"]]
        ends = [math.nan if row[name] is None else row[name] for name in ("difference", "low", "high")]
        found.append(("difference", row["metric"], *ends, (low - high, high - low)))
    for name, system in result.evaluation.systems.items():
        for by in ("group", "provider"):
            values = system.by(by)
            found += [(f"{name} {group}", label, e.value, e.low, e.high, ranges[label])
                      for group, own in values.estimates.items() for label, e in own.items()]  # fmt: skip
            for label, apart in values.spreads.items():
                width = ranges[label][1] - ranges[label][0]
                found.append((f"{name} gap {by}", label, apart.gap.value, apart.gap.low, apart.gap.high, (0.0, width)))
                ratio = apart.ratio
                found.append((f"{name} ratio {by}", label, ratio.value, ratio.low, ratio.high, (0.0, 1.0)))
            for k, (rates, apart) in values.hit_rates.items():
                found += [
                    (f"{name} {group}", f"rate@{k}", e.value, e.low, e.high, (0.0, 1.0)) for group, e in rates.items()
                ]
                found.append(
                    (f"{name} gap {by}", f"rate@{k}", apart.gap.value, apart.gap.low, apart.gap.high, (0.0, 1.0))
                )
    for discount, against in itertools.product((False, True), ("catalogue", "equal")):
        for name, parity in result.parity("provider", discount=discount, against=against).items():
            found += [(name, f"share {g}", e.value, e.low, e.high, (0.0, 1.0)) for g, e in parity.values.items()]
            target = sorted(parity.target.values())
            most = 1 - target[0] + target[-1]
            gap, ratio = parity.gap, parity.ratio
            found.append((name, f"parity gap {against}", gap.value, gap.low, gap.high, (0.0, most)))
            found.append((name, f"parity ratio {against}", ratio.value, ratio.low, ratio.high, (0.0, 1.0)))
    assert len(found) > 500
    wrong = [cell for cell in found if outside(*cell[2:])]
    assert not wrong, (len(wrong), wrong[:5])


def test_the_gap_of_parity_can_reach_its_bound() -> None:
    """All places go to the provider of one item in four: 1 - 1/4 above its share, the other 3/4 below; with equal
    targets, 1/2 each."""
    test = pl.DataFrame({"user": range(6), "item": ["a", "b", "c", "d", "a", "b"]})
    run = pl.DataFrame({"user": range(6), "item": "a", "rank": 1})
    items = pl.DataFrame({"item": list("abcd"), "provider": list("xyyy")})
    result = tv.evaluate_run(run, test, items=items, by="provider", metrics="rr@1", min_group=1, resamples=50)
    for against, most in (("catalogue", 1.5), ("equal", 1.0)):
        gap = result.parity("provider", against=against)["run"].gap
        assert gap.value == pytest.approx(most)
        assert gap.high == pytest.approx(most)
