"""The uniform test: the published numbers, a naive reading of the rule, and what is said when it cannot."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.splits import split
from trueval.splits.uniform import candidate_items

# worked by hand in the golden file, section F2_U1R
GOLDEN = {
    "ratings_per_item": [50, 30, 20, 10, 6, 4],
    "sigma": 0.2,
    "epsilon": 0.2,
    "zeta": 5,
    "eta_exact": 4.8,
}


def log_with(popularity: list[int]) -> Interactions:
    """Item j (from 1) rated by users 1, 2, … as often as told."""
    rows = [(user, item) for item, count in enumerate(popularity, start=1) for user in range(1, count + 1)]
    frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    return Interactions.of(frame.with_columns(value=(pl.col("user") * pl.col("item")) % 5 + 1))


def naive(popularity: list[int], sigma: str, eps: str) -> int | None:
    ordered = sorted(popularity, reverse=True)
    kept = 1 - Fraction(eps)
    fits = [k for k in range(1, len(ordered) + 1) if kept * ordered[k - 1] * k / sum(ordered) >= Fraction(sigma)]
    return max(fits, default=None)


def test_golden_toy():
    path = Path(__file__).parents[3] / "shared" / "golden" / "golden.json"
    if path.exists():
        golden = json.loads(path.read_text())["F2_U1R"]
        assert {name: golden[name] for name in GOLDEN} == GOLDEN
    parts = split(log_with(GOLDEN["ratings_per_item"]), "uniform_test", ratio=0.2, eps=0.2)
    assert parts.candidates.to_list() == [1, 2, 3, 4, 5]
    assert parts.eta == 4
    assert Counter(parts.test.frame["item"]) == dict.fromkeys(range(1, 6), 4)
    near = split(log_with(GOLDEN["ratings_per_item"]), "uniform_test", ratio=0.2, eps=0.2, round="nearest")
    assert near.eta == 5


@given(
    popularity=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    sigma=st.sampled_from(["0.05", "0.1", "0.2", "0.3", "0.5"]),
    eps=st.sampled_from(["0.1", "0.2", "0.5"]),
    seed=st.integers(0, 5),
)
def test_against_the_rule_read_naively(popularity, sigma, eps, seed):
    log, zeta = log_with(popularity), naive(popularity, sigma, eps)
    ordered = sorted(popularity, reverse=True)
    eta = None if zeta is None else floor((1 - Fraction(eps)) * ordered[zeta - 1])
    if not eta:
        with pytest.raises(DefinitionError):
            split(log, "uniform_test", ratio=float(sigma), eps=float(eps))
        return
    parts = split(log, "uniform_test", ratio=float(sigma), eps=float(eps), seed=seed)
    assert parts.how["items"] == zeta == len(parts.candidates)
    assert set(Counter(parts.test.frame["item"]).values()) == {eta}
    assert sorted((popularity[item - 1] for item in parts.candidates), reverse=True) == ordered[:zeta]
    left = Counter(parts.train.frame["item"])
    assert all(left[item] >= Fraction(eps) * popularity[item - 1] for item in parts.candidates)


@pytest.mark.parametrize(
    ("popularity", "sigma", "eps", "zeta"),
    [([6, 5, 1], 0.2, 0.2, 3), ([9, 8, 7, 4], 0.4, 0.3, 4), ([11, 6, 3, 1], 0.4, 0.3, 2)],
)
def test_equality_counts_where_binary_fractions_would_miss_it(popularity, sigma, eps, zeta):
    assert naive(popularity, str(sigma), str(eps)) == zeta
    assert candidate_items(np.array(popularity), sigma, eps)[0] == zeta


def test_every_rating_of_an_item_is_equally_likely():
    log = log_with([40] * 500)
    parts = split(log, "uniform_test", ratio=0.25, eps=0.75)
    per_user = np.array(list(Counter(parts.test.frame["user"]).values()))
    assert parts.eta == 10
    assert np.abs(per_user - 125).max() < 5 * np.sqrt(500 * 0.25 * 0.75)


@pytest.mark.parametrize("popularity", [[50, 30, 20, 10, 6, 4], [9], [5, 5, 5, 1], [1000] + [1] * 50])
@pytest.mark.parametrize("eps", [0.2, 0.37])
def test_the_largest_ratio_told_is_possible_and_the_next_is_not(popularity, eps):
    ordered = np.array(sorted(popularity, reverse=True))
    with pytest.raises(DefinitionError, match="largest possible ratio") as problem:
        candidate_items(ordered, 0.99, eps)
    told = float(problem.value.do.split("ratio=")[1].split()[0])
    assert candidate_items(ordered, told, eps)[0] >= 1
    with pytest.raises(DefinitionError):
        candidate_items(ordered, told + 0.0001, eps)


def test_only_ratings_above_a_threshold_are_drawn():
    log = log_with([60, 50, 40, 30])
    parts = split(log, "uniform_test", ratio=0.1, threshold=4)
    assert parts.test.frame["value"].min() >= 4
    assert set(Counter(parts.test.frame["item"]).values()) == {parts.eta}
    assert parts.rows == len(log)


def test_what_cannot_be():
    log = log_with([5, 4, 1])
    for options, word in [
        ({"threshold": 9}, "above every value"),
        ({"round": "up"}, "floor, nearest"),
        ({"eps": 1.0}, "share between"),
        ({"ratio": 0.01}, "no test rating is left"),
    ]:
        with pytest.raises(DefinitionError, match=word):
            split(log, "uniform_test", **options)
    with pytest.raises(DataError, match="needs values"):
        split(log.keep(log.frame.drop("value")), "uniform_test", threshold=4)


@pytest.mark.data
def test_movielens_1m_as_published(data_folder):
    frame = pl.read_csv(data_folder("ml-1m") / "ratings.dat", separator=":", has_header=False)[:, ::2]
    log = Interactions.of(frame.rename(dict(zip(frame.columns, ("user", "item", "value", "time")))))
    for rounding, eta in (("floor", 117), ("nearest", 118)):
        parts = split(log, "uniform_test", ratio=0.2, eps=0.2, round=rounding)
        assert (len(parts.candidates), parts.eta) == (1703, eta)
        counts = parts.test.frame["item"].value_counts()
        assert counts["count"].unique().to_list() == [eta]
        assert set(counts["item"]) == set(parts.candidates)
