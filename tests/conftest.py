"""Where tests find the research data, and a fast, repeatable Hypothesis profile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "trueval", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("trueval")

DATA = Path(os.environ.get("TRUEVAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder() -> Callable[[str], Path]:
    """The folder of a research data set, or a skip that says where it was looked for."""

    def folder(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"no {name} in {DATA}: set TRUEVAL_DATA to the folder of data sets")
        return path

    return folder
