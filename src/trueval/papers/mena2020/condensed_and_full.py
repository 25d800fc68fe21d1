"""Figure 1: false positives against true positives on MovieLens 1M, condensed and full rankings."""

from __future__ import annotations

import polars as pl

from trueval.papers.labelled_points import Sides, labelled_chart
from trueval.papers.mena2020.constants import (
    ANTIP,
    FALLOUT,
    MOVIELENS,
    OPTIMAL,
    OPTIMAL_P,
    OTHER_THAN_THEIRS,
    RECALL,
    SHORT,
    P,
)
from trueval.papers.mena2020.statements import beside, panel, printed, significant
from trueval.papers.mena2020.values import movielens_values, significance_of, tau_of
from trueval.papers.record import Figure, Statement, claim
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import rounded

_TITLE = "Antiprecision against precision and fallout against recall, condensed and full rankings"
_PAIRS = ((P, ANTIP), (RECALL, FALLOUT))
# τ of the authors' released results; the values of their optimal ranking are means over their five folds.
_THEIRS = {("condensed", P): -1.0, ("condensed", RECALL): -0.9, ("full", P): 0.617, ("full", RECALL): 0.733}
_OPTIMAL = {P: 0.1496, ANTIP: 0.0316, RECALL: 0.0900, FALLOUT: 0.0296}


@figure("1", _TITLE)
def condensed_and_full(setting: Setting) -> Figure:
    """Four panels: two pairs of metrics, condensed and full."""
    table = movielens_values(setting)
    frames, panels, found = [], {}, {}
    for ranking in ("condensed", "full"):
        own = table.filter(ranking=ranking)
        for good, bad in _PAIRS:
            found[ranking, good] = tau_of(own, good, bad)
            name = f"{ranking}, {SHORT[good]}"
            panels[name] = Sides(SHORT[good], SHORT[bad], f"{ranking}: τ = {rounded(found[ranking, good])}")
            shown = own.filter(~pl.col("system").is_in(list(OPTIMAL)))
            frames.append(panel(shown, name, good, bad))
    chart = labelled_chart(
        "mena2020-1",
        _TITLE,
        "Each point is a system: means over users and folds. On condensed rankings, of which unrated items were "
        "removed, false positives fall as true positives rise: the metrics agree. On full rankings they rise together: "
        "the metrics disagree.",
        pl.concat(frames),
        panels,
    )
    return Figure("1", _TITLE, {"mena2020-1": table}, {"mena2020-1": chart}, tuple(_statements(setting, table, found)))


def _statements(setting: Setting, table: pl.DataFrame, found: dict[tuple[str, str], float]) -> list[Statement]:
    condensed, full = (table.filter(ranking=ranking) for ranking in ("condensed", "full"))
    apart = float((1 - condensed[P] - condensed[ANTIP]).abs().max())  # type: ignore[arg-type]
    systems = full.filter(~pl.col("system").is_in(list(OPTIMAL)))
    unjudged = 100 * float(systems["unjudged@10"].mean())  # type: ignore[arg-type]
    optimal = full.row(by_predicate=pl.col("system") == OPTIMAL_P, named=True)
    folds = "other folds than the authors'"
    p = [significance_of(own, good, bad) for own in (condensed, full) for good, bad in _PAIRS]
    return [
        claim("1", "on condensed rankings antiP@10 = 1 − P@10", holds=apart < 1e-9,
              evidence=f"at most {apart:.1g} apart"),
        printed(setting, MOVIELENS, "1", "τ of antiP and P, condensed", published=-1.0, here=found["condensed", P],
                tolerance=0.001, digits=2),
        beside("1", "τ of fallout and recall, condensed", published=_THEIRS["condensed", RECALL],
               here=found["condensed", RECALL], note=OTHER_THAN_THEIRS),
        claim("1", "fallout and recall are strongly negatively correlated on condensed rankings",
              holds=found["condensed", RECALL] < -0.5,
              evidence=f"τ {rounded(found['condensed', RECALL])} (strongly: below −0.5)"),
        beside("1", "τ of antiP and P, full", published=_THEIRS["full", P], here=found["full", P],
               note=OTHER_THAN_THEIRS),
        beside("1", "τ of fallout and recall, full", published=_THEIRS["full", RECALL], here=found["full", RECALL],
               note=OTHER_THAN_THEIRS),
        claim("1", "on full rankings the agreement is reversed: high positive correlations",
              holds=min(found["full", P], found["full", RECALL]) > 0.5,
              evidence=f"τ {rounded(found['full', P])} and {rounded(found['full', RECALL])} (high: above 0.5)"),
        significant("1", p, len(systems)),
        beside("1", "unrated items among the first ten, mean over systems, in %", published=83.16, here=unjudged,
               note=OTHER_THAN_THEIRS),
        *(printed(setting, MOVIELENS, "1", f"{SHORT[metric]} of the optimal ranking for observed precision",
                  published=value, here=optimal[metric], tolerance=0.003, digits=4, note=folds)
          for metric, value in _OPTIMAL.items()),
    ]  # fmt: skip
