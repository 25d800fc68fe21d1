"""Models of implicit: factor models by their factors, item neighbours by their similarities.

Fitted here, they get a matrix of the users and items with train rows, weighted by the values of the log, or by 1
where it has none. ALS and neighbours are repeatable under a seed. BPR is on one thread only (`num_threads=1`): its
threads write to the same factors without waiting for each other. LMF is on the same number of threads.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from trueval.errors import DataError, DefinitionError
from trueval.kernels.seeds import derive
from trueval.progress import progress
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_alignment import check_factors
from trueval.recommenders.adapters.id_positions import check_length, find_places
from trueval.recommenders.protocol import TrainSet

needs = "rows"
# What fitting leaves behind. implicit goes on from it when it fits again.
_LEARNED = ("user_factors", "item_factors", "similarity", "_XtX", "_YtY", "_user_norms", "_item_norms")


def fitted(model: Any) -> bool:
    """Whether it has factors or similarities."""
    return getattr(model, "similarity", None) is not None or getattr(model, "item_factors", None) is not None


def caution(model: Any, here: bool) -> str:
    """BPR on several threads does not repeat itself; LMF does, on as many threads."""
    name = type(model).__name__
    if not here or getattr(model, "num_threads", 1) == 1:
        return ""
    if "Bayesian" in name:
        return "implicit's BPR is not repeatable on several threads; num_threads=1 makes it so"
    if "Logistic" in name:
        return "implicit's LMF depends on the number of threads; num_threads=1 makes it repeatable everywhere"
    return ""


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Fit a copy to the train rows."""
    if not hasattr(model, "similarity") and not hasattr(model, "item_factors"):
        raise DefinitionError(
            "only implicit's factor models and item-neighbour models can be evaluated",
            found=type(model).__name__,
            do="give the model that is inside, such as AlternatingLeastSquares",
        )
    model = copy.deepcopy(model)
    for name in _LEARNED:
        if getattr(model, name, None) is not None:
            setattr(model, name, None)
    if getattr(model, "random_state", 0) is None:
        model.random_state = int(derive(train.seed, "implicit") % 2**31)
    users, items = np.flatnonzero(train.log.counts), np.flatnonzero(train.popularity)
    matrix = _matrix(train, items, np.arange(len(train.users)))[users]
    rounds = getattr(model, "iterations", 0)
    with progress(f"fitting {type(model).__name__}", rounds) as step, threadpool_limits(1, user_api="blas"):
        options = {"callback": lambda *_: step()} if rounds else {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Method expects CSR input")  # of its own making
            model.fit(matrix, show_progress=False, **options)
    return model, Given(train.users.decode(users), train.items.decode(items))


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items in the model's rows."""
    if getattr(model, "similarity", None) is not None:
        return _neighbours(model, train, given)
    user_factors, item_factors = _dense(model.user_factors), _dense(model.item_factors)
    check_factors(user_factors, item_factors, name=type(model).__name__)
    users = _places(train, given, "user", len(user_factors), model)
    items = _places(train, given, "item", len(item_factors), model)
    return Learned(users, items, factors=(user_factors, item_factors), score_new=_folded_in(model, item_factors))


def _folded_in(model: Any, item_factors: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """Scores for somebody new, by the model's own half sweep; only alternating least squares has one."""
    from scipy import sparse

    if "AlternatingLeastSquares" not in type(model).__name__:
        return None

    def score_new(items: np.ndarray, values: np.ndarray) -> np.ndarray:
        entries = (values.astype(np.float32), (np.zeros(len(items), np.int64), items))
        row = model.recalculate_user(0, sparse.csr_matrix(entries, shape=(1, len(item_factors))))
        return item_factors @ np.ravel(_dense(row))

    return score_new


def _neighbours(model: Any, train: TrainSet, given: Given) -> Learned:
    """Item neighbours know no users: their scores come from the train rows of whoever is asked for."""
    from scipy import sparse

    similarity = model.similarity.tocsr()
    items = _places(train, given, "item", similarity.shape[0], model)
    users = np.where(train.log.counts > 0, np.arange(len(train.users)), -1)
    order = np.full(similarity.shape[0], -1)
    order[items[items >= 0]] = np.flatnonzero(items >= 0)

    def score(asked: np.ndarray) -> np.ndarray:
        sums = (_matrix(train, order, asked) @ similarity).tocsr()
        dense = np.full(sums.shape, -np.inf)  # items without a neighbour among the user's are not recommended
        dense[np.repeat(np.arange(len(asked)), np.diff(sums.indptr)), sums.indices] = sums.data
        return dense

    def score_new(own: np.ndarray, values: np.ndarray) -> np.ndarray:
        row = sparse.csr_matrix((values.astype(np.float32), (np.zeros(len(own), np.int64), own)), shape=(1, len(order)))
        sums = (row @ similarity).tocsr()
        dense = np.full(len(order), -np.inf)
        dense[sums.indices] = sums.data
        return dense

    return Learned(users, items, score=score, score_new=score_new)


def _matrix(train: TrainSet, columns: np.ndarray, users: np.ndarray) -> Any:
    """Train rows of some users; column c holds our item `columns[c]`, -1 holds none."""
    from scipy import sparse

    place = np.full(len(train.items), -1)
    place[columns[columns >= 0]] = np.flatnonzero(columns >= 0)
    rows = train.log.pick(users)
    value = np.ones(len(rows.item)) if rows.value is None else rows.value
    known = place[rows.item] >= 0
    entries = (value[known].astype(np.float32), (rows.user[known], place[rows.item[known]]))
    return sparse.csr_matrix(entries, shape=(len(users), len(columns)))


def _places(train: TrainSet, given: Given, role: str, number: int, model: Any) -> np.ndarray:
    where = type(model).__name__
    ours, theirs = (train.users, given.users) if role == "user" else (train.items, given.items)
    if theirs is not None:
        check_length(theirs, number, role=role, where=where)
        return find_places(ours, theirs, role=role, where=where)
    if number != len(ours):
        raise DataError(
            f"the model and the log have different numbers of {role}s",
            where=where,
            found=f"{number:,} {role}s; the log has {len(ours):,}",
            do=f"tv.adapt(model, {role}s=ids of the model's rows, in their order)",
        )
    return np.arange(number)


def _dense(factors: Any) -> np.ndarray:
    """Factors as an array; models on a graphics card keep theirs there."""
    return np.asarray(factors.to_numpy() if hasattr(factors, "to_numpy") else factors)
