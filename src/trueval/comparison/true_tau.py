"""Kendall's τ of the true scores of systems, those of the population that the users are a sample of.

τ of the observed scores is no estimate of it: metrics of the same users err alike, which adds agreement where systems
are close, and errors that are not shared take agreement away. Here both are measured and taken out. The true scores of
systems are modelled as normal, with unknown spreads and an unknown correlation between the two rankings; with the
covariances of the errors, which the users give, that makes a distribution of the true scores given the observed ones.
The mean of τ over it is the estimate, its middle 95 % the interval.

Beforehand, every correlation τ from −1 to 1 is as likely as any other, and a spread is half-Cauchy in units of the
errors. Where users tell little, the estimate is therefore near 0 and the interval nearly all from −1 to 1. Only the
order of systems matters, so those that are clearly apart on both rankings say nothing about each other: spreads and
correlations are those among systems that are close, and a hopeless baseline does not make the others look alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueval.comparison.tau import taus
from trueval.kernels.seeds import derive
from trueval.statistics.resampling import one_thread

_CLEAR = 4.0  # standard errors: systems further apart are taken as ordered
_NODES = 256  # values of the two spreads and the correlation that are weighed
_GRID = 200  # values of one spread
_STEPS = 1 / 1.2207440846057596 ** np.arange(1, 4)  # of a sequence that fills a cube evenly
_HIGHEST = 0.99999  # correlation


@dataclass(frozen=True, slots=True)
class Draws:
    """Random numbers, the same for every two rankings, so that no pair depends on which others there are."""

    errors: np.ndarray  # draws by twice the systems
    scores: np.ndarray  # the same
    nodes: np.ndarray  # nodes by three, from 0 to 1
    start: float

    @staticmethod
    def of(systems: int, *, draws: int, seed: int) -> Draws:
        """As the seed gives them."""
        rng = np.random.default_rng(int(derive(seed, "agreement")))
        start, shift = float(rng.random()), rng.random(3)
        nodes = (shift + np.arange(1, _NODES + 1)[:, None] * _STEPS) % 1
        both = rng.standard_normal((draws, 2, 2 * systems))
        return Draws(both[:, 0], both[:, 1], nodes, start)


def true_taus(
    one: np.ndarray, other: np.ndarray, covariance: np.ndarray, *, users: int, draws: Draws
) -> tuple[np.ndarray, np.ndarray]:
    """τ-b and top-weighted τ of draws of the true scores.

    `covariance` is that of the errors of both rankings' scores, one after the other, as measured over `users`.

    >>> apart, close = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.01, 0.99])
    >>> draws = Draws.of(3, draws=500, seed=0)
    >>> found = [true_taus(apart, x, 1e-3 * np.eye(6), users=900, draws=draws)[0] for x in (apart, close)]
    >>> [(float(tau.min()), float(tau.max())) for tau in found]
    [(1.0, 1.0), (-1.0, 1.0)]
    """
    number = len(one)
    parts = (slice(0, number), slice(number, None))
    equal = [_first_equal(x, covariance[part, part]) for x, part in zip((one, other), parts)]
    width = [max(float(np.ptp(x)), 1e-300) for x in (one, other)]
    one, other, unit = one / width[0], other / width[1], np.repeat(width, number)
    with one_thread():
        noise = _steadied(covariance / np.multiply.outer(unit, unit), number, users)
        own = [(x, noise[part, part]) for x, part in zip((one, other), parts)]
        in_doubt = _contrasts(_groups(_clear(*own[0]) & _clear(*own[1])), number)
        errors = _errors(np.concatenate([_narrowed(*each) for each in own]), noise, in_doubt, draws)
    drawn = np.concatenate([one, other]) - errors
    return taus(drawn[:, :number][:, equal[0]], drawn[:, number:][:, equal[1]])


def _first_equal(scores: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """For every system the first that no user tells from it: a tie in truth as well."""
    size = np.add.outer(np.diag(noise), np.diag(noise))
    gap = np.abs(np.subtract.outer(scores, scores))
    same = (size - 2 * noise <= 1e-12 * size) & (gap <= 1e-12 * np.maximum(np.abs(scores).max(), 1e-300))
    return same.argmax(axis=1)


def _variances(noise: np.ndarray) -> np.ndarray:
    """Of the errors of differences between systems."""
    return np.maximum(np.add.outer(np.diag(noise), np.diag(noise)) - 2 * noise, 0)


def _steadied(covariance: np.ndarray, number: int, users: int) -> np.ndarray:
    """Covariances about the mean of the systems, less wild where few users measure many of them.

    Correlations between different systems are drawn towards their mean, the more so the more of them there are per
    user, and few users make the variances larger (as Student's t is wider).
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.multiply.outer(sd, sd)
    off = ~np.eye(number, dtype=bool)
    weight = 2 * (number - 1) / (2 * (number - 1) + users)
    for rows in (slice(0, number), slice(number, None)):
        for columns in (slice(0, number), slice(number, None)):
            block = correlation[rows, columns]
            block[off] += weight * (block[off].mean() - block[off])
    wider = (users - 1) / max(users - 3, 1)
    centre = np.kron(np.eye(2), np.eye(number) - 1 / number)
    centred = wider * centre @ (correlation * np.multiply.outer(sd, sd)) @ centre
    size, axes = np.linalg.eigh((centred + centred.T) / 2)
    return (axes * np.maximum(size, 0)) @ axes.T


def _clear(scores: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Which two systems are in an order that the errors leave no doubt about."""
    return np.abs(np.subtract.outer(scores, scores)) > _CLEAR * np.sqrt(_variances(noise))


def _narrowed(scores: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Scores in the same order, gaps between neighbours no wider than makes them clear; ranks where nothing errs."""
    order = np.argsort(scores, kind="stable")
    gaps, variances = np.diff(scores[order]), _variances(noise)
    usual = np.sqrt(np.median(variances[np.triu_indices(len(scores), 1)]))
    if usual > 1e-9 * np.ptp(scores):
        error = np.sqrt(variances[order[1:], order[:-1]])
        gaps = np.minimum(gaps, _CLEAR * np.maximum(error, 0.1 * usual))
    else:
        gaps = (gaps > 0) * max(float(np.ptp(scores)), 1e-300) / len(scores)
    found = np.empty_like(scores)
    found[order] = np.concatenate([[0.0], np.cumsum(gaps)])
    return found - found.mean()


def _groups(clear: np.ndarray) -> np.ndarray:
    """Systems that are linked by orders in doubt, by the number of the first of them."""
    linked = ~clear
    np.fill_diagonal(linked, True)
    for _ in range(len(clear).bit_length()):  # each step doubles how far links reach
        linked = (linked.astype(np.float64) @ linked) > 0
    return linked.argmax(axis=1)


def _contrasts(group: np.ndarray, number: int) -> np.ndarray:
    """Orthonormal differences between systems of one group, a row each."""
    rows = []
    for first in np.unique(group):
        members = np.flatnonzero(group == first)
        for k in range(1, len(members)):
            row = np.zeros(number)
            row[members[:k]], row[members[k]] = 1.0, -k
            rows.append(row / np.sqrt(k * (k + 1)))
    return np.array(rows).reshape(len(rows), number)


def _errors(scores: np.ndarray, noise: np.ndarray, contrasts: np.ndarray, draws: Draws) -> np.ndarray:
    """Draws of the errors given the observed scores, a row each.

    Errors and true scores are drawn beforehand, and moved by what regression on the observed contrasts says.
    """
    size, axes = np.linalg.eigh(noise)
    errors = draws.errors @ ((axes * np.sqrt(np.maximum(size, 0))) @ axes.T)
    d = len(contrasts)
    if not d:
        return errors
    both = np.kron(np.eye(2), contrasts)
    seen, within = both @ scores, both @ noise @ both.T
    spreads, correlation, inverse, chance = _weighed(seen, within, draws.nodes)
    at = (draws.start + np.arange(len(errors))) / len(errors)
    pick = np.minimum(np.searchsorted(np.cumsum(chance), at), len(chance) - 1)
    first, second = draws.scores[:, :d], draws.scores[:, d : 2 * d]
    r = correlation[pick, None]
    second = r * first + np.sqrt(1 - r**2) * second
    true = np.concatenate([spreads[pick, :1] * first, spreads[pick, 1:] * second], axis=1)
    residual = seen - true - errors @ both.T
    return errors + np.einsum("nij,nj->ni", inverse[pick], residual) @ (both @ noise)


def _weighed(
    seen: np.ndarray, within: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Spreads and correlations at the nodes, the inverse covariances of what is seen, and the chance of each node."""
    d = len(seen) // 2
    own = [_spreads(seen[part], within[part, part], nodes[:, k]) for k, part in enumerate((np.s_[:d], np.s_[d:]))]
    spreads = np.stack([spread for spread, _ in own], axis=1)
    correlation = _HIGHEST * np.sin(np.pi * (nodes[:, 2] - 0.5))  # so that τ = 2/π · arcsin is uniform
    total = np.repeat(within[None], len(nodes), axis=0)
    i = np.arange(d)
    total[:, i, i] += spreads[:, :1] ** 2
    total[:, d + i, d + i] += spreads[:, 1:] ** 2
    shared = (correlation * spreads.prod(axis=1))[:, None]
    total[:, i, d + i] += shared
    total[:, d + i, i] += shared
    inverse = np.linalg.inv(total)
    fit = -0.5 * (np.linalg.slogdet(total)[1] + np.einsum("i,nij,j->n", seen, inverse, seen))
    fit -= own[0][1] + own[1][1]  # nodes are spread by what each ranking says alone
    chance = np.exp(fit - fit.max())
    return spreads, correlation, inverse, chance / chance.sum()


def _spreads(seen: np.ndarray, within: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of the spread of the true scores by one ranking alone, and the log-likelihood there."""
    size, axes = np.linalg.eigh(within)
    size, turned = np.maximum(size, 0), axes.T @ seen
    wide = float(np.sqrt((seen**2).mean()))
    unit = max(float(np.sqrt(size.mean())), 1e-3 * wide, 1e-300)
    steps = np.linspace(np.log(0.05 * unit), np.log(20 * max(unit, wide)), _GRID)
    variance = np.exp(2 * steps)[:, None] + size
    fit = -0.5 * (np.log(variance) + turned**2 / variance).sum(axis=1)
    density = fit + steps - np.log1p(np.exp(2 * steps) / unit**2)
    upto = np.cumsum(np.exp(density - density.max()))
    found = np.interp(at, upto / upto[-1], steps)
    return np.exp(found), np.interp(found, steps, fit)
