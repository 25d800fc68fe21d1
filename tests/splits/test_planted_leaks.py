"""Faults planted into clean splits: fifty of every kind, between every two parts, under every split; all are found.

A log whose pairs and times all differ has splits without any leak but those that the split itself allows. Fifty rows
are then added to a part so that each of them is a fault of one kind, and the check of that kind and of those parts must
count fifty more than before.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from trueval.data.interactions import Interactions
from trueval.errors import DataError
from trueval.splits import Parts, leakage, split

PLANTED = 50
USERS, ITEMS = 80, 120
SPLITS = {
    "temporal": {"ratio": 0.25, "validation": 0.25},
    "user_temporal": {"ratio": 0.25, "validation": 0.25},
    "leave_one_out": {"n": 5, "validation": 5},
    "holdout": {"ratio": 0.25, "validation": 0.25},
    "given": {},
    "rolling": {"windows": 2},
    "kfold": {"n": 4},
    "uniform_test": {"ratio": 0.2},
    "unbiased": {},
}
PAIRS = [("train", "test"), ("train", "validation"), ("validation", "test"), ("train", "observed")]
# Splits that leave no row of the future in train, for anybody or for each user.
ALL_IN_TIME, OWN_IN_TIME = (
    ("temporal", "given", "rolling"),
    ("temporal", "given", "rolling", "user_temporal", "leave_one_out"),
)


@cache
def clean_log() -> Interactions:
    """Every user and item is there all the time; the cells of a table of users and items, in random order."""
    rng = np.random.default_rng(5)
    cells = rng.permutation(USERS * ITEMS)[:6000]
    columns = {
        "user": cells // ITEMS,
        "item": cells % ITEMS,
        "value": rng.integers(1, 6, 6000),
        "time": np.arange(6000),
    }
    return Interactions.of(pl.DataFrame({name: column + 1000 * (name == "time") for name, column in columns.items()}))


@cache
def clean_parts(how: str) -> Parts:
    log = clean_log()
    if how == "given":
        made = split(log, "temporal", **SPLITS["temporal"])
        return split(made.train, "given", test=made.test, validation=made.validation)
    if how == "unbiased":
        half = log.frame["item"] % 2 == 0  # tested without bias are other pairs than the log has
        return split(log.keep(log.frame.filter(~half | (log.frame["time"] % 2 == 0))), "unbiased",
                     mar=log.keep(log.frame.filter(half & (log.frame["time"] % 2 == 1))))  # fmt: skip
    made = split(log, how, **SPLITS[how])
    return made if isinstance(made, Parts) else made[-1]


def cases() -> list[tuple[str, tuple[str, str]]]:
    return [
        (how, pair) for how in SPLITS for pair in PAIRS
        if all(getattr(clean_parts(how), name) is not None for name in pair)
    ]  # fmt: skip


def suffix(pair: tuple[str, str]) -> str:
    return "" if pair == ("train", "test") else f"_{pair[0]}_{pair[1]}"


def with_rows(parts: Parts, name: str, rows: pl.DataFrame) -> Parts:
    log = getattr(parts, name)
    return replace(
        parts, **{name: log.keep(pl.concat([log.frame, rows.select(log.frame.columns).cast(dict(log.frame.schema))]))}
    )


def some(frame: pl.DataFrame, number: int = PLANTED) -> pl.DataFrame:
    return frame.sample(number, seed=7, shuffle=True)


def counts(parts: Parts) -> dict[str, int | None]:
    return {check.name: check.count for check in leakage(parts).checks}


def free_pairs(frame: pl.DataFrame, *others: Interactions | None) -> pl.DataFrame:
    """The rows with other items, so that no part has their pairs."""
    taken = {row for log in others if log is not None for row in log.frame.select("user", "item").rows()}
    items = []
    for user in frame["user"]:
        item = next(item for item in range(ITEMS) if (user, item) not in taken)
        taken.add((user, item))
        items.append(item)
    return frame.with_columns(item=pl.Series(items, dtype=frame.schema["item"]))


@pytest.mark.parametrize("how", SPLITS)
def test_a_clean_split_is_clean(how):
    parts = clean_parts(how)
    allowed = {"new_items"} if how == "unbiased" else set()
    if how not in ALL_IN_TIME:
        allowed |= {"global_future", "early_items"}
    if how not in OWN_IN_TIME:
        allowed |= {"own_future"}
    for check in leakage(parts).checks:
        if not any(check.name.startswith(name) for name in allowed):
            assert (check.count, check.verdict) == (0, "ok"), check
    assert leakage(parts).verdict == ("ok" if how in ALL_IN_TIME else "caution")


@pytest.mark.parametrize("way", ["the same row", "another value", "another time"])
@pytest.mark.parametrize(("how", "pair"), cases())
def test_pairs_in_two_parts(how, pair, way):
    parts = clean_parts(how)
    first, then = (getattr(parts, name) for name in pair)
    rows = some(then.frame)
    if way == "another value":
        rows = rows.with_columns(value=6 - pl.col("value") + 0.5)
    if way == "another time":  # one at which the part learned from has rows
        rows = rows.with_columns(time=pl.lit(first.frame["time"].min()))
    before, found = counts(parts), leakage(with_rows(parts, pair[0], rows))
    check = found["overlap" + suffix(pair)]
    assert (before[check.name], check.count) == (0, PLANTED)
    assert found.verdict == check.verdict == "wrong"
    assert ("50 of them with a different value" in check.meaning) == (way == "another value")
    if "observed" not in pair:
        assert found["duplicates"].count == (PLANTED if way == "the same row" else 0)


@pytest.mark.parametrize(("how", "pair"), cases())
def test_rows_of_the_users_own_future(how, pair):
    parts = clean_parts(how)
    then = getattr(parts, pair[1])
    last = then.frame.group_by("user").agg(pl.col("time").max()).sort("user")
    users = some(last).with_columns(pl.col("time") + 1, value=3.0, item=0)
    rows = free_pairs(users.with_columns(pl.col("item").cast(then.frame.schema["item"])),
                      parts.train, parts.validation, parts.test, parts.observed)  # fmt: skip
    check = leakage(with_rows(parts, pair[0], rows))["own_future" + suffix(pair)]
    before = counts(parts)[check.name]
    assert check.count - before == PLANTED
    assert check.verdict == ("wrong" if how in OWN_IN_TIME and how != "given" else "caution")
    if how in OWN_IN_TIME:
        assert before == 0


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize(("how", "pair"), cases())
def test_rows_after_the_other_part_began(how, pair, late):
    """Of users whom the other part does not know; under a split at a moment, also at that very moment."""
    parts = clean_parts(how)
    first, then = (getattr(parts, name).frame for name in pair)
    rows = some(first).with_columns(user=pl.int_range(pl.len()) + 9000, time=then["time"].min() + late)
    check = leakage(with_rows(parts, pair[0], rows))["global_future" + suffix(pair)]
    before = counts(parts)[check.name]
    strict = how in ("temporal", "rolling")
    assert check.count - before == (PLANTED if late or strict else 0)
    assert check.verdict == ("wrong" if strict else "caution" if check.count else "ok")


@pytest.mark.parametrize(("how", "pair"), cases())
def test_items_before_they_were_known(how, pair):
    """Fifty items that the part learned from has first after they were used."""
    parts = clean_parts(how)
    new = some(getattr(parts, pair[0]).frame).with_columns(item=pl.int_range(pl.len()) + 9000)
    last = max(getattr(parts, name).frame["time"].max() for name in pair)
    later = with_rows(parts, pair[0], new.with_columns(time=pl.lit(last + 10)))
    planted = with_rows(later, pair[1], new.with_columns(time=pl.lit(last + 9), user=pl.int_range(pl.len()) + 9000))
    check = leakage(planted)["early_items" + suffix(pair)]
    assert check.count - counts(parts)[check.name] == PLANTED
    assert check.verdict == ("wrong" if how in ("temporal", "rolling") else "caution")


@pytest.mark.parametrize("role", ["user", "item"])
@pytest.mark.parametrize(("how", "name"), sorted({(how, pair[1]) for how, pair in cases()}))
def test_ids_without_train_rows(how, name, role):
    parts = clean_parts(how)
    rows = some(getattr(parts, name).frame).with_columns((pl.int_range(pl.len()) + 9000).alias(role))
    check = leakage(with_rows(parts, name, rows))[f"new_{role}s" + ("" if name == "test" else f"_{name}")]
    assert check.count - counts(parts)[check.name] == PLANTED
    assert check.verdict == "caution"


@pytest.mark.parametrize("way", ["the same row", "another value", "another time"])
@pytest.mark.parametrize(("how", "name"), sorted({(how, name) for how, pair in cases() for name in pair}))
def test_pairs_twice_in_one_part(how, name, way):
    parts = clean_parts(how)
    rows = some(getattr(parts, name).frame)
    if way == "another value":
        rows = rows.with_columns(value=6 - pl.col("value") + 0.5)
    if way == "another time":
        rows = rows.with_columns(pl.col("time") + 0.5)
        parts = replace(parts, **{
            part: log.keep(log.frame.with_columns(pl.col("time").cast(pl.Float64)))
            for part in ("train", "validation", "test", "observed") if (log := getattr(parts, part)) is not None
        })  # fmt: skip
    found = leakage(with_rows(parts, name, rows))
    same = way == "the same row"
    assert found["repeats"].count == (0 if same else PLANTED)
    assert found["duplicates"].count == (PLANTED if same and name != "observed" else 0)


def test_parts_whose_ids_are_of_two_types_are_refused_or_widened():
    log = clean_log().frame
    names = Interactions.of(log.with_columns(pl.col("user").cast(pl.String)), name="names")
    with pytest.raises(DataError, match="different types"):
        leakage(Parts(Interactions.of(log), Interactions.of(log), names))
    unsigned = log.with_columns(pl.col("user").cast(pl.UInt64))
    far = unsigned[:1].with_columns(user=pl.lit(2**63, pl.UInt64))
    wide = Interactions.of(pl.concat([unsigned, far]))
    assert wide.frame.schema["user"] == pl.UInt64
    found = leakage(Parts(Interactions.of(log[:10]), Interactions.of(log[10:20]), wide))
    assert found["overlap_validation_test"].count == 10
    assert found["new_users_validation"].count == wide.n_users - log[:10]["user"].n_unique()


def test_times_that_one_part_lacks_are_unknown_for_its_pairs_only():
    parts = clean_parts("temporal")
    held = parts.validation.keep(parts.validation.frame.drop("time"))
    found = leakage(replace(parts, validation=held))
    assert found["own_future"].verdict == "ok"
    assert found["own_future_train_validation"].verdict == found["own_future_validation_test"].verdict == "unknown"
    assert found.verdict == "caution"
