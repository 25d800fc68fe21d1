"""The table of the documentation: what it says holds, by fewer rounds here and by more in the slow version."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
coverage_table = pytest.importorskip("coverage_table")

# The least coverage of 95 % intervals, by kind of metric and number of users. Twenty users are few for percentiles.
LEAST = {20: {"bootstrap": 0.88, "bca": 0.88, "t": 0.90, "nested": 0.90}, 200: {}, 2000: {}}


def check(kind: str, users: int, rounds: int) -> None:
    for name, (covered, missing) in coverage_table.interval_coverage(coverage_table.KINDS[kind], users, rounds).items():
        least = LEAST[users].get(name, 0.93)
        assert covered > least - 3 * np.sqrt(least * (1 - least) / rounds), (kind, users, name)
        assert missing == 0, (kind, users, name)


@pytest.mark.parametrize("users", [20, 200])
@pytest.mark.parametrize("kind", coverage_table.KINDS)
def test_intervals_hold(kind, users):
    check(kind, users, 150)


@pytest.mark.parametrize("kind", coverage_table.KINDS)
def test_tests_hold_their_size(kind):
    for name, (size, held) in coverage_table.size_of_tests(coverage_table.KINDS[kind], 20, 150).items():
        assert size < 0.06 + 3 * np.sqrt(0.06 * 0.94 / 150), (kind, name)
        assert name not in ("t", "bootstrap") or held > 0.94 - 3 * np.sqrt(0.06 * 0.94 / 150), (kind, name)


@pytest.mark.slow
@pytest.mark.parametrize("users", [20, 200, 2000])
@pytest.mark.parametrize("kind", coverage_table.KINDS)
def test_the_table_in_full(kind, users):
    check(kind, users, 1000)
    for name, (size, _) in coverage_table.size_of_tests(coverage_table.KINDS[kind], users, 1000).items():
        assert size < 0.055 + 3 * np.sqrt(0.055 * 0.945 / 1000), (kind, users, name)
