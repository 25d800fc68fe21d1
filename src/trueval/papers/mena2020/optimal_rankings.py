"""Figure 5, the optimal rankings on the unbiased data set: why they disagree, and their values beside the authors'."""

from __future__ import annotations

import polars as pl

from trueval.audit.item_pair_counts import scores_of, share_steepest
from trueval.audit.item_pairs import item_pairs
from trueval.audit.item_ratings import item_ratings
from trueval.papers.mena2020.authors import authors_of
from trueval.papers.mena2020.constants import OPTIMAL_P, OPTIMAL_TRUE, SHORT, UNBIASED
from trueval.papers.mena2020.data import threshold_of
from trueval.papers.mena2020.statements import printed
from trueval.papers.record import Statement, claim, not_comparable
from trueval.papers.setting import Setting
from trueval.render.numbers import percent, rounded

_FOLDS = "other folds than the authors'"
_ORACLE = "the paper does not tell how p(rel|¬train,i) is estimated from the test data"


def popularity_and_average(setting: Setting) -> list[Statement]:
    """Why the optimal rankings disagree on the unbiased data set as well."""
    log = setting.logs[UNBIASED]
    biased, threshold = log.keep(log.frame.filter("biased")), threshold_of(setting)
    found = item_pairs(biased, threshold=threshold)
    steepest = share_steepest(scores_of(item_ratings(biased, threshold=threshold).rated()), odds=False)
    shares = f"{percent(found.aligned.share)} of pairs aligned, {percent(found.opposed.share)} opposed"
    return [
        claim("5", f"popularity is steeper than the average rating ({log.name})", holds=steepest > 0.5,
              evidence=f"than both p(rel) and p(¬rel) for {percent(steepest)} of item pairs (more than half needed)",
              note="averages of few ratings are steep, too" if steepest <= 0.5 else ""),
        claim("5", f"popularity agrees with the average rating for most item pairs ({log.name})",
              holds=found.aligned.share > 0.5, evidence=f"{shares}, {percent(found.tied.share)} equal in one of them",
              note="all biased ratings"),
        claim("5", f"the optimal rankings for observed precision and antiprecision disagree on most pairs ({log.name})",
              holds=found.disagree.share > 0.5, evidence=f"{percent(found.disagree.share)}; τ {rounded(found.tau)}"),
    ]  # fmt: skip


def optimal_values(setting: Setting, table: pl.DataFrame) -> list[Statement]:
    """Values of the optimal rankings beside the authors', by side and metric."""
    theirs, share = authors_of(setting), 0.25 if setting.quick else 0.1
    here = {(row["side"], row["system"]): row for row in table.iter_rows(named=True)}
    made = [
        printed(setting, UNBIASED, "5", f"{side} {SHORT[metric]} of the optimal ranking for observed P",
                published=value, here=here[side, OPTIMAL_P][metric], tolerance=share * value, digits=4, note=_FOLDS)
        for side, values in theirs.optimal.items() for metric, value in values.items()
    ]  # fmt: skip
    return made + [
        not_comparable("5", f"{side} {SHORT[metric]} of the optimal ranking for true P", published=f"{value:.4f}",
                       here=f"{here[side, OPTIMAL_TRUE][metric]:.4f}", note=_ORACLE)
        for side, values in theirs.oracle.items() for metric, value in values.items()
    ]  # fmt: skip
