"""What the migration pages say of other libraries: their metrics, by our names, have their values."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import trueval as tv

PAGE = (Path(__file__).parents[2] / "docs" / "migrate" / "ranx.md").read_text(encoding="utf-8")
# ranx's name and ours, as the table of the page pairs them
SAME = {
    "ndcg@3": "ndcg@3", "map@3": "ap@3", "mrr@3": "rr@3", "hit_rate@3": "hit@3", "r-precision": "rprecision",
    "ndcg_burges@3": "ndcg@3[gain=exp]", "rbp.95": "rbp[p=0.95]",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_metrics_of_ranx() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed: pip install '.[test]'")
    judged = {"q1": {"a": 2, "c": 1, "d": 1}, "q2": {"b": 1}, "q3": {"a": 1}}
    scored = {"q1": {"a": 0.9, "b": 0.8, "c": 0.7}, "q2": {"a": 0.4, "b": 0.3}, "q3": {"c": 0.5, "b": 0.4}}
    theirs = ranx.evaluate(ranx.Qrels(judged), ranx.Run(scored), list(SAME))
    test, run = (
        pl.DataFrame(
            [(u, i, float(v)) for u, m in table.items() for i, v in m.items()], ["user", "item", name], orient="row"
        )
        for table, name in ((judged, "value"), (scored, "score"))
    )
    ours = tv.evaluate_run(run, test, metrics=list(SAME.values()), compat="ranx", interval="none")["run"]
    for their_name, value in theirs.items():
        assert ours[SAME[their_name]].value == pytest.approx(float(value)), their_name


def test_the_page_pairs_these_names() -> None:
    table = PAGE.replace("@k", "@3")
    for theirs, ours in SAME.items():
        row = next(
            line for line in table.splitlines() if f"`{theirs}`" in line or f'"{theirs}"' in line or theirs == "ndcg@3"
        )
        assert theirs == "ndcg@3" or re.search(re.escape(ours), row), theirs
