"""How far the scores of systems would move, and move together, with other users (and other seeds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trueval.comparison.pairing import user_codes
from trueval.data.ids import Ids
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.repeats import influence_on
from trueval.statistics.resampling import one_thread

Results = Mapping[str, Sequence[Evaluation]]  # by name, each one evaluation or those of its folds and seeds
RankingKey = tuple[str, str]  # name of a result, label of a metric: what systems are ranked by

_USERS = 4096  # of one matrix product


class SamplingNoise(NamedTuple):
    """Covariances of scores over users: those of `keys[i]` are rows and columns i · systems and following."""

    keys: list[RankingKey]
    covariance: np.ndarray
    users: int
    systems: int

    def of(self, one: RankingKey, other: RankingKey) -> np.ndarray:
        """Covariances between the scores of two rankings; 0 where one is not a sample."""
        if one not in self.keys or other not in self.keys:
            return np.zeros((self.systems, self.systems))
        i, j = (self.keys.index(name) * self.systems for name in (one, other))
        return self.covariance[i : i + self.systems, j : j + self.systems]


def sampling_noise(results: Results, keys: Sequence[RankingKey], systems: Sequence[str], users: Ids) -> SamplingNoise:
    """Covariances of the scores of all rankings, each a mean over the repeats of its result.

    A user moves every score a little (its influence); sums of products of what users move are the covariances, so
    that scores have in common what the same users do to both, and nothing where their users differ. Repeats add what
    they vary by beyond their users, taken as equal for all systems: a few repeats tell no more.
    """
    known = [
        (name, label)
        for name, label in keys
        if len(users) > 1 and all(label in part.systems[system].sums for part in results[name] for system in systems)
    ]
    number, width = len(systems), len(known) * len(systems)
    repeats = np.repeat([len(results[name]) for name, _ in known], number)
    correction = len(users) / max(len(users) - 1, 1)
    if repeats.max(initial=0) <= 1:
        return SamplingNoise(
            known, correction * _products(_moved(results, known, systems, users, 0)), len(users), number
        )
    mean, apart = np.zeros((len(users), width)), np.zeros((width, width))
    for repeat in range(repeats.max()):
        moved = _moved(results, known, systems, users, repeat)
        apart += _products(moved)
        mean += moved / repeats
    covariance = correction * _products(mean)
    covariance += _by_repeats(results, known, systems, covariance, correction * apart)
    return SamplingNoise(known, covariance, len(users), number)


def _moved(
    results: Results, known: Sequence[RankingKey], systems: Sequence[str], users: Ids, repeat: int
) -> np.ndarray:
    """What each user moves each score of one repeat by, better counting as higher."""
    moved = np.zeros((len(users), len(known) * len(systems)))
    for name in dict.fromkeys(name for name, _ in known):
        if repeat >= len(results[name]):
            continue
        part = results[name][repeat]
        for place, system in enumerate(systems):
            values = part.systems[system]
            rows = user_codes(values, users)
            for at, label in ((at, label) for at, (one, label) in enumerate(known) if one == name):
                sign = -1.0 if part.specs[label].better == "lower" else 1.0
                moved[rows, at * len(systems) + place] = sign * influence_on(values.sums[label])
    return moved


def _products(moved: np.ndarray) -> np.ndarray:
    """Sums over users of products of columns, in blocks: the same bits whatever the number of threads."""
    found = np.zeros((moved.shape[1], moved.shape[1]))
    with one_thread():
        for first in range(0, len(moved), _USERS):
            block = moved[first : first + _USERS]
            found += block.T @ block
    return found


def _by_repeats(
    results: Results, known: Sequence[RankingKey], systems: Sequence[str], by_user: np.ndarray, apart: np.ndarray
) -> np.ndarray:
    """What repeats vary by on top of their users: see `nested_error`, here for covariances and pooled over systems."""
    number = len(systems)
    centre = np.eye(number) - 1 / number
    extra = np.zeros((len(known), len(known)))
    values = [repeated_scores(results[name], label, systems) @ centre for name, label in known]
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            repeats = len(one)
            if repeats < 2 or len(other) != repeats:
                continue
            cell = np.s_[i * number : (i + 1) * number, j * number : (j + 1) * number]
            user, own = (float((centre * side[cell]).sum()) for side in (by_user, apart / repeats))
            together = (repeats * user - own) / (repeats - 1)
            spread = ((one - one.mean(axis=0)) * (other - other.mean(axis=0))).sum() / (repeats - 1)
            extra[i, j] = (float(spread) - (own - together)) / repeats / max(number - 1, 1)
    size, axes = np.linalg.eigh((extra + extra.T) / 2)
    return np.kron((axes * np.maximum(size, 0)) @ axes.T, centre)


def repeated_scores(parts: Sequence[Evaluation], label: str, systems: Sequence[str]) -> np.ndarray:
    """Scores by repeat and system, better counting as higher."""
    sign = -1.0 if parts[0].specs[label].better == "lower" else 1.0
    return sign * np.array([[part.systems[system].estimates[label].value for system in systems] for part in parts])
