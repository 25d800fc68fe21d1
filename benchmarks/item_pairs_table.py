"""Time and memory of all pairs of items: python benchmarks/item_pairs_table.py [-o benchmarks/ITEM_PAIRS.md]

Items have ratings by a power law and random shares of likes. Every row is measured in a process of its own: first on
900 items, which loads (or compiles) the kernels, then the best of three. "NumPy matrices" is the same count with arrays
of items × items, which must give the same numbers; memory is what the process has at most, beyond what it had before.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from results import machine

USERS = 100_000
# items, how, limit in seconds
ROWS: tuple[tuple[int, str, float | None], ...] = (
    (3706, "all pairs", 2), (3706, "NumPy matrices", None), (20_000, "all pairs", 60), (100_000, "all pairs", None),
    (100_000, "drawn", None), (1_000_000, "drawn", None),
)  # fmt: skip


def world(items: int) -> Any:
    """Ratings and likes of some items."""
    from trueval.audit.item_ratings import ItemRatings

    rng = np.random.default_rng(items)
    ratings = np.minimum(rng.zipf(1.4, items), USERS - 1)
    return ItemRatings.of_counts(ratings, rng.binomial(ratings, rng.beta(3, 2, items)), users=USERS)


def with_matrices(counted: Any) -> list[int]:
    """The four cases, and ties, with a matrix for each of the four orders."""
    from trueval.audit.item_pair_counts import scores_of

    scores = scores_of(counted)
    popularity, average, likes, dislikes = (
        np.sign(own[:, None] - own[None, :]).astype(np.int8)
        for own in (scores.popularity, scores.average, scores.phi_p, -scores.phi_antip)
    )
    both = popularity * average
    later = np.triu(np.ones(both.shape, bool), 1)
    aligned, opposed = later & (both > 0), later & (both < 0)
    follows, leads = dislikes == popularity, likes == popularity
    cases = (aligned & follows, aligned & ~follows, opposed & leads, opposed & ~leads, later & (both == 0))
    return [int(case.sum()) for case in cases]


def count(counted: Any, how: str) -> list[int]:
    """The four cases, and ties."""
    from trueval.audit.item_pairs import item_pairs

    if how == "NumPy matrices":
        return with_matrices(counted)
    return [int(row.sum()) for row in item_pairs(counted, exact=how == "all pairs").counts]


def measure_one(items: int, how: str) -> dict[str, Any]:
    """In this process: the best time of three, the memory it took, and what was counted."""
    import resource

    count(world(900), how)
    counted = world(items)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(3):
        started = time.perf_counter()
        found = count(counted, how)
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": min(times), "memory": (peak - before) / 1024, "counts": found}


def rows() -> list[list[str]]:
    """A row for each number of items and way to count."""
    found: list[list[str]] = []
    known: dict[int, dict[str, Any]] = {}
    for items, how, limit in ROWS:
        command = [sys.executable, __file__, "--one", str(items), how]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        one = json.loads(done.stdout.splitlines()[-1])
        agree = "–"
        if how != "drawn" and known.setdefault(items, one) is not one:
            agree = "as all pairs" if known[items]["counts"] == one["counts"] else "**differ**"
        cells = [f"{items:,}", f"{sum(one['counts']):,}", how, f"{one['seconds']:.2f}", f"{limit or '–'}"]
        found.append([*cells, f"{one['memory']:,.0f}", agree])
        print("| " + " | ".join(found[-1]) + " |", flush=True)
    return found


def main() -> None:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_one(int(options.one[0]), options.one[1])))
        return
    head = "| items | pairs counted | how | best (s) | limit (s) | memory (MB) | counts |\n"
    head += "|---:|---:|---|---:|---:|---:|---|"
    print(head)
    lines = "\n".join("| " + " | ".join(row) + " |" for row in rows())
    if options.output:
        said = (__doc__ or "").split("\n\n", 1)[1].strip()
        text = "# Pairs of items\n\nWritten by `python benchmarks/item_pairs_table.py -o benchmarks/ITEM_PAIRS.md`.\n"
        text += f"\n{said}\n"
        text += f"\n{datetime.date.today()}; {machine()}\n\n{head}\n{lines}\n"
        options.output.write_text(text)


if __name__ == "__main__":
    main()
