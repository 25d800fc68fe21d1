"""Our users and items in a model's rows and columns; those it has not learned are refused, or ranked last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueval.errors import DataError
from trueval.recommenders.adapters.id_positions import format_ids
from trueval.recommenders.protocol import TrainSet


@dataclass(frozen=True, slots=True)
class Seats:
    """The model's numbers of our users and items, -1 where it has none. `rule` is "error" or "last"."""

    users: np.ndarray
    items: np.ndarray
    train: TrainSet
    rule: str
    name: str

    def check(self) -> None:
        """Refuse a model that knows none of our ids or, unless unknown ids rank last, lacks ids with train rows.

        Ids without train rows are refused later and only where they are ranked: what nobody asks for needs no score.
        """
        train = self.train
        sides = (
            ("user", self.users, train.users, train.log.counts),
            ("item", self.items, train.items, train.popularity),
        )
        for role, places, ids, rows in sides:
            if len(places) and (places < 0).all():
                raise DataError(
                    f"{self.name} knows none of the {role}s",
                    found=format_ids(ids, np.arange(len(ids)), role),
                    do="use the ids that the model was fitted with",
                )
            lacking = np.flatnonzero((places < 0) & (rows > 0))
            if len(lacking) and self.rule == "error":
                raise DataError(
                    f"{self.name} does not know {role}s of the train part",
                    found=format_ids(ids, lacking, role),
                    do='fit the model on the train part, or rank the unknown last: unknown="last"',
                )

    def refusal(self, user: int) -> DataError:
        """Why a user's scores are not all numbers: the user, or an item to be ranked, is not known."""
        lacking, ids, role = np.array([user]), self.train.users, "user"
        if self.users[user] >= 0:
            lacking, ids, role = np.flatnonzero(self.items < 0), self.train.items, "item"
        if not len(lacking):
            found = format_ids(self.train.users, np.array([user]), "user")
            what = f"{self.name} gave a score that is not a finite number"
            return DataError(what, where=found, found="NaN or infinity", do="give every item a finite score")
        return DataError(
            f"{self.name} does not know every {role} that it has to score",
            found=format_ids(ids, lacking, role),
            do=f'leave the {role}s out, or rank the unknown last: unknown="last"',
        )

    @property
    def notes(self) -> list[str]:
        """What ranks last, for those who read the values."""
        if self.rule != "last":
            return []
        items, users = np.flatnonzero(self.items < 0), np.flatnonzero(self.users < 0)
        notes = [f"it has not learned {format_ids(self.train.items, items, 'item')}: ranked last"] * bool(len(items))
        notes += [f"it has not learned {format_ids(self.train.users, users, 'user')}: all tied"] * bool(len(users))
        return notes

    def scores(self, users: np.ndarray, score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Scores by our codes, from a function of the model's numbers. -inf in them is what must rank last."""
        asked, known = self.users[users] >= 0, self.items >= 0
        absent = -np.inf if self.rule == "last" else np.nan
        if not asked.any():
            return fill_last(np.full((len(users), len(self.items)), absent))
        block = score(self.users[users][asked])
        if asked.all() and known.all():
            in_order = block.shape[1] == len(self.items) and (self.items == np.arange(len(self.items))).all()
            return fill_last(block if in_order else block[:, self.items])
        scores = np.full((len(users), len(self.items)), absent, np.result_type(block.dtype, np.float32))
        scores[np.ix_(asked, known)] = block[:, self.items[known]]
        return fill_last(scores)

    def factors(self, user_factors: np.ndarray, item_factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Factors by our codes. Rows of the unknown are NaN; or one more column keeps unknown items behind the rest,
        since no inner product is below its bound."""
        kind = np.result_type(user_factors, item_factors, np.float32)
        absent_users, absent_items = self.users < 0, self.items < 0
        ours, theirs = (
            f[np.maximum(p, 0)].astype(kind) for f, p in ((user_factors, self.users), (item_factors, self.items))
        )
        if self.rule == "error" or not (absent_users.any() or absent_items.any()):
            ours[absent_users], theirs[absent_items] = np.nan, np.nan
            return ours, theirs
        ours[absent_users], theirs[absent_items] = 0, 0
        bound = np.linalg.norm(ours, axis=1).max(initial=0) * np.linalg.norm(theirs, axis=1).max(initial=0)
        aside = np.where(absent_items, -(2 * bound + 1), 0).astype(kind)
        return np.column_stack([ours, (~absent_users).astype(kind)]), np.column_stack([theirs, aside])


def fill_last(scores: np.ndarray) -> np.ndarray:
    """Put what is -inf just behind the lowest score of its row; a row of nothing else becomes one tie.

    >>> fill_last(np.array([[0.5, -np.inf, 2.0], [-np.inf] * 3])).tolist()
    [[0.5, 0.49999999999999994, 2.0], [0.0, 0.0, 0.0]]
    """
    last = np.isneginf(scores)
    if not last.any():
        return scores
    lowest = np.fmin.reduce(np.where(last, np.inf, scores), axis=1)
    none = ~np.isfinite(lowest)
    behind = np.nextafter(np.where(none, 0, lowest), -np.inf, dtype=scores.dtype)
    behind[none] = 0
    return np.where(last, behind[:, None], scores)


def check_factors(users: np.ndarray, items: np.ndarray, *, name: str) -> None:
    """Refuse factor matrices that do not belong together, or hold what is not a number."""
    if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
        raise DataError(
            "factor matrices must have the same number of columns",
            where=name,
            found=f"shapes {users.shape} and {items.shape}",
        )
    for role, matrix in (("user", users), ("item", items)):
        if not np.issubdtype(matrix.dtype, np.number):
            raise DataError(f"{role} factors are not numbers", where=name, found=f"type {matrix.dtype}")
        if not np.isfinite(matrix).all():
            row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
            raise DataError(
                f"{role} factors are not finite",
                where=name,
                found=f"first in row {row}",
                do="check how the model was trained",
            )
