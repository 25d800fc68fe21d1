"""What a user study found, as an object, a table and plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.json_values import json_text, without_nan
from trueval.online.user_study.against import Against
from trueval.online.user_study.attendance import Attendance
from trueval.online.user_study.forms import Findings
from trueval.online.user_study.planted_checks import PlantedCheck
from trueval.online.user_study.position_bias import PositionBias
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown


@dataclass(frozen=True, slots=True)
class StudyAnalysis(Tabular, Shown, Reported):
    """What people prefer, how sure that is, and what could have misled: positions, carelessness, leaving.

    `findings` are over everybody who answered, `careful` over those who failed no planted check (None where there are
    no checks, or nobody failed). Prints as text; `table()` has a row per system.
    """

    report_kind: ClassVar[str] = "study"
    findings: Findings
    careful: Findings | None
    checks: tuple[PlantedCheck, ...]
    position_bias: tuple[PositionBias, ...]
    attendance: Attendance
    against: Against | None
    manifest: dict[str, Any]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The result in words."""
        from trueval.online.user_study.sentences import verdict

        return verdict(self)

    def table(self) -> pl.DataFrame:
        """One row per form and system: ranks, constraints, first places and strength, or values on scales.

        Where no order is known, because answers are missing depending on the list: only how often it was answered.
        """
        from trueval.online.user_study.rows import table_rows

        return pl.DataFrame(table_rows(self.findings), infer_schema_length=None).with_columns(
            pl.col(pl.Float64).fill_nan(None)
        )

    def record(self) -> dict[str, Any]:
        """Everything as plain data for JSON; what is undefined is None."""
        from trueval import __version__

        checks = [
            {"form": one.form, "check": one.kind, "participants": len(one.participants), "failed": list(one.failed),
             "meaning": one.meaning}
            for one in self.checks
        ]  # fmt: skip
        found: dict[str, Any] = without_nan(
            {
                **self.findings.record(),
                "careful": None if self.careful is None else self.careful.record(),
                "checks": checks,
                "position_bias": [one.record() for one in self.position_bias],
                "attendance": self.attendance.record(),
                "against": None if self.against is None else self.against.record(),
                "verdict": self.verdict,
                "manifest": {**self.manifest, "version": __version__},
                "notes": list(self.notes),
                "warnings": list(self.warnings),
            }
        )
        return found

    def to_json(self) -> str:
        """The record as text."""
        return json_text(self.record())

    def to_markdown(self) -> str:
        """The tables for a README or an issue."""
        from trueval.online.user_study.render import as_markdown

        return as_markdown(self)

    def to_latex(self) -> str:
        """The tables for a paper (booktabs)."""
        from trueval.online.user_study.render import as_latex

        return as_latex(self)

    def plot(self, name: str | None = None, **options: Any) -> Any:
        """Draw what people prefer.

        Parameters
        ----------
        name : text, optional
            "strengths" (rankings and pairs), "first_places" (rankings), "answers" (scales) or "positions". Default:
            the first that the study has.
        **options : options of the chart
            None of them has any.

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> import trueval as tv
        >>> answers = pl.DataFrame({"participant": [*"ppqqrr"], "system": ["a", "b"] * 3, "rank": [1, 2, 1, 2, 2, 1]})
        >>> tv.study_analysis(answers).plot("strengths").title
        'Strengths of 2 systems, by 3 participants'
        """
        chosen = name or ("strengths" if self.findings.scales is None else "answers")
        return draw("study", self, chosen, options)

    def __str__(self) -> str:
        from trueval.online.user_study.render import as_text

        return as_text(self)
