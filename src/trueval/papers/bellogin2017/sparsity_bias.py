"""Figure 4: what the density of the test set and the size of target sets do to precision."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.audit.sparsity import sparsity
from trueval.papers.bellogin2017.evaluation import HOLDOUT, SIZES, SYSTEMS, evaluated, one_relevant_design
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent

_TITLE = "Precision by test sparsity"
_REMOVED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_AR, _1R, _T = "AR, ratings removed", "1R, ratings removed", "1R, size of target sets"
_P, _N, _RR, _RECALL = _METRICS = ("precision@10", "ndcg@10", "rr", "recall@10")
_GOOD = ("pLSA", "MF", "popularity")  # above random in AR: what the others have there are a few hits
_KEPT = 0.8  # up to here test ratings are removed where a curve is called flat


@figure("4", _TITLE)
def sparsity_bias(setting: Setting) -> Figure:
    """P@10 against removed test ratings in AR and 1R, and against |T| in 1R."""
    table = setting.step("sparsity", _curves, metrics=_METRICS)
    every, sized = table.filter(pl.col("panel") != _T), table.filter(panel=_T)
    removed = every.filter(metric=_P)
    text = "Test ratings are removed at random from the same rankings; nothing is fitted again."
    charts = {
        "bellogin2017-4-removed": line_chart(
            "bellogin2017-4-removed", "P@10 as test ratings are removed", f"{text} {_slopes(removed)}", removed,
            Panels(Axis("at", "test ratings removed", format=".0%"), Axis("value", "P@10", zero=True), panel="panel"),
        ),
        "bellogin2017-4-targets": line_chart(
            "bellogin2017-4-targets", "1RP@10 by the size of target sets",
            f"Exact expectations over samples. Slopes in logarithms: {_told(_log_slopes(sized))}.", sized,
            Panels(Axis("at", "|T|", format=",d", log=True), Axis("value", "1RP@10", log=True)),
        ),
    }  # fmt: skip
    statements = (*_claims(removed, sized), *_other_metrics(every.filter(panel=_AR)))
    return Figure("4", _TITLE, {"bellogin2017-4": table}, charts, statements)


def _curves(setting: Setting, metrics: tuple[str, ...]) -> pl.DataFrame:
    """Three curves per system, from the facts of the first split; |T| changes for precision alone."""
    found = evaluated(setting, HOLDOUT)
    rows = []
    for panel, design in ((_AR, "AR-TI-AN"), (_1R, one_relevant_design(setting.log))):
        result = found[design]
        facts = next(iter(result.repeats.values())).facts if result.repeats else result.facts
        own = {name: facts[name] for name in SYSTEMS}
        largest = min(setting.log.n_items // 2, max(SIZES))
        sizes = [size for size in (25, 50, *SIZES) if size <= largest]
        measured = sparsity(own, metrics=metrics, removed=_REMOVED, sizes=sizes, seed=setting.seed)
        columns = (pl.lit(panel).alias("panel"), "metric", "system")
        fewer = measured.fewer.select(*columns, at="removed", value="value")
        rows.append(fewer)
        if panel == _AR and measured.larger is not None:
            larger = measured.larger.filter(pl.col("targets").is_in(sizes), metric=_P)
            rows.append(larger.select(pl.lit(_T).alias("panel"), "metric", "system", at=pl.col("targets").cast(float),
                                      value="value"))  # fmt: skip
    return pl.concat(rows)


def _of(table: pl.DataFrame, system: str, panel: str) -> tuple[np.ndarray, np.ndarray]:
    own = table.filter(system=system, panel=panel).sort("at")
    return own["at"].to_numpy(), own["value"].to_numpy()


def _slopes(removed: pl.DataFrame) -> str:
    changes = []
    for panel in (_AR, _1R):
        _, values = _of(removed, "pLSA", panel)
        changes.append(f"{panel.split(',')[0]}: pLSA goes from {values[0]:.4f} to {values[-1]:.4f}")
    return "; ".join(changes) + "."


def _log_slopes(sized: pl.DataFrame) -> dict[str, float]:
    """Slopes of log precision over log |T|: -1 is inverse proportionality."""
    found = {}
    for system in SYSTEMS:
        at, values = _of(sized, system, _T)
        found[system] = float(np.polyfit(np.log(at), np.log(values), 1)[0])
    return found


def _told(numbers: dict[str, float], form: str = ".2f") -> str:
    return ", ".join(f"{name} {percent(one) if form == '%' else format(one, form)}" for name, one in numbers.items())


def _claims(removed: pl.DataFrame, sized: pl.DataFrame) -> list[Statement]:
    linear, flat = {}, {}
    for system in SYSTEMS:
        at, values = _of(removed, system, _AR)
        linear[system] = float(np.corrcoef(1 - at, values)[0, 1] ** 2)
        at, values = _of(removed, system, _1R)
        flat[system] = float(np.abs(values[at <= _KEPT] / values[0] - 1).max())
    slopes = _log_slopes(sized)
    orders = [
        own.sort("value", descending=True)["system"].to_list()
        for _, own in removed.filter(panel=_AR).group_by("at", maintain_order=True)
    ]
    straight = min(linear.values()) > 0.99
    same = sum(order[:3] == orders[0][:3] for order in orders)
    return [
        claim("4", "in AR, precision falls linearly with the density of the test set", holds=straight,
              evidence=f"R² of a line: {_told(linear, '.4f')} (linear: above 0.99)"),
        claim("4", "in 1R, precision does not depend on the number of test ratings", holds=max(flat.values()) < 0.05,
              evidence=f"largest change up to 80 % removed: {_told(flat, '%')} (5 % allowed)"),
        claim("4", "in 1R, the precision of random recommendation is inversely proportional to |T|",
              holds=abs(slopes["random"] + 1) < 0.05,
              evidence=f"slope in logarithms {slopes['random']:.3f} (-1 is inverse proportionality, 0.05 allowed)"),
        claim("4", "in 1R, other systems follow 1/|T| as well, with other constants only",
              holds=all(abs(slope + 1) < 0.25 for slope in slopes.values()),
              evidence=f"slopes in logarithms (-1 is inverse proportionality, 0.25 allowed): {_told(slopes)}",
              note="1RP@10 cannot exceed 1/10, which good systems come close to where |T| is small"),
        claim("4", "sparsity does not distort the comparison of systems", holds=same == len(orders),
              evidence=f"the first three systems keep their order in {same} of {len(orders)} degrees of sparsity"),
    ]  # fmt: skip


def _other_metrics(removed: pl.DataFrame) -> list[Statement]:
    """What the text says of other metrics in AR, of the systems that are above random."""
    left: dict[str, dict[str, float]] = {}
    steady = True
    for metric in _METRICS:
        left[metric] = {}
        for system in _GOOD:
            at, values = _of(removed.filter(metric=metric), system, _AR)
            left[metric][system] = float(values[at == _KEPT][0] / values[0])
            steady &= metric == _RECALL or bool((np.diff(values) < 0).all())
    told = {metric: _told(left[metric], "%") for metric in _METRICS}
    flatter = all(left[_N][system] > left[_P][system] for system in _GOOD)
    changed = max(abs(share - 1) for share in left[_RECALL].values())
    return [
        claim("4", "nDCG@10 and MRR fall with the density in AR, as P@10 does", holds=steady,
              evidence=f"{'all' if steady else 'not all'} fall at every step; left with 80 % of the ratings removed: "
              + "; ".join(f"{metric} {told[metric]}" for metric in (_P, _N, _RR))),
        claim("4", "nDCG@10 falls less steeply than P@10", holds=flatter,
              evidence=f"left with 80 % removed: {_N} {told[_N]}; {_P} {told[_P]}"),
        claim("4", "recall is quite unaffected by test sparsity", holds=changed < 0.05,
              evidence=f"left with 80 % removed: {told[_RECALL]} (5 % allowed)"),
    ]  # fmt: skip
