"""MovieLens: 100K (tabs), 1M and 10M (`::`), 20M, 25M, 32M and the latest ones (csv)."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from trueval.data.failures import reading
from trueval.data.interactions import Interactions
from trueval.data.layouts.layout import Layout, has_files
from trueval.data.layouts.text import Types, cut, known_table, with_any_times
from trueval.errors import DataError

_RATINGS = {"user": pl.Int64, "item": pl.Int64, "value": pl.Float64, "time": pl.Int64}
_MOVIES = {"item": pl.Int64, "title": pl.String, "aspects": pl.String}
_CSV_HEADER = "userId,movieId,rating,timestamp"
_NO_GENRES = "(no genres listed)"

_ML100K_GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip

# The codes of users.dat in MovieLens 1M.
_ML1M_OCCUPATIONS = (
    "other", "academic/educator", "artist", "clerical/admin", "college/grad student", "customer service",
    "doctor/health care", "executive/managerial", "farmer", "homemaker", "K-12 student", "lawyer",
    "programmer", "retired", "sales/marketing", "scientist", "self-employed", "technician/engineer",
    "tradesman/craftsman", "unemployed", "writer",
)  # fmt: skip


def read_100k(folder: Path, name: str) -> Interactions:
    """`u.data`, with genres and titles from `u.item` and demographics from `u.user`."""
    items = users = None
    if (folder / "u.item").is_file():
        head = {"item": pl.Int64, "title": pl.String, "date": pl.String, "video": pl.String, "url": pl.String}
        flags = known_table(folder / "u.item", head | dict.fromkeys(_ML100K_GENRES, pl.Int64), separator="|")
        genres = [pl.when(pl.col(genre) == 1).then(pl.lit(genre)) for genre in _ML100K_GENRES]
        items = flags.select("item", "title", pl.concat_list(genres).list.drop_nulls().alias("aspects"))
    if (folder / "u.user").is_file():
        columns = {
            "user": pl.Int64,
            "age": pl.Int64,
            "gender": pl.String,
            "occupation": pl.String,
            "zip": pl.String,
        }
        users = known_table(folder / "u.user", columns, separator="|")
    return Interactions.of(_tab_ratings(folder / "u.data"), name=name, users=users, items=items)


def _tab_ratings(path: Path) -> pl.DataFrame:
    return known_table(path, _RATINGS, separator="\t")


def read_100k_log(path: Path, name: str) -> Interactions:
    """One of `u.data`, `u1.base`, `u1.test`…"""
    return Interactions.of(_tab_ratings(path), name=name)


def _colon_ratings(path: Path) -> pl.DataFrame:
    """`user::item::value::time`: one colon separates, since numbers hold none; every second field is empty."""
    places: Types = {str(place): pl.Float64 if place == 4 else pl.Int64 for place in range(7)}

    def table(types: Types) -> pl.DataFrame:
        return pl.read_csv(path, separator=":", has_header=False, schema=dict(types), quote_char=None, glob=False)

    with reading(path, what="the ratings of MovieLens 1M or 10M"):
        frame = with_any_times(places, table, time="6")
    if any(frame[place].null_count() < len(frame) for place in ("1", "3", "5")):
        raise DataError(
            "fields are not separated by ::",
            where=str(path),
            found="a single colon",
            do="user::item::value::time",
        )
    return frame.select(pl.col(str(2 * place)).alias(role) for place, role in enumerate(_RATINGS))


def read_dat(folder: Path, name: str) -> Interactions:
    """`ratings.dat`, with genres from `movies.dat` and, in 1M, demographics from `users.dat`.

    `age` is the first year of a bracket (1 is under 18).
    """
    movies = known_table(folder / "movies.dat", _MOVIES, separator="::")
    users = None
    if (folder / "users.dat").is_file():
        columns = {
            "user": pl.Int64,
            "gender": pl.String,
            "age": pl.Int64,
            "occupation": pl.Int64,
            "zip": pl.String,
        }
        occupations = dict(enumerate(_ML1M_OCCUPATIONS))
        users = known_table(folder / "users.dat", columns, separator="::").with_columns(
            pl.col("occupation").replace_strict(occupations, default=None, return_dtype=pl.String)
        )
    items = movies.with_columns(cut("aspects", empty=_NO_GENRES))
    return Interactions.of(_colon_ratings(folder / "ratings.dat"), name=name, users=users, items=items)


def read_dat_log(path: Path, name: str) -> Interactions:
    """`ratings.dat` alone."""
    return Interactions.of(_colon_ratings(path), name=name)


def read_csv(folder: Path, name: str) -> Interactions:
    """`ratings.csv`, with genres from `movies.csv`."""
    with reading(folder / "ratings.csv", what="the ratings of MovieLens"):
        ratings = with_any_times(
            _RATINGS,
            lambda types: pl.read_csv(
                folder / "ratings.csv", has_header=False, skip_lines=1, schema=dict(types), glob=False
            ),
        )
    items = known_table(folder / "movies.csv", _MOVIES, separator=",", header=True)
    return Interactions.of(ratings, name=name, items=items.with_columns(cut("aspects", empty=_NO_GENRES)))


def _is_movielens_csv(folder: Path) -> bool:
    if not has_files("ratings.csv", "movies.csv")(folder):
        return False
    with (folder / "ratings.csv").open("rb") as file:
        return file.readline(200).strip() == _CSV_HEADER.encode()


LAYOUTS = (
    Layout(
        "MovieLens 100K",
        has_files("u.data"),
        read_100k,
        is_log=lambda path: re.fullmatch(r"u\.data|u[1-5ab]\.(base|test)", path.name) is not None,
        read_log=read_100k_log,
    ),
    Layout(
        "MovieLens 1M/10M",
        has_files("ratings.dat", "movies.dat"),
        read_dat,
        is_log=lambda path: path.name == "ratings.dat",
        read_log=read_dat_log,
    ),
    Layout("MovieLens 20M/25M/32M", _is_movielens_csv, read_csv),
)
