"""The worlds, the study and the pages of how often the audit's answers are right, and of what helps at which depth."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trueval as tv

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
known_worlds = pytest.importorskip("known_worlds")
claims_page = pytest.importorskip("claims_page")
claims_study = pytest.importorskip("claims_study")
claims_table = pytest.importorskip("claims_table")
corrections_table = pytest.importorskip("corrections_table")

SMALL = known_worlds.Size("small", users=120, items=60, rows=15.0)
WAYS = {way.name: way for way in (*known_worlds.WAYS, *known_worlds.LIKES)}


def small(generator: str, way: str, seed: int = 0):
    return known_worlds.GENERATORS[generator](WAYS[way], SMALL, seed)


@pytest.mark.parametrize("generator", known_worlds.GENERATORS)
def test_the_truth_is_ndcg_on_the_complete_ratings(generator):
    world = small(generator, "popularity 1.2, independent")
    orders = world.orders()
    for depth, metric in ((5, "ndcg@5"), (60, "ndcg")):
        result = tv.evaluate_run(
            world.lists(orders, depth), world.truth(), train=world.log(world.train), metrics=metric,
            threshold=world.threshold, interval="none",
        )  # fmt: skip
        for name, order in orders.items():
            assert result[name, metric].value == pytest.approx(np.nanmean(world.true_ndcg(order, depth)), rel=1e-9)


@pytest.mark.parametrize("generator", known_worlds.GENERATORS)
def test_worlds_are_observed_as_they_say(generator):
    def log(way):
        world = small(generator, way)
        return world, world.train | world.test

    plain, observed = log("activity of users only")
    assert observed.sum() == pytest.approx(SMALL.users * SMALL.rows, rel=0.1)
    assert not (plain.train & plain.test).any()
    liked = plain.values >= plain.threshold
    assert liked[observed].mean() == pytest.approx(liked.mean(), abs=0.05)
    world, observed = log("value 1")
    liked = world.values >= world.threshold
    assert liked[observed].mean() > liked.mean() + 0.15
    world, observed = log("popularity 1.2, opposed")
    liked = world.values >= world.threshold
    assert np.corrcoef(observed.sum(axis=0), liked.mean(axis=0))[0, 1] < -0.2
    likes = small(generator, "likes only: nothing" if generator == "written out" else "likes only: value 1")
    assert (likes.log(likes.test)["value"] >= likes.threshold).all()


def test_lists_hold_no_item_of_train_and_no_other_than_offered():
    world = small("written out", "nothing")
    offered = world.offered.copy()
    offered[:, :10] = False
    world = replace(world, offered=offered, train=world.train & offered, test=world.test & offered)
    for run in world.lists(world.orders(), 60).values():
        user, item = run["user"].to_numpy(), run["item"].to_numpy()
        assert offered[user, item].all()
        assert not world.train[user, item].any()
        assert len(run) == world.listable.sum()


def test_a_world_has_an_answer_for_every_depth():
    world = small("written out", "value 1")
    found = claims_study.study(world, [5, claims_study.COMPLETE], tried=[5])
    assert [one["metric"] for one in found] == ["ndcg@5", "ndcg"]
    for one in found:
        assert all(side in (-1, 0, 1) for _, _, side, _, _ in one["pairs"])
    assert all(len(signs) == len(claims_study.TRIED) for *_, signs in found[0]["pairs"])
    both = claims_study.study(world, [5], metrics=["ndcg@5", "precision@5"])
    assert both[0]["pairs"] == [[*pair[:4], None] for pair in found[0]["pairs"]]  # the truth is the same from trueval


def record(part, generator, way, pairs, *, depth=10, metric="ndcg@10"):
    result = {"depth": depth, "metric": metric, "pairs": pairs, "others": {}, "decided": len(pairs)}
    return {"task": [part, generator, way, "middle", 5000], "results": [result], "made_by": "", "seconds": 0.0}


def test_the_page_counts_answers():
    signs = [1] * len(claims_study.TRIED)
    right, wrong = ["a", "b", 1, "holds", signs], ["a", "c", -1, "holds", signs]
    draw, other = ["b", "c", 0, "holds", signs], ["a", "d", -1, "depends", signs]
    records = [
        record(claims_table.MAIN, "trueval", "value 1", [right, right, right, wrong, draw, other]),
        record(claims_table.MAIN, "written out", "likes only: value 1", [["a", "b", 1, "cannot tell", None]]),
        record(claims_table.BY_METRIC, "trueval", "value 1", [right, wrong], metric="fallout@10"),
        record(claims_table.REAL, "", "as people know", [right, other]),
    ]
    text = claims_page.page(records)
    row = next(line for line in text.splitlines() if line.startswith("| value | lists of 10"))
    assert row == "| value | lists of 10 | 5 | 60.0 | 3 | 1 | **75.0** | 1 | 0 | 0 | 0 |"
    assert "Another" not in text
    assert "1 of these were called *holds*" in text
    assert "hold (0 of 1)" in " ".join(text.split())
    assert "| fallout@10 | 2 | 50.0 | 1 | 1 | **50.0** | 0 | 0 | 0 | 0 |" in text
    assert "| as people know | lists of 10 | 2 | 50.0 | 1 | 0 |" in text


def test_every_world_comes_once(tmp_path):
    found = [tuple(task.key) for task in claims_table.tasks(2, tmp_path)]
    assert len(found) == len(set(found))
    assert min(task[4] for task in found) >= 5000


def test_remedies_are_measured_at_every_depth(monkeypatch):
    monkeypatch.setattr(corrections_table, "DEPTHS", (5, corrections_table.COMPLETE))
    rows = corrections_table.study(small("trueval", "value 1"))
    assert {row["remedy"] for row in rows if row["depth"] == 5} == set(corrections_table.REMEDIES)
    whole = {row["remedy"]: row["tau"] for row in rows if row["depth"] == corrections_table.COMPLETE}
    assert corrections_table.RECALL not in whole  # it is 1 for all
    assert all(-1 <= row["tau"] <= 1 for row in rows)
    assert whole[corrections_table.PLAIN] > 0.5  # observed by value, plain metrics are right


def test_the_page_of_remedies_has_their_means():
    rows = [
        {"way": way, "seed": 8000, "depth": depth, "remedy": remedy, "tau": 0.5 if way == "value 1" else 0.25}
        for way in corrections_table.CLASSES for depth in corrections_table.DEPTHS
        for remedy in corrections_table.REMEDIES
        if not (remedy == corrections_table.RECALL and depth == corrections_table.COMPLETE)
    ]  # fmt: skip
    ways = len(corrections_table.CLASSES)
    mean = f"{(0.5 + 0.25 * (ways - 1)) / ways:.2f}"
    text = corrections_table.page(rows)
    assert f"| recall | {mean} (0.25) | {mean} (0.25) | {mean} (0.25) | – (–) |" in text
    assert f"τ with the true order was {mean} on lists of ten" in " ".join(text.split())
