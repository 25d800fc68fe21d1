"""Popularity-stratified metrics: golden values, the oracle, and what the parameters do."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from oracles.naive_metrics import item_weights, stratified_recall, value

# golden section E
COUNTS = {"A": 100, "B": 25, "C": 4, "D": 64, "E": 1}
RELEVANT = {"u1": ["A", "B", "C"], "u2": ["A", "D", "E"]}
SHOWN = {"u1": ["A", "C"], "u2": ["A"]}


def run_and_logs() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Train ratings that, with the test ratings, give every item its count."""
    test = [(u, i) for u, items in RELEVANT.items() for i in items]
    in_test = {i: sum(item == i for _, item in test) for i in COUNTS}
    train = [(f"t{n}", i) for i, count in COUNTS.items() for n in range(count - in_test[i])]
    recs = [(u, i, r) for u, items in SHOWN.items() for r, i in enumerate(items, 1)]
    return (
        pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row"),
        pl.DataFrame(test, schema=["user", "item"], orient="row"),
        pl.DataFrame(train, schema=["user", "item"], orient="row"),
    )


@pytest.mark.parametrize(
    ("beta", "mean", "pooled"), [(0, 0.5, 0.5), (0.5, 0.415816, 0.345679), (1, 0.438208, 0.203678)]
)
def test_golden(beta, mean, pooled):
    recs, test, train = run_and_logs()
    asked = {average: f"recall@2[average={average},beta={beta}]" for average in ("mean", "pooled")}
    result = tv.evaluate_run(recs, test, train=train, metrics=list(asked.values()))
    assert result["run", asked["mean"]].value == pytest.approx(mean, abs=1e-6)
    assert result["run", asked["pooled"]].value == pytest.approx(pooled, abs=1e-6)


def test_gamma_is_another_word_for_beta_and_pooled_is_the_default():
    recs, test, train = run_and_logs()
    result = tv.evaluate_run(
        recs, test, train=train, metrics=[*tv.curve("recall@2", gamma=[1, 3]), "recall@2[beta=0.75]"]
    )
    assert result["run", "recall@2[gamma=1]"].value == pytest.approx(0.345679, abs=1e-6)
    assert result["run", "recall@2[gamma=3]"].value == result["run", "recall@2[beta=0.75]"].value
    with pytest.raises(tv.TruevalError, match="not both"):
        tv.evaluate_run(recs, test, train=train, metrics=["recall@2[gamma=1,beta=1]"])


def test_count_from():
    recs, test, train = run_and_logs()
    in_train = {"A": 98, "B": 24, "C": 3, "D": 63, "E": 0}
    for source, counts in [
        ("train", {i: n + 1 for i, n in in_train.items()}),
        ("test", {**dict.fromkeys(COUNTS, 1), "A": 2}),
    ]:
        metric = f"recall@2[beta=0.5,count_from={source}]"
        weights = item_weights(counts, beta=0.5)
        users = {u: (SHOWN[u], dict.fromkeys(items, 1.0)) for u, items in RELEVANT.items()}
        truth = stratified_recall(users, weights=weights, k=2, aggregate="pooled")
        assert tv.evaluate_run(recs, test, train=train, metrics=metric)["run", metric].value == pytest.approx(truth)
    with pytest.raises(tv.TruevalError, match="train log"):
        tv.evaluate_run(recs, test, metrics="recall@2[beta=0.5]")


@given(st.randoms(use_true_random=False), st.sampled_from([0.3, 1.0]))
def test_every_stratified_metric_against_the_oracle(random, beta):
    items = [f"x{i}" for i in range(8)]
    ranked = random.sample(items, 8)
    judged = {i: float(random.randint(0, 1)) for i in random.sample(items, 5)}
    judged[ranked[3]] = 1.0
    counts = {i: random.randint(1, 50) for i in items}
    weights = item_weights(counts, beta=beta)
    for name, k in (("recall", 3), ("precision", 3), ("atop", None), ("auc", None)):
        metric = f"{name}{f'@{k}' if k else ''}[beta={beta},count_from=test]"
        ours = tv.measure(metric, ranked, judged, complete=True, positives=counts)
        truth = value(name, ranked, judged, k=k, targets=8, weights=weights)
        assert ours == pytest.approx(truth, abs=1e-12, nan_ok=True)


def test_golden_atop():
    """Golden section K: ranks 1, 4, 10 of 10 with weights .1, .2, .5."""
    counts = {"a": 10, "d": 5, "j": 2}
    metric = "atop[beta=1,count_from=test]"
    assert tv.measure(metric, list("abcdefghij"), set(counts), complete=True, positives=counts) == pytest.approx(
        0.291667, abs=1e-6
    )


def test_whole_curve_from_one_ranking(monkeypatch):
    """A β-curve asks for many metrics of the same facts: the system is ranked once."""
    import trueval.evaluation.evaluate_systems as experiment

    calls = []
    original = experiment.rank_system
    monkeypatch.setattr(experiment, "rank_system", lambda *a, **k: calls.append(1) or original(*a, **k))
    rng = np.random.default_rng(0)
    log = pl.DataFrame({"user": rng.integers(0, 30, 900), "item": (rng.random(900) ** 2 * 40).astype(int)}).unique()
    parts = tv.split(log, "holdout", ratio=0.3)
    curve = tv.curve("recall@5", beta=[0, 0.25, 0.5, 0.75, 1])
    result = tv.evaluate(parts, ["popularity"], metrics=curve)
    assert len(calls) == 1
    values = [result["popularity", metric].value for metric in curve]
    assert values == sorted(values, reverse=True)  # popular hits count less and less
