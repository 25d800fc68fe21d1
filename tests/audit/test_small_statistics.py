"""The small statistics inside checks, against scipy and by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats

import trueval as tv
from trueval.audit.changes import Difference, Reversal
from trueval.audit.drafts import Question, draft_of
from trueval.audit.simulate_designs import _setting

QUESTION = Question("seen_items", "data", "as given", "No order is reversed.", "Why.", "do this", unknown="Unknown.")


def difference(value: float, p: float) -> Difference:
    return Difference("a", "b", value, value - 0.1, value + 0.1, p, 50, 0.05, 49)


def test_p_of_a_finding_is_the_least_of_its_tests() -> None:
    orders = [
        Reversal("ndcg@10", "there", difference(0.2, 0.001), difference(-0.2, p), max(0.001, p)) for p in (0.2, 0.01)
    ]
    draft = draft_of(QUESTION, orders)
    assert draft.conclude(np.array([0.4, 0.02])).p == 0.02
    assert draft.conclude(np.array([math.nan, 0.3])).p == 0.3
    assert math.isnan(draft.conclude(np.array([math.nan, math.nan])).p)


def test_gaps_between_groups_are_welchs() -> None:
    """Two groups of unequal size and spread: gap, interval and p are those of scipy."""
    rng = np.random.default_rng(4)
    users, few = 120, 35
    test = pl.DataFrame({"user": np.repeat(np.arange(users), 3), "item": np.tile([1, 2, 3], users)})
    hits = np.where(np.arange(users) < few, rng.integers(0, 2, users), rng.integers(1, 4, users))
    rows = [(u, item if item <= hits[u] else item + 10, item) for u in range(users) for item in (1, 2, 3)]
    recs = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    table = pl.DataFrame({"user": range(users), "group": ["few"] * few + ["many"] * (users - few)})
    found = tv.audit(
        recs={"run": recs}, test=test, users=table, by="group", metrics="precision@3", relevant_change="0.01"
    )
    (finding,) = (one for one in found.findings if one.check == "served_groups")
    (gap,) = (one for one in finding.figures["groups"] if one["group"] == "few")
    one, other = hits[:few] / 3, hits[few:] / 3
    welch = scipy.stats.ttest_ind(other, one, equal_var=False)
    ends = welch.confidence_interval(0.95)
    assert gap["gap"] == pytest.approx(other.mean() - one.mean())
    assert (gap["low"], gap["high"]) == pytest.approx((ends.low, ends.high))
    beyond = scipy.stats.ttest_ind(other - 0.01, one, equal_var=False, alternative="greater").pvalue
    assert gap["p"] == pytest.approx(beyond)


@pytest.mark.parametrize(
    ("metric", "order_by", "tau"), [("rr", "rr", -1.0), ("anti(rr)", "anti(rr)", -1.0), ("anti(rr)", "rr", 1.0)]
)
def test_the_order_in_a_world_goes_by_what_is_better(metric: str, order_by: str, tau: float) -> None:
    """Values rise where the true ones fall: the opposite order, unless lower is better on one side alone."""
    values, true = np.array([0.1, 0.2, 0.3]), np.array([0.6, 0.5, 0.4])
    cell = ("AR-TI-AN", metric)
    setting = _setting(cell, [{cell: values}] * 2, [{metric: true, order_by: true}] * 2, order_by)
    assert setting.tau == (tau, tau)
