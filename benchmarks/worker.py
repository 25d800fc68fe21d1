"""Runs one contender once, in a process of its own, and prints what it cost as one line of JSON.

Called by measure.py: python worker.py MODULE:FUNCTION WORK_FOLDER TINY_FOLDER VALUES_FILE PACKAGES
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple


class Work(NamedTuple):
    """A contender: the work to time on a data folder, and its result as columns (not timed)."""

    run: Callable[[Path], Any]
    values: Callable[[Any], Any]
    prepare: Callable[[Path], Any] | None = None  # loads what `run` may take as given (not timed)


def measure(contender: str, folder: Path, tiny: Path, values_file: Path, packages: list[str]) -> dict[str, Any]:
    started = time.perf_counter()
    module, function = contender.split(":")
    work: Work = getattr(import_module(module), function)()
    loaded = time.perf_counter()
    # compiled code is loaded and thread pools start here: a price per process, told apart from the work
    work.run(tiny)
    first_call = time.perf_counter()
    if work.prepare:
        work.prepare(folder)
    wall, cpu = time.perf_counter(), time.process_time()
    result = work.run(folder)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    peak = _peak_bytes()
    _save(work.values(result), values_file)
    return {
        "seconds": seconds,
        "cpu": cpu_seconds,
        "peak": peak,
        "import": loaded - started,
        "first_call": first_call - loaded,
        "versions": {name: metadata.version(name) for name in packages},
    }


def _peak_bytes() -> int:
    """Highest resident memory of this process; /proc is exact, getrusage may include the parent's."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _save(values: Any, path: Path) -> None:
    """Columns ordered by user, so that files of different contenders compare row by row."""
    import numpy as np

    names = list(getattr(values, "columns", values))
    columns = {name: np.asarray(values[name]) for name in names if name != "system"}
    if "user" in columns:
        users = columns.pop("user")
        if users.dtype.kind in "UO":  # the TREC family turns whole numbers into text: turn them back
            users = users.astype(str)
            users = users.astype(np.int64) if users[0].isdigit() else users
        order = np.argsort(users)
        columns = {name: column[order].astype(np.float64) for name, column in columns.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **columns)


if __name__ == "__main__":
    contender, folder, tiny, values_file, packages = sys.argv[1:6]
    # contenders import Work from "worker": make that the module that is running
    sys.modules["worker"] = sys.modules["__main__"]
    found = measure(contender, Path(folder), Path(tiny), Path(values_file), packages.split())
    print("RESULT " + json.dumps(found))
