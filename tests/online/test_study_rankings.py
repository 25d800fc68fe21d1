"""Rankings of a user study: mean ranks, constraints fulfilled and violated, first places, Friedman's test."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats

from trueval.errors import TruevalError
from trueval.online.user_study.rankings import first_place_test, ranked_systems, rankings_of
from trueval.online.user_study.tables import study_tables
from trueval.statistics.rank_tests import rank_test


def ranking_table(rows: list[dict[str, int | None]]) -> pl.DataFrame:
    """A row per participant: the rank of each system."""
    return pl.DataFrame(
        [
            {"participant": f"p{at:02}", "task": 1, "system": system, "rank": rank}
            for at, row in enumerate(rows)
            for system, rank in row.items()
        ]
    )


def orders(*texts: str) -> pl.DataFrame:
    """Participants by the order that they gave, best first; what is missing is not ranked: "abc", "b(ac)"."""
    rows: list[dict[str, int | None]] = []
    for text in texts:
        row: dict[str, int | None] = dict.fromkeys("abcde")
        place, inside = 0, False
        for letter in text:
            if letter == "(":
                inside, place = True, place + 1
            elif letter == ")":
                inside = False
            else:
                place += 0 if inside else 1
                row[letter] = place
        rows.append(row)
    return ranking_table(rows)


def test_constraints_by_hand() -> None:
    """a first: of "abcde" all four hold; of "bac" one is violated, one holds, d and e give none; "(ab)c": c below.

    Three of five that were looked at have places 1, 3 and 5 among all, on average, and the middle of two 2.
    """
    found = {s.system: s for s in ranked_systems(rankings_of(orders("abcde", "bac", "(ab)c")))}
    a, b, c, d = (found[name] for name in "abcd")
    assert (a.fulfilled, a.violated, a.tied) == (4 + 1 + 1, 0 + 1 + 0, 1)
    assert (b.fulfilled, b.violated, b.tied) == (3 + 2 + 1, 1 + 0 + 0, 1)
    assert (c.fulfilled, c.violated, c.tied) == (2 + 0 + 0, 2 + 2 + 2, 0)
    assert (d.ranked, d.unranked, d.mean_rank) == (1, 2, 4.0)
    assert (a.mean_rank, b.mean_rank) == pytest.approx(((1 + 3 + 2) / 3, (2 + 1 + 2) / 3))
    assert (a.first, a.first_shared, b.first, b.first_shared) == (1, 1, 1, 1)


def test_blanks_that_mean_worse_share_the_last_ranks() -> None:
    """Of d and e nothing is known: they are no tie."""
    found = {s.system: s for s in ranked_systems(rankings_of(orders("bac"), blanks="worse"))}
    assert [found[name].mean_rank for name in "abcde"] == [2, 1, 3, 4.5, 4.5]
    assert (found["d"].fulfilled, found["d"].violated, found["d"].tied) == (0, 3, 0)


def test_constraints_are_those_of_a_naive_count() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {system: None if rng.random() < 0.2 else int(rng.integers(1, 5)) for system in "abcde"} for _ in range(60)
    ]  # fmt: skip
    found = {s.system: s for s in ranked_systems(rankings_of(ranking_table(rows)))}
    for one in "abcde":
        pairs = [(row[one], row[other]) for row in rows for other in "abcde" if other != one]
        known = [(x, y) for x, y in pairs if x is not None and y is not None]
        assert found[one].fulfilled == sum(x < y for x, y in known)
        assert found[one].violated == sum(x > y for x, y in known)
        assert found[one].tied == sum(x == y for x, y in known)
    # what one system fulfils another violates, whatever is tied or missing
    assert sum(s.fulfilled for s in found.values()) == sum(s.violated for s in found.values())


def test_first_places_of_the_published_study() -> None:
    """10 and 7 of 20 first places for two of five systems: P(X ≥ 17 | 20, 2/5) = 4.73e-5, by its sum."""
    table = orders(*["abcde"] * 10, *["bacde"] * 7, "cabde", "dabce", "eabcd")
    test = first_place_test(rankings_of(table), ["b", "a"])
    exact = sum(stats.binom.pmf(k, 20, 0.4) for k in range(17, 21))
    assert (test.first, test.trials, test.chance) == (17, 20, pytest.approx(0.4))
    assert test.p == pytest.approx(exact, rel=1e-12)
    assert f"{test.p:.2e}" == "4.73e-05"
    first = {s.system: s for s in ranked_systems(rankings_of(table))}
    interval = stats.binomtest(10, 20).proportion_ci(method="exact")
    assert (first["a"].first, first["b"].first) == (10, 7)
    assert (first["a"].first_low, first["a"].first_high) == pytest.approx((interval.low, interval.high), rel=1e-6)


def test_first_places_shared_across_the_set_are_left_out() -> None:
    test = first_place_test(rankings_of(orders("(ab)c", "(ac)b", "abc", "cab")), ["a", "b"])
    assert (test.first, test.trials, test.left_out) == (2, 3, 1)


@pytest.mark.parametrize(("ties", "seed"), [(False, 1), (True, 2)])
def test_friedman_is_that_of_scipy(ties: bool, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(25, 4)) + np.array([0, 0.2, 0.4, 0.8])
    values = np.round(values) if ties else values
    own, theirs = rank_test(values, seed=0), stats.friedmanchisquare(*values.T)
    assert own.statistic == pytest.approx(theirs.statistic)
    assert own.p == pytest.approx(theirs.pvalue, abs=0.02)


def test_incomplete_rankings_are_tested_as_by_skillings_and_mack() -> None:
    """Their statistic, with the covariance written out as in the paper: off the diagonal minus the common judges."""
    rng = np.random.default_rng(3)
    values = rng.permuted(np.tile(np.arange(1.0, 6), (15, 1)), axis=1)
    values[rng.random(values.shape) < 0.25] = np.nan
    known = ~np.isnan(values)
    adjusted = np.zeros(5)
    for row, own in zip(values, known):
        k = own.sum()
        ranks = stats.rankdata(row[own])
        adjusted[own] += np.sqrt(12 / (k + 1)) * (ranks - (k + 1) / 2)
    common = known.T.astype(float) @ known
    covariance = -common.copy()
    np.fill_diagonal(covariance, 0)
    np.fill_diagonal(covariance, -covariance.sum(axis=1))
    expected = adjusted[:-1] @ np.linalg.inv(covariance[:-1, :-1]) @ adjusted[:-1]
    assert rank_test(values, seed=0).statistic == pytest.approx(expected)


def test_permutations_give_the_exact_p_of_few() -> None:
    """Three judges who agree on three objects: of 6³ orders, the 6 that agree are as extreme."""
    p = rank_test(np.array([[1.0, 2, 3]] * 3), seed=1, draws=40_000).p
    everything = [np.array(one).sum(axis=0) for one in itertools.product(itertools.permutations((1, 2, 3)), repeat=3)]
    spread = np.array([((sums - 6) ** 2).sum() for sums in everything])
    assert p == pytest.approx((spread >= 18).mean(), abs=0.004)


def test_row_order_and_names_change_nothing() -> None:
    table = orders("abcde", "bac", "(ab)c", "edcba")
    shuffled = table.sample(fraction=1, shuffle=True, seed=3)
    assert ranked_systems(rankings_of(table)) == ranked_systems(rankings_of(shuffled))


def test_several_rankings_of_a_participant_become_one() -> None:
    """Mean ranks of a, b and c are 2, 1.5 and 2.5."""
    second = orders("bca").with_columns(task=pl.lit(2, pl.Int64))
    found = rankings_of(pl.concat([orders("abc"), second]).drop_nulls())
    assert (found.combined, found.ranks.tolist()) == (1, [[2.0, 1.0, 3.0]])


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        (lambda t: t.drop("rank"), "lacks columns"),
        (lambda t: t.with_columns(rank=pl.col("rank") + 0.5), "whole numbers from 1"),
        (lambda t: t.with_columns(rank=pl.col("rank") - 1), "whole numbers from 1"),
        (lambda t: pl.concat([t, t]), "an answer twice"),
        (lambda t: t.with_columns(participant=pl.lit(None)), "must be given"),
        (lambda t: t.clear(), "no rows|empty"),
        (lambda t: t.with_columns(check=pl.lit("nonsense")), "unknown values of check"),
        (lambda t: t.with_columns(rank=pl.lit("first")), "whole numbers from 1"),
    ],
)
def test_spoiled_tables_are_refused(spoiled: object, message: str) -> None:
    with pytest.raises(TruevalError, match=message):
        study_tables(spoiled(orders("abc", "bac")))  # type: ignore[operator]


def test_one_system_is_refused() -> None:
    with pytest.raises(TruevalError, match="at least two systems"):
        rankings_of(study_tables(ranking_table([{"a": 1}, {"a": 1}]))["rankings"])


def test_unknown_and_all_systems_are_refused_as_first() -> None:
    found = rankings_of(orders("abc"))
    with pytest.raises(TruevalError, match="no system 'x'"):
        first_place_test(found, ["x"])
    with pytest.raises(TruevalError, match="some of all"):
        first_place_test(found, list("abcde"))
