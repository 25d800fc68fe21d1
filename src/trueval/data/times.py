"""Times as numbers that keep their order: nothing is cut off, and one instant is one number however it is written."""

from __future__ import annotations

import polars as pl

from trueval.errors import DataError

# A clock with seconds at the end, perhaps with a fraction, and what says how far it is from UTC.
_AWARE = r"^(.*\d:\d{2}(?:\.\d+)?)\s*(?:Z|z|UTC|GMT|([+-])(\d{2}):?(\d{2})?)$"
_SUB_MICRO, _SUB_NANO = r":\d{2}\.\d{6}0*[1-9]", r":\d{2}\.\d{9}0*[1-9]"
_MICROSECONDS = {"day": 86_400 * 10**6, "ms": 1000}
_EXACT_DIGITS = 15  # a float tells any two decimal numbers of so many digits apart


def read_times(raw: pl.Series, *, where: str) -> pl.Series:
    """Times as Int64, or as Float64 where some are fractions.

    Numbers stay as they are. Dates are microseconds since 1970 in UTC, or nanoseconds where some are finer than a
    microsecond; times of day and durations likewise, from their own beginning. What a float cannot tell apart is
    counted in a smaller unit. The type follows from the values alone, never from how they were stored.

    >>> read_times(pl.Series([0.25, 0.5]), where="log").to_list(), read_times(pl.Series([1.0]), where="log").to_list()
    ([0.25, 0.5], [1])
    >>> read_times(pl.Series(["2020-01-01T01:00:00+01:00", "2020-01-01T00:00:00Z"]), where="log").n_unique()
    1
    """
    if isinstance(raw.dtype, pl.Categorical | pl.Enum):
        raw = raw.cast(pl.String)
    raw = raw.fill_nan(None) if raw.dtype.is_float() else raw
    if raw.null_count():
        raise DataError(
            "times are missing", where=where, found=f"{raw.null_count():,} rows", do="fill or drop these rows"
        )
    return _numbers(raw, where).alias("time")


def nanoseconds(text: str) -> int | None:
    """Nanoseconds from 1970 to a moment written as text, in UTC unless it says otherwise; None where it is none.

    >>> nanoseconds("1970-01-01T00:00:01.000000001+00:00"), nanoseconds("noon")
    (1000000001, None)
    """
    try:
        moment = instants(pl.Series([text.strip()]), where="moment")
    except DataError:
        return None
    return int(moment.to_physical()[0]) * (1 if moment.dtype.time_unit == "ns" else 1000)  # type: ignore[attr-defined]


def ticks_per_second(size: float) -> int:
    """Of a clock that shows such numbers (the present is about 1.7e9 seconds after 1970).

    >>> ticks_per_second(1_700_000_000), ticks_per_second(1_700_000_000_000)
    (1, 1000)
    """
    return next((ticks for ticks in (1, 10**3, 10**6) if size < 10**11 * ticks), 10**9)


def _numbers(raw: pl.Series, where: str) -> pl.Series:
    if raw.dtype == pl.String:
        return _of_text(raw.str.strip_chars(), where)
    if raw.dtype.is_temporal():
        return _ticks(raw, where)
    if raw.dtype.is_decimal():
        return _of_text(raw.cast(pl.String), where)
    if raw.dtype.is_float():
        return _floats(raw.cast(pl.Float64), where)
    if not (raw.dtype.is_integer() or raw.dtype == pl.Boolean):
        raise _unreadable(where, f"type {raw.dtype}")
    whole = raw.cast(pl.Int64, strict=False)
    if whole.null_count():
        raise _unreadable(where, f"{raw.filter(whole.is_null())[0]!r}, beyond 64 bits")
    return whole


def _unreadable(where: str, found: str) -> DataError:
    return DataError("times could not be read", where=where, found=found, do="use numbers or ISO dates")


def _floats(numbers: pl.Series, where: str) -> pl.Series:
    """Whole numbers where all are, so that 5.0 in one file and 5 in another are the same."""
    if not numbers.is_finite().all():
        raise _unreadable(where, repr(numbers.filter(~numbers.is_finite())[0]))
    if (numbers == numbers.floor()).all() and (numbers.abs() < 2.0**63).all():
        return numbers.cast(pl.Int64)
    return numbers


def _of_text(text: pl.Series, where: str) -> pl.Series:
    whole = text.cast(pl.Int64, strict=False)
    if not whole.null_count():
        return whole
    floats = text.cast(pl.Float64, strict=False)
    if 0 < floats.null_count() < len(text):
        raise _unreadable(where, repr(text.filter(floats.is_null())[0]) + " among numbers")
    if floats.null_count():
        return _ticks(instants(text, where=where), where)
    exact = text.str.len_chars().max() <= _EXACT_DIGITS  # type: ignore[operator]
    return _floats(floats, where) if exact else _distinct_numbers(text, floats, where)


def _distinct_numbers(text: pl.Series, floats: pl.Series, where: str) -> pl.Series:
    """Floats, or whole multiples of 0.001, 0.000001… where floats would make different times equal."""
    decimals = text.cast(pl.Decimal(38, 18), strict=False)
    if decimals.null_count() or decimals.n_unique() <= floats.n_unique():
        return _floats(floats, where)
    largest = float(floats.abs().max())  # type: ignore[arg-type]
    for digits in range(3, 19, 3):
        if largest * 10**digits >= 2**63:
            break
        ticks = decimals * 10**digits
        if (ticks == ticks.floor()).all():
            return ticks.cast(pl.Int64)
    raise DataError(
        "times differ by less than 64-bit numbers can distinguish",
        where=where,
        found=f"{decimals.n_unique():,} different times, {floats.n_unique():,} as floats",
        do="write them as whole numbers of a smaller unit",
    )


def _ticks(times: pl.Series, where: str) -> pl.Series:
    """Microseconds, or nanoseconds where some times are finer."""
    unit = "day" if times.dtype == pl.Date else getattr(times.dtype, "time_unit", "ns")  # times of day: nanoseconds
    ticks = times.to_physical().cast(pl.Int64)
    if unit in _MICROSECONDS:
        most = (2**63 - 1) // _MICROSECONDS[unit]
        if not ticks.is_between(-most, most).all():
            raise _unreadable(where, f"type {times.dtype}, the largest {ticks.max()!r} since 1970")
        return ticks * _MICROSECONDS[unit]
    return ticks // 1000 if unit == "ns" and (ticks % 1000 == 0).all() else ticks


def instants(text: pl.Series, *, where: str) -> pl.Series:
    """Dates and times written as text, as datetimes in UTC; all with an offset from UTC, or all without one.

    >>> instants(pl.Series(["2020-01-01 12:00"]), where="log").dt.hour().to_list()
    [12]
    """
    aware = text.str.contains(_AWARE)
    if not aware.any():
        return _datetimes(text, text, where)
    if not aware.all():
        raise DataError(
            "some times have a UTC offset and others do not",
            where=where,
            found=f"{text.filter(aware)[0]!r} and {text.filter(~aware)[0]!r}",
            do="write the offset of every time, or of none",
        )
    local, sign, hours, minutes = text.str.extract_groups(_AWARE).struct.unnest().get_columns()
    offset = hours.cast(pl.Int64).fill_null(0) * 60 + minutes.cast(pl.Int64).fill_null(0)
    offset = offset * pl.Series([-1, 1]).gather((sign != "-").fill_null(True).cast(pl.UInt32))
    times = _datetimes(local, text, where)
    return pl.DataFrame({"time": times, "offset": offset}).select(
        pl.col("time") - pl.duration(minutes="offset", time_unit=times.dtype.time_unit)  # type: ignore[attr-defined]
    )["time"]


def _datetimes(text: pl.Series, written: pl.Series, where: str) -> pl.Series:
    """Datetimes to the microsecond, or to the nanosecond where that is written."""
    micro = _parsed(text, "us")
    if micro.null_count():
        raise _unreadable(where, repr(written.filter(micro.is_null())[0]))
    if not text.str.contains(_SUB_MICRO).any():
        return micro
    nano = _parsed(text, "ns")
    wrong = (nano.cast(pl.Datetime("us")) != micro) | text.str.contains(_SUB_NANO)
    if wrong.any():
        raise DataError(
            "times in nanoseconds must lie between 1678 and 2261 and cannot be finer than a nanosecond",
            where=where,
            found=repr(written.filter(wrong)[0]),
            do="write times to the microsecond, or as numbers",
        )
    return nano


def _parsed(text: pl.Series, unit: str) -> pl.Series:
    try:
        return text.str.to_datetime(strict=False, time_unit=unit)  # type: ignore[arg-type]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # not one of them is a date
        return pl.Series([None] * len(text), dtype=pl.Datetime(unit))  # type: ignore[arg-type]
