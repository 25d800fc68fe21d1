"""The check of feedback loops: what a log can and cannot tell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import one, ranked

import trueval as tv
from trueval.audit.given_runs import GivenRuns
from trueval.audit.settings import without_pairs
from trueval.evaluation.options import EvaluationOptions


def test_a_log_does_not_tell_who_chose() -> None:
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"]})
    (one,) = tv.audit(train=log.head(3), test=log.tail(1))["feedback_loop"]
    assert (one.verdict, one.figures) == ("cannot tell", {})
    assert "trueval track" in one.remedy


def test_the_concentration_of_both_halves() -> None:
    """Ratings per item: 1, 1, 1, 1 at first (Gini 0), then 3 and 1 (Gini 1/4)."""
    items = ["a", "b", "c", "d", "a", "a", "a", "b"]
    train = pl.DataFrame({"user": range(8), "item": items, "time": range(8)})
    test = pl.DataFrame({"user": [1], "item": ["c"], "time": [9]})
    (one,) = tv.audit(train=train.sample(fraction=1, shuffle=True, seed=1), test=test)["feedback_loop"]
    assert one.figures["gini_first_half"] == pytest.approx(0)
    assert one.figures["gini_second_half"] == pytest.approx(0.25)
    assert "0.000 in the earlier half of the rows and 0.250 in the later one" in one.sentence


def marked_test(users: int = 60) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """`same` recommends what was recommended before, `new` what users found themselves, and each misses the other."""
    rows = [row for u in range(users) for row in ((u, u % 3, 1), (u, 10 + u % 3, 1), (u, 20 + u % 4, 0))]
    test = pl.DataFrame(rows, ["user", "item", "recommended"], orient="row")
    same = {u: [u % 3, 10 + u % 3, 50, 51 + u % 2] for u in range(users)}
    new = {u: [20 + u % 4, 60 + u % 2, 70] for u in range(users)}
    return test, {"same": ranked(same), "new": ranked(new)}


def test_an_order_that_comes_from_recommended_rows() -> None:
    test, recs = marked_test()
    finding = one(tv.audit(test=test, recs=recs, metrics="recall@3"), "feedback_loop")
    assert finding.verdict == "caution"
    assert finding.figures["reversed"][0]["systems"] == ["same", "new"]
    assert finding.figures["reversed"][0]["here"] == pytest.approx(2 / 3 - 1 / 3)
    assert finding.figures["reversed"][0]["there"] == pytest.approx(0 - 1)
    assert finding.figures["recommended"] == pytest.approx(2 / 3)


def test_marks_that_say_nothing_was_recommended() -> None:
    test, recs = marked_test()
    unmarked = test.with_columns(recommended=pl.lit(value=False))
    assert one(tv.audit(test=unmarked, recs=recs, metrics="recall@3"), "feedback_loop").verdict == "fine"


def test_marks_without_two_systems() -> None:
    test, recs = marked_test()
    alone = one(tv.audit(test=test, recs={"same": recs["same"]}, metrics="recall@3"), "feedback_loop")
    assert alone.verdict == "cannot tell"
    assert alone.figures["recommended"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("mark", [pl.lit("yes"), pl.lit(2), pl.lit(None, pl.Int64)])
def test_marks_that_cannot_be_read(mark: pl.Expr) -> None:
    test, recs = marked_test()
    with pytest.raises(tv.TruevalError, match="whether it was recommended"):
        tv.audit(test=test.with_columns(recommended=mark), recs=recs, metrics="recall@3")


@pytest.mark.parametrize("tied", [False, True])
def test_rows_taken_out_of_rankings(tied: bool) -> None:
    """The same value as of lists from which these items were taken before they were read."""
    rng = np.random.default_rng(0)
    rows = [(u, int(i)) for u in range(40) for i in rng.choice(30, 6, replace=False)]
    test = pl.DataFrame(rows, ["user", "item"], orient="row")
    out = test.filter(pl.Series(rng.random(len(test)) < 0.4))
    lists = {u: rng.permutation(30)[:20].tolist() for u in range(40)}
    run = ranked(lists).with_columns(score=(30.0 - pl.col("rank")) // (4 if tied else 1)).drop("rank")
    options = EvaluationOptions(metrics="ndcg@5,recall@5,rr", ties="expected")
    subject = GivenRuns({"it": run}, tv.Interactions.of(test), options)
    found = subject.view("", without_pairs(out))
    keys = ["user", "item"]
    shorter = run.join(out, on=keys, how="anti", maintain_order="left")
    left = test.join(out, on=keys, how="anti", maintain_order="left")
    there = tv.evaluate_run(shorter, left, metrics="ndcg@5,recall@5,rr", ties="expected", interval="none")
    assert found is not None
    for label in subject.labels:
        assert found.value("it", label) == pytest.approx(there["run", label].value)
