"""Margins as users write them."""

from __future__ import annotations

import pytest

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
