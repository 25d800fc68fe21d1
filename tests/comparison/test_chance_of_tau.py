"""How often random orders agree so far, against all orders gone through."""

from __future__ import annotations

import itertools

import pytest
from scipy.stats import kendalltau

from trueval.comparison.tau import chance_of_tau


@pytest.mark.parametrize("systems", [2, 3, 4, 5])
def test_all_orders_are_counted(systems: int) -> None:
    found = [kendalltau(range(systems), order).statistic for order in itertools.permutations(range(systems))]
    for tau in sorted(set(found)):
        expected = sum(one >= tau - 1e-9 for one in found) / len(found)
        assert chance_of_tau(tau, systems) == pytest.approx(expected)
