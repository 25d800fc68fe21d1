"""The check of feedback loops: what a log can and cannot tell."""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv


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
