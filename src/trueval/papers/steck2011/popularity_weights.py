"""Figure 3: training that corrects for popularity, by the exponent β_w."""

from __future__ import annotations

import polars as pl

from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, Statement, claim, not_comparable
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.papers.steck2011.evaluation import BETAS, MF, WEIGHTS, allrank, beta_ws, pop, recalls
from trueval.papers.steck2011.tuning import Chosen, chosen_parameters
from trueval.render.numbers import percent

_TITLE = "AllRank-Pop: recall(β) by the exponent of the training weights"
_DRAWN = (0.0, 0.2, 0.5, 0.9)
_NETFLIX = "of Netflix in the paper"
_GRAPH_A = "the paper says it of decreasing weights, graph (a)"
_NEAR, _SMALL = 0.35, 0.1  # distances of β_w from β that are close, and losses of recall that are small


def _signed(gain: float, digits: int = 1) -> str:
    return percent(gain, digits, sign=True)


@figure("3", _TITLE)
def popularity_weights(setting: Setting) -> Figure:
    """recall(β)@20 of AllRank-Pop with several β_w in both variants, and the highest over β_w at k = 20 and 1."""
    chosen, found = chosen_parameters(setting), recalls(setting)
    table = _variants(setting, chosen, found)
    shown = table.filter(pl.col("beta_w").is_in(_DRAWN), k=20)
    most = _highest(setting, chosen, table, found)
    charts = {
        "steck2011-3ab": line_chart(
            "steck2011-3ab", "recall(β)@20 of AllRank-Pop",
            "Weights of ratings decrease with popularity (a), or those of missing ratings increase (b). "
            f"{_described(shown)}", shown.select("panel", "series", "beta", "value"),
            Panels(Axis("beta", "β of the metric"), Axis("value", "recall(β)@20", zero=True), series="series",
                   panel="panel", points=False, own_scale=False),
        ),
        "steck2011-3cd": line_chart(
            "steck2011-3cd", "Highest recall(β) over the parameters", "AllRank-Pop over β_w, AllRank over w_m; MF-RMSE "
            "has no such parameter. Chosen on the test part, as in the paper: these are upper bounds.",
            most.select("panel", "series", "beta", "value"),
            Panels(Axis("beta", "β of the metric"), Axis("value", "recall(β)", zero=True), series="series",
                   panel="panel", points=False),
        ),
    }  # fmt: skip
    tables = {"steck2011-3": table, "steck2011-3-highest": most}
    return Figure("3", _TITLE, tables, charts, tuple(_claims(table, most)))


def _variants(setting: Setting, chosen: Chosen, found: pl.DataFrame) -> pl.DataFrame:
    """Rows of AllRank-Pop: variant, β_w, k, β, value; β_w = 0 is AllRank in both variants."""
    frames = [
        found.filter(system=pop(kind, beta_w, chosen)).with_columns(weights=pl.lit(kind), beta_w=pl.lit(beta_w))
        for kind in reversed(WEIGHTS)
        for beta_w in (0.0, *beta_ws(setting))
    ]
    table = pl.concat(frames).filter(pl.col("k").is_in([1, 20]))
    panel = pl.col("weights").replace_strict({"decreasing": "a) decreasing", "increasing": "b) increasing"})
    return table.with_columns(panel=panel, series=pl.format("β_w = {}", pl.col("beta_w"))).sort(
        "panel", "beta_w", "k", "beta"
    )


def _highest(setting: Setting, chosen: Chosen, table: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """The highest value at every β: of AllRank-Pop in both variants, AllRank, MF-RMSE."""
    by = ["k", "beta"]
    frames = [
        own.group_by(by).agg(pl.col("value").max(), pl.col("beta_w").get(pl.col("value").arg_max()))
        .with_columns(series=pl.lit(f"AllRank-Pop, {kind}"))
        for kind in WEIGHTS
        for own in (table.filter(weights=kind),)
    ]  # fmt: skip
    ranks = found.filter(pl.col("system").is_in(list(map(allrank, chosen.weights))))
    plain = {"AllRank": ranks, MF: found.filter(system=MF)}
    frames += [
        own.group_by(by).agg(pl.col("value").max()).with_columns(beta_w=pl.lit(None, pl.Float64), series=pl.lit(name))
        for name, own in plain.items()
    ]
    both = pl.concat([frame.select("series", *by, "value", "beta_w") for frame in frames])
    both = both.filter(pl.col("k").is_in([1, 20]))
    panel = pl.col("k").replace_strict({20: "c) k = 20", 1: "d) k = 1"})
    order = pl.col("series").replace_strict({name: place for place, name in enumerate(_order(WEIGHTS))})
    return both.with_columns(panel=panel).sort("panel", order, "beta")


def _order(kinds: tuple[str, ...]) -> list[str]:
    return [*(f"AllRank-Pop, {kind}" for kind in kinds), "AllRank", MF]


def _described(shown: pl.DataFrame) -> str:
    last = shown.filter(beta=1.0, weights="increasing").sort("beta_w")
    return (
        "Increasing, at β = 1: "
        + ", ".join(f"{s} {v:.3f}" for s, v in last.select("series", "value").iter_rows())
        + "."
    )


def _claims(table: pl.DataFrame, most: pl.DataFrame) -> list[Statement]:
    def line(series: str, k: int) -> list[float]:
        return most.filter(series=series, k=k).sort("beta")["value"].to_list()

    top = [max(pair) for pair in zip(*(line(f"AllRank-Pop, {kind}", 20) for kind in WEIGHTS))]
    plain, base = line("AllRank", 20), line(MF, 20)
    over = [a / b - 1 for a, b in zip(top, plain)]
    gain = {k: [max(pair) / b - 1 for *pair, b in zip(*(line(f"AllRank-Pop, {w}", k) for w in WEIGHTS), line(MF, k))]
            for k in (20, 1)}  # fmt: skip
    best = {kind: most.filter(series=f"AllRank-Pop, {kind}", k=20).sort("beta")["beta_w"].to_list() for kind in WEIGHTS}
    return [
        claim("3", "AllRank-Pop is at least as good as AllRank for all β", holds=min(over) >= 0,
              evidence=f"gain from {_signed(min(over))} to {_signed(max(over))}",
              note="AllRank is the best of several w_m here, AllRank-Pop has one" if min(over) < 0 else ""),
        claim("3", "the gain over AllRank is largest at large β", holds=over[-1] == max(over),
              evidence=f"{_signed(over[0])} at β = 0, {_signed(over[5])} at 0.5, {_signed(over[-1])} at 1"),
        *(_close_to_beta(kind, best[kind]) for kind in reversed(WEIGHTS)),
        not_comparable("3", "best β_w at β = 0 and at β = 1", published="about 0.15 and 0.9",
                       here="; ".join(f"{kind} {b[0]:g} and {b[-1]:g}" for kind, b in best.items()), note=_NETFLIX),
        *(one for kind in reversed(WEIGHTS) for one in _curves(table.filter(weights=kind, k=20), kind)),
        *_two_variants(table.filter(k=20), *(line(f"AllRank-Pop, {kind}", 20) for kind in WEIGHTS)),
        claim("3", "AllRank-Pop improves over MF-RMSE by over 75 % at k = 20 for all β", holds=min(gain[20]) > 0.75,
              evidence=f"from {_signed(min(gain[20]), 0)} to {_signed(max(gain[20]), 0)}"),
        claim("3", "AllRank-Pop improves over MF-RMSE by over 170 % at k = 1 for all β", holds=min(gain[1]) > 1.7,
              evidence=f"from {_signed(min(gain[1]), 0)} to {_signed(max(gain[1]), 0)}"),
        claim("3", "AllRank improves over MF-RMSE considerably at small β", holds=plain[0] / base[0] > 1.75,
              evidence=f"{_signed(plain[0] / base[0] - 1, 0)} at β = 0, {_signed(plain[-1] / base[-1] - 1, 0)} at β = "
              "1 (considerably: by over 75 %, which is printed for AllRank-Pop)"),
    ]  # fmt: skip


def _close_to_beta(kind: str, best: list[float]) -> Statement:
    far = max(abs(b - beta) for b, beta in zip(best, BETAS))
    return claim("3", f"the best β_w grows with β and is close to it ({kind})",
                 holds=best == sorted(best) and far <= _NEAR,
                 evidence=f"best β_w for β = 0, 0.1, …, 1: {', '.join(f'{b:g}' for b in best)}; up to {far:.2f} apart "
                 f"({_NEAR:g} allowed)", note="" if kind == "decreasing" else _GRAPH_A)  # fmt: skip


def _curves(own: pl.DataFrame, kind: str) -> list[Statement]:
    """What is said of the curves of one variant, at both ends of β."""
    ends = {beta: dict(own.filter(pl.col("beta_w").is_in(_DRAWN), beta=beta).select("beta_w", "value").iter_rows())
            for beta in (0.0, 1.0)}  # fmt: skip
    last, first = [ends[1.0][beta_w] for beta_w in _DRAWN], ends[0.0]
    lost = {beta_w: 1 - first[beta_w] / first[0.0] for beta_w in _DRAWN[1:]}
    return [
        claim("3", f"at β = 1 recall grows with β_w = {', '.join(f'{b:g}' for b in _DRAWN)} ({kind})",
              holds=last == sorted(last), evidence=", ".join(f"{value:.3f}" for value in last)),
        claim("3", f"the loss at small β is rather small, unless β_w is close to 1 ({kind})",
              holds=max(lost[beta_w] for beta_w in _DRAWN[1:-1]) <= _SMALL,
              evidence="lost at β = 0: " + ", ".join(f"β_w {b:g} {percent(x)}" for b, x in lost.items())
              + f" ({percent(_SMALL, 0)} allowed, up to β_w = {_DRAWN[-2]:g})"),
    ]  # fmt: skip


def _two_variants(table: pl.DataFrame, inc: list[float], dec: list[float]) -> list[Statement]:
    """Whether increasing weights are better than decreasing ones: the best β_w of each, and a large β_w."""
    at_least = sum(a >= b for a, b in zip(inc, dec))
    large = table.filter(beta_w=_DRAWN[-1]).sort("beta").pivot("weights", index="beta", values="value")
    higher = int((large["increasing"] > large["decreasing"]).sum())
    return [
        claim("3", "increasing weights are slightly better than decreasing ones", holds=at_least > len(inc) / 2,
              evidence=f"highest recall@20 over β_w at least as high for {at_least} of {len(inc)} β"),
        claim("3", "with a large β_w, increasing weights are slightly better", holds=higher > len(large) / 2,
              evidence=f"with β_w = {_DRAWN[-1]:g} recall@20 is higher for {higher} of {len(large)} β; at β = 1 "
              f"{large['increasing'][-1]:.3f} against {large['decreasing'][-1]:.3f}"),
    ]  # fmt: skip
