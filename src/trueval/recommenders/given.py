"""Systems that already exist: a function, a matrix of scores, factor matrices."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.recommenders.adapters.id_alignment import Seats, check_factors
from trueval.recommenders.adapters.id_positions import check_length, find_places
from trueval.recommenders.matrix_files import read_matrices
from trueval.recommenders.protocol import ScoreFunction, TrainSet


def _check_shape(shape: tuple[int, ...], expected: tuple[int, int], *, what: str) -> None:
    if tuple(shape) != expected:
        raise DataError(
            f"{what} does not fit the data",
            found=f"shape {' × '.join(map(str, shape))}, expected {expected[0]} users × {expected[1]} items",
            do="rows follow the sorted user ids, columns the sorted item ids, of train and test together",
        )


@dataclass(slots=True)
class Function:
    """A plain function `users -> scores` as a system.

    Attributes
    ----------
    function : function
        Takes the codes of some users and returns their scores, users × items. Columns follow the sorted item ids.
    ids : bool, default False
        Give the function user ids instead of codes.

    Examples
    --------
    >>> Function(lambda users: np.zeros((len(users), 3))).ids
    False
    """

    function: ScoreFunction
    _: KW_ONLY
    ids: bool = False
    _train: TrainSet | None = field(default=None, init=False, repr=False)

    def fit(self, train: TrainSet) -> Function:
        self._train = train
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        if self._train is None:
            raise DataError("the score function has not been fitted", do="call fit(train) first")
        asked: Any = self._train.users.decode(users).to_list() if self.ids else users
        scores = np.asarray(self.function(asked))
        _check_shape(scores.shape, (len(users), len(self._train.items)), what="what the score function returned")
        return scores


@dataclass(slots=True)
class Scores:
    """A matrix of scores, users × items, as a system; `Scores.read` reads one from a file.

    Attributes
    ----------
    matrix : array or sparse matrix
        NumPy, or SciPy sparse: what is absent from a sparse one is 0.
    user_ids, item_ids : list of ids, optional
        The ids of rows and columns. Default: rows follow the sorted user ids, and columns the sorted item ids, of train
        and test together.
    unknown : {"error", "last"}, default "error"
        Users and items that are not among these ids: raise an error, or rank such items behind all others, and tie
        all items for such users.

    Examples
    --------
    >>> Scores(np.eye(2), item_ids=["b", "a"]).unknown
    'error'
    """

    matrix: Any
    _: KW_ONLY
    user_ids: Any = None
    item_ids: Any = None
    unknown: str = "error"
    _seats: Seats | None = field(default=None, init=False, repr=False)

    @staticmethod
    def read(path: str | Path, *, user_ids: Any = None, item_ids: Any = None, unknown: str = "error") -> Scores:
        """Read scores from a file.

        Parameters
        ----------
        path : path
            An .npy file (read row by row when asked for), .npz, or a sparse matrix saved by SciPy.
        user_ids, item_ids : list of ids, optional
            The ids of rows and columns, where the file does not hold them.
        unknown : {"error", "last"}, default "error"
            As for `Scores`.

        Returns
        -------
        Scores
            The system.
        """
        found = read_matrices(path, names=("scores",))
        users, items = found.get("user_ids", user_ids), found.get("item_ids", item_ids)
        return Scores(found["scores"], user_ids=users, item_ids=items, unknown=unknown)

    def fit(self, train: TrainSet) -> Scores:
        if hasattr(self.matrix, "tocsr"):  # some sparse forms cannot be asked for rows
            self.matrix = self.matrix.tocsr()
            if not np.isfinite(self.matrix.data).all():
                raise DataError("the score matrix contains values that are not finite", found="NaN or infinity")
        self._seats = _seats(self, self.matrix.shape, train, what="the score matrix")
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        seats = _fitted(self._seats, "the score matrix")
        if self.user_ids is None and self.item_ids is None:
            return self._rows(users)
        return seats.scores(users, lambda places: _no_infinity(self._rows(places)))

    def _rows(self, places: np.ndarray) -> np.ndarray:
        rows = self.matrix[places]
        return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)

    @property
    def caution(self) -> str:
        """What ranks last."""
        return "" if self._seats is None else "; ".join(self._seats.notes)

    def refusal(self, user: int) -> DataError:
        """Why a user's scores are not all numbers."""
        return _fitted(self._seats, "the score matrix").refusal(user)


@dataclass(slots=True)
class Factors:
    """A factor model as a system: the score of user u and item i is the inner product of their rows.

    `Factors.read` reads one from files.

    Attributes
    ----------
    users, items : array
        A row of factors for each user and item.
    user_ids, item_ids : list of ids, optional
        The ids of these rows. Default: rows follow the sorted ids of train and test together.
    unknown : {"error", "last"}, default "error"
        Users and items that are not among these ids: raise an error, or rank such items behind all others, and tie
        all items for such users.

    Examples
    --------
    >>> model = Factors(np.eye(2, dtype=np.float32), np.eye(3, 2, dtype=np.float32))
    >>> model.score(np.array([1])).tolist()
    [[0.0, 1.0, 0.0]]
    """

    users: np.ndarray
    items: np.ndarray
    _: KW_ONLY
    user_ids: Any = None
    item_ids: Any = None
    unknown: str = "error"
    _seats: Seats | None = field(default=None, init=False, repr=False)
    _seated: tuple[np.ndarray, np.ndarray] | None = field(default=None, init=False, repr=False)

    @staticmethod
    def read(
        users: str | Path,
        items: str | Path | None = None,
        *,
        user_ids: Any = None,
        item_ids: Any = None,
        unknown: str = "error",
    ) -> Factors:
        """Read factors from files.

        Parameters
        ----------
        users : path
            An .npy file, or an .npz file with `users` and `items` (or implicit's `user_factors` and `item_factors`) and
            perhaps `user_ids` and `item_ids`.
        items : path, optional
            An .npy file, where `users` is one.
        user_ids, item_ids : list of ids, optional
            The ids of the rows, where the files do not hold them.
        unknown : {"error", "last"}, default "error"
            As for `Factors`.

        Returns
        -------
        Factors
            The system.
        """
        if items is None:
            found = read_matrices(users, names=("users", "items"))
        else:
            found = {"users": read_matrices(users, names=("users",))["users"]}
            found["items"] = read_matrices(items, names=("items",))["items"]
        ours, theirs = found.get("user_ids", user_ids), found.get("item_ids", item_ids)
        return Factors(found["users"], found["items"], user_ids=ours, item_ids=theirs, unknown=unknown)

    def fit(self, train: TrainSet) -> Factors:
        check_factors(self.users, self.items, name="the factor model")
        shape = (len(self.users), len(self.items))
        self._seats = _seats(self, shape, train, what="the factor model")
        as_they_are = self.user_ids is None and self.item_ids is None
        self._seated = None if as_they_are else self._seats.factors(self.users, self.items)
        return self

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        return (self.users, self.items) if self._seated is None else self._seated

    def score(self, users: np.ndarray) -> np.ndarray:
        ours, theirs = self.factors()
        return np.asarray(ours[users] @ theirs.T)

    @property
    def caution(self) -> str:
        """What ranks last."""
        return "" if self._seats is None else "; ".join(self._seats.notes)

    def refusal(self, user: int) -> DataError:
        """Why a user's scores are not all numbers."""
        return _fitted(self._seats, "the factor model").refusal(user)


def _no_infinity(scores: np.ndarray) -> np.ndarray:
    """-inf is refused like NaN: only adapters say by it that an item ranks last."""
    return np.where(np.isneginf(scores), np.nan, scores)


def _fitted(seats: Seats | None, what: str) -> Seats:
    if seats is None:
        raise DataError(f"{what} has not been fitted", do="call fit(train) first")
    return seats


def _seats(given: Scores | Factors, shape: tuple[int, ...], train: TrainSet, *, what: str) -> Seats:
    """Where our users and items are: in their own order, or where the ids say."""
    if given.unknown not in ("error", "last"):
        raise DefinitionError(
            f"unknown cannot be {given.unknown!r}", found=f"{given.unknown!r}; available: error, last"
        )
    named = given.user_ids is not None, given.item_ids is not None
    expected = tuple(shape[i] if named[i] and i < len(shape) else len((train.users, train.items)[i]) for i in (0, 1))
    _check_shape(shape, (expected[0], expected[1]), what=what)
    places = []
    for role, ours, theirs, number in zip(
        ("user", "item"), (train.users, train.items), (given.user_ids, given.item_ids), shape
    ):
        check_length(theirs, number, role=role, where=what)
        places.append(np.arange(number) if theirs is None else find_places(ours, theirs, role=role, where=what))
    seats = Seats(places[0], places[1], train, given.unknown, what)
    seats.check()
    return seats
