"""LensKit: pipelines, and scorers, which are put into LensKit's own top-n pipeline. Scores are those of `scorer`.

Items that LensKit leaves without a score rank behind those that have one: its own lists leave them out. A fitted
pipeline knows its ids; a fitted scorer needs the data set that it was fitted on, `tv.adapt(scorer, dataset=data)`.
Fitted here, the values of the log are the ratings, and the evaluation's seed is LensKit's; what its threads and torch
make of that seed is theirs.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.kernels.seeds import derive
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.protocol import TrainSet

needs = "rows"


def fitted(model: Any) -> bool:
    """Whether it, or a part of it, has learned items."""
    return _vocabulary(model, "item") is not None


def caution(model: Any, here: bool) -> str:
    """Nothing is known to be unrepeatable under LensKit's own seed."""
    return ""


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Fit a copy to the train rows."""
    pandas = require("pandas", extra="lenskit")
    data = require("lenskit.data", extra="lenskit")
    options = require("lenskit.training", extra="lenskit").TrainingOptions(rng=int(derive(train.seed, "lenskit") >> 1))
    log = train.log
    columns = {"user_id": train.users.decode(log.user).to_numpy(), "item_id": train.items.decode(log.item).to_numpy()}
    rating = {} if log.value is None else {"rating": log.value}
    dataset = data.from_interactions_df(pandas.DataFrame({**columns, **rating}))
    if _is_pipeline(model):
        pipeline = model.clone()
    else:
        pipeline = require("lenskit.pipeline", extra="lenskit").topn_pipeline(copy.deepcopy(model))
    pipeline.train(dataset, options)
    return pipeline, Given()


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items in the vocabularies of the pipeline."""
    where = type(model).__name__
    pipeline = model if _is_pipeline(model) else _pipeline(model, given)
    user_ids, item_ids = _vocabulary(pipeline, "user"), _vocabulary(pipeline, "item")
    if user_ids is None or item_ids is None:
        raise DataError("the pipeline does not know its ids", where=where, do="train it whole: pipeline.train(data)")
    if pipeline.node("scorer", missing="none") is None:
        raise DefinitionError("the pipeline has no scorer", where=where, do="name the component that scores `scorer`")
    raw = user_ids.ids()
    users = find_places(train.users, raw, role="user", where=where)
    items = find_places(train.items, item_ids.ids(), role="item", where=where)
    everything = require("lenskit.data", extra="lenskit").ItemList.from_vocabulary(item_ids)
    one_at_a_time = threading.Lock()

    def score(asked: np.ndarray) -> np.ndarray:
        scores = np.full((len(asked), len(item_ids)), -np.inf)
        for row, user in enumerate(asked):
            with one_at_a_time:  # pipelines do not promise to be safe in threads
                found = pipeline.run("scorer", query=raw[user], items=everything)
            given_scores = np.asarray(found.scores(), np.float64)
            has = ~np.isnan(given_scores)
            scores[row, found.numbers(vocabulary=item_ids)[has]] = given_scores[has]
        return scores

    return Learned(users, items, score=score)


def _pipeline(scorer: Any, given: Given) -> Any:
    """A fitted scorer in a pipeline whose other parts are fitted on its data."""
    if given.dataset is None:
        raise DataError(
            "a fitted LensKit scorer does not know the histories of its users",
            where=type(scorer).__name__,
            do="tv.adapt(scorer, dataset=the Dataset that it was fitted on), or give the fitted pipeline",
        )
    options = require("lenskit.training", extra="lenskit").TrainingOptions(retrain=False)
    pipeline = require("lenskit.pipeline", extra="lenskit").topn_pipeline(scorer)
    pipeline.train(given.dataset, options)
    return pipeline


def _is_pipeline(model: Any) -> bool:
    return hasattr(model, "node") and hasattr(model, "run")


def _vocabulary(model: Any, role: str) -> Any:
    """The ids that a model or any part of a pipeline has learned; None where none has."""
    parts = [model.component(node) for node in model.nodes()] if _is_pipeline(model) else [model]
    for part in parts:
        matrix = getattr(part, "interactions", None)
        side = "row_vocabulary" if role == "user" else "col_vocabulary"
        for found in (getattr(matrix, side, None), *(getattr(part, f"{role}s{end}", None) for end in ("", "_"))):
            if hasattr(found, "ids") and hasattr(found, "number"):
                return found
    return None
