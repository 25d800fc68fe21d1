"""Models of Cornac, asked for a user's scores at a time: `model.score(user)`.

A fitted model knows its ids, and how many of them it has learned: the maps of Cornac's own experiments hold the test
part too. Fitted here, a model gets the values of the log as ratings, or 1 where it has none. Where its `seed` is None
it is set from the evaluation's, and Cornac then fits on one thread: repeatable, except for models that take no seed.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.protocol import TrainSet

needs = "rows"
_REPEATABLE = ("MostPop", "GlobalAvg", "BaselineOnly", "EASE", "ItemKNN", "UserKNN")


def fitted(model: Any) -> bool:
    """As the model says itself."""
    return bool(model.is_fitted)


def caution(model: Any, here: bool) -> str:
    """Models that take no seed and draw."""
    if not here or _takes_seed(model) or type(model).__name__ in _REPEATABLE:
        return ""
    return f"Cornac's {type(model).__name__} takes no seed: two fits may differ"


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Fit a copy to the train rows."""
    _check_kind(model)
    data = require("cornac.data", extra="cornac")
    seed = int(derive(train.seed, "cornac") % 2**31)
    if _takes_seed(model) and model.seed is None:  # the number of threads follows the seed when a model is made
        model = model.clone({"seed": seed})
    else:
        model = copy.deepcopy(model)
    model.verbose = False
    log = train.log
    value = np.ones(len(log.item)) if log.value is None else log.value
    users, items = train.users.decode(log.user).to_list(), train.items.decode(log.item).to_list()
    model.fit(data.Dataset.from_uir(list(zip(users, items, value.tolist())), seed=seed))
    return model, Given()


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items in the model's maps."""
    _check_kind(model)
    where = type(model).__name__
    users = find_places(train.users, _ids(model.uid_map, model.num_users), role="user", where=where)
    items = find_places(train.items, _ids(model.iid_map, model.num_items), role="item", where=where)

    def score(asked: np.ndarray) -> np.ndarray:
        return np.array([np.ravel(model.score(int(user)))[: model.num_items] for user in asked])

    return Learned(users, items, score=score)


def _ids(numbers: dict[Any, int], learned: int) -> list[Any]:
    """Ids in the model's order, as far as it has learned them."""
    ids = sorted(numbers, key=numbers.__getitem__)
    return ids[:learned]


def _takes_seed(model: Any) -> bool:
    return "seed" in inspect.signature(type(model).__init__).parameters


def _check_kind(model: Any) -> None:
    """Models of sessions and baskets are asked by what a user did last, not by the user."""
    parents = {parent.__name__ for parent in type(model).__mro__}
    if parents & {"NextBasketRecommender", "NextItemRecommender"}:
        raise DefinitionError(
            "Cornac's next-basket and next-item models need the order of events",
            found=type(model).__name__,
            do="evaluate the lists they make: tv.Run(table)",
        )
