"""Charts of pairs of items, popularity and sparsity: the numbers of the records, well-formed, names as text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import trueval as tv
from trueval.audit.audit import Audit
from trueval.audit.item_pairs import item_pairs
from trueval.audit.popularity_curve import popularity_curve
from trueval.audit.sparsity import sparsity
from trueval.charts.short_names import LONGEST
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.metrics.measure import toy_facts
from trueval.splits.parts import Parts


@pytest.fixture(scope="module")
def log() -> Interactions:
    rng = np.random.default_rng(1)
    items = np.minimum(rng.zipf(1.4, 4000) - 1, 79)
    frame = pl.DataFrame({"user": rng.integers(0, 200, 4000), "item": items}).unique(maintain_order=True)
    return Interactions.of(frame.with_columns(value=pl.Series(rng.integers(1, 6, len(frame)).astype(float))))


@pytest.fixture(scope="module")
def parts(log) -> Parts:
    return tv.split(log, "holdout", ratio=0.3, seed=1)


def check_drawn(chart) -> str:
    svg = chart.to_svg(page=True)
    ET.fromstring(svg)
    assert len(svg) < 60_000
    return svg


@pytest.mark.parametrize("options", [{}, {"exact": False, "pairs": 500}])
def test_item_pairs(log, options):
    found = item_pairs(log, threshold=4, **options)
    chart = found.plot()
    assert chart.data["share"].to_list() == found.table()["share"].to_list()
    assert chart.data["optimal_rankings"].to_list() == ["disagree", "agree"] * 2
    svg = check_drawn(chart)
    for name, share in chart.data.select("the_more_popular_item_is", "share").iter_rows():
        assert len(name) <= LONGEST
        assert f">{name}</text>" in svg
        assert f"{100 * share:.1f} %" in svg
    assert ("intervals for the draw" in chart.description) == bool(options)


def test_popularity_curve(parts):
    found = popularity_curve(parts, threshold=4, segments=20)
    chart = found.plot()
    for name, side in found.sides.items():
        own = chart.data.filter(pl.col("of") == name)
        curve = own.filter(pl.col("by") == "share of items")
        expected = np.interp(curve["at"], np.linspace(0, 1, len(side.counts) + 1), side.lorenz())
        np.testing.assert_allclose(curve["share"], expected)
        first = own.filter(pl.col("by") == "popularity rank")["share"][0]
        assert first == pytest.approx(side.counts[0] / side.counts.sum())
        fitted = own.filter(pl.col("by") == "fitted curve")
        assert side.law is not None
        np.testing.assert_allclose(fitted["share"], side.law(fitted["at"].to_numpy()) / side.counts.sum())
    assert found.liked is not None
    liked = chart.data.filter(pl.col("by") == "liked ratio")
    assert liked["share"].to_list() == found.liked["ratio"].to_list()
    check_drawn(chart)


def test_popularity_without_likes_says_so(log):
    chart = popularity_curve(Interactions.of(log.frame.select("user", "item"))).plot()
    assert "there is no liked ratio" in chart.description
    assert "liked ratio" not in chart.data["by"]
    check_drawn(chart)


def test_sparsity(parts):
    systems = {"<b>": "popularity", "random": "random"}
    result = tv.evaluate(parts, systems, metrics=["precision@5"], threshold=4, interval="none")
    found = sparsity(result.evaluation.facts, metrics="precision@5,recall@5", removed=[0, 0.5], sizes=[10, 20])
    chart = found.plot(metric="recall@5")
    own = found.table().filter(pl.col("metric") == "recall@5")
    assert chart.data["value"].to_list() == own["value"].to_list()
    svg = check_drawn(chart)
    assert "<b>" not in svg
    assert "size of target sets" in svg
    assert found.plot().title == "precision@5 with fewer test ratings and larger target sets"
    with pytest.raises(DefinitionError, match="was not followed"):
        found.plot(metric="ndcg@5")


@pytest.fixture(scope="module")
def audited(parts) -> Audit:
    return tv.audit(parts, ["popularity", "average", "itemknn", "random"], metrics="precision@5", threshold=4)


def test_settings_of_an_audit(audited):
    found = audited.robustness
    chart = found.plot()
    value = dict(zip(found.settings, found.scores))
    assert chart.data["one"][0] == "AR-TI-AN precision@5"
    for one, other, tau in chart.data.rows():
        assert "AR-TI-AN " in one or "precision@5" in one
        expected = kendalltau(value[one], value[other]).statistic
        assert tau == pytest.approx(expected, nan_ok=True) if tau is not None else np.isnan(expected)
    check_drawn(chart)


def test_discriminative_power_of_an_audit(audited):
    found = audited.robustness
    chart = found.plot("discriminative_power")
    own = chart.data.filter(pl.col("metric") == "precision@5")
    assert own["pair"].to_list() == [1, 2, 3, 4, 5, 6]  # four systems
    assert own["p"].to_list() == sorted(found.p["AR-TI-AN precision@5"].values())
    share = sum(p < 0.05 for p in own["p"]) / 6
    assert found.by_setting().filter(design="AR-TI-AN", metric="precision@5")["power"].item() == pytest.approx(share)
    check_drawn(chart)
    check_drawn(found.plot("fewer_judgements"))


def test_two_systems_have_no_order_to_draw(parts):
    found = tv.audit(parts, ["popularity", "average"], metrics="precision@5", threshold=4)
    with pytest.raises(DefinitionError, match="three systems or more"):
        found.robustness.plot()
    assert "Orders by setting" in found.to_html()


def test_sparsity_of_an_audit(audited, parts):
    """σ, the mean share of relevant items in the target sets, and precision of a random ranking, which is the same."""
    found = audited.to_dict()["measured"]["sparsity"]
    assert found["sigma"] == pytest.approx(len(parts.test) / (len(parts.test) + len(parts.train)))
    tested = set(parts.test.frame["item"])
    seen = parts.train.frame.group_by("user").agg("item")
    targets = {user: len(tested - set(items)) for user, items in seen.iter_rows()}
    liked = parts.test.frame.filter(pl.col("value") >= 4).group_by("user").len()
    shares = [many / targets.get(user, len(tested)) for user, many in liked.iter_rows()]
    assert found["rho"] == pytest.approx(np.mean(shares))
    assert found["chance_precision"] == pytest.approx(np.mean(shares))


def test_sparsity_of_lists_says_what_is_missing():
    found = sparsity({"mine": toy_facts(["a", "b", "c"], {"a", "c"})}, metrics="precision@2")
    chart = found.plot()
    assert chart.title == "precision@2 with fewer test ratings"
    assert "need the rank of every relevant item (lists of the first 3 items)" in chart.description
    assert "by chance." not in chart.description.split("known")[-1]
    check_drawn(chart)
