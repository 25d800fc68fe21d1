"""Models of Cornac: the same lists as the library's own `recommend` with seen items removed."""

from __future__ import annotations

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, triples, with_strangers, world

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system

cornac = pytest.importorskip("cornac", reason="Cornac is not installed (it is in .venv-adapters)")

MODELS = {
    "mf": lambda **more: cornac.models.MF(k=5, max_iter=5, **more),
    "bpr": lambda **more: cornac.models.BPR(k=5, max_iter=20, **more),
    "pmf": lambda **more: cornac.models.PMF(k=5, max_iter=5, **more),
    "item neighbours": lambda **more: cornac.models.ItemKNN(k=6, verbose=False, **more),
    "ease": lambda **more: cornac.models.EASE(lamb=5, verbose=False, **more),
    "most popular": lambda **more: cornac.models.MostPop(),
}


def dataset(train, *, seed=0):
    rows = triples(train)
    np.random.default_rng(seed).shuffle(rows)
    return cornac.data.Dataset.from_uir(rows, seed=1)


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("name", list(MODELS))
def test_fitted_models_give_their_own_lists(name, integers):
    train, task = world(integers=integers)
    data = dataset(train)
    model = MODELS[name](seed=3).fit(data)
    system = tv.adapt(model).fit(train)
    assert_same_lists(system, task, lambda user: model.recommend(user, k=6, remove_seen=True, train_set=data))


def test_ids_of_the_test_part_are_not_taken_for_learned():
    """Cornac's experiments share one map between train and test; a model has learned the first of them only."""
    train, task = told(with_strangers(parts()))
    strangers = [("u99", "i99", 5.0)]
    users, items = {}, {}
    data = cornac.data.Dataset.build(triples(train), global_uid_map=users, global_iid_map=items)
    cornac.data.Dataset.build(strangers, global_uid_map=users, global_iid_map=items)
    model = MODELS["mf"](seed=1).fit(data)
    model.uid_map, model.iid_map = users, items
    assert model.total_items == 36
    with pytest.raises(DataError, match=r"MF does not know every item[^$]*'i99'"):
        rank_system(tv.adapt(model).fit(train), task)
    system = tv.adapt(model, unknown="last").fit(train)
    scores = system.score(np.array([0, 50]))
    assert scores[0, 35] < scores[0, :35].min()
    assert len(np.unique(scores[1])) == 1


@pytest.mark.parametrize("values", [True, False])
def test_models_are_fitted_on_train_and_stay_as_they_were(values):
    train, _ = told(parts(values=values))
    given = MODELS["bpr"](seed=4)
    scores = tv.adapt(given).fit(train).score(np.arange(50))
    assert not given.is_fitted
    ids = train.users.decode(train.log.user).to_list(), train.items.decode(train.log.item).to_list()
    ratings = np.ones(len(ids[0])) if train.log.value is None else train.log.value
    own = MODELS["bpr"](seed=4).fit(cornac.data.Dataset.from_uir(list(zip(*ids, ratings))))
    wanted = np.array([own.score(own.uid_map[user]) for user in train.users.values])
    order = [own.iid_map[item] for item in train.items.values]
    np.testing.assert_allclose(scores, wanted[:, order], rtol=1e-5)


def test_seeds_and_models_without():
    train, _ = world()
    one, two = (tv.adapt(MODELS["bpr"]()).fit(train) for _ in range(2))
    np.testing.assert_array_equal(one.score(np.arange(50)), two.score(np.arange(50)))
    assert one.deterministic
    assert tv.adapt(cornac.models.MostPop()).fit(train).deterministic
    unseeded = type("Drawn", (cornac.models.MostPop,), {"__init__": lambda self: cornac.models.MostPop.__init__(self)})
    assert "takes no seed" in tv.adapt(unseeded()).fit(train).caution


def test_models_are_evaluated_under_their_names():
    result = tv.evaluate(parts(), [cornac.models.MF(name="my mf", k=4), cornac.models.MostPop()], interval="none")
    assert 0 < result["my mf", "ndcg@10"].value < 1
    assert "cornac" in str(result.manifest["systems"]["my mf"])


def test_what_cannot_be_evaluated_is_refused():
    train, _ = world()
    other = MODELS["mf"](seed=1).fit(dataset(world(integers=True)[0]))
    with pytest.raises(DataError, match=r"different types[^$]*MF"):
        tv.adapt(other).fit(train)
    basket = cornac.models.GPTop()
    with pytest.raises(DefinitionError, match=r"order of events[^$]*GPTop[^$]*tv\.Run"):
        tv.adapt(basket).fit(train)
    broken = MODELS["mf"](seed=1).fit(dataset(train))
    broken.u_factors[:] = np.nan
    with pytest.raises(DataError, match=r"MF gave a score that is not a number[^$]*user"):
        tv.adapt(broken).fit(train).score(np.arange(3))
