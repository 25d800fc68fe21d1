"""On how few items recommendations fall, and on how popular ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.charts.altair import INK, altair
from trueval.charts.chart import Chart
from trueval.charts.series import in_order, listed, series_of
from trueval.errors import DefinitionError
from trueval.evaluation.item_counts import Recommended
from trueval.evaluation.outcome import Evaluation
from trueval.render.numbers import rounded, short_percent
from trueval.statistics.inequality import gini_index, lorenz_curve

STEPS = 20  # points of a Lorenz curve, besides its ends
_LORENZ, _RANKS, _TRAIN = "share of items", "popularity rank", "popularity rank, train log"
_WIDTH, _HEIGHT = 255, 255
_HALF_NAME = 25.0  # pixels of "train log"


def popularity_chart(evaluation: Evaluation) -> Chart:
    """Lorenz curves of recommendations, and how often items are recommended by their popularity rank in train.

    >>> import trueval as tv
    >>> test = pl.DataFrame({"user": range(4), "item": range(4)})
    >>> recs = pl.DataFrame({"user": range(4), "item": [0, 0, 0, 1], "rank": 1})
    >>> result = tv.evaluate_run(recs, test, items=pl.DataFrame({"item": range(4)}), metrics="hit@1", interval="none")
    >>> popularity_chart(result.evaluation).data.select("at", "share").rows()
    [(0.0, 0.0), (0.25, 0.0), (0.5, 0.0), (0.75, 0.25), (1.0, 1.0)]
    """
    known = {name: own for name, own in _recommended(evaluation).items() if own.counts.count.sum() > 0}
    if not known:
        raise DefinitionError("no system recommended anything", do="look at the recommendations")
    frames = [lorenz_points(own.by_item()).select(*_named(name, _LORENZ), pl.all()) for name, own in known.items()]
    train = next((own.popularity for own in known.values() if own.popularity is not None), None)
    if train is not None and train.sum() > 0:
        frames += [_frequencies(own).select(*_named(name, _RANKS), pl.all()) for name, own in known.items()]
        frames.append(by_rank(train, train).select(*_named(None, _TRAIN), pl.all()))
    depth = next(iter(known.values())).counts.depth
    places = f"first {depth} recommendations" if depth else "recommendations"
    description = _description(known, places, ranks=len(frames) > len(known))
    return Chart("popularity", f"How the {places} are spread over items", description, pl.concat(frames), _draw)


def _named(name: str | None, panel: str) -> list[pl.Expr]:
    return [pl.lit(name, pl.String).alias("system"), pl.lit(panel).alias("by")]


def _recommended(evaluation: Evaluation) -> dict[str, Recommended]:
    if evaluation.repeats:
        first = next(iter(evaluation.repeats))
        raise DefinitionError(
            "every fold or seed has recommendations of its own",
            found=", ".join(evaluation.repeats),
            do=f'plot one of them, for example tv.Result(result.repeats["{first}"]).plot("popularity")',
        )
    found = {name: own.recommended for name, own in evaluation.systems.items() if own.recommended is not None}
    if not found:
        raise DefinitionError(
            "it is not known how often items were recommended",
            found="a result read from files, a design that ranks only judged items or one relevant item at a time, or "
            "ties=worst or best",
            do="evaluate again, with a design such as AR-TI-AN, or given lists as they are, and ties=random",
        )
    return found


def lorenz_points(counts: np.ndarray) -> pl.DataFrame:
    """Some points of the Lorenz curve: both ends, where it leaves 0, and at even steps of its height.

    >>> lorenz_points(np.array([0.0, 1.0, 3.0])).rows()
    [(0.0, 0.0), (0.3333333333333333, 0.0), (0.6666666666666666, 0.25), (1.0, 1.0)]
    """
    curve = lorenz_curve(counts)
    if len(curve) <= STEPS:
        at = np.arange(len(curve))
    else:
        rising = np.searchsorted(curve, np.arange(1, STEPS) / STEPS)
        at = np.unique([0, np.count_nonzero(np.asarray(counts) == 0), *rising, len(curve) - 1])
    return pl.DataFrame({"at": at / (len(curve) - 1), "share": curve[at]})


def by_rank(counts: np.ndarray, popularity: np.ndarray) -> pl.DataFrame:
    """Mean share of one item in ranges of popularity ranks that double: 1, 2, 3–4, 5–8, …; at their middle.

    >>> by_rank(np.array([6.0, 2.0, 1.0, 1.0]), np.array([9, 5, 2, 3])).rows()
    [(1.0, 0.6), (2.0, 0.2), (3.4641016151377544, 0.1)]
    """
    ordered = counts[np.argsort(-popularity, kind="stable")] / counts.sum()
    ends = np.unique(np.minimum(2 ** np.arange(int(np.ceil(np.log2(max(len(ordered), 1)))) + 1), len(ordered)))
    begins = np.concatenate([[0], ends[:-1]])
    total = np.add.reduceat(ordered, begins)
    return pl.DataFrame({"at": np.sqrt((begins + 1) * ends), "share": total / (ends - begins)})


def _frequencies(own: Recommended) -> pl.DataFrame:
    assert own.popularity is not None
    counts = np.zeros(len(own.popularity))
    counts[own.counts.item] = own.counts.count
    return by_rank(counts, own.popularity)


def _description(known: dict[str, Recommended], places: str, *, ranks: bool) -> str:
    parts = []
    for name, own in known.items():
        counts = own.by_item()
        seen = short_percent(float((counts > 0).mean()))
        parts.append(f"{name}: Gini {rounded(gini_index(counts))}, {seen} of the items recommended to anyone")
    text = f"{listed(parts)}. A Lorenz curve on the diagonal means that all items are recommended alike"
    if not ranks:
        return text + "; without a train log, the popularity of items is not known."
    return (
        text + ". On the right, the mean share of an item among the " + places + ", by its popularity in train "
        "(ranges that double; those with no recommendation are left out), beside its share of the train log."
    )


def _draw(data: pl.DataFrame) -> Any:
    alt = altair()
    systems = in_order(data.filter(pl.col("by") == _LORENZ), "system")
    look = series_of(systems)
    left, right = (data.filter(pl.col("by").is_in(panels)) for panels in ([_LORENZ], [_RANKS, _TRAIN]))
    diagonal = alt.Chart(pl.DataFrame({"at": [0.0, 1.0], "share": [0.0, 1.0]}))
    shares = [
        axis(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]),
             axis=alt.Axis(format=".0%", grid=True, values=[0, 0.25, 0.5, 0.75, 1]))
        for axis, field, title in (
            (alt.X, "at", "share of items, least recommended first"), (alt.Y, "share", "share of recommendations"),
        )
    ]  # fmt: skip
    curves = alt.layer(
        diagonal.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1).encode(x=shares[0], y=shares[1]),
        alt.Chart(left)
        .mark_line(strokeWidth=1.8)
        .encode(x=shares[0], y=shares[1], color=look.colour, strokeDash=look.dash),
    ).properties(width=_WIDTH if len(right) else 2 * _WIDTH, height=_HEIGHT)
    return alt.hconcat(curves, _ranks(right, look), spacing=30) if len(right) else curves


def _ranks(data: pl.DataFrame, look: Any) -> Any:
    """Shares by popularity rank, both axes logarithmic."""
    alt = altair()
    positive = data.with_columns(share=pl.when(pl.col("share") > 0).then("share"))
    of_train = pl.col("by") == _TRAIN
    widest = float(data["at"].max())  # type: ignore[arg-type]
    x = alt.X(
        "at:Q", title="popularity rank in train", scale=alt.Scale(type="log", domain=[0.9, max(2.0, widest * 1.2)]),
        axis=alt.Axis(values=[10**n for n in range(8)], format="~s", grid=True),
    )  # fmt: skip
    axis = alt.Axis(values=[10.0**n for n in range(-9, 1)], format="~%", grid=True)
    y = alt.Y("share:Q", title="share of one item", scale=alt.Scale(type="log"), axis=axis)
    base = alt.Chart(positive.filter(~of_train)).encode(x=x, y=y, color=look.colour)
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=look.dash)
    points = base.mark_point(filled=True, size=36, opacity=1).encode(shape=look.shape)
    train = alt.Chart(positive.filter(of_train)).encode(x=x, y=y)
    usual = train.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1)
    place, dy = free_place(positive.filter(of_train), positive.filter(~of_train))
    name = alt.Chart(place).mark_text(dy=dy, color=INK, fontSize=11).encode(x=x, y=y, text=alt.value("train log"))
    return alt.layer(usual, lines, points, name).properties(width=_WIDTH, height=_HEIGHT)


def free_place(train: pl.DataFrame, systems: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """The point of the train curve that has the most room above or below for a name, and how far the name is moved.

    >>> curve = pl.DataFrame({"at": [1.0, 10.0, 100.0, 1000.0], "share": [0.1, 0.1, 0.1, 0.1]})
    >>> above = curve.with_columns(system=pl.lit("a"), share=pl.Series([0.2, 0.2, 0.2, 0.2]))
    >>> below = above.with_columns(system=pl.lit("b"), share=pl.Series([0.09, 0.09, 0.001, 0.09]))
    >>> place, dy = free_place(curve, pl.concat([above, below]))
    >>> place["at"].item(), dy
    (100.0, 12.0)
    """
    known = train.drop_nulls("share")
    drawn = [own.drop_nulls("share") for own in systems.partition_by("system", maintain_order=True)]
    curves = [np.log(own.select("at", "share").to_numpy()) for own in [known, *drawn] if len(own)]
    points = np.concatenate(curves)
    low, high = points.min(axis=0), points.max(axis=0)
    scale = np.array([_WIDTH, -_HEIGHT]) / np.maximum(high - low, 1e-9)
    own, *others = [_between(curve) * scale for curve in curves]
    others = others or [own[:0]]
    places = curves[0] * scale
    within = np.flatnonzero(np.abs(places[:, 0] - low[0] * scale[0] - _WIDTH / 2) <= _WIDTH / 2 - _HALF_NAME)
    room = {}
    for at in within if len(within) else range(len(places)):
        for dy in (-12.0, 12.0):
            middle = places[at] + [0.0, dy]
            to_own = _room(own - middle)  # to be beside it is enough
            room[int(at), dy] = min(_room(np.concatenate(others) - middle), _HEIGHT if to_own > 3 else to_own)
    at, dy = max(room, key=lambda key: room[key])
    return known[at : at + 1], dy


def _room(away: np.ndarray) -> float:
    """How far the nearest of some points is from the box of the name; they are given from its middle."""
    beside = np.maximum(np.abs(away) - [_HALF_NAME, 6.0], 0)
    return float(np.min(np.hypot(*beside.T), initial=_HEIGHT))


def _between(curve: np.ndarray, steps: int = 16) -> np.ndarray:
    """Points along the lines of a curve."""
    along = np.linspace(0, len(curve) - 1, steps * max(len(curve) - 1, 1) + 1)
    return np.stack([np.interp(along, np.arange(len(curve)), column) for column in curve.T], axis=1)
