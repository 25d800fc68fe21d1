"""Would true and false positives rank two items alike? The steepness test of Mena-Maldonado et al. (2020), §4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.audit.alignment import Alignment, alignment
from trueval.audit.item_pair_counts import Scores, count_all, count_some, scores_of
from trueval.audit.item_ratings import ItemRatings, item_ratings
from trueval.audit.rank_correlation import kendall, pearson
from trueval.audit.render_item_pairs import CASES, item_pairs_text
from trueval.data.exported_tables import Tabular
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.pictures import draw
from trueval.render.shown import Shown
from trueval.splits.parts import Parts
from trueval.statistics.binomial import wilson_interval

EXACT = 20_000  # items whose pairs are all counted; beyond, pairs are drawn
DRAWN = 4_000_000  # pairs
_TIED = 4


class Share(NamedTuple):
    """A share of all pairs; where pairs were drawn, with its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ItemPairs(Tabular, Shown):
    """How popularity and average rating order pairs of items, and whether the two optimal rankings agree on them.

    Attributes
    ----------
    items, users : int
        Items with a rating, and users.
    threshold : number or None
        Relevance threshold.
    pairs : int
        Pairs of items.
    drawn : int or None
        Pairs drawn at random, where not all were counted.
    counts : array
        Pairs by case (the four rows of `table()`, then pairs with an equal popularity or average rating) and by what
        the optimal rankings of precision and antiprecision make of them: disagree, agree, one of them ties the items.
    tau : float
        Kendall's τ-b of φ_P and φ_antiP over the items.
    correlations : mapping
        Pearson's r of "phi_p" and "phi_antip" with "popularity" and "average", by pairs of these names.
    popularity_and_average, popularity_and_average_tau : float
        Pearson's r and Kendall's τ-b of popularity and average rating, of these items as they are.
    alignment : Alignment
        Whether popular items are liked more, with an interval.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> rated = {"a": {0: 5, 1: 5, 2: 5, 3: 1, 4: 1}, "b": {0: 5, 1: 1}, "c": {u: 5 for u in range(5, 10)}}
    >>> rows = [(user, item, value) for item, own in rated.items() for user, value in own.items()]
    >>> log = Interactions.of(pl.DataFrame(rows, schema=["user", "item", "value"], orient="row"))
    >>> found = item_pairs(log, threshold=4)
    >>> found.table()["pairs"].to_list(), found.disagree.share, round(found.tied.share, 3)
    ([1, 1, 0, 1], 0.3333333333333333, 0.333)
    """

    items: int
    users: int
    threshold: float | None
    pairs: int
    drawn: int | None
    counts: np.ndarray
    tau: float
    correlations: dict[tuple[str, str], float]
    popularity_and_average: float
    popularity_and_average_tau: float
    alignment: Alignment
    level: float = 0.95

    def __str__(self) -> str:
        return item_pairs_text(self)

    def share(self, number: int) -> Share:
        """So many of the counted pairs, as a share of all; with an interval where pairs were drawn."""
        share = number / self.counted
        low, high = (share, share) if self.drawn is None else wilson_interval(share, self.counted, level=self.level)
        return Share(share, float(low), float(high))

    @property
    def counted(self) -> int:
        """Pairs that were looked at: all, or those drawn."""
        return self.pairs if self.drawn is None else self.drawn

    @property
    def disagree(self) -> Share:
        """Pairs that the optimal rankings of observed precision and antiprecision order differently."""
        return self.share(int(self.counts[:, 0].sum()))

    @property
    def aligned(self) -> Share:
        """Pairs whose more popular item has the higher average rating."""
        return self.share(int(self.counts[:2].sum()))

    @property
    def opposed(self) -> Share:
        """Pairs whose more popular item has the lower average rating."""
        return self.share(int(self.counts[2:_TIED].sum()))

    @property
    def tied(self) -> Share:
        """Pairs with equal popularity or equal average rating: neither aligned nor opposed."""
        return self.share(int(self.counts[_TIED].sum()))

    def table(self) -> pl.DataFrame:
        """The published table: a row for each case, with the share of item pairs and its interval.

        As there, pairs with an equal popularity or average rating are in the last row; `tied` says how many they are.
        """
        numbers = self.counts.sum(axis=1)
        numbers[_TIED - 1] += numbers[_TIED]
        rows = []
        for case, number in zip(CASES, numbers[:_TIED].tolist()):
            own = self.share(number)
            rows.append({**case._asdict(), "pairs": number, "share": own.share, "low": own.low, "high": own.high})
        return pl.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "items": self.items,
            "users": self.users,
            "threshold": self.threshold,
            "pairs": self.pairs,
            "drawn": self.drawn,
            "cases": self.table().to_dicts(),
            **{name: getattr(self, name)._asdict() for name in ("disagree", "aligned", "opposed", "tied")},
            "tau": _known(self.tau),
            "correlations": [{"of": a, "with": b, "r": _known(r)} for (a, b), r in self.correlations.items()],
            "popularity_and_average": _known(self.popularity_and_average),
            "popularity_and_average_tau": _known(self.popularity_and_average_tau),
            "alignment": self.alignment.to_dict(),
            "level": self.level,
        }

    def plot(self, name: str = "item_pairs", **options: Any) -> Any:
        """Draw the shares of the four cases."""
        return draw("item_pairs", self, name, options)


@checked
def item_pairs(
    log: Interactions | Parts | ItemRatings,
    *,
    threshold: float | None = None,
    exact: bool | None = None,
    pairs: int = DRAWN,
    level: float = 0.95,
    seed: int = 0,
) -> ItemPairs:
    """Compare the optimal rankings of observed precision and antiprecision on every pair of items.

    φ_P(i) = p(rel|train,i) · odds(i) and φ_antiP(i) = −p(¬rel|train,i) · odds(i), where odds(i) = p(train|i) / (1 −
    p(train|i)). A function is steeper than another over two items where its difference is the larger share of the
    larger value. The two rankings disagree where the odds of popularity are steeper than the relevance (or
    non-relevance) that they disagree with, which is what the four cases count.

    Parameters
    ----------
    log : Interactions, Parts or ItemRatings
        What systems learn from: the train part (of parts it is taken), or all ratings.
    threshold : number, optional
        Relevance threshold. Default: values above 0 are relevant.
    exact : bool, optional
        Count all pairs (True), or draw some (False). Default: count them up to 20,000 items. Memory grows with the
        items, time with their square: a second or two for 20,000 of them, about a minute for 100,000.
    pairs : int, default 4,000,000
        How many pairs are drawn, where they are.
    level : number, default 0.95
        Level of the intervals: of drawn pairs (Wilson's, for draws with replacement), and of the alignment.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    ItemPairs
        Frequencies of the cases, τ of the two rankings, and correlations. Prints as a table.

    Raises
    ------
    TruevalError
        For fewer than two items, and ratings of which all are relevant, or none.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 1], "item": list("aaab"), "value": [5, 1, 5, 5]}))
    >>> found = item_pairs(log, threshold=4)
    >>> found.opposed.share, round(found.tau, 2)
    (1.0, -1.0)
    """
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must be from 0.5 to below 1", found=f"{level:g}", do="use 0.95")
    if pairs < 1:
        raise DefinitionError("pairs must be at least 1", found=str(pairs), do=f"{DRAWN:,} is the default")
    counted = _rated(_counted(log, threshold))
    scores = scores_of(counted)
    size = len(counted.ratings)
    whole = size <= EXACT if exact is None else exact
    return ItemPairs(
        items=size,
        users=counted.users,
        threshold=threshold,
        pairs=size * (size - 1) // 2,
        drawn=None if whole else pairs,
        counts=count_all(scores) if whole else count_some(scores, pairs, seed=seed),
        tau=kendall(scores.phi_p, scores.phi_antip),
        correlations=_correlations(scores),
        popularity_and_average=pearson(scores.popularity, scores.average),
        popularity_and_average_tau=kendall(scores.popularity, scores.average),
        alignment=alignment(counted, level=level),
        level=level,
    )


def _counted(log: object, threshold: float | None) -> ItemRatings:
    log = log.train if isinstance(log, Parts) else log
    if isinstance(log, Interactions):
        return item_ratings(log, threshold=threshold)
    if isinstance(log, ItemRatings):
        return log
    raise DefinitionError(
        "pairs of items need a log, parts of a split, or ratings by item",
        found=type(log).__name__,
        do="tv.read(…), tv.split(…) or ItemRatings.of_counts(…)",
    )


def _rated(counted: ItemRatings) -> ItemRatings:
    """Items with ratings; refuses what has nothing to compare."""
    counted = counted.rated()
    if len(counted.ratings) < 2:
        raise DataError("pairs need at least two items with ratings", found=f"{len(counted.ratings)} of them")
    liked, all_of_them = int(counted.liked.sum()), int(counted.ratings.sum())
    if liked in (0, all_of_them):
        raise DataError(
            "pairs of items need ratings of both kinds, relevant and not",
            found=f"{liked:,} of {all_of_them:,} ratings are relevant",
            do="give another threshold, and ratings with values",
        )
    return counted


def _correlations(scores: Scores) -> dict[tuple[str, str], float]:
    return {
        (one, other): pearson(getattr(scores, one), getattr(scores, other))
        for one in ("phi_p", "phi_antip")
        for other in ("popularity", "average")
    }


def _known(value: float) -> float | None:
    return None if value != value else value
