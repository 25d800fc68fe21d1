"""Times keep their order and their equality, whatever they are written as and wherever they are read from."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.data.read import read
from trueval.data.times import read_times, ticks_per_second
from trueval.errors import DataError

N = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONES = [timezone(timedelta(hours=hours, minutes=minutes)) for hours, minutes in ((0, 0), (2, 0), (-5, 30), (13, 45))]


def iso(nanoseconds: int, zone: timezone | None, digits: int = 9) -> str:
    """ISO text of an instant, by hand, since datetime has no nanoseconds."""
    seconds, rest = divmod(nanoseconds, 10**9)
    at = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone or UTC)
    offset = at.strftime("%z") if zone else ""
    return at.strftime("%Y-%m-%dT%H:%M:%S") + "." + f"{rest:09d}"[:digits] + offset


def instants(seed: int, step: int) -> list[int]:
    """Nanoseconds since 1970, some of them equal, next ones a step apart."""
    return (1_700_000_000_000_000_000 + step * np.random.default_rng(seed).integers(0, N // 2, N)).tolist()


def as_floats(seed: int) -> list[float]:
    return np.random.default_rng(seed).random(N).round(2).tolist()


# What is written, and numbers in the true order: by dtype.
COLUMNS = {
    "fractions": lambda s: (pl.Series(as_floats(s)), as_floats(s)),
    "float32": lambda s: (pl.Series(as_floats(s), dtype=pl.Float32), as_floats(s)),
    "unix floats": lambda s: (pl.Series([t / 1e9 for t in instants(s, 1000)]), instants(s, 1000)),
    "whole floats": lambda s: (pl.Series(instants(s, 10**9)).cast(pl.Float64), instants(s, 10**9)),
    "whole numbers": lambda s: (pl.Series(instants(s, 1)), instants(s, 1)),
    "unsigned": lambda s: (pl.Series(instants(s, 1), dtype=pl.UInt64), instants(s, 1)),
    "decimals": lambda s: (pl.Series([Decimal(t) / 10**9 for t in instants(s, 1)]), instants(s, 1)),
    "text fractions": lambda s: (pl.Series([f"{t}" for t in as_floats(s)]), as_floats(s)),
    "text nanoseconds": lambda s: (
        pl.Series([f"{t // 10**9}.{t % 10**9:09d}" for t in instants(s, 1)]),
        instants(s, 1),
    ),
    "ns": lambda s: (pl.Series(instants(s, 1)).cast(pl.Datetime("ns")), instants(s, 1)),
    "ns, zone": lambda s: (pl.Series(instants(s, 1)).cast(pl.Datetime("ns", "Asia/Tokyo")), instants(s, 1)),
    "us": lambda s: (pl.Series(instants(s, 1000)).cast(pl.Datetime("ns")).cast(pl.Datetime("us")), instants(s, 1000)),
    "ms": lambda s: (pl.Series(instants(s, 10**6)).cast(pl.Datetime("ns")).cast(pl.Datetime("ms")), instants(s, 10**6)),
    "dates": lambda s: (
        pl.Series([date(2020, 1, 1) + timedelta(days=t % 997) for t in instants(s, 1)]),
        [t % 997 for t in instants(s, 1)],
    ),
    "iso": lambda s: (pl.Series([iso(t, None) for t in instants(s, 1)]), instants(s, 1)),
    "iso us": lambda s: (pl.Series([iso(t, None, 6) for t in instants(s, 1000)]), instants(s, 1000)),
    "iso, zones": lambda s: (
        pl.Series([iso(t, _ZONES[place % len(_ZONES)]) for place, t in enumerate(instants(s, 1))]),
        instants(s, 1),
    ),
}  # fmt: skip


def ranks(numbers: list) -> list[int]:
    """Places among the different numbers: the order, with equals equal."""
    place = {number: rank for rank, number in enumerate(sorted(set(numbers)))}
    return [place[number] for number in numbers]


def table(times: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"user": np.arange(N) % 7, "item": np.arange(N), "value": 1.0, "time": times})


def from_memory(frame: pl.DataFrame, folder: Path) -> object:
    return frame


def from_pandas(frame: pl.DataFrame, folder: Path) -> object:
    pandas = pytest.importorskip("pandas")
    numbers = {name: frame[name].to_numpy() for name in ("user", "item", "value")}
    kind = frame["time"].dtype
    times = frame["time"].to_arrow().to_pandas() if kind.is_temporal() else frame["time"].to_list()
    return pandas.DataFrame(numbers | {"time": times})


def from_csv(frame: pl.DataFrame, folder: Path) -> object:
    frame.write_csv(folder / "log.csv")
    return folder / "log.csv"


def from_blanks(frame: pl.DataFrame, folder: Path) -> object:
    frame.with_columns(pl.col("time").cast(pl.String).str.replace(" ", "T")).write_csv(
        folder / "log.txt", separator=" "
    )
    return folder / "log.txt"


def from_parquet(frame: pl.DataFrame, folder: Path) -> object:
    frame.write_parquet(folder / "log.parquet")
    return folder / "log.parquet"


def from_jsonl(frame: pl.DataFrame, folder: Path) -> object:
    frame.write_ndjson(folder / "log.jsonl")
    return folder / "log.jsonl"


def from_inter(frame: pl.DataFrame, folder: Path) -> object:
    names = {"user": "user_id:token", "item": "item_id:token", "value": "rating:float", "time": "timestamp:float"}
    frame.rename(names).write_csv(folder / "log.inter", separator="\t")
    return folder / "log.inter"


READERS = [from_memory, from_pandas, from_csv, from_blanks, from_parquet, from_jsonl, from_inter]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_order_and_equality_of_times_are_kept(kind: str, reader, tmp_path: Path) -> None:
    for seed in range(3):
        written, true = COLUMNS[kind](seed)
        if reader is from_blanks and written.dtype.is_temporal() and getattr(written.dtype, "time_zone", None):
            pytest.skip("polars writes the name of a zone after a blank")
        found = read(reader(table(written), tmp_path))
        assert ranks(found.frame.sort("item")["time"].to_list()) == ranks(true)


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_reader_changes_nothing(kind: str, tmp_path: Path) -> None:
    """One log in another format is the same log, to the bit."""
    frame = table(COLUMNS[kind](0)[0])
    here = read(frame)
    for reader in (from_csv, from_parquet, from_pandas):
        if reader is from_csv and kind == "float32":
            continue  # the shortest text of a float32 is that of another float64
        there = read(reader(frame, tmp_path))
        assert there.frame["time"].dtype == here.frame["time"].dtype, reader
        assert there.fingerprint() == here.fingerprint(), reader


MOVIELENS = {
    "u.data": ("{u}\t{i}\t3\t{t}\n", ""),
    "ratings.dat": ("{u}::{i}::3::{t}\n", ""),
    "ratings.csv": ("{u},{i},3,{t}\n", "userId,movieId,rating,timestamp\n"),
}


@pytest.mark.parametrize("name", MOVIELENS)
def test_movielens_with_fractions(name: str, tmp_path: Path) -> None:
    line, head = MOVIELENS[name]
    (tmp_path / name).write_text(head + "".join(line.format(u=1, i=i, t=t) for i, t in ((1, 0.5), (2, 0.25), (3, 7))))
    (tmp_path / "movies.dat").write_text("1::A::Drama\n")
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n1,A,Drama\n")
    assert read(tmp_path).frame["time"].to_list() == [0.5, 0.25, 7.0]


def test_one_instant_is_one_number() -> None:
    zones = ["2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z", "2019-12-31 17:00:00-0500", "2019-12-31 22:00 UTC"]
    seconds = int(datetime(2019, 12, 31, 22, tzinfo=UTC).timestamp())
    assert read_times(pl.Series(zones), where="log").to_list() == [seconds * 10**6] * 4
    objects = [datetime(2019, 12, 31, 22, tzinfo=UTC), datetime(2020, 1, 1, 0, tzinfo=_ZONES[1])]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [1, 1], "item": [1, 2], "time": pandas.Series(objects, dtype=object)})
    assert read(frame).frame["time"].to_list() == [seconds * 10**6] * 2


def test_times_with_and_without_zone_are_refused() -> None:
    both = ["2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00"]
    for order in (both, both[::-1]):
        with pytest.raises(DataError, match="UTC offset and others do not"):
            read(pl.DataFrame({"user": [1, 1], "item": [1, 2], "time": order}))
        pandas = pytest.importorskip("pandas")
        objects = pandas.Series([datetime.fromisoformat(text) for text in order], dtype=object)
        with pytest.raises(DataError, match="time zone and others do not"):
            read(pandas.DataFrame({"user": [1, 1], "item": [1, 2], "time": objects}))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["1.5", "noon"], "'noon' among numbers"),
        (["noon", "night"], "'noon'"),
        ([float("inf"), 1.5], "inf"),
        ([2**64 - 1, 0], "beyond 64 bits"),
        ([[1], [2]], "List"),
        ([None, 1.5], "1 rows"),
        (["2020-01-01T00:00:00.0000000001", "2020-01-01T00:00:00"], "nanosecond"),
        (["2020-01-01T00:00:00.000000001", "9999-01-01T00:00:00"], "9999"),
        (["1700000000123456789.1", "1700000000123456789.2"], "2 different times, 1 as floats"),
    ],
)  # fmt: skip
def test_times_that_cannot_be_kept_are_refused(times: list, said: str) -> None:
    kind = pl.UInt64 if times[0] == 2**64 - 1 else None
    with pytest.raises(DataError, match=said):
        read_times(pl.Series(times, dtype=kind), where="log, column time")


@pytest.mark.parametrize("ticks", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("year", [1974, 1999, 2001, 2002, 2026, 2200])
def test_the_unit_of_a_clock_is_known_by_the_size_of_its_numbers(year: int, ticks: int) -> None:
    """A year 1974 in milliseconds is already more than seconds could be before the year 5138."""
    seconds = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    assert ticks_per_second(seconds * ticks) == ticks


@pytest.mark.parametrize("ticks", [1, 10**3, 10**6, 10**9])
def test_each_unit_begins_where_the_one_before_it_ends(ticks: int) -> None:
    assert ticks_per_second(10**11 * ticks - 1) == ticks
    assert ticks_per_second(10**11 * ticks) == min(ticks * 1000, 10**9)
