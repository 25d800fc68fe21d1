"""On real ratings, systems that know the person beat popularity, with their defaults."""

from __future__ import annotations

import pytest

import trueval as tv

RULES = {"design": "AR-TI-AN", "threshold": 4, "metrics": "ndcg@10", "interval": "none"}


@pytest.fixture(scope="module")
def movielens(data_folder):
    return tv.split(tv.read(data_folder("ml-1m")), "holdout", ratio=0.2)


def ndcg(parts, *systems: str) -> list[float]:
    result = tv.evaluate(parts, list(systems), **RULES)
    return [result[system, "ndcg@10"].value for system in systems]


@pytest.mark.data
def test_personal_systems_beat_popularity(movielens):
    """pLSA with fewer steps than by default, to be quick."""
    popularity, users, items, rated, topics = ndcg(
        movielens, "popularity", "userknn", "itemknn", "itemknn[feedback=explicit]", "plsa[iterations=25]"
    )
    assert popularity == pytest.approx(0.166, abs=0.01)
    assert users > 1.6 * popularity
    assert items > 1.4 * popularity
    assert topics > 1.4 * popularity
    assert rated > items  # what people thought of the items helps


@pytest.mark.data
def test_optimal_precision_is_best_of_those_without_a_person(movielens):
    popularity, average, optimal = ndcg(movielens, "popularity", "average", "optimal_precision")
    assert optimal > popularity > average


@pytest.mark.slow
@pytest.mark.data
def test_plsa_by_default_is_good(movielens):
    popularity, topics = ndcg(movielens, "popularity", "plsa")
    assert topics > 1.6 * popularity
