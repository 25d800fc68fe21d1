"""Models of RecTools: the same lists as the library's own `recommend` with viewed items filtered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, triples, with_strangers, world

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system

pytest.importorskip("rectools", reason="RecTools is not installed (it is in .venv-adapters)")
import pandas as pd
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from implicit.nearest_neighbours import TFIDFRecommender
from rectools.dataset import Dataset
from rectools.models import (
    EASEModel,
    ImplicitALSWrapperModel,
    ImplicitBPRWrapperModel,
    ImplicitItemKNNWrapperModel,
    PopularModel,
    PureSVDModel,
    RandomModel,
)

pytestmark = pytest.mark.filterwarnings("ignore:OpenBLAS", "ignore:Method expects CSR", "ignore::DeprecationWarning")


def als(**more):
    return ImplicitALSWrapperModel(AlternatingLeastSquares(factors=5, iterations=3, num_threads=1, **more))


MODELS = {
    "als": lambda: als(random_state=1),
    "bpr": lambda: ImplicitBPRWrapperModel(
        BayesianPersonalizedRanking(factors=5, iterations=5, num_threads=1, random_state=1)
    ),
    "svd": lambda: PureSVDModel(factors=5, random_state=1),
    "ease": lambda: EASEModel(regularization=5),
    "item neighbours": lambda: ImplicitItemKNNWrapperModel(TFIDFRecommender(K=6)),
    "popular": lambda: PopularModel(),
}


def dataset(train, *, seed=0) -> Dataset:
    rows = triples(train)
    np.random.default_rng(seed).shuffle(rows)
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "weight"])
    return Dataset.construct(frame.assign(datetime=pd.Timestamp("2020-01-01")))


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("name", list(MODELS))
def test_fitted_models_give_their_own_lists(name, integers):
    train, task = world(integers=integers)
    data = dataset(train)
    model = MODELS[name]().fit(data)
    lists = model.recommend(train.users.values.to_list(), data, k=6, filter_viewed=True)
    theirs = {user: rows["item_id"].tolist() for user, rows in lists.groupby("user_id")}
    system = tv.adapt(model, dataset=data).fit(train)
    assert hasattr(system, "factors") == (name in ("als", "bpr", "svd"))
    assert_same_lists(system, task, theirs.__getitem__)


@pytest.mark.parametrize("name", list(MODELS))
def test_scores_are_the_models_own(name):
    train, _ = world()
    data = dataset(train)
    model = MODELS[name]().fit(data)
    scores = tv.adapt(model, dataset=data).fit(train).score(np.arange(50))
    lists = model.recommend(train.users.values.to_list(), data, k=35, filter_viewed=False)
    user = {one: code for code, one in enumerate(train.users.values)}
    item = {one: code for code, one in enumerate(train.items.values)}
    ours = [scores[user[u], item[i]] for u, i in zip(lists["user_id"], lists["item_id"])]
    np.testing.assert_allclose(ours, lists["score"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("values", [True, False])
def test_models_are_fitted_on_train_and_stay_as_they_were(values):
    made = parts(values=values)
    train, _ = told(made)
    given = MODELS["ease"]()
    scores = tv.adapt(given).fit(train).score(np.arange(50))
    assert not given.is_fitted
    data = dataset(replace(train, log=replace(train.log, value=np.ones(len(train.log.item)))) if not values else train)
    own = MODELS["ease"]().fit(data)
    np.testing.assert_allclose(
        scores, tv.adapt(own, dataset=data).fit(train).score(np.arange(50)), rtol=1e-3, atol=1e-4
    )
    assert values == bool(np.unique(data.interactions.df["weight"]).size > 1)


def test_seeds_and_models_that_draw():
    train, _ = world()
    one, two = (tv.adapt(als()).fit(train) for _ in range(2))
    np.testing.assert_array_equal(one.factors()[0], two.factors()[0])
    assert one.deterministic
    assert not tv.adapt(RandomModel()).fit(train).deterministic
    threads = ImplicitBPRWrapperModel(BayesianPersonalizedRanking(factors=3, iterations=2, num_threads=2))
    assert "num_threads=1" in tv.adapt(threads).fit(train).caution


def test_models_are_evaluated_as_they_are():
    made = parts()
    result = tv.evaluate(made, {"als": als(), "popular": PopularModel(), "ours": "popularity"}, interval="none")
    assert 0 < result["als", "ndcg@10"].value < 1
    assert result["popular", "ndcg@10"].value > 0
    assert "rectools" in str(result.manifest["systems"]["als"])


def test_popular_items_serve_strangers_and_others_do_not():
    """RecTools recommends popular items to users that it has never seen; factor models it does not ask."""
    train, task = told(with_strangers(parts()))
    stranger = np.array([50])
    popular = tv.adapt(PopularModel()).fit(train)
    assert len(np.unique(popular.score(stranger))) > 1
    factors = tv.adapt(als()).fit(train)
    assert len(np.unique(factors.score(stranger))) == 1
    assert "'u99': all tied" in factors.caution
    assert "'i99': ranked last" in factors.caution
    with pytest.raises(DataError, match="does not know every"):
        rank_system(tv.adapt(als(), unknown="error").fit(train), task)


def test_what_cannot_be_evaluated_is_refused():
    train, _ = world()
    data = dataset(train)
    with pytest.raises(DataError, match=r"does not know its ids[^$]*dataset=the Dataset"):
        tv.adapt(als().fit(data)).fit(train)
    with pytest.raises(DefinitionError, match=r"will be fitted here[^$]*not fitted"):
        tv.adapt(als(), dataset=data).fit(train)
    other = dataset(world(integers=True)[0])
    with pytest.raises(DataError, match="different types"):
        tv.adapt(als().fit(other), dataset=other).fit(train)
    neural = type("SASRecModel", (), {"__module__": "rectools.models.nn.transformers.sasrec", "is_fitted": False})
    with pytest.raises(DefinitionError, match=r"times or features[^$]*SASRecModel"):
        tv.adapt(neural()).fit(train)
