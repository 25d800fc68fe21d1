"""Margins as users write them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from comparison_worlds import world

import trueval as tv
from trueval.api import Result
from trueval.comparison.margins import Margin, margin_of, parse_margins
from trueval.errors import TruevalError


@pytest.mark.parametrize(
    ("given", "margin"),
    [("1%", Margin(0.01, True)), (" 2.5 % ", Margin(0.025, True)), ("0.005", Margin(0.005)), (0.02, Margin(0.02))],
)
def test_one_for_all(given, margin):
    found = parse_margins(given)
    assert found.for_all == margin
    assert not found.named


def test_by_metric_with_and_without_one_for_all():
    found = parse_margins("1%, recall@5[cap=true]=2%, coverage@10=0.02")
    assert found.for_all == Margin(0.01, True)
    assert dict(found.named) == {"recall@5[cap=true]": Margin(0.02, True), "coverage@10": Margin(0.02)}
    assert margin_of("ndcg@10", found.named, found.for_all) == Margin(0.01, True)
    assert parse_margins({"rr": "3%", "map": 0.1}).named == {"rr": Margin(0.03, True), "map": Margin(0.1)}


@pytest.mark.parametrize(
    "given",
    ["", ",", "one", "1%%", "-1%", "0", "0%", "100%", "nan", "inf", "=1%", "1%,2%", "rr=1%,rr=2%", "rr=", "[cap=true]",
     0, -0.1, True, None, [0.1], {"rr": "much"}],
)  # fmt: skip
def test_refused(given):
    with pytest.raises(TruevalError):
        parse_margins(given)


def test_a_metric_without_a_margin_is_named():
    with pytest.raises(TruevalError, match="map has no margin"):
        margin_of("map", {"rr": Margin(0.1)}, None)


@pytest.mark.parametrize(
    ("metric", "old", "margin", "refused"),
    [
        ("ndcg@10", 0.87, 1, True),  # a forgotten %
        ("ndcg@10", 0.87, "1", True),
        ("ndcg@10", 0.87, 0.88, True),
        ("ndcg@10", 0.87, 0.8, False),
        ("hit@10", 0.87, {"hit@10": 0.9}, True),
        ("rbu@10", 0.5, 1.4, False),  # from -1 to 1: it can fall by 1.5
        ("rbu@10", 0.5, 1.5, True),
        ("dcg@10", 3.0, 2.9, False),
        ("dcg@10", 3.0, 3.1, True),
        ("mae", 0.87, 5, False),  # errors have no highest value
        ("anti(precision)@10", 0.25, 0.7, False),  # lower is better, 1 is the worst
        ("anti(precision)@10", 0.25, 0.76, True),
        ("ndcg@10", 0.87, "99%", False),
    ],
)
def test_a_margin_that_no_fall_could_exceed_is_refused(metric, old, margin, refused):
    sides = [Result(world({"a": {metric: np.full(50, value)}})) for value in (0.0, old)]
    if not refused:
        assert tv.gate(*sides, margin=margin).rows
        return
    with pytest.raises(TruevalError, match="could exceed the margin") as raised:
        tv.gate(*sides, margin=margin)
    advised = {metric: "1%"}  # the advice, as a mapping
    assert f"margin={metric}=1%" in str(raised.value)
    assert tv.gate(*sides, margin=advised).rows


def test_a_group_that_cannot_fall_by_more_than_the_margin_is_not_tested():
    old = np.repeat([0.9, 0.01], 50)
    users = pl.DataFrame({"user": range(100), "g": ["high"] * 50 + ["low"] * 50})
    sides = [Result(world({"a": {"ndcg@10": values}})) for values in (0.0 * old, old)]
    found = tv.gate(*sides, margin=0.05, by="g", users=users)
    assert [row.group for row in found.rows] == ["", "high"]
    assert "not tested, since no fall could exceed the margin: ndcg@10 of g = low" in found.notes
