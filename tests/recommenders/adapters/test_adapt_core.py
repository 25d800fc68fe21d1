"""What all adapters share: recognising models, finding ids, users and items that a model has not learned."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from adapter_worlds import parts, told, with_strangers, world
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system
from trueval.recommenders.adapters import LIBRARIES, library_of
from trueval.recommenders.adapters.adapted import Adapted, load
from trueval.recommenders.adapters.id_alignment import Seats, fill_last
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.registry import make_system


class FactorModel:
    """Looks like a fitted factor model of implicit; the library itself is not needed to read one."""

    def __init__(self, users: Any, items: Any) -> None:
        self.user_factors, self.item_factors = users, items


FactorModel.__module__ = "implicit.cpu.stand_in"


def factors(seed: int = 0, users: int = 50, items: int = 35) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(users, 4)), rng.normal(size=(items, 4))


# ---- recognising ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_models_are_recognised_by_their_module(library):
    theirs = type("Model", (), {"__module__": f"{library}.models.some"})
    mine = type("Mine", (theirs,), {"__module__": "__main__"})
    assert library_of(theirs()) == library_of(mine()) == library_of(theirs) == library
    assert load(LIBRARIES[library]).needs in ("rows", "values")
    other = type("Model", (), {"__module__": f"{library}_like.models"})
    assert library_of(other()) is None


def test_recognising_imports_nothing():
    before = set(sys.modules)
    theirs = type("Model", (), {"__module__": "recbole.model"})
    assert make_system(theirs()).library == "recbole"
    assert not {name.split(".")[0] for name in set(sys.modules) - before} & set(LIBRARIES)


def test_models_are_systems_and_keep_their_names():
    model = FactorModel(*factors())
    made = make_system(model)
    assert isinstance(made, Adapted)
    assert isinstance(made, Recommender)
    assert made.name == "FactorModel"
    assert tv.adapt(model, name="ours").name == "ours"
    with pytest.raises(DataError, match=r"has not been fitted"):
        made.score(np.array([0]))


def test_what_is_no_model_is_refused():
    with pytest.raises(DefinitionError, match=r"not a model[^$]*dict[^$]*implicit, lenskit"):
        tv.adapt({})
    with pytest.raises(DefinitionError, match=r"unknown cannot be 'zero'"):
        tv.adapt(FactorModel(*factors()), unknown="zero")


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_missing_library_names_its_extra(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DefinitionError, match=rf"{library} is not installed[^$]*pip install 'trueval\[{library}\]'"):
        require(library, extra=LIBRARIES[library])


def test_a_missing_library_is_said_when_a_model_is_to_be_fitted(monkeypatch):
    monkeypatch.setitem(sys.modules, "surprise", None)
    algorithm = type("SVD", (), {"__module__": "surprise.prediction_algorithms", "verbose": False})
    with pytest.raises(DefinitionError, match=r"pip install 'trueval\[surprise\]'"):
        tv.evaluate(parts(), {"svd": algorithm()})


# ---- ids -----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), unique=True, min_size=1), st.lists(st.integers(0, 30), unique=True, min_size=1))
def test_places_are_where_the_model_has_the_id(ours, theirs):
    ids = Ids.of(pl.Series(ours))
    places = find_places(ids, theirs, role="item", where="model")
    assert places.tolist() == [theirs.index(one) if one in theirs else -1 for one in sorted(ours)]


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (["a", "b", "a"], r"occurs twice[^$]*'a'"),
        ([1, 2, 3], r"different types[^$]*integer"),
        (["a", None], r"missing"),
        (["a", 1], r"all be integers or all be strings"),
        ([0.5, 1.5], r"integers or strings"),
    ],
)
def test_ids_that_cannot_be_compared_are_refused(theirs, message):
    with pytest.raises(DataError, match=message):
        find_places(Ids.of(pl.Series(["a", "b"])), theirs, role="item", where="model")


def test_rows_in_another_order_are_found_by_their_ids():
    train, task = world()
    users, items = factors()
    plain = tv.adapt(FactorModel(users, items)).fit(train)
    rng = np.random.default_rng(1)
    u, i = rng.permutation(len(users)), rng.permutation(len(items))
    moved = FactorModel(users[u], items[i])
    ids = {"users": train.users.decode(u), "items": train.items.decode(i).to_list()}
    again = tv.adapt(moved, **ids).fit(train)
    everybody = np.arange(len(users))
    np.testing.assert_array_equal(again.score(everybody), plain.score(everybody))
    lists = [rank_system(system, task, depth=5).list_item for system in (plain, again)]
    np.testing.assert_array_equal(*lists)


def test_a_model_of_other_sizes_asks_for_its_ids():
    train, _ = world()
    with pytest.raises(DataError, match=r"different numbers of users[^$]*49 users; the log has 50[^$]*users=ids"):
        tv.adapt(FactorModel(*factors(users=49))).fit(train)
    with pytest.raises(DataError, match=r"list of items does not fit[^$]*2 ids for 35 items"):
        tv.adapt(FactorModel(*factors()), items=["a", "b"]).fit(train)


def test_a_model_fitted_on_other_ids_is_refused():
    train, _ = world()
    strangers = [f"x{k}" for k in range(50)]
    for rule in ("error", "last"):
        with pytest.raises(DataError, match=r"knows none of the users[^$]*'u00'"):
            tv.adapt(FactorModel(*factors()), users=strangers, unknown=rule).fit(train)
    some = [*train.users.values.to_list()[:49], "x"]
    with pytest.raises(DataError, match=r'does not know users of the train part[^$]*\'u49\'[^$]*unknown="last"'):
        tv.adapt(FactorModel(*factors()), users=some).fit(train)


@pytest.mark.parametrize(
    ("users", "items", "message"),
    [
        (np.full((50, 4), np.nan), np.zeros((35, 4)), r"user factors are not finite[^$]*FactorModel[^$]*row 0"),
        (
            np.zeros((50, 4)),
            np.r_[np.zeros((34, 4)), np.full((1, 4), np.inf)],
            r"item factors are not finite[^$]*row 34",
        ),
        (np.zeros((50, 4)), np.zeros((35, 5)), r"same number of columns"),
        (np.zeros((50, 4)), np.zeros(35), r"same number of columns"),
    ],
)
def test_factors_of_a_broken_model_are_refused(users, items, message):
    train, _ = world()
    with pytest.raises(DataError, match=message):
        tv.adapt(FactorModel(users, items)).fit(train)


def test_ids_need_a_fitted_model():
    train, _ = world()
    with pytest.raises(DefinitionError, match=r"will be fitted here[^$]*not fitted[^$]*fit the model first"):
        tv.adapt(FactorModel(None, None), users=["a"]).fit(train)
    with pytest.raises(DefinitionError, match=r"will be fitted here"):
        tv.adapt(FactorModel(*factors()), users=["a"], refit=True).fit(train)


# ---- users and items that are not known ----------------------------------------------------------------------


def strange_system(unknown: str | None, design: str = "AR-AI-AN"):
    """A model that knows everybody and everything but user u99 and item i99."""
    train, task = told(with_strangers(parts()), design)
    users, items = factors()
    model = FactorModel(users, items)
    names = {"users": train.users.values.to_list()[:-1], "items": train.items.values.to_list()[:-1]}
    return tv.adapt(model, **names, unknown=unknown).fit(train), task, users @ items.T


def test_the_unknown_are_refused_where_they_are_ranked():
    system, task, _ = strange_system(None)
    with pytest.raises(DataError, match=r"does not know every item[^$]*'i99'[^$]*unknown=\"last\""):
        rank_system(system, task)


def test_an_unknown_user_is_named():
    train, task = told(with_strangers(parts()))
    users, items = factors(items=36)
    system = tv.adapt(FactorModel(users, items), users=train.users.values.to_list()[:-1]).fit(train)
    with pytest.raises(DataError, match=r"does not know every user[^$]*user 'u99'"):
        rank_system(system, task)


def test_what_is_not_ranked_may_be_unknown():
    """An item that only the catalogue names is no candidate of AR-TI-AN, but is one of AR-AI-AN."""
    made = parts()
    names = {role: sorted(made.train.frame[role].unique()) for role in ("user", "item")}
    catalogue = pl.DataFrame({"item": [*names["item"], "i99"]})
    model = tv.adapt(FactorModel(*factors()), users=names["user"], items=names["item"])
    tv.evaluate(made, {"mine": model}, items=catalogue, design="AR-TI-AN", interval="none")
    with pytest.raises(DataError, match=r"does not know every item[^$]*'i99'"):
        tv.evaluate(made, {"mine": model}, items=catalogue, design="AR-AI-AN", interval="none")


def test_the_unknown_rank_last():
    system, task, scores = strange_system("last")
    ours = system.score(np.arange(51))
    np.testing.assert_allclose(ours[:50, :35], scores, rtol=1e-12)
    assert (ours[:50, 35] < scores.min(axis=1)).all()
    assert (ours[50] == ours[50, 0]).all()
    facts = rank_system(system, task, depth=40)
    assert "'i99': ranked last" in system.caution
    assert "'u99': all tied" in system.caution
    for unit, user in enumerate(facts.unit_user):
        if user < 50:
            assert facts.list_item[facts.list_start[unit + 1] - 1] == 35


def test_what_ranks_last_is_told_with_the_result():
    made = with_strangers(parts())
    users, items = factors()
    known = made.train.frame
    names = {"users": sorted(known["user"].unique()), "items": sorted(known["item"].unique())}
    model = tv.adapt(FactorModel(users, items), **names, unknown="last")
    result = tv.evaluate(made, {"mine": model}, design="AR-AI-AN", interval="none")
    assert any("mine" in told and "'i99': ranked last" in told for told in result.warnings)


@given(
    st.lists(
        st.lists(st.floats(-1e6, 1e6, width=32) | st.just(-np.inf), min_size=3, max_size=3), min_size=1, max_size=4
    ),
    st.sampled_from([np.float32, np.float64]),
)
def test_filling_keeps_scores_and_puts_the_rest_behind(rows, kind):
    scores = np.array(rows, kind)
    filled = fill_last(scores)
    assert filled.dtype == kind
    assert np.isfinite(filled).all()
    for before, after in zip(scores, filled):
        there = np.isfinite(before)
        np.testing.assert_array_equal(before[there], after[there])
        assert len(np.unique(after[~there])) <= 1
        if there.any() and not there.all():
            assert after[~there].max() < before[there].min()


@given(st.integers(0, 2**31), st.floats(1e-3, 1e6), st.sampled_from([np.float32, np.float64]))
def test_factors_and_scores_agree_about_the_unknown(seed, size, kind):
    """Both forms of one model order everything alike."""
    rng = np.random.default_rng(seed)
    users, items = (size * rng.normal(size=(n, 3)).astype(kind) for n in (4, 5))
    ids = Ids.of(pl.Series(range(6))), Ids.of(pl.Series(range(8)))
    train = TrainSet(*ids, ByUser.empty(6))
    seats = Seats(np.array([0, 1, -1, 2, 3, -1]), np.array([4, -1, 3, 2, -1, 1, 0, -1]), train, "last", "model")
    ours, theirs = seats.factors(users, items)
    assert ours.dtype == theirs.dtype == kind
    by_factors = ours @ theirs.T
    by_scores = seats.scores(np.arange(6), lambda places: users[places] @ items.T)
    known = np.ix_(seats.users >= 0, seats.items >= 0)
    np.testing.assert_allclose(by_factors[known], by_scores[known], rtol=1e-4, atol=1e-4 * size)
    for scores in (by_factors, by_scores):
        behind = scores[seats.users >= 0][:, seats.items < 0]
        assert (behind < scores[known].min(axis=1)[:, None]).all()
        assert (behind == behind[:, :1]).all()
        tied = scores[seats.users < 0]
        assert (tied == tied[:, :1]).all()
