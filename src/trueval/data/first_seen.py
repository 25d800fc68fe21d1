"""Codes of ids that come piece by piece, in one pass and in little memory."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.id_keys import ANY, SHORT, keys
from trueval.data.key_tables import Codes
from trueval.kernels import SMALL, choose

_LEAST, _GROWTH = 1 << 12, 8  # slots of the first table, and how many times as many a full one is followed by


class FirstSeen:
    """Codes of ids in the order in which they are first seen: integers of 64 bits or texts, without nulls.

    >>> seen, codes = FirstSeen(), np.empty(3, np.int32)
    >>> seen.code(pl.Series(["b", "a", "b"]), codes)
    >>> codes.tolist(), seen.ids.to_list()
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self) -> None:
        self._found: list[pl.Series] = []  # in the order of their codes
        self._known, self._size, self._short = 0, _LEAST, True
        self._table: np.ndarray | None = None

    def __len__(self) -> int:
        return self._known

    @property
    def ids(self) -> pl.Series:
        """All ids that were seen, in the order of their codes."""
        return pl.concat(self._found, rechunk=True)

    def code(self, piece: pl.Series, out: Codes) -> None:
        """Codes of the ids of one array."""
        done = 0
        while done < len(piece):
            if self._table is None:
                self._table = self._filled(piece.dtype)
            known, limit = self._known, self._size // 4
            done, rows = self._go_on(piece, done, out)
            self._found.append(piece.gather(pl.Series(rows, dtype=pl.UInt32)))
            self._known = known + len(rows)
            if done < len(piece):  # the table is full, or else there is a text that is too long to be its own key
                self._table = None
                if self._known == limit:
                    self._size *= _GROWTH
                else:
                    self._short = False

    def _go_on(self, piece: pl.Series, begin: int, out: Codes) -> tuple[int, np.ndarray]:
        """Code a piece from some row on; how far this went, and the rows at which ids are new."""
        kernels, limit = choose("lists", SMALL + 1), self._size // 4
        rows = np.empty(min(limit - self._known, len(piece)) + 1, np.int64)
        left, right = keys(piece, short=self._short)
        if piece.dtype.is_integer():
            known = kernels.code_integers(left.view(np.int64), begin, self._known, limit, self._table, rows, out)
        else:
            longest = np.uint64(SHORT if self._short else ANY)
            known = kernels.code_keys(left, right, longest, begin, self._known, limit, self._table, rows, out)
        return int(rows[-1]), rows[: known - self._known]

    def _filled(self, kind: pl.DataType) -> np.ndarray:
        """A table with all that is known."""
        whole = kind.is_integer()
        self._table = np.zeros((self._size, 2 if whole else 3), np.int64 if whole else np.uint64)
        if self._known:
            number, self._known = self._known, 0
            self._go_on(self.ids, 0, np.empty(number, np.int32))
            self._known = number
        return self._table
