"""Last.fm (HetRec 2011), Jester 1, Netflix Prize and RecBole folders."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trueval.data.column_roles import LOG_ROLES, find_roles, renaming
from trueval.data.failures import reading
from trueval.data.id_text import settled
from trueval.data.interactions import Interactions
from trueval.data.layouts.layout import Layout, has_files
from trueval.data.layouts.text import known_table
from trueval.data.tables import scan_atomic
from trueval.data.text_lines import NO_SEPARATOR, first_lines, scan_lines
from trueval.errors import DataError


def read_lastfm(folder: Path, name: str) -> Interactions:
    """Play counts of `user_artists.dat`, with names from `artists.dat`."""
    counts = {"user": pl.Int64, "item": pl.Int64, "value": pl.Float64}
    items = None
    if (folder / "artists.dat").is_file():
        columns = {"item": pl.Int64, "title": pl.String, "url": pl.String, "picture": pl.String}
        items = known_table(folder / "artists.dat", columns, separator="\t", header=True).select("item", "title")
    log = known_table(folder / "user_artists.dat", counts, separator="\t", header=True)
    return Interactions.of(log, name=name, items=items)


_JESTER_JOKES, _JESTER_MISSING = 100, 99


def _jester_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.csv") if is_jester_file(path))


def is_jester_file(path: Path) -> bool:
    """Whether a csv file named after Jester has a count and a hundred ratings per line."""
    if path.suffix != ".csv" or "jester" not in path.name.lower() or not path.is_file():
        return False
    fields = first_lines(path, 1)[0].split(",")
    try:
        return len(fields) == _JESTER_JOKES + 1 and int(float(fields[0])) >= 0
    except ValueError:
        return False


def read_jester_file(path: Path, name: str) -> Interactions:
    """One file of Jester 1."""
    return _read_jester([path], name)


def read_jester(folder: Path, name: str) -> Interactions:
    """All csv files of Jester 1 in a folder."""
    return _read_jester(_jester_files(folder), name)


def _read_jester(paths: list[Path], name: str) -> Interactions:
    """Users are lines and items columns, both counted from 1, users on through the files in order of name."""
    jokes = [str(joke) for joke in range(1, _JESTER_JOKES + 1)]
    types = {"count": pl.Float64} | dict.fromkeys(jokes, pl.Float64)
    wide = pl.concat(known_table(path, types, separator=",") for path in paths).with_row_index("user", offset=1)
    long = wide.unpivot(jokes, index="user", variable_name="item", value_name="value").with_columns(
        pl.col("user", "item").cast(pl.Int64)
    )
    return Interactions.of(long.filter(pl.col("value") != _JESTER_MISSING).sort("user", "item"), name=name)


def _is_netflix_file(path: Path) -> bool:
    return path.match("combined_data_*.txt") and path.is_file()


def _netflix_ratings(path: Path) -> pl.DataFrame:
    """Lines `movie:` head the lines `user,rating,date` of that movie."""
    line = pl.col("line").str.strip_chars_end("\r")
    movie = line.str.ends_with(":")
    fields = line.str.split_exact(",", 2).struct
    with reading(path, what="ratings of the Netflix Prize"):
        return (
            scan_lines(path)
            .with_columns(pl.when(movie).then(line.str.strip_chars_end(":")).forward_fill().alias("item"))
            .filter(~movie)
            .select(
                fields.field("field_0").cast(pl.Int64).alias("user"),
                pl.col("item").cast(pl.Int64),
                fields.field("field_1").cast(pl.Float64).alias("value"),
                fields.field("field_2").str.to_date("%Y-%m-%d").alias("time"),
            )
            .collect()
        )


def read_netflix_file(path: Path, name: str) -> Interactions:
    """One of the files `combined_data_*.txt`."""
    return Interactions.of(_netflix_ratings(path), name=name)


def read_netflix(folder: Path, name: str) -> Interactions:
    """All ratings, with titles from `movie_titles.csv` (whose titles may hold commas)."""
    log = pl.concat(_netflix_ratings(path) for path in sorted(folder.glob("combined_data_*.txt")))
    items = None
    if (folder / "movie_titles.csv").is_file():
        lines = known_table(folder / "movie_titles.csv", {"line": pl.String}, separator=NO_SEPARATOR)
        items = lines.select(
            pl.col("line").str.extract(r"^(\d+),").cast(pl.Int64).alias("item"),
            pl.col("line").str.extract(r"^\d+,[^,]*,(.*)$").alias("title"),
        )
    return Interactions.of(log, name=name, items=items)


def _atomic_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.inter"))


_ASPECTS = ("genre", "genres", "class", "category", "categories", "tags")


def read_recbole(folder: Path, name: str) -> Interactions:
    """The `.inter` file of a RecBole folder, with its `.item` and `.user` tables."""
    files = _atomic_files(folder)
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise DataError("the folder holds several .inter files", where=str(folder), found=names, do="give one of them")
    with reading(files[0], what="a RecBole atomic file"):
        log = scan_atomic(files[0]).collect()
    found = find_roles(log.columns, roles=LOG_ROLES, where=str(files[0]))
    log = settled(log.rename(renaming(log.columns, found, LOG_ROLES)))
    sides = {role: _atomic_side(files[0].with_suffix(f".{role}"), role, log) for role in ("user", "item")}
    return Interactions.of(log, name=name, users=sides["user"], items=sides["item"])


def _atomic_side(path: Path, role: str, log: pl.DataFrame) -> pl.DataFrame | None:
    """A side table: its first column is the key, of the type it has in the log."""
    if not path.is_file():
        return None
    with reading(path, what="a RecBole atomic file"):
        table = scan_atomic(path).collect()
        table = table.rename({table.columns[0]: role}).with_columns(pl.col(role).cast(log.schema[role]))
    if role == "item":
        names = {name.lower(): name for name in table.columns}
        aspects = next((names[word] for word in _ASPECTS if word in names), None)
        title = next((name for low, name in names.items() if "title" in low or low == "name"), None)
        if aspects and table.schema[aspects] == pl.List(pl.String):
            table = table.rename({aspects: "aspects"}).with_columns(pl.col("aspects").fill_null([]))
        if title:
            titles = table[title].list.join(" ") if table.schema[title] == pl.List(pl.String) else table[title]
            table = table.drop(title).insert_column(1, titles.alias("title"))
    return table


LAYOUTS = (
    Layout("Last.fm HetRec 2011", has_files("user_artists.dat"), read_lastfm),
    Layout(
        "Netflix Prize",
        lambda folder: any(map(_is_netflix_file, folder.glob("combined_data_*.txt"))),
        read_netflix,
        is_log=_is_netflix_file,
        read_log=read_netflix_file,
    ),
    Layout(
        "Jester 1",
        lambda folder: bool(_jester_files(folder)),
        read_jester,
        is_log=is_jester_file,
        read_log=read_jester_file,
    ),
    Layout("RecBole", lambda folder: bool(_atomic_files(folder)), read_recbole),
)
