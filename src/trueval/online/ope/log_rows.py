"""The rows of a log as arrays, and what the target policy would show in each case that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.kernels import blocks
from trueval.online.ope.policy import Policy

_CODE = "code of the case"  # a name that no context column has
_PAIRS = 2_000_000  # pairs of case and item held at once


@dataclass(frozen=True)
class LogRows:
    """A log in arrays, sorted so that no sum depends on the order in which rows came."""

    frame: pl.DataFrame
    reward: np.ndarray
    item: np.ndarray  # codes in `items`
    place: np.ndarray  # codes of positions, 0 where there are none
    positions: tuple[object, ...]
    cluster: np.ndarray | None  # codes of users or rounds; None: every row on its own
    items: Ids
    case: np.ndarray  # codes of the cases below
    cases: pl.DataFrame  # distinct values of position, context and the policy's keys

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def clusters(self) -> int:
        """Number of independent clusters."""
        return len(self) if self.cluster is None else int(self.cluster.max()) + 1

    @property
    def rewarded(self) -> int:
        """Number of clusters with any reward."""
        rows = np.flatnonzero(self.reward)
        return len(rows) if self.cluster is None else len(np.unique(self.cluster[rows]))

    @cached_property
    def exposures(self) -> np.ndarray:
        """How often each item was shown at each position: items × positions."""
        many = len(self.positions)
        return np.bincount(self.item * many + self.place, minlength=len(self.items) * many).reshape(-1, many)

    @cached_property
    def case_place(self) -> np.ndarray:
        """The position of each case."""
        found = np.zeros(len(self.cases), np.int64)
        found[self.case] = self.place
        return found

    @cached_property
    def case_rows(self) -> np.ndarray:
        """Number of rows of each case."""
        return np.bincount(self.case, minlength=len(self.cases))


def rows_of(log: pl.DataFrame, policy: Policy, context: Sequence[str], extra: Sequence[str] = ()) -> LogRows:
    """Arrays of a log that has been read and checked."""
    keys = list(dict.fromkeys([*(["position"] if "position" in log.columns else []), *context, *policy.keys]))
    own = [name for name in ("user", "item", "reward") if name in log.columns]
    columns = list(dict.fromkeys([*keys, *own, *extra]))
    frame = log.select(columns).sort(columns)
    cases = frame.select(keys).unique().sort(keys) if keys else pl.DataFrame({_CODE: [0]})
    coded = cases.with_columns(pl.int_range(pl.len()).alias(_CODE)) if keys else cases
    case = frame.select(keys).join(coded, on=keys, how="left", maintain_order="left")[_CODE] if keys else None
    positions = frame["position"].unique().sort() if "position" in frame.columns else None
    place = None if positions is None else Ids.of(frame["position"]).codes(frame["position"]).astype(np.int64)
    item_ids = Ids.of(frame["item"]) if policy.table is None else Ids.of(frame["item"], policy.table["item"])
    zeros = np.zeros(len(frame), np.int64)
    return LogRows(
        frame,
        frame["reward"].to_numpy(),
        item_ids.codes(frame["item"]).astype(np.int64),
        zeros if place is None else place,
        (None,) if positions is None else tuple(positions.to_list()),
        Ids.of(frame["user"]).codes(frame["user"]).astype(np.int64) if "user" in frame.columns else None,
        item_ids,
        zeros if case is None else case.to_numpy(),
        cases,
    )


def target_pairs(rows: LogRows, policy: Policy) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What the policy would show, block by block: codes of cases and of items, and their probability."""
    assert policy.table is not None
    table = policy.table.with_columns(item=pl.Series(rows.items.codes(policy.table["item"]).astype(np.int64)))
    cases = rows.cases.with_columns(pl.int_range(pl.len()).alias(_CODE))
    if policy.keys:
        per_case = max(1, len(table) // max(1, table.select(policy.keys).n_unique()))
    else:
        per_case = len(table)
    for block in blocks(len(cases), max(1, _PAIRS // per_case)):
        part = cases[block].select(_CODE, *policy.keys)
        joined = part.join(table, on=policy.keys, how="inner") if policy.keys else part.join(table, how="cross")
        joined = joined.sort(_CODE, "item")
        yield tuple(joined[name].to_numpy() for name in (_CODE, "item", "probability"))  # type: ignore[misc]


def target_mass(rows: LogRows, policy: Policy) -> np.ndarray:
    """The share of the policy's shows by item and position, over the cases of the log: items × positions, sum 1."""
    many = len(rows.positions)
    mass = np.zeros(len(rows.items) * many)
    for case, item, probability in target_pairs(rows, policy):
        amount = probability * rows.case_rows[case] / len(rows)
        mass += np.bincount(item * many + rows.case_place[case], amount, minlength=len(mass))
    return mass.reshape(-1, many)
