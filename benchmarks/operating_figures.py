"""What the audit finds, and how often it cries wolf: python benchmarks/operating_figures.py [--worlds 200] [-o FILE]

Every audit that is finished is kept in a file, and not made again: who stops this goes on where it ended. Faults and
strengths take turns, so that an early end leaves a whole table with fewer worlds. Audits that were made by other code
are made again.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# one thread each: the processes share the cores. Compiled kernels give the same bits as plain ones, and pay from the
# second audit of a process on.
ALONE = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1",
    "TRUEVAL_KERNELS": "compiled",
}  # fmt: skip
KEPT = Path("build/operating_figures.jsonl")
EFFECTS = 20  # worlds of each cell whose effect is measured against the truth
REPORTED = "reporting"
LEVELS = ("weak", "middle", "strong")
Task = tuple[str, str, int, int]  # set of worlds, fault or kind of clean audit, level (-1: clean), seed


def made_by() -> dict[str, str]:
    """What the kept audits of each fault depend on: the version, the code of the audit, and how it is planted."""
    import planted_clean
    import planted_types
    import planted_worlds
    import trueval
    from planted_faults import FAULTS

    checks = sorted((Path(trueval.__file__).parent / "audit").rglob("*.py"))
    common = trueval.__version__ + "".join(path.read_text() for path in checks)
    common += "".join(inspect.getsource(module) for module in (planted_worlds, planted_types))
    own = {fault.name: f"{module_source(fault.plant)}{fault.check}{fault.strengths}" for fault in FAULTS}
    own |= {kind.name: inspect.getsource(planted_clean) for kind in planted_clean.CLEAN}
    return {name: hashlib.sha256((common + code).encode()).hexdigest()[:12] for name, code in own.items()}


def module_source(function: Callable[..., Any]) -> str:
    """The module that a function is in."""
    return inspect.getsource(sys.modules[function.__module__])


def tasks(name: str, worlds: int, clean: int, only: Sequence[str] = ()) -> list[Task]:
    """All audits, seeds in turn; clean worlds and strong faults, which are promised something, get every turn and the
    other strengths every second one."""
    from planted_clean import CLEAN
    from planted_faults import FAULTS

    each = -(-clean // len(CLEAN))
    found = [(seed, (name, one.name, -1, seed)) for one in CLEAN for seed in range(each)]
    found += [
        (seed if level == 2 else 2 * seed, (fault.reported_on if name == REPORTED else name, fault.name, level, seed))
        for fault in FAULTS
        for level in range(3)
        for seed in range(worlds)
    ]
    return [task for _, task in sorted(found, key=lambda one: one[0]) if not only or task[1] in only]


def one(task: Task) -> dict[str, Any]:
    """One audit, as a record."""
    from planted_clean import CLEAN, false_alarms
    from planted_faults import FAULTS
    from planted_worlds import GENERATORS
    from trueval.progress import hushed

    name, what, level, seed = task
    begin = time.process_time()
    record: dict[str, Any] = {"set": name, "what": what, "level": level, "seed": seed, "effect": None}
    with hushed():
        if level < 0:
            kind = next(kind for kind in CLEAN if kind.name == what)
            record["estimates"], record["facts"] = false_alarms(kind.of(GENERATORS[name], seed))
        else:
            fault = next(fault for fault in FAULTS if fault.name == what)
            planted = fault.plant(GENERATORS[name], seed, fault.strengths[level])
            audit = planted.audit()
            record |= {"found": fault.found(audit), "verdict": audit[fault.check][0].verdict}
            record["others"] = sorted({f.check for f in audit.findings if f.verdict in ("wrong", "caution")})
            if seed < EFFECTS:
                record["effect"] = [float(value) for value in planted.effect(audit)]
    return record | {"seconds": time.process_time() - begin}


def run(todo: Sequence[Task], kept: Path, *, workers: int, minutes: float = 1e9) -> list[dict[str, Any]]:
    """All records of these audits: those that are kept, and the others, as many as `minutes` allow, which are kept."""
    own, asked = made_by(), set(todo)
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    records = [row for row in records if key(row) in asked and row["made_by"] == own[row["what"]]]
    done = {key(row) for row in records}
    left = [task for task in todo if task not in done]
    kept.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update(ALONE)  # for the processes that are started from here on
    end = time.monotonic() + 60 * minutes
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool, kept.open("a") as file:
        waiting, coming = set(), iter(left)
        while time.monotonic() < end:
            waiting |= {pool.submit(one, task) for _, task in zip(range(4 * workers - len(waiting)), coming)}
            if not waiting:
                break
            future = next(as_completed(waiting))
            waiting.remove(future)
            made = future.result()
            records.append({"made_by": own[made["what"]], **made})
            file.write(json.dumps(records[-1]) + "\n")
            file.flush()
            if len(records) % 100 == 0:
                print(f"{len(records):,} of {len(todo):,} audits", flush=True)
        for future in waiting:
            future.cancel()
    return records


def key(row: dict[str, Any]) -> Task:
    return row["set"], row["what"], row["level"], row["seed"]


def main() -> None:
    """Make the audits that are missing, print the page and write it."""
    from operating_page import page, tables

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=200, help="of each fault and strength")
    parser.add_argument("--clean", type=int, default=520, help="worlds with nothing planted")
    parser.add_argument("--set", default=REPORTED, choices=["development", REPORTED])
    parser.add_argument("--only", nargs="*", default=[], help="faults or kinds of clean audits")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no audit after so many")
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"finished audits (default: {KEPT})")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    todo = tasks(chosen.set, chosen.worlds, chosen.clean, chosen.only)
    records = run(todo, chosen.kept, workers=chosen.workers, minutes=chosen.minutes)
    print(tables(records))
    if chosen.output is not None:
        chosen.output.write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
