"""How unevenly ratings fall on items, and whether popular items are liked more (Bellogín et al. 2017, §5 and §6.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.audit.item_ratings import item_ratings
from trueval.audit.rank_correlation import kendall, pearson
from trueval.audit.render_popularity_curve import popularity_curve_text
from trueval.data.exported_tables import Tabular
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.popularity import item_counts
from trueval.data.power_law import PowerLaw, fit_power_law
from trueval.data.table_columns import read_columns
from trueval.errors import DefinitionError
from trueval.pictures import draw
from trueval.render.shown import Shown
from trueval.splits.parts import Parts
from trueval.statistics.inequality import gini_index, lorenz_curve

HEADS = (0.01, 0.05, 0.1)
_LEAST = 5  # items that a curve is fitted to


@dataclass(frozen=True, slots=True)
class Popularity:
    """Ratings by item of one log: `counts`, most popular first, items without a rating included.

    `heads` are shares of the ratings that the most popular 1, 5 and 10 % of the items have (rounded up to whole items);
    `train_heads` those that the most popular items of the train part have here.
    """

    counts: np.ndarray
    gini: float
    heads: dict[float, float]
    law: PowerLaw | None
    train_heads: dict[float, float] | None = None

    def lorenz(self) -> np.ndarray:
        """Cumulative share of the ratings held by the least popular items, from 0 to 1."""
        return lorenz_curve(self.counts)

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        law = {} if self.law is None else self.law.to_dict()
        return {
            "items": len(self.counts),
            "rated": int(np.count_nonzero(self.counts)),
            "ratings": int(self.counts.sum()),
            "gini": None if self.gini != self.gini else self.gini,
            **{f"head_{100 * share:g}": value for share, value in self.heads.items()},
            **{f"train_head_{100 * share:g}": None if self.train_heads is None else self.train_heads[share]
               for share in HEADS},
            **{name: law.get(name) for name in ("alpha", "beta", "c1", "c2", "explained")},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PopularityCurve(Tabular, Shown):
    """Popularity in each part of the data, and the share of likes along it.

    Attributes
    ----------
    sides : mapping from text to Popularity
        "train" and "test", or "log".
    liked : DataFrame or None
        By segment of popularity ranks: the mean over items of the share of their ratings that are relevant. None
        without ratings of both kinds.
    liked_r, liked_tau : float
        Pearson's r and Kendall's τ-b of the number of ratings and the liked ratio, over rated items.
    threshold : number or None
        Relevance threshold.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 1, 2, 1], "item": list("aaabbc")}))
    >>> found = popularity_curve(log)
    >>> round(found.sides["log"].gini, 3), found.sides["log"].heads[0.1]
    (0.222, 0.5)
    """

    sides: Mapping[str, Popularity]
    liked: pl.DataFrame | None
    liked_r: float
    liked_tau: float
    threshold: float | None

    def __str__(self) -> str:
        return popularity_curve_text(self)

    def table(self) -> pl.DataFrame:
        """A row for each side: items, ratings, Gini, shares of the head, and the fitted curve."""
        rows = [{"of": name, **side.row()} for name, side in self.sides.items()]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "popularity": self.table().to_dicts(),
            "liked": None if self.liked is None else self.liked.to_dicts(),
            "liked_r": None if self.liked_r != self.liked_r else self.liked_r,
            "liked_tau": None if self.liked_tau != self.liked_tau else self.liked_tau,
            "threshold": self.threshold,
        }

    def plot(self, name: str = "popularity_curve", **options: Any) -> Any:
        """Draw the Lorenz curves, ratings by popularity rank with the fitted curve, and the liked ratio."""
        return draw("popularity_curve", self, name, options)


@checked
def popularity_curve(
    data: Interactions | Parts,
    *,
    threshold: float | None = None,
    segments: int = 100,
    items: Any = None,
    columns: Mapping[str, Any] | str | None = None,
) -> PopularityCurve:
    """Measure how ratings are spread over items in train and test, and whether popular items are liked more.

    Parameters
    ----------
    data : Interactions or Parts
        A log, or the parts of a split.
    threshold : number, optional
        Relevance threshold. Default: values above 0 are relevant.
    segments : int, default 100
        Segments of popularity ranks, of nearly equal size, in which the liked ratio is averaged.
    items : list, table or path, optional
        The catalogue: its items without a rating count as such. Default: all items of the data.
    columns : mapping or text, optional
        The column of item ids of `items`, where it has no common name: {"item": "sku"} or "item=sku".

    Returns
    -------
    PopularityCurve
        Gini, shares of the head and fitted curve of each part; the liked ratio by segment, of all parts together.

    Raises
    ------
    TruevalError
        For data that is neither a log nor parts, and for fewer than one segment.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 1, 2], "item": list("aaabb"), "value": [5, 5, 2, 1, 2]}))
    >>> popularity_curve(log, threshold=4, segments=2).liked["ratio"].round(2).to_list()
    [0.67, 0.0]
    """
    if segments < 1:
        raise DefinitionError("segments must be at least 1", found=str(segments), do="100 is the default")
    logs = _logs(data)
    roles = read_columns(columns, ("item",), items=items)
    catalogue = [] if items is None else [read_items(items, columns=roles)["item"]]
    known = Ids.of(*(log.frame["item"] for log in logs.values()), *catalogue)
    counts = {name: item_counts([log.frame], known, log.count) for name, log in logs.items()}
    sides = {name: _side(own, counts.get("train") if name != "train" else None) for name, own in counts.items()}
    rated = [item_ratings(log, threshold=threshold, items=known) for log in logs.values()]
    ratings, liked = sum(one.ratings for one in rated), sum(one.liked for one in rated)
    both = 0 < np.sum(liked) < np.sum(ratings)
    some = np.asarray(ratings) > 0
    ratio = np.asarray(liked)[some] / np.asarray(ratings)[some]
    number = np.asarray(ratings)[some].astype(np.float64)
    return PopularityCurve(
        sides,
        _segmented(number, ratio, segments) if both else None,
        pearson(number, ratio) if both else float("nan"),
        kendall(number, ratio) if both else float("nan"),
        threshold,
    )


def _logs(data: object) -> dict[str, Interactions]:
    if isinstance(data, Parts):
        return {"train": data.train, "test": data.test}
    if isinstance(data, Interactions):
        return {"log": data}
    raise DefinitionError(
        "the popularity curve needs a log or the parts of a split",
        found=type(data).__name__,
        do="tv.read(…) or tv.split(…)",
    )


def _side(counts: np.ndarray, train: np.ndarray | None) -> Popularity:
    ordered = np.sort(counts)[::-1]
    heads = {share: _held(counts, counts, share) for share in HEADS}
    law = fit_power_law(ordered) if len(ordered) >= _LEAST else None
    others = None if train is None else {share: _held(counts, train, share) for share in HEADS}
    return Popularity(ordered, gini_index(counts), heads, law, others)


def _held(counts: np.ndarray, by: np.ndarray, share: float) -> float:
    """Share of the counts that the first items by another count have; of equals at the cut, as many as fit.

    Which of the equals is left to chance: their counts are taken in expectation.
    """
    number = math.ceil(share * len(by) - 1e-9)
    cut = np.sort(by)[len(by) - number]
    above, equal = by > cut, by == cut
    part = (number - np.count_nonzero(above)) / np.count_nonzero(equal)
    return float((counts[above].sum() + part * counts[equal].sum()) / counts.sum())


def _segmented(ratings: np.ndarray, ratio: np.ndarray, segments: int) -> pl.DataFrame:
    """Mean liked ratio of items in segments of popularity ranks; items rated equally often share their mean."""
    place = np.unique(-ratings, return_inverse=True)[1]
    mean = (np.bincount(place, ratio) / np.bincount(place))[place]
    order = np.argsort(-ratings, kind="stable")
    ends = np.array([len(part) for part in np.array_split(order, min(segments, len(order)))]).cumsum()
    begins = np.concatenate([[0], ends[:-1]])
    size = ends - begins
    return pl.DataFrame(
        {
            "segment": np.arange(1, len(ends) + 1),
            "first_rank": begins + 1,
            "last_rank": ends,
            "ratings": np.add.reduceat(ratings[order], begins) / size,
            "ratio": np.add.reduceat(mean[order], begins) / size,
        }
    )
