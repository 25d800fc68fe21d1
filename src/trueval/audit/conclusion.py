"""From drafts to findings: one correction (Holm's) over all tests of the audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueval.audit.finding import Draft, Finding
from trueval.statistics.multiple_comparisons import corrected


def conclude(found: Sequence[Finding | Draft]) -> tuple[list[Finding], int]:
    """The findings in their order, and the number of tests that were corrected for.

    >>> draft = Draft(np.array([0.03]), lambda q: Finding("a", "data", "fine", "estimate", f"{q[0]:.2f}"))
    >>> [finding.sentence for finding in conclude([draft, draft])[0]]
    ['0.06', '0.06']
    """
    drafts = [one for one in found if isinstance(one, Draft)]
    p = np.concatenate([one.p for one in drafts]) if drafts else np.empty(0)
    q = corrected(p)
    ends = np.cumsum([len(one.p) for one in drafts])
    own = iter(np.split(q, ends[:-1]) if drafts else [])
    findings = [one.conclude(next(own)) if isinstance(one, Draft) else one for one in found]
    return findings, int(np.count_nonzero(~np.isnan(p)))
