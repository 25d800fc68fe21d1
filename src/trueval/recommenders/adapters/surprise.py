"""Algorithms of Surprise. Scores are `algo.predict(user, item, clip=False).est`: clipped ones would tie at the top.

The algorithms of the library itself are computed for whole blocks (`surprise_scores.py`), which gives the same numbers
much faster; algorithms of your own are asked pair by pair. Fitted here, they need a value column, and the rating
scale is that of the train values. Their draws are repeatable: `random_state` is set from the evaluation's seed
where it is None. NormalPredictor is the exception: it draws anew on every call.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from trueval.kernels.seeds import derive
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.adapters.surprise_scores import FACTORS, SCORES
from trueval.recommenders.protocol import TrainSet

needs = "values"


def fitted(model: Any) -> bool:
    """Whether it has a trainset."""
    return getattr(model, "trainset", None) is not None


def caution(model: Any, here: bool) -> str:
    """NormalPredictor draws its predictions from a generator that nobody seeds."""
    if type(model).__name__ == "NormalPredictor":
        return "Surprise's NormalPredictor draws new predictions on every call"
    return ""


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Fit a copy to the ratings."""
    surprise = require("surprise", extra="surprise")
    model = copy.deepcopy(model)
    model.verbose = False
    if getattr(model, "random_state", 0) is None:
        model.random_state = int(derive(train.seed, "surprise") % 2**31)
    log = train.log
    assert log.value is not None
    reader = surprise.Reader(rating_scale=(float(log.value.min()), float(log.value.max())))
    users, items = train.users.decode(log.user).to_list(), train.items.decode(log.item).to_list()
    rows = list(zip(users, items, log.value.tolist(), [None] * len(users)))
    model.fit(surprise.Dataset(reader).construct_trainset(rows))
    return model, Given()


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items among the raw ids of the trainset."""
    known, where = model.trainset, type(model).__name__
    raw_users = [known.to_raw_uid(u) for u in range(known.n_users)]
    raw_items = [known.to_raw_iid(i) for i in range(known.n_items)]
    users = find_places(train.users, raw_users, role="user", where=where)
    items = find_places(train.items, raw_items, role="item", where=where)
    own = type(model).__module__.startswith("surprise.")
    if own and where in FACTORS:
        return Learned(users, items, factors=FACTORS[where](model))
    if own and where in SCORES:
        return Learned(users, items, score=SCORES[where](model))

    def predict(asked: np.ndarray) -> np.ndarray:
        return np.array([[model.predict(raw_users[u], i, clip=False).est for i in raw_items] for u in asked])

    return Learned(users, items, score=predict)
