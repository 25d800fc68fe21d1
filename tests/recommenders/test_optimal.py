"""Optimal rankings: the definitions on the toy examples, and bounds for every ranking that knows no person."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.kernels import use_kernels
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import find, make_system

# The three examples of Mena-Maldonado et al. (SIGIR 2020), Figure 2: the five train users' ratings of items a and b,
# None where there is none, among ten users; and p(train), p(rel|train), φ_P, φ_antiP by hand.
EXAMPLES = [
    ([1, 1, 1, 0, 0], [1, 0, None, None, None], {"phi_P": (3 / 5, 1 / 8), "phi_antiP": (-2 / 5, -1 / 8)}),
    ([1, 0, 0, 0, 0], [0, 0, None, None, None], {"phi_P": (1 / 5, 0 / 8), "phi_antiP": (-4 / 5, -2 / 8)}),
    ([1, 1, 1, 0, None], [1, 0, 0, None, None], {"phi_P": (3 / 6, 1 / 7), "phi_antiP": (-1 / 6, -2 / 7)}),
]
RANKINGS = {"phi_P": "optimal_precision", "phi_antiP": "optimal_antiprecision"}


def train_of(rating: np.ndarray, *, threshold: float | None = 0.5) -> TrainSet:
    """Ratings of users × items; NaN is no row."""
    user, item = np.nonzero(~np.isnan(rating))
    ids = [Ids(pl.Series(range(n))) for n in rating.shape]
    return TrainSet(*ids, ByUser.of(user, item, rating[user, item], n_users=len(rating)), threshold=threshold)


def toy(a: list, b: list) -> TrainSet:
    """Ten users; those without ratings of a and b have one of a third item."""
    rating = np.full((10, 3), np.nan)
    rating[:5, 0], rating[:5, 1] = ([np.nan if r is None else r for r in column] for column in (a, b))
    rating[np.isnan(rating).all(axis=1), 2] = 0
    return train_of(rating)


@pytest.mark.parametrize(("a", "b", "wanted"), EXAMPLES)
def test_the_toy_examples(a, b, wanted):
    for phi, name in RANKINGS.items():
        scores = make_system(name).fit(toy(a, b)).score(np.array([0, 9]))
        assert scores[0, :2] == pytest.approx(wanted[phi])
        np.testing.assert_array_equal(scores[0], scores[1])


def test_the_toy_examples_agree_with_the_golden_file():
    path = Path(__file__).parents[3] / "shared" / "golden" / "golden.json"
    if not path.exists():
        pytest.skip(f"no {path}")
    golden = json.loads(path.read_text())["H_fig2_toy"]
    assert len(golden) == 3
    for example in golden.values():
        train = toy(example["train_column_a"], example["train_column_b"])
        for phi, name in RANKINGS.items():
            scores = make_system(name).fit(train).score([0])[0]
            assert scores[:2] == pytest.approx([example["a"][phi], example["b"][phi]], abs=1e-6)
        orders = [make_system(name).fit(train).score([0])[0][:2].argmax() for name in RANKINGS.values()]
        assert (orders[0] != orders[1]) == example["optimal_rankings_disagree"]


# ---- bounds --------------------------------------------------------------------------------------------------


def expected_at_1(order: tuple[int, ...], seen: np.ndarray, hit: np.ndarray) -> float:
    """Expected value at rank 1 when everybody gets the first item of one order that they have not seen.

    `seen` is the chance of a train rating, `hit` that of a counted test rating; pairs are independent.
    """
    value, reached = 0.0, 1.0
    for item in order:
        value += reached * hit[item]
        reached *= seen[item]
    return value


@given(seed=st.integers(0, 100_000), items=st.integers(2, 6))
def test_no_order_of_items_has_a_better_expected_value(seed, items):
    """With the counted shares as the true chances, every order is tried."""
    rng = np.random.default_rng(seed)
    rating = np.where(rng.random((12, items)) < rng.random(items), rng.integers(0, 2, (12, items)), np.nan)
    rating[np.isnan(rating).all(axis=1), 0] = 1
    train = train_of(rating)
    seen = (~np.isnan(rating)).mean(axis=0)
    liked, disliked = (0.25 * (rating == value).mean(axis=0) for value in (1, 0))  # test ratings, in proportion
    orders = list(itertools.permutations(range(items)))
    for name, hit, best in (("optimal_precision", liked, max), ("optimal_antiprecision", disliked, min)):
        order = tuple(np.argsort(-make_system(name).fit(train).score([0])[0], kind="stable"))
        bound = best(expected_at_1(other, seen, hit) for other in orders)
        assert expected_at_1(order, seen, hit) == pytest.approx(bound, abs=1e-12)


@pytest.fixture
def compiled():
    with use_kernels("compiled"):
        yield


def simulated_log(seed: int, users: int = 400, items: int = 60) -> Interactions:
    """Independent pairs: items are rated, and liked, with chances of their own."""
    rng = np.random.default_rng(seed)
    rated, liked = 0.05 + 0.8 * rng.random(items) ** 2, rng.random(items)
    user, item = np.nonzero(rng.random((users, items)) < rated)
    value = np.where(rng.random(len(user)) < liked[item], 5.0, 1.0)
    return Interactions.of(pl.DataFrame({"user": user, "item": item, "value": value}))


@pytest.mark.usefixtures("compiled")
def test_evaluated_rankings_keep_within_the_bounds():
    """Means over splits: no ranking that is the same for everybody has more P@1 or less antiP@1 than its optimum."""
    rng = np.random.default_rng(0)
    fixed = {f"order {n}": rng.permutation(60).astype(float) for n in range(12)}
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(5):
        parts = tv.split(simulated_log(seed), "holdout", ratio=0.3, seed=seed)
        others = {name: (lambda users, s=scores: np.tile(s, (len(users), 1))) for name, scores in fixed.items()}
        named = ["popularity", "average", "optimal_precision", "optimal_antiprecision", "optimal_true"]
        result = tv.evaluate(
            parts, {**{name: name for name in named}, **others}, design="AR-AI-AN", threshold=4, population="judged",
            metrics=["precision@1", "anti(precision)@1"], interval="none",
        )  # fmt: skip
        for system, metric, value in result.table().select("system", "metric", "value").rows():
            found.setdefault((system, metric), []).append(value)
    mean = {key: float(np.mean(values)) for key, values in found.items()}
    everybody = [*named[:4], *fixed]
    best = mean["optimal_precision", "precision@1"]
    least = mean["optimal_antiprecision", "anti(precision)@1"]
    assert all(mean[system, "precision@1"] <= best + 0.01 for system in everybody)
    assert all(mean[system, "anti(precision)@1"] >= least - 0.005 for system in everybody)
    assert mean["optimal_true", "precision@1"] >= best  # it has seen the test part
    assert mean["popularity", "precision@1"] < best - 0.02
    assert min(mean[f"order {n}", "precision@1"] for n in range(12)) < best / 2


# ---- the oracle ----------------------------------------------------------------------------------------------


def test_the_oracle_counts_the_test_part():
    rating = np.array([[1, np.nan, np.nan], [1, 1, np.nan], [np.nan, 0, np.nan], [np.nan, 0, 1]])
    test = pl.DataFrame({"user": [0, 2, 3, 0], "item": [1, 0, 0, 2], "value": [1.0, 1.0, 0.0, 1.0]})
    scores = make_system("optimal_true", test=test).fit(train_of(rating)).score([2])[0]
    assert scores == pytest.approx([1 / 2, 1 / 1, 1 / 3])
    assert find("optimal_true").oracle
    assert [name for name in tv.systems() if find(name).oracle] == ["optimal_true"]


def test_an_evaluation_hands_its_test_part_to_oracles_alone():
    parts = tv.split(simulated_log(3), "holdout", ratio=0.3)
    rules = {"threshold": 4, "metrics": ["precision@1"], "interval": "none"}
    by_name = tv.evaluate(parts, ["optimal_true"], **rules)
    by_hand = tv.evaluate(parts, {"optimal_true": make_system("optimal_true", test=parts.test)}, **rules)
    assert by_name["optimal_true", "precision@1"].value == by_hand["optimal_true", "precision@1"].value
    for name in set(tv.systems()) - {"optimal_true"}:
        assert not hasattr(make_system(name, test=parts.test), "test")


def test_the_threshold_is_the_evaluations_unless_given():
    rating = np.array([[5, 3.0], [2, 4], [np.nan, 1]])
    three, own = (make_system("optimal_precision", threshold=t).fit(train_of(rating, threshold=3)) for t in (None, 5.0))
    assert three.score([0])[0].argmax() == 1  # liked by two, rated by all three
    assert own.score([0])[0] == pytest.approx([1 / 1, 0])
    anything = make_system("optimal_precision").fit(train_of(rating, threshold=None)).score([0])[0]
    assert anything[0] == 2
    assert np.isfinite(anything).all()


def test_what_optimal_rankings_refuse():
    rating = np.array([[1.0, np.nan], [0, 1]])
    bare = train_of(rating)
    without = TrainSet(bare.users, bare.items, ByUser(bare.log.start, bare.log.item), threshold=4)
    with pytest.raises(DataError, match="optimal_precision with a threshold needs a value column"):
        make_system("optimal_precision").fit(without)
    with pytest.raises(DataError, match="optimal_antiprecision needs a value column"):
        make_system("optimal_antiprecision").fit(without)
    with pytest.raises(DataError, match=r"oracle and needs the test part[^$]*test=parts.test"):
        make_system("optimal_true").fit(bare)
    with pytest.raises(DefinitionError, match="threshold of optimal_true must be a number"):
        make_system("optimal_true", threshold="high")
    with pytest.raises(DataError, match="does not know this user"):
        make_system("optimal_precision").fit(bare).score([2])


@pytest.fixture(scope="module")
def folds(data_folder):
    return tv.split(tv.read(data_folder("ml-1m")), "kfold", n=5)


@pytest.mark.data
def test_movielens_values_of_the_authors(folds):
    """φ_P over five folds, averaged over users with a test rating: P@10 .149604, antiP@10 .031563.

    Single folds differ by more (standard deviation .0013 and .0006) than means over all five do.
    """
    metrics = ["precision@10", "anti(precision)@10"]
    found = [
        tv.evaluate(
            fold, ["optimal_precision"], design="AR-AI-AN", threshold=4, population="judged", interval="none",
            metrics=metrics,
        )
        for fold in folds
    ]  # fmt: skip
    precision, wrong = (np.mean([one["optimal_precision", metric].value for one in found]) for metric in metrics)
    assert precision == pytest.approx(0.149604, abs=0.0005)
    assert wrong == pytest.approx(0.031563, abs=0.0003)


@pytest.mark.data
def test_movielens_correlations_of_the_paper(folds):
    """Figure 4: φ_P with popularity .94 and average .40; φ_antiP with popularity -.87 and average -.10."""
    parts = folds[0]
    users, items = Ids.of(parts.train.frame["user"]), Ids.of(parts.train.frame["item"])
    train = TrainSet(users, items, ByUser.code(parts.train.frame, users, items), threshold=4)
    liked = np.bincount(train.log.item[train.log.value >= 4], minlength=len(items)) / train.popularity
    for name, with_popularity, with_average in (
        ("optimal_precision", 0.94, 0.40), ("optimal_antiprecision", -0.87, -0.10)
    ):  # fmt: skip
        scores = make_system(name).fit(train).score([0])[0]
        assert np.corrcoef(scores, train.popularity)[0, 1] == pytest.approx(with_popularity, abs=0.01)
        assert np.corrcoef(scores, liked)[0, 1] == pytest.approx(with_average, abs=0.02)
