"""Charts of A/B tests, off-policy estimates, agreement and calibration."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import trueval as tv
from trueval.charts.compact import compact
from trueval.errors import DefinitionError


@pytest.fixture(scope="module")
def ab_table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    arm = np.repeat(["a", "b<i>", "c"], 400)
    bought = rng.random(1200) < np.repeat([0.2, 0.3, 0.2], 400)
    return pl.DataFrame(
        {"arm": arm, "bought": bought.astype(int), "time_spent": rng.exponential(2, 1200), "land": ["at", "it"] * 600}
    )


def test_ab_effects_are_relative_where_they_are_defined(ab_table):
    found = tv.ab_test(ab_table, arm="arm", control="a", metrics=["bought", "t:mannwhitney=time_spent"])
    data = found.plot().data
    share = {arm: float(own["bought"].mean()) for (arm,), own in ab_table.group_by("arm")}
    for row in data.filter(pl.col("metric") == "bought").to_dicts():
        assert row["scale"] == "relative"
        assert row["value"] == pytest.approx(share[row["arm"]] / share["a"] - 1)
        assert row["low"] < row["value"] < row["high"]
    for row in data.filter(pl.col("metric") == "t").to_dicts():
        assert row["scale"] == "absolute"
        one, other = (ab_table.filter(pl.col("arm") == arm)["time_spent"].to_numpy() for arm in (row["arm"], "a"))
        above = (one[:, None] > other).mean() + (one[:, None] == other).mean() / 2
        assert row["value"] == pytest.approx(above - 0.5, abs=1e-9) or row["value"] == pytest.approx(2 * above - 1)
    svg = found.plot("ab_effects").to_svg(page=True)
    ET.fromstring(svg)
    assert "b<i>" not in svg
    assert len(svg) < 40_000


def test_ab_groups_are_tests_within_them(ab_table):
    found = tv.ab_test(ab_table, arm="arm", control="a", metrics="bought", segments="land")
    chart = found.plot("ab_groups", metric="bought", segment="land")
    assert chart.data.select("group", "arm").rows() == [(g, arm) for g in ("at", "it") for arm in ("b<i>", "c")]
    for row in chart.data.to_dicts():
        own = ab_table.filter(pl.col("land") == row["group"])
        share = {arm: float(part["bought"].mean()) for (arm,), part in own.group_by("arm")}
        assert row["value"] == pytest.approx(share[row["arm"]] / share["a"] - 1)
        assert row["n"] == 400
    ET.fromstring(chart.to_svg())
    with pytest.raises(DefinitionError, match="no segment 'age'"):
        found.plot("ab_groups", segment="age")
    with pytest.raises(DefinitionError, match="needs comparisons within segments"):
        tv.ab_test(ab_table, arm="arm", control="a", metrics="bought").plot("ab_groups")


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    user = rng.integers(0, 600, 4000)
    shown = rng.integers(1, 5, 4000)
    return pl.DataFrame(
        {
            "user": user, "arm": np.array(["a", "b"])[user % 2], "day": rng.integers(1, 11, 4000),
            "spent": rng.exponential(2, 4000), "impressions": shown,
            "clicks": rng.binomial(shown, 0.3 + 0.1 * (user % 2)),
        }
    )  # fmt: skip


@pytest.mark.parametrize("metric", ["m:mean=spent", "ctr=clicks/impressions"])
def test_days_are_tests_of_the_users_until_then(events, metric):
    """As a test of those users alone finds them, and the bounds of a sequential test."""
    options = {"arm": "arm", "metrics": metric, "ignore_mismatch": True}
    found = tv.ab_test(events, time="day", sequential=900, **options)
    data = found.plot("ab_days").data
    first = events.with_columns(first=pl.col("day").min().over("user"))
    for day in (2, 5):
        alone = tv.ab_test(first.filter(pl.col("first") <= day).drop("day", "first"), sequential=900, **options)
        (one,), row = alone.comparisons, data.filter(pl.col("day") == str(day)).row(0, named=True)
        assert row["difference"] == pytest.approx(one.difference)
        assert (row["always_low"], row["always_high"]) == pytest.approx((one.low, one.high))
        assert row["users"] == one.n
    ET.fromstring(found.plot("ab_days").to_svg())
    whole = tv.ab_test(events, time="day", **options)
    last = whole.plot("ab_days").data.row(-1, named=True)
    assert last["low"] == pytest.approx(whole.comparisons[0].low, abs=0.01 * abs(last["high"] - last["low"]))


def test_days_say_what_is_missing(events):
    found = tv.ab_test(events.drop("day"), arm="arm", metrics="m:mean=spent", ignore_mismatch=True)
    with pytest.raises(DefinitionError, match="days on which users entered"):
        found.plot("ab_days")
    ranks = tv.ab_test(events, arm="arm", metrics=["m:mean=spent", "x:median=spent"], time="day", resamples=100,
                       ignore_mismatch=True)  # fmt: skip
    with pytest.raises(DefinitionError, match="no sums by day of 'x'"):
        ranks.plot("ab_days", metric="x")


def test_an_effect_without_relative_interval_is_drawn_as_a_difference():
    """Nothing can be divided by the value of the control, which is 0."""
    table = pl.DataFrame({"arm": ["a", "b"] * 50, "bought": [0, 1] * 50})
    found = tv.ab_test(table, arm="arm", metrics="bought")
    assert math.isnan(found.comparisons[0].relative_low)
    (row,) = found.plot().data.rows(named=True)
    assert (row["scale"], row["value"], row["low"]) == ("absolute", 1, found.comparisons[0].low)
    assert ET.fromstring(found.plot().to_svg()).tag.endswith("svg")


@pytest.fixture(scope="module")
def off_policy() -> tuple[pl.DataFrame, tv.ope]:
    rng = np.random.default_rng(2)
    log = pl.DataFrame({"item": rng.integers(0, 4, 800), "propensity": 0.25}).with_columns(
        reward=pl.Series((rng.random(800) < 0.3).astype(int))
    )
    policy = pl.DataFrame({"item": range(4), "probability": [0.4, 0.3, 0.2, 0.1]})
    return log, tv.ope(log, policy)


def test_ope_estimates_against_formulas(off_policy):
    log, found = off_policy
    chart = found.plot()
    value = dict(chart.data.select("estimator", "value").iter_rows())
    weight = np.array([0.4, 0.3, 0.2, 0.1])[log["item"]] / 0.25
    reward = log["reward"].to_numpy()
    assert value["naive"] == pytest.approx(reward.mean())
    assert value["ips"] == pytest.approx((weight * reward).mean())
    assert value["snips"] == pytest.approx((weight * reward).sum() / weight.sum())
    size = weight.sum() ** 2 / (weight**2).sum()
    svg = chart.to_svg()
    ET.fromstring(svg)
    assert f"effective sample size {size:,.0f} of 800 rows" in svg
    assert f"effective sample size is {size:,.0f} of 800 rows" in chart.description
    with pytest.raises(DefinitionError, match="no estimates for 'position 9'"):
        found.plot(scope="position 9")


def test_an_undefined_estimate_keeps_its_row(off_policy):
    nothing = {"value": math.nan, "low": math.nan, "high": math.nan}
    values = tuple(replace(v, **nothing) if v.estimator == "snips" else v for v in off_policy[1].values)
    svg = replace(off_policy[1], values=values).plot().to_svg()
    ET.fromstring(svg)
    assert ">snips</text>" in svg
    assert "undefined</text>" in svg


def test_agreement_against_scipy():
    rng = np.random.default_rng(8)
    test = pl.DataFrame({"user": range(60), "item": range(60)})
    pairs = {"user": np.repeat(np.arange(60), 3), "rank": [1, 2, 3] * 60}
    runs = {
        f"s{i}": pl.DataFrame(
            {**pairs, "item": np.where(rng.random(180) < chance, pairs["user"], 100 + np.arange(180))}
        ).unique(["user", "item"], keep="first", maintain_order=True)
        for i, chance in enumerate((0.1, 0.25, 0.3, 0.6))
    }
    metrics = ("hit@1", "hit@3", "ndcg@3")
    result = tv.evaluate_run(runs, test, metrics=list(metrics))
    chart = result.agreement().plot()
    value = {metric: [result[name, metric].value for name in runs] for metric in metrics}
    for row in chart.data.to_dicts():
        assert row["observed"] == pytest.approx(kendalltau(value[row["one"]], value[row["other"]]).statistic)
    assert len(chart.data) == 9
    ET.fromstring(chart.to_svg())
    top = result.agreement().plot(kind="top")
    assert top.title.startswith("Top-weighted")
    with pytest.raises(DefinitionError, match="no kind"):
        result.agreement().plot(kind="rho")


@pytest.fixture(scope="module")
def predictions() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    z = rng.normal(size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-z))
    return pl.DataFrame({"user": np.arange(2000) // 4, "item": range(2000), "p": 1 / (1 + np.exp(-2 * z)), "y": y * 1})


def test_reliability_against_polars(predictions):
    chart = tv.pointwise(predictions.drop("user"), metrics="ece", interval="none").plot(bins=5, by="width")
    cut = predictions.with_columns(bin=(pl.col("p") * 5).ceil()).group_by("bin").agg(
        pl.len(), pl.col("p", "y").mean()
    ).sort("bin")  # fmt: skip
    np.testing.assert_allclose(chart.data["predicted"], cut["p"])
    np.testing.assert_allclose(chart.data["observed"], cut["y"])
    assert chart.data["n"].to_list() == cut["len"].to_list()
    for row in chart.data.to_dicts():  # the roots of Wilson's quadratic
        z2 = 1.959964**2
        p, n = row["observed"], row["n"]
        middle, reach = p + z2 / (2 * n), np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)))
        assert row["observed_low"] == pytest.approx((middle - reach) / (1 + z2 / n), abs=1e-4)
    ece = float((cut["len"] / 2000 * (cut["p"] - cut["y"]).abs()).sum())
    assert f"calibration error {ece:.4f}" in chart.description
    ET.fromstring(chart.to_svg())


def test_calibration_before_and_after(predictions):
    found = tv.calibrate(predictions[1000:], validation=predictions[:1000], metrics="brier", interval="none")
    chart = found.plot()
    assert set(chart.data["side"]) == {"before", "after"}
    ET.fromstring(chart.to_svg(page=True))
    assert len(chart.to_svg(page=True)) < 40_000


def test_scores_have_a_diagram_only_after(predictions):
    scores = predictions.with_columns(p=pl.col("p") * 10 - 5)
    found = tv.calibrate(scores[1000:], validation=scores[:1000], metrics="auc", interval="none")
    assert set(found.plot().data["side"]) == {"after"}
    with pytest.raises(DefinitionError, match="needs probabilities"):
        tv.pointwise(scores, metrics="auc", interval="none").plot()


def test_texts_are_not_rounded():
    """Only places are: a name may look like a number, or like an attribute."""
    svg = '<svg><text x="1.23456"> d="1.23456" 0.123456</text></svg>'
    assert 'x="1.23"> d="1.23456" 0.123456</text>' in compact(svg)
