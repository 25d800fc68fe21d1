"""What a command imports: a run is evaluated without systems, experiments, numba or scipy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Each takes time to import, and none has anything to say about lists that were made elsewhere.
HEAVY = {
    "numba", "scipy", "pandas", "pyarrow", "sklearn", "altair", "jinja2", "matplotlib", "trueval.recommenders",
    "trueval.experiments", "trueval.splits", "trueval.propensity", "trueval.simulation", "trueval.audit",
    "trueval.charts", "trueval.online", "trueval.calibration", "trueval.comparison.comparison",
    "trueval.comparison.agreement", "trueval.evaluation.evaluate_systems", "trueval.evaluation.repeats",
    "trueval.cli.audit", "trueval.cli.simulate", "trueval.report.saved_results",
}  # fmt: skip
PROBE = """
import sys
sys.argv = ["trueval", "evaluate", "recs.csv", "--test", "test.csv", "--format", "json"]
from trueval.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules, file=sys.stderr)
"""


def loaded(folder: Path, **surroundings: str) -> set[str]:
    """Modules that are there after `trueval evaluate`."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=folder, env={**os.environ, **surroundings}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert '"ndcg@10"' in done.stdout
    return set(done.stderr.split("\n")[-2].split())


def write_files(folder: Path) -> None:
    rows = [f"u{u},i{(u * 7 + r) % 50},{30 - r}" for u in range(12) for r in range(20)]
    (folder / "recs.csv").write_text("\n".join(["user,item,score", *rows]))
    (folder / "test.csv").write_text("\n".join(["user,item", *(f"u{u},i{(u * 7 + 3) % 50}" for u in range(12))]))


def test_a_run_is_evaluated_without_heavy_modules(tmp_path):
    write_files(tmp_path)
    found = loaded(tmp_path)
    assert "trueval.evaluation.runs" in found
    assert not HEAVY & found


def test_compiled_kernels_need_no_numba_the_second_time(tmp_path):
    write_files(tmp_path)
    surroundings = {"TRUEVAL_KERNELS": "compiled", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert "numba" in loaded(tmp_path, **surroundings)
    assert not HEAVY & loaded(tmp_path, **surroundings)
