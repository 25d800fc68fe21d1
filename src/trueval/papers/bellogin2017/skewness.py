"""Figure 5: how far the skewness of popularity alone decides precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trueval.audit.popularity_curve import popularity_curve
from trueval.data.interactions import Interactions
from trueval.papers.bellogin2017.evaluation import (
    HOLDOUT,
    LIKED,
    OTHER_METRICS,
    SYSTEMS,
    definition_of,
    means,
    one_relevant_design,
    other_data,
    target_size,
    value,
    values_of,
)
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, Statement, claim, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent
from trueval.simulation.simulate import simulate

_TITLE = "Skewness of popularity and precision"
_ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
_QUICK = (0.0, 1.0, 2.0)
_CHEAP = ("popularity", "random")  # repeated over all splits: their values are compared with printed ones
_POINTS = 100  # of a cumulative curve
_AR = "AR-TI-AN"
_P = "precision@10"
_AROUND, _CLOSE = 0.15, 0.1  # of the lead that popularity has over random at the last α


@figure("5", _TITLE)
def skewness(setting: Setting) -> Figure:
    """Cumulative popularity by α, 1RP@10 by α, and the curve of the data."""
    alphas = _QUICK if setting.quick else _ALPHAS
    values = pl.concat([setting.step(f"skew {alpha:g}", _values, alpha=alpha) for alpha in alphas])
    curves = setting.step("skew curves", _curves, alphas=[alpha for alpha in alphas if alpha * 2 % 1 == 0])
    every = means(values)
    main = every.filter(pl.col("design") != _AR, metric=_P)
    table = main.select("alpha", "system", "value", "spread", "by_chance", "splits")
    charts = {
        "bellogin2017-5-curves": line_chart(
            "bellogin2017-5-curves", "Cumulative share of ratings by popularity rank",
            "Generated data with as many users, items and ratings as the data, for several α, and the positive ratings "
            "of the data itself.", curves,
            Panels(Axis("items", "share of items, most popular first", format=".0%"),
                   Axis("ratings", "share of ratings", format=".0%", zero=True), series="data", points=False),
        ),
        "bellogin2017-5-precision": line_chart(
            "bellogin2017-5-precision", "1RP@10 by the skewness of generated ratings",
            f"Ratings are drawn without any preference. {_described(table)}", table.select("alpha", "system", "value"),
            Panels(Axis("alpha", "α"), Axis("value", "1RP@10", zero=True)),
        ),
    }  # fmt: skip
    tables = {"bellogin2017-5": table, "bellogin2017-5-curves": curves, "bellogin2017-5-other": every}
    return Figure("5", _TITLE, tables, charts, (*_claims(table, setting), *_elsewhere(every)))


def _values(setting: Setting, alpha: float) -> pl.DataFrame:
    """Metrics in 1R and AR on a generated log: all systems on one split, and those without a fit on all."""
    log = _log(setting, alpha)
    definition = definition_of(setting, HOLDOUT)
    seeds = definition["split"]["seeds"]
    found = []
    for names, chosen in ((SYSTEMS, seeds[:1]), (_CHEAP, seeds[1:])):
        if chosen:
            found.append(values_of(setting.experiment(_cut(definition, setting, log, names, chosen))))
    return pl.concat(found).with_columns(alpha=pl.lit(alpha))


def _cut(definition: dict[str, Any], setting: Setting, log: Interactions, names: Any, seeds: Any) -> dict[str, Any]:
    """The experiment of the other figures on another log, with two designs and some systems."""
    designs = [one_relevant_design(setting.log), _AR]
    evaluation = {**definition["evaluation"], "designs": designs, "metrics": [_P, *OTHER_METRICS]}
    return {
        "data": {"path": log, "threshold": LIKED},
        "split": {**definition["split"], "seeds": seeds},
        "evaluation": evaluation,
        "systems": {name: definition["systems"][name] for name in names},
    }


def _log(setting: Setting, alpha: float) -> Interactions:
    """Ratings skewed by α: size, c1, c2 and the prior of the rating values are those of the data."""
    return simulate("skew", setting.log, alpha=alpha, seed=setting.seed).log


def _curves(setting: Setting, alphas: list[float]) -> pl.DataFrame:
    logs = {f"α = {alpha:g}": _log(setting, alpha) for alpha in alphas}
    liked = setting.log.keep(setting.log.frame.filter(pl.col("value") >= LIKED))
    rows = []
    for name, log in {**logs, "positive ratings of the data": liked}.items():
        counts = popularity_curve(log).sides["log"].counts
        share = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
        at = np.linspace(0, 1, _POINTS + 1)
        rows += [(name, float(x), float(np.interp(x * len(counts), np.arange(len(share)), share))) for x in at]
    return pl.DataFrame(rows, schema=("data", "items", "ratings"), orient="row")


def _described(table: pl.DataFrame) -> str:
    low, *_, high = sorted(set(table["alpha"].to_list()))
    parts = [
        f"{name} {value(table, alpha=low, system=name):.4f} → {value(table, alpha=high, system=name):.4f}"
        for name in SYSTEMS
    ]
    return f"From α = {low:g} to {high:g}: {'; '.join(parts)}."


def _claims(table: pl.DataFrame, setting: Setting) -> list[Statement]:
    size = target_size(setting.log)
    popular = table.filter(system="popularity").sort("alpha")["value"].to_list()
    chance = 1 / size
    lead = popular[-1] - chance
    spread = float(table.filter(system="popularity", alpha=0.0)["spread"].item() or 0.0)
    off = {
        name: float((table.filter(system=name)["value"] - chance).abs().max()) / lead  # type: ignore[arg-type]
        for name in ("kNN", "MF", "random")
    }
    followed = float((table.filter(system="pLSA").sort("alpha")["value"] - pl.Series(popular)).abs().max())  # type: ignore[arg-type]
    told = ", ".join(f"{name} {percent(x, 0)}" for name, x in off.items())
    first = popular[0]
    apart = other_data(setting)
    return [
        number("5", "1RP@10 of popularity at α = 0", published=0.0077, here=first, tolerance=0.0008,
               note=f"standard deviation over splits {spread:.4f}", apart=apart),
        number("5", "1RP@10 of random at α = 0", published=0.0100, here=value(table, system="random", alpha=0.0),
               tolerance=0.0003, digits=4, apart=apart),
        claim("5", "at α = 0 popularity is slightly below random", holds=first < chance,
              evidence=f"{first:.4f}, random {chance:.4f}"),
        claim("5", "the precision of popularity grows with the skewness",
              holds=popular == sorted(popular), evidence=_arrow(popular)),
        claim("5", "kNN and MF stay around random", holds=max(off["kNN"], off["MF"]) < _AROUND,
              evidence=f"largest distance from random, of the lead that popularity has at the last α: {told} (around: "
              f"below {percent(_AROUND, 0)})"),
        claim("5", "pLSA matches popularity closely", holds=followed < _CLOSE * lead,
              evidence=f"they differ by at most {followed:.4f}, {percent(followed / lead, 0)} of the lead that "
              f"popularity has over random at the last α ({percent(_CLOSE, 0)} allowed)"),
    ]  # fmt: skip


def _elsewhere(every: pl.DataFrame) -> list[Statement]:
    """What the text says of AR and of other metrics: the value of popularity grows with α there as well."""

    def grown(own: pl.DataFrame) -> list[float]:
        return own.filter(system="popularity").sort("alpha")["value"].to_list()

    all_relevant = every.filter(design=_AR)
    by_metric = {
        name: grown(every.filter(pl.col("design") != _AR, metric=label)) for label, name in OTHER_METRICS.items()
    }
    precision = grown(all_relevant.filter(metric=_P))
    last = all_relevant.filter(pl.col("alpha") == pl.col("alpha").max(), metric=_P)
    others = ", ".join(f"{name} {value(last, system=name):.4f}" for name in ("pLSA", "MF", "kNN", "random"))
    return [
        claim("5", "the effect is the same in AR: P@10 of popularity grows with the skewness",
              holds=precision == sorted(precision),
              evidence=f"{_arrow(precision)}; at the last α {others}"),
        claim("5", "recall, nDCG, MAP and MRR show the popularity bias as well (1R)",
              holds=all(values == sorted(values) for values in by_metric.values()),
              evidence="of popularity, from the first α to the last, grows at every step: "
              + ", ".join(f"{name} {values[0]:.4f} → {values[-1]:.4f}" + " (no)" * (values != sorted(values))
                          for name, values in by_metric.items())),
    ]  # fmt: skip


def _arrow(values: list[float]) -> str:
    return " → ".join(f"{x:.4f}" for x in values)
