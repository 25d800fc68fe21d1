"""Figure 6: users by the popularity of what they rated, and the best β_w for each group of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.papers.steck2011.evaluation import WEIGHTS, beta_ws, group_values, liked_counts, parts_of, pop
from trueval.papers.steck2011.tuning import chosen_parameters
from trueval.render.numbers import percent

_TITLE = "Users by the popularity of what they rated"
_GROUPS = ("most popular", "second", "third", "fourth", "least popular")
_NEXT = 0.02  # of the recall of the best β_w: no more is lost by the one that is best for all together


@figure("6", _TITLE)
def user_groups(setting: Setting) -> Figure:
    """The distribution of users by median popularity rank, and recall(β = 0.5)@20 by β_w in five groups."""
    medians = _medians(setting)
    tables = {kind: _by_group(setting, kind) for kind in WEIGHTS}
    charts = {
        "steck2011-6a": line_chart(
            "steck2011-6a", "Users by the median popularity rank of their train items",
            f"Half of the users have a median rank of {float(np.median(medians)):,.0f} or less, of "
            f"{setting.log.n_items:,} items. The vertical axis is logarithmic.", _histogram(medians, setting),
            Panels(Axis("rank", "median popularity rank", format=",d"), Axis("users", "users", format="~s", log=True),
                   series="series", points=False),
        ),
    }  # fmt: skip
    statements = _user_claims(tables[WEIGHTS[0]], medians, setting)
    for kind, table in tables.items():
        shown = table.filter(beta=0.5, by="taste")
        name = f"steck2011-6b-{kind}"
        charts[name] = line_chart(
            name, f"recall(β = 0.5)@20 of AllRank-Pop by β_w in five groups of users, {kind} weights",
            "Fifths of the users by the median popularity of their train items. " + _described(shown),
            shown.select("label", "beta_w", "value"),
            Panels(Axis("beta_w", "β_w"), Axis("value", "recall(0.5)@20", zero=True), series="label"),
        )  # fmt: skip
        statements += _group_claims(table, kind)
    every = pl.concat([table.with_columns(weights=pl.lit(kind)) for kind, table in tables.items()])
    return Figure("6", _TITLE, {"steck2011-6": every}, charts, tuple(statements))


def _medians(setting: Setting) -> np.ndarray:
    parts = parts_of(setting)
    ranked = parts.train.frame.join(liked_counts(parts), on="item")
    return ranked.group_by("user").agg(pl.col("rank").median())["rank"].to_numpy()


def _histogram(medians: np.ndarray, setting: Setting) -> pl.DataFrame:
    width = max(5, setting.log.n_items // 75)
    counts = np.bincount((medians // width).astype(int))
    at = (np.arange(len(counts)) + 0.5) * width
    return pl.DataFrame({"rank": at, "users": counts, "series": "users"}).filter(pl.col("users") > 0)


def _by_group(setting: Setting, kind: str) -> pl.DataFrame:
    """Recall@20 of AllRank-Pop by group, β and β_w; groups from the most popular taste to the least."""
    chosen = chosen_parameters(setting)
    steps = {pop(kind, beta_w, chosen): beta_w for beta_w in (0.0, *beta_ws(setting))}
    own = group_values(setting).filter(pl.col("system").is_in(list(steps)))
    own = own.with_columns(beta_w=pl.col("system").replace_strict(steps, return_dtype=pl.Float64))
    frames = []
    for by in ("taste", "activity"):
        groups = sorted(own.filter(by=by)["group"].unique(), key=_low, reverse=by == "taste")
        names = _GROUPS if by == "taste" else ("least active", "second", "third", "fourth", "most active")
        labels = {group: names[place] for place, group in enumerate(groups)}
        order = pl.col("group").replace_strict({group: place for place, group in enumerate(groups)})
        frames.append(
            own.filter(by=by).with_columns(label=pl.col("group").replace(labels)).sort("beta", order, "beta_w")
        )
    return pl.concat(frames)


def _low(label: str) -> float:
    return float(label.split("–")[0].replace(",", ""))


def _best(table: pl.DataFrame, beta: float, by: str) -> dict[str, float]:
    """The best β_w of every group."""
    own = table.filter(beta=beta, by=by)
    return {
        label: float(rows.sort("value", descending=True, maintain_order=True)["beta_w"][0])
        for (label,), rows in own.group_by("label", maintain_order=True)
    }


def _loss(table: pl.DataFrame, beta: float, by: str) -> tuple[float, float]:
    """The β_w that is best over all groups together, and what the worst-served group loses by it."""
    own = table.filter(beta=beta, by=by).pivot("label", index="beta_w", values="value").sort("beta_w")
    values = own.drop("beta_w").to_numpy()
    share = values / values.max(axis=0)
    place = int(share.mean(axis=1).argmax())
    return float(own["beta_w"][place]), float(1 - share[place].min())


def _described(shown: pl.DataFrame) -> str:
    best = _best(shown, 0.5, "taste")
    return "Best β_w: " + ", ".join(f"{label} {beta_w:g}" for label, beta_w in best.items()) + "."


def _user_claims(table: pl.DataFrame, medians: np.ndarray, setting: Setting) -> list[Statement]:
    at = table.filter(beta=0.5, by="taste")
    highest = [float(at.filter(label=label)["value"].max()) for label in _GROUPS if label in at["label"]]  # type: ignore[arg-type]
    half = float(np.median(medians)) / setting.log.n_items
    return [
        claim("6", "most users are mainly focused on popular items", holds=half < 0.25,
              evidence=f"half of the users have a median popularity rank in the first {percent(half, 0)} of the items "
              "(in the first quarter needed)"),
        claim("6", "recall is lower for groups who rated less popular items",
              holds=highest == sorted(highest, reverse=True),
              evidence="highest recall(0.5)@20 by group: " + ", ".join(f"{x:.3f}" for x in highest)),
    ]  # fmt: skip


def _group_claims(table: pl.DataFrame, kind: str) -> list[Statement]:
    """Whether one β_w serves all groups, for one variant of the weights."""
    found = []
    for by, beta, words in (
        ("taste", 0.5, "about the same β_w is best in all five groups (β = 0.5"),
        ("taste", 0.0, "about the same β_w is best in all five groups (β = 0"),
        ("taste", 1.0, "about the same β_w is best in all five groups (β = 1"),
        ("activity", 0.5, "nor do groups by activity need different β_w (β = 0.5"),
    ):
        best, (common, lost) = _best(table, beta, by), _loss(table, beta, by)
        found.append(
            claim("6", f"{words}, {kind})", holds=lost <= _NEXT,
                  evidence=f"best β_w by group: {', '.join(f'{b:g}' for b in best.values())}; β_w = {common:g} for all "
                  f"costs no group more than {percent(lost, 1)} of its recall ({percent(_NEXT, 0)} allowed)")
        )  # fmt: skip
    return found
