"""The effect of an A/B test as users come in: has it settled, and could one have stopped early?"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.charts.altair import GOOD, INK, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed
from trueval.errors import DefinitionError, suggest
from trueval.online.ab.daily_sums import DailySums
from trueval.online.ab.differences import UNEQUAL
from trueval.online.ab.result import AbTest
from trueval.online.ab.sequential import TUNED_FOR, always_valid_reach
from trueval.render.numbers import level_percent, number
from trueval.statistics.student import normal_quantile


def ab_days_chart(test: AbTest, *, metric: str | None = None) -> Chart:
    """The effect on one metric (default: the first that can be added up) over all users who entered until each day.

    >>> import trueval as tv
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "day": [1, 1, 2, 2] * 100})
    >>> table = table.with_columns(bought=pl.Series([0, 1, 1, 1, 0, 0, 0, 1] * 50))
    >>> chart = ab_days_chart(tv.ab_test(table, arm="arm", metrics="bought", time="day"))
    >>> chart.data.select("day", "users", "difference").rows()
    [('1', 200, 0.5), ('2', 400, 0.5)]
    """
    sums = test.days
    if sums is None:
        raise DefinitionError(
            "the chart of days needs the days on which users entered",
            found="no column of times, only one day, or only metrics that are no sums (medians, ranks, trimmed means)",
            do="name the column of times: time=…, and a conversion, a mean or a ratio",
        )
    name = next(iter(sums.sums)) if metric is None else metric
    if name not in sums.sums:
        raise DefinitionError(f"there are no sums by day of {name!r}", do=suggest(name, sums.sums))
    tuned = test.manifest["sequential"] or TUNED_FOR
    level = test.manifest["level"]
    frames = [_rows(sums, name, place, arm, level, tuned) for place, arm in enumerate(test.arms) if place]
    data = pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None))
    description = _description(data, level, tuned, adjusted=bool(test.manifest["pre"]))
    sizes = test.sample_ratio.users.values()
    if max(sizes) >= UNEQUAL * min(sizes):
        description += (
            " Of arms of so unequal size neither holds where few users have large values; the table allows for it."
        )
    title = f"Effect on {name} over {len(sums.days)} days"
    return Chart("ab_days", title, description, data, lambda frame: _draw(frame, name))


def _rows(sums: DailySums, name: str, place: int, arm: str, level: float, tuned: int) -> pl.DataFrame:
    difference, error, n = sums.effect(name, place)
    reach = normal_quantile(level)
    always = np.array([always_valid_reach(max(users, 1.0), tuned_for=tuned, level=level) for users in n])
    return pl.DataFrame(
        {
            "arm": [arm] * len(n), "day": list(sums.days), "users": n.astype(np.int64), "difference": difference,
            "low": difference - reach * error, "high": difference + reach * error,
            "always_low": difference - always * error, "always_high": difference + always * error,
        }
    )  # fmt: skip


def _description(data: pl.DataFrame, level: float, tuned: int, *, adjusted: bool) -> str:
    parts = []
    for (arm,), own in data.group_by("arm", maintain_order=True):
        last = own.row(-1, named=True)
        value = "undefined" if last["difference"] is None else number(last["difference"], sign=True)
        apart = own.filter((pl.col("always_low") > 0) | (pl.col("always_high") < 0))
        when = f"first exclude 0 on day {apart['day'][0]}" if len(apart) else "never exclude 0"
        parts.append(f"{arm}: {value} in the end, the always-valid bounds {when}")
    shown = level_percent(level)
    return (
        f"{listed(parts)}. Users count from the day of their first event, with all they did until the end of the "
        f"table{'; not adjusted by CUPED' if adjusted else ''}. The band is the {shown} interval of a single look, "
        f"dashed lines are always valid: they hold {shown} of the time at all looks together (narrowest at {tuned:,} "
        "users)."
    )


def _draw(data: pl.DataFrame, name: str) -> Any:
    alt = altair()
    arms, days = in_order(data, "arm"), in_order(data, "day")
    # The first days know so little that their bounds would flatten the rest.
    settled = data.filter(pl.col("users") >= 0.1 * pl.col("users").max())
    ends = [v for column in ("always_low", "always_high") for v in settled[column].drop_nulls()] or [-1.0, 1.0]
    scale = alt.Scale(domain=[min(*ends, 0), max(*ends, 0)], nice=True)
    x = alt.X("day:O", sort=days, title="users who entered until", axis=alt.Axis(labelOverlap=True, labelAngle=0))
    dots = {"color": GOOD, "filled": True, "opacity": 1} if len(days) <= 31 else False
    panels = []
    for arm in arms:
        base = alt.Chart(data.filter(pl.col("arm") == arm)).encode(x=x)
        title = f"effect on {name}" if len(arms) == 1 else "effect"  # a low panel has no room for names at its side
        y = alt.Y("difference:Q", title=title, scale=scale, axis=alt.Axis(format="~g", grid=True))
        band = base.mark_area(color=GOOD, opacity=0.25, clip=True).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
        bounds = [
            base.mark_line(color=GOOD, strokeDash=[5, 3], strokeWidth=1.2, clip=True).encode(y=f"always_{end}:Q")
            for end in ("low", "high")
        ]
        line = base.mark_line(color=GOOD, strokeWidth=2, clip=True, point=dots).encode(y=y)
        zero = base.mark_rule(color=INK, strokeWidth=1).encode(y=alt.datum(0))
        panel = alt.layer(band, zero, *bounds, line).properties(width=WIDTH, height=240 if len(arms) == 1 else 170)
        panels.append(panel if len(arms) == 1 else panel.properties(title=alt.TitleParams(arm, anchor="start")))
    return panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=12)
