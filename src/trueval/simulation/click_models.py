"""How lists are clicked: examination by position, or from the top until something is clicked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.errors import DefinitionError, suggest

MODELS = ("position", "cascade")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickModel:
    """A click needs an item that is looked at, and that attracts.

    "position": place k is looked at with probability θ_k = k^-decay, whatever happens elsewhere, and
    P(click at k) = θ_k · a_k. "cascade": people look from the top down, stop at the first click, and go on with
    probability `patience` after an item without one: P(click at k) = a_k · Π_{j<k} patience · (1 − a_j).

    Attributes
    ----------
    kind : {"position", "cascade"}, default "position"
        The model.
    decay : number, default 1.0
        Of "position": how fast attention fades; 0 looks at everything.
    patience : number, default 1.0
        Of "cascade": the probability to go on.
    disliked, liked : number, default 0.05, 0.8
        The attraction a of items that are not relevant, and of those that are.

    Examples
    --------
    >>> ClickModel(decay=1.0).probabilities(np.array([[0.8, 0.5]])).tolist()
    [[0.8, 0.25]]
    >>> ClickModel(kind="cascade").probabilities(np.array([[0.8, 0.5]])).round(3).tolist()
    [[0.8, 0.1]]
    """

    kind: str = "position"
    decay: float = 1.0
    patience: float = 1.0
    disliked: float = 0.05
    liked: float = 0.8

    def __post_init__(self) -> None:
        if self.kind not in MODELS:
            raise DefinitionError(f"there is no click model {self.kind!r}", do=suggest(self.kind, MODELS))
        for name in ("patience", "disliked", "liked"):
            if not 0 <= getattr(self, name) <= 1:
                raise DefinitionError(f"{name} must be from 0 to 1", found=f"{getattr(self, name)!r}")
        if not 0 <= self.decay <= 10:
            raise DefinitionError("decay must be from 0 to 10", found=f"{self.decay!r}", do="1 is usual")

    def attraction(self, relevant: np.ndarray) -> np.ndarray:
        """The probability that an item that is looked at is clicked."""
        return np.where(relevant, self.liked, self.disliked)

    def examination(self, positions: np.ndarray) -> np.ndarray:
        """θ of positions (1 is the first) in the position-based model."""
        return np.asarray(positions, float) ** -self.decay

    def probabilities(self, attraction: np.ndarray) -> np.ndarray:
        """P(click) of lists (rows) whose items attract so much, from the first place on; NaN is an empty place."""
        seen = np.nan_to_num(np.asarray(attraction, float))
        if self.kind == "position":
            return np.asarray(seen * self.examination(np.arange(1, seen.shape[1] + 1)))
        go_on = np.cumprod(self.patience * (1 - seen[:, :-1]), axis=1)
        return np.asarray(seen * np.hstack([np.ones((len(seen), 1)), go_on]))

    def draw(self, attraction: np.ndarray, coins: np.ndarray, looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which places are looked at and which clicked, by coins for clicks and for looks, of the same shape."""
        attracted = coins < np.nan_to_num(np.asarray(attraction, float))
        if self.kind == "position":
            looked = looks < self.examination(np.arange(1, attracted.shape[1] + 1))
            return looked, looked & attracted
        stay = ~attracted[:, :-1] & (looks[:, :-1] < self.patience)
        looked = np.hstack([np.ones((len(attracted), 1), bool), np.logical_and.accumulate(stay, axis=1)])
        return looked, looked & attracted


def click_model(model: str | ClickModel) -> ClickModel:
    """A click model by its name, or as it is.

    >>> click_model("cascade").kind
    'cascade'
    """
    if isinstance(model, ClickModel):
        return model
    if not isinstance(model, str):
        raise DefinitionError(
            "a click model is a name or a ClickModel", found=type(model).__name__, do=", ".join(MODELS)
        )
    return ClickModel(kind=model)
