"""Tests of paired differences: Student's t, Wilcoxon's signed ranks, sign flips, the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from trueval.errors import DefinitionError, suggest
from trueval.kernels import blocks
from trueval.kernels.seeds import derive

TESTS = ("t", "wilcoxon", "permutation", "bootstrap")
TAILS = ("two-sided", "greater", "less")
EXACT_RANKS = 60  # up to so many differences, the distribution of the signed-rank sum is counted out


def check_test(test: str) -> None:
    """Refuse a test that does not exist."""
    if test not in TESTS:
        raise DefinitionError(f"unknown test {test!r}", found=suggest(test, TESTS))


def t_test(difference: float, error: float, free: float, tail: str = "two-sided") -> float:
    """p of a difference with its standard error and degrees of freedom; no difference at all gives 1.

    >>> round(t_test(0.002, 0.0058310, 4), 2)
    0.75
    """
    from scipy.special import stdtr

    if error == 0:
        toward = difference > 0 if tail == "greater" else difference < 0 if tail == "less" else difference != 0
        return 0.0 if toward else 1.0
    t = difference / error
    if tail == "two-sided":
        return float(2 * stdtr(free, -abs(t)))
    return float(stdtr(free, -t if tail == "greater" else t))


def t_reach(error: float, free: float, level: float) -> float:
    """Half the width of Student's interval."""
    from scipy.special import stdtrit

    return float(stdtrit(free, (1 + level) / 2)) * error


def signed_ranks(differences: np.ndarray, tail: str = "two-sided") -> float:
    """p of Wilcoxon's signed-rank test, zeros ranked and then dropped (Pratt).

    Given the sizes of the differences, each sign is a coin under the null hypothesis: up to 60 differences, the
    distribution of the rank sum is counted out, ties or not; beyond, it is close to normal with that variance.

    >>> signed_ranks(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))  # 2 of 2^5 sign patterns are as extreme
    0.0625
    >>> signed_ranks(np.zeros(8))
    1.0
    """
    from scipy.special import ndtr

    ranks = pl.Series(np.abs(differences)).rank("average").to_numpy()
    kept = differences != 0
    ranks, positive = ranks[kept], differences[kept] > 0
    if not len(ranks):
        return 1.0
    if len(ranks) <= EXACT_RANKS:
        return _counted_out(ranks, positive, tail)
    z = (ranks[positive].sum() - ranks.sum() / 2) / np.sqrt((ranks**2).sum() / 4)
    return float(2 * ndtr(-abs(z))) if tail == "two-sided" else float(ndtr(-z if tail == "greater" else z))


def rank_lean(differences: np.ndarray) -> float:
    """Which way the signed ranks lean: above 0 where the positive ones weigh more.

    >>> rank_lean(np.array([5.0, -1.0, -2.0, -3.0, -4.0])), rank_lean(np.array([5.0, -1.0]))
    (-5.0, 1.0)
    """
    ranks = pl.Series(np.abs(differences)).rank("average").to_numpy()
    return float((np.sign(differences) * ranks).sum())


def _counted_out(ranks: np.ndarray, positive: np.ndarray, tail: str) -> float:
    """Exact p: how many sign patterns give each rank sum. Ranks are halves at worst, so twice them are whole."""
    whole = np.rint(2 * ranks).astype(np.int64)
    chance = np.ones(1)
    for rank in whole:
        wider = np.zeros(len(chance) + rank)
        wider[: len(chance)] = chance / 2
        wider[rank:] += chance / 2
        chance = wider
    seen = int(whole[positive].sum())
    above, below = float(chance[seen:].sum()), float(chance[: seen + 1].sum())
    p = {"greater": above, "less": below, "two-sided": 2 * min(above, below)}[tail]
    return min(p, 1.0)


def sign_flips(differences: np.ndarray, tails: list[str], *, seed: int, resamples: int = 10_000) -> np.ndarray:
    """p of the sign-flip permutation test for each column (one row per user, 0 where a user has no part).

    Under the null hypothesis each user's two values could change places. All 2^m sign patterns of m differences
    are gone through where that is fewer than `resamples`; else so many are drawn, and (1 + b) / (1 + B) is p, so
    that it is never 0. Columns share their draws.

    >>> float(sign_flips(np.array([[0.1], [0.2], [0.3]]), ["two-sided"], seed=0)[0])  # 2 of 8 patterns
    0.25
    """
    p = np.ones(differences.shape[1])
    busy = np.count_nonzero(differences, axis=0)
    drawn = [c for c, m in enumerate(busy) if m > np.log2(resamples)]
    for c in np.flatnonzero(busy):
        if c not in drawn:
            own = differences[differences[:, c] != 0, c]
            patterns = (np.arange(1 << len(own))[:, None] >> np.arange(len(own))) & 1
            p[c] = _extreme(own.sum() - 2 * patterns @ own, own, tails[c]) / len(patterns)
    if drawn:
        columns = differences[:, drawn]
        columns = columns[columns.any(axis=1)]
        counts = np.zeros(len(drawn))
        for flipped in _flipped_sums(columns, seed=seed, resamples=resamples):
            counts += [_extreme(flipped[:, j], columns[:, j], tails[c]) for j, c in enumerate(drawn)]
        p[drawn] = (1 + counts) / (1 + resamples)
    return p


def _flipped_sums(columns: np.ndarray, *, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """Sums of each column with random signs, in blocks of draws: a coin per user, eight of them in a byte."""
    users = len(columns)
    rng = np.random.default_rng(int(derive(seed, "sign flips")))
    total = columns.sum(axis=0)
    for part in blocks(resamples, max(1, 4_000_000 // users)):
        coins = rng.integers(0, 256, size=(part.stop - part.start, -(-users // 8)), dtype=np.uint8)
        yield total - 2 * (np.unpackbits(coins, axis=1, count=users).astype(np.float64) @ columns)


def _extreme(flipped: np.ndarray, own: np.ndarray, tail: str) -> int:
    """How many flipped sums are as extreme as the one seen; equal but for rounding counts as equal."""
    seen, slack = own.sum(), 1e-12 * np.abs(own).sum()
    if tail == "two-sided":
        return int(np.count_nonzero(np.abs(flipped) >= abs(seen) - slack))
    return int(np.count_nonzero(flipped >= seen - slack if tail == "greater" else flipped <= seen + slack))


def resampled_p(drawn: np.ndarray, tail: str = "two-sided") -> float:
    """p of a bootstrap of the difference: how often resamples fall on the other side of zero, never 0.

    It agrees with the percentile interval: p < 0.05 where the 95 % interval leaves zero out.

    >>> round(resampled_p(np.array([0.3] * 97 + [-0.1, -0.2])), 3)
    0.06
    """
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return float("nan")
    below = (1 + np.count_nonzero(known <= 0)) / (1 + len(known))
    above = (1 + np.count_nonzero(known >= 0)) / (1 + len(known))
    p = {"greater": below, "less": above, "two-sided": 2 * min(below, above)}[tail]
    return float(min(p, 1.0))
