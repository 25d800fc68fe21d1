"""What the tests of experiments share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from experiment_worlds import make_folder

from trueval.kernels import use_threads


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """The experiments are so small that threads would cost more than they bring."""
    with use_threads(1):
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make_folder(tmp_path)
