"""Power of a paired comparison: the number of users, the detectable difference, the probability of finding it."""

from __future__ import annotations

import math
from collections.abc import Callable

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.statistics.permutation_test import least_p
from trueval.statistics.student import t_quantile

POWER = 0.8  # of a detectable difference, unless said otherwise


@checked
def power(
    *,
    sd: float,
    users: float | None = None,
    difference: float | None = None,
    power: float | None = None,
    alpha: float = 0.05,
) -> float:
    """Users, difference or power of a two-sided paired t-test: two of them give the third.

    Parameters
    ----------
    sd : number
        Standard deviation of users' differences.
    users : number, optional
        Number of users. Left out, it is computed.
    difference : number, optional
        True mean difference between the systems. Left out, the detectable difference is computed.
    power : number, optional
        Probability of finding a true difference. Default: computed where users and difference are given, else 0.8.
    alpha : number, default 0.05
        Significance level of the test.

    Returns
    -------
    float
        The quantity that was left out. With too few users for any p-value below `alpha` (five or fewer at 0.05) the
        power is 0, however large the difference.

    Raises
    ------
    TruevalError
        If not exactly one quantity is left out, or if there are too few users for any significant difference.

    Examples
    --------
    >>> round(power(sd=0.2, users=400, difference=0.02), 3)  # power to find a true difference of 0.02
    0.514
    >>> round(power(sd=0.2, users=400), 4)  # the detectable difference, found with 80 % power
    0.0281
    >>> math.ceil(power(sd=0.2, difference=0.02))  # users it takes
    787
    """
    _check(sd=sd, users=users, difference=difference, power=power, alpha=alpha)
    if users is not None and difference is not None:
        if power is not None:
            raise DefinitionError(
                "users, difference and power are all given: nothing is left to compute", do="leave out one of them"
            )
        return t_power(abs(difference) / sd, users, alpha) if users >= least_users(alpha) else 0.0
    target = POWER if power is None else power
    if target <= alpha:
        raise DefinitionError("power must be above alpha", found=f"power {target:g}, alpha {alpha:g}")
    if users is not None and users < least_users(alpha):
        raise DefinitionError(
            f"{users:g} users cannot show a significant difference at alpha {alpha:g}",
            found=f"smallest possible p-value {least_p(int(users)):.2g}",
            do=f"plan for {least_users(alpha)} users or more",
        )
    if users is not None:
        return sd / math.sqrt(users) * detectable_shift(users - 1, power=target, alpha=alpha)
    if difference is None:
        raise DefinitionError("power needs users or a difference", do="for example power(sd=0.2, users=1000)")
    effect = abs(difference) / sd
    return max(_rising(lambda extra: t_power(effect, 2 + extra, alpha), target, 1.0) + 2, float(least_users(alpha)))


def least_users(alpha: float) -> int:
    """The smallest number of users for which a sign-flip test can give a p-value below alpha.

    >>> least_users(0.05), least_users(0.01)
    (6, 8)
    """
    users = 2
    while not least_p(users) < alpha:
        users += 1
    return users


def t_power(effect: float, users: float, alpha: float = 0.05) -> float:
    """Chance that a two-sided paired t-test rejects, the true mean difference being `effect` standard deviations."""
    return chance_to_show(effect * math.sqrt(users), users - 1, alpha)


def chance_to_show(shift: float, free: float, alpha: float = 0.05) -> float:
    """Chance that a two-sided t-test rejects, the truth being `shift` standard errors away from zero.

    >>> round(chance_to_show(0.0, 99), 6)  # nothing to show: only the error of the first kind
    0.05
    """
    from scipy.special import nctdtr

    edge = t_quantile(level=1 - alpha, freedom=free)
    below, above = (0.0 if math.isnan(tail) else tail for tail in nctdtr(free, shift, [edge, -edge]).tolist())
    return 1 - below + above  # a tail too thin to be computed comes as NaN


def detectable_shift(free: float, *, power: float = POWER, alpha: float = 0.05) -> float:
    """How many standard errors a true difference must be away from zero to be shown with this power.

    >>> round(detectable_shift(1e6), 2)  # 1.96 + 0.84
    2.8
    """
    return _rising(lambda shift: chance_to_show(shift, free, alpha), power, 3.0)


def _rising(chance: Callable[[float], float], target: float, start: float) -> float:
    """Where a rising function reaches a value, by bisection."""
    low, high = 0.0, start
    while chance(high) < target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < target else (low, middle)
    return high


def _check(**given: float | None) -> None:
    for name, value in given.items():
        if value is None:
            continue
        if not math.isfinite(value) or value == 0 or (value < 0 and name != "difference"):
            raise DefinitionError(f"{name} must be a number above 0", found=f"{value:g}")
        if name in ("power", "alpha") and value >= 1:
            raise DefinitionError(f"{name} must be below 1", found=f"{value:g}")
    users = given["users"]
    if users is not None and users < 2:
        raise DefinitionError("a paired comparison needs at least two users", found=f"{users:g}")
