"""Planning a test: the users needed to detect an effect, the duration, the effect detectable with given users."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.render.numbers import level_percent
from trueval.render.shown import Shown
from trueval.statistics.power import chance_to_show
from trueval.statistics.student import normal_quantile

_WEEK = 7
_MOST_ARMS = 1000
_MOST_UNEQUAL = 1_000_000  # times as many users in one arm as in another


@dataclass(frozen=True, slots=True)
class AbPlan(Shown):
    """Users per arm needed to detect `effect` (absolute) with probability `power`, and the days this takes.

    `users_by_arm` begins with the control; `users_per_arm` is the number of the smallest arm.
    """

    baseline: float
    sd: float | None
    effect: float
    users_per_arm: int
    users: int
    arms: int
    power: float
    level: float
    comparisons: int
    variance_reduction: float
    daily_users: float | None
    days: int | None
    users_by_arm: tuple[int, ...]

    @property
    def relative(self) -> float:
        """The effect as a share of the baseline."""
        return self.effect / self.baseline if self.baseline else math.nan

    def record(self) -> dict[str, Any]:
        """As plain data."""
        relative = self.relative
        plain = {"relative": relative if math.isfinite(relative) else None, "users_by_arm": list(self.users_by_arm)}
        return asdict(self) | plain

    def __str__(self) -> str:
        what = f"rate of {self.baseline:g}" if self.sd is None else f"mean of {self.baseline:g} (sd {self.sd:g})"
        relative = f" ({100 * self.relative:+.3g} %)" if math.isfinite(self.relative) else ""
        first = f"{self.users_per_arm:,} users per arm, {self.users:,} in {self.arms} arms"
        if len(set(self.users_by_arm)) > 1:
            control, *new = (f"{n:,}" for n in self.users_by_arm)
            first = f"{control} users in the control, {' and '.join(new)} in the new arm{'s' * (len(new) > 1)}"
            first += f", {self.users:,} in all"
        lines = [
            first,
            f"can detect a change of {self.effect:+.4g}{relative} from a {what}",
            f"with probability {level_percent(self.power)}, at level {level_percent(self.level)}, two-sided",
        ]
        if self.comparisons > 1:
            lines[-1] += f", Bonferroni over {self.comparisons} comparisons"
        if self.variance_reduction:
            lines.append(
                f"variance reduced by {level_percent(self.variance_reduction)} with data from before the test (CUPED)"
            )
        if self.days is not None:
            weeks = math.ceil(self.days / _WEEK)
            lines.append(f"{self.days:,} days at {self.daily_users:,.0f} new users a day; run whole weeks: {weeks}")
        return "\n".join(lines) + "\n"


@checked
def ab_plan(
    *,
    baseline: float,
    effect: float | str | None = None,
    sd: float | None = None,
    users: int | None = None,
    arms: int | None = None,
    split: str | Sequence[float] | None = None,
    metrics: int = 1,
    power: float = 0.8,
    level: float = 0.95,
    daily_users: float | None = None,
    variance_reduction: float = 0.0,
) -> AbPlan:
    """Plan an A/B test: the users needed to detect an effect, or the effect detectable with given users.

    A baseline alone is a rate, a baseline with `sd` a mean over users. In arms of equal size the users are the fewest;
    with nine times as many in the control as in the new arm, it takes 2.8 times as many users in all.

    Parameters
    ----------
    baseline : number
        Rate or mean of the control.
    effect : number or text, optional
        The effect to detect, absolute (0.01) or relative to the baseline ("5%"). Give this or `users`.
    sd : number, optional
        Standard deviation over users of a mean. For a ratio such as CTR take that of
        (clicks - CTR * impressions) / mean impressions over users. Default: the baseline is a rate.
    users : int, optional
        Number of users in all arms together. Give this or `effect`.
    arms : int, optional
        Number of arms, the control included. Default: 2, or the number of parts of `split`.
    split : text or list of number, optional
        How users are divided, the control first: "10:1" or [10, 1]. With several new arms the smallest one decides.
        Default: arms of equal size.
    metrics : int, default 1
        Number of metrics. The level is corrected for (arms - 1) × metrics comparisons (Bonferroni).
    power : number, default 0.8
        Probability of finding the effect.
    level : number, default 0.95
        Confidence level of the two-sided test.
    daily_users : number, optional
        New users per day in all arms together, to compute the number of days.
    variance_reduction : number, default 0.0
        Share of the variance removed by data from before the test (CUPED).

    Returns
    -------
    AbPlan
        `users_per_arm` (of the smallest arm), `users_by_arm` (the control first), `users`, `effect` (absolute),
        `relative`, `days`. Prints as sentences.

    Raises
    ------
    TruevalError
        Where both or neither of `effect` and `users` are given, and for numbers out of range.

    Examples
    --------
    >>> ab_plan(baseline=0.10, effect=0.01).users_per_arm
    14751
    >>> ab_plan(baseline=0.10, effect="10%", daily_users=2000).days
    15
    >>> ab_plan(baseline=20, sd=30, effect=1).users_per_arm
    14129
    >>> ab_plan(baseline=20, sd=30, effect=1, split="10:1").users_by_arm
    (77720, 7772)
    """
    parts = _parts(split, arms)
    arms = len(parts)
    _check(baseline, sd, metrics, power, level, daily_users, variance_reduction)
    alpha = (1 - level) / ((arms - 1) * metrics)
    keep = 1 - variance_reduction
    if (effect is None) == (users is None):
        raise DefinitionError("a plan needs either an effect or a number of users", do='effect=0.01 or "5%"')
    if effect is not None:
        change = _absolute(effect, baseline, sd)
        smallest = min(parts)

        def users_of(fewest: int) -> tuple[int, ...]:
            return tuple(math.ceil(fewest * part / smallest) for part in parts)

        def enough(fewest: int) -> bool:
            control, new = _pair(users_of(fewest), keep)
            return chance(baseline, change, new, control=control, sd=sd, alpha=alpha) >= power

        by_arm = users_of(_smallest(enough))
    else:
        assert users is not None
        by_arm = tuple(math.floor(users * part / sum(parts)) for part in parts)
        if min(by_arm) < 2:
            raise DefinitionError("an arm needs at least two users", where="users", found=f"{users:,} in {arms} arms")
        change = _visible(baseline, _pair(by_arm, keep), sd, alpha, power)
    days = None if daily_users is None else math.ceil(sum(by_arm) / daily_users)
    return AbPlan(
        baseline, sd, change, min(by_arm), sum(by_arm), arms, power, level, (arms - 1) * metrics, variance_reduction,
        daily_users, days, by_arm,
    )  # fmt: skip


def _pair(by_arm: tuple[int, ...], keep: float) -> tuple[float, float]:
    """The control and the smallest new arm: as many users as would be needed if no variance were removed."""
    return by_arm[0] / keep, min(by_arm[1:]) / keep


def _parts(split: str | Sequence[float] | None, arms: int | None) -> tuple[Fraction, ...]:
    """Shares of the arms, up to a factor; exact, so that rounding adds no user.

    >>> _parts("9:1", None)
    (Fraction(9, 1), Fraction(1, 1))
    """
    if arms is not None and not 2 <= arms <= _MOST_ARMS:
        raise DefinitionError(f"arms must be from 2 to {_MOST_ARMS:,}", where="arms", found=f"{arms:,}")
    if split is None:
        return (Fraction(1),) * (arms or 2)
    words = split.split(":") if isinstance(split, str) else [str(part) for part in split]
    shown = ":".join(words)[:60]
    what = {"where": "split", "found": shown, "do": "write the control first: 10:1 for ten users of the control to one"}
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise DefinitionError("a split must be numbers with colons between them", **what) from None
    if not 2 <= len(numbers) <= _MOST_ARMS or not all(0 < number < math.inf for number in numbers):
        raise DefinitionError(f"a split needs a number above 0 for each of 2 to {_MOST_ARMS:,} arms", **what)
    if max(numbers) > _MOST_UNEQUAL * min(numbers):
        raise DefinitionError("one arm has more than a million times as many users as another", **what)
    if arms is not None and arms != len(numbers):
        what["do"] = "leave out arms, or give a number for each arm"
        raise DefinitionError(f"the split is of {len(numbers)} arms, not of {arms}", **what)
    return tuple(Fraction(repr(number)) for number in numbers)


def chance(
    baseline: float, change: float, new: float, *, control: float | None = None, sd: float | None = None,
    alpha: float = 0.05,
) -> float:  # fmt: skip
    """The power of a two-sided test with so many users in the new arm, and in the control (default: as many).

    A rate: normal, the variance pooled under no change. A mean: the noncentral t distribution, with Welch's degrees of
    freedom for equal variances.

    >>> round(chance(0.1, 0.01, 14_751), 3)
    0.8
    """
    from scipy.special import ndtr

    control = new if control is None else control
    change = abs(change) if sd is not None else change
    inverse = 1 / new + 1 / control
    if sd is None:
        other = baseline + change
        pooled = (control * baseline + new * other) / (control + new)
        own = baseline * (1 - baseline) / control + other * (1 - other) / new
        edge = normal_quantile(1 - alpha) * math.sqrt(pooled * (1 - pooled) * inverse)
        spread = math.sqrt(own)
        return float(ndtr((abs(change) - edge) / spread) + ndtr((-abs(change) - edge) / spread))
    freedom = inverse**2 / (1 / (new**2 * (new - 1)) + 1 / (control**2 * (control - 1)))
    shift = change / (sd * math.sqrt(inverse))
    if freedom > 1e5 or shift > 30:  # normal to all digits shown
        edge = normal_quantile(1 - alpha)
        return float(ndtr(shift - edge) + ndtr(-shift - edge))
    return chance_to_show(shift, freedom, alpha)


def _smallest(enough: Callable[[int], bool]) -> int:
    """The smallest whole number, from 2 on, that is enough."""
    high = 2
    while not enough(high):
        high *= 2
        if high > 10**15:
            raise DefinitionError("no number of users is large enough for this effect", do="plan for a larger effect")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _visible(baseline: float, users: tuple[float, float], sd: float | None, alpha: float, power: float) -> float:
    """The smallest rise (fall, if rises have no room) that is seen with the required probability."""
    control, new = users

    def power_of(change: float) -> float:
        return chance(baseline, change, new, control=control, sd=sd, alpha=alpha)

    room = 1 - baseline if sd is None else math.inf
    high = min(room, (sd or 1) * 1e-9)
    while high < room and power_of(high) < power:
        high = min(room, 2 * high)
    if power_of(high) < power:
        found = f"{new:.0f} per arm" if new == control else f"{control:.0f} in the control, {new:.0f} in the new arm"
        raise DefinitionError("this number of users cannot detect any change", where="users", found=found)
    low = 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def _absolute(effect: float | str, baseline: float, sd: float | None) -> float:
    """An effect such as 0.01 or "5%" as a difference from the baseline."""
    text = str(effect).strip()
    try:
        change = float(text.removesuffix("%")) * (baseline / 100 if text.endswith("%") else 1)
    except ValueError:
        raise DefinitionError(
            "an effect must be a number or a percentage", where="effect", found=text, do="0.01 or 5%"
        ) from None
    if not math.isfinite(change) or change == 0:
        raise DefinitionError("the effect must not be 0", where="effect", found=text, do="0.01 or 5%")
    if sd is None and not 0 <= baseline + change <= 1:
        raise DefinitionError(
            "the changed rate is not between 0 and 1", where="effect", found=f"{baseline:g} {change:+g}",
            do="give a smaller effect, or sd=… if the baseline is a mean",
        )  # fmt: skip
    return change


def _check(
    baseline: float, sd: float | None, metrics: int, power: float, level: float, daily_users: float | None,
    variance_reduction: float,
) -> None:  # fmt: skip
    if sd is None and not 0 < baseline < 1:
        raise DefinitionError(
            "a baseline rate must lie between 0 and 1", where="baseline", found=f"{baseline:g}",
            do="for a mean, give its standard deviation too (sd=…, --sd …)",
        )  # fmt: skip
    limits = [
        ("baseline", baseline, math.isfinite(baseline), "a finite number"),
        ("sd", sd, sd is None or 0 < sd < math.inf, "above 0"),
        ("metrics", metrics, metrics >= 1, "1 or more"),
        ("power", power, 1 - level < power < 1, "above 1 - level and below 1"),
        ("level", level, 0.5 <= level < 1, "between 0.5 and 1"),
        ("daily_users", daily_users, daily_users is None or 0 < daily_users < math.inf, "above 0"),
        ("variance_reduction", variance_reduction, 0 <= variance_reduction < 1, "between 0 and 1"),
    ]
    for name, value, fine, allowed in limits:
        if not fine:
            raise DefinitionError(f"{name} must be {allowed}", where=name, found=f"{value:g}")
