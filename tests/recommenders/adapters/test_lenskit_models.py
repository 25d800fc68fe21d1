"""LensKit: the same lists as the library's own `recommend`. LensKit brings torch, so it is tested where it is there."""

from __future__ import annotations

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, triples, with_strangers, world

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.facts.from_scores import rank_system

pytest.importorskip("lenskit", reason="LensKit is not installed")
import lenskit
import pandas as pd
from lenskit.als import BiasedMFScorer, ImplicitMFScorer
from lenskit.basic import BiasScorer, PopScorer
from lenskit.data import from_interactions_df
from lenskit.knn import ItemKNNScorer, UserKNNScorer
from lenskit.pipeline import topn_pipeline

MODELS = {
    "implicit mf": lambda: ImplicitMFScorer(embedding_size=4, epochs=3),
    "biased mf": lambda: BiasedMFScorer(embedding_size=4, epochs=3),
    "item neighbours": lambda: ItemKNNScorer(max_nbrs=5),
    "user neighbours": lambda: UserKNNScorer(max_nbrs=5),
    "bias": lambda: BiasScorer(),
    "popular": lambda: PopScorer(),
}


def dataset(train, *, seed=0):
    rows = triples(train)
    np.random.default_rng(seed).shuffle(rows)
    return from_interactions_df(pd.DataFrame(rows, columns=["user_id", "item_id", "rating"]))


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("name", list(MODELS))
def test_fitted_pipelines_give_their_own_lists(name, integers):
    train, task = world(integers=integers)
    pipeline = topn_pipeline(MODELS[name]())
    pipeline.train(dataset(train))
    system = tv.adapt(pipeline).fit(train)
    assert_same_lists(system, task, lambda user: lenskit.recommend(pipeline, user, n=6).ids().tolist())


def test_a_fitted_scorer_needs_its_data():
    train, _ = world()
    data = dataset(train)
    pipeline = topn_pipeline(MODELS["biased mf"]())
    pipeline.train(data)
    scorer = pipeline.component("scorer")
    with pytest.raises(DataError, match=r"dataset=the Dataset"):
        tv.adapt(scorer).fit(train)
    whole, alone = tv.adapt(pipeline).fit(train), tv.adapt(scorer, dataset=data).fit(train)
    np.testing.assert_array_equal(whole.score(np.arange(50)), alone.score(np.arange(50)))


@pytest.mark.parametrize("form", [lambda scorer: scorer, topn_pipeline])
def test_models_are_fitted_on_train_and_stay_as_they_were(form):
    made = parts()
    train, _ = told(made)
    given = form(MODELS["implicit mf"]())
    one, two = (tv.adapt(given).fit(train) for _ in range(2))
    np.testing.assert_array_equal(one.score(np.arange(50)), two.score(np.arange(50)))
    assert "fitted on train" in one.name
    result = tv.evaluate(made, {"lenskit": given}, interval="none")
    assert 0 < result["lenskit", "ndcg@10"].value < 1


def test_the_unknown_and_the_unfitted():
    train, task = told(with_strangers(parts()))
    system = tv.adapt(MODELS["popular"]()).fit(train)
    assert "'i99': ranked last" in system.caution
    with pytest.raises(DataError, match="does not know every"):
        rank_system(tv.adapt(MODELS["popular"](), unknown="error").fit(train), task)
    with pytest.raises(DefinitionError, match="will be fitted here"):
        tv.adapt(MODELS["popular"](), dataset=dataset(world()[0])).fit(train)
    pipeline = topn_pipeline(MODELS["bias"]())
    pipeline.train(dataset(world(integers=True)[0]))
    with pytest.raises(DataError, match="different types"):
        tv.adapt(pipeline).fit(train)
