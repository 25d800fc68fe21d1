"""Cuts of the whole log: strictly before, from the cut on, and nobody without history unless asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trueval import evaluate
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.splits import leakage, split
from trueval.splits.temporal import moment


def random_log(size: int, times: int, seed: int) -> Interactions:
    rng = np.random.default_rng(seed)
    columns = {"user": 8, "item": 8, "time": times}
    return Interactions.of(pl.DataFrame({name: rng.integers(0, high, size) for name, high in columns.items()}))


LOGS = st.builds(random_log, st.integers(20, 80), st.integers(5, 60), st.integers(0, 10**6))


NEW = "unseen before the cut"


def pairs(frame: pl.DataFrame | None) -> list[tuple[int, ...]]:
    return [] if frame is None else sorted(row[:3] for row in frame.rows())


@given(log=LOGS, ratio=st.sampled_from([0.1, 0.25, 0.4]))
def test_cut_is_strict_and_as_late_as_the_share_allows(log, ratio):
    times = log.frame["time"].to_numpy()
    wanted = ceil(Fraction(str(ratio)) * len(log))
    late_enough = [int(t) for t in np.unique(times) if (times >= t).sum() >= wanted]
    assume(late_enough[-1] > times.min())
    parts = split(log, "temporal", ratio=ratio, unseen="keep")
    assert parts.how["cut"] == late_enough[-1]
    assert parts.train.frame["time"].max() < parts.how["cut"] <= parts.test.frame["time"].min()
    assert parts.dropped is None
    assert len(parts.test) >= wanted


@given(log=LOGS, at=st.integers(2, 12))
def test_unseen_are_dropped_with_the_reason(log, at):
    times = log.frame["time"].to_numpy()
    assume(times.min() < at <= times.max())
    before = [row for row in log.frame.rows() if row[2] < at]
    users, items = {row[0] for row in before}, {row[1] for row in before}
    later = [row for row in log.frame.rows() if row[2] >= at]
    known = sorted(row for row in later if row[0] in users and row[1] in items)
    assume(known)
    parts = split(log, "temporal", at=at)
    assert pairs(parts.test.frame) == known
    assert pairs(parts.train.frame) == sorted(before)
    for user, item, _, reason in parts.dropped.rows() if parts.dropped is not None else []:
        assert reason == f"{'item' if user in users else 'user'} unseen before the cut"
        assert user not in users or item not in items
    report = parts.report()
    assert report["unseen_users"] == report["unseen_items"] == report["unseen_rows"] == 0
    kept = split(log, "temporal", at=at, unseen="keep").report()
    assert kept["unseen_users"] == len({row[0] for row in later} - users)
    assert kept["unseen_items"] == len({row[1] for row in later} - items)
    assert kept["unseen_rows"] == len(later) - len(known)


def test_validation_lies_between_train_and_test():
    log = random_log(200, 100, 1)
    parts = split(log, "temporal", ratio=0.2, validation=0.2, unseen="keep")
    train, held, test = (part.frame["time"] for part in (parts.train, parts.validation, parts.test))
    assert train.max() < held.min()
    assert held.max() < test.min()
    assert 40 <= len(held) < 50


@given(log=LOGS, ratio=st.sampled_from([0.2, 0.3]), validation=st.sampled_from([0.2, 0.5, 0.65]))
def test_seen_is_what_is_in_train(log, ratio, validation):
    """Nobody is tested or validated whom a system fitted on train never saw, and every drop has the true reason."""
    try:
        kept = split(log, "temporal", ratio=ratio, validation=validation, unseen="keep")
        parts = split(log, "temporal", ratio=ratio, validation=validation)
    except DataError:
        assume(False)
    assert pairs(parts.train.frame) == pairs(kept.train.frame)
    users, items = set(kept.train.frame["user"]), set(kept.train.frame["item"])
    held_users, held_items = set(kept.validation.frame["user"]), set(kept.validation.frame["item"])
    expected = []
    for part, own in (("validation", kept.validation), ("test", kept.test)):
        stay = [row[:3] for row in own.frame.rows() if row[0] in users and row[1] in items]
        assert pairs(getattr(parts, part).frame) == sorted(stay)
        for user, item, time in own.frame.rows():
            if user in users and item in items:
                continue
            role, held = ("item", item in held_items) if user in users else ("user", user in held_users)
            if part == "validation":
                expected.append((user, item, time, f"validation: {role} unseen in train"))
            else:
                expected.append((user, item, time, f"{role} {'first seen in validation' if held else NEW}"))
    assert sorted([] if parts.dropped is None else parts.dropped.rows()) == sorted(expected)
    assert parts.report()["unseen_rows"] == 0
    assert parts.rows == len(log)


def test_splitting_again_without_validation_tests_those_first_seen_in_it():
    log = random_log(200, 100, 1)
    held, whole = split(log, "temporal", ratio=0.2, validation=0.7), split(log, "temporal", ratio=0.2)
    assert held.how["cut"] == whole.how["cut"]
    first_seen = [row[:3] for row in held.dropped.rows() if row[3].endswith("first seen in validation")]
    assert first_seen
    assert pairs(whole.test.frame) == sorted([*pairs(held.test.frame), *first_seen])


def test_users_lost_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Train knows user 1; users 2 and 3 first come in validation, user 4 in test."""
    rows = [(1, 1, t) for t in range(6)] + [(2, 1, 6), (3, 1, 7), (1, 1, 8), (2, 1, 9), (3, 1, 10), (4, 1, 11)]
    log = Interactions.of(pl.DataFrame([*rows, (1, 1, 12), (1, 1, 13)], schema=["user", "item", "time"], orient="row"))
    parts = split(log, "temporal", at=9, validation=0.2)
    told = capsys.readouterr().err
    assert (
        "3 of 5 later rows were dropped from test: user unseen before the cut 1, user first seen in validation 2; "
        "3 of 4 users have no row left in it" in told
    )
    assert "2 of 3 later rows were dropped from validation: user unseen in train 2; 2 of 3 users" in told
    assert "2 dropped: user first seen in validation (2 users)" in str(parts)
    audit = leakage(parts)
    assert audit["new_users"].meaning == "users of test without train rows (3 more were dropped)"
    assert audit["new_users_validation"].meaning == "users of validation without train rows (2 more were dropped)"
    assert audit["new_items"].meaning == "items of test without train rows"
    assert len(split(log, "temporal", at=9, validation=0.2, unseen="keep").test) == 5


@given(log=LOGS, windows=st.integers(2, 4))
def test_windows_follow_each_other(log, windows):
    try:
        rolled = split(log, "rolling", windows=windows, ratio=0.6, unseen="keep")
    except DataError as problem:
        assume("coarse" not in problem.what and "nothing happened" not in problem.what)
        raise
    assert len(rolled) == windows
    tested = pl.concat([parts.test.frame for parts in rolled])
    first = rolled[0].how["from"]
    assert pairs(tested) == pairs(log.frame.filter(pl.col("time") >= first))
    for number, parts in enumerate(rolled):
        begin, end = parts.how["from"], parts.how["to"]
        assert pairs(parts.train.frame) == pairs(log.frame.filter(pl.col("time") < begin))
        assert (end is None) == (number == windows - 1)
        if end is not None:
            assert parts.test.frame["time"].max() < end == rolled[number + 1].how["from"]
            assert parts.report()["reasons"] == {"after the window": log.frame.filter(pl.col("time") >= end).height}


def test_windows_at_given_moments():
    log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": [1] * 10, "time": range(10)}))
    rolled = split(log, "rolling", at=[4, 7])
    assert [(len(p.train), len(p.test), p.report()["dropped"]) for p in rolled] == [(4, 3, 3), (7, 3, 0)]


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize(
    "at",
    [
        "2000-12-31",
        date(2000, 12, 31),
        datetime(2000, 12, 31),
        "2000-12-31T01:00:00+01:00",
        datetime(2000, 12, 31, tzinfo=UTC),
    ],
)
def test_dates_on_the_clock_of_the_log(scale, at):
    times = np.array([900_000_000, 1_100_000_000]) * scale
    assert moment(at, times, split="temporal") == 978_220_800 * scale


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
def test_dates_on_a_clock_that_ended_before_2001(scale):
    """MovieLens of 1998 in milliseconds has 12 digits, where times of today have 13."""
    times = np.array([870_000_000, 900_000_000]) * scale
    assert moment("1998-01-01", times, split="temporal") == 883_612_800 * scale


def test_numbers_are_on_the_scale_of_the_log():
    times = np.array([10, 20])
    assert [moment(at, times, split="temporal") for at in (15, "15", 14.5, np.int64(15))] == [15] * 4
    dates = Interactions.of(pl.DataFrame({"user": [1, 1], "item": [1, 1], "time": ["2020-01-01", "2020-03-01"]}))
    parts = split(dates, "temporal", at="2020-02-01")
    assert (len(parts.train), len(parts.test)) == (1, 1)


@pytest.mark.parametrize(
    ("how", "options", "word"),
    [
        ("temporal", {"at": 5, "ratio": 0.2}, "not both"),
        ("temporal", {"at": 0}, "outside the time range of the log"),
        ("temporal", {"at": 10}, "outside the time range of the log"),
        ("temporal", {"at": "2020-01-01"}, "outside the time range of the log"),
        ("temporal", {"at": "soon"}, "could not be read"),
        ("temporal", {"at": [1, 2]}, "could not be read"),
        ("temporal", {"at": float("nan")}, "could not be read"),
        ("temporal", {"unseen": "kept"}, "did you mean keep"),
        ("temporal", {"seeds": 3}, "no option 'seeds'"),
        ("rolling", {"windows": 0}, "1 or more"),
        ("rolling", {"windows": 2, "at": [3]}, "not both"),
        ("rolling", {"at": [5, 3]}, "in order"),
        ("rolling", {"at": []}, "in order"),
    ],
)
def test_bad_cuts(how, options, word):
    log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": [1] * 10, "time": range(10)}))
    with pytest.raises(DefinitionError, match=word):
        split(log, how, **options)


def test_impossible_cuts_say_what_is_possible():
    log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": [1] * 10, "time": [1] * 7 + [2] * 3}))
    with pytest.raises(DataError, match=r"at most 0\.3"):
        split(log, "temporal", ratio=0.5)
    assert len(split(log, "temporal", ratio=0.3).test) == 3
    with pytest.raises(DataError, match="too coarse"):
        split(log, "rolling", windows=3, ratio=0.3)
    with pytest.raises(DataError, match="no row for train"):
        split(log, "temporal", ratio=0.3, validation=0.2)
    late = log.keep(pl.concat([log.frame.with_columns(time=1)] * 2_000 + [log.frame[:1].with_columns(time=2)]))
    with pytest.raises(DataError, match=r"at most 0\.00004"):  # 1 of 20,001
        split(late, "temporal", ratio=0.5)
    assert len(split(late, "temporal", ratio=0.00004).test) == 1
    same = log.keep(log.frame.with_columns(time=pl.lit(1, pl.Int64)))
    with pytest.raises(DataError, match="holdout"):
        split(same, "temporal")


def newcomers(share: float) -> Interactions:
    """Ten users from the beginning, and after the cut at 100 a share of rows of users never seen before."""
    before = pl.DataFrame({"user": np.arange(100) % 10, "item": np.arange(100) % 7, "time": np.arange(100)})
    new = np.diff(np.floor(np.arange(201) * share + 1e-9)) > 0  # spread evenly
    user = np.where(new, 1000 + np.arange(200), np.arange(200) % 10)
    after = pl.DataFrame({"user": user, "item": np.arange(200) % 7, "time": 100 + np.arange(200)})
    return Interactions.of(pl.concat([before, after]))


def test_dropped_rows_are_told_where_a_python_user_looks(capsys: pytest.CaptureFixture[str]) -> None:
    parts = split(newcomers(0.85), "temporal", at=100)
    said = "170 of 200 later rows were dropped from test: user unseen before the cut 170"
    assert said in capsys.readouterr().err
    assert "dropped 170" in repr(parts)
    assert "170 dropped: user unseen before the cut" in str(parts)
    result = evaluate(parts, ["popularity"], design="AR-TI-AN-seen", metrics="ndcg@3")
    assert any(warning.startswith(said) for warning in result.warnings)
    folds = split(newcomers(0.85), "rolling", at=[100, 200])
    assert "split rolling, part 1: 85 of 100 later rows" in capsys.readouterr().err
    assert all(parts.cautions for parts in folds)


def test_few_or_no_dropped_rows_are_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert split(newcomers(0.005), "temporal", at=100).cautions == []
    assert split(newcomers(0.85), "temporal", at=100, unseen="keep").cautions == []
    assert split(newcomers(0.85), "holdout").cautions == []
    assert capsys.readouterr().err == ""
