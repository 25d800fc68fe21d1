"""All metrics of one user's list at four cutoffs, against the six of W1 plus the aspect metrics; what takes the time.

Computed from facts already made (the data of the aspect benchmark: 100,000 users, lists of 100, about 36 ratings);
every timing begins with facts that remember nothing, as an evaluation does.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from aspects_contenders import ASPECT_METRICS, load
from w1_columns import METRICS as W1_METRICS

CUTOFFS = (5, 10, 20, 100)
MOST = 5  # times the six plus aspects


def measure_catalogue(folder: Path, tiny: Path) -> list[dict[str, Any]]:
    """Rows: the yardstick, the whole catalogue (with its limit), and the catalogue family by family."""
    catalogue = per_user_metrics()
    _spend(tiny, [name for names in catalogue.values() for name in names])  # loads the kernels
    yardstick = min(_spend(folder, [*W1_METRICS, *ASPECT_METRICS])[0] for _ in range(2))
    runs = [_spend(folder, [name for names in catalogue.values() for name in names]) for _ in range(2)]
    whole, spent = min(runs, key=lambda run: run[0])
    number = sum(map(len, catalogue.values()))
    rows: list[dict[str, Any]] = [
        {"what": "six metrics of W1 and eight aspect metrics at 100", "seconds": yardstick, "limit": None},
        {"what": f"all {number} metrics at 5, 10, 20, 100", "seconds": whole, "limit": round(MOST * yardstick, 2)},
    ]
    for family, names in catalogue.items():
        seconds = sum(spent[name] for name in names)
        slowest = max(names, key=lambda name: spent[name])
        what = f"{family}: {len(names)} metrics, {seconds / whole:.0%}, most for {slowest} ({spent[slowest]:.2f} s)"
        rows.append({"what": what, "seconds": seconds, "limit": None})
    return rows


def per_user_metrics() -> dict[str, list[str]]:
    """Names by family, at the cutoffs; without those that need scores, or ranks of all judged items."""
    from trueval.metrics.registry import all_metrics

    chosen: dict[str, list[str]] = {}
    for metric in all_metrics():
        if metric.system or metric.exact or metric.family == "errors" or "propensity" in metric.needs:
            continue
        cut = [""] if metric.cutoff == "none" else [f"@{k}" for k in CUTOFFS]
        chosen.setdefault(metric.family, []).extend(metric.name + k for k in cut)
    return chosen


def _spend(folder: Path, names: list[str]) -> tuple[float, dict[str, float]]:
    from trueval.metrics.compute import compute
    from trueval.metrics.grammar import parse

    facts, inputs = load(folder)
    fresh, spent = facts.changed(), {}
    for name in names:
        started = time.perf_counter()
        compute(parse(name), fresh, inputs)
        spent[name] = time.perf_counter() - started
    return sum(spent.values()), spent
