"""All systems on MovieLens 1M with their defaults: python benchmarks/systems_table.py [NAME …]

Run it with a Python that has trueval[systems]. Each system is fitted and judged in a process of its own; raw
results stay in data/results/systems.json, the tables are written to SYSTEMS.md. With names, only these are
measured, and joined to what was measured before ("als" is the comparison of sweeps and the new user).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from results import machine

HERE = Path(__file__).resolve().parent
KEPT = HERE / "data" / "results" / "systems.json"
DATA = Path(os.environ.get("TRUEVAL_DATA", HERE.parents[1] / "shared" / "data")) / "ml-1m"
HEADER = """# All systems on MovieLens 1M

Written by `python benchmarks/systems_table.py`. Holdout 80/20, ratings of 4 and more relevant, design AR-TI-AN,
every system with its defaults. Time, CPU (all threads) and memory are those of the fit alone, after a first fit
on tiny data; added memory is the highest resident memory during the fit less what the process held before.
Oracles read the test part: their values are bounds, not results.
"""


def main() -> int:
    import trueval as tv

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data", default=str(DATA), help="folder of MovieLens 1M (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=900, help="seconds one system may take")
    options = parser.parse_args()
    found = json.loads(KEPT.read_text()) if options.names and KEPT.exists() else {}
    for name in options.names or [*tv.systems(), "als"]:
        found[name] = _run(name, options.data, options.limit)
        print(f"{name:22} {found[name]}", flush=True)
    found["about"] = f"{datetime.date.today().isoformat()}; {machine()}"
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(found, indent=1))
    (HERE / "SYSTEMS.md").write_text(_page(found))
    return int(any("error" in row for row in found.values() if isinstance(row, dict)))


def _run(name: str, data: str, limit: float) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "systems_worker.py"), name, data]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {limit:.0f} s"}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
    return {"error": said[-1][:160]}


def _page(found: dict[str, Any]) -> str:
    import trueval as tv

    rows = {name: row for name, row in found.items() if name not in ("about", "als")}
    base = rows.get("popularity", {}).get("ndcg")
    lines = [
        HEADER,
        f"{found['about']}\n",
        "| system | nDCG@10 | 95 % interval | × popularity | fit (s) | CPU (s) | added memory (MB) |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in sorted(rows.items(), key=lambda pair: -pair[1].get("ndcg", -1.0)):
        if "error" in row:
            lines.append(f"| {name} | – | – | – | – | – | {row['error']} |")
            continue
        ratio = f"{row['ndcg'] / base:.2f}" if base else "–"
        shown = f"{name} (oracle)" if tv.systems(name).oracle else name
        interval = f"{row['low']:.4f}–{row['high']:.4f}"
        cost = f"{row['seconds']:.2f} | {row['cpu']:.2f} | {row['added'] / 1e6:.0f}"
        lines.append(f"| {shown} | {row['ndcg']:.4f} | {interval} | {ratio} | {cost} |")
    return "\n".join([*lines, *_als_lines(found.get("als"))]) + "\n"


def _als_lines(als: dict[str, Any] | None) -> list[str]:
    if not als or "error" in als:
        return []
    ours = als["sweep"]["AllRank"]
    lines = [
        f"\n## One sweep of alternating least squares, 50 factors, {als['threads']} threads\n",
        "| contender | one sweep (s) | AllRank takes |",
        "|---|---:|---:|",
        *(f"| {name} | {seconds:.3f} | {ours / seconds:.2f} × |" for name, seconds in als["sweep"].items()),
        f"\nScores of 20,000 items for one new user (200 ratings, 50 factors): {1000 * als['fold_in']:.1f} ms.",
    ]
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
