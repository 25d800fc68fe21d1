"""Finding: what one check says of the reader's numbers; Draft: the same before the correction over the whole audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from trueval.data.json_values import without_nan
from trueval.errors import defect
from trueval.render.statements import Statement

# Most severe first.
VERDICTS = ("wrong", "caution", "cannot tell", "fine")
KINDS = ("fact", "estimate")
HEADINGS = (
    "data", "sparsity bias", "popularity bias", "false positives", "missing not at random", "leakage",
    "sampled metrics", "robustness", "feedback loop",
)  # fmt: skip
ALPHA = 0.05  # over all estimates of an audit together


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. A fact was counted; an estimate was tested, with `p` after Holm's correction over all
    tests of the audit.

    `sentence` begins with the effect on the reader's own metric, `figures` are the numbers behind it, and `remedy` is
    a command or an option.

    >>> Finding("seen_items", "data", "fine", "fact", "No list has an item that its user has in train.").record()["p"]
    """

    check: str
    heading: str
    verdict: str
    kind: str
    sentence: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    p: float = math.nan
    statements: tuple[Statement, ...] = ()  # what the sentence says, as data

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS or self.kind not in KINDS or self.heading not in HEADINGS:
            raise defect("a finding of no known kind", where=self.check, found=f"{self.verdict}, {self.kind}")

    def record(self) -> dict[str, Any]:
        """As plain data; what is undefined is None."""
        found = asdict(self)
        found["effect"] = found.pop("sentence")
        return without_nan(found)


@dataclass(frozen=True)
class Draft:
    """What a check of estimates found before the correction: one p-value for each thing that it may claim.

    `conclude` makes the finding from the corrected p-values, in the same order.
    """

    p: np.ndarray
    conclude: Callable[[np.ndarray], Finding]


def worst(findings: tuple[Finding, ...]) -> str:
    """The most severe verdict; "fine" where there is none.

    >>> worst(())
    'fine'
    """
    return min((one.verdict for one in findings), key=VERDICTS.index, default="fine")
