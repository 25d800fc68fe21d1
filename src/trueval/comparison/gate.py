"""The gate: may a new system replace an old one? Not worse by more than a margin, worse by more, or cannot tell."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

import numpy as np
import polars as pl

from trueval.comparison.margins import Margin
from trueval.comparison.non_inferiority import MarginTest
from trueval.comparison.render_gate import gate_latex, gate_markdown, gate_sentence, print_gate
from trueval.data.json_values import Recorded, without_nan
from trueval.errors import TruevalError
from trueval.statistics.multiple_comparisons import corrected
from trueval.statistics.power import POWER, power

PASS, WORSE, UNSURE = "pass", "worse", "cannot tell"
EXIT_CODES = {PASS: 0, WORSE: 1, UNSURE: 3}


class GateFailure(TruevalError):
    """A new system that is worse than the old one by more than the margin."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One metric, of all users or of a group.

    `difference` is new minus old; `low` and `high` bound it, each with the confidence level of the gate. `p_pass` is of
    the test that shows "not worse by more than the margin", `p_worse` (corrected: `p_corrected`) of the one that shows
    "worse by more than it". `needed` is the number of users with which an equal system would pass, and one that loses
    twice the margin would fail, each with a probability of 80 %; NaN where users alone cannot do that.
    """

    metric: str
    better: str
    by: str  # "" for all users
    group: str
    old: float
    new: float
    difference: float
    low: float
    high: float
    margin: float
    margin_text: str
    p_pass: float
    p_worse: float
    p_corrected: float
    verdict: str
    users: int
    needed: float
    test: str
    reason: str

    @property
    def lost(self) -> float:
        """The loss, as a multiple of the margin (negative: a gain)."""
        gain = self.difference if self.better == "higher" else -self.difference
        return -gain / self.margin if self.margin > 0 else float("nan")

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Gate(Recorded):
    """Whether a new system may replace an old one. Prints as a table with a sentence.

    Attributes
    ----------
    verdict : {"pass", "worse", "cannot tell"}
        "pass": every metric (of every group) is shown not to be worse by more than the margin. "worse": at least one is
        shown to be worse by more than it. "cannot tell": neither is shown.
    rows : tuple of GateRow
        One for each metric; with groups, also one for each metric and group.
    level : number
        Confidence of either verdict.
    correct : text
        Correction of "worse" for the number of rows.
    new, old : text
        Names of the two systems.
    manifest : mapping
        How both results were made.
    notes : list of text
        What the reader should know.

    Examples
    --------
    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(400), "item": range(400)})
    >>> old = test.with_columns(rank=1)
    >>> new = old.with_columns(item=pl.when(pl.col("user") < 40).then(0).otherwise(pl.col("item")))
    >>> found = tv.gate(*(tv.evaluate_run(run, test, metrics="hit@1") for run in (new, old)), margin="2%")
    >>> found.verdict, found.passed, found.exit_code
    ('worse', False, 1)
    """

    verdict: str
    rows: tuple[GateRow, ...]
    level: float
    correct: str
    new: str
    old: str
    manifest: dict[str, Any] = field(repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the verdict is "pass"."""
        return self.verdict == PASS

    @property
    def exit_code(self) -> int:
        """What `trueval gate` ends with: 0 pass, 1 worse, 3 cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def worst(self) -> GateRow | None:
        """Of all groups, the one that loses most in multiples of the margin; None without groups."""
        groups = [row for row in self.rows if row.by and not math.isnan(row.lost)]
        return max(groups, key=lambda row: row.lost) if groups else None

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        return gate_sentence(self)

    def __str__(self) -> str:
        out = io.StringIO()
        self.print(out)
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<Gate: {self.verdict}, {len(self.rows)} rows>"

    def table(self) -> pl.DataFrame:
        """One row per metric and group."""
        frame = pl.DataFrame([row.record() for row in self.rows], infer_schema_length=None)
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def to_dict(self) -> dict[str, Any]:
        """The record that `trueval gate --format json` prints; undefined numbers are None."""
        worst = self.worst
        found = {
            "verdict": self.verdict, "passed": self.passed, "exit_code": self.exit_code, "sentence": self.sentence,
            "level": self.level, "correction": self.correct, "new": self.new, "old": self.old,
            "rows": [row.record() for row in self.rows], "worst_group": None if worst is None else worst.record(),
            "manifest": self.manifest, "notes": self.notes,
        }  # fmt: skip
        return without_nan(found)

    def to_markdown(self) -> str:
        """A table and a sentence, for a pull request."""
        return gate_markdown(self)

    def to_latex(self) -> str:
        """The table, with the sentence below."""
        return gate_latex(self)

    def print(self, file: TextIO, *, width: int | None = None) -> None:
        """Write table, sentence and notes; colours only on a terminal."""
        print_gate(self, file, width=width)

    def raise_if_worse(self) -> None:
        """Raise a `TruevalError` where the verdict is "worse"; "cannot tell" raises nothing."""
        if self.verdict == WORSE:
            raise GateFailure("the gate is closed", found=self.sentence, do="keep the old system, or widen the margin")


@dataclass(frozen=True, slots=True)
class Tried:
    """A test against the margin, with what it is about."""

    metric: str
    better: str
    margin: Margin
    found: MarginTest
    by: str = ""
    group: str = ""


def judge(
    tried: Sequence[Tried],
    *,
    level: float,
    correct: str,
    names: tuple[str, str],
    manifest: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Gate:
    """The verdict on all tests together.

    The gate passes where every row passes, each at the level: to pass wrongly, the one row that is truly worse must
    pass wrongly, so that no correction is needed (an intersection-union test, Berger 1982). One row suffices for
    "worse", so that its p-values are corrected for their number.
    """
    alpha = 1 - level
    p_corrected = corrected(np.array([one.found.p_worse for one in tried]), correct)
    share = alpha / (1 if correct == "none" else len(tried))
    rows = tuple(_row(one, float(p), alpha, share) for one, p in zip(tried, p_corrected))
    verdicts = {row.verdict for row in rows}
    verdict = WORSE if WORSE in verdicts else PASS if verdicts == {PASS} else UNSURE
    return Gate(verdict, rows, level, correct, *names, dict(manifest), list(notes))


def _row(tried: Tried, p: float, alpha: float, share: float) -> GateRow:
    found = tried.found
    verdict = PASS if found.p_pass < alpha else WORSE if p < alpha else UNSURE
    return GateRow(
        metric=tried.metric, better=tried.better, by=tried.by, group=tried.group, old=found.old, new=found.new,
        difference=found.difference, low=found.low, high=found.high, margin=found.margin,
        margin_text=str(tried.margin), p_pass=found.p_pass, p_worse=found.p_worse, p_corrected=p, verdict=verdict,
        users=found.users, needed=users_needed(found, share), test=found.test, reason=found.reason,
    )  # fmt: skip


def users_needed(found: MarginTest, alpha: float) -> float:
    """Users with whom an equal system passes and one that loses twice the margin fails, each with 80 % probability.

    Both are one margin away from the margin, which is what the test at `alpha` must show on either side.
    """
    if found.repeats > 1 or not found.margin > 0:
        return float("nan")
    if found.bounded is None:
        if not found.error > 0:
            return float("nan")
        spread = found.error * math.sqrt(found.users)
        return float(math.ceil(power(sd=spread, difference=found.margin, alpha=2 * alpha)))
    both = (found.bounded, found.bounded.mirrored)
    most = max(one.users_needed(found.margin, alpha, POWER) for one in both)
    return most if math.isfinite(most) else float("nan")
