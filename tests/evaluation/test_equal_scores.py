"""Rules for equal scores where lists are made from scores and cut, for groups of items, exposure and heads."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.errors import DefinitionError
from trueval.evaluation.evaluate_systems import rank_tasks
from trueval.recommenders.protocol import TrainSet
from trueval.splits.parts import Parts

USERS, ITEMS = 12, 9


def tied_scores(levels: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, levels, (USERS, ITEMS)).astype(np.float64)


def parts_of(seed: int = 0) -> Parts:
    rng = np.random.default_rng(seed)
    rows = [(u, int(i), at < 3) for u in range(USERS) for at, i in enumerate(rng.permutation(ITEMS)[: 4 + u % 4])]
    rows += [(u, u % ITEMS, True) for u in range(USERS) if (u, u % ITEMS) not in {row[:2] for row in rows}]
    log = pl.DataFrame(rows, schema=["user", "item", "train"], orient="row")
    logs = [Interactions.of(log.filter(pl.col("train") == part).drop("train")) for part in (True, False)]
    return Parts(*logs, how={"how": "given"})


@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-AI-AN-seen", "AR-AI-NN2", "AR-AI-AN-condensed"])
@pytest.mark.parametrize("depth", [1, 3, ITEMS])
def test_lists_tell_which_items_are_equal(design: str, depth: int):
    parts, scores = parts_of(), tied_scores(3)
    tasks = make_tasks(parts, Design.parse(design))
    task = tasks[0]
    system = tv.Scores(scores).fit(TrainSet(task.users, task.items, task.train, 0, None))
    facts = rank_tasks(system, tasks, Design.parse(design), depth=depth, ties="expected", name="s")
    drawn = rank_tasks(system, tasks, Design.parse(design), depth=depth, ties="random", name="s")
    assert drawn.list_same is None
    np.testing.assert_array_equal(facts.list_item, drawn.list_item)
    np.testing.assert_array_equal(facts.splits, drawn.splits)
    whole = rank_tasks(system, tasks, Design.parse(design), depth=ITEMS, ties="random", name="s")
    assert facts.list_same is not None
    for u, user in enumerate(facts.unit_user):
        order = whole.list_item[whole.list_start[u] : whole.list_start[u + 1]]
        own = scores[user, order]
        wanted = [j + 1 < len(own) and own[j] == own[j + 1] for j in range(facts.length[u])]
        assert facts.list_same[facts.list_start[u] : facts.list_start[u + 1]].tolist() == wanted


def test_equals_behind_the_list_are_not_guessed():
    """A constant scorer: anything may be among the first three, and the lists show ten items of nine."""
    parts = parts_of()
    ask = {"interval": "none", "ties": "expected"}
    flat = {"s": tv.Scores(np.zeros((USERS, ITEMS)))}
    covered = tv.evaluate(parts, flat, metrics=["coverage@3", "novelty@3"], **ask)
    targets = [ITEMS - n for n in np.bincount(parts.train.frame["user"].to_numpy(), minlength=USERS)]
    missed = {i: math.prod(1 - 3 / targets[u] for u in range(USERS) if not seen(parts, u, i)) for i in range(ITEMS)}
    assert covered["s", "coverage@3"].value == pytest.approx(1 - sum(missed.values()) / ITEMS, abs=1e-9)
    rng = np.random.default_rng(1)
    rows = [(u, int(i), at < 4) for u in range(4) for at, i in enumerate(rng.permutation(30)[:8])]
    log = pl.DataFrame(rows, schema=["user", "item", "train"], orient="row")
    wide = Parts(*(Interactions.of(log.filter(pl.col("train") == p).drop("train")) for p in (True, False)), how={})
    items = pl.DataFrame({"item": range(30)})
    flat = {"s": tv.Scores(np.zeros((4, 30)))}
    fine = tv.evaluate(wide, flat, metrics=["ndcg@3", "unjudged@3"], items=items, **ask)
    assert not math.isnan(fine["s", "unjudged@3"].value)
    with pytest.raises(DefinitionError, match="ties=expected") as caught:
        tv.evaluate(wide, flat, metrics="coverage@3", items=items, **ask)
    assert "missing from the truncated list" in caught.value.found


def seen(parts: Parts, user: int, item: int) -> bool:
    return (user, item) in set(parts.train.frame.select("user", "item").iter_rows())


RECS = pl.DataFrame({"user": ["u"] * 3, "item": ["a", "b", "c"], "score": [2.0, 2.0, 1.0]})
TEST = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"]})
MAKERS = pl.DataFrame({"item": ["a", "b", "c"], "maker": ["x", "y", "y"]})


def by_maker(rule: str) -> tv.Result:
    return tv.evaluate_run(
        RECS, TEST, items=MAKERS, by="maker", metrics=["hit@1", "rr@2"], ties=rule, interval="none", min_group=1
    )


def test_each_group_of_items_has_its_own_best_order():
    """Whoever is asked about, its item may come first: what is best for x is not best for y."""
    found = {rule: by_maker(rule).by("maker").filter(metric="hit@1") for rule in ("best", "worst", "expected")}
    values = {rule: dict(table.select("group", "value").iter_rows()) for rule, table in found.items()}
    assert values == {"best": {"x": 1, "y": 1}, "worst": {"x": 0, "y": 0}, "expected": {"x": 0.5, "y": 0.5}}


def test_exposure_is_shared_by_equals():
    found = by_maker("expected").parity("maker", k=1)["run"]
    assert {g: e.value for g, e in found.values.items()} == pytest.approx({"x": 0.5, "y": 0.5})
    weight = {1: 1.0, 2: 1 / math.log2(3)}
    orders = [{"a": weight[r], "b": weight[3 - r]} for r in (1, 2)]
    mean = np.mean([order["a"] / sum(order.values()) for order in orders])
    assert by_maker("expected").parity("maker", k=2, discount=True)["run"].values["x"].value == pytest.approx(mean)
    result = by_maker("best")
    with pytest.raises(DefinitionError, match="exposure"):
        result.parity("maker")
    assert "maker" in str(result)  # reports leave it out


def test_head_items_among_equals_count_in_parts():
    train = pl.DataFrame({"user": ["v", "w", "x"], "item": ["a", "a", "c"]})
    ask = {"train": train, "without_head": 0.4, "metrics": "hit@1", "interval": "none"}
    result = tv.evaluate_run(RECS, TEST, ties="expected", **ask)
    assert any("50 %" in note for note in result.evaluation.warnings)


def test_popularity_rank_counts_relevant_train_ratings():
    """a has more train rows, b more relevant ones: Steck's ranking puts b first, whatever the order of rows."""
    train = pl.DataFrame(
        {"user": [1, 2, 3, 4, 1, 2, 5], "item": ["a", "a", "a", "a", "b", "b", "c"], "value": [1, 1, 2, 5, 5, 4, 1]}
    )
    recs = pl.DataFrame({"user": [9], "item": ["a"], "rank": [1]})
    test = pl.DataFrame({"user": [9], "item": ["a"], "value": [5]})
    items = pl.DataFrame({"item": ["a", "b", "c"]})
    shares = ["head_share@1[head=0.4]", "average_popularity@1"]
    ask = {"train": train, "items": items, "metrics": ["popularity_rank@1", *shares], "interval": "none"}
    for threshold, rank, head in ((4, 2, 0), (None, 1, 1)):
        result = tv.evaluate_run(recs, test, threshold=threshold, **ask)
        assert result["run", "popularity_rank@1"].value == rank
        assert result["run", shares[0]].value == head
        assert result["run", "average_popularity@1"].value == 4
    without = tv.evaluate_run(
        recs, test.drop("value"), **(ask | {"train": train.drop("value")})
    )  # without values, every row is a relevant rating
    assert without["run", "popularity_rank@1"].value == 1
    with pytest.raises(DefinitionError, match=r"popularity_rank[^$]*--train"):
        tv.evaluate_run(recs, test, metrics="popularity_rank@1")


@pytest.mark.parametrize("parameter", ["beta", "gamma"])
@pytest.mark.parametrize("metric", ["recall@3", "atop", "auc", "precision@3"])
def test_a_curve_does_not_jump_at_zero(metric: str, parameter: str):
    parts = parts_of(3)
    scores = {"s": tv.Scores(np.random.default_rng(6).random((USERS, ITEMS)))}
    curve = tv.curve(metric, **{parameter: [0, 1e-9, 0.5]})
    found = tv.evaluate(parts, scores, metrics=curve, interval="none")
    at_zero, near, _ = (found["s", label].value for label in curve)
    assert at_zero == pytest.approx(near, abs=1e-7)
    users = parts.test.frame.group_by("user").len()["len"]
    assert len(set(users)) > 1  # pooled and averaged values differ
    alone = tv.evaluate(parts, scores, metrics=metric, interval="none")["s", metric].value
    assert metric == "precision@3" or at_zero != pytest.approx(alone, abs=1e-6)


def test_a_curve_without_weights_is_left_as_it_is():
    assert tv.curve("recall@5", beta=[0]) == ["recall@5"]
    by_user = "recall@5[average=mean]"
    assert tv.curve(by_user, beta=[0, 1]) == [by_user, "recall@5[average=mean,beta=1]"]
    assert tv.curve("rbp@5", p=[0.5, 0.8]) == ["rbp@5[p=0.5]", "rbp@5"]


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
def test_items_without_features_have_no_distance(similarity: str):
    recs = pl.DataFrame({"user": list("uuuvvww"), "item": list("abcacdc"), "rank": [1, 2, 3, 1, 2, 1, 2]})
    test = pl.DataFrame({"user": list("uvw"), "item": ["a", "a", "a"]})
    items = pl.DataFrame({"item": list("abcd"), "aspects": ["x", "x|y", "", ""]})
    result = tv.evaluate_run(recs, test, items=items, metrics=f"ild@3[similarity={similarity}]", interval="none")
    alike = {"cosine": 1 / math.sqrt(2), "jaccard": 1 / 2}[similarity]
    estimate = result["run", f"ild@3[similarity={similarity}]"]
    assert estimate.value == pytest.approx(1 - alike)  # a and b; every other pair has an item without features
    assert (estimate.n, estimate.undefined) == (1, 2)
