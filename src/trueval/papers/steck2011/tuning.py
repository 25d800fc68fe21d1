"""The parameters for these data, chosen on a validation part; the curve over w_m."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from trueval.evaluation.tuning import tune
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent
from trueval.splits import split

_TITLE = "Choice of w_m on a validation part"
_PRINTED = 0.005
_WEIGHTS = (0.0005, 0.002, _PRINTED, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
_QUICK_WEIGHTS = (_PRINTED, 0.05, 0.2)
_METRIC = "recall[average=pooled]@20"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Parameters of all systems on these data. `weights` are those that AllRank is drawn with."""

    w_m: float
    regularization: float
    mf: dict[str, Any]
    svd_factors: int
    factors: int
    sweeps: int
    weights: tuple[float, ...]


def trials(setting: Setting) -> pl.DataFrame:
    """All trials: system, parameters, and recall@20 on the validation part."""
    return setting.step("tuning", _trials)


def _trials(setting: Setting) -> pl.DataFrame:
    size = _size(setting)
    weights = _QUICK_WEIGHTS if setting.quick else _WEIGHTS
    first = _tried(setting, "allrank", {"w_m": weights}, **size)
    best = float(first["w_m"][0])
    if setting.quick:
        others = [
            _tried(setting, "mf_rmse", [{"r_m": 2.0, "regularization": 0.04}], **size),
            _tried(setting, "puresvd", {"factors": [20]}),
        ]
    else:
        offsets = [{"r_m": r_m, "regularization": x} for r_m in (2.0, None) for x in (0.02, 0.04, 0.06, 0.1)]
        others = [
            _tried(setting, "allrank", {"regularization": [0.02, 0.06, 0.1]}, w_m=best, **size),
            _tried(setting, "mf_rmse", offsets, **size),
            _tried(setting, "puresvd", {"factors": [20, 35, 50, 100]}),
        ]
    return pl.concat([first, *others], how="diagonal_relaxed")


def _size(setting: Setting) -> dict[str, int]:
    return {"factors": 16, "sweeps": 6} if setting.quick else {"factors": 50, "sweeps": 15}


def _tried(
    setting: Setting, system: str, grid: Mapping[str, Sequence[Any]] | list[dict[str, Any]], **fixed: Any
) -> pl.DataFrame:
    """The trials of one search, best first, on a fifth of the train part."""
    parts = split(setting.log, "holdout", ratio=0.1, seed=setting.seed + 1)
    text = f"{system}[{','.join(f'{name}={value}' for name, value in fixed.items())}]" if fixed else system
    design = f"AR-AI-NN{min(1000, setting.log.n_items // 2)}"
    found = tune(text, grid, data=parts, metric=_METRIC, design=design, threshold=5.0, seed=setting.seed,
                 folder=setting.work / "trials")  # fmt: skip
    given = {name: value for name, value in fixed.items() if name not in ("factors", "sweeps")}
    table = found.table.drop("seconds").rename({found.metric: "value"})
    return table.with_columns(pl.lit(system).alias("system"), **{n: pl.lit(float(v)) for n, v in given.items()})


def chosen_parameters(setting: Setting) -> Chosen:
    """The best trial of each system; of AllRank, weights around the best one are drawn as well."""
    table, size = trials(setting), _size(setting)
    ranked = table.sort("value", descending=True, maintain_order=True)
    own = ranked.filter(system="allrank")
    w_m = float(own["w_m"][0])
    regularization = own["regularization"][0] if "regularization" in own.columns else None
    mf = ranked.filter(system="mf_rmse").row(0, named=True)
    drawn = sorted({_PRINTED, w_m, *(w for w in (0.02, 0.05, 0.1, 0.2) if not setting.quick)})
    return Chosen(
        w_m, 0.04 if regularization is None else float(regularization),
        {"r_m": mf["r_m"], "regularization": mf["regularization"], "factors": size["factors"]},
        int(ranked.filter(system="puresvd")["factors"][0]), size["factors"], size["sweeps"], tuple(drawn),
    )  # fmt: skip


@figure("tuning", _TITLE)
def tuning(setting: Setting) -> Figure:
    """Recall@20 of AllRank on the validation part over w_m; the best one is used in all figures."""
    table = trials(setting)
    chosen = chosen_parameters(setting)
    curve = table.filter(system="allrank")
    if "regularization" in curve.columns:
        curve = curve.filter(pl.col("regularization").is_null())
    curve = curve.select("w_m", "value").sort("w_m").with_columns(system=pl.lit("AllRank"))
    best, printed = (float(curve.filter(pl.col("w_m") == w)["value"].item()) for w in (chosen.w_m, _PRINTED))
    flat = float(table.filter(system="mf_rmse")["value"].max())  # type: ignore[arg-type]
    chart = line_chart(
        "steck2011-tuning", _TITLE,
        f"Recall@20 of AllRank on the validation part (r_m = 2, λ = 0.04). It is highest at w_m = {chosen.w_m:g} "
        f"({best:.3f}); the printed w_m = {_PRINTED:g}, chosen for Netflix, gives {printed:.3f}. Dashed: MF-RMSE, "
        f"w_m = 0 ({flat:.3f}).",
        curve, Panels(Axis("w_m", "w_m", log=True), Axis("value", "recall@20", zero=True), rules={"MF-RMSE": flat}),
    )  # fmt: skip
    statements = (
        not_comparable("tuning", "w_m of AllRank", published=f"{_PRINTED:g}", here=f"{chosen.w_m:g}",
                       note="the printed value belongs to Netflix, where 1 % of the pairs are rated",
                       evidence=f"recall@20 on the validation part: {best:.3f} with {chosen.w_m:g}, {printed:.3f} "
                       f"({percent(printed / best - 1, 0, sign=True)}) with {_PRINTED:g}"),
        claim("tuning", "a positive weight of missing ratings serves better than none", holds=best > flat,
              evidence=f"recall@20 {best:.3f} with w_m = {chosen.w_m:g}, {flat:.3f} without (MF-RMSE)"),
    )  # fmt: skip
    text = (
        f"Chosen: w_m = {chosen.w_m:g}, λ = {chosen.regularization:g} for AllRank and AllRank-Pop; {_told(chosen.mf)} "
        f"for MF-RMSE; {chosen.svd_factors} factors for SVD. The test part was not read.",
    )
    return Figure("tuning", _TITLE, {"steck2011-tuning": table}, {"steck2011-tuning": chart}, statements, text)


def _told(mf: dict[str, Any]) -> str:
    offset = "the mean rating" if mf["r_m"] is None else f"{mf['r_m']:g}"
    return f"λ = {mf['regularization']:g} and offset {offset}"
