"""Agreement of rankings: against scipy, by hand, and with intervals that know what rankings share."""

from __future__ import annotations

import json

import numpy as np
import pytest
from comparison_worlds import world
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import trueval as tv
from trueval.api import Result
from trueval.comparison.tau import taus
from trueval.errors import DataError, DefinitionError

RNG = np.random.default_rng(31)
SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=9)


@given(SCORES)
def test_tau_b_is_scipys_with_ties(pairs):
    a, b = np.array(pairs, float).T
    expected = stats.kendalltau(a, b).statistic
    assert taus(a[None], b[None])[0][0] == pytest.approx(expected, nan_ok=True, abs=1e-12)


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_top_weighted_tau_is_scipys_without_ties(a, b):
    a, b = np.array(a, float), np.array(b, float)
    assert taus(a[None], b[None])[1][0] == pytest.approx(stats.weightedtau(a, b).statistic, abs=1e-12)


@given(SCORES)
def test_top_weighted_tau_by_its_definition(pairs):
    """Pairs counted 1/r + 1/r', by the ranks in the one ranking and in the other; ties share their mean rank."""
    a, b = np.array(pairs, float).T
    n = len(a)
    halves = []
    for by in (a, b):
        rank = stats.rankdata(-by)
        above = left = right = 0.0
        for i in range(n):
            for j in range(i):
                w = 1 / rank[i] + 1 / rank[j]
                x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
                above, left, right = above + w * x * y, left + w * x * x, right + w * y * y
        halves.append(above / np.sqrt(left * right) if left * right else np.nan)
    assert taus(a[None], b[None])[1][0] == pytest.approx(np.mean(halves), nan_ok=True, abs=1e-12)


def systems(users=80, noise=0.3):
    """Five systems that get better by the same step; the second metric sees it with much noise."""
    return {
        f"s{j}": {
            "ndcg@10": 0.1 * j + RNG.normal(0, 0.05, users),
            "recall@10": 0.1 * j + RNG.normal(0, noise, users),
            "anti(precision)@10": 1 - 0.1 * j + RNG.normal(0, 0.05, users),
        }
        for j in range(5)
    }


def test_metrics_of_one_result():
    result = Result(world(systems()))
    found = result.agreement(seed=1)
    assert found.labels == ["ndcg@10", "recall@10", "anti(precision)@10"]
    means = {m: [np.mean(result.evaluation.systems[f"s{j}"].values[m]) for j in range(5)] for m in found.labels}
    expected = stats.kendalltau(means["ndcg@10"], means["recall@10"]).statistic
    assert found.tau.observed[0, 1] == pytest.approx(expected)
    assert found["ndcg@10", "anti(precision)@10"] == 1  # lower is better there
    i, j = 0, 1
    assert found.tau.low[i, j] <= found.tau.value[i, j] <= found.tau.high[i, j]
    assert found.tau.low[0, 2] == 1  # nothing can turn these round
    assert np.array_equal(found.tau.value, found.tau.value.T)
    assert np.diag(found.tau.value).tolist() == [1, 1, 1]


def test_same_seed_same_bits_whatever_the_order():
    """Not on the order of users, of systems or of metrics, and not on which other metrics there are."""
    values = systems(noise=0.6)
    first = Result(world(values)).agreement(seed=5)
    order = RNG.permutation(80)
    turned = {
        name: {metric: values[name][metric][order] for metric in ("recall@10", "ndcg@10")} for name in reversed(values)
    }
    other = Result(world(turned, users=order.tolist())).agreement(seed=5)
    for kind in ("tau", "top"):
        one, two = getattr(first, kind), getattr(other, kind)
        for part in ("value", "low", "high"):
            assert getattr(one, part)[0, 1] == getattr(two, part)[0, 1]
    assert first.tau.value[0, 1] != Result(world(values)).agreement(seed=6).tau.value[0, 1]


def test_designs_and_the_truth():
    one = Result(world(systems(), design="AR-TI-AN"))
    other = Result(world(systems(), design="1R-TI-AN"))
    found = tv.agreement([one, other], metrics="ndcg@10", true={f"s{j}": j for j in range(5)})
    assert found.labels == ["AR-TI-AN: ndcg@10", "1R-TI-AN: ndcg@10", "true"]
    assert found["AR-TI-AN: ndcg@10", "true"] == 1
    assert np.isnan(found.tau.low[2, 2])
    assert found.tau.low[0, 2] == 1
    named = tv.agreement({"observed": one, "unbiased": other}, metrics=["ndcg@10"])
    assert named.labels == ["observed: ndcg@10", "unbiased: ndcg@10"]


def test_repeats_are_ranked_by_their_means():
    """Three seeds of one result: the systems are ranked by means over seeds."""
    seeds = [systems(noise=0.2) for _ in range(3)]
    result = Result(world(seeds[0]), repeats={f"seed {n}": world(values, seed=n) for n, values in enumerate(seeds)})
    found = result.agreement(true={f"s{j}": j for j in range(5)})
    means = [np.mean([values[f"s{j}"]["recall@10"].mean() for values in seeds]) for j in range(5)]
    assert found.labels == ["ndcg@10", "recall@10", "anti(precision)@10", "true"]
    assert found.tau.observed[1, 3] == pytest.approx(stats.kendalltau(means, range(5)).statistic)
    assert found.tau.low[1, 3] <= found["recall@10", "true"] <= found.tau.high[1, 3]


def test_the_truth_turned_round():
    found = Result(world(systems())).agreement(metrics="ndcg@10", true={f"s{j}": -j for j in range(5)})
    assert found["ndcg@10", "true"] == -1
    assert found.top.value[0, 1] == pytest.approx(-1)


def test_one_user_has_no_interval():
    values = {f"s{j}": {"ndcg@10": [0.1 * j], "recall@10": [0.2 * j]} for j in range(3)}
    found = Result(world(values)).agreement()
    assert found["ndcg@10", "recall@10"] == 1
    assert np.isnan(found.tau.low[0, 1])
    assert "sampling error is unknown: ndcg@10, recall@10" in str(found)


def test_systems_that_no_user_tells_apart_are_tied():
    values = systems()
    values["s5"] = values["s3"]
    found = Result(world(values)).agreement(metrics="ndcg@10", true=dict.fromkeys(values, 0) | {"s5": 5, "s4": 4})
    a, b = np.array([0, 1, 2, 3, 4, 3]), np.array([0, 0, 0, 0, 4, 5])
    assert found["ndcg@10", "true"] == pytest.approx(stats.kendalltau(a, b).statistic)
    assert found.tau.low[0, 1] == found.tau.high[0, 1] == pytest.approx(found["ndcg@10", "true"])


def test_systems_too_close_to_tell_are_said_to_be():
    values = {f"s{j}": {m: RNG.normal(0, 1, 40) for m in ("ndcg@10", "recall@10")} for j in range(4)}
    found = Result(world(values)).agreement()
    assert found.tau.high[0, 1] - found.tau.low[0, 1] > 1.5
    assert "unclear [" in str(found)
    assert "too close for so few users" in found.to_markdown()


def test_what_is_refused():
    two = Result(world({n: {"ndcg@10": [0.1, 0.2], "recall@10": [0.1, 0.3]} for n in "ab"}))
    with pytest.raises(DataError, match="three systems"):
        two.agreement()
    result = Result(world(systems()))
    with pytest.raises(DataError, match="two rankings"):
        result.agreement(metrics="ndcg@10")
    with pytest.raises(DataError, match="three systems"):
        result.agreement(true={"s1": 1.0, "x": 2.0})
    with pytest.raises(DefinitionError, match="did you mean"):
        result.agreement()["ndgc@10", "recall@10"]


def test_tables():
    found = Result(world(systems())).agreement()
    text = str(found)
    assert "τ-b below the diagonal" in text
    assert "80 users" in text
    assert all(label in text for label in found.labels)
    record = json.loads(found.to_json())
    assert len(record["agreement"]) == 3
    numbers = {f"{kind}{end}" for kind in ("tau", "top") for end in ("", "_low", "_high", "_observed")}
    assert {"one", "other", *numbers} == set(record["agreement"][0])
    assert found.to_markdown().startswith("|  | ndcg@10 |")
    assert found.to_latex().count(r"\\") == 1 + 3 + 3
    assert found.table().height == 3


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_no_number_is_cut_off(width):
    import io

    out = io.StringIO()
    found = Result(world(systems())).agreement()
    found.print(out, width=width)
    assert "…" not in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= width
