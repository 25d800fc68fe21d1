"""One notation for intervals in every table, and bold for what is not shown to be worse than the best."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.comparison.leaders import leaders
from trueval.evaluation.estimate import Estimate
from trueval.report.table_cells import cell, columns_with_both_ends, needs_both_ends


def runs(hits: dict[str, np.ndarray]) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Runs that recommend the one relevant item to these users."""
    users = len(next(iter(hits.values())))
    test = pl.DataFrame({"user": range(users), "item": 0})
    return {name: test.with_columns(item=pl.Series(np.where(hit, 0, 1)), rank=1) for name, hit in hits.items()}, test


def evaluated(hits: dict[str, np.ndarray], metrics: str = "hit@1", **options: object) -> tv.Result:
    recs, test = runs(hits)
    return tv.evaluate_run(recs, test, items=[0, 1], metrics=metrics, **options)


def test_plus_minus_gives_back_both_ends():
    rng = np.random.default_rng(0)
    result = evaluated({"half": rng.random(400) < 0.5, "most": rng.random(400) < 0.6}, interval="t")
    assert columns_with_both_ends(result.evaluation) == set()
    for name in ("half", "most"):
        e = result[name, "hit@1"]
        value, width = map(float, cell(e).split(" ± "))
        assert (value - width, value + width) == pytest.approx((e.low, e.high), abs=1.1e-4)
    assert "± 95 % Student t over users" in str(result)


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "t"])
def test_a_lopsided_interval_has_both_ends_in_every_format(interval):
    rng = np.random.default_rng(0)
    hits = {"rare": np.arange(400) < 2, "half": rng.random(400) < 0.5}
    result = evaluated(hits, interval=interval)
    e = result["rare", "hit@1"]
    written = f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"
    for text in (str(result), result.to_markdown(), result.to_latex()):
        assert written in text
        assert "±" not in text.split("compared")[0].split("95 %")[0]  # one notation for the column
    assert needs_both_ends([e])


def test_a_long_tail_on_one_side_is_seen():
    assert not needs_both_ends([Estimate(0.5, 0.41, 0.6, 100), Estimate(0.5, np.nan, np.nan, 1)])
    assert needs_both_ends([Estimate(0.5, 0.45, 0.6, 100)])


def test_bold_are_all_that_no_test_shows_to_be_worse():
    rng = np.random.default_rng(1)
    good = rng.random(300) < 0.6
    near = np.where(np.arange(300) < 3, ~good, good)
    hits = {"good": good, "near": near, "bad": rng.random(300) < 0.2}
    result = evaluated(hits, "hit@1,anti(precision)@1,list_length@1")
    best = leaders(result.evaluation)
    assert best["hit@1"] == {"good", "near"}
    assert "list_length@1" not in best  # neither way is better
    bold = re.findall(r"\| (\w+) \| \*\*", result.to_markdown())
    assert bold == ["good", "near"]
    assert result.to_latex().count(r"\textbf") >= 2
    assert "bold: not significantly worse than the best" in result.to_markdown()
    page_rows = re.findall(r'<tr class="best"><th scope="row" title="(\w+)">', page(result))
    assert page_rows[:2] == ["good", "near"]


def page(result: tv.Result) -> str:
    from trueval.report.html_page import html_page

    return html_page(result.evaluation)


def test_leaders_are_those_of_a_paired_t_test_with_holms_correction():
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(2)
    for users in (200, 500):  # enough who differ for t itself
        base = rng.random(users)
        hits = {f"s{j}": base < 0.5 + 0.04 * j + rng.normal(0, 0.3, users) for j in range(6)}
        found = leaders(evaluated(hits).evaluation)["hit@1"]
        best = max(hits, key=lambda name: hits[name].mean())
        others = [name for name in hits if name != best]
        p = [stats.ttest_rel(hits[best].astype(float), hits[name].astype(float)).pvalue for name in others]
        worse = {name for name, rejected in zip(others, multipletests(p, method="holm")[0]) if rejected}
        assert found == set(hits) - worse


def test_lower_is_better_for_some():
    hits = {"more": np.arange(200) < 120, "less": np.arange(200) < 20}
    recs, test = runs(hits)
    liked = pl.DataFrame({"user": [0], "item": [1], "value": [5.0]})
    disliked = pl.concat([test.with_columns(value=pl.lit(1.0)), liked], how="vertical_relaxed")
    result = tv.evaluate_run(recs, disliked, threshold=3, population="judged", metrics="antiprecision@1")
    assert leaders(result.evaluation)["antiprecision@1"] == {"less"}


def test_one_system_leads_nobody():
    assert leaders(evaluated({"alone": np.arange(20) < 9}).evaluation) == {}


def test_seeds_are_compared_together(tmp_path):
    log = pl.DataFrame(
        [(u, (u * 7 + j * j) % 23) for u in range(60) for j in range(6)], schema=["user", "item"], orient="row"
    )
    parts = tv.split(log, "holdout", ratio=0.3)
    result = tv.evaluate(parts, ["popularity", "random"], metrics="auc,coverage@3", seed=[1, 2, 3])
    assert set(leaders(result.evaluation)) == {"auc", "coverage@3"}
    text = str(result.compare("random"))
    assert re.search(r"\d\] sd \d", text)  # the spread over seeds is called so, and ± is an interval alone
    assert "±" not in text
