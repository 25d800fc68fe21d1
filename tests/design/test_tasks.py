"""A design applied to data: what is impossible, and what the message says instead."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from trueval.data.interactions import Interactions
from trueval.design.design import Design
from trueval.design.task import Task, make_tasks
from trueval.errors import DataError, DefinitionError
from trueval.splits import split
from trueval.splits.parts import Parts

TRAIN = [("a", "x", 5.0), ("b", "y", 4.0), ("c", "z", 2.0)]
TEST = [("a", "y", 5.0), ("a", "z", 1.0), ("b", "x", 3.0), ("c", "w", 4.0)]


def parts_of(train: list, test: list) -> Parts:
    frames = [pl.DataFrame(rows, schema=["user", "item", "value"], orient="row") for rows in (train, test)]
    logs = [Interactions.of(frame, name=name) for frame, name in zip(frames, ("train", "test"))]
    return Parts(*logs, how={"how": "given"})


def task_of(design: str, **how) -> Task:
    return make_tasks(parts_of(TRAIN, TEST), Design.parse(design), **how)[0]


def crowd(users: int = 40, items: int = 30) -> Parts:
    """Users have rated 5 to 24 of 30 items and are tested on two more, so pools differ."""
    rng = np.random.default_rng(0)
    train, test = [], []
    for u in range(users):
        mine = rng.permutation(items)
        seen = 5 + u % 20
        train += [(u, int(i), 3.0) for i in mine[:seen]]
        test += [(u, int(i), 5.0) for i in mine[seen : seen + 2]]
    return parts_of(train, test)


def test_a_sample_that_is_too_large_names_the_largest_possible():
    parts = crowd()
    pools = np.sort(30 - 2 - (5 + np.arange(40) % 20))
    with pytest.raises(DefinitionError) as caught:
        make_tasks(parts, Design.parse("AR-AI-NN12"))
    short = int((pools < 12).sum())
    assert f"{short} of 40 target sets" in caught.value.found
    largest = int(caught.value.do.split("(NN")[1].rstrip(")"))
    assert (pools < largest).mean() <= 0.1 < (pools < largest + 1).mean()
    task = make_tasks(parts, Design.parse(f"AR-AI-NN{largest}"))[0]  # and it is possible indeed
    assert task.short == (pools < largest).sum()
    assert sorted(task.pool) == pools.tolist()
    own = np.diff(task.sample.start) - 2
    np.testing.assert_array_equal(own, np.minimum(task.pool, largest))


def test_where_nothing_can_be_sampled_no_sample_is_proposed():
    train = [(u, i, 1.0) for u in range(3) for i in range(4) if i != u]
    test = [(u, u, 1.0) for u in range(3)]
    with pytest.raises(DefinitionError, match=r"3 of 3 target sets[^$]*nothing to sample from"):
        make_tasks(parts_of(train, test), Design.parse("AR-AI-NN1"))


def test_samples_do_not_depend_on_other_users_rows():
    parts = crowd()
    whole = make_tasks(parts, Design.parse("AR-AI-NN5"), seed=4)[0]
    # user 0 reads more: everybody else's targets stay
    more = parts.train.frame.with_columns(value=pl.col("value") + 1).sort("item", descending=True)
    again = make_tasks(
        Parts(parts.train.keep(more), parts.test, how=parts.how), Design.parse("AR-AI-NN5"), seed=4
    )[0]  # fmt: skip
    np.testing.assert_array_equal(whole.sample.item, again.sample.item)
    other = make_tasks(parts, Design.parse("AR-AI-NN5"), seed=5)[0]
    assert (whole.sample.item != other.sample.item).any()


def test_every_relevant_item_can_have_a_sample_of_its_own():
    task = make_tasks(crowd(), Design.parse("1R-AI-NN4-resample"))[0]
    assert len(task.unit_user) == 80
    assert (np.diff(task.sample.start) == 5).all()
    targets = [set(task.sample.item[a:b].tolist()) for a, b in zip(task.sample.start[:-1], task.sample.start[1:])]
    differ = [left != right for left, right in zip(targets[::2], targets[1::2])]
    assert sum(differ) == 40  # they differ by the relevant item at the least
    drawn = [t - set(task.judged.rows.item[2 * (u // 2) : 2 * (u // 2) + 2].tolist()) for u, t in enumerate(targets)]
    assert sum(left != right for left, right in zip(drawn[::2], drawn[1::2])) > 30


def test_candidates():
    items = {"AI": ["w", "x", "y", "z"], "TI": ["w", "x", "y", "z"]}
    for name, wanted in items.items():
        task = task_of(f"AR-{name}-AN")
        assert task.items.decode(task.candidates).to_list() == wanted
    more = pl.Series(["w", "x", "y", "z", "v"])
    task = task_of("AR-LIST-AN", catalogue=more)
    assert task.items.decode(task.candidates).to_list() == ["v", "w", "x", "y", "z"]
    task = task_of("AR-AI-AN", catalogue=more)
    assert len(task.candidates) == 5
    task = make_tasks(parts_of([*TRAIN, ("a", "q", 1.0)], TEST), Design.parse("AR-TI-AN"))[0]
    assert task.items.decode(task.candidates).to_list() == ["w", "x", "y", "z"]


def test_the_head_leaves_test_and_candidates():
    parts = parts_of([*TRAIN, ("b", "z", 2.0), ("c", "x", 1.0), ("d", "x", 1.0)], TEST)
    # x is rated four times, z three times, y twice, w once: a quarter of four items is x
    task = make_tasks(parts, Design.parse("AR-AI-AN-head25"))[0]
    assert task.items.decode(task.candidates).to_list() == ["w", "y", "z"]
    assert "x" not in task.items.decode(task.judged.rows.item).to_list()
    assert task.users.decode(task.unit_user).to_list() == ["a", "c"]  # b was tested on x alone


def test_items_rated_equally_often_leave_together():
    # x, y and z are rated twice, w once: three items are closer to two than none is
    task = task_of("AR-AI-AN-head50")
    assert task.items.decode(task.candidates).to_list() == ["w"]
    assert task.users.decode(task.unit_user).to_list() == ["c"]
    with pytest.raises(DataError, match=r"head to remove is empty[^$]*0.25 of 4 rated items, of which 3"):
        task_of("AR-AI-AN-head25")  # none is closer to one


def test_percentiles_are_cut_by_popularity():
    tasks = make_tasks(parts_of(TRAIN, TEST), Design.parse("P1R2-AI-AN"))
    assert [task.items.decode(task.candidates).to_list() for task in tasks] == [["x", "y"], ["w", "z"]]
    assert [task.users.decode(task.unit_user).to_list() for task in tasks] == [["a", "b"], ["a", "c"]]
    tasks = make_tasks(parts_of(TRAIN, TEST), Design.parse("P1R2-AI-AN"), threshold=2)
    assert [task.users.decode(task.unit_user).to_list() for task in tasks] == [["a", "b"], ["c"]]


def test_a_threshold_decides_what_is_relevant_and_everyone_may_be_a_unit():
    task = task_of("AR-AI-AN", threshold=4)
    assert task.judged.relevant.tolist() == [True, False, False, True]
    parts = parts_of([*TRAIN, ("d", "x", 1.0)], TEST)
    assert len(make_tasks(parts, Design(), everyone=True)[0].unit_user) == 4
    assert len(make_tasks(parts, Design())[0].unit_user) == 3


@pytest.mark.parametrize(
    ("design", "how", "told"),
    [
        ("AR-LIST-AN", {}, "needs the list of candidate items"),
        ("AR-LIST-AN", {"catalogue": pl.Series(["x", "y"])}, r"outside the given catalogue[^$]*2 rows[^$]*item z"),
        ("AR-LIST-AN", {"catalogue": pl.Series([1, 2])}, "item ids are of different types"),
        ("UAR", {}, r"needs a uniform_test split[^$]*given split"),
        ("P1R9-AI-AN", {}, r"9 percentiles cannot be made of 4 candidate items[^$]*P1R4"),
        ("AR-AI-AN-head99", {}, "no relevant test item is left"),
        ("AR-AI-AN", {"threshold": 6}, "no value reaches the threshold 6"),
        ("AR-AI-NN50", {}, "NN50 is impossible"),
    ],
)
def test_designs_that_the_data_does_not_allow(design, how, told):
    with pytest.raises((DataError, DefinitionError), match=told) as caught:
        task_of(design, **how)
    assert caught.value.do


def test_test_pairs_that_were_seen_are_refused_unless_allowed():
    parts = parts_of([*TRAIN, ("a", "y", 1.0)], TEST)
    with pytest.raises(DataError, match=r"also in the train set[^$]*1 row:[^$]*user a, item y"):
        make_tasks(parts, Design())
    task = make_tasks(parts, Design.parse("AR-TI-AN-seen"))[0]
    assert len(task.barred.item) == 0


def test_a_uniform_split_allows_uniform_designs():
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"user": rng.integers(0, 200, 4000), "item": rng.integers(0, 20, 4000)}).unique()
    parts = split(log, "uniform_test", ratio=0.2)
    task = make_tasks(parts, Design.parse("U1R"))[0]
    assert task.items.decode(task.candidates).sort().to_list() == parts.test.frame["item"].unique().sort().to_list()
