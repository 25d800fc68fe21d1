"""What the authors found on each of the two unbiased data sets: numbers of the paper and of their released results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trueval.papers.mena2020.constants import ANTIP, FALLOUT, RECALL, UNBIASED, P
from trueval.papers.mena2020.data import one_survey
from trueval.papers.mena2020.values import OBSERVED, TRUE
from trueval.papers.setting import Setting


class Authors(NamedTuple):
    """Kendall's τ over their 16 systems, and values of the optimal rankings, means over their five folds.

    `agreement` is τ of precision and antiprecision by side; `observed_and_true` is τ of the two sides by metric;
    `optimal` are values of the optimal ranking for observed precision by side and metric, `oracle` those of the optimal
    ranking for true precision.
    """

    data: str
    agreement: Mapping[str, float]
    observed_and_true: Mapping[str, float]
    optimal: Mapping[str, Mapping[str, float]]
    oracle: Mapping[str, Mapping[str, float]]


_CM100K = Authors(
    "CM100k",
    {OBSERVED: 0.65, TRUE: -0.9},
    {P: 0.8, ANTIP: -0.417, RECALL: 0.817, FALLOUT: -0.417},
    {
        OBSERVED: {P: 0.0156, ANTIP: 0.0049, RECALL: 0.0926, FALLOUT: 0.0336},
        TRUE: {P: 0.0126, ANTIP: 0.0062, RECALL: 0.0268, FALLOUT: 0.0043},
    },
    {
        OBSERVED: {P: 0.0181, ANTIP: 0.0049, RECALL: 0.1065, FALLOUT: 0.0335},
        TRUE: {P: 0.0159, ANTIP: 0.0065, RECALL: 0.0331, FALLOUT: 0.0045},
    },
)
_YAHOO = Authors(
    "Yahoo! R3",
    {OBSERVED: 0.8, TRUE: -0.767},
    {P: 0.917, ANTIP: -0.583},
    {
        OBSERVED: {P: 0.0369, ANTIP: 0.0433, RECALL: 0.1516, FALLOUT: 0.1393},
        TRUE: {P: 0.0072, ANTIP: 0.0060, RECALL: 0.0301, FALLOUT: 0.0073},
    },
    {},
)
# Figure 8 is of CM100k alone.
OPPOSED = {P: -0.467, ANTIP: 0.912}


def authors_of(setting: Setting) -> Authors:
    """What to hold the unbiased data against: CM100k, or Yahoo! R3 where its two parts were collected apart."""
    return _CM100K if one_survey(setting.logs[UNBIASED]) else _YAHOO
