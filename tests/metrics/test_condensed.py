"""Condensed rankings: what is divided by, who is undefined, and cutoffs that cut nothing off."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueval as tv
from trueval.metrics.measure import measure
from trueval.metrics.registry import all_metrics

FAMILIES = ("accuracy", "false_positives", "incomplete")


def run_and_test(seed: int, *, users: int = 40, items: int = 30, shown: int = 6) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Short lists, few judgements: some users see nothing that was judged."""
    rng = np.random.default_rng(seed)
    order = np.argsort(rng.random((users, items)), axis=1)[:, :shown]
    run = pl.DataFrame({
        "user": np.repeat(np.arange(users), shown), "item": order.ravel(), "score": rng.integers(0, 4, users * shown),
    })  # fmt: skip
    pairs = [(u, i, float(rng.integers(0, 2))) for u in range(users) for i in rng.permutation(items)[: 1 + u % 9]]
    pairs = [(u, int(i), v) for u, i, v in pairs]
    return run, pl.DataFrame(pairs, schema=["user", "item", "value"], orient="row")


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4]), st.sampled_from(["random", "expected", "worst", "best"]))
def test_antiprecision_is_what_precision_leaves_for_the_same_users(seed, k, ties):
    run, test = run_and_test(seed)
    names = [f"precision@{k}", f"antiprecision@{k}", f"anti(precision)@{k}", f"recall@{k}", f"f1@{k}"]
    result = tv.evaluate_run(
        run, test, condensed=True, population="judged", metrics=names, ties=ties, interval="none"
    )  # fmt: skip
    values = {name: result.per_user[name].to_numpy() for name in names}
    p, anti, turned, recall, f1 = values.values()
    assert np.allclose(anti, 1 - p, rtol=0, atol=1e-12, equal_nan=True)
    if ties in ("random", "expected"):
        assert np.array_equal(anti, turned, equal_nan=True)
    judged = set(test.select("user", "item").iter_rows())
    seen = {u for u, i in run.select("user", "item").iter_rows() if (u, i) in judged}
    nothing = ~np.isin(result.per_user["user"].to_numpy(), list(seen))
    assert 0 < nothing.sum() < len(p)
    assert (np.isnan(p) == nothing).all()
    for name in names[:3]:
        estimate = result["run", name]
        assert (estimate.undefined, estimate.n) == (nothing.sum(), (~nothing).sum())
    both = (p + recall) > 0
    assert np.allclose(f1[both], 2 * (p * recall)[both] / (p + recall)[both])  # also expected ones: linear in the hits
    assert (np.isnan(f1) == nothing | np.isnan(recall)).all()


def test_the_definition_says_what_is_divided_by():
    run, test = run_and_test(0)
    names = ["precision@3", "antiprecision@3", "f1@3", "fbeta@3[beta=2]", "anti(precision)@3", "recall@3"]
    how = {"metrics": names, "population": "judged", "interval": "none"}
    plain, condensed = (tv.evaluate_run(run, test, condensed=on, **how) for on in (False, True))
    for name in names[:5]:
        assert "TP + FP" not in plain.manifest["definitions"][name]
        assert "TP + FP" in condensed.manifest["definitions"][name]
        assert "/ k" not in condensed.manifest["definitions"][name]
        assert "denom" not in condensed.manifest["definitions"][name]
    assert plain.manifest["definitions"]["recall@3"] == condensed.manifest["definitions"]["recall@3"]
    assert "precision@3 = |top(k) ∩ Rel| / (TP + FP)" in str(condensed)
    lenskit = tv.evaluate_run(run, test, condensed=True, compat="lenskit", **how | {"metrics": "precision@3"})
    assert "denom" not in lenskit.manifest["definitions"]["precision@3"]
    other = tv.evaluate_run(run, test, condensed=True, **how | {"metrics": "precision@3[denom=achievable]"})
    assert other.manifest["definitions"]["precision@3[denom=achievable]"].endswith("denom=achievable")


def test_who_is_undefined_is_said():
    run, test = run_and_test(3)
    result = tv.evaluate_run(
        {"one": run, "two": run.filter(pl.col("user") > 5)}, test, condensed=True, population="judged",
        metrics=["precision@2", "ndcg@2"], interval="none",
    )  # fmt: skip
    for name in ("one", "two"):
        lost = result[name, "precision@2"].undefined
        assert any(
            note.startswith(f"{name}: {lost} of 40 users have no judged item") and "precision@2" in note
            for note in result.warnings
        )
        assert not any("no judged item" in note and "ndcg@2" in note for note in result.warnings)
        assert f"{lost} ({name})" in str(result)
    assert not any("no list is longer than" in note and "precision@2" in note for note in result.warnings)


def test_definitions_of_several_designs_are_told_apart():
    log = pl.DataFrame([(u, i, float(i % 3)) for u in range(12) for i in range(u % 3, 12, 2)], orient="row")
    log.columns = ["user", "item", "value"]
    evaluation = {"designs": ["AR-TI-AN", "AR-TI-AN-condensed"], "metrics": ["precision@3", "ndcg@3"]}
    found = tv.run({"data": {"path": log}, "systems": {"popularity": {}}, "evaluation": evaluation})
    text = " ".join(str(found).split())
    assert "precision@3 (AR-TI-AN) = |top(k) ∩ Rel| / k" in text
    assert "precision@3 (AR-TI-AN-condensed) = |top(k) ∩ Rel| / (TP + FP)" in text
    assert text.count("ndcg@3 = ") == 1


# ---- cutoffs that cut nothing off ------------------------------------------------------------------------


def few_judged(*, many: int, few: int, k: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Users with more than k judged items, and users with at most k; two complete rankings that differ."""
    sizes = [k + 2] * many + [k] * (few - 1) + [k - 1]
    test = pl.DataFrame(
        [(u, i, float((u + i) % 2)) for u, size in enumerate(sizes) for i in range(size)],
        schema=["user", "item", "value"], orient="row",
    )  # fmt: skip
    users, items = len(sizes), k + 4
    rows = {"user": np.repeat(np.arange(users), items), "item": np.tile(np.arange(items), users)}
    one = pl.DataFrame({**rows, "score": np.random.default_rng(0).random(users * items)})
    return one, one.with_columns(-pl.col("score")), test


def test_a_cutoff_that_cuts_nothing_is_said_and_is_a_constant():
    one, two, test = few_judged(many=2, few=8, k=3)
    names = ["precision@3", "antiprecision@3", "recall@3", "fallout@3", "hit@3", "f1@3", "ndcg@3", "recall@1"]
    result = tv.evaluate_run(
        {"one": one, "two": two}, test, condensed=True, population="judged", metrics=names, interval="none"
    )
    note = next(note for note in result.warnings if "at most 3 judged items" in note)
    assert note.startswith("8 of 10 users")
    assert [name for name in names if name in note] == names[:6]
    assert not any("at most 1 judged" in w for w in result.warnings)
    values = result.per_user.filter(pl.col("user") >= 2)
    per_system = [values.filter(pl.col("system") == s).sort("user").drop("system") for s in ("one", "two")]
    assert per_system[0].select(names[:6]).equals(per_system[1].select(names[:6]))
    assert not per_system[0].equals(per_system[1])  # what looks at ranks still tells them apart
    few = few_judged(many=8, few=2, k=3)
    quiet = tv.evaluate_run(few[0], few[2], condensed=True, population="judged", metrics=names, interval="none")
    assert not any("at most" in note for note in quiet.warnings)


def test_samples_smaller_than_the_cutoff_are_said():
    pairs = [(u, (u * 7 + j * j) % 40) for u in range(30) for j in range(8)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row").unique(maintain_order=True)
    parts = tv.split(log, "holdout", ratio=0.4)
    how = {"metrics": ["recall@10", "ndcg@10"], "interval": "none"}
    result = tv.evaluate(parts, ["random"], design="1R-TI-NN5", **how)
    assert result["random", "recall@10|n=5"].value == 1
    note = next(note for note in result.warnings if "at most 10 target items" in note)
    assert "target sets" in note
    assert "recall@10|n=5" in note
    assert "ndcg" not in note
    assert not any("at most" in w for w in tv.evaluate(parts, ["random"], design="1R-TI-NN20", **how).warnings)


@pytest.mark.parametrize(
    "metric", [m for m in all_metrics() if m.family in FAMILIES and m.cutoff != "none"], ids=lambda m: m.name
)
def test_metrics_that_look_at_the_set_alone_are_those_that_say_so(metric):
    judged = {"a": 3.0, "b": 0.0, "c": 1.0, "d": 0.0, "z": 2.0}
    orders = [[*first, "z", "y"] for first in itertools.permutations("abcx")]
    values = {round(measure(f"{metric.name}@4", order, judged), 12) for order in orders}
    assert (len(values) == 1) == metric.by_set


@pytest.mark.parametrize("metric", ["ips(precision)@3", "snips(precision)@3", "precision@3[beta=0.5,count_from=test]"])
def test_weights_do_not_go_with_a_condensed_precision(metric):
    run, test = run_and_test(1)
    how = {"condensed": True, "population": "all", "propensity": "column:p", "metrics": metric}
    with pytest.raises(tv.TruevalError, match="on condensed rankings"):
        tv.evaluate_run(run, test.with_columns(p=0.5), **how)


def test_the_record_counts_the_undefined(trueval, tmp_path):
    run, test = run_and_test(2)
    run.write_csv(tmp_path / "run.csv")
    test.write_csv(tmp_path / "test.csv")
    words = ["evaluate", tmp_path / "run.csv", "--test", tmp_path / "test.csv", "--condensed", "--population", "judged"]
    said = trueval(*words, "--metrics", "precision@3,antiprecision@3", "--format", "json")
    record = json.loads(said.out)
    both = [record["systems"]["run"]["metrics"][name] for name in ("precision@3", "antiprecision@3")]
    assert both[0]["undefined"] == both[1]["undefined"] > 0
    assert both[0]["value"] + both[1]["value"] == pytest.approx(1)
    assert any("no judged item" in note for note in record["warnings"])
    shown = test.join(run, on=["user", "item"], how="semi")
    assert any(f"the lists contain {len(shown)} of {len(test)} judged items" in note for note in record["warnings"])
