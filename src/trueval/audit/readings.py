"""Readings: how good lists are, under assumptions about how their ratings came about that are written out.

A log does not say why a pair has no rating. Each reading is an assumption that would explain it, with an estimator that
is right under the assumption on lists of any length. Estimates of *as judged* and *self-selected* are shares: of the
judged items among the first places, how many are liked, with every judged item weighted by one over the chance to have
a rating of its kind. As ratios of sums over users they need no complete list, and no liked item of every user.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import polars as pl

from trueval.audit.settings import RankedSystem
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.popularity import item_counts
from trueval.errors import TruevalError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.spec import Spec
from trueval.statistics.significance_tests import t_test
from trueval.statistics.student import student_interval

AS_RATED = "as rated"
AS_JUDGED = "as judged"
SELF_SELECTED = "self-selected"
DISPLAYED = "displayed"
AS_MET = "as met"
RANDOM = "random"
# What each reading assumes, in words that follow "if".
ASSUMPTIONS = {
    AS_RATED: "an item without a rating counts as not liked",
    AS_JUDGED: "people rate what they come across, whether they like it or not",
    SELF_SELECTED: "people also rate what they like ten times as readily as what they do not like",
    AS_MET: "an item has many ratings because many people come across it, and not because they like it",
    DISPLAYED: "the propensities tell how likely every pair was to be rated, liked or not",
    RANDOM: "the unbiased test is right",
}
READINESS = 10.0  # how much more readily a liked item is rated in the self-selected reading
_LEAST = 10.0  # users with judged items, in effect, below which a share has no interval that could be relied on
_TOLD_APART = 10_000  # ranks behind this one weigh as much as this one


@dataclass(frozen=True, slots=True)
class Estimate:
    """Better minus worse system under a reading, with a 95 % interval and a two-sided p."""

    difference: float
    low: float
    high: float
    p: float

    def significant(self, alpha: float) -> bool:
        """Whether there is a difference."""
        return self.p < alpha  # False where p is not known

    def favours_first(self, alpha: float) -> bool:
        """Whether the first system is significantly better."""
        return self.difference > 0 and self.significant(alpha)

    def turned(self) -> Estimate:
        """The same with the systems exchanged."""
        return Estimate(-self.difference, -self.high, -self.low, self.p)


UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class ItemRatings:
    """How many users of the log like each item and how many do not, in the codes of a vocabulary."""

    liked: np.ndarray
    disliked: np.ndarray

    @staticmethod
    def of(logs: list[Interactions], items: Ids, threshold: float | None) -> ItemRatings:
        """Counted over all logs that have ratings; a log without them cannot say who does not like an item."""
        liked = pl.col("value") >= threshold if threshold is not None else pl.col("value") > 0
        rated = [log.frame for log in logs if log.has("value")]
        return ItemRatings(*(
            item_counts([frame.filter(keep) for frame in rated], items, "users").astype(np.float64)
            if rated else np.zeros(len(items))
            for keep in (liked, ~liked)
        ))  # fmt: skip

    def weights(self, readiness: float) -> tuple[np.ndarray, np.ndarray]:
        """One over the relative chance that a liked and a disliked pair of each item has a rating.

        Where a liked item is rated `readiness` times as readily, liked + disliked = exposure · (readiness · share + 1 −
        share) · users for both kinds alone, so that exposure ∝ liked / readiness + disliked.

        >>> ItemRatings(np.array([10.0]), np.array([4.0])).weights(10.0)
        (array([0.02]), array([0.2]))
        """
        exposure = np.maximum(self.liked / readiness + self.disliked, 0.5 / readiness)
        return 1 / (readiness * exposure), 1 / exposure


@dataclass(frozen=True)
class LikedShare:
    """Σ numerator / Σ denominator over users: the share of liked items among judged ones, by weight."""

    numerator: np.ndarray = field(repr=False)
    denominator: np.ndarray = field(repr=False)

    @property
    def value(self) -> float:
        """The share; NaN where nothing is judged."""
        total = float(self.denominator.sum())
        return float(self.numerator.sum()) / total if total > 0 else math.nan

    @property
    def effective(self) -> float:
        """The number of users that a share with these weights is worth."""
        squares = float((self.denominator**2).sum())
        return float(self.denominator.sum()) ** 2 / squares if squares > 0 else 0.0

    @property
    def influence(self) -> np.ndarray:
        """By how much each user moves the share, which is a ratio of means."""
        return (self.numerator - self.value * self.denominator) / self.denominator.mean()


def compare_shares(first: LikedShare, second: LikedShare) -> Estimate:
    """First minus second share, paired over users, with the interval of a difference of ratios.

    Where few users have most of the weight, the error is known as badly as from that few users: degrees of freedom are
    those of the effective number. With those of all users, tests of 5 % rejected up to 9 % of differences of 0.
    """
    effective = min(first.effective, second.effective)
    if effective < _LEAST:
        return UNKNOWN
    return _mean_estimate(first.influence - second.influence, first.value - second.value, effective - 1)


def compare_sums(first: np.ndarray, second: np.ndarray) -> Estimate:
    """First minus second mean over users, paired."""
    return _mean_estimate(first - second, float((first - second).mean()), math.inf)


def _mean_estimate(by_user: np.ndarray, value: float, most_free: float) -> Estimate:
    differing = int(np.count_nonzero(by_user))
    if differing < 2:
        return Estimate(value, math.nan, math.nan, 1.0 if value == 0 else math.nan)
    error, freedom = float(by_user.std(ddof=1)) / math.sqrt(len(by_user)), min(differing - 1, most_free)
    low, high = student_interval(value, error, freedom=freedom, level=0.95)
    return Estimate(value, low, high, t_test(value, error, freedom))


def displayed_spec(spec: Spec) -> Spec | None:
    """The metric with liked items weighted by one over the propensities that were given, or DCG where it is no sum over
    them; None for metrics that are not about liked items in a list.

    >>> from trueval.metrics.grammar import parse
    >>> [str(displayed_spec(parse(name))) for name in ("recall@5", "ndcg@5", "novelty@5")]
    ['ips(recall)@5', 'ips(dcg)@5', 'None']
    """
    if {"ips", "snips"} & set(spec.transforms):
        return spec
    if spec.transforms or spec.metric.looks_for != "relevant":
        return None
    additive = spec if spec.metric.terms is not None else parse("dcg" if spec.k is None else f"dcg@{spec.k}")
    name = additive.metric.name
    return parse(f"ips({name}){str(additive).removeprefix(name)}")


def place_weights(spec: Spec, depth: int) -> np.ndarray | None:
    """How much a metric makes of a liked item at each place, as its value of one liked item alone; None for metrics
    that are not about liked or disliked items in a list.

    >>> from trueval.metrics.grammar import parse
    >>> place_weights(parse("ndcg@2"), 4).round(3).tolist(), place_weights(parse("anti(precision)@2"), 3).tolist()
    ([1.0, 0.631, 0.0, 0.0], [0.5, 0.5, 0.0])
    >>> place_weights(parse("novelty@2"), 3) is None
    True
    """
    if spec.metric.system or spec.metric.looks_for not in ("relevant", "not relevant"):
        return None
    return _place_weights(spec, depth)


@lru_cache(maxsize=64)
def _place_weights(spec: Spec, depth: int) -> np.ndarray:
    places = np.arange(1, depth + 1)
    inside = np.ones(depth) if spec.k is None else (places <= spec.k).astype(float)
    smooth = inside / np.log2(places + 1)
    try:
        weights = compute(replace(spec.naive, rules=()), _one_liked(min(depth, _TOLD_APART)), Inputs()).per_unit
    except TruevalError:  # it needs more than a list
        weights = None
    if weights is None or not spec.metric.transformed or not np.isfinite(weights).all() or not weights.any():
        return smooth if spec.k is None else inside
    weights = np.concatenate([weights, np.full(depth - len(weights), weights[-1])])
    # without a cutoff every judged item is in the list, so that equal weights would tell nothing; R-precision, whose
    # cutoff is the number of liked items, would have the first place alone
    return smooth if spec.k is None and (np.ptp(weights) == 0 or not weights[1:].any()) else weights


def _one_liked(depth: int) -> RankingFacts:
    """A unit for each place, with one liked item there."""
    places = np.arange(1, depth + 1, dtype=np.int32)
    one = np.ones(depth)
    return RankingFacts(
        unit_user=np.zeros(depth, np.int32), start=np.arange(depth + 1), item=np.zeros(depth, np.int32), value=one,
        relevant=one > 0, rank=places, above=places - 1, tied=one.astype(np.int32),
        list_start=np.zeros(depth + 1, np.int64), list_item=np.zeros(0, np.int32), targets=np.full(depth, depth),
        users=Ids(pl.Series(["user"])), items=Ids(pl.Series(["item"])), catalogue=depth, exact=True, highest=1.0,
    )  # fmt: skip


@dataclass(frozen=True)
class JudgedPlaces:
    """The judged items within the first places of a system's lists, each with what its place counts."""

    user: np.ndarray = field(repr=False)  # codes of a vocabulary that all systems share
    item: np.ndarray = field(repr=False)
    liked: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    n_users: int
    judged: float  # share of the places within the cutoff whose item has a rating

    def share(self, ratings: ItemRatings, readiness: float) -> LikedShare:
        """The liked share, where liked pairs are rated `readiness` times as readily as disliked ones."""
        for_liked, for_disliked = ratings.weights(readiness)
        weight = np.where(self.liked, for_liked[self.item], for_disliked[self.item]) * self.counts
        return LikedShare(self._by_user(weight * self.liked), self._by_user(weight))

    def hits_by_exposure(self, ratings: ItemRatings) -> np.ndarray:
        """For each user the liked items, each weighted by one over its number of likes."""
        return self._by_user(self.liked * self.counts / np.maximum(ratings.liked[self.item], 1))

    def _by_user(self, amounts: np.ndarray) -> np.ndarray:
        return np.bincount(self.user, weights=amounts, minlength=self.n_users)


def judged_places(ranked: Mapping[str, RankedSystem], spec: Spec) -> dict[str, JudgedPlaces] | None:
    """The judged places of every system; None where lists are not those of users, or the metric is about others."""
    facts = {name: system.facts for name, system in ranked.items()}
    first = next(iter(facts.values()))
    if any(one.one_relevant or one.stratum is not None for one in facts.values()):
        return None
    deepest = max([int(one.rank.max(initial=0)) for one in facts.values()] + [1])
    weights = place_weights(spec, deepest)
    if weights is None:
        return None
    vocabularies = {id(one.users): one.users for one in facts.values()}
    users = first.users if len(vocabularies) == 1 else Ids.of(*(ids.values for ids in vocabularies.values()))
    places = {}
    for name, one in facts.items():
        inside = np.flatnonzero((one.rank > 0) & (np.append(weights, 0.0)[one.rank - 1] > 0))
        user = one.unit_user[one.unit[inside]]
        if len(vocabularies) > 1:
            user = users.codes(one.users.values)[user]
        listed = one.targets.clip(min=0) if spec.k is None and not one.length.any() else one.listed_at(spec.k)
        places[name] = JudgedPlaces(
            user, one.item[inside], one.relevant[inside], weights[one.rank[inside] - 1], len(users),
            len(inside) / max(int(listed.sum()), 1),
        )  # fmt: skip
    return places
