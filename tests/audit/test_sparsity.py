"""Sparsity: sizes and densities by their definitions, removal and target sets against evaluations made anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom, kendalltau

import trueval as tv
from trueval.audit.fewer_ratings import _joined, removal_chances, value_of, without_rows
from trueval.audit.larger_targets import first_rank_chances, larger_targets
from trueval.audit.sparsity import sparsity
from trueval.errors import TruevalError
from trueval.facts.views import select
from trueval.metrics.grammar import parse
from trueval.metrics.measure import toy_facts
from trueval.simulation.demo_world import make_world
from trueval.splits.parts import Parts

SYSTEMS = ["popularity", "random", "average"]


@pytest.fixture(scope="module")
def parts() -> Parts:
    log = make_world(users=300, items=200, interactions=9000, seed=2).log
    return tv.split(log, "holdout", ratio=0.3, seed=1)


def evaluated(parts: Parts, design: str = "AR-TI-AN", **options) -> tv.Result:
    asked = {"metrics": ["precision@10"], "threshold": 4, "interval": "none", **options}
    return tv.evaluate(parts, SYSTEMS, design=design, **asked)


def test_numbers_by_their_definitions(parts):
    result = evaluated(parts, metrics=["precision@10", "unjudged@10"])
    found = sparsity(result.evaluation.facts, parts=parts, threshold=4, removed=[0], sizes=[20])
    test, train = parts.test.frame, parts.train.frame
    tested = set(test["item"])
    size, share = [], []
    for (user,), own in test.group_by("user"):
        relevant = own.filter(pl.col("value") >= 4)["item"]
        if len(relevant):
            size.append(len(tested - set(train.filter(pl.col("user") == user)["item"])))
            share.append(len(relevant) / size[-1])
    assert found.units == len(size)
    assert found.sigma == len(test) / (len(test) + len(train))
    assert found.t == pytest.approx(1 / np.mean(1 / np.array(size)))
    assert found.targets["mean"] == pytest.approx(np.mean(size))
    assert found.rho == pytest.approx(np.mean(share))
    assert found.chance_precision == pytest.approx(found.rho) == pytest.approx(result.random["precision@10"])
    both = pl.concat([test, train.select(test.columns)])
    liked, users = both.filter(pl.col("value") >= 4).height, both["user"].n_unique()
    assert found.delta == pytest.approx(liked / (found.t * users))
    for name in SYSTEMS:
        assert found.unjudged[name] == pytest.approx(result[name, "unjudged@10"].value)


@pytest.mark.parametrize(
    ("design", "population"),
    [("AR-TI-AN", "judged"), ("AR-AI-AN", "all"), ("AR-TI-AN-condensed", "relevant"), ("AR-TI-AN-head10", "relevant"),
     ("1R-TI-AN", "relevant"), ("P1R4-TI-NN5", "relevant"), ("AR-TI-NN20", "relevant")],
)  # fmt: skip
def test_all_ratings_have_the_values_of_the_evaluation(parts, design, population):
    result = evaluated(parts, design, population=population)
    found = sparsity(result.evaluation.facts, removed=[0, 0.5], sizes=[5], repeats=1, population=population)
    label = next(iter(result.evaluation.specs))
    for name, value, chance in found.fewer.filter(pl.col("removed") == 0).select("system", "value", "by_chance").rows():
        assert value == pytest.approx(result[name, label].value)
        assert chance == pytest.approx(result.random[label])


def test_one_relevant_item_at_a_time(parts):
    found = sparsity(evaluated(parts, "1R-TI-NN50").evaluation.facts, removed=[0, 0.5], sizes=[10])
    assert (found.design, found.unjudged) == ("1R", {})
    assert found.t == pytest.approx(51)
    assert found.rho == pytest.approx(1 / 51) == pytest.approx(found.chance_precision)
    assert (found.sigma, found.delta) == (None, None)


def test_removal_is_an_evaluation_of_fewer_test_ratings(parts):
    """Under AI, where candidates do not depend on the test part; among users whom the removal leaves something."""
    metrics = ["precision@10", "ndcg@10", "recall@5", "antiprecision@5"]
    whole = evaluated(parts, "AR-AI-AN", metrics=metrics)
    facts = whole.evaluation.facts["popularity"]
    kept = removal_chances(facts, seed=0) >= 0.4
    rows = pl.DataFrame(
        {"user": facts.users.decode(facts.unit_user[facts.unit[kept]]), "item": facts.items.decode(facts.item[kept])}
    )
    fewer = parts.test.keep(parts.test.frame.join(rows, on=["user", "item"], how="semi"))
    catalogue = sorted(set(parts.train.frame["item"]) | set(parts.test.frame["item"]))
    again = evaluated(replace(parts, test=fewer), "AR-AI-AN", metrics=metrics, items=catalogue)
    left = without_rows(facts, kept)
    left = select(left, left.R > 0)
    for label in metrics:
        value, _ = value_of(parse(label), left)
        assert value == pytest.approx(again["popularity", label].value), label


def test_precision_falls_with_what_is_removed_and_1r_does_not(parts):
    ar = sparsity(evaluated(parts).evaluation.facts, removed=[0, 0.5], repeats=40).fewer
    first, half = (ar.filter(pl.col("removed") == share) for share in (0, 0.5))
    error = half["spread"].to_numpy() / np.sqrt(40)
    assert (np.abs(half["value"].to_numpy() - first["value"].to_numpy() / 2) < 4 * error).all()
    np.testing.assert_allclose(half["by_chance"], first["by_chance"] / 2, rtol=0.02)
    assert first["units"].to_list() == half["units"].to_list()
    one = sparsity(evaluated(parts, "1R-TI-NN50").evaluation.facts, removed=[0, 0.5], repeats=40).fewer
    first, half = (one.filter(pl.col("removed") == share) for share in (0, 0.5))
    error = half["spread"].to_numpy() / np.sqrt(40)
    assert (np.abs(half["value"].to_numpy() - first["value"].to_numpy()) < 4 * error).all()


def test_more_removed_include_those_of_fewer(parts):
    facts = evaluated(parts).evaluation.facts
    chances = {name: removal_chances(facts[name], seed=3) for name in ("popularity", "random")}
    pairs = {
        name: {
            (u, i) for u, i, gone in zip(facts[name].unit_user[facts[name].unit], facts[name].item, own < 0.3) if gone
        }
        for name, own in chances.items()
    }
    assert pairs["popularity"] == pairs["random"]
    assert 0.25 < len(pairs["random"]) / len(chances["random"]) < 0.35
    assert not np.array_equal(removal_chances(facts["random"], seed=4), chances["random"])


def test_order_of_systems_while_ratings_are_removed(parts):
    found = sparsity(evaluated(parts).evaluation.facts, removed=[0, 0.9], repeats=1).fewer
    first, last = (found.filter(pl.col("removed") == share) for share in (0, 0.9))
    assert first["tau"].to_list() == [1, 1, 1]
    assert last["tau"][0] == pytest.approx(kendalltau(first["value"], last["value"]).statistic)


# ---- larger target sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [0, 1, 7, 30, 80])
def test_chances_are_hypergeometric(sample):
    above, pool = np.array([0, 3, 12, 30, 30]), np.array([30, 30, 30, 30, 60])
    found = first_rank_chances(above, pool, sample, 6)
    for row, (a, m) in enumerate(zip(above, pool)):
        want = hypergeom(m, a, min(sample, m)).pmf(np.arange(6))
        np.testing.assert_allclose(found[row], want, atol=1e-12)


def test_all_targets_give_the_values_of_the_design(parts):
    result = evaluated(parts, "1R-TI-AN", metrics=["precision@10", "rr@10", "ndcg@5"])
    found = larger_targets(result.evaluation.facts, ["precision@10", "rr@10", "ndcg@5"], [10_000])
    for row in found.to_dicts():
        assert row["value"] == pytest.approx(result[row["system"], row["metric"]].value)
        assert row["by_chance"] == pytest.approx(result.random[row["metric"]])


def test_sizes_are_expectations_over_samples(parts):
    """The mean over sampled designs of many seeds comes within four standard errors."""
    full = evaluated(parts, "AR-TI-AN")
    found = larger_targets(full.evaluation.facts, ["precision@10"], [31])
    sampled = [evaluated(parts, "1R-TI-NN30-resample", seed=seed) for seed in range(12)]
    for name in ("popularity", "average"):
        seen = [one[name, "precision@10|n=30"].value for one in sampled]
        row = found.filter((pl.col("system") == name) & (pl.col("targets") == 31))
        assert abs(row["value"][0] - np.mean(seen)) < 4 * np.std(seen, ddof=1) / np.sqrt(12)


# ---- what cannot be measured -------------------------------------------------------------------------------------


def test_lists_have_no_curve_by_size():
    found = sparsity({"mine": toy_facts(["a", "b", "c"], {"a"})}, removed=[0])
    assert found.larger is None
    assert (found.t, found.rho, found.chance_precision, found.targets) == (None, None, None, {})
    assert any("lists were given" in note for note in found.notes)
    assert "lists were given" in str(found)


def test_other_metrics_have_no_curve_by_size():
    found = sparsity({"mine": toy_facts(["a", "b"], {"a"}, complete=True)}, metrics="f1@2", removed=[0])
    assert found.larger is None
    assert found.table()["changed"].unique().to_list() == ["removed"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"removed": [1.0]}, "shares to remove"),
        ({"metrics": "novelty@5"}, "cannot be measured from rankings alone"),
        ({"k": 0}, "must be"),
        ({"repeats": 0}, "at least 1"),
        ({"population": "some"}, "unknown population"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(TruevalError, match=message):
        sparsity({"mine": toy_facts(["a", "b"], {"a"}, complete=True)}, **options)


def test_nothing_is_refused():
    with pytest.raises(TruevalError, match="no rankings"):
        sparsity({})


def test_records_as_data(parts):
    found = sparsity(evaluated(parts).evaluation.facts, parts=parts, threshold=4, removed=[0, 0.5], sizes=[20, 50])
    said = found.to_dict()
    assert len(said["fewer"]) == 6
    assert {row["targets"] for row in said["larger"]} >= {20, 50}
    assert found.to_polars().columns == ["changed", "at", "metric", "system", "value", "by_chance", "units"]
    for word in ("σ = 30", "δ =", "ρ =", "unjudged@10", "test ratings removed", "size of target sets"):
        assert word in str(found)


@pytest.mark.data
def test_movielens_follows_the_published_curves(data_folder: Callable[[str], Path]):
    """Figure 4: AR precision falls in proportion to what is removed, 1R is flat, and falls with the targets."""
    parts = tv.split(tv.read(data_folder("ml-1m")), "holdout", ratio=0.2, seed=1)
    options = {"metrics": ["precision@10"], "threshold": 5, "interval": "none"}
    ar = tv.evaluate(parts, ["popularity", "random"], design="AR-TI-AN", **options)
    found = sparsity(ar.evaluation.facts, parts=parts, threshold=5, removed=[0, 0.5], repeats=1)
    first, half = (found.fewer.filter(pl.col("removed") == share)["value"].to_numpy() for share in (0, 0.5))
    np.testing.assert_allclose(half, first / 2, rtol=0.1)
    # the published relation ρ ~ σδ is one of means over all users; here those without a relevant item are left out
    users = len(set(parts.train.frame["user"]) | set(parts.test.frame["user"]))
    assert found.rho * found.units / users == pytest.approx(found.sigma * found.delta, rel=0.06)
    one = tv.evaluate(parts, ["popularity"], design="1R-TI-NN100", **options)
    sized = found.larger.filter(pl.col("system") == "popularity")
    at = dict(sized.select("targets", "value").iter_rows())
    assert at[100] == pytest.approx(one["popularity", "precision@10|n=100"].value, rel=0.02)
    assert at[100] > at[200] > at[400] > at[1000]
    chance = dict(sized.select("targets", "by_chance").iter_rows())
    assert chance[100] == pytest.approx(0.01)


def test_one_removal_alone_has_no_spread_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _joined([(0.5, 0.1, 3)])
    assert np.isnan(found.pop("spread"))
    assert found == {"value": 0.5, "by_chance": 0.1, "units": 3}
    assert _joined([(0.5, 0.1, 3), (0.7, 0.1, 3)])["spread"] == pytest.approx(0.1 * np.sqrt(2))
