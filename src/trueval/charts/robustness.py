"""How robust the order of systems is: τ between settings, how well metrics tell systems apart, fewer judgements."""

from __future__ import annotations

import itertools
from typing import Any

import polars as pl

from trueval.audit.robustness import Robustness
from trueval.charts.agreement import draw_matrix
from trueval.charts.altair import SOFT, WIDTH, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed, series_of, span
from trueval.errors import DefinitionError
from trueval.render.numbers import rounded, short_percent

_HEIGHT = 270
_LEAST = 1e-6  # smaller p-values are drawn as this
_LEVEL = 0.05


def settings_chart(found: Robustness) -> Chart:
    """Kendall's τ between the orders of systems under designs with the reader's first metric, and by other metrics
    under the reader's design; `found.tau` has all settings.

    >>> import trueval as tv
    >>> log = tv.simulate("world", users=80, items=60, ratings=1500, seed=1).log
    >>> found = tv.audit(tv.split(log, "holdout"), ["popularity", "average", "itemknn"], threshold=4).robustness
    >>> settings_chart(found).data.select("one", "other", "tau").row(0)
    ('AR-TI-AN ndcg@10', 'AR-TI-AN ndcg@10', 1.0)
    """
    _check(found)
    design, _, metric = found.settings[0].partition(" ")
    chosen = [
        at for at, name in enumerate(found.settings) if name.startswith(f"{design} ") or name.endswith(f" {metric}")
    ]
    tau = found.tau
    rows = [(found.settings[i], found.settings[j], float(tau[i, j])) for i, j in itertools.product(chosen, chosen)]
    schema = {"one": pl.String, "other": pl.String, "tau": pl.Float64}
    data = pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
    title = f"Kendall's τ between the orders of {len(found.systems)} systems in {len(chosen)} settings"
    return Chart("settings", title, _least_alike(data, found.settings[0]), data, draw_matrix)


def _least_alike(data: pl.DataFrame, base: str) -> str:
    own = data.filter((pl.col("one") == base) & (pl.col("other") != base)).drop_nulls("tau").sort("tau")
    if not len(own):
        return "No τ is defined: in some setting all systems are equal."
    said = [f"{name} ({rounded(tau)})" for _, name, tau in own.rows()]
    return f"Least like {base}: {listed(said, most=3)}. 1: the same order, 0: none in common, −1: the opposite."


def discriminative_power_chart(found: Robustness) -> Chart:
    """p-values of all pairs of systems, ascending, by metric under the reader's design (Sakai 2006)."""
    _check(found)
    design = found.settings[0].partition(" ")[0]
    names = [name for name in found.settings if name.startswith(f"{design} ") and len(found.p.get(name, ()))]
    rows = [
        (name.removeprefix(f"{design} "), at, float(p))
        for name in names
        for at, p in enumerate(found.power_curve(name), 1)
    ]
    schema = {"metric": pl.String, "pair": pl.Int64, "p": pl.Float64}
    data = pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
    shares = [f"{name.removeprefix(f'{design} ')} {short_percent(found.power[name])}" for name in names]
    text = (
        f"Pairs of systems with p < {_LEVEL} under {design}: {listed(shares)}. The lower a curve, the better the "
        f"metric tells systems apart; p-values below {_LEAST:.6f} are drawn as that. Dashed: {_LEVEL}."
    )
    return Chart("discriminative_power", "How well metrics tell systems apart", text, data, _draw_power)


def fewer_judgements_chart(found: Robustness) -> Chart:
    """τ between the order by all judgements and that by a share of them."""
    if not found.self_correlation:
        raise DefinitionError(
            "the chart of fewer judgements needs three systems or more, and their ranks", do="audit more systems"
        )
    rows = [
        (label, share, tau)
        for label, own in found.self_correlation.items()
        for share, tau in sorted({1.0: 1.0, **own}.items())
    ]
    data = pl.DataFrame(rows, schema={"metric": pl.String, "kept": pl.Float64, "tau": pl.Float64}, orient="row")
    least = data.filter(pl.col("kept") == pl.col("kept").min())
    said = [f"{rounded(tau)} by {name}" for name, _, tau in least.rows()]
    text = (
        f"τ with the order by all judgements, where {short_percent(least['kept'][0])} of them are left: {listed(said)}."
    )
    return Chart("fewer_judgements", "The order of systems with fewer judgements", text, data, _draw_fewer)


def _check(found: Robustness) -> None:
    if len(found.systems) < 3 or not found.settings:
        raise DefinitionError(
            "charts of settings need three systems or more",
            found=", ".join(found.systems),
            do="audit another system beside them",
        )


def _draw_power(data: pl.DataFrame) -> Any:
    alt = altair()
    shown = data.drop_nulls("p").with_columns(pl.col("p").clip(_LEAST, 1.0))
    last = int(data["pair"].max())  # type: ignore[arg-type]
    whole = sorted({1, *range(last, 0, -max(1, -(-last // 10)))})
    x = alt.X(
        "pair:Q", title="pairs of systems, by p", scale=alt.Scale(domain=[1, max(last, 2)]),
        axis=alt.Axis(format="d", grid=False, values=whole),
    )  # fmt: skip
    y = alt.Y(
        "p:Q", title="p", scale=alt.Scale(type="log", domain=[_LEAST, 1.0]),
        axis=alt.Axis(format="~g", grid=True, values=[1e-6, 1e-4, 1e-2, 1.0]),
    )  # fmt: skip
    look = series_of(in_order(data, "metric"), field="metric")
    base = alt.Chart(shown).encode(x=x, y=y, color=look.colour)
    level = alt.Chart(pl.DataFrame({"p": [_LEVEL]})).mark_rule(strokeDash=[4, 3], color=SOFT).encode(y=y)
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=look.dash)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(shape=look.shape)
    return alt.layer(level, lines, points).properties(width=WIDTH, height=_HEIGHT)


def _draw_fewer(data: pl.DataFrame) -> Any:
    alt = altair()
    x = alt.X(
        "kept:Q", title="judgements left", scale=alt.Scale(domain=[0, 1], reverse=True),
        axis=alt.Axis(format=".0%", grid=False, tickCount=5),
    )  # fmt: skip
    y = alt.Y(
        "tau:Q", title="τ", scale=alt.Scale(domain=span(data["tau"], also=[0.0, 1.0]), nice=False),
        axis=alt.Axis(format="~g", grid=True, tickCount=6),
    )  # fmt: skip
    look = series_of(in_order(data, "metric"), field="metric")
    base = alt.Chart(data).encode(x=x, y=y, color=look.colour)
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=look.dash)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(shape=look.shape)
    return alt.layer(lines, points).properties(width=WIDTH, height=_HEIGHT)
