"""Are popular items liked more? One number with an interval, which is 0 on average where they are not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trueval.audit.item_ratings import ItemRatings
from trueval.statistics.jackknife import JackknifeReplicates
from trueval.statistics.student import student_interval


class Alignment(NamedTuple):
    """By how much ratings are likelier to be likes than the items they fall on would have it, item by item alike."""

    value: float
    low: float
    high: float

    @property
    def direction(self) -> str:
        """ "aligned", "opposed", or "unclear" where the interval has both signs.

        >>> Alignment(0.1, 0.05, 0.15).direction, Alignment(0.1, -0.05, 0.25).direction
        ('aligned', 'unclear')
        """
        return "aligned" if self.low > 0 else "opposed" if self.high < 0 else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        values = {name: None if value != value else value for name, value in self._asdict().items()}
        return {**values, "direction": self.direction}


def alignment(counted: ItemRatings, *, level: float = 0.95) -> Alignment:
    """Liked share of all ratings minus the mean of the items' liked shares: the covariance of popularity and liking,
    as a share of the mean popularity.

    Its expectation is 0 where popularity and liking have nothing to do with each other. That of Kendall's τ, of counts
    of aligned pairs, is not: most items with one rating have a liked share of 0 or 1, on one side of all others. The
    interval takes items as a sample: a jackknife over items, and Student's t with as many degrees of freedom as equally
    popular items would tell as much, less one.

    Parameters
    ----------
    counted : ItemRatings
        Ratings and likes of the items; those without a rating say nothing and are left out.
    level : number, default 0.95
        Level of the interval.

    Returns
    -------
    Alignment
        Value and interval; no interval (NaN) for fewer than three items with ratings.

    Examples
    --------
    >>> ratings, liked = np.array([8, 6, 4, 2, 2, 2]), np.array([8, 5, 2, 1, 0, 1])
    >>> found = alignment(ItemRatings.of_counts(ratings, liked, users=20))
    >>> round(found.value, 4), found.direction
    (0.1528, 'unclear')
    """
    some = counted.ratings > 0
    n, likes = counted.ratings[some].astype(np.float64), counted.liked[some].astype(np.float64)
    size, ratio = len(n), likes / n
    if not size:
        return Alignment(*[float("nan")] * 3)
    value = float(likes.sum() / n.sum() - ratio.mean())
    if size < 3:
        return Alignment(value, float("nan"), float("nan"))
    without = (likes.sum() - likes) / (n.sum() - n) - (ratio.sum() - ratio) / (size - 1)
    error = JackknifeReplicates(value, without, np.empty(0)).error()
    freedom = max(1.0, n.sum() ** 2 / (n @ n) - 1)
    return Alignment(value, *student_interval(value, error, freedom=freedom, level=level))
