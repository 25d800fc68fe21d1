"""KuaiRec: videos watched in an app, and a block of users and videos with nearly every pair watched."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trueval.data.failures import reading
from trueval.data.interactions import Interactions
from trueval.data.layouts.layout import Layout
from trueval.progress import note

_HEADER = "user_id,video_id,play_duration,video_duration,time,date,timestamp,watch_ratio"
BIG, SMALL = "big_matrix.csv", "small_matrix.csv"


def is_kuairec_file(path: Path) -> bool:
    """Whether a csv file has the header of KuaiRec."""
    if path.suffix != ".csv" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.readline(200).strip() == _HEADER.encode()


def read_kuairec_file(path: Path, name: str) -> Interactions:
    """One matrix: the value is the watch ratio, the time is in seconds, as in the column timestamp.

    The columns `time` and `date` of the file repeat the timestamp as text and are dropped.
    """
    with reading(path, what="a matrix of KuaiRec"):
        table = pl.read_csv(path, schema_overrides={"timestamp": pl.String, "watch_ratio": pl.Float64}, glob=False)
    table = table.select(
        pl.col("user_id").alias("user"),
        pl.col("video_id").alias("item"),
        pl.col("watch_ratio").alias("value"),
        pl.col("timestamp").alias("time"),
        "play_duration",
        "video_duration",
    )
    untimed = table["time"].null_count()
    if untimed:
        note(f"{path.name}: {untimed:,} rows have no time, so the log has no times (kept in the column timestamp)")
        table = table.rename({"time": "timestamp"}).with_columns(pl.col("timestamp").cast(pl.Float64))
    return Interactions.of(table, name=name)


def read_kuairec(folder: Path, name: str) -> Interactions:
    """The sparse log (`big_matrix.csv`), or the dense block where that is all there is."""
    path = folder / BIG if (folder / BIG).is_file() else folder / SMALL
    return _with_sides(read_kuairec_file(path, name), folder)


def unbiased_kuairec(folder: Path, name: str) -> tuple[Interactions, Interactions]:
    """The sparse log, and the block in which nearly every pair is observed."""
    log = _with_sides(read_kuairec_file(folder / BIG, name), folder)
    dense = read_kuairec_file(folder / SMALL, f"{name} dense")
    return log, Interactions.of(dense.frame, name=dense.name, users=log.users, items=log.items)


def _with_sides(log: Interactions, folder: Path) -> Interactions:
    users = items = None
    if (folder / "user_features.csv").is_file():
        with reading(folder / "user_features.csv", what="user features"):
            users = pl.read_csv(folder / "user_features.csv", infer_schema_length=None, glob=False).rename(
                {"user_id": "user"}
            )
    if (folder / "item_categories.csv").is_file():
        with reading(folder / "item_categories.csv", what="item categories"):
            table = pl.read_csv(folder / "item_categories.csv", schema_overrides={"feat": pl.String}, glob=False)
        items = table.select(pl.col("video_id").alias("item"), pl.col("feat").str.extract_all(r"\d+").alias("aspects"))
    return Interactions.of(log.frame, name=log.name, users=users, items=items)


def _holds(folder: Path) -> bool:
    return any(is_kuairec_file(folder / name) for name in (BIG, SMALL))


LAYOUTS = (
    Layout(
        "KuaiRec",
        _holds,
        read_kuairec,
        is_log=is_kuairec_file,
        read_log=read_kuairec_file,
        unbiased=unbiased_kuairec,
    ),
)
