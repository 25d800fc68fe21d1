"""Speed and memory of worlds that are written in a stream: python benchmarks/worlds_table.py [-o benchmarks/WORLDS.md]

A latent world (`tv.simulate("world")`) is made and saved with the truth beside, each size in a process of its own.
"Save" draws and writes the log in blocks; memory is what the process has at most, with all that Python and its
libraries take. --largest adds 100 million rows of a million users and 100,000 items.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from results import machine, write_table

# rows, users, items
ROWS = ((1_000_000, 20_000, 5_000), (10_000_000, 200_000, 20_000))
LARGEST = (100_000_000, 1_000_000, 100_000)


def measure_one(ratings: int, users: int, items: int) -> dict[str, Any]:
    """In this process: seconds of making and of saving, CPU seconds, rows, megabytes on disk and of memory."""
    import resource

    import polars as pl

    import trueval as tv

    tv.simulate("world", users=100, items=50, ratings=500).log  # noqa: B018 (loads what is needed)
    folder = Path(tempfile.mkdtemp())
    try:
        started, cpu = time.perf_counter(), time.process_time()
        world = tv.simulate("world", users=users, items=items, ratings=ratings, seed=1)
        made = time.perf_counter() - started
        world.save(folder / "world")
        seconds = time.perf_counter() - started - made
        files = [path for path in (folder / "world").rglob("*") if path.is_file()]
        rows = pl.scan_parquet(folder / "world" / "log.parquet").select(pl.len()).collect().item()
        return {
            "make": made, "save": seconds, "cpu": time.process_time() - cpu, "rows": rows,
            "disk": sum(path.stat().st_size for path in files) / 2**20,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }  # fmt: skip
    finally:
        shutil.rmtree(folder)


def in_process(sizes: tuple[int, int, int]) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, sizes)]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
    return found


def table(rows: list[tuple[tuple[int, int, int], dict[str, Any]]]) -> list[str]:
    """The table, as Markdown."""
    lines = [
        "| users | items | rows | make (s) | save (s) | rows per second | CPU (s) | on disk (MB) | memory (MB) |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (_, users, items), one in rows:
        speed = one["rows"] / (one["make"] + one["save"])
        lines.append(
            f"| {users:,} | {items:,} | {one['rows']:,} | {one['make']:.1f} | {one['save']:.1f} | {speed:,.0f} | "
            f"{one['cpu']:.1f} | {one['disk']:,.0f} | {one['memory']:,.0f} |"
        )
    return lines


def versions() -> str:
    """Of what the speed depends on."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("trueval", "numpy", "numba", "polars"))


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--largest", action="store_true", help="100 million rows as well")
    parser.add_argument("--one", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure_one(*given.one)))
        return
    sizes = [*ROWS, *([LARGEST] if given.largest else [])]
    found = [(own, in_process(own)) for own in sizes]
    command = "python benchmarks/worlds_table.py --largest -o benchmarks/WORLDS.md"
    write_table("Worlds in a stream", command, __doc__, f"{machine()}; {versions()}", table(found), given.output)


if __name__ == "__main__":
    main()
