"""Head, middle and tail of the popularity ranking where items are equally popular."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.design.popular_head import find_head
from trueval.metrics.beyond.popularity import strata_shares, whole_strata
from trueval.metrics.metric_inputs import Positives

SHARES = ("head_share", "mid_share", "tail_share")


def positives(counts: list[int]) -> Positives:
    return Positives(lambda: np.array(counts), lambda: np.zeros(len(counts), int))


@pytest.mark.parametrize("n_items", [2, 7, 10, 20, 30, 100])
@pytest.mark.parametrize(
    ("head", "tail"), [("0.1", "0.5"), ("0.3", "0.3"), ("0.05", "0.9"), ("0", "1"), ("0.7", "0.3")]
)
def test_an_equally_popular_catalogue_has_the_shares_of_the_catalogue(n_items: int, head: str, tail: str) -> None:
    """⌊head·n⌋ and ⌈tail·n⌉ of n places, whatever the list: nothing makes one of the items more popular."""
    items = [f"i{j:03}" for j in range(n_items)]
    first, last = math.floor(Fraction(head) * n_items), math.ceil(Fraction(tail) * n_items)
    wanted = {"head_share": first / n_items, "tail_share": last / n_items}
    wanted["mid_share"] = max(n_items - first - last, 0) / n_items
    options = {"head_share": f"head={head}", "mid_share": f"head={head},tail={tail}", "tail_share": f"tail={tail}"}
    for k in (1, n_items // 2, n_items):
        for shown in (items, items[::-1]):
            for name in SHARES:
                found = tv.measure(
                    f"{name}[{options[name]}]@{k}", shown, {items[0]}, popularity=dict.fromkeys(items, 3)
                )
                assert found == pytest.approx(wanted[name], abs=1e-12), (name, k)
            covered = tv.measure(
                f"tail_coverage[tail={tail}]@{k}", shown, {items[0]}, popularity=dict.fromkeys(items, 3)
            )
            assert covered == pytest.approx(k / n_items), k


@pytest.mark.parametrize("counts", [[5, 5, 5, 2, 1, 1], [9, 4, 4, 4, 4, 0], [3, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 1]])
def test_the_mean_over_all_orders_of_equals(counts: list[int]) -> None:
    """Where all items differ in popularity there is nothing to share, so that each order has its plain strata."""
    found = strata_shares(positives(counts), 0.4, 0.34, metric="")
    total, orders = np.zeros((3, 6)), 0
    for broken in itertools.permutations(range(6)):
        finer = [10 * count + place for count, place in zip(counts, broken)]
        total += strata_shares(positives(finer), 0.4, 0.34, metric="")
        orders += 1
    assert set(np.unique(strata_shares(positives(finer), 0.4, 0.34, metric=""))) == {0.0, 1.0}
    np.testing.assert_allclose(found, total / orders, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), 1)
    assert found.sum(axis=1).tolist() == pytest.approx([2, 1, 3])  # ⌊0.4·6⌋, the rest, ⌈0.34·6⌉


@pytest.mark.parametrize("seed", range(20))
def test_equals_are_the_same_to_all_that_cuts_by_popularity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, int(rng.integers(2, 40)))
    head, tail = round(rng.uniform(0.05, 0.6), 2), round(rng.uniform(0.05, 0.6), 2)
    shares = strata_shares(positives(counts.tolist()), head, tail, metric="")
    whole = whole_strata(positives(counts.tolist()), head, tail, metric="")
    for count in np.unique(counts):
        assert len(np.unique(whole[counts == count])) == 1
        assert len(np.unique(shares[:, counts == count], axis=1).T) == 1
    assert (np.diff(whole[np.argsort(-counts, kind="stable")]) >= 0).all()
    # what is divided no item, and where nothing is divided, is in both the same
    undivided = shares.max(axis=0) == 1
    assert (shares.argmax(axis=0) == whole)[undivided].all()


def test_groups_and_the_removed_head_go_by_one_rule() -> None:
    """Equals are in the head where this comes closer to its size than to leave them out."""
    for counts in ([9, 7, 7, 7, 1, 1, 1, 1, 1, 1], [9, 9, 9, 7, 1, 1, 1, 1, 1, 1], [9, 8, 7, 6, 5, 4, 3, 2, 1, 1]):
        for share in (0.2, 0.3, 0.4, 0.6):
            group = whole_strata(positives(counts), share, 0.1, metric="")
            try:
                removed = find_head(np.array(counts), share, where="").tolist()
            except tv.TruevalError:
                removed = []
            assert np.flatnonzero(group == 0).tolist() == removed, (counts, share)


def by_popularity(train_items: list[str]) -> tv.Result:
    train = pl.DataFrame({"user": [1, 2, 3, 4] * 5, "item": train_items})
    test = pl.DataFrame({"user": [5, 5, 6], "item": ["a", "b", "c"]})
    run = pl.DataFrame({"user": [5, 6], "item": ["a", "b"], "rank": [1, 1]})
    return tv.evaluate_run(run, test, train=train, metrics="recall@1", by="popularity", min_group=1, interval="none")


def test_equally_popular_items_cannot_be_grouped() -> None:
    with pytest.raises(tv.TruevalError, match=r"equally popular[^$]*5 items[^$]*leave popularity out"):
        by_popularity([item for item in "abcde" for _ in range(4)])
    other = by_popularity([*"aaaa", *"bbbb", *"cccc", *"dddd", *"eee", "d"])
    # d is more popular, at place 1; a, b and c are at places 2 to 4 and e at 5, of which 3 to 5 are the tail
    assert set(other.by("popularity")["group"]) == {"mid", "tail"}
