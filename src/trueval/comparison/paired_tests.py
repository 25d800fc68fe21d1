"""Tests of every system against the baseline on every metric, before correction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueval.comparison.join_results import Joined, Replicate, mixing
from trueval.comparison.mean_error import Mean, mean_of, nested_mean, nested_tally
from trueval.comparison.pairing import Common, SystemPair, common_users, pair
from trueval.comparison.rare_users import difference_bounded
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.estimate import Range, within
from trueval.statistics.bounded_mean import BoundedMean
from trueval.statistics.permutation_test import (
    FEW,
    SignFlipTest,
    both_sides,
    exact_interval,
    exact_p,
    least_p,
    one_sided,
    sign_flip_tests,
)
from trueval.statistics.resampling import resample_sums
from trueval.statistics.significance_tests import rank_lean, signed_ranks, studentised, t_test, typical_shift
from trueval.statistics.student import t_quantile


@dataclass(frozen=True, slots=True)
class Tested:
    """One difference: how large, how sure. `above` counts users with a higher value under the system."""

    metric: str
    system: str
    mean: Mean
    low: float
    high: float
    p: float
    test: str
    alternative: str
    above: int
    equal: int
    below: int
    repeats: int
    reason: str = ""  # why another test was made than requested, or why p was bounded
    lean: float = 0.0  # against the sign of the mean, where a test of ranks leans the other way
    shift: float = float("nan")  # what the interval is around, where that is not the mean
    p_rare: float = 0.0  # of the bounded mean: what is left where users may have been too rare to be seen


def all_tested(
    joined: Joined, baseline: str, labels: list[str], *, test: str, alternative: str, level: float, resamples: int,
    seed: int,
) -> list[Tested]:  # fmt: skip
    """Every other system on every metric; system metrics, which no single user has, by a jackknife."""
    others = [name for name in joined.names if name != baseline]
    if not others:
        raise DataError(
            "there is nothing to compare with the baseline",
            found=f"only {baseline}",
            do="evaluate several systems, or give several results",
        )
    rows: list[Tested] = []
    pairs: dict[int, SystemPair] = {}  # by row
    for name in others:
        parts = _together(joined, name, baseline)
        if len(parts) > 1 and test != "t":
            raise _only_t(test, len(parts))
        shared = [common_users(p.systems[name], p.systems[baseline], joined.users) for p in parts]
        for label in labels:
            tail = _tail(joined, label, alternative)
            closed = both_sides(level, tail)  # the level of a two-sided interval with the end that is wanted
            stated = "two-sided" if tail == "two-sided" else alternative
            if all(label in part.systems[who].sums for part in parts for who in (name, baseline)):
                found = [pair(p.systems[name], p.systems[baseline], label, who) for p, who in zip(parts, shared)]
                pairs[len(rows)] = found[0]
                row = _by_t(label, name, found, parts, tail=tail, alternative=stated, level=closed)
                bounded = difference_bounded(found, joined.specs[label].range)
                rows.append(replace(_open_end(row, tail), p_rare=_rare(bounded, tail)))
            elif (tally := _by_jackknife(label, name, baseline, parts, shared, tail=tail, level=closed)) is not None:
                rows.append(_open_end(replace(tally, alternative=stated), tail))
    if test == "t" or not pairs:
        return [_possible(row, joined) for row in rows]
    places, numbered = list(pairs), _numbered(list(pairs.values()))
    tails = [_tail(joined, rows[place].metric, alternative) for place in places]
    before = [rows[place] for place in places]
    own = _by_other(before, *numbered, tails, test, level=level, resamples=resamples, seed=seed)
    for place, row in zip(places, own):
        rows[place] = row
    return [_possible(row, joined) for row in rows]


def _possible(row: Tested, joined: Joined) -> Tested:
    """The row with its interval within what a difference of two values of the metric can be."""
    low, high = possible_difference((row.low, row.high), row.mean.value, joined.specs[row.metric].range)
    return replace(row, low=low, high=high)


def possible_difference(ends: tuple[float, float], value: float, range: Range) -> tuple[float, float]:
    """An interval of a difference without the part that no two values within a range differ by.

    >>> possible_difference((-1.2, 0.2), -0.5, (0.0, 1.0))
    (-1.0, 0.2)
    """
    widest = range[1] - range[0]
    return within(ends, (-widest, widest)) if abs(value) <= widest else ends


def _rare(bounded: BoundedMean, tail: str) -> float:
    """p of the bounded mean; two-sided, twice that of the side on which the mean is."""
    if len(bounded.values) < 2:
        return float("nan")
    if tail != "two-sided":
        return bounded.p_above() if tail == "greater" else bounded.p_below()
    return min(1.0, 2 * (bounded.p_above() if bounded.values.mean() > 0 else bounded.p_below()))


def _by_other(
    rows: list[Tested], pairs: list[SystemPair], users: int, tails: list[str], test: str,
    *, level: float, resamples: int,
    seed: int,
) -> list[Tested]:  # fmt: skip
    """The same rows by another test than t."""
    if test == "wilcoxon":
        return [_by_ranks(row, one.own, tail, level) for row, one, tail in zip(rows, pairs, tails)]
    if test == "permutation":
        members = _side_by_side([replace(one, shares=np.ones(len(one.users))) for one in pairs], users) > 0
        shares = _side_by_side(pairs, users)
        flips = sign_flip_tests(shares, members, tails, level=level, seed=seed, resamples=resamples)
        return [_by_flips(row, one) for row, one in zip(rows, flips)]
    return _by_bootstrap(rows, pairs, tails, users=users, level=level, resamples=resamples, seed=seed)


def _by_flips(row: Tested, flips: SignFlipTest) -> Tested:
    """The permutation test. Users who can refute no mean, however far, keep an interval that holds 0, if any."""
    row = _with_p(row, "permutation", flips.p)
    if not row.mean.error > 0:  # without a spread there is nothing to bound
        return row
    if np.isnan(flips.low) and row.low <= 0 <= row.high:
        return row
    return replace(row, low=flips.low, high=flips.high)


def _open_end(row: Tested, tail: str) -> Tested:
    """A test on one side has an interval that is open on the other."""
    low, high = one_sided((row.low, row.high), tail)
    return replace(row, low=low, high=high)


def _by_ranks(row: Tested, own: np.ndarray, tail: str, level: float) -> Tested:
    """Wilcoxon's test, with the shift that belongs to it. The interval of the mean would contradict the ranks."""
    row = _with_p(replace(row, lean=rank_lean(own)), "wilcoxon", signed_ranks(own, tail))
    if not row.mean.error > 0:
        return row
    shift, low, high = typical_shift(own, both_sides(level, tail))
    if row.lean * row.mean.value < 0:  # neither the mean nor the shift alone says what happened
        return replace(row, low=np.nan, high=np.nan)
    if np.isnan(shift):
        return replace(row, low=np.nan, high=np.nan)
    low, high = one_sided((low, high), tail)
    return replace(row, shift=shift, low=low, high=high)


def _tail(joined: Joined, label: str, alternative: str) -> str:
    """The side of the difference that is tested; metrics without a better side are tested on both."""
    better = joined.specs[label].better
    if alternative == "two-sided" or better == "neither":
        return "two-sided"
    return "greater" if (alternative == "better") == (better == "higher") else "less"


def _together(joined: Joined, name: str, baseline: str) -> list[Replicate]:
    """The repeats with both systems."""
    both = joined.having(name, baseline)
    if not both:
        seeds = [f"{who}: {_seeds_of(joined, who)}" for who in (name, baseline)]
        raise DataError(
            f"{name} and {baseline} have no results of the same seed",
            found="\n".join(seeds),
            do="evaluate both with the same seed and on the same split",
        )
    return both


def _seeds_of(joined: Joined, name: str) -> str:
    labels = [part.label for part in joined.repeats if name in part.systems]
    return "; ".join(", ".join(f"{key} {value}" for key, value in one.items()) or "no seed" for one in labels)


def _by_t(
    label: str, name: str, pairs: list[SystemPair], parts: list[Replicate], *, tail: str, alternative: str, level: float
) -> Tested:
    """Student's t over users, or over users within seeds; the exact test of signs where t cannot be trusted."""
    if len(pairs) == 1:
        mean = replace(mean_of(pairs[0].shares), value=pairs[0].difference)
    else:
        some = [place for place, one in enumerate(pairs) if len(one.users)]
        pairs, parts = [pairs[place] for place in some], [parts[place] for place in some]
        means = [one.difference for one in pairs]
        mean = nested_mean(means, [one.users for one in pairs], [one.shares for one in pairs], mixing(parts))
    own = np.concatenate([one.own for one in pairs])
    p, low, high = _student(mean, tail, level)
    if np.isnan(p) and len(own) and not own.any():
        p = 1.0
    above, below = int(np.count_nonzero(own > 0)), int(np.count_nonzero(own < 0))
    row = Tested(label, name, mean, low, high, p, "t", alternative, above, len(own) - above - below, below, len(pairs))
    if len(pairs) == 1 and _needs_exact(mean, pairs[0]):
        return _by_signs(row, pairs[0], tail, level)
    return _bounded(row, _differ(pairs), tail, level)


def _needs_exact(mean: Mean, one: SystemPair) -> bool:
    """Few differences are not normal enough for t, and those without a spread have no t at all."""
    differ = int(np.count_nonzero(one.shares))
    return mean.users > 1 and differ > 0 and (differ <= FEW or mean.spread == 0)


def _by_signs(row: Tested, one: SystemPair, tail: str, level: float) -> Tested:
    """The exact sign-flip test. Where it shows nothing, its interval is not narrower than Student's."""
    low, high = exact_interval(one.shares, level)
    if np.isnan(low):  # so few users bound nothing by their signs
        low, high = (row.low, row.high) if row.low <= 0 <= row.high else (np.nan, np.nan)
    elif low <= 0 <= high:
        low, high = min(low, row.low), max(high, row.high)
    differ, users = np.count_nonzero(one.shares), len(one.shares)
    few = "too few for t" if users <= FEW else f"only {differ} differ"
    reason = few if differ <= FEW else "all differ by the same amount"
    p = exact_p(one.shares, tail)
    return replace(row, p=p, low=low, high=high, test="exact", reason=reason)


def _bounded(row: Tested, units: int, tail: str, level: float, what: str = "users who differ") -> Tested:
    """The row with p bounded below by the number of units, and without an interval that would claim more than p."""
    least = least_p(units, tail)
    if not 0 < units <= FEW or not row.p < least:
        return row
    row = replace(row, p=least, reason=f"no p-value below {least:.2g} with {units} {what}")
    if least_p(units) < 1 - level or row.low <= 0 <= row.high:
        return row
    return replace(row, low=float("nan"), high=float("nan"))


def _differ(pairs: list[SystemPair]) -> int:
    """Users with a difference in any repeat."""
    return len(np.unique(np.concatenate([one.users[one.own != 0] for one in pairs])))


def _student(mean: Mean, tail: str, level: float) -> tuple[float, float, float]:
    """p and interval; a difference without a spread has no interval, for how it varies is not known."""
    if np.isnan(mean.error):
        return float("nan"), float("nan"), float("nan")
    known = mean.error > 0 or not mean.value
    reach = t_quantile(level=level, freedom=mean.free) * mean.error if known else float("nan")
    return t_test(mean.value, mean.error, mean.free, tail), mean.value - reach, mean.value + reach


def _by_jackknife(
    label: str, name: str, baseline: str, parts: list[Replicate], shared: list[Common], *, tail: str, level: float
) -> Tested | None:
    """Coverage and its like: Student's t on the error that leaving out groups of users gives; None where the two
    systems are not measured over the same users."""
    found = []
    for part, who in zip(parts, shared):
        one, other = part.systems[name], part.systems[baseline]
        everyone = all(len(who.users) == len(np.unique(system.unit_user)) for system in (one, other))
        if label not in one.jackknife or label not in other.jackknife or not everyone:
            return None
        found.append(one.jackknife[label] - other.jackknife[label])
    mean = nested_tally(found, max(len(who.users) for who in shared), mixing(parts))
    p, low, high = _student(mean, tail, level)
    row = Tested(label, name, mean, low, high, p, "jackknife", "two-sided", 0, 0, 0, len(parts))
    groups = min(len(one.one) for one in found)
    return _bounded(row, groups if mean.value else 0, tail, level, "groups of users")


def _numbered(pairs: list[SystemPair]) -> tuple[list[SystemPair], int]:
    """The pairs with their users numbered from 0, without users who are in none: nobody else is drawn."""
    users = np.unique(np.concatenate([one.users for one in pairs]))
    return [replace(one, users=np.searchsorted(users, one.users)) for one in pairs], len(users)


def _with_p(row: Tested, test: str, p: float) -> Tested:
    return replace(row, test=test, reason="", p=p if row.mean.users > 1 else row.p)


def _side_by_side(pairs: list[SystemPair], users: int) -> np.ndarray:
    """A column per comparison, a row per user, 0 where a user has no part."""
    columns = np.zeros((users, len(pairs)))
    for column, one in enumerate(pairs):
        columns[one.users, column] = one.shares
    return columns


def _by_bootstrap(
    rows: list[Tested],
    pairs: list[SystemPair],
    tails: list[str],
    *,
    users: int,
    level: float,
    resamples: int,
    seed: int,
) -> list[Tested]:
    """The bootstrap-t: intervals and p from resamples of users, shared by all comparisons.

    What users add to the difference is resampled, each resample in standard errors of its own: percentiles of
    means alone are too narrow for few users. Without a spread there is nothing to resample.
    """
    away = [replace(one, shares=one.shares - one.difference) for one in pairs]
    inside = [replace(one, shares=np.ones(len(one.users))) for one in pairs]
    inside = inside[:1] if all(len(one.users) == users for one in pairs) else inside
    columns = _side_by_side([*away, *inside], users)
    columns = np.hstack([columns, columns[:, : len(pairs)] ** 2])
    (sums,) = resample_sums([(None, columns)], users, seed=seed, resamples=resamples)
    found = []
    for at, (row, one, tail) in enumerate(zip(rows, pairs, tails)):
        if not row.mean.error > 0:
            same = replace(row, reason="all differ by the same amount")
            found.append(same if row.test == "exact" else _with_p(row, "bootstrap", row.p))
            continue
        own = sums[:, [at, -len(pairs) + at, len(pairs) + min(at, len(inside) - 1)]]
        drawn = studentised(one.shares, own)
        reach = drawn.reach(both_sides(level, tail)) * one.shares.std() / np.sqrt(len(one.shares))
        low, high = (row.mean.value - reach, row.mean.value + reach) if np.isfinite(reach) else (np.nan, np.nan)
        row = _with_p(replace(row, low=float(low), high=float(high)), "bootstrap", drawn.p(tail))
        row = _bounded(row, int(np.count_nonzero(one.own)), tail, both_sides(level, tail))
        found.append(_open_end(row, tail))
    return found


def _only_t(test: str, repeats: int) -> DefinitionError:
    return DefinitionError(
        f"{test} compares the users of one seed",
        found=f"{repeats} seeds or folds",
        do='use test="t" (--test t), which counts users and seeds, or compare one seed',
    )
