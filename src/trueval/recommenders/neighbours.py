"""Nearest neighbours: users like this one, items like those in the profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueval.data.by_user import ByUser, segment_sum
from trueval.kernels import blocks, choose, in_order
from trueval.memory import need_memory
from trueval.progress import progress
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import parameter, system
from trueval.recommenders.training import known_users, values_of

_FEEDBACK = "implicit: every train row counts 1; explicit: its value"
_SHRINK = "added to the product of the norms, so that few shared ratings count for less"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The k nearest rows of every row: `neighbour[r]` best first, -1 where there is none."""

    neighbour: np.ndarray  # rows × k
    similarity: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """Where each row's neighbours begin, once laid out one after the other."""
        return np.arange(len(self.neighbour) + 1, dtype=np.int64) * self.neighbour.shape[1]


@system(
    "userknn",
    objective="score_ui = Σ_{v ∈ k nearest users of u} cos(u, v) · r_vi, with cos = r_u·r_v / (|r_u||r_v| + shrink); "
    "scores=mean: divided by Σ cos(u, v) over those v who have i",
    reference="Cremonesi, Koren and Turrin, Performance of recommender algorithms on top-N tasks, RecSys 2010",
)
@dataclass(slots=True, kw_only=True)
class UserKNN:
    """What the k most similar users have rated, weighted by their similarity.

    Weights are summed up by default: the sum ranks by how many neighbours have an item as well as by how they rated it.
    With scores=mean the sum is divided by that of the similarities of the neighbours who have the item, which predicts
    a rating, however few of them there are. Only users with a similarity above 0 are neighbours; equals are taken by
    code. Items that no neighbour has score 0, as all do for users without train rows.
    """

    k: int = parameter(100, "number of neighbours", low=1)
    shrink: float = parameter(0.0, _SHRINK, low=0)
    feedback: str = parameter("implicit", _FEEDBACK, choices=("implicit", "explicit"))
    scores: str = parameter("sum", "sum over neighbours, or their mean: predicted ratings", choices=("sum", "mean"))
    _rows: ByUser | None = field(default=None, init=False, repr=False)
    _columns: ByUser | None = field(default=None, init=False, repr=False)  # item by item
    _nearest: Nearest | None = field(default=None, init=False, repr=False)
    _items: int = field(default=0, init=False, repr=False)

    def fit(self, train: TrainSet) -> UserKNN:
        rows = _weighted(train, self.feedback, system="userknn")
        columns = ByUser.of(rows.item, rows.user, rows.value, n_users=len(train.items))
        self._nearest = find_nearest(rows, columns, k=self.k, shrink=self.shrink, title="userknn")
        self._rows, self._columns, self._items = rows, columns, len(train.items)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        users = known_users(users, 0 if self._nearest is None else len(self._nearest.neighbour), system="userknn")
        assert self._nearest is not None
        assert self._rows is not None
        near = Nearest(self._nearest.neighbour[users], self._nearest.similarity[users].astype(np.float64))
        return self._scores(near, self._rows)

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: their neighbours among all users are looked up."""
        codes, ratings = checked_profile(items, values, self._items)
        assert self._rows is not None
        assert self._columns is not None
        own = ratings if self.feedback == "explicit" else np.ones(len(codes))
        near = nearest_to(codes, own, self._rows, self._columns, k=self.k, shrink=self.shrink)
        return self._scores(near, self._rows)[0]

    def _scores(self, near: Nearest, rows: ByUser) -> np.ndarray:
        total = sum_of_rows(near.start, near.neighbour, near.similarity, rows, self._items)
        if self.scores == "sum":
            return total
        having = ByUser(rows.start, rows.item, np.ones(len(rows.item)))
        weight = sum_of_rows(near.start, near.neighbour, near.similarity, having, self._items)
        return np.divide(total, weight, out=total, where=weight > 0)


@system(
    "itemknn",
    objective="score_ui = Σ_{j ∈ profile of u, i ∈ k nearest items of j} cos(i, j) · r_uj, with cos = r_i·r_j / "
    "(|r_i||r_j| + shrink)",
    reference="Deshpande and Karypis, Item-based top-N recommendation algorithms, ACM TOIS 22(1), 2004",
)
@dataclass(slots=True, kw_only=True)
class ItemKNN:
    """The items most similar to those in the profile, weighted by their similarity.

    Weights are summed up, not averaged. Each item of the profile puts forward its own k nearest items (itself not
    among them), as in the library `implicit`, whose CosineRecommender(K) counts the item itself and so equals
    k = K - 1. Only items with a similarity above 0 are neighbours; equals are taken by code.
    """

    k: int = parameter(20, "number of neighbours of each item", low=1)
    shrink: float = parameter(0.0, _SHRINK, low=0)
    feedback: str = parameter("implicit", _FEEDBACK, choices=("implicit", "explicit"))
    _rows: ByUser | None = field(default=None, init=False, repr=False)
    _similar: ByUser | None = field(default=None, init=False, repr=False)  # item by item

    def fit(self, train: TrainSet) -> ItemKNN:
        rows = _weighted(train, self.feedback, system="itemknn")
        columns = ByUser.of(rows.item, rows.user, rows.value, n_users=len(train.items))
        near = find_nearest(columns, rows, k=self.k, shrink=self.shrink, title="itemknn")
        self._similar = ByUser(near.start, near.neighbour.ravel(), near.similarity.ravel().astype(np.float64))
        self._rows = rows
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        users = known_users(users, 0 if self._rows is None else len(self._rows.start) - 1, system="itemknn")
        assert self._similar is not None
        assert self._rows is not None
        own = self._rows.pick(users)
        assert own.value is not None
        return sum_of_rows(own.start, own.item, own.value, self._similar, len(self._similar.start) - 1)

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores for a new user: each item of their profile puts forward its neighbours."""
        number = 0 if self._similar is None else len(self._similar.start) - 1
        codes, ratings = checked_profile(items, values, number)
        assert self._similar is not None
        own = ratings if self.feedback == "explicit" else np.ones(len(codes))
        return sum_of_rows(np.array([0, len(codes)]), codes, own, self._similar, number)[0]


def find_nearest(rows: ByUser, columns: ByUser, *, k: int, shrink: float = 0.0, title: str = "neighbours") -> Nearest:
    """The k nearest other rows of every row by cosine; `columns` is the same matrix by columns.

    >>> rows = ByUser(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3))
    >>> columns = ByUser(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3))
    >>> find_nearest(rows, columns, k=1).similarity.round(3).tolist()
    [[0.7070000171661377], [0.7070000171661377]]
    """
    assert rows.value is not None
    assert columns.value is not None
    number = len(rows.start) - 1
    k = max(1, min(k, number - 1))
    need_memory(8.0 * number * k, f"{k:,} neighbours of each of {number:,}", where=title, do="use a smaller k")
    norm = np.sqrt(segment_sum(rows.start, rows.value**2))
    neighbour, similarity = np.full((number, k), -1, np.int32), np.zeros((number, k), np.float32)
    kernel = choose("neighbours", int(columns.counts[rows.item].sum())).nearest_rows
    matrix = (rows.start, rows.item, rows.value, columns.start, columns.item, columns.value, norm, shrink)

    def work(part: slice) -> int:
        kernel(*matrix, part.start, part.stop, neighbour, similarity)
        return part.stop - part.start

    with progress(f"{title}: neighbours", number) as step:
        for done in in_order(work, blocks(number, max(64, number // 64))):  # each block needs a row of working memory
            step(done)
    return Nearest(neighbour, similarity)


def nearest_to(
    items: np.ndarray, values: np.ndarray, rows: ByUser, columns: ByUser, *, k: int, shrink: float = 0.0
) -> Nearest:
    """The k rows nearest to one more row with these entries, by cosine; as `find_nearest` finds them.

    >>> rows = ByUser(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3))
    >>> columns = ByUser(np.array([0, 2, 3]), np.array([0, 1, 0]), np.ones(3))
    >>> nearest_to(np.array([0]), np.ones(1), rows, columns, k=1).neighbour.tolist()
    [[1]]
    """
    assert rows.value is not None
    entries = columns.pick(items)
    assert entries.value is not None
    number = len(rows.start) - 1
    shared = np.bincount(entries.item, entries.value * np.repeat(values, entries.counts), minlength=number)
    norms = np.sqrt(segment_sum(rows.start, rows.value**2)) * np.sqrt(np.sum(values**2)) + shrink
    similarity = np.divide(shared, norms, out=np.zeros(number), where=norms > 0)
    best = np.argsort(-similarity, kind="stable")[:k]
    best = best[similarity[best] > 0]
    return Nearest(best[None, :].astype(np.int32), similarity[None, best])


def sum_of_rows(start: np.ndarray, row: np.ndarray, weight: np.ndarray, matrix: ByUser, width: int) -> np.ndarray:
    """Σ weight · matrix[row] over the entries of each segment, as a dense block of `width` columns."""
    out = np.zeros((len(start) - 1, width), np.float32)
    assert matrix.value is not None
    kernel = choose("neighbours", len(row.ravel()) * max(1, len(matrix.item) // max(1, len(matrix.start)))).sum_rows
    kernel(start, row.ravel(), weight.ravel(), matrix.start, matrix.item, matrix.value, out)
    return out


def _weighted(train: TrainSet, feedback: str, *, system: str) -> ByUser:
    """The train rows with the weights that the feedback gives them."""
    if feedback == "implicit":
        return ByUser(train.log.start, train.log.item, np.ones(len(train.log.item)))
    value = values_of(
        train, system=f"explicit {system}", do=f"leave feedback out, or write {system}[feedback=implicit]"
    )
    return ByUser(train.log.start, train.log.item, value.astype(np.float64))
