"""Propensities: how likely ratings were observed, what of it can be known, and how much weighting by it leaves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted, listed
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.propensity.popularity_power import popularity_power
from trueval.propensity.propensity import Propensity
from trueval.propensity.weight_diagnostics import Diagnostics
from trueval.render.numbers import rounded, short_percent
from trueval.statistics.student import normal_quantile

_NAME, _HEADING = "propensities", "missing not at random"
_POWERS = (0.5, 1.0)  # of popularity, where nothing tells which
_REMEDY = (
    "collect ratings of items drawn at random (--unbiased FILE), or log how often each item was shown "
    "(trueval evaluate … --propensity display_share:FILE)"
)


class LikedShare(NamedTuple):
    """The share of ratings that are likes, and its standard error, with users as the sample."""

    value: float
    error: float

    def log_odds(self) -> tuple[float, float]:
        """The logarithm of its odds, and the error of that."""
        spread = self.value * (1 - self.value)
        if not spread:
            return math.nan, math.nan
        return math.log(self.value / (1 - self.value)), self.error / spread


@check(
    heading=_HEADING, kind="estimate", needs=("parts",),
    question="How likely was each rating to be observed?",
)  # fmt: skip
def propensities(case: Case) -> Iterable[Finding]:
    """What propensities by popularity leave of the test set; with a random sample, how observation depends on likes."""
    assert case.given is not None
    train, test = case.given.train, case.given.test
    rows = _liked(test, case.threshold)
    if not len(rows):
        return  # nothing is relevant
    sample = case.random_sample
    if sample is None:
        popularity = _popularity(train, rows)
        sizes = {power: _effective(popularity, power) for power in _POWERS}
        told = [f"{own.effective:,.0f} where the power is {power:g}" for power, own in sizes.items()]
        sentence = (
            "It cannot be known from a log how likely its ratings were to be there, and whether they are there because "
            "they are liked: ratings that are missing leave no trace. Weighted by inverse propensities that grow with "
            f"a power of popularity, {counted(len(rows), 'relevant test row has', 'relevant test rows have')} an "
            f"effective sample size (ESS) of {listed(told)}."
        )
        figures: dict[str, Any] = {"rows": len(rows), "effective": {str(q): own.effective for q, own in sizes.items()}}
        yield Finding(_NAME, _HEADING, "cannot tell", "estimate", sentence, figures, _REMEDY)
        return
    sentence, figures = _with_sample(train, test, sample, rows, case.threshold)
    yield Finding(_NAME, _HEADING, "fine", "estimate", sentence, figures)


def _with_sample(
    train: Interactions, test: Interactions, sample: Interactions, rows: pl.DataFrame, threshold: float | None
) -> tuple[str, dict[str, Any]]:
    """How observation depends on popularity and on liking, by a random sample."""
    items = Ids.of(*(log.frame["item"] for log in (train, test, sample)))
    liked = _liked(sample, threshold)
    by_item = [_counts(items, frame) for frame in (train.frame.unique(["user", "item"]), liked, rows)]
    power = popularity_power(*by_item)
    figures: dict[str, Any] = {"rows": len(rows), "power": power}
    said = []
    if not math.isnan(power):
        own = _effective(_popularity(train, rows), power)
        figures["effective"] = own.effective
        said.append(
            f"The chance of liked items to be observed grows with their train popularity to the power of "
            f"{rounded(power)}: weighted by the inverse, {_ess(own)}."
        )
    shares = [liked_share(log, threshold) for log in (test, sample)]
    times, low, high = odds_ratio(*shares)
    figures |= {"liked_observed": shares[0].value, "liked_random": shares[1].value, "odds": times}
    if not math.isnan(times):
        observed, random = (short_percent(share.value) for share in shares)
        said.append(
            f"Ratings that users like are {times:.1f} [{low:.1f}, {high:.1f}] times as likely to be observed as "
            f"others: {observed} of the observed ones are likes, and {random} of those of random items."
        )
    said.append("What this does to the order of systems is told by unbiased_order.")
    return " ".join(said), figures


def liked_share(log: Interactions, threshold: float | None) -> LikedShare:
    """The share of likes among the ratings of a log.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "value": [5, 1, 4, 2]}))
    >>> liked_share(log, 4)
    LikedShare(value=0.5, error=0.0)
    """
    own = log.frame.select("user", liked=_relevant(log, threshold)).group_by("user")
    frame = own.agg(pl.col("liked").sum(), rows=pl.len())
    likes, many = frame["liked"].to_numpy().astype(float), frame["rows"].to_numpy().astype(float)
    value, n = float(likes.sum() / many.sum()), len(frame)
    apart = likes - value * many
    error = math.sqrt(n / (n - 1) * float(apart @ apart)) / float(many.sum()) if n > 1 else math.nan
    return LikedShare(value, error)


def odds_ratio(observed: LikedShare, random: LikedShare, *, level: float = 0.95) -> tuple[float, float, float]:
    """How many times as likely a liked rating is to be observed as another one, with an interval.

    By Bayes' theorem that is the ratio of the odds of likes among observed ratings and among those of random items.

    >>> [round(x, 1) for x in odds_ratio(LikedShare(0.5, 0.01), LikedShare(0.2, 0.01))]
    [4.0, 3.5, 4.6]
    """
    (one, error), (other, its) = observed.log_odds(), random.log_odds()
    reach = normal_quantile(level) * math.hypot(error, its)
    return math.exp(one - other), math.exp(one - other - reach), math.exp(one - other + reach)


def _popularity(train: Interactions, rows: pl.DataFrame) -> np.ndarray:
    """Popularity of the item of each row; of the most popular item: 1."""
    return Propensity.popularity(train, gamma=1).of(rows).to_numpy()


def _effective(popularity: np.ndarray, power: float) -> Diagnostics:
    """Weights of relevant test rows under propensities by popularity to a power."""
    chance = popularity**power
    return Diagnostics.of(chance / chance.max())


def _ess(own: Diagnostics) -> str:
    """Words for an effective sample size."""
    rows = counted(own.n, "relevant test row has", "relevant test rows have")
    return f"{rows} an effective sample size (ESS) of {own.effective:,.0f}"


def _relevant(log: Interactions, threshold: float | None) -> pl.Expr:
    if not log.has("value"):
        return pl.lit(True)
    return pl.col("value") > 0 if threshold is None else pl.col("value") >= threshold


def _liked(log: Interactions, threshold: float | None) -> pl.DataFrame:
    return log.frame.filter(_relevant(log, threshold)).select("user", "item").unique(maintain_order=True)


def _counts(items: Ids, frame: pl.DataFrame) -> np.ndarray:
    return np.bincount(items.codes(frame["item"]), minlength=len(items)).astype(float)
