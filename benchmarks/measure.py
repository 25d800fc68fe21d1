"""Runs the suites, compares the values, keeps the results (started by run.py).

Each contender runs in a process of its own (see worker.py); rounds are interleaved, so that a busy moment
of the machine does not hit one contender alone, and the best of three counts. Those that need more than
SLOW seconds run once. Raw results stay in data/results, the tables are written to RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
from importlib import metadata
from typing import Any

import numpy as np

from catalogue import measure_catalogue
from environments import interpreter
from query import measure_query
from results import machine, write_results
from small import measure_small
from suites import DATA, SUITES, Contender, Suite

HERE = DATA.parent
SLOW = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("suites", nargs="+", choices=[*SUITES, "catalogue", "small", "query", "query-large"])
    parser.add_argument("--only", help="beginnings of contender names, by commas; results are not kept")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600, help="seconds one run may take")
    options = parser.parse_args()
    only = tuple(options.only.lower().split(",")) if options.only else ("",)
    agree = True
    for name in options.suites:
        if name == "small":
            _keep("small", {"title": "Small things", "rows": measure_small()})
        if name.startswith("query"):
            rows = measure_query(_run_once, large=name == "query-large")
            title = "Beside the polars query that people would write: 100,000 users × 100 items, six metrics at 10"
            _keep(
                "query", {"title": title, "query": rows, "versions": _versions("trueval", "polars", "numpy", "numba")}
            )
        if name == "catalogue":
            SUITES["aspects"][0].prepare()
            rows = measure_catalogue(SUITES["aspects"][0].folder, SUITES["aspects"][0].tiny)
            _keep("catalogue", {"title": "Every metric of a list at four cutoffs, 100,000 users", "rows": rows})
        for suite in SUITES.get(name, ()):
            suite.prepare()
            chosen = [c for c in suite.contenders if c.name.lower().startswith(only)]
            runs = _run_interleaved(suite, chosen, options.repeats, options.limit)
            differences = _compare(suite, [c for c in chosen if any("seconds" in r for r in runs[c.name])])
            agree = agree and all(d["agrees"] for d in differences.values())
            if not options.only:
                _keep(suite.name, {"title": suite.title, "runs": runs, "differences": differences})
        write_results(DATA / "results", HERE / "RESULTS.md")
    return 0 if agree else 1


def _run_interleaved(
    suite: Suite, contenders: list[Contender], repeats: int, limit: float
) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {c.name: [] for c in contenders}
    for round_number in range(repeats):
        for contender in contenders:
            if round_number and runs[contender.name][0].get("seconds", SLOW) >= SLOW:
                continue
            found = _run_once(suite, contender, limit)
            runs[contender.name].append(found)
            shown = f"{found['seconds']:8.3f} s" if "seconds" in found else found["error"]
            print(f"{suite.name:12} round {round_number + 1}  {contender.name:34} {shown}", flush=True)
    return runs


def _run_once(suite: Suite, contender: Contender, limit: float) -> dict[str, Any]:
    command = [interpreter(contender.environment), HERE / "worker.py", contender.entry, suite.folder, suite.tiny]
    command += [_values_file(suite, contender), " ".join(contender.packages)]
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {limit:.0f} s"}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
    return {"error": said[-1][:160].replace(str(HERE.parent), ".")}


def _versions(*packages: str) -> str:
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)


def _values_file(suite: Suite, contender: Contender) -> Any:
    return DATA / "values" / suite.name / (contender.entry.replace(":", "-") + ".npz")


def _compare(suite: Suite, contenders: list[Contender]) -> dict[str, dict[str, Any]]:
    """Largest difference per user from the references, over the metrics and first users both have."""
    by_name = {c.name: c for c in suite.contenders}
    files = {name: _values_file(suite, by_name[name]) for name in suite.references}
    references = [np.load(path) for path in files.values() if path.exists()]
    differences: dict[str, dict[str, Any]] = {}
    for contender in contenders:
        values = np.load(_values_file(suite, contender))
        gaps = [_gaps(values, reference) for reference in references]
        gaps = [gap for gap in gaps if gap.size]
        if not gaps:
            continue
        # written so that NaN counts as a difference; per reference, for one of them has few users
        share = max(float((~(gap <= suite.tolerance)).mean()) for gap in gaps)
        found = {
            "largest": float(max(gap.max() for gap in gaps)),
            "share": share,
            "agrees": share <= suite.differing_users,
            "means": {name: float(values[name].mean()) for name in values.files},
        }
        differences[contender.name] = found
        word = "agrees" if found["agrees"] else "DIFFERS"
        means = ", ".join(f"{name} {mean:.6f}" for name, mean in found["means"].items())
        gap = f"largest gap {found['largest']:.0e}, {share:.3%} of users beyond {suite.tolerance:g}"
        print(f"{suite.name:12} {contender.name:34} {word}, {gap}; {means}", flush=True)
    return differences


def _gaps(values: Any, reference: Any) -> np.ndarray:
    """Largest absolute difference of each user over the metrics in common."""
    names = [name for name in reference.files if name in values.files]
    if not names:
        return np.empty(0)
    users = min(len(values[names[0]]), len(reference[names[0]]))
    return np.max([np.abs(values[name][:users] - reference[name][:users]) for name in names], axis=0)


def _keep(name: str, found: dict[str, Any]) -> None:
    folder = DATA / "results"
    folder.mkdir(parents=True, exist_ok=True)
    found |= {"date": datetime.date.today().isoformat(), "machine": machine()}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
