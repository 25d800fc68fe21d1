"""The steepness test of item pairs: against the definitions, counted naively, and against published figures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr

import trueval as tv
from trueval.audit.item_pair_counts import count_some, scores_of
from trueval.audit.item_pairs import ItemPairs, item_pairs
from trueval.audit.item_ratings import ItemRatings, item_ratings
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import TruevalError
from trueval.kernels import use_kernels, use_threads
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system


def steepness(one: Fraction, other: Fraction) -> Fraction:
    """The decrement ratio of the paper's definition."""
    return abs(one - other) / max(one, other) if max(one, other) else Fraction(0)


def naive(ratings: list[int], liked: list[int], users: int) -> tuple[list[int], int, list[int]]:
    """The four cases by the definition, ties, and pairs on which the optimal rankings disagree, agree, or tie."""
    cases, tied, rankings = [0, 0, 0, 0], 0, [0, 0, 0]
    odds = [Fraction(n, users - n) for n in ratings]
    rel = [Fraction(k, n) for n, k in zip(ratings, liked)]
    non = [1 - r for r in rel]
    for a, b in combinations(range(len(ratings)), 2):
        together = (odds[a] - odds[b]) * (rel[a] - rel[b])
        if together > 0:
            cases[0 if steepness(odds[a], odds[b]) > steepness(non[a], non[b]) else 1] += 1
        elif together < 0:
            cases[2 if steepness(odds[a], odds[b]) > steepness(rel[a], rel[b]) else 3] += 1
        else:
            tied += 1
        p = rel[a] * odds[a] - rel[b] * odds[b]
        anti = -non[a] * odds[a] + non[b] * odds[b]
        rankings[2 if p * anti == 0 else 0 if p * anti < 0 else 1] += 1
    return cases, tied, rankings


def counted(ratings: list[int], liked: list[int], users: int) -> ItemRatings:
    return ItemRatings.of_counts(np.array(ratings), np.array(liked), users=users)


@st.composite
def worlds(draw: st.DrawFn) -> ItemRatings:
    users = draw(st.integers(3, 40))
    size = draw(st.integers(2, 25))
    ratings = draw(st.lists(st.integers(1, users - 1), min_size=size, max_size=size))
    liked = [draw(st.integers(0, n)) for n in ratings]
    liked[0], ratings[1], liked[1] = ratings[0], max(ratings[1], 1), 0  # something of both kinds
    return counted(ratings, liked, users)


@given(world=worlds(), kernels=st.sampled_from(["plain", "compiled"]))
def test_counts_are_those_of_the_definition(world, kernels):
    with use_kernels(kernels):
        found = item_pairs(world)
    cases, tied, rankings = naive(world.ratings.tolist(), world.liked.tolist(), world.users)
    assert found.counts[:4].sum(axis=1).tolist() == cases
    assert found.counts[4].sum() == tied
    assert found.counts.sum(axis=0).tolist() == rankings
    assert found.table()["pairs"].to_list() == [*cases[:3], cases[3] + tied]
    assert found.counts.sum() == found.pairs


@given(world=worlds())
def test_the_lemma_of_the_paper_holds(world):
    """Steeper odds that disagree with relevance or non-relevance are exactly where the optimal rankings disagree."""
    counts = item_pairs(world).counts
    assert not counts[[0, 2], 1].any()
    assert not counts[[1, 3], 0].any()


@given(world=worlds())
def test_correlations_are_those_of_scipy(world):
    found = item_pairs(world)
    scores = scores_of(world)
    if np.ptp(scores.phi_p) and np.ptp(scores.phi_antip):
        assert found.tau == pytest.approx(kendalltau(scores.phi_p, scores.phi_antip).statistic)
    if np.ptp(scores.average) and np.ptp(scores.popularity):
        assert found.popularity_and_average == pytest.approx(pearsonr(scores.popularity, scores.average).statistic)


@pytest.mark.parametrize(
    ("rated", "liked", "case"),
    [  # a tie, the three toy examples of the paper (Figure 2), and both cases of opposed items
        ((4, 2), (2, 1), "tied"), ((5, 2), (3, 1), 0), ((5, 2), (1, 0), 0), ((4, 3), (3, 1), 1),
        ((5, 4), (1, 4), 3), ((6, 1), (3, 1), 2),
    ],
)  # fmt: skip
def test_two_items(rated, liked, case):
    table = naive(list(rated), list(liked), 10)
    assert (table[1] == 1) if case == "tied" else (table[0][case] == 1)
    found = item_pairs(counted(list(rated), list(liked), 10))
    assert found.table()["pairs"].to_list()[3 if case == "tied" else case] == 1
    assert (found.tied.share == 1) == (case == "tied")


def random_world(items: int, users: int, seed: int) -> ItemRatings:
    rng = np.random.default_rng(seed)
    ratings = np.minimum(rng.zipf(1.5, items), users - 1)
    return ItemRatings.of_counts(ratings, rng.binomial(ratings, rng.beta(3, 2, items)), users=users)


def test_threads_and_forms_give_the_same_counts():
    world = random_world(700, 5000, 1)
    with use_kernels("plain"), use_threads(1):
        plain = item_pairs(world)
        drawn = item_pairs(world, exact=False, pairs=600_000, seed=3)
    with use_kernels("compiled"), use_threads(3):
        np.testing.assert_array_equal(item_pairs(world).counts, plain.counts)
        np.testing.assert_array_equal(item_pairs(world, exact=False, pairs=600_000, seed=3).counts, drawn.counts)
    assert plain.drawn is None
    assert drawn.counts.sum() == drawn.drawn == 600_000
    assert not np.array_equal(item_pairs(world, exact=False, pairs=600_000, seed=4).counts, drawn.counts)


def test_many_items_are_drawn_by_default(monkeypatch):
    world = random_world(60, 500, 2)
    module = sys.modules[ItemPairs.__module__]  # tv.audit is the function, also in names of modules
    monkeypatch.setattr(module, "EXACT", 59)
    assert item_pairs(world, pairs=1000).drawn == 1000
    assert item_pairs(world, exact=True).drawn is None
    monkeypatch.setattr(module, "EXACT", 60)
    assert item_pairs(world, pairs=1000).drawn is None


def test_draws_are_of_all_pairs_alike():
    """Every pair of four items is drawn as often as the others: a chi-square of 5 degrees stays below its 99.9 %."""
    size, pairs = 4, 60_000
    seen = np.zeros((size, size), np.int64)
    for a, b in combinations(range(size), 2):
        marked = np.arange(size, dtype=float)
        marked[b] = marked[a]  # equal popularity: only this pair is tied
        scores = scores_of(random_world(size, 100, 0))._replace(popularity=marked, average=np.arange(size) * 1.0)
        seen[a, b] = count_some(scores, pairs, seed=5)[4].sum()
    found = seen[np.triu_indices(size, 1)]
    assert found.sum() == pairs
    assert ((found - pairs / 6) ** 2 / (pairs / 6)).sum() < 20.5


def coverage(rounds: int, *, items: int, pairs: int) -> np.ndarray:
    """How often the interval of each case contains the share among all pairs."""
    within = np.zeros(4)
    for seed in range(rounds):
        world = random_world(items, 400, seed)
        truth = item_pairs(world).table()["share"].to_numpy()
        found = item_pairs(world, exact=False, pairs=pairs, seed=seed).table()
        within += (found["low"].to_numpy() <= truth) & (truth <= found["high"].to_numpy())
    return within / rounds


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [200, 5000])
def test_intervals_of_drawn_pairs_cover(pairs):
    found = coverage(4000, items=80, pairs=pairs)
    error = np.sqrt(0.95 * 0.05 / 4000)
    assert (np.abs(found - 0.95) < 4 * error + 0.005).all(), found


def test_intervals_of_drawn_pairs_cover_quickly():
    found = coverage(400, items=60, pairs=500)
    assert (np.abs(found - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)).all(), found


def test_a_user_counts_once_per_item():
    log = Interactions.of(
        pl.DataFrame({"user": [1, 1, 2, 3], "item": ["a", "a", "a", "b"], "value": [5.0, 1.0, 5.0, 5.0]})
    )
    found = item_ratings(log, threshold=4)
    assert (found.ratings.tolist(), found.liked.tolist(), found.users) == ([2, 1], [1, 1], 3)


def test_scores_are_those_of_the_optimal_rankings():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"user": rng.integers(0, 30, 300), "item": rng.integers(0, 15, 300)}).unique(
        maintain_order=True
    )
    log = Interactions.of(frame.with_columns(value=pl.Series(rng.integers(1, 6, len(frame)).astype(float))))
    users, items = Ids.of(frame["user"]), Ids.of(frame["item"])
    train = TrainSet(users, items, ByUser.code(log.frame, users, items), 0, threshold=4.0)
    scores = scores_of(item_ratings(log, threshold=4))
    for name, own in (("optimal_precision", scores.phi_p), ("optimal_antiprecision", scores.phi_antip)):
        np.testing.assert_allclose(make_system(name).fit(train).score(np.array([0]))[0], own)


@pytest.mark.parametrize(
    ("world", "options", "message"),
    [
        (counted([3], [1], 9), {}, "at least two items"),
        (counted([3, 2], [3, 2], 9), {}, "ratings of both kinds"),
        (counted([3, 2], [0, 0], 9), {}, "ratings of both kinds"),
        (counted([3, 2], [1, 1], 9), {"level": 1.0}, "level must be"),
        (counted([3, 2], [1, 1], 9), {"pairs": 0}, "pairs must be"),
        ([3, 2], {}, "need a log"),
    ],
)
def test_refusals(world, options, message):
    with pytest.raises(TruevalError, match=message):
        item_pairs(world, **options)


def test_a_threshold_needs_values():
    with pytest.raises(TruevalError, match="needs a value column"):
        item_pairs(Interactions.of(pl.DataFrame({"user": [1, 2], "item": [1, 2]})), threshold=4)


def test_neither_rows_nor_names_matter():
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"user": rng.integers(0, 50, 900), "item": rng.integers(0, 30, 900)}).unique(
        maintain_order=True
    )
    frame = frame.with_columns(value=pl.Series(rng.integers(1, 6, len(frame)).astype(float)))
    other = frame.sample(fraction=1, shuffle=True, seed=1).with_columns(
        item="i" + (97 - pl.col("item")).cast(pl.String)
    )
    one, two = (item_pairs(Interactions.of(own), threshold=4) for own in (frame, other))
    np.testing.assert_array_equal(one.counts, two.counts)
    assert one.tau == pytest.approx(two.tau)
    assert one.alignment == pytest.approx(two.alignment)
    drawn = [
        item_pairs(Interactions.of(own), threshold=4, exact=False, pairs=500).counts
        for own in (frame, frame.sample(fraction=1, shuffle=True, seed=2))
    ]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize(
    ("ratings", "liked", "message"),
    [([3, 2], [1], "one length"), ([3, 2], [1, 3], "among ratings"), ([3, 12], [1, 3], "among ratings")],
)
def test_counts_are_checked(ratings, liked, message):
    with pytest.raises(TruevalError, match=message):
        ItemRatings.of_counts(np.array(ratings), np.array(liked), users=9)


def test_parts_are_their_train_part_and_unrated_items_are_left_out():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"user": rng.integers(0, 40, 600), "item": rng.integers(0, 20, 600)}).unique(
        maintain_order=True
    )
    log = Interactions.of(frame.with_columns(value=pl.Series(rng.integers(1, 6, len(frame)).astype(float))))
    parts = tv.split(log, "holdout", ratio=0.3, seed=0)
    whole = item_pairs(parts, threshold=4)
    assert whole.to_dict() == item_pairs(parts.train, threshold=4).to_dict()
    own = item_ratings(parts.train, threshold=4)
    more = ItemRatings.of_counts(np.append(own.ratings, 0), np.append(own.liked, 0), users=own.users)
    np.testing.assert_array_equal(item_pairs(more).counts, whole.counts)


def test_records_as_data():
    found = item_pairs(random_world(40, 300, 3), exact=False, pairs=900)
    said = found.to_dict()
    assert [row["share"] for row in said["cases"]] == found.to_polars()["share"].to_list()
    assert said["drawn"] == 900
    assert "900 pairs drawn at random from 780" in str(found)
    assert "95 % intervals" in str(found)


# ---- published figures -------------------------------------------------------------------------------------------


@pytest.mark.data
def test_movielens_has_the_published_table(data_folder: Callable[[str], Path]):
    log = tv.read(data_folder("ml-1m"))
    found = item_pairs(log, threshold=4)
    shares = 100 * found.table()["share"].to_numpy()
    np.testing.assert_allclose(shares, [52.6, 8.6, 29.8, 9.0], atol=0.2)
    np.testing.assert_allclose(shares, [52.62, 8.56, 29.72, 9.10], atol=0.005)  # recomputed from the authors' files
    assert 100 * found.disagree.share == pytest.approx(82.4, abs=0.2)
    assert -0.66 < found.tau < -0.62
    r = found.correlations
    figure = [r[one, other] for one in ("phi_p", "phi_antip") for other in ("popularity", "average")]
    np.testing.assert_allclose(figure, [0.94, 0.40, -0.87, -0.10], atol=0.02)
    train = item_pairs(tv.split(log, "holdout", ratio=0.2).train, threshold=4).correlations
    np.testing.assert_allclose(list(train.values()), [0.94, 0.40, -0.87, -0.10], atol=0.02)
