"""Did chance make the arms: sample ratios within segments and days, and what was known before, spread over the arms.

A sound overall ratio proves little: losses of two browsers in opposite directions cancel in it. Each check below is
rare to fail by chance; all that somebody asked for are corrected together by Holm, to fail together in one sound test
of a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trueval.online.ab.covariates import Covariate
from trueval.online.ab.sequential import always_valid_chi2_p, always_valid_shares_p
from trueval.statistics.binomial import binomial_tails
from trueval.statistics.multiple_comparisons import corrected

THRESHOLD = 0.001
MIN_EXPECTED = 10  # users expected in every arm; rarer groups are put together


@dataclass(frozen=True, slots=True)
class BalanceCheck:
    """One check: of `name`, perhaps within one `group`, by a test with a p, corrected over all checks of its family.

    `asked` says that the column was named as known before the test: such a check can stop the verdict.
    """

    name: str
    role: str
    test: str  # sample ratio, chi-squared or kruskal-wallis
    group: str
    statistic: float
    p: float
    detail: str
    asked: bool = True
    p_corrected: float = 1.0
    threshold: float = THRESHOLD

    @property
    def failed(self) -> bool:
        """Whether chance hardly gives such arms."""
        return self.p_corrected < self.threshold

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {"failed": self.failed}


def check_balance(
    covariates: Sequence[Covariate],
    arm: np.ndarray,
    expected: Mapping[str, float],
    more: Sequence[BalanceCheck] = (),
    *,
    sequential: int | None = None,
) -> tuple[BalanceCheck, ...]:
    """All checks; `expected` holds the arms in order with their shares, `more` checks that were made elsewhere.

    With `sequential`, p holds at every look and is tuned for so many users.

    >>> from trueval.online.ab.covariates import grouped
    >>> browser = grouped("browser", "segment", np.array(["x"] * 60 + ["y"] * 60))
    >>> arm = np.array([0] * 50 + [1] * 10 + [0] * 10 + [1] * 50)
    >>> [(c.group, c.test, c.failed) for c in check_balance([browser], arm, {"a": 0.5, "b": 0.5})]
    [('', 'chi-squared', True), ('x', 'sample ratio', True), ('y', 'sample ratio', True)]
    """
    arms, shares = tuple(expected), np.array(list(expected.values()))
    found = list(more)
    for one in covariates:
        if not one.labels:
            found += _of_numbers(one, arm, arms, sequential)
            continue
        counts = _table(one.values, arm, len(one.labels), len(arms))
        if not one.asked and ((counts > 0).sum(axis=1) == 1).all():
            continue  # another name of the arm
        tested = of_counts(one.name, one.role, counts, one.labels, arms, sequential=sequential)
        found += [replace(c, asked=one.asked) for c in tested]
        if one.role in ("segment", "day"):
            found += _ratios(one, counts, arms, shares, sequential)
    return (*_settled([c for c in found if c.asked]), *_settled([c for c in found if not c.asked]))


def of_counts(
    name: str,
    role: str,
    counts: np.ndarray,
    labels: Sequence[str],
    arms: Sequence[str],
    *,
    sequential: int | None = None,
) -> list[BalanceCheck]:
    """The chi-squared test of groups (rows) against arms (columns), rare groups together; none if one group is left.

    >>> of_counts("browser", "covariate", np.array([[30, 30], [30, 30]]), ["x", "y"], "ab")[0].p
    1.0
    """
    counts, labels = _common_groups(counts, labels)
    if len(counts) < 2:
        return []
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    row, column = divmod(int(np.argmax(np.abs(counts - expected) / np.sqrt(expected))), counts.shape[1])
    seen, overall = counts[row, column] / counts[row].sum(), counts[:, column].sum() / counts.sum()
    detail = f"{labels[row]}: {100 * seen:.1f} % in {arms[column]}, which has {100 * overall:.1f} % of all users"
    p = _p_of_chi2(chi2, freedom, float(counts.sum()), sequential)
    return [BalanceCheck(name, role, "chi-squared", "", chi2, p, detail)]


def _p_of_chi2(chi2: float, freedom: int, n: float, sequential: int | None) -> float:
    from scipy.special import chdtrc

    if sequential:
        return always_valid_chi2_p(chi2, freedom, n, tuned_for=sequential, level=1 - THRESHOLD)
    return float(chdtrc(freedom, chi2))


def _table(codes: np.ndarray, arm: np.ndarray, rows: int, columns: int) -> np.ndarray:
    return np.bincount(codes * columns + arm, minlength=rows * columns).reshape(rows, columns)


def _common_groups(counts: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, Sequence[str]]:
    """Groups of which enough users are expected in every arm; the others together, if they are enough then."""
    fewest = counts.sum(axis=1) * (counts.sum(axis=0).min() / counts.sum())
    rare = fewest < MIN_EXPECTED
    if not rare.any():
        return counts, labels
    kept = [label for label, out in zip(labels, rare) if not out]
    if fewest[rare].sum() < MIN_EXPECTED:
        return counts[~rare], kept
    return np.vstack([counts[~rare], counts[rare].sum(axis=0)]), [*kept, "(rare ones together)"]


def _ratios(
    one: Covariate, counts: np.ndarray, arms: Sequence[str], shares: np.ndarray, sequential: int | None
) -> list[BalanceCheck]:
    """The sample ratio of every group by tests that hold for groups of any size: exact binomial ones, or always-valid
    ones."""
    totals = counts.sum(axis=1)
    tested = range(1, len(arms)) if len(arms) == 2 else range(len(arms))
    p = np.ones((len(counts), len(tested)))
    for place, arm in enumerate(tested):
        k = counts[:, arm].astype(np.float64)
        p[:, place] = 2 * np.minimum(*binomial_tails(k, totals, shares[arm]))
    best = p.argmin(axis=1)
    lowest = np.minimum(1.0, len(tested) * p.min(axis=1))
    if sequential:
        rules = {"tuned_for": sequential, "level": 1 - THRESHOLD}
        lowest = np.array([always_valid_shares_p(row, shares.tolist(), **rules) for row in counts.tolist()])
    found = []
    for row, label in enumerate(one.labels):
        arm = tested[int(best[row])]
        seen = counts[row, arm] / totals[row]
        detail = f"{100 * seen:.1f} % of {totals[row]:,} users in {arms[arm]}, expected {100 * shares[arm]:.1f} %"
        gap = float(seen - shares[arm])
        found.append(
            BalanceCheck(one.name, one.role, "sample ratio", label, gap, float(lowest[row]), detail, one.asked)
        )
    return found


def _of_numbers(one: Covariate, arm: np.ndarray, arms: Sequence[str], sequential: int | None) -> list[BalanceCheck]:
    """Kruskal and Wallis' test, which a few huge values do not decide, and the largest standardised difference."""
    from scipy.stats import rankdata

    known = np.isfinite(one.values)
    values, own = one.values[known], arm[known]
    counts = np.bincount(own, minlength=len(arms))
    if counts.min() < 2 or values.min() == values.max():
        return []
    ranks = rankdata(values)
    n, middle = len(values), (len(values) + 1) / 2
    spread = float(((ranks - middle) ** 2).sum()) / (n - 1)
    means = np.bincount(own, ranks, minlength=len(arms)) / counts
    statistic = float((counts * (means - middle) ** 2).sum() / spread)
    p = _p_of_chi2(statistic, len(arms) - 1, n, sequential)
    parts = [values[own == place] for place in range(len(arms))]
    gaps = [_standardised(parts[0], part) for part in parts[1:]]
    most = int(np.argmax(np.abs(gaps))) + 1
    detail = f"{arms[most]} minus {arms[0]} = {gaps[most - 1]:+.2f} standard deviations"
    return [BalanceCheck(one.name, one.role, "kruskal-wallis", "", statistic, p, detail)]


def _standardised(control: np.ndarray, arm: np.ndarray) -> float:
    spread = np.sqrt((control.var(ddof=1) + arm.var(ddof=1)) / 2)
    return float((arm.mean() - control.mean()) / spread) if spread > 0 else 0.0


def _settled(found: Sequence[BalanceCheck]) -> list[BalanceCheck]:
    p = corrected(np.array([c.p for c in found]), "holm")
    return [replace(c, p_corrected=float(q)) for c, q in zip(found, p)]
