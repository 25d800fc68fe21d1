"""Answers that are missing: does it depend on the list whether there is one? Then those that are there mislead.

Who left a list blank because they did not like it is missing where it is judged: the mean of the others is too high.
Whether that is so cannot be seen from the answers that are there, but it shows in what is missing: lists that are liked
less are blank more often. So every list must be blank equally often, but for chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from trueval.statistics.rank_tests import score_covariance, score_test

MOST_HIDDEN = 0.15  # simulated (docs/study-coverage.md): what hides below this leaves intervals about what they promise
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class MissingAnswers:
    """How many answers are missing, of which list, and whether that depends on the list.

    `p` is that of Cochran's Q, counted over permutations of every participant's blanks. `least` is the difference
    between a list's share of blanks and that of all others which this test finds with 80 % power: what it can hide.
    """

    of: tuple[str, ...]  # lists, or pairs of lists
    missing: tuple[int, ...]
    asked: tuple[int, ...]
    participants: int  # who left any out
    p: float
    least: float
    method: str

    @property
    def too_few(self) -> bool:
        """Whether a dependence could hide that would change what is found."""
        return self.least > MOST_HIDDEN

    def depends(self, alpha: float) -> bool:
        """Whether it depends on the list what is missing."""
        return self.p < alpha

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def missing_answers(answered: np.ndarray, of: Sequence[str], *, level: float, seed: int) -> MissingAnswers | None:
    """What is missing: a row per participant, a column per list; 1 answered, 0 not, NaN not asked. None: nothing is.

    >>> answered = np.ones((40, 3))
    >>> answered[:28, 0] = 0
    >>> found = missing_answers(answered, ["a", "b", "c"], level=0.95, seed=0)
    >>> found.missing, found.participants, found.depends(0.05)
    ((28, 0, 0), 28, True)
    """
    known = ~np.isnan(answered)
    missing = (known & (answered == 0)).sum(axis=0)
    if not missing.any():
        return None
    people = int((known & (answered == 0)).any(axis=1).sum())
    test = score_test(answered, seed=seed)
    counts = tuple(map(int, missing)), tuple(map(int, known.sum(axis=0)))
    if not test.freedom:  # whoever left one out left out all
        return MissingAnswers(tuple(of), *counts, people, 1.0, 0.0, test.method)
    return MissingAnswers(
        tuple(of), *counts, people, test.p, _least_found(answered, test.freedom, 1 - level), test.method
    )


def _least_found(answered: np.ndarray, freedom: int, alpha: float) -> float:
    """The difference of one list, the one that shows worst, at which the test has its power.

    Q is then that of a non-central chi-squared distribution, with the covariance that it has without a difference.
    """
    inverse = np.linalg.pinv(score_covariance(answered), hermitian=True)
    asked = (~np.isnan(answered)).astype(np.float64)
    share = asked / np.maximum(asked.sum(axis=1, keepdims=True), 1)
    shifts = np.diag(asked.sum(axis=0)) - asked.T @ share  # of all sums, if one list is answered more often by 1
    seen = np.einsum("ij,jk,ik->i", shifts, inverse, shifts)
    able = seen[seen > 1e-9]
    return float(min(1.0, np.sqrt(_noncentrality(freedom, alpha) / able.min()))) if len(able) else 1.0


@cache
def _noncentrality(freedom: int, alpha: float) -> float:
    """At which a chi-squared test has its power, by bisection.

    >>> round(_noncentrality(1, 0.05), 3)  # (1.95996 + 0.84162)², but for the other side
    7.849
    """
    from scipy.special import chdtri, chndtr

    limit, low, high = chdtri(freedom, alpha), 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - chndtr(limit, freedom, middle) < _POWER else (low, middle)
    return high
