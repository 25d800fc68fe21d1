"""No page contradicts itself: what sentences say is data (`render.statements`), and so can be compared."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.comparison.comparison import statements_of
from trueval.comparison.design_agreement import Alike
from trueval.experiments.render import agreement_sentences
from trueval.render.statements import Statement, contradictions, repetitions
from trueval.report.findings import find_sentences

METRICS = [
    "ndcg@5", "hit@3", "precision@5", "rr", "bpref", "anti(precision)@5", "coverage@5", "novelty@5", "list_length@5",
    "unjudged@5",
]  # fmt: skip
TESTS = ["t", "wilcoxon", "permutation", "bootstrap"]
DEEP = 6
TRAIN = pl.DataFrame({"user": [99, 99], "item": [0, 1]})


def lists_of(order: np.ndarray) -> pl.DataFrame:
    """Lists of the first items in an order (a row for each user)."""
    users = len(order)
    ranks = np.tile(np.arange(1, DEEP + 1), users)
    return pl.DataFrame({"user": np.repeat(np.arange(users), DEEP), "item": order[:, :DEEP].ravel(), "rank": ranks})


def random_world(rng):
    """Ratings of a few users, up to four systems of any quality, and a choice of metrics."""
    users, items = int(rng.integers(4, 80)), int(rng.integers(20, 40))
    taste = rng.normal(size=(users, items)) + rng.normal(size=items)
    user, item = np.nonzero(rng.random((users, items)) < rng.uniform(0.2, 0.6))
    rows = pl.DataFrame({"user": user, "item": item, "value": np.clip(np.rint(3 + taste[user, item]), 1, 5)})
    in_test = rng.random(len(rows)) < 0.6
    quality = rng.uniform(-0.2, 1, int(rng.integers(1, 4)))
    scores = {f"s{place}": taste * q + rng.normal(size=taste.shape) for place, q in enumerate(quality)}
    if rng.random() < 0.5:
        scores["popularity"] = np.tile(np.bincount(item, minlength=items), (users, 1))
    seen = np.zeros(taste.shape, bool)
    seen[user[~in_test], item[~in_test]] = True
    unseen = {name: np.where(seen, -np.inf, own) for name, own in scores.items()}
    systems = {name: lists_of(np.argsort(-own, axis=1, kind="stable")) for name, own in unseen.items()}
    metrics = [str(rng.choice(METRICS[:6])), *rng.choice(METRICS, int(rng.integers(0, 3)), replace=False).tolist()]
    catalogue = list(range(items)) if rng.random() < 0.8 else None
    known = {
        "train": rows.filter(~in_test),
        "items": catalogue,
        "threshold": 4,
        "metrics": list(dict.fromkeys(metrics)),
    }
    return systems, rows.filter(in_test), known


def pages(rng):
    """What stands on the page of an evaluation with its audit, and on those of comparisons by every test."""
    systems, test, known = random_world(rng)
    result = tv.evaluate_run(systems, test, **known)
    comparisons = list(result.compare()) if len(systems) > 1 and any_tested(result) else []
    sentences = find_sentences(result.evaluation, comparisons)
    audits = [tv.audit(recs=systems, test=test, **known), result.audit()]
    for audit in audits:
        yield (
            [said for one in sentences for said in one.statements]
            + statements_of(comparisons)
            + [said for finding in audit.findings for said in finding.statements],
            [one.text for one in sentences] + [one.sentence for one in audit.findings] + list(result.warnings),
        )
    for other in TESTS if comparisons else []:
        side = str(rng.choice(["two-sided", "better", "worse"]))
        found = result.compare(test=other, alternative=side, correct="none")
        yield statements_of(list(found)), found.sentences


def any_tested(result) -> bool:
    return any(not spec.metric.system for spec in result.evaluation.specs.values())


@pytest.mark.parametrize("seed", range(12))
def test_no_page_contradicts_itself(seed):
    rng = np.random.default_rng([18, seed])
    for _ in range(2):
        for statements, texts in pages(rng):
            assert contradictions(statements) == []
            assert repetitions(texts) == []


@pytest.mark.slow
def test_no_page_of_many_contradicts_itself():
    rng = np.random.default_rng(7)
    found = [pair for _ in range(400) for statements, _ in pages(rng) for pair in contradictions(statements)]
    assert found == []


def test_what_is_said_of_orders_is_within_the_interval_of_tau():
    """As printed: an order is not called the same, or another one, where the interval leaves it open."""
    rng, seen = np.random.default_rng(5), set()
    for _ in range(300):
        several = []
        for other in ("b", "c", "d")[: rng.integers(1, 4)]:
            low, tau, high = np.sort(np.clip(rng.normal(0.8, 0.4, 3).round(4), -1, 1))
            if rng.random() < 0.2:
                low = high = np.nan
            several.append(Alike("m", "a", other, tau, low, high, 4, 0.95, float(rng.choice([0.33, 0.67, 1.0]))))
        (text,) = agreement_sentences(several)
        ends = re.findall(r"\[(\S+), (\S+)\]", text.replace("−", "-"))
        low, high = map(float, ends[0]) if ends else (np.nan, np.nan)
        kind = re.search(r"may be the same|may differ|rank the systems (differently|in the same order)", text)[0]
        seen.add(kind)
        if kind == "rank the systems differently":
            assert not high >= 1
        elif kind == "rank the systems in the same order":
            assert all(one.observed == 1 for one in several)
            assert all(np.isnan(one.low) or one.low > 0.99 for one in several)
        else:
            assert high == 1 if kind == "may be the same" else low < 1
        certain = [one for one in several if one.observed < 1 and not one.high > 0.995]
        assert (kind == "rank the systems differently") == bool(certain)
    assert len(seen) == 4


@pytest.mark.parametrize("audited", ["lists", "values"])
@pytest.mark.parametrize("names", [("oracle", "random"), ("random",)])
def test_a_random_system_is_not_said_to_be_better_than_chance(names, audited):
    rng = np.random.default_rng(0)
    test = pl.DataFrame({"user": np.arange(300), "item": rng.integers(0, 30, 300)})
    orders = {"random": rng.permuted(np.tile(np.arange(30), (300, 1)), axis=1)}
    orders["oracle"] = np.column_stack([test["item"], (test["item"].to_numpy()[:, None] + np.arange(1, 30)) % 30])
    runs, items = {name: lists_of(orders[name]) for name in names}, list(range(30))
    known = {"metrics": ["ndcg@5"], "items": items}
    audit = (
        tv.audit(recs=runs, test=test, **known) if audited == "lists" else tv.evaluate_run(runs, test, **known).audit()
    )
    (finding,) = (one for one in audit.findings if one.check == "random_baseline")
    said = "all systems but random are better" if len(names) > 1 else "there is no system to compare with it"
    assert said in finding.sentence


@pytest.mark.parametrize(("interval", "said"), [
    ("t", "and all systems are better"), ("none", "s is not shown to be better: the result has no intervals"),
])  # fmt: skip
def test_values_without_ranks_beside_chance(interval, said):
    test = pl.DataFrame({"user": np.arange(300), "item": np.arange(300) % 30})
    rows = [(u, (u + k) % 30, k + 1) for u in range(300) for k in range(3) if k or u % 3]
    run = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    result = tv.evaluate_run({"s": run}, test, metrics="hit@1", items=list(range(30)), interval=interval)
    (finding,) = (one for one in result.audit().findings if one.check == "random_baseline")
    assert said in finding.sentence


def test_an_end_that_is_the_value_by_chance_is_not_beyond_it():
    """All candidates are disliked, but by one user, so that any order shows all; 3 of 300 users have no list."""
    test = pl.DataFrame({"user": np.arange(301), "item": 0, "value": [1.0] * 300 + [5.0]})
    run = pl.DataFrame({"user": np.arange(297), "item": 0, "rank": 1})
    how = {"metrics": "anti(recall)@1", "items": [0], "threshold": 3, "population": "judged", "interval": "t"}
    result = tv.evaluate_run({"s": run}, test, **how)
    assert result.random["anti(recall)@1"] == result["s", "anti(recall)@1"].high == 1
    (finding,) = (one for one in result.audit().findings if one.check == "random_baseline")
    assert "s is not shown to be better: its interval does not lie on the better side" in finding.sentence


def difference(sign, value=0.1, low=0.05, high=0.15, pair=("a", "b")):
    return Statement("difference", ("m",), sign, value, low, high, pair)


@pytest.mark.parametrize(
    ("statements", "number"),
    [
        ([difference("+"), difference("+")], 0),
        ([difference("+"), difference("-", -0.1, -0.15, -0.05, pair=("b", "a"))], 0),  # the same, turned
        ([difference("+"), difference("+", pair=("b", "a"))], 1),
        ([difference("+"), difference("0")], 1),
        ([difference("+"), difference("?")], 1),
        ([difference("0"), difference("?")], 0),
        ([difference("+", low=-0.01)], 1),  # its own interval holds zero
        ([difference("+"), difference("+", value=0.2)], 1),
        ([Statement("value by chance", ("m",), "=", 0.1), Statement("value by chance", (), "?")], 1),
        ([Statement("value by chance", ("m",), "=", 0.1), Statement("value by chance", ("n",), "?")], 0),
    ],
)
def test_contradictions_are_found(statements, number):
    assert len(contradictions(statements)) == number


def demo_runs(users: int = 60):
    rng = np.random.default_rng(3)
    test = pl.DataFrame({"user": np.repeat(np.arange(users), 2), "item": rng.integers(0, 12, 2 * users)}).unique()
    runs = {name: lists_of(rng.permuted(np.tile(np.arange(12), (users, 1)), axis=1)) for name in ("a", "b")}
    return runs, test


@pytest.mark.parametrize("metrics", [["ndcg@5", "novelty@5"], ["novelty@5", "ndcg@5"], ["ndcg@5", "ild@5"]])
def test_a_metric_without_a_value_by_chance_takes_none_from_others(metrics):
    """One metric without a value by chance made the audit ask for a catalogue that was there."""
    runs, test = demo_runs()
    features = pl.DataFrame({"item": range(12), "genre": ["x", "y"] * 6})
    known = {"items": features, "train": TRAIN}
    result = tv.evaluate_run(runs, test, metrics=metrics, **known)
    for audit in (tv.audit(recs=runs, test=test, metrics=metrics, **known), result.audit()):
        (finding,) = (one for one in audit.findings if one.check == "random_baseline")
        assert "--items" not in finding.remedy
        assert finding.figures["chance"] == pytest.approx(result.random["ndcg@5"])


def test_without_any_value_by_chance_another_metric_is_named():
    runs, test = demo_runs()
    audit = tv.audit(recs=runs, test=test, metrics=["serendipity@5"], items=list(range(12)), train=TRAIN)
    (finding,) = (one for one in audit.findings if one.check == "random_baseline")
    assert "ndcg@10" in finding.remedy
