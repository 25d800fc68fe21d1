"""Propensities of a log of which chance tested a share: exact by enumeration, unbiased in worlds of known truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.evaluation.shares_of_splits import held_out_shares
from trueval.propensity.held_out_shares import HeldOutShares
from trueval.splits import Parts, save_parts

# ---- what the shares of splits are ---------------------------------------------------------------------------


@pytest.fixture
def log() -> Interactions:
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"user": rng.integers(40, size=700), "item": rng.integers(60, size=700)})
    return tv.read(pl.concat([rows, pl.DataFrame({"user": [99], "item": [1]})]).unique(maintain_order=True))


def test_shares_of_all_rows(log: Interactions) -> None:
    assert held_out_shares(tv.split(log, "holdout", ratio=0.25)) == HeldOutShares(0.25, 0.25)
    assert held_out_shares(tv.split(log, "holdout", ratio=0.25, validation=0.5)) == HeldOutShares(0.25, 0.75)
    assert [held_out_shares(parts) for parts in tv.split(log, "kfold", n=5)] == [HeldOutShares(0.2, 0.2)] * 5
    # users who are tested have no row in train, so nothing is excluded from what they are recommended
    assert held_out_shares(tv.split(log, "kfold", n=5, over="users")[0]) == HeldOutShares(0.2, 1.0)
    assert held_out_shares(tv.split(log, "given", test=log)) is None


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("holdout", {"ratio": 0.3, "by": "user", "validation": 0.2}),
        ("holdout", {"ratio": 0.3, "by": "user"}),
        ("leave_one_out", {"which": "random", "n": 2}),
    ],
)
def test_shares_by_user(log: Interactions, how: str, options: dict[str, Any]) -> None:
    parts = tv.split(log, how, **options)
    shares = held_out_shares(parts)
    assert shares is not None
    assert shares.by is not None
    rows, tested, trained = (dict(one.frame["user"].value_counts().rows()) for one in (log, parts.test, parts.train))
    expected = [(user, tested.get(user, 0) / n, 1 - trained.get(user, 0) / n) for user, n in sorted(rows.items())]
    assert shares.by.columns == ["user", "test", "outside"]
    assert np.allclose(shares.by.to_numpy(), expected)
    assert shares.untested == sum(user not in tested for user in rows) > 0


def test_the_formula() -> None:
    p, users = pl.Series([0.001, 0.3, 0.9, 1.0]), pl.DataFrame({"user": ["a", "b", "a", "b"]})
    for s, t in ((0.2, 0.8), (0.2, 0.5), (0.1, 0.0)):
        shares = HeldOutShares(s, 1 - t)
        assert np.allclose(shares.tested(p, users), s * p)
        assert np.allclose(shares.tested(p, users, outside_train=True), s * p / (1 - t * p))
    assert HeldOutShares(0.2, 0.2).tested(p, users, outside_train=True)[3] == 1.0  # not in train, so it must be here
    own = HeldOutShares(by=pl.DataFrame({"user": ["b", "a"], "test": [0.5, 0.25], "outside": [0.5, 0.75]}))
    s, t = np.array([0.25, 0.5, 0.25, 0.5]), np.array([0.25, 0.5, 0.25, 0.5])
    assert np.allclose(own.tested(p, users), s * p)
    assert np.allclose(own.tested(p, users, outside_train=True), s * p / (1 - t * p))


# ---- every log and every split of a tiny case -----------------------------------------------------------------

CHANCE = {"a": 0.9, "b": 0.6, "c": 0.7, "d": 0.3}
LIKED = {"a", "b", "d"}
# others, in train for good, make the order of popularity a, b, c, d whatever the user's own rows are
OTHERS = [(f"other {n}", item) for item, number in zip("abcd", (8, 6, 4, 2)) for n in range(number)]
NOTHING, TRAIN, VALIDATION, TEST = range(4)
Places = dict[str, int]


def table(places: Places, place: int, *, others: bool = False) -> Interactions:
    pairs = [("u", item) for item, own in places.items() if own == place] + OTHERS * others
    rows = [(user, item, 5.0 if item in LIKED else 1.0) for user, item in pairs]
    schema = {"user": pl.String, "item": pl.String, "value": pl.Float64}
    return Interactions.of(pl.DataFrame(rows, schema=schema, orient="row"))


def ips_of_popularity(places: Places, how: dict[str, Any], design: str) -> float:
    """ips(precision)@2 of the user: nobody else has test rows, and all users count."""
    if not any(place == TEST and item in LIKED for item, place in places.items()):
        return 0.0  # which is refused, because nothing can be measured
    validation = table(places, VALIDATION) if VALIDATION in places.values() else None
    parts = Parts(table(places, TRAIN, others=True), table(places, TEST), validation, how=how)
    found = tv.evaluate(
        parts, ["popularity"], design=design, metrics="ips(precision)@2", threshold=4, population="all",
        interval="none", items=pl.DataFrame({"item": list(CHANCE)}),
        propensity=pl.DataFrame({"item": list(CHANCE), "p": list(CHANCE.values())}),
    )  # fmt: skip
    return found["popularity", "ips(precision)@2"].value * (1 + len({user for user, _ in OTHERS}))


def coins(s: float, v: float) -> Iterator[tuple[float, Places]]:
    """Every log and every split of it by coins, with their probability."""
    for places in itertools.product(range(4), repeat=len(CHANCE)):
        chances = [(1 - p, p * (1 - s - v), p * v, p * s)[place] for p, place in zip(CHANCE.values(), places)]
        if prob := math.prod(chances):
            yield prob, dict(zip(CHANCE, places))


@pytest.mark.parametrize("v", [0.0, 0.3])
def test_given_any_train_set_ips_is_exact(v: float) -> None:
    how = {"how": "holdout", "ratio": 0.2, "by": "rating", "validation": v or None, "seed": 0}
    by_train: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for probability, places in coins(0.2, v):
        train = tuple(item for item, place in places.items() if place == TRAIN)
        by_train.setdefault(train, []).append((probability, ips_of_popularity(places, how, "AR-AI-AN")))
    assert len(by_train) == 16
    for train, found in by_train.items():
        shown = [item for item in CHANCE if item not in train][:2]
        true = len(LIKED & set(shown)) / 2
        assert np.average([x for _, x in found], weights=[w for w, _ in found]) == pytest.approx(true), train


def test_where_train_items_are_recommended_too_the_product_is_exact() -> None:
    """The list is a and b, whatever is in train; one of every log is meant, so all splits count together."""
    how = {"how": "holdout", "ratio": 0.2, "by": "rating", "validation": None, "seed": 0}
    found = [(w, ips_of_popularity(places, how, "AR-AI-AN-seen")) for w, places in coins(0.2, 0.0)]
    assert sum(w for w, _ in found) == pytest.approx(1)
    assert sum(w * x for w, x in found) == pytest.approx(1.0)


def test_shares_of_each_user_are_exact_for_pairs_outside_train() -> None:
    """Half of a user's rows, to whole numbers, is tested, one more is validation: a pair, where it is not in train."""
    items = {**CHANCE, "x": 1.0, "y": 1.0}  # two certain ones, so that there is always something to test
    expected, found = dict.fromkeys(items, 0.0), dict.fromkeys(items, 0.0)
    for seen in itertools.product((False, True), repeat=len(items)):
        rows = [item for item, one in zip(items, seen) if one]
        probability = math.prod(p if one else 1 - p for p, one in zip(items.values(), seen))
        if not probability:
            continue
        n, k = len(rows), len(rows) // 2
        kept = n - k - (1 if n > 3 else 0)
        shares = HeldOutShares(by=pl.DataFrame({"user": ["u"], "test": [k / n], "outside": [1 - kept / n]}))
        p = shares.tested(
            pl.Series(list(items.values())), pl.DataFrame({"user": ["u"] * len(items)}), outside_train=True
        )
        weight = dict(zip(items, 1 / p))
        splits = [
            (test, train)
            for test in itertools.combinations(rows, k)
            for train in itertools.combinations([item for item in rows if item not in test], kept)
        ]
        for test, train in splits:
            for item in items:
                found[item] += probability / len(splits) * weight[item] * (item in test)
                expected[item] += probability / len(splits) * (item not in train)
    assert found == pytest.approx(expected)
    assert min(expected.values()) < 0.7  # so that the product, which gives 1 for each, is far off


# ---- run files, and propensities that are no probabilities -----------------------------------------------------


def test_run_files_of_a_saved_split(log: Interactions, tmp_path: Path) -> None:
    """The same weights with and without train, which the folder has; p s where train items may be recommended."""
    parts = tv.split(log, "holdout", ratio=0.2, validation=0.3)
    save_parts(parts, tmp_path / "parts")
    test, train = tmp_path / "parts" / "test.parquet", tmp_path / "parts" / "train.parquet"
    flat = pl.DataFrame({"item": range(60), "p": [0.8] * 60})
    lists = parts.test.frame.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))
    asked = {"metrics": "ips(precision)@2", "propensity": flat, "population": "all", "interval": "none"}
    outside, product = 0.2 * 0.8 / (1 - 0.5 * 0.8), 0.2 * 0.8
    for more, p in (({}, outside), ({"train": train}, outside), ({"train": train, "seen": "allow"}, product)):
        found = tv.evaluate_run(lists, test, **asked, **more)
        weight = found["run", "ips(precision)@2"].value / found["run", "precision@2"].value
        assert weight == pytest.approx(1 / p), more
        assert ("outside train" in found.manifest["propensity"]["source"]) == (p == outside)


def test_chances_known_up_to_a_factor_are_multiplied(log: Interactions) -> None:
    """p = 1 is the most popular item's by definition: it does not say that everybody has it."""
    parts = tv.split(log, "holdout", ratio=0.2)
    p = tv.Propensity.popularity(parts.train, gamma=1)
    assert p.relative
    metrics = "ips(precision)@5,snips(recall)@5"
    asked = {"metrics": metrics, "propensity": p, "population": "all", "interval": "none"}
    found = tv.evaluate(parts, ["popularity"], **asked)
    given = tv.evaluate(tv.split(parts.train, "given", test=parts.test), ["popularity"], **asked)
    ips, snips = (
        found["popularity", m].value / given["popularity", m].value for m in ("ips(precision)@5", "snips(recall)@5")
    )
    assert (ips, snips) == pytest.approx((1 / 0.2, 1))
    assert "times 0.2, the share held out" in found.manifest["propensity"]["source"]
    clicks = pl.DataFrame({"item": [0] * 8 + [1] * 8, "position": ([1] * 4 + [2] * 4) * 2, "click": [1, 1, 1, 0] * 4})
    assert all(
        made.relative
        for made in (
            tv.Propensity.display_share(log), tv.Propensity.position(clicks), tv.Propensity.randomised(clicks),
        )
    )  # fmt: skip


def test_a_reader_is_told_what_propensities_are_taken_for(log: Interactions) -> None:
    parts = tv.split(log, "holdout", ratio=0.2)
    given = tv.split(parts.train, "given", test=parts.test)
    flat = pl.DataFrame({"item": range(60), "p": [0.8] * 60})
    asked = {"metrics": "snips(recall)@5", "propensity": flat, "interval": "none"}

    def notes(parts: Parts, design: str = "AR-TI-AN") -> list[str]:
        found = tv.evaluate(parts, ["popularity"], design=design, **asked)
        return [note for note in found.warnings if "propensities are taken" in note]

    assert notes(parts) == []
    (note,) = notes(given)
    assert "s p / (1 - t p)" in note
    assert "snips(recall)@5 would change" in note
    assert notes(given, "AR-TI-AN-seen") == []  # the same factor everywhere cancels out


# ---- worlds whose truth is known -------------------------------------------------------------------------------

SPLITS = {
    "holdout": ("holdout", {"ratio": 0.2}),
    "with validation": ("holdout", {"ratio": 0.2, "validation": 0.3}),
    "kfold": ("kfold", {"n": 4}),
    "kfold of users": ("kfold", {"n": 4, "over": "users"}),
}


def errors_in_worlds(name: str, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """ips(precision)@5 of popularity less its truth, log by log: as it is, and with the product of p and the share."""
    (how, options), users = SPLITS[name], 150
    base = tv.simulate("world", users=users, items=40, ratings=2400, seed=5)
    asked: dict[str, Any] = {
        "design": "AR-AI-AN", "metrics": "ips(precision)@5", "threshold": 4, "population": "all", "interval": "none",
        "items": base.item_table,
    }  # fmt: skip
    found = []
    for seed in range(repeats):
        again = base.redrawn(1000 + seed)
        made = tv.split(again.log, how, seed=seed, **options)
        parts = made[0] if isinstance(made, list) else made
        # users of folds of users are tested with all that they have, and their lists are those of new users
        asked_of = {"users": parts.test.frame["user"].unique().to_list()} if options.get("over") == "users" else {}
        true = again.truth("popularity", "precision@5", train=parts.train, population="all", **asked_of)
        shares = held_out_shares(parts)
        assert shares is not None
        known = again.propensity.table
        product = known.with_columns(p=shares.tested(known["p"], known)).filter(pl.col("p") > 0)
        ours = tv.evaluate(parts, ["popularity"], propensity=again.propensity, **asked)
        other = tv.evaluate(
            tv.split(parts.train, "given", test=parts.test), ["popularity"], propensity=product, **asked
        )
        tested = len(set(parts.train.frame["user"]) | set(parts.test.frame["user"]))
        everybody = again.log.n_users
        found.append(
            [
                one["popularity", "ips(precision)@5"].value * number / users - true
                for one, number in ((ours, everybody), (other, tested))
            ]
        )
    return tuple(np.array(found).T)  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["holdout", "with validation", "kfold", "kfold of users"])
def test_ips_has_the_truth_of_a_world_on_average(name: str) -> None:
    repeats = 12
    ours, product = errors_in_worlds(name, repeats)
    assert abs(ours.mean()) < 4 * ours.std(ddof=1) / np.sqrt(repeats) + 0.003
    if name != "kfold of users":  # of whom nothing is in train: both are the same
        assert product.mean() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITS)
def test_ips_has_the_truth_of_a_world_over_many_logs(name: str) -> None:
    repeats = 150
    ours, product = errors_in_worlds(name, repeats)
    assert abs(ours.mean()) < 3 * ours.std(ddof=1) / np.sqrt(repeats) + 0.003
    if name != "kfold of users":
        assert product.mean() > 0.05
