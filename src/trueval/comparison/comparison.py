"""Paired comparison of systems with a baseline, corrected for the number of comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueval.comparison.join_results import Joined
from trueval.comparison.paired_tests import Tested, all_tested
from trueval.comparison.sentences import comparison_sentence
from trueval.errors import DefinitionError, suggest
from trueval.metrics.grammar import parse
from trueval.metrics.spec import Spec
from trueval.render.statements import Sign, Statement, family_of
from trueval.statistics.multiple_comparisons import check_correction, corrected
from trueval.statistics.permutation_test import least_p
from trueval.statistics.power import chance_to_show, detectable_shift
from trueval.statistics.significance_tests import check_test

_SIGNS: dict[str, Sign] = {"better": "+", "worse": "-", "different": "=", "cannot tell": "?"}
ALTERNATIVES = ("two-sided", "better", "worse")


@dataclass(frozen=True, slots=True)
class Comparison:
    """System minus baseline on one metric, over common users.

    `low` and `high` bound the difference at `level` by the test that was made: 0 lies outside of them where the
    uncorrected p is below 1 - level. A one-sided alternative has an interval that is open on the other side (infinite).
    Wilcoxon's test is about the shift of users who differ: its `difference` and interval are those of the
    Hodges–Lehmann estimate (`estimate` is "shift", otherwise "mean").
    `test` is the one that was made, with the `reason` where it is another one than requested or its p-value was
    bounded. `error` is the standard error with `free` degrees of freedom; `effect` is Cohen's dz, the difference in
    standard deviations of users' differences. Wins are users for whom the system is better (higher, where the metric
    has no better side); `detectable` is the true difference found with 80 % power. `p_rare` is p_corrected of a test
    that also allows for users too rare to be among those measured, for whom the difference may be as large as the range
    of the metric allows: where only `p_corrected` is small, the verdict is "cannot tell".
    """

    metric: str
    system: str
    baseline: str
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    p_rare: float
    # better, worse, different (metrics without a better side), not shown (no significant difference), or cannot tell
    # (a significant difference that users too rare to be seen could reverse)
    verdict: str
    n: int
    test: str
    reason: str
    alternative: str
    correction: str
    family: int  # comparisons corrected for
    error: float
    free: float
    effect: float
    wins: int
    ties: int
    losses: int
    detectable: float
    repeats: int
    better: str
    level: float
    estimate: str = "mean"  # what `difference` is: the mean over users, or the shift of those who differ

    @property
    def sentence(self) -> str:
        """The comparison as a sentence."""
        return comparison_sentence(self)

    def statement(self, family: int) -> Statement:
        """What the sentence says, as data: above 0 is better."""
        sign: Sign = "?" if math.isnan(self.p) else _SIGNS.get(self.verdict, "0")
        side = -1 if self.better == "lower" else 1
        ends = (self.low, self.high) if side > 0 else (-self.high, -self.low)
        quantity = "difference" if self.estimate == "mean" else "shift"
        quantity += (
            "" if self.alternative == "two-sided" else f", {self.alternative}"
        )  # nothing is said of the other side
        return Statement(
            quantity,
            (self.metric,),
            sign,
            side * self.difference,
            *ends,
            (self.system, self.baseline),
            family,
        )

    @property
    def enough(self) -> bool:
        """Whether any difference, however large, could be significant with this number of users."""
        return least_p(self.n) < _share_of_alpha(self)

    def power(self, difference: float) -> float:
        """Power: probability that this number of users detects a true difference of this size (two-sided t-test)."""
        if not self.enough:
            return 0.0
        if not self.error > 0:
            return float("nan")
        return chance_to_show(abs(difference) / self.error, self.free, _share_of_alpha(self))

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "sentence": self.sentence}


def statements_of(comparisons: Sequence[Comparison]) -> list[Statement]:
    """What comparisons that were corrected together say, as data."""
    together = family_of((c.metric, c.system, c.baseline) for c in comparisons if not math.isnan(c.p))
    return [
        c.statement(family_of([(c.metric, c.system, c.baseline)]) if c.correction == "none" else together)
        for c in comparisons
    ]


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """How comparisons are made."""

    test: str = "t"
    correct: str = "holm"
    alternative: str = "two-sided"
    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        check_test(self.test)
        check_correction(self.correct)
        if self.alternative not in ALTERNATIVES:
            raise DefinitionError(
                f"unknown alternative {self.alternative!r}", do=suggest(self.alternative, ALTERNATIVES)
            )
        if not 0.5 <= self.level < 1:
            raise DefinitionError("the level must be from 0.5 to below 1", found=f"{self.level:g}", do="use 0.95")
        if self.resamples < 100:
            raise DefinitionError("too few resamples", found=f"{self.resamples}", do="use at least 100")


def compare_joined(
    joined: Joined, baseline: str, *, metrics: Sequence[str] | None = None, options: ComparisonOptions | None = None
) -> list[Comparison]:
    """Every other system against the baseline; corrected over all comparisons returned."""
    options = options or ComparisonOptions()
    if baseline not in joined.names:
        raise DefinitionError(f"there is no system {baseline!r} to compare with", do=suggest(baseline, joined.names))
    labels = chosen(joined, metrics)
    rows = all_tested(
        joined, baseline, labels, test=options.test, alternative=options.alternative, level=options.level,
        resamples=options.resamples, seed=options.seed,
    )  # fmt: skip
    p = np.array([row.p for row in rows])
    q = corrected(p, options.correct)
    rare = corrected(np.maximum(p, [row.p_rare for row in rows]), options.correct)
    family = int(np.count_nonzero(~np.isnan(q)))
    found = [
        _comparison(row, (float(one), float(other)), family, joined, baseline, options)
        for row, one, other in zip(rows, q, rare)
    ]
    return [replace(c, detectable=_detectable(c)) for c in found]


def chosen(joined: Joined, metrics: Sequence[str] | None) -> list[str]:
    """Labels of the metrics asked for; by default all of them."""
    if metrics is None:
        return list(joined.specs)
    labels = [label_of(metric, joined.specs) for metric in metrics]
    if not labels:
        raise DefinitionError("no metric to compare on was given", do=f"available: {', '.join(joined.specs)}")
    return list(dict.fromkeys(labels))


def label_of(metric: str, specs: Mapping[str, Spec]) -> str:
    """The label of a metric however it is written; labels of sampled designs may leave the sample out."""
    if metric in specs:
        return metric
    canonical = str(parse(metric))
    for label in specs:
        if label.partition("|n=")[0] == canonical:
            return label
    raise DefinitionError(f"{metric} was not measured", do=suggest(metric, specs))


def _comparison(
    row: Tested, q: tuple[float, float], family: int, joined: Joined, baseline: str, options: ComparisonOptions
) -> Comparison:
    better = joined.specs[row.metric].better
    wins, losses = (row.below, row.above) if better == "lower" else (row.above, row.below)
    shifted = row.shift == row.shift
    return Comparison(
        metric=row.metric, system=row.system, baseline=baseline,
        difference=row.shift if shifted else row.mean.value, estimate="shift" if shifted else "mean", low=row.low,
        high=row.high, p=row.p, p_corrected=q[0], p_rare=q[1], verdict=_verdict(row, q, better, options),
        n=row.mean.users, test=row.test, reason=row.reason, alternative=row.alternative, correction=options.correct,
        family=family, error=row.mean.error, free=row.mean.free, effect=_effect(row), wins=wins, ties=row.equal,
        losses=losses, detectable=float("nan"), repeats=row.repeats, better=better, level=options.level,
    )  # fmt: skip


def _effect(row: Tested) -> float:
    spread = row.mean.spread
    if spread > 0:
        return row.mean.value / spread
    return 0.0 if spread == 0 and row.mean.value == 0 else float("nan")


def _verdict(row: Tested, p: tuple[float, float], better: str, options: ComparisonOptions) -> str:
    """The verdict of a test; a mean that the ranks contradict is not significant, one that users too rare to be seen
    could reverse is open."""
    difference = row.mean.value
    alone, rare = p
    if not alone < 1 - options.level or row.lean * difference < 0:
        return "not shown"
    if not rare < 1 - options.level:
        return "cannot tell"
    if better == "neither":
        return "different"
    return "better" if (difference > 0) == (better == "higher") else "worse"


def _detectable(c: Comparison) -> float:
    if not c.error > 0 or not c.free >= 1 or not c.enough:
        return float("nan")
    return c.error * detectable_shift(c.free, alpha=_share_of_alpha(c))


def _share_of_alpha(c: Comparison) -> float:
    """The significance level of one of several comparisons: an equal share of alpha, as in Bonferroni's correction."""
    return (1 - c.level) / (1 if c.correction == "none" else max(c.family, 1))
