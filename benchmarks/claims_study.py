"""Are the answers of the audit right? One world: the answers for all pairs of systems, beside what is true."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from known_worlds import KnownWorld
from trueval.audit.changes import differences
from trueval.audit.claims import Claim, make_claims
from trueval.audit.finding import ALPHA
from trueval.audit.make_case import make_case
from trueval.audit.readings import (
    AS_JUDGED,
    SELF_SELECTED,
    Estimate,
    ItemRatings,
    JudgedPlaces,
    LikedShare,
    compare_shares,
    compare_sums,
    judged_places,
)
from trueval.audit.settings import Setting
from trueval.audit.subject import Subject
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import condense
from trueval.kernels import use_kernels, use_threads
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.significance_tests import t_test

COMPLETE = 0  # in place of a depth
# What was tried for the self-selected reading, each together with "as judged", and each of the two by itself.
TRIED = (
    AS_JUDGED, "readiness 3", f"{SELF_SELECTED} (readiness 10)", "readiness 30", "met as often as disliked",
    "doubly robust", "square root of the weight", "no weights", "likes alone",
)  # fmt: skip
CONDENSED, BPREF = "condensed nDCG", "bpref"
_SHRUNK = 5.0  # ratings at the overall share that an item's share of likes begins with


def study(
    world: KnownWorld, depths: Sequence[int], *, tried: Sequence[int] = (), metrics: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """For each depth the claims of the audit with the true order of each pair: 1 it is right, -1 reversed, 0 undecided.

    Lists are evaluated by nDCG at their depth or by `metrics`, whose truth trueval computes from the complete ratings.
    At the depths of `tried`, other readings and metrics are compared as well.
    """
    orders = world.orders()
    found = []
    with use_kernels("compiled"), use_threads(1):
        for depth in depths:
            recs = world.lists(orders, depth or world.values.shape[1])
            ndcg = f"ndcg@{depth}" if depth else "ndcg"
            case = case_of(world, recs, world.log(world.test), metrics or [ndcg])
            claims, subject = make_claims(case), case.measured
            if metrics is None:
                true = {
                    ndcg: _true_differences({n: world.true_ndcg(o, depth or o.shape[1]) for n, o in orders.items()})
                }
            else:
                there = case_of(world, recs, world.truth(), metrics).measured
                true = {
                    label: {pair: _side(one.value, one.p) for pair, one in there.here[label].items()}
                    for label in there.labels
                }
            others = _Others(subject, case.train.frame, case.test.frame, world.threshold) if depth in tried else None
            for label in subject.labels:
                rows = []
                for one in claims.pairs:
                    if one.metric == label:
                        side = _of(true[label], one.better, one.worse)
                        rows.append([one.better, one.worse, side, one.answer, others.signs(one) if others else None])
                by_metric = {} if others is None else others.orders(true[label])
                decided = sum(side != 0 for side in true[label].values())
                found.append({"depth": depth, "metric": label, "pairs": rows, "others": by_metric, "decided": decided})
    return found


def case_of(world: KnownWorld, recs: Mapping[str, pl.DataFrame], test: pl.DataFrame, metrics: Sequence[str]) -> Any:
    return make_case(
        None, None, train=world.log(world.train), test=test, validation=None, recs=recs, metrics=list(metrics),
        design="AR-TI-AN", relevant_change=None, unbiased=None, threshold=world.threshold, population="relevant",
        missing="zero", invalid="refuse", ties="random", items=None, users=None, only_users=None, by=None, min_group=30,
        columns=None, seed=0,
    )  # fmt: skip


def _side(value: float, p: float) -> int:
    """The side of a significant difference; 0 where there is none."""
    return int(np.sign(value)) if p < ALPHA else 0


def _of(sides: Mapping[tuple[str, str], int], first: str, second: str) -> int:
    return sides[first, second] if (first, second) in sides else -sides[second, first]


def _true_differences(values: Mapping[str, np.ndarray]) -> dict[tuple[str, str], int]:
    """The better system of every pair, where that is significant over users (t-test); 0 elsewhere."""
    names, sides = list(values), {}
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            apart = values[first] - values[second]
            apart = apart[~np.isnan(apart)]
            mean, error = float(apart.mean()), float(apart.std(ddof=1)) / math.sqrt(len(apart))
            sides[first, second] = _side(mean, t_test(mean, error, len(apart) - 1)) if error > 0 else 0
    return sides


class _Others:
    """Other readings than those of the audit, and other metrics of lists, on the same pairs."""

    def __init__(self, subject: Subject, train: pl.DataFrame, test: pl.DataFrame, threshold: float) -> None:
        assert subject.ranked is not None
        self.subject = subject
        self.facts = {name: one.facts for name, one in subject.ranked.items()}
        label = subject.labels[0]
        places = judged_places(subject.ranked, subject.specs[label])
        assert places is not None
        items = next(iter(self.facts.values())).items
        logs = [_log(train), _log(test)]
        self.ratings = ItemRatings.of(logs, items, threshold)
        in_train = ItemRatings.of(logs[:1], items, threshold)
        rated = in_train.liked + in_train.disliked
        overall = in_train.liked.sum() / max(rated.sum(), 1)
        self.expected = (in_train.liked + _SHRUNK * overall) / (rated + _SHRUNK)
        self.shares = {way: {name: self._share(way, one, name) for name, one in places.items()} for way in TRIED[:-1]}
        self.likes = {name: one.hits_by_exposure(self.ratings) for name, one in places.items()}

    def _share(self, way: str, places: JudgedPlaces, name: str) -> LikedShare | tuple[float, np.ndarray]:
        if way.startswith(("readiness", SELF_SELECTED)):
            return places.share(self.ratings, float(way.strip(")").split()[-1]))
        if way == AS_JUDGED:
            return places.share(self.ratings, 1.0)
        exposure = self.ratings.liked + self.ratings.disliked
        weights = {
            "met as often as disliked": 1 / np.maximum(self.ratings.disliked, 0.5),
            "square root of the weight": exposure.clip(1) ** -0.5, "no weights": np.ones(len(exposure)),
            "doubly robust": 1 / exposure.clip(1),
        }[way][places.item] * places.counts  # fmt: skip
        if way != "doubly robust":
            return LikedShare(*(np.bincount(places.user, weights=w, minlength=places.n_users)
                                for w in (weights * places.liked, weights)))  # fmt: skip
        left = places.liked - self.expected[places.item]
        rest = LikedShare(*(np.bincount(places.user, weights=w, minlength=places.n_users)
                            for w in (weights * left, weights)))  # fmt: skip
        of_lists = _mean_of_lists(self.facts[name], self.expected)
        return float(of_lists.mean()) + rest.value, of_lists - of_lists.mean() + rest.influence

    def signs(self, claim: Claim) -> list[int]:
        """What each of `TRIED` says of a claim: 1 the same order, -1 the other one, 0 neither."""
        found = []
        for way in TRIED[:-1]:
            first, second = self.shares[way][claim.better], self.shares[way][claim.worse]
            if isinstance(first, LikedShare) and isinstance(second, LikedShare):
                one = compare_shares(first, second)
            else:
                assert isinstance(first, tuple)
                assert isinstance(second, tuple)
                by_user = first[1] - second[1]
                one = _estimate(first[0] - second[0], by_user)
            found.append(_side(one.difference, one.p))
        last = compare_sums(self.likes[claim.better], self.likes[claim.worse])
        return [*found, _side(last.difference, last.p)]

    def orders(self, true: Mapping[tuple[str, str], int]) -> dict[str, list[int]]:
        """Of the orders that are significant by other metrics of the lists: how many are right, and how many wrong."""
        label = self.subject.labels[0]
        settings = {
            CONDENSED: self.subject.view("", lambda one: condense(one.facts)),
            BPREF: self.subject.view("", lambda one: one.facts, self.subject.more_specs(["bpref"])),
        }
        return {name: _right_and_wrong(own, label if name == CONDENSED else "bpref", true)
                for name, own in settings.items() if own is not None}  # fmt: skip


def _right_and_wrong(setting: Setting, label: str, true: Mapping[tuple[str, str], int]) -> list[int]:
    known = [one for one in differences(setting, label).values() if not math.isnan(one.p)]
    p = corrected(np.array([one.p for one in known]))
    agreeing = [_side(one.value, at) * _of(true, one.first, one.second) for one, at in zip(known, p)]
    return [agreeing.count(1), agreeing.count(-1)]


def _estimate(value: float, by_user: np.ndarray) -> Estimate:
    error = float(by_user.std(ddof=1)) / math.sqrt(len(by_user))
    if not error > 0:
        return Estimate(value, math.nan, math.nan, math.nan)
    return Estimate(value, math.nan, math.nan, t_test(value, error, len(by_user) - 1))


def _mean_of_lists(facts: RankingFacts, values: np.ndarray) -> np.ndarray:
    """For each user the mean of the values of the listed items, by the weight of their places."""
    discount = 1 / np.log2(facts.place + 1)
    sums = np.bincount(facts.list_unit, weights=values[facts.list_item] * discount, minlength=len(facts))
    return np.asarray(sums / np.maximum(np.bincount(facts.list_unit, weights=discount, minlength=len(facts)), 1e-12))


def _log(frame: pl.DataFrame) -> Any:
    from trueval.data.interactions import Interactions

    return Interactions.of(frame, name="log")
