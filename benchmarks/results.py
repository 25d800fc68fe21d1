"""Tables of the results, and a description of the machine that says nothing about whose it is."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ORDER = (
    "query",
    "w1-ints",
    "w1-strings",
    "w1-shuffled",
    "w1-large-ints",
    "w2",
    "aspects",
    "catalogue",
    "bootstrap",
    "small",
)
HEADER = """# Benchmark results

Written by `make bench` (`python benchmarks/run.py w1 w2 small …`, also `w1-large`) and, the first table, by `make
bench-query`. Time is the wall time of the work, without interpreter start, imports and a first call on tiny data (the
"start" column); reading files is included in W1 and left out in W2. Contenders take turns, round by round: best and
median are over the rounds, and so are their ratios to trueval's, since the machine is not equally fast all the time.
CPU is processor time of the best run, all threads. Peak memory is the highest resident memory of the whole process.
The load average says how busy the machine was: above the number of its cores, times are longer than they would be, and
only their ratios in one run say something.
"""


def machine() -> str:
    """Processor, cores, memory, system, and how busy it was."""
    model = platform.processor() or platform.machine()
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = ""
    if meminfo.exists():
        memory = f", {int(meminfo.read_text().split()[1]) / 2**20:.0f} GB"
    python = platform.python_version()
    load = f"{os.getloadavg()[1]:.1f}"
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()}, Python {python}, load average {load}"


def write_table(
    title: str, command: str, module_text: str | None, measured_on: str, table: Sequence[str], output: Path | None
) -> None:
    """Write (or print) the page of one table: how it is made, what the module says of it, the machine."""
    about = (module_text or "").split("\n\n", 1)[1].strip()
    made = f"{datetime.date.today()}; {measured_on}"
    text = "\n".join([f"# {title}", "", f"Written by `{command}`.", "", about, "", made, "", *table, ""])
    if output is None:
        print(text)
    else:
        output.write_text(text, encoding="utf-8")


def write_results(folder: Path, path: Path) -> None:
    """Write the tables of what was measured here; of what was not, those that the file has stay."""
    sections = _sections(path.read_text()) if path.exists() else {}
    found = {}
    for name in ORDER:
        file = folder / f"{name}.json"
        if file.exists():
            one = json.loads(file.read_text())
            shape = _query_table if "query" in one else _small_table if "rows" in one else _table
            found[one["title"]] = f"{one['date']}; {one['machine']}\n\n{shape(one)}"
    added = {title: text for title, text in found.items() if title not in sections}
    sections = {**added, **{title: found.get(title, text) for title, text in sections.items()}}
    path.write_text("\n".join([HEADER, *(f"## {title}\n\n{text}" for title, text in sections.items())]))


def _sections(text: str) -> dict[str, str]:
    """Texts by title."""
    parts = [part.split("\n", 1) for part in text.split("\n## ")[1:]]
    return {title: body.strip("\n") + "\n" for title, body in parts}


def _table(found: dict[str, Any]) -> str:
    best = {name: min(r, key=lambda run: run.get("seconds", 1e9)) for name, r in found["runs"].items()}
    middle = {name: _median(runs) for name, runs in found["runs"].items()}
    base = best.get("trueval", {}).get("seconds")
    lines = [
        "| contender | best (s) | × trueval | median (s) | × trueval | CPU (s) | peak memory (GB) | start (s) | runs "
        "| values | versions |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for name, run in sorted(best.items(), key=lambda pair: pair[1].get("seconds", 1e9)):
        if "seconds" not in run:
            lines.append(f"| {name} |{' – |' * 9} {run['error']} |")
            continue
        times = [(run["seconds"], base), (middle[name], middle.get("trueval"))]
        shown = [cell for time, own in times for cell in (f"{time:.3f}", f"{time / own:.2f}" if own else "–")]
        start = run["import"] + run["first_call"]
        versions = ", ".join(f"{package} {version}" for package, version in run["versions"].items())
        cells = [*shown, f"{run['cpu']:.2f}", f"{run['peak'] / 1e9:.2f}", f"{start:.1f}"]
        runs = str(len(found["runs"][name]))
        lines.append(f"| {' | '.join([name, *cells, runs, _agreement(found, name), versions])} |")
    return "\n".join(lines) + "\n"


def _median(runs: list[dict[str, Any]]) -> float:
    """Of the rounds that came to an end."""
    return statistics.median([run["seconds"] for run in runs if "seconds" in run] or [float("nan")])


def _agreement(found: dict[str, Any], name: str) -> str:
    difference = found["differences"].get(name)
    if difference is None:
        return "–"
    word = "agree" if difference["agrees"] else "**differ**"
    others = f", {difference['share']:.2%} of users beyond" if difference["share"] else ""
    return f"{word} (largest gap {difference['largest']:.0e}{others})"


def _query_table(found: dict[str, Any]) -> str:
    """Wall seconds of each contender, with CPU seconds behind a stroke; how many times as fast trueval is."""
    names = list(found["query"][0]["best"])
    heads = [f"{name}, s / CPU s" for name in names] + [f"× {name}" for name in names[:-1]]
    lines = [f"Best of the rounds; {found['versions']}.", "", "| | " + " | ".join([*heads, "wanted", "peak GB"]) + " |"]
    lines.append("|---|" + "---:|" * (len(heads) + 2))
    for row in found["query"]:
        best = row["best"]
        cells = [f"{best[n]['seconds']:.2f} / {best[n]['cpu']:.2f}" if n in best else "–" for n in names]
        own = best["trueval"]["seconds"]
        cells += [f"{best[n]['seconds'] / own:.2f}" if n in best else "–" for n in names[:-1]]
        cells.append("–" if row["wanted"] is None else f"{row['wanted']:.1f}")
        cells.append(" / ".join(f"{best[n]['peak'] / 1e9:.1f}" for n in names if n in best))
        lines.append(f"| {' | '.join([row['title'], *cells])} |")
    return "\n".join(lines) + "\n"


def _small_table(found: dict[str, Any]) -> str:
    rows = found["rows"]
    lines = ["| what | time (s) | limit (s) |", "|---|---:|---:|"]
    for row in rows:
        shown = f"{row['seconds']:.2f}" if "seconds" in row else row["error"]
        lines.append(f"| {row['what']} | {shown} | {row['limit'] or '–'} |")
    return "\n".join(lines) + "\n"
