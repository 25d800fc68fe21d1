"""Did the arms get the users they should have: the check that comes before every other number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.online.ab.sequential import always_valid_shares_p

# A sound assignment fails once in a hundred tests. Losing users unevenly is common and moves every metric, so
# the line is drawn where a false alarm costs a look at the logs and a missed one a wrong decision.
THRESHOLD = 0.01


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Users by arm, what was expected, and how likely so large a gap is by chance.

    p is of the chi-squared test; of a test with looks, it is always valid, tuned for `sequential` users.
    """

    users: dict[str, int]
    expected: dict[str, float]
    chi2: float
    p: float
    threshold: float = THRESHOLD
    sequential: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the shares are too far from the expected ones."""
        return self.p < self.threshold

    def record(self) -> dict[str, Any]:
        """As plain data."""
        shares = {"users": self.users, "expected": self.expected}
        test = {"test": "always-valid" if self.sequential else "chi-squared"}
        return shares | {"chi2": self.chi2, **test, "p": self.p, "threshold": self.threshold, "failed": self.failed}


def check_sample_ratio(
    users: Mapping[str, int],
    *,
    expected_shares: Mapping[str, float] | None = None,
    threshold: float = THRESHOLD,
    sequential: int | None = None,
) -> SampleRatio:
    """Compare the numbers of users with the planned shares of the arms (default: equal).

    With `sequential`, at every look: a sound assignment fails at any of them once in a hundred tests.

    >>> check = check_sample_ratio({"gate_30": 44_700, "gate_40": 45_489})
    >>> round(check.p, 4), check.failed
    (0.0086, True)
    """
    from scipy.special import chdtrc

    shares = _shares(list(users), expected_shares)
    counts = np.array(list(users.values()), float)
    expected = np.array(list(shares.values())) * counts.sum()
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    p = float(chdtrc(len(counts) - 1, chi2))
    if sequential:
        p = always_valid_shares_p(
            counts.tolist(), list(shares.values()), tuned_for=sequential, level=1 - threshold
        )  # fmt: skip
    return SampleRatio(dict(users), shares, chi2, p, threshold, sequential)


def _shares(arms: Sequence[str], given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {arm: 1 / len(arms) for arm in arms}
    unknown = [str(arm) for arm in given if str(arm) not in arms]
    if unknown:
        raise DefinitionError(
            "shares are given for an arm that does not exist", where="expected shares",
            found=", ".join(unknown), do=suggest(unknown[0], arms),
        )  # fmt: skip
    shares = {str(arm): float(share) for arm, share in given.items()}
    missing = [arm for arm in arms if arm not in shares]
    if missing:
        raise DefinitionError(
            "an arm has no expected share", where="expected shares", found="none for " + ", ".join(missing),
            do="give every arm its share: " + ",".join(f"{arm}=1" for arm in arms),
        )  # fmt: skip
    wrong = [arm for arm, share in shares.items() if not 0 < share < float("inf")]
    if wrong:
        raise DefinitionError(
            "shares must be above 0", where="expected shares",
            found=", ".join(f"{arm}={shares[arm]:g}" for arm in wrong), do="leave out users of arms without traffic",
        )  # fmt: skip
    total = sum(shares.values())
    return {arm: shares[arm] / total for arm in arms}
