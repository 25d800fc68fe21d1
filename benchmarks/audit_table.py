"""Time and memory of whole audits: python benchmarks/audit_table.py [--movielens FOLDER] [-o benchmarks/AUDIT.md]

Every row is one command in a process of its own, with all that Python and its libraries take to start. Lists are those
of two systems, 100 items for each of 100,000 users, who have 20 test ratings, or about 36 of them and 40 train ratings
of 20,000 items; with --movielens, six systems are also fitted to MovieLens 1M, ranked under every design and fitted
anew on a split by time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aspects_data import make_aspects
from results import machine, write_table
from w1_data import make_w1

USERS = 100_000
SYSTEMS = "popularity,random,average,itemknn,puresvd,plsa"
LISTS, FITTED = 8, 20  # limits in seconds

_WORKER = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run([sys.executable, "-m", "trueval", *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": time.perf_counter() - started, "cpu": used.ru_utime + used.ru_stime,
                  "memory": used.ru_maxrss / 1024}))
"""


def timed(*words: object) -> dict[str, Any]:
    """Seconds, CPU seconds and megabytes of a command."""
    command = [sys.executable, "-c", _WORKER, *map(str, words), "--quiet"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(made.stdout)
    return found


def of_lists(folder: Path) -> dict[str, Any]:
    """Two systems: the lists, and the same items the other way round."""
    import polars as pl

    make_aspects(folder, users=USERS)
    recs = pl.read_parquet(folder / "recs.parquet")
    turned = recs.with_columns(rank=pl.col("rank").max().over("user") + 1 - pl.col("rank"))
    turned.write_parquet(folder / "turned.parquet")
    return timed(
        "audit", "--train", folder / "train.parquet", "--test", folder / "test.parquet",
        "--recs", folder / "recs.parquet", folder / "turned.parquet", "--threshold", 4,
    )  # fmt: skip


def of_lists_alone(folder: Path) -> dict[str, Any]:
    """Two systems, and a test set without a train set."""
    import polars as pl

    make_w1(folder, users=USERS, variants=("ints",))
    recs, turned = folder / "ints" / "recs.parquet", folder / "ints" / "turned.parquet"
    pl.read_parquet(recs).with_columns(score=-pl.col("score")).write_parquet(turned)
    return timed("audit", "--test", folder / "ints" / "test.parquet", "--recs", recs, turned)


def of_systems(folder: Path, movielens: Path) -> dict[str, Any]:
    """Six systems on a random split of MovieLens 1M."""
    parts = folder / "parts"
    subprocess.run([sys.executable, "-m", "trueval", "split", movielens, "--how", "holdout", "--ratio", "0.2",
                    "-o", parts, "--quiet"], check=True)  # fmt: skip
    return timed(
        "audit", "--train", parts / "train.parquet", "--test", parts / "test.parquet", "--systems", SYSTEMS,
        "--threshold", 4,
    )  # fmt: skip


def line(name: str, found: dict[str, Any], limit: int) -> str:
    """A row of the table."""
    return f"| {name} | {found['seconds']:.1f} | {limit} | {found['cpu']:.1f} | {found['memory']:,.0f} |"


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--movielens", type=Path, help="folder of MovieLens 1M")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        rows = [
            line("2 lists of 100 items, 100,000 users, 2.0 million test rows", of_lists_alone(own), LISTS),
            line("the same with 3.6 million test and 4.0 million train rows", of_lists(own), LISTS),
        ]
        if given.movielens is not None:
            rows.append(line("6 systems on MovieLens 1M", of_systems(own, given.movielens), FITTED))
    head = ["| audit | seconds | limit (s) | CPU (s) | memory (MB) |", "|---|---:|---:|---:|---:|"]
    command = "python benchmarks/audit_table.py --movielens FOLDER -o benchmarks/AUDIT.md"
    write_table("Whole audits", command, __doc__, machine(), [*head, *rows], given.output)


if __name__ == "__main__":
    main()
