"""Off-policy estimates side by side: do they agree, and what would one believe without weights?"""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.altair import GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed, span
from trueval.errors import DefinitionError
from trueval.online.ope.result import OffPolicy
from trueval.online.ope.weights import ALL
from trueval.render.numbers import level_percent, number

_NAIVE = "naive"


def ope_estimates_chart(found: OffPolicy, *, scope: str = ALL) -> Chart:
    """All estimators with their intervals, in one scope: over all rows, or at "position 1" and so on, or "slate".

    >>> import trueval as tv
    >>> log = pl.DataFrame({"item": ["a", "b"] * 100, "reward": [1, 0] * 100, "propensity": [0.5] * 200})
    >>> policy = pl.DataFrame({"item": ["a", "b"], "probability": [0.8, 0.2]})
    >>> chart = ope_estimates_chart(tv.ope(log, policy, estimators="ips"))
    >>> chart.data.select("estimator", "value").rows()
    [('naive', 0.5), ('ips', 0.8)]
    """
    scopes = list(dict.fromkeys(v.scope for v in found.values))
    if scope not in scopes:
        raise DefinitionError(f"there are no estimates for {scope!r}", do=f"available: {', '.join(scopes)}")
    own = [v for v in found.values if v.scope == scope]
    rows = [{"estimator": v.estimator, "value": v.value, "low": v.low, "high": v.high, "rows": v.rows} for v in own]
    data = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("value", "low", "high").fill_nan(None))
    support = found.support
    size = f"{support.effective:,.0f} of {support.rows:,} rows"
    values = [f"{row['estimator']} {_value(row['value'])}" for row in data.iter_rows(named=True)]
    level = found.manifest.get("level")
    lines = f" Lines are {level_percent(level)} confidence intervals" if level else " Lines are confidence intervals"
    description = (
        f"{listed(values, most=10)}. The effective sample size is {size}.{lines}; the dashed line is the naive value, "
        "the mean reward of the log."
    )
    where = "" if scope == ALL else f", {scope}"
    return Chart(
        "ope_estimates", f"Value of the target policy by estimator{where}", description, data,
        lambda frame: _draw(frame, f"effective sample size {size}"),
    )  # fmt: skip


def _value(value: float | None) -> str:
    return "undefined" if value is None else number(value)


def _draw(data: pl.DataFrame, size: str) -> Any:
    alt = altair()
    values = [v for name in ("value", "low", "high") for v in data[name].to_list()]
    scale = alt.Scale(domain=span(values), nice=False)
    # What cannot be estimated keeps its row, and says so.
    seen = data.with_columns(text=pl.when(pl.col("value").is_null()).then(pl.lit("undefined")).otherwise(pl.lit("")))
    base = alt.Chart(seen).encode(y=alt.Y("estimator:N", title=None, sort=in_order(data, "estimator")))
    x = alt.X("value:Q", title="reward", scale=scale, axis=alt.Axis(tickCount=6, format="~g"))
    lines = base.mark_rule(strokeWidth=2, color=GOOD).encode(x=alt.X("low:Q", title="reward", scale=scale), x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color=GOOD).encode(x=x)
    missing = base.mark_text(align="left", color=INK, fontSize=12).encode(x=alt.value(4), text="text:N")
    note = (
        alt.Chart(pl.DataFrame({"text": [size]}))
        .mark_text(align="right", baseline="bottom", color=INK, fontSize=12)
        .encode(x=alt.value(WIDTH), y=alt.value(-6), text="text:N")
    )
    naive = data.filter((pl.col("estimator") == _NAIVE) & pl.col("value").is_not_null()).select("value")
    rule = alt.Chart(naive).mark_rule(strokeDash=[4, 3], color=INK).encode(x=x)
    return alt.layer(rule, lines, points, missing, note).properties(width=WIDTH, height=alt.Step(26))
