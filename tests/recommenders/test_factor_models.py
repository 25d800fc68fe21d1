"""What all factor models share: bad input, registration, interruption, and lists better than popularity's."""

from __future__ import annotations

import inspect

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.factor_models import weighted_als
from trueval.recommenders.factor_models.matrices import train_of_table
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import make_system, systems

EXPLICIT = ["mf_rmse", "allrank", "allrank_pop", "svdpp"]
IMPLICIT = ["puresvd", "wrmf", "bpr", "ease"]
ALL = EXPLICIT + IMPLICIT


def ratings(users: int = 30, items: int = 20) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((users, items)) < 0.4, rng.integers(1, 6, (users, items)), np.nan)


def small(name: str) -> Recommender:
    return make_system(name, **({} if name == "ease" else {"factors": 3}))


@pytest.mark.parametrize("name", ALL)
def test_they_are_registered_and_explain_themselves(name):
    record = systems(name)
    assert name in systems()
    assert record.objective
    assert record.reference
    assert record.needs == ("values" if name in EXPLICIT else "rows")
    assert inspect.getdoc(record.make)
    assert all(p.meaning for p in record.parameters.values())


@pytest.mark.parametrize("name", ALL)
def test_scores_are_finite_inner_products_in_single_precision(name):
    train = train_of_table(ratings())
    model = small(name)
    assert model.fit(train) is model
    scores = model.score(np.array([4, 0, 4]))
    assert scores.shape == (3, 20)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[0], scores[2])
    if name != "ease":
        users, items = model.factors()
        np.testing.assert_allclose(users[[4, 0, 4]] @ items.T, scores, atol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_a_refit_forgets_what_was_learned(name):
    first, second = train_of_table(ratings()), train_of_table(ratings()[::-1])
    model = small(name)
    fresh = small(name).fit(second).score([0])
    np.testing.assert_array_equal(model.fit(first).fit(second).score([0]), fresh)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_train_set_is_refused(name):
    train = TrainSet(Ids(pl.Series(range(9))), Ids(pl.Series(range(9))), ByUser.empty(9))
    with pytest.raises(DataError, match=f"{name} cannot learn from an empty train set"):
        small(name).fit(train)


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit_models_need_values(name):
    full = train_of_table(ratings())
    with pytest.raises(DataError, match=f"{name} needs a value column"):
        small(name).fit(TrainSet(full.users, full.items, ByUser(full.log.start, full.log.item)))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_numbers_are_refused(name, bad):
    full = train_of_table(ratings())
    value = full.log.value.copy()
    value[3] = bad
    with pytest.raises(DataError, match=r"finite[^$]*user 0"):
        small(name).fit(TrainSet(full.users, full.items, ByUser(full.log.start, full.log.item, value)))


@pytest.mark.parametrize("name", [name for name in ALL if name != "ease"])
def test_more_factors_than_items_are_refused(name):
    with pytest.raises(DefinitionError, match=r"more factors than[^$]*factors=21[^$]*20 items[^$]*factors=20"):
        make_system(name, factors=21).fit(train_of_table(ratings()))


@pytest.mark.parametrize("name", ALL)
def test_strangers_and_unfitted_systems_are_refused(name):
    with pytest.raises(DataError, match=f"{name} has not been fitted"):
        small(name).score([0])
    with pytest.raises(DataError, match=f"{name} does not know this user[^$]*code 30"):
        small(name).fit(train_of_table(ratings())).score([30])


def test_a_fit_that_is_stopped_leaves_the_former_one(monkeypatch):
    model = small("allrank").fit(train_of_table(ratings()))
    before = model.score([0])
    real, calls = weighted_als.solve, []

    def stopped(*given, **named):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(weighted_als, "solve", stopped)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train_of_table(ratings()[::-1]))
    np.testing.assert_array_equal(model.score([0]), before)


# ---- lists ---------------------------------------------------------------------------------------------------


def better_than_popularity(parts, names: list[str]) -> dict[str, float]:
    """nDCG@10 of some systems less that of popularity, in standard errors of the paired difference."""
    result = tv.evaluate(parts, ["popularity", *names], metrics=["ndcg@10"], threshold=4, interval="none")
    wide = result.per_user.pivot(on="system", index="user", values="ndcg@10").drop_nulls()
    gaps = {name: wide[name] - wide["popularity"] for name in names}
    return {name: gap.mean() / (gap.std() / len(gap) ** 0.5) for name, gap in gaps.items()}


def test_lists_are_better_than_popularitys_on_a_small_log(data_folder):
    parts = tv.split(tv.read(data_folder("ml-100k")), "holdout", ratio=0.2, seed=1)
    dense = ["allrank[w_m=0.05]", "allrank_pop[w_m=0.05]"]  # a denser log than the defaults are for
    found = better_than_popularity(parts, [*dense, "puresvd", "wrmf", "ease"])
    assert min(found.values()) > 3, found


@pytest.mark.slow
@pytest.mark.data
def test_lists_are_better_than_popularitys_on_movielens_1m(data_folder):
    parts = tv.split(tv.read(data_folder("ml-1m")), "holdout", ratio=0.2, seed=1)
    found = better_than_popularity(parts, ["allrank", "allrank_pop", "puresvd", "wrmf", "bpr", "ease"])
    assert min(found.values()) > 5, found
