"""What aspect metrics need besides the facts: what users are interested in, and what could be recommended to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.lazy import Once

if TYPE_CHECKING:
    from trueval.design.task import Task


@dataclass(frozen=True)
class Interest:
    """Train ratings by user (each pair once), and the lowest and highest value of the scale; worked out when needed."""

    ratings: Callable[[], ByUser] | None
    bounds: Callable[[], tuple[float, float]]

    @staticmethod
    def of(train: Interactions | None, test: Interactions, users: Ids, items: Ids) -> Interest:
        """From the logs; without values every rating is 1."""

        def ratings() -> ByUser:
            assert train is not None
            columns = [name for name in ("user", "item", "value") if train.has(name)]
            return ByUser.code(train.frame.select(columns), users, items).distinct()

        def bounds() -> tuple[float, float]:
            values = [log.frame["value"] for log in (train, test) if log is not None and log.has("value")]
            if not values:
                return 1.0, 1.0
            return min(float(v.min()) for v in values), max(float(v.max()) for v in values)  # type: ignore[arg-type]

        return Interest(None if train is None else Once(ratings), Once(bounds))


@dataclass(frozen=True)
class Targets:
    """What could be recommended: the items offered to everybody less those barred for a user, or a list for each."""

    offer: Callable[[], np.ndarray]
    barred: ByUser | None = None
    listed: ByUser | None = None

    @property
    def offered(self) -> np.ndarray:
        """Which items are offered to everybody."""
        return self.offer()

    @staticmethod
    def of_task(task: Task) -> Targets:
        """The targets of a design; a sampled one lists them user by user."""

        def offer() -> np.ndarray:
            mask = np.zeros(len(task.items), bool)
            mask[task.candidates] = task.sample is None
            return mask

        barred = task.train if task.design.seen == "exclude" else None
        if task.sample is None:
            return Targets(Once(offer), barred)
        counts = np.zeros(len(task.users), np.int64)
        counts[task.unit_user] = task.sample.counts
        return Targets(Once(offer), None, ByUser(np.concatenate([[0], np.cumsum(counts)]), task.sample.item))

    @staticmethod
    def of_run(
        items: Ids, catalogue: np.ndarray | None, item_columns: list[pl.Series], barred: ByUser | None
    ) -> Targets:
        """The catalogue where it is known, otherwise the items in some columns (of the runs and the test set)."""

        def offer() -> np.ndarray:
            if catalogue is not None:
                return catalogue
            mask = np.zeros(len(items), bool)
            for column in item_columns:
                codes = items.codes(column)
                mask[codes[codes >= 0]] = True
            return mask

        return Targets(Once(offer), barred)
