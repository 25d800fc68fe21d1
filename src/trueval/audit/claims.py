"""What may be claimed: for every pair of systems that differ, whether their order holds under all readings of the data.

*holds*: the pair keeps its order, significantly, under every reading that the data allow. *depends*: it is reversed
significantly under at least one of them. *cannot tell*: under some reading too little is judged to say either. An
unbiased test overrules all readings. How often each answer is right is measured: see the page on known rates.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueval.audit.case import Case
from trueval.audit.changes import Difference, differences
from trueval.audit.finding import ALPHA
from trueval.audit.readings import (
    AS_JUDGED,
    AS_MET,
    AS_RATED,
    ASSUMPTIONS,
    DISPLAYED,
    RANDOM,
    READINESS,
    SELF_SELECTED,
    UNKNOWN,
    Estimate,
    ItemRatings,
    JudgedPlaces,
    compare_shares,
    compare_sums,
    displayed_spec,
    judged_places,
)
from trueval.audit.sentences import counted, listed
from trueval.audit.settings import Setting, measure_setting
from trueval.audit.subject import Subject
from trueval.data.json_values import without_nan
from trueval.render.numbers import digits_for, number, short_percent
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.power import detectable_shift

HOLDS, DEPENDS, CANNOT_TELL = ANSWERS = ("holds", "depends", "cannot tell")
_SHOWN = 4  # pairs in a sentence


@dataclass(frozen=True, slots=True)
class Claim:
    """One order of two systems on one metric, the answer to whether it may be claimed, and what each reading says.

    Differences are better minus worse system. Those of *as rated* and *random* are in units of the metric, those of the
    other readings are differences of liked shares. `labels` is how many ratings would decide; None where it is not
    known, or where nothing is to be decided.
    """

    better: str
    worse: str
    metric: str
    answer: str
    readings: Mapping[str, Estimate]
    labels: int | None = None
    lower: bool = False  # whether lower values of the metric are better, which counts what is not liked

    def assumption(self, reading: str) -> str:
        """What a reading assumes, in words that follow "if"."""
        if reading == AS_RATED and self.lower:
            return "an item without a rating counts as not disliked"
        return ASSUMPTIONS[reading]

    def record(self) -> dict[str, Any]:
        """As plain data; what is undefined is None."""
        readings = {
            name: {"difference": one.difference, "low": one.low, "high": one.high, "p": one.p}
            for name, one in self.readings.items()
        }
        found: dict[str, Any] = without_nan({
            "better": self.better, "worse": self.worse, "metric": self.metric, "answer": self.answer,
            "readings": readings, "labels": self.labels,
        })  # fmt: skip
        return found

    @property
    def reversed_under(self) -> list[str]:
        """The readings under which the order is significantly the other one."""
        return [name for name, one in self.readings.items() if one.turned().favours_first(ALPHA)]


@dataclass(frozen=True)
class Claims:
    """The answers for all pairs of systems that differ significantly, on each metric.

    `judged` is the share of judged items within the cutoff, by metric and system; `no_reading` says by metric why its
    orders have no other reading than *as rated*; `undecided` are pairs that do not differ significantly.
    """

    pairs: tuple[Claim, ...]
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    judged: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    no_reading: Mapping[str, str] = field(default_factory=dict)
    undecided: int = 0

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def readings(self) -> list[str]:
        """The readings of any pair."""
        return [name for name in ASSUMPTIONS if any(name in claim.readings for claim in self.pairs)]

    @property
    def assumptions(self) -> dict[str, str]:
        """What each reading assumes, in words."""
        return {
            name: "; ".join(dict.fromkeys(claim.assumption(name) for claim in self.pairs if name in claim.readings))
            for name in self.readings
        }

    def of(self, answer: str) -> list[Claim]:
        """The claims with an answer."""
        return [claim for claim in self.pairs if claim.answer == answer]

    def records(self) -> list[dict[str, Any]]:
        """All claims as plain data."""
        return [claim.record() for claim in self.pairs]

    def safest_order(self, metric: str) -> list[list[str]]:
        """Systems from best to worst, in groups: every system of a group holds against every one of the groups behind
        it. Systems that would put an order among the others that does not hold are left out.

        >>> claims = [Claim("a", "b", "ndcg@10", "holds", {}), Claim("c", "b", "ndcg@10", "depends", {})]
        >>> Claims(tuple(claims), ("b", "a", "c"), ("ndcg@10",)).safest_order("ndcg@10")
        [['a'], ['b']]
        """
        holding = {(one.better, one.worse) for one in self.pairs if one.metric == metric and one.answer == HOLDS}
        included = list(self.systems)
        while True:
            groups, left = list[list[str]](), list(included)
            while left:
                # orders that hold may contradict each other where an unbiased test overrules some of them
                best = [name for name in left if not any((other, name) in holding for other in left)] or left
                groups.append(best)
                left = [name for name in left if name not in best]
            unsupported = [
                pair
                for first, second in itertools.combinations(groups, 2)
                for pair in itertools.product(first, second)
                if pair not in holding
            ]
            if not unsupported:
                return groups
            ends = Counter(itertools.chain.from_iterable(unsupported))
            included.remove(max(included, key=lambda name: (ends[name], -sum(name in pair for pair in holding))))

    def sentences(self) -> list[str]:
        """What may be claimed, in at most five lines."""
        if not self.systems:
            return []
        if len(self.systems) == 1:
            return [
                "What may be claimed: no order, for there is one system. Add the lists of a system to compare with."
            ]
        lines = [self._holding()]
        depending, untold = self.of(DEPENDS), self.of(CANNOT_TELL)
        if depending:
            first = depending[0]
            others = [one for one in depending if {one.better, one.worse} != {first.better, first.worse}]
            more = f". So {'do' if len(others) > 1 else 'does'} {_pairs(others)}" if others else ""
            lines.append(f"Depends on how the ratings came about: {_written_out(first)}{more}.")
        if untold:
            lines.append(f"Cannot be told: {_pairs(untold)} ({self._evidence(untold)}).")
        orders = {metric: self.safest_order(metric) for metric in self.metrics}
        sorted_orders = {metric: groups for metric, groups in orders.items() if len(groups) > 1}
        if sorted_orders and (depending or untold or self.undecided):
            metric, groups = next(iter(sorted_orders.items()))
            outside = [name for name in self.systems if not any(name in group for group in groups)]
            aside = f" ({listed(outside)} cannot be placed)" if outside else ""
            lines.append(f"Safest order by {metric}: {' > '.join(listed(group) for group in groups)}{aside}.")
        if depending or untold:
            lines.append(self._next((depending or untold)[0]))
        return lines

    def _holding(self) -> str:
        holding = self.of(HOLDS)
        if not self.pairs:
            return (
                f"What may be claimed: nothing, for no two systems differ significantly on {listed(self.metrics)}."
                if self.undecided
                else "What may be claimed: nothing, for no difference can be tested."
            )
        if not holding:
            significant = counted(len(self.pairs), "order is", "orders are")
            return f"What may be claimed: nothing yet, though {significant} significant as evaluated."
        overruled = [claim for claim in holding if RANDOM in claim.readings and claim.readings[AS_RATED].difference < 0]
        under = "by the unbiased test" if any(RANDOM in one.readings for one in holding) else "under every reading"
        turned = f" (the other way round than as evaluated: {_pairs(overruled)})" if overruled else ""
        return f"What may be claimed: {_pairs(holding)} {'hold' if len(holding) > 1 else 'holds'} {under}{turned}."

    def _evidence(self, claims: Sequence[Claim]) -> str:
        metric = claims[0].metric
        if metric in self.no_reading:
            return self.no_reading[metric]
        names = {name for claim in claims if claim.metric == metric for name in (claim.better, claim.worse)}
        shares = [self.judged[metric][name] for name in names if name in self.judged.get(metric, {})]
        if not shares:
            return "too little is judged"
        low, high = short_percent(min(shares)), short_percent(max(shares))
        return f"{low if low == high else f'{low} to {high}'} of the listed items have a rating"

    def _next(self, claim: Claim) -> str:
        displays = ", or propensities from a log of displays (--propensity)" if claim.metric in self.no_reading else ""
        many = f"about {claim.labels:,} ratings" if claim.labels is not None else "ratings"
        return (
            f"To decide {claim.better} > {claim.worse}: collect {many} of listed items, drawn at random from the "
            f"places where the two lists differ, and give them as --unbiased FILE (unbiased= in Python){displays}."
        )

    def grid(self) -> tuple[list[str], list[list[str]]]:
        """A row for each claim: its answer, and the difference under each reading with its interval."""
        readings = self.readings
        rows = [
            [claim.answer, f"{claim.better} > {claim.worse}", claim.metric]
            + [_interval(claim.readings.get(name, UNKNOWN)) for name in readings]
            + [f"{claim.labels:,}" if claim.labels is not None else "–"]
            for answer in ANSWERS
            for claim in self.of(answer)
        ]
        return ["answer", "order", "metric", *readings, "ratings that would decide"], rows


def make_claims(case: Case) -> Claims:
    """The answers for the systems of a case."""
    subject = case.subject
    if subject is None:
        return Claims((), (), ())
    pairs: list[Claim] = []
    judged: dict[str, dict[str, float]] = {}
    no_reading: dict[str, str] = {}
    undecided = 0
    for metric in subject.labels if len(subject.compared) > 1 else []:
        differences = [one for one in subject.here[metric].values() if not math.isnan(one.p)]
        p = corrected(np.array([max(one.p, one.p_rare) for one in differences]))
        different = [one if one.value > 0 else one.turned() for one, at in zip(differences, p) if at < ALPHA]
        undecided += len(differences) - len(different)
        readings = _PairReadings.of(case, metric)
        judged[metric] = {name: one.judged for name, one in (readings.places or {}).items()}
        if readings.missing:
            no_reading[metric] = readings.missing
        displayed, lower = _displayed(subject, metric), subject.specs[metric].better == "lower"
        for one in different:
            outside = {DISPLAYED: _same_pair(displayed, metric, one), RANDOM: _same_pair(subject.true, metric, one)}
            known = {name: estimate for name, estimate in outside.items() if estimate is not None}
            pairs.append(_claim(one, metric, readings, known, lower=lower))
    return Claims(tuple(pairs), tuple(subject.compared), tuple(subject.labels), judged, no_reading, undecided)


def combine_claims(repeats: Sequence[Claims]) -> Claims:
    """One answer for several folds or seeds: that of most of them, with the readings of a repeat that gives it.

    Where no answer has more than half of the repeats, or the order differs between them, it cannot be told.
    """
    if len(repeats) == 1:
        return repeats[0]
    first = repeats[0]
    by_pair: dict[tuple[str, frozenset[str]], list[Claim]] = {}
    for claim in itertools.chain.from_iterable(one.pairs for one in repeats):
        by_pair.setdefault((claim.metric, frozenset((claim.better, claim.worse))), []).append(claim)
    combined, undecided = [], 0
    for claims in by_pair.values():
        if 2 * len(claims) <= len(repeats):  # in most repeats the systems do not differ significantly
            undecided += 1
            continue
        for claim in claims:
            alike = [one for one in claims if (one.better, one.answer) == (claim.better, claim.answer)]
            if 2 * len(alike) > len(repeats):
                combined.append(claim)
                break
        else:
            combined.append(replace(claims[0], answer=CANNOT_TELL))
    return replace(first, pairs=tuple(combined), undecided=undecided + min(one.undecided for one in repeats))


@dataclass(frozen=True)
class _PairReadings:
    """What the readings beside *as rated* are computed from; `missing` says why they are not there."""

    places: Mapping[str, JudgedPlaces] | None
    ratings: ItemRatings | None
    missing: str = ""

    @staticmethod
    def of(case: Case, metric: str) -> _PairReadings:
        subject = case.measured
        if subject.ranked is None:
            return _PairReadings(None, None, "the ranks behind the values are not known")
        places = judged_places(subject.ranked, subject.specs[metric])
        if places is None:
            return _PairReadings(None, None, f"no other reading is known for {metric} under this design")
        facts = next(iter(subject.ranked.values())).facts
        ratings = ItemRatings.of([log for log in (case.train, case.test) if log is not None], facts.items,
                                 subject.options.threshold)  # fmt: skip
        if case.test is None or not (ratings.liked.any() or ratings.disliked.any()):
            ratings = ItemRatings(*(
                np.bincount(facts.item[keep], minlength=len(facts.items)).astype(float)
                for keep in (facts.relevant, ~facts.relevant)
            ))  # fmt: skip
        if any(not one.liked.all() for one in places.values()):
            return _PairReadings(places, ratings)
        return _PairReadings(places, ratings, "the test set has liked items only, which does not tell a disliked item "
                             "from one that nobody came across")  # fmt: skip

    def compare(self, better: str, worse: str) -> dict[str, Estimate]:
        """The difference of two systems under each reading."""
        if self.places is None or self.ratings is None:
            return {}
        first, second, ratings = self.places[better], self.places[worse], self.ratings
        if self.missing:
            sums = first.hits_by_exposure(ratings), second.hits_by_exposure(ratings)
            return {AS_MET: compare_sums(*sums)}
        return {
            name: compare_shares(first.share(ratings, readiness), second.share(ratings, readiness))
            for name, readiness in ((AS_JUDGED, 1.0), (SELF_SELECTED, READINESS))
        }

    def labels(self, better: str, worse: str, difference: float) -> int | None:
        """How many ratings of listed items, half of them from each list, find such a difference of liked shares with
        80 % power; fewer will do where the lists have items in common."""
        if self.places is None or self.ratings is None or self.missing or not abs(difference) > 0:
            return None
        shares = [self.places[name].share(self.ratings, 1.0).value for name in (better, worse)]
        liked = sum(shares) / 2
        needed = 4 * liked * (1 - liked) * (detectable_shift(1000) / difference) ** 2
        return math.ceil(needed) if math.isfinite(needed) and needed < 1e7 else None


def _claim(
    one: Difference, metric: str, readings: _PairReadings, outside: Mapping[str, Estimate], *, lower: bool
) -> Claim:
    """The answer for a pair whose first system is better as evaluated; `outside` are readings that rest on more than
    the ratings."""
    estimates = {AS_RATED: _estimate(one), **readings.compare(one.first, one.second), **outside}
    better, worse, labels = one.first, one.second, None
    if RANDOM in estimates and estimates[RANDOM].significant(ALPHA):  # it overrules all others
        answer = HOLDS
        if estimates[RANDOM].difference < 0:
            better, worse = worse, better
            estimates = {name: estimate.turned() for name, estimate in estimates.items()}
        return Claim(better, worse, metric, answer, estimates, lower=lower)
    # Likes alone do not tell what popularity is due to: then displays must confirm an order. Where there are dislikes,
    # displays, whose weights vary more, need only not reverse it.
    needed = [AS_JUDGED, SELF_SELECTED] if AS_JUDGED in estimates else [DISPLAYED]
    confirmed = all(name in estimates and estimates[name].favours_first(ALPHA) for name in needed)
    doubted = [name for name in (AS_JUDGED, SELF_SELECTED, DISPLAYED) if name in estimates]
    doubted += [AS_MET] if AS_MET in estimates and not confirmed else []
    answer = HOLDS if confirmed else CANNOT_TELL
    if any(estimates[name].turned().favours_first(ALPHA) for name in doubted):
        answer = DEPENDS
    if answer != HOLDS and AS_JUDGED in estimates:
        labels = readings.labels(better, worse, estimates[AS_JUDGED].difference)
    return Claim(better, worse, metric, answer, estimates, labels, lower)


def _displayed(subject: Subject, metric: str) -> Setting | None:
    """The values weighted by the propensities that were given, under the same name; None without them."""
    weighted = displayed_spec(subject.specs[metric]) if subject.options.propensity is not None else None
    if weighted is None or subject.ranked is None:
        return None
    return measure_setting(DISPLAYED, subject.ranked, {metric: weighted}, subject.options)


def _same_pair(setting: Setting | None, metric: str, one: Difference) -> Estimate | None:
    """The difference of the same pair in another setting; None where it is not known there."""
    if setting is None or metric not in setting.specs or not {one.first, one.second} <= set(setting.systems):
        return None
    pair = one.first, one.second
    there = differences(setting, metric, pairs=[pair]).get(pair)
    return None if there is None or math.isnan(there.p) else _estimate(there)


def _estimate(one: Difference) -> Estimate:
    return Estimate(one.value, one.low, one.high, one.p)


def _pairs(claims: Sequence[Claim]) -> str:
    """The orders of some claims, those of one pair on several metrics together."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        metrics.setdefault((claim.better, claim.worse), []).append(claim.metric)
    several = len({claim.metric for claim in claims}) > 1
    texts = [
        f"{better} > {worse}{f' ({listed(names)})' if several else ''}" for (better, worse), names in metrics.items()
    ]
    more = len(texts) - _SHOWN
    return listed(texts) if more <= 0 else f"{', '.join(texts[:_SHOWN])} and {counted(more, 'other order')}"


def _written_out(claim: Claim) -> str:
    """An order that depends on the reading, with both readings."""
    other = next(name for name in claim.reversed_under)
    here, there = claim.readings[AS_RATED], claim.readings[other].turned()
    return (
        f"{claim.better} > {claim.worse} on {claim.metric} (by {_interval(here)}) if {claim.assumption(AS_RATED)}; "
        f"the other way round (by {_interval(there)}) if {claim.assumption(other)}"
    )


def _interval(one: Estimate) -> str:
    """A difference with its interval."""
    if math.isnan(one.difference):
        return "–"
    if not (math.isfinite(one.low) and math.isfinite(one.high)):
        return number(one.difference)
    digits = digits_for((one.high - one.low) / 2)
    return f"{one.difference:.{digits}f} [{one.low:.{digits}f}, {one.high:.{digits}f}]".replace("-", "−")
