"""Effects of an A/B test within groups of users: does the change help everybody?"""

from __future__ import annotations

from typing import Any

import polars as pl

from trueval.charts.ab_effects import effect_rows, effects_description
from trueval.charts.altair import altair
from trueval.charts.chart import Chart
from trueval.charts.forest import draw_forest
from trueval.charts.series import in_order
from trueval.errors import DefinitionError, suggest
from trueval.online.ab.result import AbTest


def ab_groups_chart(test: AbTest, *, metric: str | None = None, segment: str | None = None) -> Chart:
    """The effect on one metric (default: the first) in every group of one column (default: the first).

    >>> import trueval as tv
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "country": ["it"] * 200 + ["at"] * 200})
    >>> table = table.with_columns(bought=pl.Series([0, 1, 1, 1] * 100))
    >>> chart = ab_groups_chart(tv.ab_test(table, arm="arm", metrics="bought", segments="country"))
    >>> chart.data.select("group", "n", "value").rows()
    [('at', 200, 1.0), ('it', 200, 1.0)]
    """
    if not test.segments:
        raise DefinitionError(
            "the chart of groups needs comparisons within segments",
            found="no segments with enough users" if test.manifest["segments"] else "no segments",
            do='analyse with segments="country", or another column of user groups',
        )
    columns, metrics = (list(dict.fromkeys(getattr(c, name) for c in test.segments)) for name in ("segment", "metric"))
    column = _chosen(segment, columns, "segment")
    label = _chosen(metric, metrics, "metric")
    rows = [c for c in test.segments if c.segment == column and c.metric == label]
    if not rows:
        raise DefinitionError(f"{label} has no comparison by {column}", do="choose another metric or segment")
    data = effect_rows(rows)
    title = f"Effect on {label} by {column}"
    return Chart("ab_groups", title, effects_description(data, test), data, _draw)


def _chosen(name: str | None, known: list[str], what: str) -> str:
    if name is None:
        return known[0]
    if name not in known:
        raise DefinitionError(f"there is no {what} {name!r}", do=suggest(name, known))
    return name


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    relative = data["scale"][0] == "relative"
    made = []
    for arm in in_order(data, "arm"):
        own = data.filter(pl.col("arm") == arm).with_columns(
            row=pl.format(
                "{} ({} users)", "group", pl.col("n").map_elements(lambda n: f"{n:,}", return_dtype=pl.String)
            )
        )
        title = f"{arm}: {'relative to the control' if relative else 'difference from the control'}"
        made.append(draw_forest(own, row="row", title=title, form="+~%" if relative else "~g"))
    return made[0] if len(made) == 1 else alt.vconcat(*made, spacing=14).resolve_scale(x="shared")
