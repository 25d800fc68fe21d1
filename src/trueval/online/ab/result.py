"""What an A/B test found, as an object, a table and plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.json_values import json_text, without_nan
from trueval.online.ab.balance import BalanceCheck
from trueval.online.ab.comparisons import ArmValue, Compared
from trueval.online.ab.daily_sums import DailySums
from trueval.online.ab.metric_declarations import DeclaredMetric
from trueval.online.ab.sample_ratio import SampleRatio
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown

_DIFFERENCES = ("difference", "relative", "relative_low", "relative_high", "p", "p_corrected", "variance_reduction")


@dataclass(frozen=True, slots=True)
class AbTest(Tabular, Shown, Reported):
    """Values of every arm, differences from the control, and the check of the sample ratio that they rest on."""

    report_kind: ClassVar[str] = "ab_test"
    arms: tuple[str, ...]  # the control first
    metrics: tuple[DeclaredMetric, ...]
    sample_ratio: SampleRatio
    values: tuple[ArmValue, ...]
    comparisons: tuple[Compared, ...]
    segments: tuple[Compared, ...]
    manifest: dict[str, Any]
    balance: tuple[BalanceCheck, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    days: DailySums | None = None  # sums by day of entry; not in the record

    @property
    def stopped(self) -> bool:
        """Whether arms that chance hardly makes leave the test without a verdict."""
        return (self.sample_ratio.failed or bool(self.imbalances)) and not self.manifest["ignore_mismatch"]

    @property
    def imbalances(self) -> list[BalanceCheck]:
        """Failed checks of what is known to be from before the test."""
        return [check for check in self.balance if check.failed and check.asked]

    @property
    def verdict(self) -> str:
        """The result in words."""
        from trueval.online.ab.sentences import verdict

        return verdict(self)

    def table(self) -> pl.DataFrame:
        """One row per metric and arm: value, interval, difference from the control; segments below, where asked."""
        compared = {(c.segment, c.group, c.metric, c.arm): c for c in (*self.comparisons, *self.segments)}
        rows = [_row(v, compared.get((v.segment, v.group, v.metric, v.arm))) for v in self.values]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
        return frame if self.manifest["segments"] else frame.drop("segment", "group")

    def record(self) -> dict[str, Any]:
        """Everything as plain data for JSON; what is undefined is None."""
        from trueval import __version__

        ratio = self.sample_ratio
        whole = [v for v in self.values if not v.segment]
        arms = {
            arm: {
                "users": ratio.users[arm],
                "share": ratio.users[arm] / sum(ratio.users.values()),
                "expected_share": ratio.expected[arm],
                "metrics": {v.metric: v.record() for v in whole if v.arm == arm},
            }
            for arm in self.arms
        }
        found = {
            "arms": arms,
            "control": self.arms[0],
            "sample_ratio": ratio.record(),
            "balance": [check.record() for check in self.balance],
            "comparisons": [c.record() for c in self.comparisons],
            "segments": [c.record() for c in self.segments],
            "verdict": self.verdict,
            "manifest": {**self.manifest, "definitions": self.definitions, "version": __version__},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }
        return without_nan(found)

    @property
    def definitions(self) -> dict[str, str]:
        """What each metric is and how it was tested."""
        adjusted, sequential = bool(self.manifest["pre"]), bool(self.manifest["sequential"])
        divided = {c.metric for c in (*self.comparisons, *self.segments) if c.permuted}
        what = "intervals widened by the tails of" if sequential else "compared with"
        permuted = f"; arms of unequal size: {what} random divisions of the users between them"
        return {
            m.name: m.definition(adjusted=adjusted, sequential=sequential) + permuted * (m.name in divided)
            for m in self.metrics
        }

    def to_json(self) -> str:
        """The record as text."""
        return json_text(self.record())

    def to_markdown(self) -> str:
        """The table for a README or an issue."""
        from trueval.online.ab.render import as_markdown

        return as_markdown(self)

    def to_latex(self) -> str:
        """The table for a paper (booktabs)."""
        from trueval.online.ab.render import as_latex

        return as_latex(self)

    def plot(self, name: str = "ab_effects", **options: Any) -> Any:
        """Draw the effects: at the end, by group, or as users came in.

        Parameters
        ----------
        name : text, default "ab_effects"
            "ab_effects", "ab_days" (needs times), or "ab_groups" (needs `segments`).
        **options : options of the chart
            Of "ab_days": `metric`; of "ab_groups": `metric` and `segment`. Default: the first of each.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> import trueval as tv
        >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "bought": [0, 1, 1, 1, 0, 0, 0, 1] * 50})
        >>> tv.ab_test(table, arm="arm", metrics="bought").plot().title
        'Effects of b against a'
        """
        return draw("ab_test", self, name, options)

    def __str__(self) -> str:
        from trueval.online.ab.render import as_text

        return as_text(self)


def _row(value: ArmValue, compared: Compared | None) -> dict[str, Any]:
    row: dict[str, Any] = {"segment": value.segment or None, "group": value.group or None}
    row |= {"metric": value.metric, "arm": value.arm, "n": value.n}
    row |= {"value": value.value, "low": value.low, "high": value.high}
    row |= {name: getattr(compared, name, math.nan) for name in _DIFFERENCES[:1]}
    row |= {
        "difference_low": getattr(compared, "low", math.nan),
        "difference_high": getattr(compared, "high", math.nan),
    }
    row |= {name: getattr(compared, name, math.nan) for name in _DIFFERENCES[1:]}
    return row | {"verdict": "control" if compared is None else compared.verdict}
