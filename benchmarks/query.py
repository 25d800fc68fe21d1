"""trueval against the polars query that people would write, from a cold shell and warm: the rows of RESULTS.md.

Contenders of a row take turns, and the best of the rounds counts. Cold rows are whole commands: interpreter, imports
and all. Warm rows are one call after a first one on tiny data, in a process of its own. CPU is user and system time.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import interpreter
from query_contenders import METRICS
from small import ten_users
from suites import DATA, QUERY_CONTENDERS, Contender, Suite
from w1_data import make_w1

HERE = Path(__file__).parent
Measured = dict[str, Any]  # seconds, cpu, peak
RunOnce = Callable[[Suite, Contender, float], Measured]


@dataclass(frozen=True)
class Row:
    title: str
    variant: str
    wanted: float  # times as fast as the query that ranks over users
    cold: bool = False
    users: int = 100_000
    rounds: int = 3

    @property
    def folder(self) -> Path:
        """Where the two files are."""
        return DATA / ("w1" if self.users == 100_000 else "w1-large") / self.variant


ROWS = (
    Row("cold shell, whole-number ids", "ints", 1.0, cold=True),
    Row("cold shell, text ids", "strings", 1.0, cold=True),
    Row("warm, whole-number ids, sorted", "ints", 2.0),
    Row("warm, whole-number ids, shuffled", "shuffled", 1.5),
    Row("warm, text ids, sorted", "strings", 1.5),
    Row("warm, text ids, shuffled", "strings-shuffled", 1.5),
)
LARGE = Row("1,000,000 users in one file, warm", "ints", 2.5, users=1_000_000, rounds=2)


def measure_query(run_once: RunOnce, *, large: bool) -> list[dict[str, Any]]:
    """All rows; `run_once` runs a warm contender (see measure.py)."""
    found = []
    for row in (*ROWS, *([LARGE] if large else [])):
        make_w1(DATA / "w1-tiny", users=50, variants=(row.variant,))
        make_w1(row.folder.parent, users=row.users, variants=(row.variant,))
        one = _cold if row.cold else lambda row, contender: run_once(_suite(row), contender, 600)
        best = _best(row, one)
        found.append({"title": row.title, "wanted": row.wanted, "rounds": row.rounds, "best": best})
        _say(found[-1])
    found.append(_ten_users())
    _say(found[-1])
    return found


def _best(row: Row, one: Callable[[Row, Contender], Measured]) -> dict[str, Measured]:
    """The best round of each contender by wall time, and its least CPU time, which a busy machine spoils less."""
    rounds: dict[str, list[Measured]] = {contender.name: [] for contender in QUERY_CONTENDERS}
    for _ in range(row.rounds):
        for contender in QUERY_CONTENDERS:
            rounds[contender.name].append(one(row, contender))
    return {name: {what: min(run[what] for run in runs) for what in ("seconds", "cpu", "peak")}
            for name, runs in rounds.items()}  # fmt: skip


def _suite(row: Row) -> Suite:
    tiny = DATA / "w1-tiny" / row.variant
    return Suite(f"query-{row.variant}", row.title, row.folder, tiny, QUERY_CONTENDERS, (), 1e-9, 0.0, lambda: None)


def _cold(row: Row, contender: Contender) -> Measured:
    recs, test = (str(row.folder / f"{name}.parquet") for name in ("recs", "test"))
    if contender.name == "trueval":
        shell = str(interpreter("bench").parent / "trueval")
        return command_cost(
            [shell, "evaluate", recs, "--test", test, "--metrics", ",".join(METRICS), "--interval", "none"]
        )
    form = contender.entry.rpartition("_")[2]
    return command_cost([str(interpreter("bench")), str(HERE / "query_contenders.py"), form, str(row.folder)])


def command_cost(command: list[str]) -> Measured:
    """Wall and CPU seconds and peak memory of a command. The first one compiles modules, as installing them does."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=surroundings)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    said = process.stderr.read().decode() if process.stderr else ""
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {said}")
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024}


def _ten_users() -> dict[str, Any]:
    """`trueval evaluate` as it is by default, with intervals, of ten users in CSV files."""
    folder = ten_users()
    shell = str(interpreter("bench").parent / "trueval")
    runs = [command_cost([shell, "evaluate", f"{folder}/recs.csv", "--test", f"{folder}/test.csv"]) for _ in range(7)]
    best = {what: min(run[what] for run in runs) for what in ("seconds", "cpu", "peak")}
    return {"title": "ten users, cold shell (wanted: 0.6 s)", "wanted": None, "rounds": 7, "best": {"trueval": best}}


def _say(row: dict[str, Any]) -> None:
    cells = [f"{name} {run['seconds']:.3f} s, CPU {run['cpu']:.2f} s, {run['peak'] / 1e9:.2f} GB"
             for name, run in row["best"].items()]  # fmt: skip
    print(f"{row['title']:36} {'; '.join(cells)}", flush=True)
