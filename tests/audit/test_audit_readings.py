"""Readings: judged places, liked shares and their intervals, against naive loops and a bootstrap."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from trueval.audit.audit import audit
from trueval.audit.make_case import make_case
from trueval.audit.readings import (
    UNKNOWN,
    ItemRatings,
    LikedShare,
    compare_shares,
    compare_sums,
    judged_places,
    place_weights,
)
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.metrics.grammar import parse

THRESHOLD = 4


def small_data(
    seed: int, *, users: int = 30, items: int = 20
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, pl.DataFrame]]:
    """Train, test and the lists of two systems: of different lengths, for different users, some for nobody tested."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((users, items)) < 0.5)
    value = rng.integers(1, 6, len(user)).astype(float)
    log = pl.DataFrame({"user": user, "item": item, "value": value})
    in_train = rng.random(len(log)) < 0.5
    train, test = log.filter(in_train), log.filter(~in_train)
    seen = set(train.select("user", "item").rows())
    recs = {}
    for name in ("one", "two"):
        rows = []
        for one in rng.permutation(users + 3)[: users - 2].tolist():
            free = [j for j in rng.permutation(items + 2).tolist() if (one, j) not in seen]
            rows += [(one, j, place) for place, j in enumerate(free[: rng.integers(1, 12)], 1)]
        recs[name] = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    return train, test, recs


def case_of(train: pl.DataFrame, test: pl.DataFrame, recs: dict[str, pl.DataFrame], metric: str):
    return make_case(
        None, None, train=train, test=test, validation=None, recs=recs, metrics=metric, design="AR-TI-AN",
        relevant_change=None, unbiased=None, threshold=THRESHOLD, population="relevant", missing="zero",
        invalid="refuse", ties="random", items=None, users=None, only_users=None, by=None, min_group=30, columns=None,
        seed=0,
    )  # fmt: skip


# ---- naive loops -------------------------------------------------------------------------------------------------


def naive_counts(logs: list[pl.DataFrame]) -> dict[int, tuple[int, int]]:
    """For each item how many users like it, and how many do not."""
    found: dict[int, tuple[int, int]] = {}
    for log in logs:
        for _, item, value in log.select("user", "item", "value").rows():
            liked, disliked = found.get(item, (0, 0))
            found[item] = (liked + (value >= THRESHOLD), disliked + (value < THRESHOLD))
    return found


def naive_share(
    train: pl.DataFrame, test: pl.DataFrame, run: pl.DataFrame, *, k: int, readiness: int
) -> tuple[Fraction, Fraction]:
    """Numerator and denominator of the liked share of the first k places, each place counting the same."""
    counts = naive_counts([train, test])
    value_of = {(user, item): value for user, item, value in test.select("user", "item", "value").rows()}
    above, below = Fraction(0), Fraction(0)
    tested = {user for user, _ in value_of}
    for user, item, rank in run.rows():
        if user not in tested or rank > k or (user, item) not in value_of:
            continue
        liked, disliked = counts[item]
        exposure = Fraction(liked, readiness) + disliked  # in users who would have rated it, were it disliked by all
        chance = exposure * readiness if value_of[user, item] >= THRESHOLD else exposure
        above += (value_of[user, item] >= THRESHOLD) / chance
        below += 1 / chance
    return above, below


@pytest.mark.parametrize("readiness", [1, 10])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_liked_shares_are_those_of_a_loop_over_users_and_lists(k, readiness):
    train, test, recs = small_data(k)
    case = case_of(train, test, recs, f"precision@{k}")
    subject = case.measured
    places = judged_places(subject.ranked, subject.specs[f"precision@{k}"])
    ratings = ItemRatings.of([case.train, case.test], next(iter(subject.ranked.values())).facts.items, THRESHOLD)
    for name, run in recs.items():
        share = places[name].share(ratings, readiness)
        above, below = naive_share(train, test, run, k=k, readiness=readiness)
        constant = share.denominator.sum() / float(below)  # weights are relative: k counts 1/k, readiness any scale
        assert share.value == pytest.approx(float(above / below), rel=1e-12)
        assert share.numerator.sum() == pytest.approx(constant * float(above), rel=1e-12)


def test_judged_places_are_those_of_a_loop():
    train, test, recs = small_data(7)
    case = case_of(train, test, recs, "ndcg@4")
    subject = case.measured
    places = judged_places(subject.ranked, subject.specs["ndcg@4"])
    value_of = {(user, item): value for user, item, value in test.select("user", "item", "value").rows()}
    tested = {user for user, _ in value_of}
    items = next(iter(subject.ranked.values())).facts.items.values.to_list()
    for name, run in recs.items():
        expected = sorted(
            (item, value_of[user, item] >= THRESHOLD, round(1 / math.log2(rank + 1), 9))
            for user, item, rank in run.rows() if rank <= 4 and (user, item) in value_of
        )  # fmt: skip
        own = places[name]
        found = sorted((items[i], bool(y), round(c, 9)) for i, y, c in zip(own.item, own.liked, own.counts))
        assert found == expected
        listed = sum(1 for user, _, rank in run.rows() if rank <= 4 and user in tested)
        assert own.judged == pytest.approx(len(expected) / listed)


def test_item_ratings_are_counted_over_all_logs():
    train, test, _ = small_data(3)
    items = Ids(pl.Series(list(range(25))))
    ratings = ItemRatings.of([Interactions.of(one, name="log") for one in (train, test)], items, THRESHOLD)
    counts = naive_counts([train, test])
    assert list(zip(ratings.liked, ratings.disliked)) == [counts.get(item, (0, 0)) for item in range(25)]
    without = [Interactions.of(one.drop("value"), name="log") for one in (train, test)]
    assert not ItemRatings.of(without, items, THRESHOLD).liked.any()


@pytest.mark.parametrize("readiness", [1.0, 3.0, 10.0])
def test_weights_undo_the_observation_that_they_assume(readiness):
    """Of N users who meet an item with a chance e, a share s likes it: the weighted share of likes is s again."""
    rng = np.random.default_rng(0)
    exposure, share = rng.uniform(0.01, 0.1, 50), rng.uniform(0, 1, 50)
    liked, disliked = readiness * exposure * share, exposure * (1 - share)  # expected ratings per user
    for_liked, for_disliked = ItemRatings(1000 * liked, 1000 * disliked).weights(readiness)
    assert liked * for_liked * 1000 == pytest.approx(share, rel=1e-9)
    assert disliked * for_disliked * 1000 == pytest.approx(1 - share, rel=1e-9)


def test_items_without_ratings_have_finite_weights():
    assert all(np.isfinite(ItemRatings(np.zeros(2), np.zeros(2)).weights(10.0)).ravel())


@pytest.mark.parametrize(
    ("metric", "weights"),
    [
        ("precision@2", [0.5, 0.5, 0, 0]),
        ("recall@3", [1, 1, 1, 0]),
        ("hit@2", [1, 1, 0, 0]),
        ("rr@3", [1, 1 / 2, 1 / 3, 0]),
        ("ndcg@3", [1, 1 / math.log2(3), 0.5, 0]),
        ("ndcg", [1, 1 / math.log2(3), 0.5, 1 / math.log2(5)]),
        ("ap@2", [1, 0.5, 0, 0]),
        ("anti(precision)@2", [0.5, 0.5, 0, 0]),
        ("fallout@2", [1, 1, 0, 0]),
        ("rprecision", [1, 1 / math.log2(3), 0.5, 1 / math.log2(5)]),  # one place would tell next to nothing
        ("bpref", [1, 1 / math.log2(3), 0.5, 1 / math.log2(5)]),
    ],
)
def test_places_count_as_the_metric_makes_of_them(metric, weights):
    found = place_weights(parse(metric), 4)
    scale = found[0] / weights[0]  # a share is divided by its weights
    assert found.tolist() == pytest.approx([scale * one for one in weights])


def test_metrics_that_are_not_about_likes_have_no_places():
    assert place_weights(parse("coverage@5"), 5) is None
    assert place_weights(parse("average_popularity@5"), 5) is None


# ---- intervals and p-values --------------------------------------------------------------------------------------


def shares_of_users(rng: np.random.Generator, users: int, liked: tuple[float, float]) -> list[LikedShare]:
    """Two systems whose users are paired: some are harsher than others, and lists have judged items in common."""
    harsh = rng.normal(0, 0.1, users)
    common = rng.poisson(1.0, users)
    found = []
    same = rng.random((users, 8))
    for system in range(2):
        many = common + rng.poisson(1.5, users)
        total, above = np.zeros(users), np.zeros(users)
        for place in range(8):
            # the items in common are liked by the same users, the others for themselves
            coin = np.where(place < common, same[:, place], rng.random(users))
            there = place < many
            weight = there * rng.exponential(1.0, users)
            total += weight
            above += weight * (coin < np.clip(liked[system] + harsh, 0, 1))
        found.append(LikedShare(above, total))
    return found


@pytest.mark.parametrize("users", [100, 400])
def test_intervals_of_differences_hold_and_tests_have_their_size(users):
    """In 3,000 samples: 95 % intervals hold the truth in 93–97 %, a difference that is none is found in 4–6 %."""
    rng = np.random.default_rng(users)
    held, rejected, repeats = 0, 0, 3000
    for _ in range(repeats):
        null = compare_shares(*shares_of_users(rng, users, (0.4, 0.4)))
        rejected += null.p < 0.05
        held += null.low <= 0 <= null.high
        assert (null.p < 0.05) == (null.low > 0 or null.high < 0)
    assert 0.93 < held / repeats < 0.97
    assert 0.04 <= rejected / repeats <= 0.06


def test_tests_have_their_size_where_few_users_have_most_of_the_weight():
    rng = np.random.default_rng(6)
    found = []
    while len(found) < 1500:
        pair = shares_of_users(rng, 100, (0.25, 0.25))
        pair = [
            LikedShare(one.numerator * weight, one.denominator * weight)
            for one, weight in zip(pair, np.exp(1.5 * rng.standard_normal((2, 100))))
        ]
        if min(one.effective for one in pair) >= 10:
            found.append(compare_shares(*pair).p < 0.05)
    assert 0.03 < np.mean(found) < 0.08  # of 100 users instead of the effective ones: 0.09


def test_intervals_hold_where_systems_differ():
    rng = np.random.default_rng(11)
    many = shares_of_users(rng, 400_000, (0.6, 0.35))
    truth = many[0].value - many[1].value  # of the same law, with an error far below that of 200 users
    found = [compare_shares(*shares_of_users(rng, 200, (0.6, 0.35))) for _ in range(2000)]
    assert 0.93 < np.mean([one.low <= truth <= one.high for one in found]) < 0.97
    assert np.mean([one.difference for one in found]) == pytest.approx(truth, abs=0.005)


def test_the_interval_is_that_of_a_bootstrap_over_users():
    rng = np.random.default_rng(5)
    first, second = shares_of_users(rng, 500, (0.5, 0.4))
    found = compare_shares(first, second)
    users = rng.integers(0, 500, (4000, 500))
    drawn = [one.numerator[users].sum(axis=1) / one.denominator[users].sum(axis=1) for one in (first, second)]
    apart = drawn[0] - drawn[1]
    assert found.difference == first.numerator.sum() / first.denominator.sum() - second.value
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * apart.std(), rel=0.06)
    assert [found.low, found.high] == pytest.approx(np.quantile(apart, [0.025, 0.975]), abs=0.006)


def test_too_few_judged_items_have_no_interval():
    some = LikedShare(np.array([1.0, 0, 1, 0]), np.ones(4))
    assert compare_shares(some, some) is UNKNOWN
    heavy = LikedShare(np.append(np.ones(50), 0.0), np.append(np.full(50, 1e-3), 10.0))  # one user is all there is
    assert heavy.effective < 2
    assert compare_shares(heavy, LikedShare(np.ones(51), np.ones(51))) is UNKNOWN
    assert math.isnan(LikedShare(np.zeros(3), np.zeros(3)).value)


def test_equal_systems_do_not_differ():
    rng = np.random.default_rng(2)
    first, _ = shares_of_users(rng, 200, (0.4, 0.4))
    assert compare_shares(first, first).p == 1.0
    assert compare_sums(first.numerator, first.numerator).p == 1.0


def test_sums_are_compared_by_a_paired_t_test():
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(4)
    first, second = rng.exponential(1, 60), rng.exponential(1.3, 60)
    found, expected = compare_sums(first, second), ttest_rel(first, second)
    interval = expected.confidence_interval()
    assert [found.p, found.low, found.high] == pytest.approx([expected.pvalue, interval.low, interval.high])
    turned = found.turned()
    assert (turned.difference, turned.low, turned.high) == (-found.difference, -found.high, -found.low)


def test_hits_by_exposure_count_each_like_by_the_likes_of_its_item():
    train, test, recs = small_data(9)
    likes = [one.filter(pl.col("value") >= THRESHOLD) for one in (train, test)]
    case = case_of(*likes, recs, "precision@5")
    subject = case.measured
    places = judged_places(subject.ranked, subject.specs["precision@5"])["one"]
    ratings = ItemRatings.of([case.train, case.test], next(iter(subject.ranked.values())).facts.items, THRESHOLD)
    counts = naive_counts(likes)
    pairs = set(likes[1].select("user", "item").rows())
    expected = sum(
        0.2 / counts[item][0] for user, item, rank in recs["one"].rows() if rank <= 5 and (user, item) in pairs
    )
    assert places.hits_by_exposure(ratings).sum() == pytest.approx(expected)


def test_the_audit_reads_the_places_of_all_systems_in_one_vocabulary():
    train, test, recs = small_data(1, users=200)
    found = audit(train=train, test=test, recs=recs, metrics="ndcg@5", threshold=THRESHOLD)
    assert set(found.claims.judged["ndcg@5"]) == set(recs)
