"""Seeded chance for rows: a 64-bit hash of a row's content, never of its position.

The mixing is our own (splitmix64's) because the hashes of libraries may change from one version to the
next, and a split must not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.interactions import ROLES, Interactions
from trueval.kernels.hashing import STEP, mixed
from trueval.kernels.seeds import derive


def mix(hashes: np.ndarray) -> np.ndarray:
    """Scatter 64-bit numbers so that every input bit moves every output bit.

    >>> mix(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    return mixed(hashes + STEP)


def chain(seed: int, purpose: str, *columns: np.ndarray) -> np.ndarray:
    """One hash per row from some columns; another purpose gives unrelated hashes for the same seed."""
    hashes = np.array([derive(seed, f"split {purpose}")], np.uint64)
    for column in columns:
        hashes = mix(hashes ^ _bits(column))
    return hashes


def coin(hashes: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1), one per hash.

    >>> coin(np.array([0, 2**63], np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (hashes >> np.uint64(11)) * 2.0**-53


def _bits(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind == "f":
        return (column.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: -0.0 and 0.0 are one value
    return column.astype(np.int64).view(np.uint64)


@dataclass(frozen=True)
class Coded:
    """A log with the codes of its users and items.

    >>> log = Interactions.of(pl.DataFrame({"user": ["b", "a"], "item": ["x", "x"]}))
    >>> coded = Coded.of(log)
    >>> coded.users.tolist(), coded.n_items
    ([1, 0], 1)
    """

    log: Interactions
    users: np.ndarray
    items: np.ndarray
    n_users: int
    n_items: int
    item_ids: Ids

    @staticmethod
    def of(log: Interactions) -> Coded:
        """Codes from the sorted ids of the log."""
        users, items = Ids.of(log.frame["user"]), Ids.of(log.frame["item"])
        codes = users.codes(log.frame["user"]), items.codes(log.frame["item"])
        return Coded(log, *codes, len(users), len(items), items)

    def times(self) -> np.ndarray:
        """Times of the rows."""
        return self.log.frame["time"].to_numpy()

    def hashes(self, seed: int, purpose: str) -> np.ndarray:
        """A random hash for every row; equal rows are numbered, and differ by their number."""
        contents = [self.log.frame[role].to_numpy() for role in ("value", "time") if self.log.has(role)]
        hashes = chain(seed, purpose, self.users, self.items, *contents)
        ordered = np.sort(hashes)
        if (ordered[1:] == ordered[:-1]).any():
            alike = pl.Series(hashes).is_duplicated().arg_true().to_numpy()
            places, number = _number_alike(self.log.frame, hashes, alike)
            hashes[places] = np.where(number > 0, mix(hashes[places] ^ mix(_bits(number))), hashes[places])
        return hashes


def _number_alike(frame: pl.DataFrame, hashes: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows with equal hashes, and 0, 1, 2… within each hash.

    Further columns decide who comes first, so that the order of rows does not.
    """
    further = [column for column in frame.columns if column not in ROLES]
    rows = frame[places].with_columns(pl.selectors.binary().bin.encode("hex"))  # bytes have no text
    text = rows.select(pl.struct(further).struct.json_encode()).to_series() if further else pl.Series([""] * len(rows))
    table = pl.DataFrame({"hash": hashes[places], "text": text, "place": places}).sort("hash", "text")
    number = table.select(pl.int_range(pl.len()).over("hash")).to_series()
    return table["place"].to_numpy(), number.to_numpy()


def place_within(groups: np.ndarray, *keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place 0, 1, 2… of each row within its group by some sort keys, and the size of its group.

    >>> place, size = place_within(np.array([0, 1, 0]), np.array([9, 5, 3]))
    >>> place.tolist(), size.tolist()
    ([1, 0, 0], [2, 1, 2])
    """
    # One stable sort per key, the last key first; NumPy sorts 16-bit groups in linear time.
    short = groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups
    order = np.argsort(keys[-1])
    for key in (*keys[-2::-1], short):
        order = order[np.argsort(key[order], kind="stable")]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(groups), np.int64)
    place[order] = np.arange(len(groups)) - starts[groups[order]]
    return place, sizes[groups]
