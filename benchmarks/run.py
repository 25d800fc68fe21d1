"""Benchmarks: python benchmarks/run.py w1 w2 small   (also: w1-large, 100M rows; --help for options)

Needs nothing but Python: the environments are made first (once), then measure.py runs in one of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from environments import interpreter, make_environments

if __name__ == "__main__":
    make_environments()
    script = Path(__file__).with_name("measure.py")
    raise SystemExit(subprocess.run([str(interpreter("bench")), str(script), *sys.argv[1:]]).returncode)
