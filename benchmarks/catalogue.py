"""All metrics of one user's list at four cutoffs, against the six of W1 plus the aspect metrics; what takes the time.

Measured as an evaluation does it, from facts already made (the data of the aspect benchmark: 100,000 users, lists of
100, about 36 ratings). Families and single metrics are measured by themselves, so they add up to more than the whole:
together they share what several of them need.
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
    every = [name for names in catalogue.values() for name in names]
    _spend(tiny, every)  # loads the kernels
    yardstick = min(_spend(folder, [*W1_METRICS, *ASPECT_METRICS]) for _ in range(2))
    whole = min(_spend(folder, every) for _ in range(2))
    rows: list[dict[str, Any]] = [
        {"what": "six metrics of W1 and eight aspect metrics at 100", "seconds": yardstick, "limit": None},
        {"what": f"all {len(every)} metrics at 5, 10, 20, 100", "seconds": whole, "limit": round(MOST * yardstick, 2)},
    ]
    for family, names in catalogue.items():
        longest = [name for name in names if name.endswith(f"@{CUTOFFS[-1]}") or "@" not in name]
        spent = {name: _spend(folder, [name]) for name in longest}
        slowest = max(spent, key=lambda name: spent[name])
        what = f"{family} alone: {len(names)} metrics, most for {slowest} ({spent[slowest]:.2f} s)"
        rows.append({"what": what, "seconds": _spend(folder, names), "limit": None})
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


def _spend(folder: Path, names: list[str]) -> float:
    from trueval.evaluation.measurements import measure_facts
    from trueval.metrics.grammar import parse

    facts, inputs = load(folder)
    started = time.perf_counter()
    measure_facts(facts.changed(), {n: parse(n) for n in names}, population="all", inputs=inputs, with_random=False)
    return time.perf_counter() - started
