"""Splits by time hold out what is really last, whatever the clock: fractions, nanoseconds, time zones."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.data.interactions import Interactions
from trueval.splits import leakage, load_parts, save_parts, split
from trueval.splits.parts import Parts

USERS, EACH = 60, 12
START = 1_700_000_000


def order(seed: int) -> np.ndarray:
    """A different place in time for every row."""
    return np.random.default_rng(seed).permutation(USERS * EACH)


def iso(place: int) -> str:
    """Next ones a nanosecond apart, in changing zones."""
    zone = (0, 5, -8)[place % 3]
    second = datetime.fromtimestamp(START + zone * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{second}.{place:09d}{zone:+03d}:00"


CLOCKS = {
    "in [0, 1)": lambda place: pl.Series(place / len(place)),
    "tiny": lambda place: pl.Series(place * 1e-300),
    "negative": lambda place: pl.Series((place - len(place)) / 7),
    "unix fractions": lambda place: pl.Series(START + place / 1024),
    "nanoseconds": lambda place: pl.Series(START * 10**9 + place),
    "datetime[ns]": lambda place: pl.Series(START * 10**9 + place).cast(pl.Datetime("ns")),
    "text": lambda place: pl.Series([f"{START}.{p:09d}" for p in place.tolist()]),
    "iso": lambda place: pl.Series([iso(p) for p in place.tolist()]),
    "seconds": lambda place: pl.Series(START + place),
}


def world(clock: str, seed: int) -> tuple[Interactions, pl.DataFrame]:
    """A log, and the same rows with their true places in time."""
    place = order(seed)
    true = pl.DataFrame({"user": np.arange(len(place)) % USERS, "item": np.arange(len(place)) // 3, "place": place})
    times = CLOCKS[clock](place)
    return Interactions.of(true.drop("place").with_columns(times.alias("time"))), true


def placed(part: Interactions, log: Interactions, true: pl.DataFrame) -> pl.DataFrame:
    """A part with the true places of its rows; times are all different."""
    both = log.frame.with_columns(true["place"])
    return part.frame.join(both, on=["user", "item", "time"], how="inner", validate="1:1")


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_leave_one_out_holds_out_the_last_item_of_every_user(clock: str, seed: int) -> None:
    log, true = world(clock, seed)
    parts = split(log, "leave_one_out", seed=seed)
    last = true.sort("place").group_by("user").last().sort("user")
    assert parts.test.frame.sort("user")["item"].to_list() == last["item"].to_list()
    assert leakage(parts)["own_future"].count == 0


@pytest.mark.parametrize("clock", CLOCKS)
def test_splits_by_time_put_nothing_later_into_train(clock: str) -> None:
    log, true = world(clock, 5)
    cuts = [split(log, "temporal", ratio=0.3, validation=0.1), *split(log, "rolling", windows=3)]
    for parts in cuts:
        held = [part for part in (parts.validation, parts.test) if part is not None]
        earlier = placed(parts.train, log, true)["place"].max()
        assert all(earlier < placed(part, log, true)["place"].min() for part in held)
        assert leakage(parts)["global_future"].count == 0
    parts = split(log, "user_temporal", ratio=0.25)
    first = placed(parts.test, log, true).group_by("user").agg(pl.col("place").min().alias("first"))
    assert (
        (placed(parts.train, log, true).join(first, on="user").select(pl.col("place") < pl.col("first")))
        .to_series()
        .all()
    )


@pytest.mark.parametrize("clock", CLOCKS)
def test_leakage_counts_what_is_later(clock: str) -> None:
    """A split by chance, counted by hand from the true places."""
    log, true = world(clock, 9)
    parts = split(log, "holdout", ratio=0.3, seed=2)
    train, test = placed(parts.train, log, true), placed(parts.test, log, true)
    first = test.group_by("user").agg(pl.col("place").min().alias("first"))
    found = leakage(parts)
    assert found["global_future"].count == (train["place"] > test["place"].min()).sum()
    assert found["own_future"].count == len(train.join(first, on="user").filter(pl.col("place") > pl.col("first")))


@pytest.mark.parametrize("clock", CLOCKS)
def test_written_splits_keep_times_exactly(clock: str, tmp_path: Path) -> None:
    log, _ = world(clock, 1)
    parts = split(log, "temporal", ratio=0.3)
    back = load_parts(save_parts(parts, tmp_path / "parts", log=log))
    for name in ("train", "test"):
        before, after = getattr(parts, name), getattr(back, name)
        assert after.frame.equals(before.frame)
        assert after.fingerprint() == before.fingerprint()
    assert back.how["cut"] == parts.how["cut"]
    assert leakage(back).as_dict() == leakage(parts).as_dict()


def test_a_part_whose_times_happen_to_be_whole(tmp_path: Path) -> None:
    rows = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "time": [0.5, 3.0, 0.75, 4.0]})
    parts = split(Interactions.of(rows), "leave_one_out")
    assert parts.test.frame["time"].to_list() == [3.0, 4.0]
    back = load_parts(save_parts(parts, tmp_path / "parts"))
    assert back.test.frame.schema == parts.test.frame.schema
    given = Parts(parts.train, Interactions.of(parts.test.frame))  # read from two files: whole numbers in one
    assert leakage(given)["duplicates"].count == 0
    assert leakage(given)["global_future"].count == 0


def test_two_clocks_are_not_compared() -> None:
    """Seconds in one table and a date, in microseconds, in the other: nobody knows what is later."""
    train = pl.DataFrame({"user": [1, 1], "item": [1, 2], "time": [START + 100, START + 200]})
    test = pl.DataFrame({"user": [1], "item": [2], "time": [datetime.fromtimestamp(START, UTC)]})
    found = leakage(split(train, "given", test=test))
    assert [found[name].verdict for name in ("own_future", "global_future", "early_items")] == ["unknown"] * 3
    dates = train.with_columns(pl.from_epoch("time"))
    assert leakage(split(dates, "given", test=test))["own_future"].count == 2


@pytest.mark.parametrize(
    "at",
    [
        "2023-11-14T22:13:21.5Z", "2023-11-15T00:13:21.5+02:00", START + 1.5, "1.7000000015e9", "1700000001.5",
        np.datetime64("2023-11-14T22:13:21.500"), datetime(2023, 11, 14, 22, 13, 21, 500_000),
        datetime.fromtimestamp(START + 1.5, UTC).astimezone(),
    ],
)  # fmt: skip
@pytest.mark.parametrize("clock", ["floats", "ms", "us", "ns"])
def test_cuts_at_fractions_and_zones(at, clock: str) -> None:
    if isinstance(at, float | str) and str(at)[0] == "1" and clock != "floats":
        pytest.skip("numbers are on the scale of the log")
    seconds = np.arange(8) / 2 + START
    scale = {"floats": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[clock]
    times = seconds if clock == "floats" else (seconds * 2).astype(np.int64) * (scale // 2)
    log = Interactions.of(pl.DataFrame({"user": [1] * 8, "item": [1] * 8, "time": times}))
    parts = split(log, "temporal", at=at)
    assert parts.test.frame["time"].to_list() == times[3:].tolist()


def test_cuts_to_the_nanosecond() -> None:
    times = pl.Series([START * 10**9 + place for place in range(4)]).cast(pl.Datetime("ns", "UTC"))
    log = Interactions.of(pl.DataFrame({"user": [1] * 4, "item": [1] * 4, "time": times}))
    text = "2023-11-14T23:13:20.000000002+01:00"
    for at in (text, START * 10**9 + 2, np.datetime64(text[:-6].replace("T23", "T22"))):
        assert len(split(log, "temporal", at=at).test) == 2
    pandas = pytest.importorskip("pandas")
    assert len(split(log, "temporal", at=pandas.Timestamp(text)).test) == 2


def test_the_command_line_cuts_at_fractions(trueval, tmp_path: Path) -> None:
    rows = [(user, item, (user + item * 5) / 64) for user in range(5) for item in range(6)]
    pl.DataFrame(rows, schema=["user", "item", "time"], orient="row").write_csv(tmp_path / "log.csv")
    for name, options, later in (
        (
            "fraction",
            ["--how", "temporal", "--at", "0.3125", "--unseen", "keep"],
            sum(time >= 0.3125 for _, _, time in rows),
        ),
        ("loo", ["--how", "leave_one_out"], 5),
    ):
        done = trueval("split", tmp_path / "log.csv", *options, "-o", tmp_path / name)
        assert done.code == 0, done.err
        assert len(load_parts(tmp_path / name).test) == later
    assert json.loads((tmp_path / "fraction/split.json").read_text())["how"]["cut"] == 0.3125
    last = load_parts(tmp_path / "loo").test.frame
    assert last["item"].unique().to_list() == [5]


def test_a_log_with_zones_at_the_command_line(trueval, tmp_path: Path) -> None:
    start = datetime(2024, 3, 31, tzinfo=UTC)
    lines = ["user,item,time"]
    for place in range(20):
        zone = timedelta(hours=(0, 9, -7)[place % 3])
        local = (start + timedelta(minutes=place) + zone).strftime("%Y-%m-%dT%H:%M:%S")
        hours = int(zone.total_seconds() // 3600)
        lines.append(f"{place % 2},{place},{local}{hours:+03d}:00")
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    at = ["--at", "2024-03-31T09:10:00+09:00"]
    options = ["--how", "temporal", *at, "--unseen", "keep", "-o", str(tmp_path / "parts")]
    done = trueval("split", tmp_path / "log.csv", *options)
    assert done.code == 0, done.err
    assert sorted(load_parts(tmp_path / "parts").test.frame["item"]) == list(range(10, 20))
