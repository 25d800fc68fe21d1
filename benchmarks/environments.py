"""The virtual environments of the benchmarks, made when missing.

Peers that cannot live with current NumPy or polars get their own: RecTools 0.19 wants numpy<2 (and that
numpy an older pyarrow), RePlay 0.22 wants polars<2. The torch pin names the CPU build, because the plain
one brings gigabytes of CUDA; where the configured indexes lack it, install torch from the index of CPU
wheels first.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS: dict[str, list[list[str]]] = {
    "bench": [
        ["torch==2.13.0+cpu"],
        ["-e", str(ROOT), "pandas", "pyarrow", "psutil"],
        ["ranx", "pytrec_eval-terrier", "ir-measures"],
    ],
    "bench-rectools": [["rectools", "pyarrow<22", "polars"]],
    "bench-replay": [["replay-rec", "pyarrow"]],
}


def interpreter(environment: str) -> Path:
    """Python of an environment; the running one when the environment was not made."""
    found = ROOT / f".venv-{environment}" / "bin" / "python"
    return found if found.exists() else Path(sys.executable)


def make_environments() -> None:
    """Make what is missing; a peer that cannot be installed is reported and left out."""
    for name, steps in ENVIRONMENTS.items():
        folder = ROOT / f".venv-{name}"
        if folder.exists():
            continue
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            for packages in steps:
                print(f"{folder.name}: installing {' '.join(p for p in packages if p != str(ROOT))}", flush=True)
                subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *packages], check=True)
        except subprocess.CalledProcessError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if name == "bench":
                raise SystemExit(f"cannot make {folder.name}: {error}") from error
            print(f"{folder.name} could not be made: its contender is left out")
