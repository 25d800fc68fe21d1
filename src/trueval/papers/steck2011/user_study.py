"""Table 1: the user study, from rankings that have its totals."""

from __future__ import annotations

from importlib import resources
from io import StringIO

import polars as pl

from trueval.papers.record import Figure, Statement, claim, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.study.analysis import StudyAnalysis, study_analysis

_TITLE = "User study: which of five algorithms helped best"
_FULFILLED, _VIOLATED = (57, 50, 30, 27, 10), (15, 15, 37, 40, 65)
_RANKS, _FIRST = (1.95, 2.13, 3.28, 3.38, 4.38), (10, 7)


@figure("table1", _TITLE)
def user_study(setting: Setting) -> Figure:
    """Mean ranks, constraints fulfilled and violated, first places, and the exact test of these."""
    found = study_analysis(rankings(), first=["AllRank-Pop 0", "AllRank-Pop 0.33"], resamples=0)
    return Figure("table1", _TITLE, {"steck2011-table1": found.table(), "steck2011-rankings": rankings()}, {},
                  tuple(_statements(found)), _TEXT)  # fmt: skip


_TEXT = (
    "The answers of the 20 people were not published. The file of rankings was constructed, by a search for 20 of them "
    "with the totals of the table.",
    "All printed totals together are impossible: every constraint (A above B) is fulfilled if A is put first and "
    "violated if B is, so that both rows must have the same sum, but they sum to 174 and 172. With 26 and 41 in place "
    "of 27 and 40 for β_w = 0.9 both sum to 173, and the mean ranks that follow from the totals, with equal ranks "
    "where an order was left open, are the printed ones, apart from 3.175 for β_w = 0.67, where 3.28 is printed. The "
    "rankings have these totals.",
)


def rankings() -> pl.DataFrame:
    """The constructed rankings: participant, system, rank.

    >>> rankings()["participant"].n_unique()
    20
    """
    text = (resources.files("trueval.papers.steck2011") / "rankings.csv").read_text(encoding="utf-8")
    return pl.read_csv(StringIO(text), comment_prefix="#")


def _statements(found: StudyAnalysis) -> list[Statement]:
    ranked = found.findings.rankings
    assert ranked is not None
    assert ranked.first is not None
    misprint = "the printed totals contradict each other, see the text"
    statements = []
    for printed, own in zip(zip(_RANKS, _FULFILLED, _VIOLATED), ranked.systems):
        name = own.system.replace("AllRank-Pop ", "β_w = ")
        statements += [
            number("table1", f"mean rank, {name}", published=printed[0], here=own.mean_rank, tolerance=0.0051, digits=3,
                   note="" if abs(printed[0] - own.mean_rank) < 0.0051 else misprint),
            number("table1", f"constraints fulfilled, {name}", published=printed[1], here=own.fulfilled, tolerance=0,
                   note="" if printed[1] == own.fulfilled else misprint),
            number("table1", f"constraints violated, {name}", published=printed[2], here=own.violated, tolerance=0,
                   note="" if printed[2] == own.violated else misprint),
        ]  # fmt: skip
    firsts = [own.first for own in ranked.systems]
    test = ranked.first
    statements += [
        number("table1", f"ranked first, β_w = {beta}", published=count, here=first, tolerance=0)
        for beta, count, first in zip(("0", "0.33"), _FIRST, firsts)
    ]
    statements += [
        number("table1", "p-value of 17 first places of 20 with p = 2/5", published=5e-6, here=test.p, tolerance=1e-6,
               digits=7, evidence=f"{test.first} of {test.trials}, exact and one-sided: {test.p:.3g}",
               note="5·10⁻⁶ is the chance of more than 17; that of 17 or more is 4.73·10⁻⁵, as significant in words"),
        claim("table1", "users prefer a small popularity bias: the order of the systems is that of β_w, MF-RMSE last",
              holds=[own.mean_rank for own in ranked.systems] == sorted(own.mean_rank for own in ranked.systems),
              evidence=", ".join(f"{own.system} {own.mean_rank:.2f}" for own in ranked.systems)),
    ]  # fmt: skip
    return statements
