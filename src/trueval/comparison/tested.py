"""Tests of every system against the baseline on every metric, before correction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueval.comparison.comparable import Joined, Repeat, mixing
from trueval.comparison.nested import Mean, mean_of, nested_mean, nested_tally
from trueval.comparison.pairing import Common, Pair, common_users, pair
from trueval.comparison.significance import rank_lean, resampled_p, sign_flips, signed_ranks, t_reach, t_test
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.estimate import Sums, resampled
from trueval.metrics.results import same


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
    lean: float = 0.0  # against the sign of the mean, where a test of ranks leans the other way


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
    pairs: dict[int, Pair] = {}  # by row
    for name in others:
        parts = _together(joined, name, baseline)
        if len(parts) > 1 and test != "t":
            raise _only_t(test, len(parts))
        shared = [common_users(p.systems[name], p.systems[baseline], joined.users) for p in parts]
        for label in labels:
            tail = _tail(joined, label, alternative)
            shown = "two-sided" if tail == "two-sided" else alternative
            if all(label in part.systems[who].sums for part in parts for who in (name, baseline)):
                found = [pair(p.systems[name], p.systems[baseline], label, who) for p, who in zip(parts, shared)]
                pairs[len(rows)] = found[0]
                rows.append(_by_t(label, name, found, parts, tail=tail, shown=shown, level=level))
            elif (tally := _by_jackknife(label, name, baseline, parts, shared, tail=tail, level=level)) is not None:
                rows.append(replace(tally, alternative=shown))
    if test == "t" or not pairs:
        return rows
    places, numbered = list(pairs), _numbered(list(pairs.values()))
    tails = [_tail(joined, rows[place].metric, alternative) for place in places]
    before = [rows[place] for place in places]
    own = _by_other(before, *numbered, tails, test, level=level, resamples=resamples, seed=seed)
    for place, row in zip(places, own):
        rows[place] = row
    return rows


def _by_other(
    rows: list[Tested], pairs: list[Pair], users: int, tails: list[str], test: str, *, level: float, resamples: int,
    seed: int,
) -> list[Tested]:  # fmt: skip
    """The same rows by another test than t."""
    if test == "wilcoxon":
        leaning = [replace(row, lean=rank_lean(one.own)) for row, one in zip(rows, pairs)]
        return [_with_p(row, test, signed_ranks(one.own, tail)) for row, one, tail in zip(leaning, pairs, tails)]
    if test == "permutation":
        p = sign_flips(_side_by_side(pairs, users), tails, seed=seed, resamples=resamples)
        return [_with_p(row, test, float(one)) for row, one in zip(rows, p)]
    return _by_bootstrap(rows, pairs, tails, users=users, level=level, resamples=resamples, seed=seed)


def _tail(joined: Joined, label: str, alternative: str) -> str:
    """The side of the difference that is tested; metrics without a better side are tested on both."""
    better = joined.specs[label].better
    if alternative == "two-sided" or better == "neither":
        return "two-sided"
    return "greater" if (alternative == "better") == (better == "higher") else "less"


def _together(joined: Joined, name: str, baseline: str) -> list[Repeat]:
    """The repeats with both systems."""
    both = joined.having(name, baseline)
    if not both:
        told = [f"{who}: {_seeds_of(joined, who)}" for who in (name, baseline)]
        raise DataError(
            f"{name} and {baseline} are in no result of the same seed",
            found="\n".join(told),
            do="evaluate both with the same seed and on the same split",
        )
    return both


def _seeds_of(joined: Joined, name: str) -> str:
    told = [part.told for part in joined.repeats if name in part.systems]
    return "; ".join(", ".join(f"{key} {value}" for key, value in one.items()) or "no seed" for one in told)


def _by_t(
    label: str, name: str, pairs: list[Pair], parts: list[Repeat], *, tail: str, shown: str, level: float
) -> Tested:
    """Student's t over users, or over users within seeds."""
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
    return Tested(label, name, mean, low, high, p, "t", shown, above, len(own) - above - below, below, len(pairs))


def _student(mean: Mean, tail: str, level: float) -> tuple[float, float, float]:
    """p and interval."""
    if np.isnan(mean.error):
        return float("nan"), float("nan"), float("nan")
    reach = t_reach(mean.error, mean.free, level)
    return t_test(mean.value, mean.error, mean.free, tail), mean.value - reach, mean.value + reach


def _by_jackknife(
    label: str, name: str, baseline: str, parts: list[Repeat], shared: list[Common], *, tail: str, level: float
) -> Tested | None:
    """Coverage and its like: Student's t on the error that leaving out groups of users gives; None where the two
    systems are not measured over the same users."""
    found = []
    for part, who in zip(parts, shared):
        one, other = part.systems[name], part.systems[baseline]
        everyone = all(len(who.users) == len(np.unique(system.unit_user)) for system in (one, other))
        if label not in one.left_out or label not in other.left_out or not everyone:
            return None
        found.append(one.left_out[label] - other.left_out[label])
    mean = nested_tally(found, max(len(who.users) for who in shared), mixing(parts))
    p, low, high = _student(mean, tail, level)
    return Tested(label, name, mean, low, high, p, "jackknife", "two-sided", 0, 0, 0, len(parts))


def _numbered(pairs: list[Pair]) -> tuple[list[Pair], int]:
    """The pairs with their users numbered from 0, without users who are in none: nobody else is drawn."""
    users = np.unique(np.concatenate([one.users for one in pairs]))
    return [replace(one, users=np.searchsorted(users, one.users)) for one in pairs], len(users)


def _with_p(row: Tested, test: str, p: float) -> Tested:
    return replace(row, test=test, p=p if row.mean.users > 1 else row.p)


def _side_by_side(pairs: list[Pair], users: int) -> np.ndarray:
    """A column per comparison, a row per user, 0 where a user has no part."""
    columns = np.zeros((users, len(pairs)))
    for column, one in enumerate(pairs):
        columns[one.users, column] = one.shares
    return columns


def _by_bootstrap(
    rows: list[Tested], pairs: list[Pair], tails: list[str], *, users: int, level: float, resamples: int, seed: int
) -> list[Tested]:
    """Percentile intervals and p from resamples of users, shared by all comparisons."""
    parts: list[tuple[np.ndarray, Sums]] = []
    for one in pairs:
        if one.plain:
            parts.append((one.users, Sums(one.own[:, None], np.ones((len(one.own), 1)), same, len(one.own), 0)))
        else:
            parts += [(one.users, one.left), (one.users, one.right)]
    drawn = iter(resampled(parts, users, seed=seed, resamples=resamples))
    tail_share, found = (1 - level) / 2, []
    for row, one, tail in zip(rows, pairs, tails):
        values = next(drawn) if one.plain else next(drawn) - next(drawn)
        values = values[~np.isnan(values)]
        low, high = np.quantile(values, [tail_share, 1 - tail_share]) if row.mean.users > 1 else (np.nan, np.nan)
        row = replace(row, low=float(low), high=float(high))
        found.append(_with_p(row, "bootstrap", resampled_p(values, tail)))
    return found


def _only_t(test: str, repeats: int) -> DefinitionError:
    return DefinitionError(
        f"{test} compares the users of one seed",
        found=f"{repeats} seeds or folds",
        do='use test="t" (--test t), which counts users and seeds, or compare one seed',
    )
