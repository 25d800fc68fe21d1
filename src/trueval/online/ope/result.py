"""What off-policy estimation found, as a record, a table, JSON, Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.json_values import Recorded, without_nan
from trueval.errors import DefinitionError, suggest
from trueval.online.ope.support import Support
from trueval.online.ope.weights import ALL
from trueval.pictures import Reported, draw
from trueval.render.shown import Shown

OWN_LOG = "own log"  # the target policy's own value, where it has been live too


@dataclass(frozen=True, slots=True)
class Value:
    """An estimate of a policy's reward per shown item (or per slate), NaN where it is undefined."""

    estimator: str
    scope: str  # "all", "position 1"…, or "slate": the sum over positions
    value: float
    low: float
    high: float
    rows: int
    difference: float = math.nan  # from the live policy's value
    difference_low: float = math.nan
    difference_high: float = math.nan

    @property
    def verdict(self) -> str:
        """Whether the target policy earns more than the live one: higher, lower or not shown; "" if not asked."""
        if math.isnan(self.difference_low):
            return ""
        rounding = 1e-12 * max(abs(self.value), 1e-300)  # a model that knows no differences differs by that much
        if not (self.difference_low > rounding or self.difference_high < -rounding):
            return "not shown"
        return "higher" if self.difference > 0 else "lower"


@dataclass(frozen=True)
class OffPolicy(Tabular, Recorded, Shown, Reported):
    """Off-policy estimates with what they rest on. Prints as a table; `found["snips"]` is one estimate."""

    report_kind: ClassVar[str] = "ope"
    values: tuple[Value, ...]
    support: Support
    trust: str
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]
    manifest: Mapping[str, Any]

    def __getitem__(self, name: str | tuple[str, str]) -> Value:
        """The estimate over all rows, or `found["snips", "slate"]` in another scope."""
        key = name if isinstance(name, tuple) else (name, ALL)
        known = {(v.estimator, v.scope): v for v in self.values}
        if key not in known:
            do = suggest(" ".join(key), [" ".join(pair) for pair in known])
            raise DefinitionError("there is no such estimate", found=repr(name), do=do)
        return known[key]

    def table(self) -> pl.DataFrame:
        """One row per estimator and scope."""
        rows = [{**asdict(v), "verdict": v.verdict or None} for v in self.values]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
        return frame.with_columns(pl.col(numbers).fill_nan(None))

    def to_dict(self) -> dict[str, Any]:
        """The record that `trueval ope --format json` prints; what is undefined becomes None."""
        scopes: dict[str, dict[str, Any]] = {}
        for v in self.values:
            fields = {key: x for key, x in asdict(v).items() if key not in ("estimator", "scope")}
            if not _compared(v):
                fields = {key: x for key, x in fields.items() if not key.startswith("difference")}
            scopes.setdefault(v.scope, {})[v.estimator] = fields | (
                {"verdict": v.verdict or None} if _compared(v) else {}
            )
        record = {
            "values": scopes,
            "support": self.support.record(),
            "trust": self.trust,
            "manifest": dict(self.manifest),
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
        }
        return without_nan(record)

    def to_markdown(self) -> str:
        """A Markdown table."""
        from trueval.online.ope.render import as_markdown

        return as_markdown(self)

    def to_latex(self) -> str:
        """A LaTeX table with booktabs rules."""
        from trueval.online.ope.render import as_latex

        return as_latex(self)

    def plot(self, name: str = "ope_estimates", **options: Any) -> Any:
        """Draw the estimators side by side, with intervals.

        Parameters
        ----------
        name : text, default "ope_estimates"
            "ope_estimates".
        **options : options of the chart
            `scope`: "all" (the default), "position 1" and so on, or "slate".

        Returns
        -------
        Chart
            Shows itself in a notebook; `save` writes it as SVG, PDF, PNG or Vega-Lite.

        Examples
        --------
        >>> import trueval as tv
        >>> log = pl.DataFrame({"item": ["a", "b"] * 100, "reward": [1, 0] * 100, "propensity": [0.5] * 200})
        >>> policy = pl.DataFrame({"item": ["a", "b"], "probability": [0.8, 0.2]})
        >>> tv.ope(log, policy, estimators="ips").plot().title
        'Value of the target policy by estimator'
        """
        return draw("ope", self, name, options)

    def __str__(self) -> str:
        from trueval.online.ope.render import as_text

        return as_text(self)


def _compared(v: Value) -> bool:
    return v.estimator not in ("naive", OWN_LOG)
