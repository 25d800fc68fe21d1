"""Worlds in which the true difference between two arms is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import lognorm, norm

from trueval.online.ab.cuped import adjust
from trueval.online.ab.differences import Difference, difference
from trueval.online.ab.estimates import AbOptions, Sample, estimate
from trueval.online.ab.metric_declarations import parse_metrics


def clicks(rng: np.random.Generator, n: int, effect: float = 0.0) -> Sample:
    """Users who differ much in impressions and in their taste for clicking; mean CTR 0.2 + effect."""
    impressions = 1 + rng.negative_binomial(1, 0.1, n)
    mean = 0.2 + effect
    share = rng.beta(4 * mean / (1 - mean), 4, n)
    return Sample(rng.binomial(impressions, share).astype(float), impressions.astype(float))


def bought(rng: np.random.Generator, n: int, effect: float = 0.0) -> Sample:
    return Sample((rng.random(n) < 0.1 + effect).astype(float))


SPREAD = 1.0


def dwell(rng: np.random.Generator, n: int, effect: float = 0.0) -> Sample:
    """Seconds with a long tail: logarithms are normal around 3 + effect."""
    return Sample(np.exp(rng.normal(3 + effect, SPREAD, n)))


def dwell_quantile(q: float, effect: float) -> float:
    return float(np.exp(3 + effect + SPREAD * norm.ppf(q)))


def dwell_trimmed(share: float, effect: float) -> float:
    """The mean between two quantiles, by the midpoint rule over probabilities."""
    u = share + (1 - 2 * share) * (np.arange(200_000) + 0.5) / 200_000
    return float(lognorm.ppf(u, SPREAD, scale=np.exp(3 + effect)).mean())


def spent(rng: np.random.Generator, n: int, effect: float = 0.0) -> Sample:
    return Sample(rng.normal(10 + effect, 4, n))


@dataclass(frozen=True)
class World:
    """A metric, how an arm's users come about, an effect, and the difference that it makes."""

    metric: str
    users: Callable[..., Sample]
    effect: float
    truth: float


WORLDS = {
    "ratio": World("x:ratio=a/b", clicks, 0.05, 0.05),
    "bootstrap": World("x:bootstrap=a/b", clicks, 0.05, 0.05),
    "conversion": World("x:conversion", bought, 0.04, 0.04),
    "mean": World("x:mean", spent, 0.5, 0.5),
    "median": World("x:median", dwell, 0.2, dwell_quantile(0.5, 0.2) - dwell_quantile(0.5, 0)),
    "quantile": World("x:quantile(0.9)", dwell, 0.2, dwell_quantile(0.9, 0.2) - dwell_quantile(0.9, 0)),
    "trimmed": World("x:trimmed", dwell, 0.2, dwell_trimmed(0.1, 0.2) - dwell_trimmed(0.1, 0)),
    "mannwhitney": World("x:mannwhitney", dwell, 0.2, 2 * norm.cdf(0.2 / (SPREAD * np.sqrt(2))) - 1),
}


def one_test(world: World, n: int, effect: float, options: AbOptions, rng: np.random.Generator) -> Difference:
    """One A/B test in a world, the arms of unequal size."""
    metric = parse_metrics(world.metric)[0]
    pair = world.users(rng, n), world.users(rng, int(1.3 * n), effect)
    control, arm = (estimate(metric, sample, options=options, stream=name) for sample, name in zip(pair, "ab"))
    return difference(metric, control, arm, samples=pair, options=options)


def with_past(rng: np.random.Generator, n: int, effect: float) -> tuple[Sample, np.ndarray]:
    """A value half of whose variance was there before."""
    past = rng.gamma(2.0, 2.0, n)
    return Sample(past + rng.normal(effect, past.std(), n)), past[:, None]


def one_adjusted_test(
    n: int, effect: float, options: AbOptions, rng: np.random.Generator
) -> tuple[Difference, Difference]:
    """The same users without and with CUPED."""
    metric = parse_metrics("x:mean")[0]
    (a, past_a), (b, past_b) = with_past(rng, n, 0.0), with_past(rng, int(1.3 * n), effect)
    raw = [estimate(metric, sample, options=options) for sample in (a, b)]
    adjusted = adjust(raw, [past_a, past_b])
    plain = difference(metric, raw[0], raw[1], samples=(a, b), options=options)
    return plain, difference(metric, adjusted[0], adjusted[1], samples=(a, b), options=options, adjusted=True)
