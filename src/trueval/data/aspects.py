"""Aspects of items (genres, categories, tags): which item shows which, and which items are alike in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.data.ids import Ids

# Columns of an item table that hold aspects, one list (or "a|b") or one aspect a row; the first found counts.
COLUMNS = ("aspects", "genres", "genre", "categories", "category", "tags", "aspect", "tag")


def aspect_column(columns: list[str]) -> str | None:
    """The column that holds aspects, if any; capitals do not matter.

    >>> aspect_column(["item", "Genres"])
    'Genres'
    """
    written = {name.lower(): name for name in columns}
    return next((written[name] for name in COLUMNS if name in written), None)


def aspect_lists(column: pl.Series) -> pl.Series:
    """Lists of names from "a|b", lists, or single values.

    >>> aspect_lists(pl.Series(["war| drama", None, ""])).to_list()
    [['war', 'drama'], [], []]
    """
    if column.dtype == pl.String:
        column = column.str.split("|")
    elif not isinstance(column.dtype, pl.List):
        column = column.cast(pl.String).to_frame().select(pl.concat_list(pl.all())).to_series()
    named = column.cast(pl.List(pl.String)).list.eval(pl.element().str.strip_chars()).fill_null([])
    return named.list.eval(pl.element().filter(pl.element().is_not_null() & (pl.element() != "")))


class AspectSets(NamedTuple):
    """The distinct sets of aspects, ascending, as a tree of their beginnings.

    Node 0 is the empty set; every other node adds one aspect (`added`) to those of its `parent`, which comes
    before it. Item i has the set s = `of_item[i]`, whose aspects are `aspect[start[s]]` to `aspect[start[s+1]-1]`
    and whose node is `node[s]`.
    """

    of_item: np.ndarray
    start: np.ndarray
    aspect: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    added: np.ndarray


@dataclass(frozen=True)
class Aspects:
    """Aspects of item i are `aspect[start[i]]` to `aspect[start[i+1]-1]`, ascending codes into `names`.

    >>> genres = Aspects.of(np.array([0, 1, 1]), pl.Series(["war", "war", "drama"]), n_items=3)
    >>> genres.names, genres.start.tolist(), genres.aspect.tolist()
    (['drama', 'war'], [0, 1, 3, 3], [1, 0, 1])
    >>> genres.matrix().tolist()
    [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """

    names: list[str]
    start: np.ndarray
    aspect: np.ndarray

    @staticmethod
    def of(item: np.ndarray, aspect: pl.Series, *, n_items: int) -> Aspects:
        """From one row per item and aspect: rows of unknown items (-1) are left out, repeated ones count once."""
        known = item >= 0
        names = Ids.of(aspect)
        number = max(len(names), 1)
        pair = np.unique(item[known].astype(np.int64) * number + names.codes(aspect)[known])
        start = np.concatenate([[0], np.cumsum(np.bincount(pair // number, minlength=n_items))])
        return Aspects(names.values.to_list(), start.astype(np.int64), (pair % number).astype(np.int32))

    def __len__(self) -> int:
        """Number of aspects."""
        return len(self.names)

    def matrix(self) -> np.ndarray:
        """One row per item, one column per aspect: 1 where the item shows it."""
        dense = np.zeros((len(self.start) - 1, len(self)))
        dense[np.repeat(np.arange(len(dense)), np.diff(self.start)), self.aspect] = 1.0
        return dense

    @cached_property
    def sets(self) -> AspectSets:
        """The distinct sets of aspects.

        >>> two = Aspects.of(np.array([0, 0, 1, 2, 2]), pl.Series(["a", "b", "a", "a", "b"]), n_items=3)
        >>> two.sets.of_item.tolist(), two.sets.node.tolist(), two.sets.parent.tolist()
        ([2, 1, 2], [0, 1, 2], [-1, 0, 1])
        """
        width = len(str(len(self)))
        padded = pl.Series(self.aspect).cast(pl.String).str.zfill(width)  # so that text sorts like numbers
        item = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        joined = pl.DataFrame({"item": item, "code": padded}).group_by("item", maintain_order=True)
        texts = joined.agg(pl.col("code").str.join(" ")).sort("item")
        vocabulary = Ids.of(pl.concat([pl.Series([""]), texts["code"]]))
        of_item = np.zeros(len(self.start) - 1, np.int32)
        of_item[texts["item"].to_numpy()] = vocabulary.codes(texts["code"])
        members = [tuple(map(int, text.split())) for text in vocabulary.values.to_list()]
        start = np.concatenate([[0], np.cumsum([len(some) for some in members])]).astype(np.int32)
        aspect = np.array([a for some in members for a in some], np.int32)
        return AspectSets(of_item, start, aspect, *_tree(members))


def _tree(sets: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes of sorted sets, their parents, and what each node adds."""
    nodes: dict[tuple[int, ...], int] = {(): 0}
    parent, added, ends = [-1], [-1], []
    for members in sets:
        for size in range(1, len(members) + 1):
            if members[:size] not in nodes:
                nodes[members[:size]] = len(parent)
                parent.append(nodes[members[: size - 1]])
                added.append(members[size - 1])
        ends.append(nodes[members])
    return np.array(ends, np.int32), np.array(parent, np.int32), np.array(added, np.int32)
