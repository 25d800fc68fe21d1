"""What a rank among a few sampled items says about the rank among all of them.

One relevant item has rank r among itself and `pool` non-relevant items; `sample` of these are drawn, and the
item has rank r̃ among the drawn ones, from 1 to sample + 1. Metrics of r̃ are not metrics of r: they are
optimistic, and need not even order systems alike. Three ways back: rescale the rank (unbiased for the rank,
not for metrics that bend), solve for the values that come closest to the metric of r on average
(Krichene & Rendle 2020), and, where items were drawn by weight, weigh them back. None of them finds what the
sample does not hold: a first place among `sample` drawn items stands for all ranks up to about pool / sample, and a
metric that tells these apart (a cutoff far below that, or a steep discount) cannot be recovered. How much bias
remains depends on where a system ranks items; `trueval.facts.sampling_correction.corrected` estimates it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from numbers import Integral

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy.special import beta, binom, gammaln, xlog1py, xlogy

from trueval.errors import DefinitionError, suggest

RankMetric = str | Callable[[np.ndarray], np.ndarray]

_CUTOFF = {  # by name: whether a cutoff is "required", "optional" or "none"
    "auc": "none", "atop": "none", "ap": "optional", "map": "optional", "rr": "optional", "mrr": "optional",
    "ndcg": "optional", "hit": "required", "recall": "required", "precision": "required",
}  # fmt: skip


def rank_metric(metric: RankMetric, rank: np.ndarray, *, size: int, k: int | None = None) -> np.ndarray:
    """A metric of one relevant item at `rank` (which may be a fraction) among `size` items, itself included.

    `metric` is a name, with its cutoff (`ndcg@10`) or without, or a function from ranks to values.

    >>> rank_metric("rr@2", np.array([1, 2, 3]), size=5).tolist()
    [1.0, 0.5, 0.0]
    """
    rank = np.asarray(rank, np.float64)
    if callable(metric):
        return np.asarray(metric(rank), np.float64)
    name, k = read_metric(metric, k)
    if name in ("auc", "atop"):
        return (size - rank) / (size - 1) if size > 1 else np.full(rank.shape, np.nan)
    inside = np.ones(rank.shape) if k is None else (rank <= k).astype(np.float64)
    if name in ("ap", "map", "rr", "mrr"):
        return inside / rank
    if name == "ndcg":
        return inside / np.log2(rank + 1)
    return inside / k if name == "precision" and k else inside


def read_metric(metric: str, k: int | None = None) -> tuple[str, int | None]:
    """Name and cutoff of a metric that depends on the rank of one item alone.

    >>> read_metric("ndcg@10")
    ('ndcg', 10)
    """
    name, at, number = metric.partition("@")
    if name not in _CUTOFF:
        raise DefinitionError(
            f"there is no sampled form of {metric!r}",
            found=f"{name!r}; {suggest(name, _CUTOFF)}",
            do="name a metric of one relevant item, or give a function from ranks to values",
        )
    if at:
        k = int(number) if k is None and number.isdecimal() else 0
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
        raise DefinitionError("the cutoff must be one whole number, 1 or more", found=f"{metric}, k = {k}")
    if (k is None and _CUTOFF[name] == "required") or (k is not None and _CUTOFF[name] == "none"):
        found = f"k = {k}" if k else "no cutoff"
        raise DefinitionError(f"the cutoff of {name} is {_CUTOFF[name]}", found=found)
    return name, None if k is None else int(k)


def rescaled_rank(sampled_rank: np.ndarray, *, pool: np.ndarray | int, sample: np.ndarray | int) -> np.ndarray:
    """The unbiased estimate of the rank among all: 1 + pool · (r̃ − 1) / sample.

    It holds for draws with and without replacement, and makes the values of metrics that are linear in the
    rank (auc) unbiased; those of others only shift. Without a sample there is nothing to go by: NaN.

    >>> rescaled_rank(np.array([1, 2, 6]), pool=19, sample=5).tolist()
    [1.0, 4.8, 20.0]
    """
    drawn = np.asarray(sample, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 + np.asarray(pool) * (np.asarray(sampled_rank, np.float64) - 1) / np.where(drawn > 0, drawn, np.nan)


def sampled_ranks(rank: np.ndarray, *, pool: int, sample: int, replacement: bool = False) -> np.ndarray:
    """Chances of the sampled ranks 1 to sample + 1 (columns) of items at some ranks (rows).

    Without replacement, as NN designs draw, r̃ − 1 is hypergeometric: of `pool` items r − 1 are above, `sample`
    are drawn. With replacement it is binomial.

    >>> sampled_ranks(np.array([2]), pool=2, sample=2).tolist()
    [[0.0, 1.0, 0.0]]
    >>> sampled_ranks(np.array([2]), pool=2, sample=2, replacement=True).round(6).tolist()
    [[0.25, 0.5, 0.25]]
    """
    _check_sizes(pool, sample, replacement)
    above = np.asarray(rank, np.int64)[:, None] - 1
    drawn = np.arange(sample + 1)
    if replacement:
        p = above / pool
        return binom(sample, drawn) * np.exp(xlogy(drawn, p) + xlog1py(sample - drawn, -p))
    log_factorial = gammaln(np.arange(pool + 1) + 1.0)
    left, below = above - drawn, pool - above - (sample - drawn)
    possible = (left >= 0) & (below >= 0)
    ways = log_factorial[above] + log_factorial[pool - above] - log_factorial[drawn] - log_factorial[sample - drawn]
    ways = ways - log_factorial[np.maximum(left, 0)] - log_factorial[np.maximum(below, 0)]
    all_ways = log_factorial[pool] - log_factorial[sample] - log_factorial[pool - sample]
    return np.where(possible, np.exp(np.where(possible, ways - all_ways, -np.inf)), 0.0)


def all_sampled_ranks(pool: int, sample: int) -> np.ndarray:
    """`sampled_ranks` of every rank without replacement, from the entries that are not 0 alone.

    With j of the drawn items above, r − 1 is j + t for t = 0 … pool − sample: a band along the diagonal.
    """
    log_factorial = gammaln(np.arange(pool + 1) + 1.0)
    drawn, rest = log_factorial[: sample + 1], log_factorial[: pool - sample + 1]
    both = log_factorial + log_factorial[::-1]
    all_ways = log_factorial[pool] - log_factorial[sample] - log_factorial[pool - sample]
    band = sliding_window_view(both, len(rest)) - (drawn + drawn[::-1])[:, None]
    band -= rest + rest[::-1] + all_ways
    chances = np.zeros((pool + 1, sample + 1))
    step = chances.itemsize
    as_strided(chances, band.shape, ((sample + 2) * step, (sample + 1) * step))[:] = np.exp(band, out=band)
    return chances


def expected_sampled(
    metric: RankMetric, rank: np.ndarray, *, pool: int, sample: int, k: int | None = None, replacement: bool = False
) -> np.ndarray:
    """Expected value of a metric computed on the sample, for items whose true ranks are known.

    >>> expected_sampled("auc", np.array([2]), pool=4, sample=2).round(6).tolist()
    [0.75]
    """
    chances = sampled_ranks(rank, pool=pool, sample=sample, replacement=replacement)
    return chances @ rank_metric(metric, np.arange(1, sample + 2), size=sample + 1, k=k)


def bias_variance(
    metric: RankMetric, *, pool: int, sample: int, gamma: float = 0.1, k: int | None = None, replacement: bool = False,
    prior: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The corrected value of a metric for each sampled rank 1 to sample + 1.

    They minimise Σ_r p(r) · ((E[f(r̃) | r] − M(r))² + γ · Var[f(r̃) | r]) over f, where M is the metric at the
    rank among all and p the `prior`, the chances of the ranks 1 to pool + 1; without it every rank is equally likely,
    which is how a random system ranks. Better systems are then underestimated, the more so the larger γ and the
    smaller the sample: give the prior, as `trueval.facts.sampling_correction` does from the sampled ranks themselves.
    γ = 0 is least squares (smallest bias, wild variance), γ = 1 is E[M(r) | r̃]. Values are not clipped to the
    metric's range: their average is what counts. One linear system of sample + 1 unknowns is solved for each distinct
    pool size, and remembered where there is no prior.

    >>> bias_variance("auc", pool=3, sample=3, gamma=0.5).round(6).tolist()
    [1.0, 0.666667, 0.333333, 0.0]
    """
    if not 0 <= gamma <= 1:
        raise DefinitionError("gamma must be from 0 (least bias) to 1 (least variance)", found=f"gamma = {gamma}")
    _check_sizes(pool, sample, replacement)
    if prior is not None and (np.shape(prior) != (pool + 1,) or not np.all(np.asarray(prior) >= 0)):
        raise DefinitionError("the prior must be a chance for each rank", found=f"shape {np.shape(prior)}")
    if callable(metric) or prior is not None:
        return _solve(metric, pool, sample, float(gamma), k, replacement, prior)
    name, k = read_metric(metric, k)
    return _solved(name, int(pool), int(sample), float(gamma), k, bool(replacement)).copy()


def _solve(
    metric: RankMetric, pool: int, sample: int, gamma: float, k: int | None, replacement: bool,
    prior: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    ranks = np.arange(1, pool + 2)
    chances = (
        sampled_ranks(ranks, pool=pool, sample=sample, replacement=True)
        if replacement
        else all_sampled_ranks(pool, sample)
    )
    truth = rank_metric(metric, ranks, size=pool + 1, k=k)
    if gamma == 0:  # the normal equations would square a condition number that is bad already
        root = np.ones(pool + 1) if prior is None else np.sqrt(prior)
        return np.linalg.lstsq(chances * root[:, None], truth * root)[0]
    weighted = chances if prior is None else chances * np.asarray(prior)[:, None]
    left = (1 - gamma) * weighted.T @ chances + gamma * np.diag(weighted.sum(axis=0))
    return np.linalg.solve(left, weighted.T @ truth)


# values of `sample + 1` numbers each, which every system of an evaluation needs again
_solved = lru_cache(maxsize=20_000)(_solve)


def weighted_rank(above: np.ndarray, probabilities: np.ndarray, *, replacement: bool = True) -> np.ndarray:
    """The unbiased estimate of a rank from draws that were not equally likely.

    `above` says of each draw (last axis) whether it ranks above the relevant item, `probabilities` how likely
    it was to be drawn first from the whole pool. With replacement: 1 + mean of above / q. Without, as popularity
    samples (NN…pop) are drawn, draws must be in the order drawn, and draw j counts, besides those above before
    it, above_j · (1 − q of those before) / q_j (Des Raj 1956). The second form keeps the mean right whatever the
    weights; inclusion probabilities, which have no closed form here, are not needed.

    >>> float(weighted_rank(np.array([1, 1, 0, 1]), np.array([0.5, 0.5, 0.3, 0.05])))
    7.0
    >>> float(weighted_rank(np.array([1, 0]), np.array([0.5, 0.25]), replacement=False))
    2.5
    """
    y, q = np.asarray(above, np.float64), np.asarray(probabilities, np.float64)
    if y.shape != q.shape or not y.size:
        raise DefinitionError("every draw needs a probability", found=f"shapes {y.shape} and {q.shape}")
    if not ((q > 0) & (q <= 1)).all():
        wrong = float(q[~((q > 0) & (q <= 1))][0])
        raise DefinitionError("probabilities must be above 0 and at most 1", found=f"{wrong:g}")
    if replacement:
        return 1 + (y / q).mean(axis=-1)
    gone = np.cumsum(q, axis=-1) - q
    if (gone + q > 1 + 1e-9).any():
        raise DefinitionError(
            "different items cannot have probabilities that sum to more than 1",
            found=f"{float((gone + q).max()):g}",
            do="give the probabilities of the first draw, or say replacement=True",
        )
    return 1 + (np.cumsum(y, axis=-1) - y + y * (1 - gone) / q).mean(axis=-1)


def mapped_cutoff(k: int, *, pool: int, sample: int, a: float | None = None) -> float:
    """The cutoff among all items that a cutoff k among the sampled ones stands for.

    Linear without `a`. With it, relative ranks are taken to follow Beta(a, 1) (a = 1 is uniform, smaller is a
    better system), and the cutoffs are those of equal expected recall (Li et al. 2020).

    >>> mapped_cutoff(1, pool=999, sample=99), round(mapped_cutoff(1, pool=999, sample=99, a=1), 6)
    (1.0, 10.99)
    """
    _check_sizes(pool, sample, False)
    if not isinstance(k, Integral) or not 1 <= k <= sample + 1:
        raise DefinitionError(f"a sampled cutoff is a whole number from 1 to {sample + 1}", found=f"k = {k}")
    if a is None:
        return float(rescaled_rank(np.asarray(k), pool=pool, sample=sample))
    if a <= 0:
        raise DefinitionError("a must be above 0", found=f"a = {a}")
    above = np.arange(k)
    recall = float(np.sum(binom(sample, above) * a * beta(a + above, sample + 1 - above)))
    return 1 + pool * recall ** (1 / a)


def _check_sizes(pool: int, sample: int, replacement: bool) -> None:
    if sample < 0 or pool < (1 if replacement and sample else 0) or (sample > pool and not replacement):
        raise DefinitionError(
            "a sample cannot be larger than what it is drawn from", found=f"{sample} of {pool} non-relevant items"
        )
