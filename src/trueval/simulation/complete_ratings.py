"""The ratings of all pairs of a world, by ids: what everybody likes, observed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DataError
from trueval.memory import need_memory
from trueval.simulation.tastes import Tastes

Names = Sequence[str] | Sequence[int] | pl.Series | np.ndarray


@dataclass(frozen=True, repr=False)
class CompleteRatings:
    """What everybody would give everything, computed when asked for."""

    kind: str
    tastes: Tastes = field(repr=False)
    users: Ids = field(repr=False)
    items: Ids = field(repr=False)
    threshold: float

    @property
    def seed(self) -> int:
        """The seed of everything in this world."""
        return self.tastes.seed

    @property
    def user_factors(self) -> np.ndarray:
        """Factors of users, one row each."""
        return self.tastes.user_factors

    @property
    def item_factors(self) -> np.ndarray:
        """Factors of items, one row each; a user's inner products with them are the means."""
        return self.tastes.item_factors

    @property
    def relevance(self) -> np.ndarray:
        """The mean of every pair, users × items: for small worlds."""
        return self._grid(self.tastes.means)

    @cached_property
    def complete(self) -> np.ndarray:
        """The rating of every pair, users × items: for small worlds."""
        return self._grid(self.tastes.ratings)

    def true_values(self, users: Names, items: Names | None = None) -> np.ndarray:
        """Means of some users (rows) for some items (columns; all of them if none are named)."""
        return self.tastes.means(*self._named(users, items))

    def ratings(self, users: Names, items: Names | None = None) -> np.ndarray:
        """Ratings, with their noise, of some users (rows) for some items (columns; default: all).

        With drift, ratings at the end of the period.
        """
        return self.tastes.ratings(*self._named(users, items))

    def liked(self, users: Names, items: Names | None = None) -> np.ndarray:
        """The probability that each rating reaches the threshold, before its noise is known."""
        return self.tastes.liked(*self._named(users, items), threshold=self.threshold)

    def _grid(self, function: Any) -> np.ndarray:
        need_memory(10.0 * len(self.users) * len(self.items), "all pairs", do="ask for some users: ratings(users)")
        found = function(np.arange(len(self.users))[:, None], np.arange(len(self.items)))
        return np.asarray(found)

    def _named(self, users: Names, items: Names | None) -> tuple[np.ndarray, np.ndarray]:
        columns = np.arange(len(self.items)) if items is None else self._codes(self.items, items)
        return self._codes(self.users, users)[:, None], columns

    def table_of(self, user: np.ndarray, item: np.ndarray) -> pl.DataFrame:
        """Pairs (of codes) as a table: user, item, value."""
        columns = {"user": self.users.decode(user), "item": self.items.decode(item)}
        return pl.DataFrame(columns).with_columns(value=pl.Series(self.tastes.ratings(user, item)))

    def codes_of(self, pairs: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the users and items of a table; ids that this world does not have are refused."""
        return self._codes(self.users, pairs["user"]), self._codes(self.items, pairs["item"])

    def codes_of_users(self, users: Names) -> np.ndarray:
        """Codes of users by their ids."""
        return self._codes(self.users, users)

    def codes_of_items(self, items: Names) -> np.ndarray:
        """Codes of items by their ids."""
        return self._codes(self.items, items)

    @staticmethod
    def _codes(ids: Ids, names: Names) -> np.ndarray:
        series = names if isinstance(names, pl.Series) else pl.Series(names, dtype=ids.values.dtype, strict=False)
        same = series.dtype.is_integer() == ids.values.dtype.is_integer() and not series.null_count()
        codes = ids.codes(series) if same else np.full(max(len(series), 1), -1)
        if (codes < 0).any():
            raise DataError("there is no such id in this world", found=repr(names[int(np.argmin(codes))]))
        return codes
