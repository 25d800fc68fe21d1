"""Small things that must stay small: start-up, ten users from the shell, compiling the kernels once."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from environments import interpreter
from suites import DATA
from w1_data import make_w1
from w2_data import make_w2

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def measure_small() -> list[dict[str, Any]]:
    python = interpreter("bench")
    folder = ten_users()
    evaluate = [python.parent / "trueval", "evaluate", folder / "recs.csv", "--test", folder / "test.csv"]
    rows = [
        ("start Python, do nothing", None, lambda: _best([python, "-c", "pass"])),
        ("import trueval", 0.3, lambda: _best([python, "-c", IMPORT.format("trueval")], printed=True)),
        ("import polars, for comparison", None, lambda: _best([python, "-c", IMPORT.format("polars")], printed=True)),
        ("trueval evaluate, ten users, from the shell", 0.6, lambda: _best(evaluate)),
        ("kernels: compile all for the first time", 15, lambda: _compilation(python)),
    ]
    found = []
    for what, limit, measure in rows:
        try:
            row = {"what": what, "limit": limit, "seconds": measure()}
        except (subprocess.CalledProcessError, OSError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            row = {"what": what, "limit": limit, "error": said[-1][:120]}
        print(f"small        {row}", flush=True)
        found.append(row)
    return found


def _best(command: list[Any], *, printed: bool = False, repeats: int = 5) -> float:
    """Least wall time, or least number the command prints, of a few runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
        times.append(float(done.stdout) if printed else time.perf_counter() - started)
    return min(times)


def _compilation(python: Path) -> float:
    """Time that an empty cache adds to one run of W1 and one of W2, large enough to need the kernels."""
    make_w1(DATA / "w1-10k", users=10_000, variants=("ints",))
    make_w2(DATA / "w2-4k", users=4_000, items=2_700)
    work = [("w1_columns:trueval", DATA / "w1-10k" / "ints"), ("w2_contenders:trueval_w2", DATA / "w2-4k")]
    with tempfile.TemporaryDirectory() as cache:
        # the second pass finds in the cache what the first left there
        cold, warm = (sum(_whole_run(python, *one, Path(cache)) for one in work) for _ in range(2))
    return cold - warm


def _whole_run(python: Path, entry: str, folder: Path, cache: Path) -> float:
    command = [python, Path(__file__).parent / "worker.py", entry, folder, folder, cache / "values.npz", "trueval"]
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=surroundings)
    result = json.loads(done.stdout.split("RESULT ")[1].splitlines()[0])
    return result["first_call"] + result["seconds"]


def ten_users() -> Path:
    """A folder with recs.csv and test.csv of ten users."""
    import polars as pl

    make_w1(DATA / "w1-tiny", users=50, variants=("ints",))
    folder = DATA / "ten"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("recs", "test"):
        frame = pl.read_parquet(DATA / "w1-tiny" / "ints" / f"{name}.parquet")
        users = frame["user"].unique().sort().head(10)
        frame.filter(pl.col("user").is_in(users.implode())).write_csv(folder / f"{name}.csv")
    return folder
