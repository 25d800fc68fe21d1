"""Data sets with a biased log and a test set without selection bias: CM100k, Coat, Yahoo! R3, KuaiRec."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl

from trueval.data.column_roles import LOG_ROLES
from trueval.data.delimited import sniff, split_fields
from trueval.data.failures import empty, reading
from trueval.data.id_text import settled
from trueval.data.interactions import Interactions
from trueval.data.layouts.layout import Layout, has_files
from trueval.data.layouts.text import known_table
from trueval.data.tables import read_table
from trueval.data.text_lines import first_lines, number
from trueval.errors import DataError
from trueval.progress import note

Pair = tuple[Interactions, Interactions]

_CM100K = {"user": pl.Int64, "item": pl.Int64, "value": pl.Float64, "known": pl.Int64}
_R3 = "ydata-ymusic-rating-study-v1_0-{}.txt"


def read_cm100k(folder: Path, name: str) -> Interactions:
    """All ratings of CM100k; the column `known` is 1 where the user knew the song before the survey."""
    log = read_cm100k_log(folder / "data.txt", name)
    users, items = (known_table(folder / f"{role}s.txt", {role: pl.Int64}, separator="\t") for role in ("user", "item"))
    return Interactions.of(log.frame, name=name, users=users, items=items)


def read_cm100k_log(path: Path, name: str) -> Interactions:
    """`data.txt` alone."""
    return Interactions.of(known_table(path, _CM100K, separator="\t"), name=name)


def unbiased_cm100k(folder: Path, name: str) -> Pair:
    """Ratings of known music, as a system would have observed, and all ratings of the random sample."""
    log = read_cm100k(folder, name)
    return log.keep(log.frame.filter(pl.col("known") == 1), name=f"{name} known"), log


def _is_cm100k(folder: Path) -> bool:
    return has_files("data.txt", "items.txt", "users.txt")(folder)


def _matrix(path: Path) -> np.ndarray:
    with reading(path, what="a matrix of numbers"):
        try:
            with warnings.catch_warnings(action="ignore"):  # that there is nothing
                matrix = np.loadtxt(path, ndmin=2)
        except ValueError as error:
            raise DataError(
                "the file could not be read as a matrix of numbers",
                where=str(path),
                found=str(error).split(";")[0],
                do="write one number per item on each line, separated by blanks",
            ) from error
        if not matrix.size:
            raise empty(path)
        return matrix


def _cells(path: Path, *, extra: dict[str, np.ndarray] | None = None) -> pl.DataFrame:
    """Cells of a rating matrix that are not 0; ids are row and column numbers from 0, as for the features."""
    ratings = _matrix(path)
    users, items = np.nonzero(ratings)
    columns = {"user": users, "item": items, "value": ratings[users, items]}
    for name, matrix in (extra or {}).items():
        if matrix.shape != ratings.shape:
            raise DataError(
                "two matrices of the data set differ in shape",
                where=str(path.parent),
                found=f"{path.name} {ratings.shape}, {name} {matrix.shape}",
                do="use files of one release",
            )
        columns[name] = matrix[users, items]
    return pl.DataFrame(columns)


def read_matrix(path: Path, name: str) -> Interactions:
    """One matrix alone: a line per user, a number per item, 0 where there is no rating."""
    log = Interactions.of(_cells(path), name=name)
    _note_values(path, log, "a matrix of ratings")
    return log


def _note_values(path: Path, log: Interactions, what: str) -> None:
    values = log.frame["value"].to_numpy()
    span = f"values {values.min():g} to {values.max():g}"
    note(f"{path.name}: read as {what}, {span}; set a threshold (--threshold) to say which are relevant")


_TRIPLES = ("train.txt", "test.txt")
_SCALE = 100  # a rating is not larger, a time is


def is_triples(path: Path) -> bool:
    """Whether a file called train.txt or test.txt holds users, items and ratings, and nothing says so.

    >>> is_triples(Path("nowhere/train.txt"))
    False
    """
    if path.name not in _TRIPLES or not path.is_file() or not path.stat().st_size:
        return False
    lines = first_lines(path)
    separator = sniff(lines)
    rows = [split_fields(line, separator) for line in lines] if separator else []
    if not rows or any(len(row) != 3 for row in rows):
        return False
    columns = [number(pl.Series(column)) for column in zip(*rows)]
    whole = all(column.dtype.is_integer() for column in columns[:2])
    return whole and columns[2].dtype.is_numeric() and bool(columns[2].is_between(-_SCALE, _SCALE).all())


def read_triples_file(path: Path, name: str) -> Interactions:
    """One of the two files alone."""
    table = read_table(path, {"user": 0, "item": 1, "value": 2}, roles=LOG_ROLES)
    log = Interactions.of(settled(table), name=name)
    _note_values(path, log, "user, item, value (--columns user=0,item=1,value=2)")
    return log


def read_triples(folder: Path, name: str) -> Interactions:
    """The ratings to learn from (`train.txt`)."""
    return read_triples_file(folder / "train.txt", name)


def unbiased_triples(folder: Path, name: str) -> Pair:
    """The ratings that users chose to give, and those of the test file, which is taken for the random sample."""
    return read_triples(folder, name), read_triples_file(folder / "test.txt", f"{name} random")


def read_coat(folder: Path, name: str) -> Interactions:
    """The biased log of Coat (`train.ascii`), with its propensities and the features of users and items."""
    propensities = folder / "propensities.ascii"
    extra = {"propensity": _matrix(propensities)} if propensities.is_file() else {}
    users, items = _coat_users(folder), _coat_items(folder)
    return Interactions.of(_cells(folder / "train.ascii", extra=extra), name=name, users=users, items=items)


def unbiased_coat(folder: Path, name: str) -> Pair:
    """Self-selected ratings, and ratings of items drawn uniformly; some pairs are in both."""
    log = read_coat(folder, name)
    return log, Interactions.of(_cells(folder / "test.ascii"), name=f"{name} random", users=log.users, items=log.items)


def _coat_features(folder: Path, whose: str) -> tuple[np.ndarray, list[str]] | None:
    """One-hot rows and the names of their columns (`kind:value` in the published map)."""
    path = folder / "user_item_features" / f"{whose}_features.ascii"
    if not path.is_file():
        return None
    flags = _matrix(path) > 0
    names_file = path.with_name(f"{whose}_features_map.txt")
    names = names_file.read_text(encoding="utf-8").split("\n") if names_file.is_file() else []
    names = [name.strip() for name in names if name.strip()]
    if len(names) != flags.shape[1]:
        names = [f"feature {place}" for place in range(flags.shape[1])]
    return flags, names


def _set_names(flags: np.ndarray, names: list[str]) -> list[list[str]]:
    return [[names[place] for place in np.flatnonzero(row)] for row in flags]


def _coat_items(folder: Path) -> pl.DataFrame | None:
    features = _coat_features(folder, "item")
    if features is None:
        return None
    aspects = pl.Series("aspects", _set_names(*features), dtype=pl.List(pl.String))
    return pl.DataFrame({"item": np.arange(len(features[0])), "aspects": aspects})


def _coat_users(folder: Path) -> pl.DataFrame | None:
    """One column per kind of feature where the map names the kinds, else one list."""
    features = _coat_features(folder, "user")
    if features is None:
        return None
    flags, names = features
    table = pl.DataFrame({"user": np.arange(len(flags))})
    if not all(":" in name for name in names):
        return table.with_columns(pl.Series("features", _set_names(flags, names), dtype=pl.List(pl.String)))
    kinds = list(dict.fromkeys(name.split(":")[0] for name in names))
    for kind in kinds:
        places = [place for place, name in enumerate(names) if name.startswith(f"{kind}:")]
        labels = [names[place].split(":", 1)[1] for place in places] + [None]
        chosen = np.where(flags[:, places].any(axis=1), flags[:, places].argmax(axis=1), len(places))
        table = table.with_columns(pl.Series(kind, [labels[place] for place in chosen], dtype=pl.String))
    return table


def _r3(folder: Path, part: str) -> pl.DataFrame:
    types = {"user": pl.Int64, "item": pl.Int64, "value": pl.Float64}
    return known_table(folder / _R3.format(part), types, separator="\t")


def read_r3(folder: Path, name: str) -> Interactions:
    """The ratings that users of Yahoo! Music chose to give (the train file, all of its users)."""
    return Interactions.of(_r3(folder, "train"), name=name)


def read_r3_log(path: Path, name: str) -> Interactions:
    """The train or the test file alone."""
    return Interactions.of(_r3(path.parent, "train" if "train" in path.name else "test"), name=name)


def unbiased_r3(folder: Path, name: str) -> Pair:
    """Train ratings of the users who also rated random songs, and their ratings of random songs."""
    log = Interactions.of(_r3(folder, "test"), name=f"{name} random")
    train = _r3(folder, "train").join(log.frame.select("user").unique(), on="user", how="semi")
    return Interactions.of(train, name=name), log


LAYOUTS = (
    Layout(
        "CM100k",
        _is_cm100k,
        read_cm100k,
        is_log=lambda path: path.name == "data.txt" and _is_cm100k(path.parent),
        read_log=read_cm100k_log,
        unbiased=unbiased_cm100k,
    ),
    Layout(
        "Coat",
        has_files("train.ascii", "test.ascii"),
        read_coat,
        is_log=lambda path: path.suffix == ".ascii",
        read_log=read_matrix,
        unbiased=unbiased_coat,
    ),
    Layout(
        "Yahoo! R3",
        has_files(_R3.format("train"), _R3.format("test")),
        read_r3,
        is_log=lambda path: path.name in (_R3.format("train"), _R3.format("test")),
        read_log=read_r3_log,
        unbiased=unbiased_r3,
    ),
    Layout(
        "train.txt and test.txt",
        lambda folder: all(is_triples(folder / name) for name in _TRIPLES),
        read_triples,
        is_log=is_triples,
        read_log=read_triples_file,
        unbiased=unbiased_triples,
    ),
)
