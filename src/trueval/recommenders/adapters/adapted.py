"""The one class behind every adapter, and the two kinds of fitted systems that come out of it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from trueval.errors import DataError, DefinitionError
from trueval.recommenders.adapters.id_alignment import Seats, check_factors, fill_last
from trueval.recommenders.adapters.id_positions import format_ids
from trueval.recommenders.new_users import checked_profile
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.training import check_train


@dataclass(frozen=True, slots=True)
class Given:
    """What a fitted model was fitted on, as far as its owner says: ids of its rows, or the library's own object."""

    users: Any = None
    items: Any = None
    dataset: Any = None

    @property
    def anything(self) -> bool:
        return any(one is not None for one in (self.users, self.items, self.dataset))


@dataclass(frozen=True, slots=True)
class Learned:
    """A fitted model as an adapter hands it over.

    `users` and `items` are the model's numbers of our codes, -1 where it has none. Scores come from `factors` (rows
    by the model's numbers) or from `score`: numbers of users → one row each, columns by the model's numbers of items.
    -inf there means that the library does not recommend the item to the user. `score_new`, where the library can,
    gives somebody new with ratings of items (by the model's numbers) the scores of all of the model's items.
    """

    users: np.ndarray
    items: np.ndarray
    score: Callable[[np.ndarray], np.ndarray] | None = None
    factors: tuple[np.ndarray, np.ndarray] | None = None
    score_new: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


class Library(Protocol):
    """What the module of a library holds."""

    needs: str  # of a train set to fit on: "rows" or "values"

    def fitted(self, model: Any) -> bool: ...

    def learn(self, model: Any, train: TrainSet) -> tuple[Any, Given]:
        """A copy of the model fitted on the train set, and the ids or the object it was fitted with."""

    def open_model(self, model: Any, train: TrainSet, given: Given) -> Learned: ...

    def caution(self, model: Any, here: bool) -> str:
        """Why the same seed may give other scores; empty where it does not. `here`: the model was fitted here."""


@dataclass(slots=True)
class Adapted:
    """A model of another library, fitted or not. `fit` returns the system that scores; the model is never changed."""

    model: Any
    library: str
    given: Given = field(default_factory=Given)
    unknown: str | None = None
    refit: bool = False
    label: str | None = None

    @property
    def name(self) -> str:
        """Name of the model, else of its class."""
        own = getattr(self.model, "name", None)
        return self.label or (own if isinstance(own, str) and own else class_of(self.model).__name__)

    def score(self, users: np.ndarray) -> np.ndarray:
        """Refused: what `fit` returns has the scores."""
        raise DataError(f"{self.name} has not been fitted", do="call fit(train) and score with what it returns")

    def fit(self, train: TrainSet) -> FactorSystem | BlockSystem:
        """Fit a copy where the model is not fitted yet, and find our users and items in it."""
        library: Library = load(self.library)
        model, given, here = self.model, self.given, self.refit or not library.fitted(self.model)
        if here and given.anything:
            raise DefinitionError(
                f"{self.name} will be fitted here and has no ids of its own yet",
                found="users, items or dataset were given" + ("" if self.refit else ", but the model is not fitted"),
                do="fit the model first, or leave them out: it is then fitted on the train part",
            )
        if here:
            check_train(train, needs=library.needs, system=self.name)
            model, given = library.learn(model, train)
        learned = library.open_model(model, train, given)
        rule = self.unknown or ("last" if here else "error")
        seats = Seats(learned.users, learned.items, train, rule, self.name)
        seats.check()
        caution = library.caution(model, here)
        if learned.factors is None:
            assert learned.score is not None
            return BlockSystem(self, seats, caution, here, learned.score_new, learned.score)
        check_factors(*learned.factors, name=self.name)
        return FactorSystem(self, seats, caution, here, learned.score_new, *seats.factors(*learned.factors))


def class_of(model: Any) -> type:
    """The class of a model, be it given itself or named by a configuration."""
    kind = getattr(model, "model_class", model)
    return kind if isinstance(kind, type) else type(model)


def load(library: str) -> Any:
    """The adapter of a library."""
    return importlib.import_module(f"trueval.recommenders.adapters.{library}")


@dataclass(slots=True)
class FittedModel:
    """What both kinds of fitted systems have: where they come from, and how they describe themselves."""

    source: Adapted
    seats: Seats
    unrepeatable: str  # why the same seed may give other scores; empty where it does not
    here: bool
    by_library: Callable[[np.ndarray, np.ndarray], np.ndarray] | None  # scores for somebody new, where it has them

    @property
    def folds_in(self) -> bool:
        """Whether the library can score items for somebody new."""
        return self.by_library is not None

    def score_new(self, items: Any, values: Any) -> np.ndarray:
        """Scores of all items for somebody with these ratings; what the model has not learned comes last."""
        assert self.by_library is not None
        codes, ratings = checked_profile(items, values, len(self.seats.items))
        own, known = self.seats.items[codes] >= 0, self.seats.items >= 0
        scores = np.full(len(known), -np.inf, np.float32)
        scores[known] = self.by_library(self.seats.items[codes[own]], ratings[own])[self.seats.items[known]]
        return fill_last(scores[None, :])[0]

    @property
    def name(self) -> str:
        """Library, version, class, and whose fit it is: for the manifest."""
        version = getattr(sys.modules.get(self.source.library), "__version__", "")
        model_name = " ".join(
            word for word in (self.source.library, str(version), class_of(self.source.model).__name__) if word
        )
        return f"{model_name}, fitted {'on train' if self.here else 'before'}"

    @property
    def caution(self) -> str:
        """What a reader of the values must know: fits that do not repeat themselves, and what ranks last."""
        return "; ".join([self.unrepeatable] * bool(self.unrepeatable) + self.seats.notes)

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same scores."""
        return not self.unrepeatable

    def fit(self, train: TrainSet) -> FactorSystem | BlockSystem:
        """The model again, from this train set."""
        return self.source.fit(train)

    def refusal(self, user: int) -> DataError:
        """Why a user has no scores."""
        return self.seats.refusal(user)


@dataclass(slots=True)
class FactorSystem(FittedModel):
    """A fitted factor model: scores are inner products, blocks one matrix product each."""

    users: np.ndarray
    items: np.ndarray

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        return self.users, self.items

    def score(self, users: np.ndarray) -> np.ndarray:
        return self.users[users] @ self.items.T


@dataclass(slots=True)
class BlockSystem(FittedModel):
    """A fitted model that is asked for its scores, a block of users at a time."""

    asked: Callable[[np.ndarray], np.ndarray]

    def score(self, users: np.ndarray) -> np.ndarray:
        return self.seats.scores(users, self._block)

    def _block(self, numbers: np.ndarray) -> np.ndarray:
        block = np.asarray(self.asked(numbers))
        bad = (np.isnan(block) | (block == np.inf)).any(axis=1)
        if bad.any():
            user = np.flatnonzero(np.isin(self.seats.users, numbers[bad]))[:1]
            raise DataError(
                f"{self.source.name} gave a score that is not a number",
                where=format_ids(self.seats.train.users, user, "user"),
                found="NaN or infinity",
                do="check how the model was trained",
            )
        return block
