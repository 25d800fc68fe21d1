"""The example of other libraries runs as it is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("implicit", reason="implicit is not installed")
pytest.importorskip("surprise", reason="scikit-surprise is not installed")
EXAMPLE = Path(__file__).parents[3] / "examples" / "other_libraries.py"


def test_the_example_runs():
    ran = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=3600)
    assert ran.returncode == 0, ran.stderr
    for told in ("implicit ALS", "Surprise SVD: surprise", "fitted before", "fitted on train", "somebody's lists"):
        assert told in ran.stdout
