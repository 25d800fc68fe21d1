"""Models of RecTools. Factor models (ALS, BPR, PureSVD, LightFM) are scored by their vectors, others by `recommend`.

What `recommend` leaves out of a list of all items (items without a similar one, for example) ranks behind the rest.
A fitted model needs the `Dataset` it was fitted on: `tv.adapt(model, dataset=dataset)`. Fitted here, a model gets the
train rows with the values of the log as weights, or 1 where it has none, and no features or times. Repeatable under
a seed, except for BPR on several threads and for RandomModel, which draws anew on every call.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.kernels.seeds import derive
from trueval.recommenders.adapters import implicit as implicit_models
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.protocol import TrainSet

needs = "rows"


def fitted(model: Any) -> bool:
    """As the model says itself."""
    return bool(model.is_fitted)


def caution(model: Any, here: bool) -> str:
    """Models that do not repeat themselves."""
    if type(model).__name__ == "RandomModel":
        return "RecTools' RandomModel draws new lists on every call"
    return implicit_models.caution(getattr(model, "_model", None), here)


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Fit a copy to the train rows."""
    if ".models.nn" in type(model).__module__:
        raise DefinitionError(
            "RecTools' neural models need times or features, which systems do not get",
            found=f"{type(model).__name__}, not fitted",
            do="fit it on the train part and give it with its dataset: tv.adapt(model, dataset=dataset)",
        )
    model = copy.deepcopy(model)
    wrapped: Any = getattr(model, "_model", None)  # a model of implicit, with a state of its own
    for one in (model, wrapped):
        if getattr(one, "random_state", 0) is None:
            one.random_state = int(derive(train.seed, "rectools") % 2**31)
    pandas = require("pandas", extra="rectools")
    log = train.log
    frame = pandas.DataFrame(
        {
            "user_id": train.users.decode(log.user).to_numpy(),
            "item_id": train.items.decode(log.item).to_numpy(),
            "weight": np.ones(len(log.item)) if log.value is None else log.value,
            "datetime": pandas.Timestamp(0),
        }
    )
    dataset = require("rectools.dataset", extra="rectools").Dataset.construct(frame)
    return model.fit(dataset), Given(dataset=dataset)


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items in the maps of the dataset."""
    where, dataset = type(model).__name__, given.dataset
    if dataset is None:
        raise DataError(
            "a fitted RecTools model does not know its ids",
            where=where,
            do="tv.adapt(model, dataset=the Dataset that it was fitted on)",
        )
    users = find_places(train.users, dataset.user_id_map.external_ids, role="user", where=where)
    items = find_places(train.items, dataset.item_id_map.external_ids, role="item", where=where)
    if not model.recommends_for_warm:  # known by their features alone
        users[users >= dataset.n_hot_users] = -1
        items[items >= dataset.n_hot_items] = -1
    vectors = _vectors(model, dataset)
    if vectors is not None:
        return Learned(users, items, factors=vectors)
    codes = np.arange(len(users))
    asked = codes if model.recommends_for_cold else np.where(users >= 0, codes, -1)
    return Learned(asked, items, score=lambda codes: _lists(model, dataset, train, codes))


def _vectors(model: Any, dataset: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """User and item vectors, where scores are their inner products."""
    if getattr(getattr(model, "u2i_dist", None), "name", "") != "DOT" or not hasattr(model, "get_vectors"):
        return None
    parameters = inspect.signature(model.get_vectors).parameters
    users, items = model.get_vectors(dataset) if "dataset" in parameters else model.get_vectors()
    return np.asarray(users), np.asarray(items)


def _lists(model: Any, dataset: Any, train: TrainSet, codes: np.ndarray) -> np.ndarray:
    """Scores from lists of all items; -inf for what a list leaves out."""
    number = dataset.item_id_map.size
    ids = train.users.decode(codes)
    lists = model.recommend(ids.to_numpy(), dataset=dataset, k=number, filter_viewed=False, add_rank_col=False)
    place = np.full(len(train.users), -1)
    place[codes] = np.arange(len(codes))
    row = place[train.users.codes(type(ids)(lists["user_id"].tolist(), dtype=ids.dtype))]
    scores = np.full((len(codes), number), -np.inf)
    scores[row, dataset.item_id_map.convert_to_internal(lists["item_id"].to_numpy())] = lists["score"].to_numpy()
    return scores
