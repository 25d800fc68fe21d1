"""Every kernel twice: the compiled form must give what the plain one gives, bit for bit, and both the truth."""

from __future__ import annotations

import math
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueval.kernels import choose, hashing, look_up, use_kernels
from trueval.kernels import plain_ranking as plain

FLOATS = (np.float32, np.float64)
COUNTS = ("rank", "above", "tied")
JUDGED = ("order", *COUNTS, "score")
KINDS = ("noise", "few", "equal", "two", "skewed", "extreme", "denormal", "signed zeros")


def compiled(family: str) -> ModuleType:
    with use_kernels("compiled"):
        module = choose(family, 0)
    assert module is not plain
    return module


def rows_of(kind: str, shape: tuple[int, int], seed: int, dtype: Any) -> np.ndarray:
    """Scores that are hard on a histogram: ties, outliers, ranges that overflow, ranges that vanish."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(shape)
    largest = np.finfo(dtype).max
    made = {
        "noise": lambda: noise,
        "few": lambda: rng.integers(0, 4, shape),
        "equal": lambda: np.full(shape, 0.1),
        "two": lambda: np.where(noise > 1.5, 1.0, -1.0),
        "skewed": lambda: np.where(rng.random(shape) < 0.01, 1e6 * noise, 1e-6 * noise),
        "extreme": lambda: rng.choice([-1.0, -0.9, 0.0, 1e-30, 0.9, 1.0], shape) * float(largest),
        "denormal": lambda: rng.integers(-3, 4, shape) * float(np.finfo(dtype).smallest_subnormal),
        "signed zeros": lambda: rng.choice([-0.0, 0.0, 1.0], shape),
    }
    return made[kind]().astype(dtype)


class Block:
    """A block of scores with excluded and judged places, and room for what a kernel says about it."""

    def __init__(self, scores: np.ndarray, seed: int, *, depth: int, given: bool) -> None:
        rng = np.random.default_rng(seed)
        n, size = scores.shape
        self.scores, self.depth, self.given, self.seed = scores, depth, given, np.uint64(seed)
        self.items = np.sort(rng.choice(3 * size, size, replace=False)).astype(np.int32)
        self.users = rng.integers(0, 1000, n).astype(np.int32)
        self.excluded = [np.sort(rng.choice(size, rng.integers(0, size + 1), replace=False)) for _ in range(n)]
        if n > 1:
            self.excluded[0] = np.empty(0, np.int64)
            self.excluded[1] = np.arange(size)  # nothing left to rank
        self.judged = [rng.choice(np.arange(-1, size), rng.integers(0, size + 1), replace=False) for _ in range(n)]

    def ranked_by(self, kernels: ModuleType) -> dict[str, np.ndarray | int]:
        n = len(self.scores)
        excluded_start, judged_start = (
            np.concatenate([[0], np.cumsum([len(part) for part in parts])]) for parts in (self.excluded, self.judged)
        )
        out: dict[str, Any] = {name: np.full(judged_start[-1], 77, np.int32) for name in ("order", *COUNTS)}
        out["score"] = np.full(judged_start[-1], 77, self.scores.dtype)
        out |= {"top": np.full((n, self.depth), 77, np.int32), "targets": np.full(n, 77)}
        out["splits"] = np.zeros(self.depth, np.int64)
        out["bad"] = kernels.rank_rows(
            self.scores, self.items, excluded_start, np.concatenate(self.excluded).astype(np.int32), judged_start,
            np.concatenate(self.judged).astype(np.int32), self.users, self.seed, self.given, self.depth,
            out["top"], out["targets"], tuple(out[name] for name in JUDGED), out["splits"],
        )  # fmt: skip
        return out

    def truth(self) -> dict[str, Any]:
        """The same from the definition: sort, count what is above, count what is equal."""
        out: dict[str, Any] = {name: [] for name in (*JUDGED, "top", "targets")}
        splits = np.zeros(self.depth, np.int64)
        for row, user, excluded, judged in zip(self.scores, self.users, self.excluded, self.judged):
            stream = hashing.user_key(int(self.seed), np.array([user]))
            key = hashing.item_key(stream, self.items) if not self.given else np.arange(len(row))
            left = [j for j in range(len(row)) if j not in set(excluded)]
            order = sorted(left, key=lambda j: (-float(row[j]), int(key[j])))
            out["targets"].append(len(left))
            out["top"].append([*self.items[order[: self.depth]], *[-1] * (self.depth - len(order))][: self.depth])
            ranked = [(order.index(j) if j in order else len(row), i) for i, j in enumerate(judged)]
            for _, i in sorted(ranked):
                j = judged[i]
                there = j in order
                out["order"].append(i)
                out["score"].append(row[j] if j >= 0 else np.nan)
                out["rank"].append(order.index(j) + 1 if there else 0)
                out["above"].append(sum(row[i] > row[j] for i in left) if there else 0)
                out["tied"].append(sum(row[i] == row[j] for i in left) if there else 0)
            for r in range(min(self.depth, len(order) - 1)):
                splits[r] += row[order[r]] == row[order[r + 1]]
        return {**{name: np.array(values).reshape(-1) for name, values in out.items()}, "splits": splits, "bad": -1}


def assert_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(np.ravel(left[name]), np.ravel(right[name]), err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(
    size=st.integers(1, 40), rows=st.integers(1, 4), depth=st.integers(1, 12), given=st.booleans(),
    seed=st.integers(0, 2**32),
)  # fmt: skip
def test_rank_rows_is_exact(kind, dtype, size, rows, depth, given, seed):
    block = Block(rows_of(kind, (rows, size), seed, dtype), seed, depth=min(depth, size), given=given)
    truth = block.truth()
    assert_same(block.ranked_by(plain), truth)
    assert_same(block.ranked_by(compiled("ranking")), truth)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_rank_rows_is_exact_on_long_rows(kind, dtype):
    # rows longer than the sample that buckets are made from, with outliers the sample misses, and more equal
    # candidates than the list sorts at once
    scores = rows_of(kind, (3, 5000), 5, dtype)
    scores[2, 1:4] = np.array([-1, 1, 0.5]) * float(np.finfo(dtype).max)
    for as_given in (False, True):
        block = Block(scores, 5, depth=100, given=as_given)
        block.excluded[2] = np.array([7, 4999])
        block.judged = [judged[:60] for judged in block.judged]
        block.judged[2] = np.arange(60)
        assert_same(block.ranked_by(compiled("ranking")), block.ranked_by(plain))


@pytest.mark.parametrize("depth", [1, 100, 1500, 2999])
@pytest.mark.parametrize("size", [3000, 3001, 3016, 3031])
def test_rank_rows_is_exact_wherever_the_list_ends_and_judged_items_stand(size, depth):
    # in the best bucket or the worst, with the best and the worst item judged, one alone, all of them, or none
    scores = rows_of("noise", (4, size), size, np.float32)
    block = Block(scores, 7, depth=depth, given=False)
    block.excluded = [np.arange(0, size, step) for step in (size, 3, 50, 7)]
    ends = np.array([np.argmax(scores[0]), np.argmin(scores[0])])
    block.judged = [ends, np.array([1]), np.arange(size), np.arange(0)]
    assert_same(block.ranked_by(compiled("ranking")), block.ranked_by(plain))


@pytest.mark.parametrize("equals", [0, 1, 2])
@pytest.mark.parametrize("length", [254, 255, 256, 257, 600])
def test_rank_rows_is_exact_for_lists_and_judgements_of_any_length(length, equals):
    # distinct scores are ordered in another way up to a length; two equal ones are enough to leave it
    rng = np.random.default_rng(length)
    scores = rng.permuted(np.tile(np.arange(4000.0), (3, 1)), axis=1).astype(np.float32)
    best = np.argsort(-scores[2])[:2]
    scores[2, best] = scores[2, best[:1]] if equals else scores[2, best]
    block = Block(scores, 3, depth=length, given=False)
    block.excluded = [np.empty(0, np.int64), *block.excluded[1:2], np.arange(7)]
    block.judged = [rng.choice(4000, length, replace=False) for _ in range(3)]
    if equals:  # one of two equals is judged, or both are
        others = np.setdiff1d(block.judged[2], best)
        block.judged[2] = np.concatenate([best[:equals], others])
    assert_same(block.ranked_by(compiled("ranking")), block.ranked_by(plain))


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_that_are_not_finite_are_found(kernels, bad, dtype):
    module = plain if kernels == "plain" else compiled("ranking")
    for at in (0, 9, 10):
        scores = rows_of("noise", (3, 11), 1, dtype)
        scores[1, at] = bad
        block = Block(scores, 1, depth=3, given=False)
        assert block.ranked_by(module)["bad"] == 1
    # the largest numbers are numbers
    assert Block(rows_of("extreme", (3, 11), 1, dtype), 1, depth=3, given=False).ranked_by(module)["bad"] == -1


class Samples:
    """Target sets of their own for each unit, several units asking for the same row of scores."""

    def __init__(self, kind: str, dtype: Any, seed: int, *, depth: int, given: bool) -> None:
        rng = np.random.default_rng(seed)
        self.scores = rows_of(kind, (3, 30), seed, dtype)
        self.rows = rng.integers(0, 3, 5)
        self.targets = [np.sort(rng.choice(30, n, replace=False)) for n in [0, *rng.integers(1, 31, 4)]]
        self.judged = [rng.permutation(np.arange(-1, len(t)))[: rng.integers(0, 6)] for t in self.targets]
        self.users, self.depth, self.given, self.seed = rng.integers(0, 99, 5), depth, given, np.uint64(seed)

    def ranked_by(self, kernels: ModuleType) -> dict[str, Any]:
        starts = [np.concatenate([[0], np.cumsum([len(x) for x in parts])]) for parts in (self.targets, self.judged)]
        out: dict[str, Any] = {name: np.zeros(starts[1][-1], np.int32) for name in ("order", *COUNTS)}
        out["score"] = np.full(starts[1][-1], np.nan, self.scores.dtype)
        out |= {"top": np.full((5, self.depth), -1, np.int32), "splits": np.zeros(self.depth, np.int64)}
        out["bad"] = kernels.rank_targets(
            self.scores, self.rows, starts[0], np.concatenate(self.targets).astype(np.int32), starts[1],
            np.concatenate(self.judged).astype(np.int32), self.users.astype(np.int32), self.seed, self.given,
            self.depth, out["top"], tuple(out[name] for name in JUDGED), out["splits"],
        )  # fmt: skip
        return out

    def truth(self) -> dict[str, Any]:
        """Each unit is a block of one row: its own targets."""
        whole: dict[str, list] = {name: [] for name in (*JUDGED, "top")}
        splits = np.zeros(self.depth, np.int64)
        for row, targets, judged, user in zip(self.rows, self.targets, self.judged, self.users):
            block = Block(np.zeros((1, len(targets)), self.scores.dtype), 0, depth=self.depth, given=self.given)
            block.scores, block.items = self.scores[row, targets][None, :], targets
            block.users, block.seed = np.array([user]), self.seed
            block.excluded, block.judged = [np.empty(0, np.int64)], [judged]
            found = block.truth()
            splits += found["splits"]
            for name in whole:
                whole[name].extend(found[name])
        return {**{name: np.array(values) for name, values in whole.items()}, "splits": splits, "bad": -1}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(depth=st.integers(1, 35), given=st.booleans(), seed=st.integers(0, 2**32))
def test_rank_targets_is_exact(kind, dtype, depth, given, seed):
    samples = Samples(kind, dtype, seed, depth=depth, given=given)
    truth = samples.truth()
    assert_same(samples.ranked_by(plain), truth)
    assert_same(samples.ranked_by(compiled("ranking")), truth)


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
def test_only_targets_must_be_finite(kernels):
    module = plain if kernels == "plain" else compiled("ranking")
    samples = Samples("noise", np.float32, 3, depth=5, given=False)
    samples.rows[:] = [0, 0, 1, 2, 2]
    samples.targets[1:] = [np.array([2]), np.array([2, 3]), np.array([3, 4]), np.array([5])]
    samples.judged = [np.empty(0, np.int64)] * 5
    samples.scores[0, 3] = np.nan  # nobody's target
    assert samples.ranked_by(module)["bad"] == -1
    samples.scores[2, 4] = np.inf
    assert samples.ranked_by(module)["bad"] == 3


# ---- lists -------------------------------------------------------------------------------------------------


@st.composite
def lists_of(draw, *, units: int = 4, items: int = 12, doubled: bool = False) -> dict[str, Any]:
    """Lists by unit, with scores, and judged items by unit."""
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    shown = [rng.permutation(np.arange(-1, items))[: rng.integers(0, items + 1)] for _ in range(units)]
    if doubled:
        shown[2] = np.array([3, -1, 4, -1, 3])
    judged = [np.sort(rng.permutation(items)[: rng.integers(0, items)]) for _ in range(units)]
    start, judged_start = (np.concatenate([[0], np.cumsum([len(x) for x in part])]) for part in (shown, judged))
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from(FLOATS))
    return {
        "start": start, "item": np.concatenate(shown).astype(np.int32), "seed": np.uint64(seed),
        "score": rows_of(kind, (1, int(start[-1])), seed, dtype)[0], "n_items": items,
        "judged_start": judged_start, "judged": np.concatenate(judged).astype(np.int32),
    }  # fmt: skip


@pytest.mark.parametrize("numbers", [[5], [7, 7, 7], [-130, 64, -66, 63, 0, -1], [2**62, 2**62 - 64, 2**62 - 1]])
def test_distinct_integers(numbers):
    drawn = np.random.default_rng(5).choice(numbers, 300)
    drawn[: len(numbers)] = numbers
    for kernels in (plain, compiled("lists")):
        for parts in ([drawn], [drawn[:1], drawn[1:200], drawn[200:]]):
            found = kernels.distinct_integers(parts, min(numbers), max(numbers))
            assert found.dtype == np.int64
            assert found.tolist() == sorted(set(numbers))


@given(lists=lists_of(), given=st.booleans())
def test_order_lists(lists, given):
    """By score, equal scores by the user's stream or as given; within the range of units asked for only."""
    start, users = lists["start"], np.array([5, 0, 9, 2])
    found = []
    for kernels in (plain, compiled("lists")):
        score, item = lists["score"].copy(), lists["item"].copy()
        assert kernels.order_lists(start, score, item, users, lists["seed"], given, 1, 4) == -1
        found.append((score, item))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][1][: start[1]], lists["item"][: start[1]])
    for u in range(1, 4):
        part = slice(start[u], start[u + 1])
        score, item = lists["score"][part], lists["item"][part]
        key = hashing.item_key(hashing.user_key(int(lists["seed"]), users[u : u + 1]), item) if not given else item * 0
        order = sorted(range(len(item)), key=lambda j: (-float(score[j]), int(key[j])))
        assert found[0][1][part].tolist() == item[order].tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_order_lists_names_the_unit_whose_scores_are_not_finite(bad):
    for kernels in (plain, compiled("lists")):
        score = np.array([3.0, 2.0, 1.0, bad, 5.0])
        item = np.arange(5, dtype=np.int32)
        start, users = np.array([0, 2, 4, 5]), np.arange(3)
        assert kernels.order_lists(start, score, item, users, np.uint64(0), False, 0, 3) == 1


def joined_by(kernels: ModuleType, lists: dict[str, Any], *, scored: bool) -> tuple[np.ndarray | int, ...]:
    rows = len(lists["judged"])
    order, (rank, above, tied) = np.full(rows, -1), (np.zeros(rows, np.int32) for _ in range(3))
    score = lists["score"] if scored else np.empty(0)
    doubled = kernels.join_lists(
        lists["start"], lists["item"], score, lists["judged_start"], lists["judged"], lists["n_items"],
        0, len(lists["start"]) - 1, order, rank, above, tied,
    )  # fmt: skip
    return doubled, order, rank, above, tied


@given(lists=lists_of(), scored=st.booleans())
def test_join_lists(lists, scored):
    users = np.arange(4)
    plain.order_lists(lists["start"], lists["score"], lists["item"], users, lists["seed"], False, 0, 4)
    left, right = (joined_by(kernels, lists, scored=scored) for kernels in (plain, compiled("lists")))
    for a, b in zip(left, right):
        np.testing.assert_array_equal(a, b)
    doubled, order, rank, above, tied = left
    assert doubled == -1
    for u in range(4):
        shown = lists["item"][lists["start"][u] : lists["start"][u + 1]].tolist()
        score = lists["score"][lists["start"][u] : lists["start"][u + 1]]
        part = slice(lists["judged_start"][u], lists["judged_start"][u + 1])
        assert sorted(order[part]) == list(range(part.start, part.stop))
        assert rank[part].tolist() == sorted(rank[part], key=lambda r: r or 99)
        for p in range(part.start, part.stop):
            item = lists["judged"][order[p]]
            place = shown.index(item) if item in shown else None
            truth = (0, 0, 0) if place is None else (place + 1, place, 1)
            if scored and place is not None:
                truth = place + 1, int((score > score[place]).sum()), int((score == score[place]).sum())
            assert (rank[p], above[p], tied[p]) == truth


@given(lists=lists_of(doubled=True))
def test_join_lists_names_the_unit_with_an_item_twice(lists):
    # unknown items (-1) may occur any number of times
    assert joined_by(plain, lists, scored=False)[0] == 2
    assert joined_by(compiled("lists"), lists, scored=False)[0] == 2


@given(lists=lists_of())
def test_falls_and_count_splits(lists):
    start, score = lists["start"], lists["score"]
    for first, last in ((0, 4), (1, 3), (2, 2)):
        truth = all(
            score[j] > score[j + 1] for u in range(first, last) for j in range(start[u], start[u + 1] - 1)
        )  # fmt: skip
        assert plain.falls(start, score, first, last) == compiled("lists").falls(start, score, first, last) == truth
    splits = [np.zeros(int(np.diff(start).max()), np.int64) for _ in range(2)]
    plain.count_splits(start, score, splits[0])
    compiled("lists").count_splits(start, score, splits[1])
    truth = [
        sum(j + 1 < b - a and score[a + j] == score[a + j + 1] for a, b in pairwise(start))
        for j in range(len(splits[0]))
    ]
    assert splits[0].tolist() == splits[1].tolist() == truth


def test_falls_asks_for_finite_numbers():
    for kernels in (plain, compiled("lists")):
        assert kernels.falls(np.array([0, 1, 3]), np.array([1.0, 3.0, 2.0]), 0, 2)
        assert not kernels.falls(np.array([0, 1, 3]), np.array([1.0, 3.0, -np.inf]), 0, 2)
        assert not kernels.falls(np.array([0, 1, 3]), np.array([np.nan, 3.0, 2.0]), 0, 2)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 2, 100, 256, 257, 400])
@pytest.mark.parametrize("equals", [False, True])
def test_order_lists_of_any_length(length, equals, kind):
    rng = np.random.default_rng(length)
    score = rng.integers(0, length, 3 * length) if equals else rng.permutation(3 * length)
    start, item = np.arange(4) * length, rng.permutation(3 * length).astype(np.int32)
    found = []
    for kernels in (plain, compiled("lists")):
        own_score, own_item = score.astype(kind), item.copy()
        assert kernels.order_lists(start, own_score, own_item, np.arange(3), np.uint64(5), False, 0, 3) == -1
        assert all((np.diff(own_score[a : a + length]) <= 0).all() for a in start[:3])
        assert dict(zip(own_item.tolist(), own_score.tolist())) == dict(zip(item.tolist(), score.tolist()))
        found.append((own_score.tolist(), own_item.tolist()))
    assert found[0] == found[1]


@given(data=st.data(), users=st.sampled_from([1, 7, 64, 300, 5000]), scored=st.booleans(), kind=st.sampled_from(FLOATS))
def test_group_lists(data, users, scored, kind):
    codes = data.draw(st.lists(st.integers(-1, users - 1), max_size=30))
    array, item = np.array(codes, np.int32), np.arange(100, 100 + len(codes), dtype=np.int32)
    score = -item.astype(kind) if scored else np.empty(0, kind)
    truth = [100 + j for code in range(users) for j, c in enumerate(codes) if c == code]
    for kernels in (plain, compiled("lists")):
        for keep in (True, False):
            start, given = np.zeros(users + 1, np.int64), (array.copy(), item.copy())
            out_item, out_score = kernels.group_lists(given[0], start, given[1], score, keep=keep)
            assert start.tolist() == [sum(0 <= c < code for c in codes) for code in range(users + 1)]
            assert out_item.tolist() == truth
            assert out_score.tolist() == ([-i for i in truth] if scored else [])
            assert not keep or (given[0].tolist(), given[1].tolist()) == (codes, item.tolist())


@given(codes=st.lists(st.integers(-1, 6), max_size=30))
def test_grouped_starts(codes):
    array = np.array(codes, np.int32)
    bounds = [sum(c < code for c in codes) for code in range(8)]
    grouped = codes == sorted(codes) and -1 not in codes
    for kernels in (plain, compiled("lists")):
        start = np.zeros(8, np.int64)
        assert kernels.grouped_starts(array, start) == grouped
        assert start.tolist() == (bounds if grouped else [0] * 8)


@given(places=st.lists(st.integers(0, 4), max_size=30), kind=st.sampled_from(["<i4", "<f8", "|b1"]))
def test_take(places, kind):
    values, where = np.array([3, 0, 1, 7, 2]).astype(kind), np.array(places, np.int32)
    for kernels in (plain, compiled("lists")):
        out = np.empty(len(places), values.dtype)
        kernels.take(values, where, out)
        np.testing.assert_array_equal(out, [values[place] for place in places])
    into = where.copy()
    compiled("lists").take(np.array([4, 3, 2, 1, 0], np.int32), into, into)  # in place
    assert into.tolist() == [4 - place for place in places]


@given(
    users=st.lists(st.integers(0, 2), min_size=1, max_size=8),
    score=st.lists(st.sampled_from([3.0, 2.0, 1.0, 0.0, math.inf, math.nan]), min_size=8, max_size=8),
    falling=st.booleans(), goes_on=st.booleans(), before=st.sampled_from([4.0, 1.5]), kind=st.sampled_from(FLOATS),
)  # fmt: skip
def test_list_heads(users, score, falling, goes_on, before, kind):
    key, heads = np.array(users, np.uint64), np.empty(len(users), np.int32)
    score = [-float(j) for j in range(len(users))] if falling else score[: len(users)]
    new = [not goes_on, *(one != other for one, other in pairwise(users))]
    above = [before, *score]
    sound = all(math.isfinite(own) and (n or own < last) for own, n, last in zip(score, new, above))
    column, last = np.array(score, kind), np.dtype(kind).type(before)
    kernel = compiled("lists").list_heads
    number = kernel(key, key, np.uint64(9), column, goes_on, last, heads)
    assert number == (sum(new) if sound else -1)
    assert not sound or heads[:number].tolist() == [j for j, is_new in enumerate(new) if is_new]
    assert kernel(key, key << np.uint64(40), np.uint64(9), column, goes_on, last, heads) == number
    assert kernel(key + np.uint64(10), key, np.uint64(9), column, goes_on, last, heads) == -2  # too long


@given(
    lists=st.lists(st.lists(st.integers(0, 5), max_size=7), min_size=1, max_size=5),
    cut=st.integers(0, 40), depth=st.integers(0, 8),
)  # fmt: skip
def test_first_items_are_kept_whatever_the_pieces(lists, cut, depth):
    rows = [(u, item) for u, items in enumerate(lists) for item in items]
    last_list, kept, kept_marked = np.full(6, -1, np.int32), [], []
    words, table = np.zeros(1, np.uint64), (np.zeros(16, np.int64), np.full(16, -1, np.int32))
    cut = min(cut, len(rows))
    for piece, begun in ((rows[:cut], []), (rows[cut:], rows[:cut])):
        if not piece:
            continue
        items = np.array([item for _, item in piece])
        first = piece[0][0]
        bounds = [0, *(j for j in range(1, len(piece)) for _ in range(piece[j][0] - piece[j - 1][0])), len(piece)]
        before = min(depth, sum(u == first for u, _ in begun))
        given = np.array(bounds), first, before, depth
        out, out_marked = np.empty(len(piece), np.int32), np.empty(len(piece), np.int64)
        number = compiled("lists").keep_first(items.astype(np.int32), *given, last_list, out)
        kept.append(None if number < 0 else out[:number].tolist())
        number = compiled("lists").keep_marked(7 * items - 9, *given, -64, words, *table, out_marked)
        kept_marked.append(None if number < 0 else out_marked[:number].tolist())
    doubled = any(len(set(items)) < len(items) for items in lists)
    assert (None in kept) == (None in kept_marked) == doubled
    if not doubled:
        assert [item for part in kept for item in part] == [item for items in lists for item in items[:depth]]
        assert [value for part in kept_marked for value in part] == [7 * item - 9 for part in kept for item in part]


@given(st.sets(st.integers(-1000, 1000), min_size=1))
def test_marked_numbers(drawn):
    numbers = sorted(drawn)
    low = numbers[0] // 64 * 64
    words = np.zeros((numbers[-1] - low) // 64 + 1, np.uint64)
    for number in numbers:
        words[(number - low) // 64] |= np.uint64(1 << (number - low) % 64)
    assert compiled("lists").marked_integers(words, low).tolist() == numbers
    out = np.empty(len(numbers), np.int32)
    upto = np.cumsum(np.bitwise_count(words), dtype=np.int32)
    compiled("lists").rank_marked(np.array(numbers[::-1]), low, words, upto, out)
    assert out.tolist() == list(range(len(numbers)))[::-1]


@given(
    low=st.integers(-(2**63), 2**63 - 20), span=st.integers(1, 20), seed=st.integers(0, 2**32),
    far=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
)  # fmt: skip
def test_look_up_and_mark_present(low, span, seed, far):
    rng = np.random.default_rng(seed)
    table = rng.permutation(np.arange(-1, span - 1)).astype(np.int32)
    near = [low + int(j) for j in rng.integers(-3, span + 3, 10) if -(2**63) <= low + int(j) < 2**63]
    values = np.array([*near, *far], np.int64)
    truth = [int(table[v - low]) if 0 <= v - low < span else -1 for v in values.tolist()]
    for kind in ("plain", "compiled"):
        with use_kernels(kind):
            assert look_up(values, low, table).tolist() == truth
    inside = np.array([v for v in values.tolist() if 0 <= v - low < span], np.int64)
    marks = [np.zeros(span, bool) for _ in range(2)]
    plain.mark_present(inside, np.int64(low), marks[0])
    compiled("lists").mark_present(inside, np.int64(low), marks[1])
    assert marks[0].tolist() == marks[1].tolist() == [low + j in inside.tolist() for j in range(span)]


@pytest.mark.parametrize("kind", ["plain", "compiled"])
@pytest.mark.parametrize(
    ("values", "low", "codes"),
    [
        (np.array([2**63 - 1, 2**63 - 5, 0, -(2**63)]), 2**63 - 5, [4, 0, -1, -1]),
        (np.array([2**64 - 1, 2**64 - 5, 2**63, 0], np.uint64), 2**64 - 5, [4, 0, -1, -1]),
        (np.array([1, -1]), 2**63 + 1, [-1, -1]),
        (np.array([2**63 + 1, 2, 0], np.uint64), -2, [-1, 4, 2]),
    ],
    ids=["top of int64", "top of uint64", "signed ids, unsigned table", "unsigned ids, signed table"],
)
def test_look_up_at_the_ends_of_the_integers(kind, values, low, codes):
    with use_kernels(kind):
        assert look_up(values, low, np.arange(5, dtype=np.int32)).tolist() == codes


@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), kind=st.sampled_from(KINDS),
    dtype=st.sampled_from(FLOATS), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_sort_down(lengths, kind, dtype, seed):
    start = np.concatenate([[0], np.cumsum(lengths)])
    values = rows_of(kind, (1, int(start[-1])), seed, dtype)[0]
    left, right = values.copy(), values.copy()
    plain.sort_down(start, left)
    compiled("lists").sort_down(start, right)
    truth = [x for a, b in pairwise(start) for x in sorted(values[a:b].tolist(), reverse=True)]
    assert left.tolist() == right.tolist() == truth


@settings(max_examples=20)
@given(distinct=st.integers(1, 3000), crowded=st.booleans(), seed=st.integers(0, 2**32))
def test_hash_kernels_know_what_a_dictionary_knows(distinct, crowded, seed):
    """Keys that share a slot, keys equal in one half only, tables that grow: equal keys and no others meet."""
    rng = np.random.default_rng(seed)
    # crowded: few left halves, all in the last slots of any table, so that searches go round its end
    left = np.uint64(2**64 - 1) - rng.integers(0, 3, distinct).astype(np.uint64) if crowded else None
    left = rng.integers(0, 2**63, distinct).astype(np.uint64) if left is None else left
    keys = sorted(set(zip(left.tolist(), rng.integers(0, 200 if crowded else 2**63, distinct).tolist())))
    asked = [keys[j] for j in rng.integers(0, len(keys), 2 * distinct)]
    halves = [np.array(half, np.uint64) for half in zip(*asked)]
    rows = compiled("lists").first_rows(*halves)
    assert rows.tolist() == [asked.index(key) for key in dict.fromkeys(asked)]
    known = [key for j, key in enumerate(keys) if j % 2 == 0]
    size = 1 << max(10, (2 * len(known)).bit_length())
    table = compiled("lists").hash_table(*(np.array(half, np.uint64) for half in zip(*known)), size)
    out = np.full(len(asked), 77, np.int32)
    compiled("lists").look_up_keys(*halves, *table, out)
    place = {key: j for j, key in enumerate(known)}
    assert out.tolist() == [place.get(key, -1) for key in asked]


@given(
    seed=st.integers(0, 2**32),
    carried=st.booleans(),
    values=st.sampled_from([9, 10**9]),
    longest=st.sampled_from([30, 400]),
)
@settings(max_examples=30)
def test_segments_are_sorted_and_equals_keep_their_order(seed, carried, values, longest):
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, longest, 6))])
    values = rng.integers(0, values, start[-1]).astype(np.int32)
    for module in (plain, compiled("lists")):
        found, places = values.copy(), np.arange(start[-1]) if carried else np.empty(0, np.int64)
        for first, last in ((0, 2), (2, 6)):
            module.sort_up(start, found, places, first, last)
        wanted = [i for a, b in pairwise(start) for i in sorted(range(a, b), key=lambda i: (values[i], i))]
        assert found.tolist() == values[wanted].tolist()
        assert not carried or places.tolist() == wanted


@pytest.mark.parametrize("seed", range(5))
def test_seen_items_are_counted(seed: int):
    rng = np.random.default_rng(seed)
    lists, own = ([rng.permutation(12)[: rng.integers(0, 9)] for _ in range(7)] for _ in range(2))
    own = [np.sort(items) for items in own]
    columns = []
    for rows in (lists, own):
        columns += [np.cumsum([0, *map(len, rows)]), np.concatenate([*rows, np.empty(0)]).astype(np.int32)]
    for depth, (first, last) in ((1, (0, 7)), (4, (2, 5)), (99, (0, 7)), (3, (3, 3))):
        truth = sum(item in own[u] for u in range(first, last) for item in lists[u][:depth])
        for module in (plain, compiled("seen")):
            assert module.count_seen(*columns, depth, first, last) == truth
