"""Corrected values of sampled 1R designs: what a full ranking would have given, as well as it can be estimated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from trueval.design.sampled_ranks import RankMetric, bias_variance, rank_metric, rescaled_rank
from trueval.errors import DefinitionError, suggest
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.sampled_classes import Classes, at_sampled_rank
from trueval.statistics.student import normal_quantile

METHODS = ("bias_variance", "rescale")
_TOO_MUCH = 0.5  # of the value: a bias that leaves nothing to go by


@dataclass(frozen=True, slots=True)
class Corrected:
    """A metric of the full ranking as estimated from sampled ranks. Prints as a sentence or two.

    `error` is the standard error over users, the correction taken as given. `bias` is what the correction may be off
    by on top of it: the root mean square, over where the system seems to rank items, of how far corrected values are
    off on average. `low` and `high` add both, within what the metric can be. `sampled` is the value on the samples,
    uncorrected; `note` says where no correction helps. There the bounds are no promise either: a system that puts very
    many items first, say, is underestimated by more than they say.
    """

    metric: str
    value: float
    error: float
    bias: float
    low: float
    high: float
    sampled: float
    units: int
    gamma: float | None
    note: str = ""

    @property
    def helps(self) -> bool:
        """Whether the corrected value is usable: its bias is less than half of it."""
        return not self.note

    def __str__(self) -> str:
        text = f"{self.metric} of the full ranking {self.value:.4f}, from {self.low:.4f} to {self.high:.4f} "
        text += f"(standard error {self.error:.4f}, remaining bias up to about {self.bias:.4f}; "
        text += f"on the samples {self.sampled:.4f})"
        return f"{text}; {self.note}" if self.note else text


def correct(
    facts: RankingFacts,
    metric: RankMetric,
    *,
    pool: np.ndarray | int | None = None,
    method: str = "bias_variance",
    gamma: float | None = None,
) -> np.ndarray:
    """One corrected value per unit of a sampled 1R design, for their mean; see `corrected` for its possible error.

    `metric` is a metric of one relevant item by name (`ndcg@10`) or a function from ranks to values. `pool` is
    the number of non-relevant items each unit's sample was drawn from, as recorded in the facts unless given.

    "bias_variance" solves for values that are right on average (see `trueval.design.sampled_ranks.bias_variance`; those
    of single units mean little). Without `gamma` it is chosen by the data: ranks count by how likely the sampled ranks
    make them, not all alike, and γ is one over the square root of the number of units, because what varies from unit
    to unit matters less to the mean of many, and bias as much as ever. A `gamma` takes all ranks as equally likely,
    as the paper does, which underestimates good systems. "rescale" takes the metric at the rescaled rank.

    All are for samples in which all items were equally likely, without replacement. Samples by popularity are refused:
    facts keep the rank but not which items were drawn, which `weighted_rank` would need.

    >>> from trueval.metrics.measure import toy_facts
    >>> from trueval.facts.views import one_relevant
    >>> facts = one_relevant(toy_facts(["x", "a", "y"], {"a"}, complete=True))
    >>> correct(facts, "auc", pool=20, method="rescale").tolist()
    [0.5]
    """
    sizes, drawn = _checked(facts, pool, method)
    if method == "bias_variance" and gamma is None:
        classes = Classes.of(facts, sizes, drawn)
        return classes.looked_up([_by_data(metric, c.pool, c.sample, len(facts), c.chances) for c in classes.each])
    return _look_up(facts, sizes, drawn, partial(_by_rank, metric, method, gamma))


def corrected(
    facts: RankingFacts,
    metric: RankMetric,
    *,
    pool: np.ndarray | int | None = None,
    method: str = "bias_variance",
    gamma: float | None = None,
    level: float = 0.95,
) -> Corrected:
    """The mean of `correct` as an estimate of the metric of the full ranking, with its possible error.

    The bias that remains is judged by the distribution of full ranks that the sampled ranks point to. It is small where
    samples are large or the metric is smooth over the ranks that a sample cannot distinguish, up to about pool /
    sample; where it is more than half of the value, no correction helps, which the `note` says.

    >>> from trueval.metrics.measure import toy_facts
    >>> from trueval.facts.views import one_relevant
    >>> facts = one_relevant(toy_facts(["x", "a", "y"], {"a"}, complete=True))
    >>> found = corrected(facts, "auc", pool=20)
    >>> found.units, round(found.value, 1)
    (1, 0.5)
    >>> corrected(facts, "recall@1", pool=5000).helps
    False
    """
    if not 0.5 <= level < 1:
        raise DefinitionError("the level must be from 0.5 to below 1", found=f"{level:g}", do="use 0.95")
    sizes, drawn = _checked(facts, pool, method)
    classes = Classes.of(facts, sizes, drawn)
    chosen = method == "bias_variance" and gamma is None
    tables = [
        _by_data(metric, c.pool, c.sample, len(facts), c.chances)
        if chosen
        else _by_rank(metric, method, gamma, c.pool, c.sample)
        for c in classes.each
    ]
    values = classes.looked_up(tables) if chosen else correct(facts, metric, pool=pool, method=method, gamma=gamma)
    naive = _look_up(facts, sizes, drawn, lambda n, m: rank_metric(metric, np.arange(1, m + 2), size=m + 1))
    known = ~np.isnan(values)
    if not known.any():
        raise DefinitionError(f"{_name(metric)} is undefined for every unit")
    value, error = float(values[known].mean()), _error(values[known], facts.unit_user[known])
    bias = classes.bias(tables, partial(rank_metric, metric))
    reach = bias + (0.0 if math.isnan(error) else normal_quantile(level) * error)
    size = int(sizes.max()) + 1
    possible = rank_metric(metric, np.arange(1, size + 1), size=size)
    low = min(max(value - reach, float(possible.min())), value)
    high = max(min(value + reach, float(possible.max())), value)
    note = _no_help((low, high), sizes, drawn) if bias > _TOO_MUCH * abs(value) else ""
    g = 1 / math.sqrt(len(facts)) if chosen else gamma
    return Corrected(
        _name(metric), value, error, bias, low, high, float(np.nanmean(naive)), int(known.sum()),
        g if method == "bias_variance" else None, note,
    )  # fmt: skip


def _by_data(metric: RankMetric, pool: int, sample: int, units: int, chances: np.ndarray) -> np.ndarray:
    """Corrected values by sampled rank, for ranks as likely as the data make them."""
    return bias_variance(metric, pool=pool, sample=sample, gamma=1 / math.sqrt(units), prior=chances)


def _by_rank(metric: RankMetric, method: str, gamma: float | None, n: int, m: int) -> np.ndarray:
    """Corrected values by sampled rank that do not depend on the data."""
    if method == "bias_variance":
        assert gamma is not None
        return bias_variance(metric, pool=n, sample=m, gamma=gamma)
    if not m:
        return np.full(1, np.nan)
    return rank_metric(metric, rescaled_rank(np.arange(1, m + 2), pool=n, sample=m), size=n + 1)


def _name(metric: RankMetric) -> str:
    return metric if isinstance(metric, str) else getattr(metric, "__name__", "the metric")


def _error(values: np.ndarray, users: np.ndarray) -> float:
    """Standard error of the mean; units of one user belong together."""
    _, user, number = np.unique(users, return_inverse=True, return_counts=True)
    if len(number) < 2:
        return math.nan
    apart = np.bincount(user, values) - values.mean() * number
    return float(np.sqrt((apart**2).sum() * len(number) / (len(number) - 1)) / len(values))


def _no_help(bounds: tuple[float, float], sizes: np.ndarray, drawn: np.ndarray) -> str:
    pool, sample = int(np.median(sizes)), int(np.median(drawn))
    upto = math.ceil((pool + 1) / (sample + 1))
    return (
        "no correction helps: the bias that may remain is more than half of the value, and the full value may be "
        f"anything from {bounds[0]:.4f} to {bounds[1]:.4f}, or beyond. A first place among {sample:,} "
        f"of {pool:,} items stands for ranks from 1 to about {upto:,}, which the samples cannot distinguish. "
        "Rank all items, or draw larger samples"
    )


def _checked(facts: RankingFacts, pool: np.ndarray | int | None, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of non-relevant items and of drawn ones, by unit."""
    if method not in METHODS:
        raise DefinitionError(f"unknown correction {method!r}", do=suggest(method, METHODS))
    sizes = _pool_sizes(facts, pool)
    drawn = facts.targets - 1
    if (drawn > sizes).any():
        at = int(np.flatnonzero(drawn > sizes)[0])
        raise DefinitionError(
            "a sample cannot be larger than what it is drawn from",
            found=f"unit {at}: {drawn[at]} of {sizes[at]} non-relevant items",
            do="give the number of non-relevant candidates of each unit as pool",
        )
    return sizes, drawn


def _look_up(
    facts: RankingFacts, sizes: np.ndarray, drawn: np.ndarray, corrected: Callable[[int, int], np.ndarray]
) -> np.ndarray:
    """The corrected value of each unit's rank."""
    value = np.empty(len(facts))
    cases, case = np.unique(np.stack([sizes, drawn]), axis=1, return_inverse=True)
    order = np.argsort(case.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(case.ravel(), minlength=cases.shape[1]))[:-1])
    for (n, m), units in zip(cases.T, members):
        value[units] = at_sampled_rank(facts, units, corrected(int(n), int(m)))
    return value


def _pool_sizes(facts: RankingFacts, pool: np.ndarray | int | None) -> np.ndarray:
    if not facts.one_relevant:
        raise DefinitionError(
            "corrections are for one relevant item per target set", do="use a 1R design, or one_relevant(facts)"
        )
    if not facts.exact or (facts.rank == 0).any():
        raise DefinitionError(
            "corrections need the rank of every relevant item", do="rank with the model itself (scores or factors)"
        )
    if pool is None:
        pool = facts.pool
    if pool is None:
        raise DefinitionError(
            "the facts do not record how many items the samples were drawn from",
            do="use a design with a uniform sample (NN100), or give pool=…",
        )
    sizes = np.asarray(pool, np.int64)
    if sizes.shape not in ((), (len(facts),)):
        raise DefinitionError("pool must be one number, or one for each unit", found=f"shape {sizes.shape}")
    return np.broadcast_to(sizes, (len(facts),))
