"""Intervals for people who look while the test runs: valid at every look, not only at a planned last one.

The boundary is a normal mixture (the mixture sequential probability ratio test): the effect is given a normal
prior whose variance is that of the estimate after `rho` users. As users n come in, an estimate with standard
error s lies within s * sqrt((1 + rho/n) * (log(1 + n/rho) + 2 log(1/alpha))) of the truth at all n at once, with
probability 1 - alpha, for large n. `rho` is chosen such that the interval is tightest at a planned number of
users, and must not be chosen again while the test runs.

The numbers of users in the arms have a boundary of the same kind (Lindon & Malek 2022): a Dirichlet prior of the shares
around the planned ones, which is worth `rho` users, against these shares themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

TUNED_FOR = 5000  # users, unless something else is planned


def prior_users(tuned_for: float, *, level: float) -> float:
    """The rho for which the interval is tightest after `tuned_for` users.

    The multiplier is smallest where x = n/rho solves x = log(1 + x) + 2 log(1/alpha).

    >>> round(prior_users(5000, level=0.95))
    609
    """
    surprise = -2 * math.log1p(-level)
    x = surprise
    for _ in range(60):  # each step brings the error down by at least x + 1 times
        x = math.log1p(x) + surprise
    return tuned_for / x


def always_valid_reach(n: float, *, tuned_for: float = TUNED_FOR, level: float = 0.95) -> float:
    """How many standard errors the interval reaches to each side after n users.

    >>> round(always_valid_reach(5000), 2), round(always_valid_reach(100), 2)
    (3.04, 6.6)
    """
    rho = prior_users(tuned_for, level=level)
    return math.sqrt((1 + rho / n) * (math.log1p(n / rho) - 2 * math.log1p(-level)))


def always_valid_p(z: float, n: float, *, tuned_for: float = TUNED_FOR, level: float = 0.95) -> float:
    """A p-value that may be looked at any number of times; it is 1 - level where the interval touches 0.

    >>> round(always_valid_p(always_valid_reach(800), 800), 6)
    0.05
    """
    rho = prior_users(tuned_for, level=level)
    return min(1.0, math.sqrt(1 + n / rho) * math.exp(-z * z / (2 * (1 + rho / n))))


def always_valid_shares_p(
    counts: Sequence[float], shares: Sequence[float], *, tuned_for: float = TUNED_FOR, level: float = 0.95
) -> float:
    """The same of users by arm, who should have these shares: 1 over their likelihood ratio, exact for any number.

    >>> round(always_valid_shares_p([500, 500], [0.5, 0.5]), 3), always_valid_shares_p([700, 300], [0.5, 0.5]) < 1e-6
    (1.0, True)
    """
    rho = prior_users(tuned_for, level=level)
    ratio = math.lgamma(rho) - math.lgamma(rho + sum(counts))
    for count, share in zip(counts, shares):
        ratio += math.lgamma(rho * share + count) - math.lgamma(rho * share) - count * math.log(share)
    return math.exp(-max(0.0, ratio))


def always_valid_chi2_p(
    chi2: float, freedom: int, n: float, *, tuned_for: float = TUNED_FOR, level: float = 0.95
) -> float:
    """The same of a statistic that is chi-squared at one look: a normal prior in each of its directions.

    >>> round(always_valid_chi2_p(9.0, 1, 800), 6) == round(always_valid_p(3.0, 800), 6)
    True
    """
    rho = prior_users(tuned_for, level=level)
    return min(1.0, (1 + n / rho) ** (freedom / 2) * math.exp(-chi2 / (2 * (1 + rho / n))))
