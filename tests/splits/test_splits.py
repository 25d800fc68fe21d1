"""Every split: no row lost, the same whatever the order of rows, and what the rule says."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError, TruevalError
from trueval.splits import Parts, all_splits, split
from trueval.splits.row_hashing import Coded, chain, coin, mix


def random_rows(size: int, users: int, times: int, seed: int) -> list[tuple[int, ...]]:
    """Rows with few users, items, values and times, so that everything repeats and ties."""
    rng = np.random.default_rng(seed)
    return list(zip(*(rng.integers(0, high, size).tolist() for high in (users, 7, 3, times))))


ROWS = st.builds(random_rows, st.integers(12, 60), st.integers(2, 6), st.integers(4, 30), st.integers(0, 10**6))
WAYS = [
    ("holdout", {"ratio": 0.3}),
    ("holdout", {"ratio": 0.3, "validation": 0.2}),
    ("holdout", {"ratio": 0.3, "by": "user"}),
    ("holdout", {"ratio": 0.3, "by": "user", "validation": 0.3}),
    ("holdout", {"ratio": 0.4, "min_user": 2, "min_item": 2}),
    ("kfold", {"n": 3}),
    ("kfold", {"n": 2, "over": "users"}),
    ("leave_one_out", {}),
    ("leave_one_out", {"which": "random", "n": 2, "validation": 1}),
    ("temporal", {"ratio": 0.3}),
    ("temporal", {"ratio": 0.3, "validation": 0.2, "unseen": "keep"}),
    ("temporal", {"at": 5, "min_item": 2}),
    ("user_temporal", {"ratio": 0.3, "validation": 0.2}),
    ("rolling", {"windows": 2, "unseen": "keep"}),
    ("rolling", {"at": [3, 6]}),
    ("uniform_test", {"ratio": 0.1, "round": "nearest"}),
    ("uniform_test", {"ratio": 0.05, "eps": 0.5, "threshold": 2, "round": "nearest"}),
]
# A split that was added since is tried as it comes.
WAYS += [(how, {}) for how in all_splits() if how not in dict(WAYS) and not all_splits()[how].tables]
IDS = [f"{how}-{number}" for number, (how, _) in enumerate(WAYS)]


def log_of(rows: list[tuple[int, ...]], **extra: object) -> Interactions:
    frame = pl.DataFrame(rows, schema=["user", "item", "value", "time"], orient="row")
    return Interactions.of(frame.with_columns(**extra))


def made(log: Interactions, how: str, **options: object) -> list[Parts]:
    parts = split(log, how, **options)
    return [parts] if isinstance(parts, Parts) else parts


def possible(log: Interactions, how: str, **options: object) -> list[Parts]:
    """The parts, or an example that Hypothesis leaves out because so few rows cannot be split so."""
    try:
        return made(log, how, **options)
    except TruevalError as problem:
        assume("no row" not in problem.what and "too coarse" not in problem.what)
        assume("no rows before the cut" not in problem.what)
        assume("fewer" not in problem.what and "no set of items" not in problem.what)
        assume("outside the time range of the log" not in problem.what and "no test rating" not in problem.what)
        raise


def pieces(parts: Parts) -> dict[str, Counter]:
    frames = {
        name: part.frame for name in ("train", "validation", "test") if (part := getattr(parts, name)) is not None
    }
    if parts.dropped is not None:
        frames["dropped"] = parts.dropped.drop("reason")
    return {name: Counter(frame.rows()) for name, frame in frames.items()}


@pytest.mark.parametrize(("how", "options"), WAYS, ids=IDS)
@settings(max_examples=8)
@given(rows=ROWS, seed=st.integers(0, 3))
def test_rows_are_conserved(how, options, rows, seed):
    log = log_of(rows)
    for parts in possible(log, how, seed=seed, **options):
        assert sum(pieces(parts).values(), Counter()) == Counter(log.frame.rows())
        report = parts.report()
        assert report["rows"] == len(log)
        assert report["train"] + report["validation"] + report["test"] + report["dropped"] == len(log)
        assert report["dropped"] == sum(report["reasons"].values())
        if parts.dropped is not None:
            assert parts.dropped["reason"].null_count() == 0


@pytest.mark.parametrize(("how", "options"), WAYS, ids=IDS)
@settings(max_examples=8)
@given(rows=ROWS, seed=st.integers(0, 3), order=st.randoms(use_true_random=False))
def test_row_order_changes_nothing(how, options, rows, seed, order):
    # the extra column tells equal rows apart, so the very same rows must be chosen
    log = log_of(rows, mark=pl.int_range(pl.len()))
    shuffled = list(range(len(rows)))
    order.shuffle(shuffled)
    before = possible(log, how, seed=seed, **options)
    after = made(log.keep(log.frame[shuffled]), how, seed=seed, **options)
    assert [pieces(parts) for parts in before] == [pieces(parts) for parts in after]
    plain = [
        made(one.keep(one.frame.drop("mark")), how, seed=seed, **options)
        for one in (log, log.keep(log.frame[shuffled]))
    ]
    assert [pieces(parts) for parts in plain[0]] == [pieces(parts) for parts in plain[1]]


@pytest.mark.parametrize(("how", "options"), WAYS, ids=IDS)
def test_how_tells_everything(how, options):
    log = log_of([(u, i, 1 + (u + i) % 3, (5 * u + 3 * i) % 10) for u in range(6) for i in range(7)])
    for parts in made(log, how, seed=7, **options):
        told = parts.how
        assert told["how"] == how
        for name, value in options.items():
            assert told[name] == value or str(value) == told[name] or [str(v) for v in value] == told[name]
        assert ("seed" not in told) or told["seed"] == 7


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("holdout", {"ratio": 0.3}),
        ("holdout", {"ratio": 0.3, "by": "user"}),
        ("temporal", {"ratio": 0.3, "unseen": "keep"}),
        ("user_temporal", {"ratio": 0.3}),
    ],
)
@settings(max_examples=15)
@given(rows=ROWS)
def test_validation_never_touches_test(how, options, rows):
    log = log_of(rows)
    (plain,) = possible(log, how, **options)
    (held,) = possible(log, how, validation=0.2, **options)
    assert pieces(plain)["test"] == pieces(held)["test"]


def test_ids_of_any_kind_split_the_same():
    rows = [(u, i, 1, u * i) for u in range(20) for i in range(10)]
    numbers = log_of(rows)
    names = Interactions.of(
        numbers.frame.with_columns(pl.format("u{}", pl.col("user").cast(pl.String).str.zfill(3)).alias("user"))
    )
    big = Interactions.of(numbers.frame.with_columns(user=pl.col("user") + 2**60))
    tests = [split(log, ratio=0.3).test.frame.select("item", "value", "time") for log in (numbers, names, big)]
    assert tests[0].equals(tests[1])
    assert tests[0].equals(tests[2])


def test_the_hash_is_frozen():
    # A split made today must be made again by later versions of every library.
    assert mix(np.array([42], np.uint64)).tolist() == [13679457532755275413]
    log = log_of([(u, i, 3, u) for u in range(3) for i in range(4)])
    assert Coded.of(log).hashes(0, "holdout")[:2].tolist() == [6770030127830764738, 1468372254648641000]
    assert [(u, i) for u, i, *_ in split(log, ratio=0.3).test.frame.rows()] == [
        (0, 1),
        (0, 2),
        (1, 2),
        (1, 3),
    ]


def test_coins_are_fair_and_unrelated():
    users, items = np.divmod(np.arange(200_000), 500)
    flips = [coin(chain(seed, "holdout", users, items)) for seed in (0, 1)]
    near = 5 / np.sqrt(12 * 500)
    assert abs(flips[0].mean() - 0.5) < 5 / np.sqrt(12 * len(users))
    assert np.abs(flips[0].reshape(400, 500).mean(axis=1) - 0.5).max() < near
    assert abs(np.corrcoef(*flips)[0, 1]) < 5 / np.sqrt(len(users))
    assert np.histogram(flips[0], 10, (0, 1))[0].std() < 3 * np.sqrt(20_000)


def test_identical_rows_have_chances_of_their_own():
    log = log_of([(1, 1, 1, 1)] * 4000)
    test = len(split(log, ratio=0.25).test)
    assert abs(test - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)


@given(rows=ROWS, ratio=st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_exact_share_of_each_user(rows, ratio):
    log = log_of(rows)
    (parts,) = possible(log, "holdout", ratio=ratio, by="user")
    tested = Counter(parts.test.frame["user"])
    for user, size in Counter(log.frame["user"]).items():
        rounded = int(Fraction(str(ratio)) * size + Fraction(1, 2))
        assert tested[user] == min(rounded, size - 1)


def test_folds_are_disjoint_and_cover_everything():
    log = log_of([(u, i, 1, 0) for u in range(11) for i in range(u + 2)])
    folds = split(log, "kfold", n=4)
    assert sum((Counter(parts.test.frame.rows()) for parts in folds), Counter()) == Counter(log.frame.rows())
    sizes = [len(parts.test) for parts in folds]
    assert max(sizes) - min(sizes) <= 1
    people = [set(parts.test.frame["user"]) for parts in split(log, "kfold", n=4, over="users")]
    assert sorted(user for fold in people for user in fold) == list(range(11))
    assert {len(fold) for fold in people} == {2, 3}


@given(rows=ROWS, n=st.integers(1, 2), held=st.integers(0, 2))
def test_leave_last_out(rows, n, held):
    log = log_of(rows)
    (parts,) = possible(log, "leave_one_out", n=n, validation=held)
    for user, size in Counter(log.frame["user"]).items():
        times = {
            name: sorted(row[3] for row in counter.elements() if row[0] == user)
            for name, counter in pieces(parts).items()
        }
        tested = size > n + held
        assert len(times["test"]) == (n if tested else 0)
        assert len(times.get("validation", [])) == (held if tested else 0)
        history = [*times["train"], *times.get("validation", []), *times["test"]]
        assert history == sorted(history)


@pytest.mark.parametrize("how", ["leave_one_out", "user_temporal"])
def test_ties_in_time_fall_to_chance(how):
    log = log_of([(u, i, 1, 0) for u in range(2000) for i in range(4)])
    options = {} if how == "leave_one_out" else {"ratio": 0.25}
    chosen = Counter(split(log, how, **options).test.frame["item"])
    assert all(abs(count - 500) < 5 * np.sqrt(2000 * 0.25 * 0.75) for count in chosen.values())
    again = split(log, how, seed=1, **options).test.frame
    assert not again.equals(split(log, how, **options).test.frame)


@given(rows=ROWS, ratio=st.sampled_from([0.2, 0.5]))
def test_own_last_share(rows, ratio):
    log = log_of(rows)
    (parts,) = possible(log, "user_temporal", ratio=ratio)
    for user, size in Counter(log.frame["user"]).items():
        train = [row[3] for row in parts.train.frame.rows() if row[0] == user]
        test = [row[3] for row in parts.test.frame.rows() if row[0] == user]
        assert len(test) == min(int(Fraction(str(ratio)) * size + Fraction(1, 2)), size - 1)
        assert not test or max(train) <= min(test)


@given(rows=ROWS, least=st.integers(2, 4))
def test_core_is_the_largest_with_enough_rows(rows, least):
    kept = list(rows)
    while True:
        users, items = Counter(r[0] for r in kept), Counter(r[1] for r in kept)
        smaller = [r for r in kept if users[r[0]] >= least and items[r[1]] >= least]
        if smaller == kept:
            break
        kept = smaller
    assume(kept)
    (parts,) = possible(log_of(rows), "holdout", ratio=0.5, min_user=least, min_item=least)
    used = Counter(
        (int(u), int(i), int(v), int(t)) for part in (parts.train, parts.test) for u, i, v, t in part.frame.rows()
    )
    assert used == Counter(kept)


@pytest.mark.parametrize(
    ("how", "options", "word"),
    [
        ("holdot", {}, "did you mean holdout"),
        ("holdout", {"ration": 0.2}, "did you mean ratio"),
        ("holdout", {"ratio": 0}, "share between 0 and 1"),
        ("holdout", {"ratio": 1.0}, "share between 0 and 1"),
        ("holdout", {"ratio": "0.2"}, "share between 0 and 1"),
        ("holdout", {"ratio": True}, "share between 0 and 1"),
        ("holdout", {"ratio": float("nan")}, "must be a finite number"),
        ("holdout", {"by": "users"}, "did you mean user"),
        ("holdout", {"ratio": 0.6, "validation": 0.4}, "nothing to train on"),
        ("holdout", {"seed": -1}, "seed must be"),
        ("holdout", {"seed": 1.5}, "seed must be"),
        ("holdout", {"min_user": 2.5}, "min_user must be"),
        ("holdout", {"min_item": 999}, "no row is left"),
        ("kfold", {"n": 1}, "2 or more"),
        ("kfold", {"over": "user"}, "did you mean users"),
        ("leave_one_out", {"n": 0}, "1 or more"),
        ("leave_one_out", {"which": "first"}, "available: last, random"),
        ("leave_one_out", {"validation": 0.1}, "whole number"),
        ("user_temporal", {"ratio": 2}, "share between"),
        ("given", {}, "second table"),
        ("unbiased", {}, "second table"),
    ],
)
def test_bad_definitions(how, options, word):
    log = log_of([(u, i, 1, i) for u in range(4) for i in range(4)])
    with pytest.raises(DefinitionError, match=word):
        split(log, how, **options)


@pytest.mark.parametrize("how", ["leave_one_out", "temporal", "user_temporal", "rolling"])
def test_times_are_needed(how):
    log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 3]}))
    with pytest.raises(DataError, match="needs times"):
        split(log, how)


def test_parts_are_never_empty():
    log = log_of([(1, 1, 1, 1)])
    with pytest.raises(DataError, match="no row for test"):
        split(log, "leave_one_out")
    with pytest.raises(DataError, match="fewer ratings than folds"):
        split(log, "kfold")


def test_frames_are_read():
    frame = pl.DataFrame({"userId": [1] * 9, "movieId": range(9)})
    parts = tv.split(frame, "holdout", by="user", ratio=0.3)
    assert (len(parts.train), len(parts.test)) == (6, 3)
    named = "holdout kfold uniform_test leave_one_out rolling temporal user_temporal given unbiased"
    assert [how for how in all_splits() if how in named.split()] == named.split()
