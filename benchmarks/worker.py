"""Runs one contender once, in a process of its own, and prints what it cost as one line of JSON.

Called by run.py: python worker.py MODULE:FUNCTION WORK_FOLDER TINY_FOLDER VALUES_FILE PACKAGES
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


def measure(contender: str, folder: Path, tiny: Path, values_file: Path, packages: list[str]) -> dict[str, Any]:
    started = time.perf_counter()
    module, function = contender.split(":")
    work: Work = getattr(import_module(module), function)()
    loaded = time.perf_counter()
    # compiled code is loaded and thread pools start here: a price per process, told apart from the work
    work.run(tiny)
    first_call = time.perf_counter()
    cpu = time.process_time()
    result = work.run(folder)
    seconds, cpu_seconds = time.perf_counter() - first_call, time.process_time() - cpu
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

    names = [name for name in getattr(values, "columns", values) if name != "user"]
    columns = {name: np.asarray(values[name], dtype=np.float64) for name in names}
    order: Any = slice(None)
    if "user" in (values.columns if hasattr(values, "columns") else values):
        users = np.asarray(values["user"])
        if users.dtype.kind in "UO" and str(users[0]).isdigit():
            users = users.astype(np.int64)
        order = np.argsort(users.astype(str) if users.dtype.kind == "O" else users)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{name: column[order] for name, column in columns.items()})


if __name__ == "__main__":
    contender, folder, tiny, values_file, packages = sys.argv[1:6]
    # contenders import Work from "worker": make that the module that is running
    sys.modules["worker"] = sys.modules["__main__"]
    found = measure(contender, Path(folder), Path(tiny), Path(values_file), packages.split())
    print("RESULT " + json.dumps(found))
