"""Propensities in the audit: effective sample sizes, and what a random sample tells of likes and popularity."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world, one

import trueval as tv
from trueval.audit.checks.propensities import LikedShare, liked_share, odds_ratio
from trueval.propensity.popularity_power import popularity_power


def test_effective_sizes_by_hand() -> None:
    """Items with 4, 1 and 1 train ratings, one relevant test row each: weights 1, 4, 4, or 1, 2, 2."""
    train = pl.DataFrame({"user": [1, 2, 3, 4, 5, 6], "item": ["a"] * 4 + ["b", "c"]})
    test = pl.DataFrame({"user": [7, 8, 9], "item": ["a", "b", "c"]})
    finding = one(tv.audit(train=train, test=test), "propensities")
    assert finding.verdict == "cannot tell"
    assert finding.figures["effective"] == pytest.approx({"0.5": 25 / 9, "1.0": 81 / 33})
    assert "3 relevant test rows have an effective sample size (ESS) of 3 where the power is 0.5" in finding.sentence
    assert "leave no trace" in finding.sentence


def test_only_relevant_rows_count() -> None:
    world = clean_world(0)
    finding = one(tv.audit(train=world.train, test=world.test, threshold=4), "propensities")
    assert finding.figures["rows"] == int((world.test["value"] >= 4).sum())


def test_a_random_sample_of_a_clean_world_finds_no_bias() -> None:
    found = [one(clean_world(seed, users=300).audit(), "propensities").figures for seed in range(6)]
    assert np.mean([own["odds"] for own in found]) == pytest.approx(1.0, abs=0.1)
    assert all(own["effective"] > 0.8 * own["rows"] for own in found)


def test_a_random_sample_finds_how_ratings_were_observed() -> None:
    """Values above the middle enter the log more often, and popular items are met more often."""
    world = tv.simulate("world", users=500, items=150, ratings=15_000, gamma=1.0, value_bias=1.0, seed=2)
    parts = tv.split(world.log, "holdout", ratio=0.3, seed=0)
    sample = world.sample(per_user=20, seed=9)
    found = tv.audit(parts, ["popularity", "average"], threshold=4, metrics="ndcg@10", unbiased=sample)
    figures = one(found, "propensities").figures
    everyone, everything = world.users.values, world.items.values
    liked = world.ratings(everyone, everything) >= 4
    p = world.probability(np.arange(500)[:, None], np.arange(150))
    true = p[liked].mean() / p[~liked].mean()
    assert figures["odds"] == pytest.approx(true, rel=0.15)
    expected = popularity_power(p.sum(axis=0), liked.sum(axis=0).astype(float), (liked * p).sum(axis=0))
    assert figures["power"] == pytest.approx(expected, abs=0.1)
    counts = parts.train.frame.group_by("item").len("n")
    relevant = parts.test.frame.filter(pl.col("value") >= 4).join(counts, on="item", how="left").fill_null(0.5)
    weight = relevant["n"].to_numpy() ** -figures["power"]
    assert figures["effective"] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_the_odds_are_bayes() -> None:
    """A thousand likes seen with chance 0.5, 9,000 others with 0.1: 5 times as likely."""
    observed = LikedShare(500 / 1400, 0.0)
    assert odds_ratio(observed, LikedShare(0.1, 0.0))[0] == pytest.approx(5.0)


def test_errors_take_users_as_the_sample() -> None:
    rng = np.random.default_rng(0)
    shares = rng.beta(2, 3, 400)
    user = np.repeat(np.arange(400), 10)
    errors, found = [], []
    for draw in range(60):
        own = np.random.default_rng([1, draw])
        taken = own.integers(0, 400, 400)
        value = (own.random(4000) < np.repeat(shares[taken], 10)).astype(float)
        log = tv.read(pl.DataFrame({"user": user, "item": np.tile(np.arange(10), 400), "value": value}))
        share = liked_share(log, 1)
        errors.append(share.error)
        found.append(share.value)
    assert np.mean(errors) == pytest.approx(np.std(found, ddof=1), rel=0.3)
