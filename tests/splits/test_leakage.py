"""Leakage: counts against loops over all pairs of rows, verdicts, examples."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.interactions import Interactions
from trueval.splits import Parts, leakage, split


def random_log(size: int, seed: int, *, name: str = "log") -> Interactions:
    rng = np.random.default_rng(seed)
    columns = {"user": 6, "item": 8, "value": 2, "time": 12}
    return Interactions.of(pl.DataFrame({c: rng.integers(0, high, size) for c, high in columns.items()}), name=name)


LOGS = st.builds(random_log, st.integers(1, 30), st.integers(0, 10**6))


def looped(first: list[tuple], then: list[tuple]) -> dict[str, tuple[int, int]]:
    """Counts, and of how many, by loops over all rows of the part learned from and of the part it is used on."""
    own = [x for x in first if any(y[0] == x[0] for y in then) and x[3] > min(y[3] for y in then if y[0] == x[0])]
    early = [y for y in then if any(x[1] == y[1] for x in first) and y[3] < min(x[3] for x in first if x[1] == y[1])]
    return {
        "overlap": (sum(any(x[:2] == y[:2] for x in first) for y in then), len(then)),
        "own_future": (len(own), len(first)),
        "global_future": (sum(x[3] > min(y[3] for y in then) for x in first), len(first)),
        "early_items": (len(early), len(then)),
    }


@given(train=LOGS, test=LOGS, held=st.none() | LOGS, observed=st.none() | LOGS)
def test_counts_against_loops(train, test, held, observed):
    found = leakage(Parts(train, test, held, observed, how={"how": "given"}))
    logs = {"train": train, "validation": held, "test": test, "observed": observed}
    rows = {name: log.frame.rows() for name, log in logs.items() if log is not None}
    expected = {}
    for first, then in product(("train", "validation"), ("validation", "test", "observed")):
        if first != then and first in rows and then in rows:
            suffix = "" if (first, then) == ("train", "test") else f"_{first}_{then}"
            expected |= {name + suffix: told for name, told in looped(rows[first], rows[then]).items()}
    for name in rows:
        for place, role in enumerate(("users", "items")):
            ids = {row[place] for row in rows[name]}
            new = len(ids - {row[place] for row in rows["train"]})
            expected |= (
                {f"new_{role}" + ("" if name == "test" else f"_{name}"): (new, len(ids))} if name != "train" else {}
            )
    split_rows = [row for name in rows if name != "observed" for row in rows[name]]
    expected["duplicates"] = (sum(count - 1 for count in Counter(split_rows).values()), len(split_rows))
    repeated = sum(count - 1 for own in rows.values() for count in Counter(row[:2] for row in set(own)).values())
    expected["repeats"] = (repeated, sum(map(len, rows.values())))
    assert {check.name: (check.count, check.total) for check in found.checks} == expected
    for check in found.checks:
        assert check.share == check.count / check.total
        assert len(check.examples) <= 5
        assert (check.verdict == "ok") == (check.count == 0) == (len(check.examples) == 0)
    verdicts = {check.verdict for check in found.checks}
    assert found.verdict == ("wrong" if "wrong" in verdicts else "caution" if "caution" in verdicts else "ok")


@given(log=LOGS, seed=st.integers(0, 100))
def test_row_order_does_not_matter(log, seed):
    other = random_log(20, seed)
    shuffled = [one.keep(one.frame.sample(fraction=1, shuffle=True, seed=seed)) for one in (log, other)]
    before, after = leakage(Parts(log, other)), leakage(Parts(*shuffled))
    assert before.as_dict() == after.as_dict()
    assert all(x.examples.equals(y.examples) for x, y in zip(before.checks, after.checks))


def test_splits_that_respect_time_are_clean_and_others_say_so():
    log = random_log(2000, 3).frame.with_columns(time=pl.int_range(pl.len()), item=pl.int_range(pl.len()) % 400)
    log = Interactions.of(log.unique(["user", "item"], keep="first", maintain_order=True))
    clean = leakage(split(log, "temporal"))
    assert clean.verdict == "ok"
    for parts in split(log, "rolling", windows=3):
        assert leakage(parts)["global_future"].count == 0
    own = leakage(split(log, "user_temporal"))
    assert own["own_future"].verdict == "ok"
    assert own["global_future"].verdict == "caution"
    chance = leakage(split(log, "holdout"))
    assert chance["own_future"].share > 0.5
    assert chance.verdict == "caution"
    cold = leakage(split(log, "kfold", n=3, over="users")[0])
    assert cold["new_users"].share == 1


@pytest.mark.parametrize("how", ["temporal", "rolling", "user_temporal"])
def test_a_broken_promise_is_wrong(how):
    train = Interactions.of(pl.DataFrame({"user": [1, 2], "item": [1, 2], "time": [9, 1]}))
    test = Interactions.of(pl.DataFrame({"user": [1], "item": [2], "time": [5]}))
    assert leakage(Parts(train, test, how={"how": how})).verdict == "wrong"
    assert leakage(Parts(train, test, how={"how": "holdout"})).verdict == "caution"


def test_without_times():
    rows = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2]})
    found = leakage(Parts(Interactions.of(rows[:3]), Interactions.of(rows[3:])))
    assert found.verdict == "caution"
    for name in ("own_future", "global_future", "early_items"):
        assert found[name].count is None
        assert found[name].verdict == "unknown"
        assert found[name].meaning.startswith("unknown: no time column")
    assert "unknown: no time column" in str(found)


def test_table_and_text():
    rows = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]})
    found = leakage(Parts(Interactions.of(rows), Interactions.of(rows[1:2])))
    table = found.table()
    assert table.columns == ["check", "count", "share", "verdict", "meaning", "do"]
    assert table.filter(check="overlap").row(0)[1:4] == (1, 1.0, "wrong")
    assert found["overlap"].examples.rows() == [(1, 2, 2)]
    assert str(found).splitlines()[0] == "leakage: wrong"
    assert all(check.name in str(found) for check in found.checks)
