"""The items of a study: what people see of them, which pictures may be served, how popular they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.aspects import aspect_column, aspect_lists
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.read import read
from trueval.data.table_columns import columns_of
from trueval.errors import DataError
from trueval.recommenders.protocol import TrainSet
from trueval.study.definition import Study

# Kinds of pictures that a browser shows and that cannot contain a script.
PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """One item as people see it; `code` stands for it in forms."""

    code: int
    title: str
    year: str = ""
    genres: str = ""
    picture: bool = False


@dataclass(frozen=True)
class Catalogue:
    """All items by code, with the train set that systems learn from."""

    train: TrainSet
    items: list[Item]
    pictures: dict[int, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a researcher should know of the table of items

    @cached_property
    def ids(self) -> list[str]:
        """The id of each item as text, by code."""
        return self.train.items.values.cast(pl.String).to_list()

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each item by the text of its id."""
        return {one: code for code, one in enumerate(self.ids)}

    def shown(self, ids: Iterable[str]) -> list[Item]:
        """Items by the text of their ids; those that are no longer in the catalogue are left out."""
        return [self.items[self.codes[one]] for one in ids if one in self.codes]

    @cached_property
    def popularity(self) -> np.ndarray:
        """How many people of the log have each item."""
        return self.train.popularity


def read_catalogue(study: Study) -> Catalogue:
    """Read the log and the table of items; all items of either can be recommended and rated."""
    log = read(study.data.path, columns=columns_of(study.data.columns, "log") or None)
    table = log.items if study.data.items is None else read_items(study.data.items, columns=study.data.columns)
    columns = [log.frame["item"]] + ([] if table is None else [table["item"]])
    users, items = Ids.of(log.frame["user"]), Ids.of(*columns)
    rows = ByUser.code(log.frame, users, items).distinct()
    train = TrainSet(users, items, rows, study.about.seed, None, log.count)
    return _with_titles(study, log, train, table)


def _with_titles(study: Study, log: Interactions, train: TrainSet, table: pl.DataFrame | None) -> Catalogue:
    ids = train.items.values
    if table is None or "title" not in table.columns:
        note = f"items have no titles: people will see ids, such as {ids[0]}"
        return Catalogue(train, [Item(code, str(one)) for code, one in enumerate(ids.to_list())], notes=(note,))
    genre = aspect_column(table.columns)
    known = pl.DataFrame({"code": train.items.codes(table["item"])}).with_columns(
        table["title"].cast(pl.String).alias("title"),
        pl.Series("year", _years(table), pl.String),
        pl.Series("genres", [[]] * len(table) if genre is None else aspect_lists(table[genre]), pl.List(pl.String)),
        _pictures(table),
    )
    shown = pl.DataFrame({"code": range(len(ids)), "id": ids.cast(pl.String)}, schema_overrides={"code": pl.Int32})
    shown = shown.join(known, on="code", how="left", maintain_order="left")
    files, notes = _picture_files(study, shown)
    lacking = shown["title"].null_count()
    if lacking:
        notes.append(f"{lacking:,} items of the log have no title: people will see their ids")
    items = [
        Item(code, title or one, year or "", ", ".join(genres or []), code in files)
        for code, one, title, year, genres in shown.select("code", "id", "title", "year", "genres").iter_rows()
    ]  # fmt: skip
    return Catalogue(train, items, files, tuple(notes))


def _years(table: pl.DataFrame) -> list[str | None]:
    """The year of each item: a column `year`, or `released` in seconds since 1970 or as a date."""
    name = next((name for name in ("year", "released") if name in table.columns), None)
    return [None] * len(table) if name is None else [_year(value) for value in table[name].to_list()]


def _year(value: Any) -> str | None:
    """A year from a number, seconds since 1970, or a date.

    >>> _year(1999), _year(1_672_531_200), _year("1984-05-01"), _year(None)
    ('1999', '2023', '1984', None)
    """
    if isinstance(value, (int, float)) and np.isfinite(value):
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(value)) if 9999 < abs(value) < 1e11 else None
        return str(int(value)) if moment is None else str(moment.year)
    return str(value.year) if hasattr(value, "year") else str(value)[:4] if value else None


def _pictures(table: pl.DataFrame) -> pl.Series:
    column = table["picture"].cast(pl.String) if "picture" in table.columns else [None] * len(table)
    return pl.Series("picture", column, pl.String)


def _picture_files(study: Study, shown: pl.DataFrame) -> tuple[dict[int, Path], list[str]]:
    """Files in the study's folder of pictures; addresses on other hosts and files elsewhere are left out."""
    named = shown.drop_nulls("picture").select("code", "picture").rows()
    if not named or not study.data.pictures:
        return {}, ["pictures are named, but [data] pictures names no folder"] * bool(named)
    folder = (study.folder / study.data.pictures).resolve()
    files = {code: (folder / name).resolve() for code, name in named}
    kept = {
        code: path
        for code, path in files.items()
        if path.suffix.lower() in PICTURES and path.is_relative_to(folder) and path.is_file()
    }
    left = len(files) - len(kept)
    return kept, [f"{left:,} pictures are not shown: not a file of {study.data.pictures}"] * bool(left)


def check_scale(study: Study, catalogue: Catalogue) -> None:
    """Refuse ratings on another scale than the log's, which systems have learned."""
    value = catalogue.train.log.value
    scale = study.ratings.scale
    if value is None or not study.ratings.least:
        return
    low, high = float(value.min()), float(value.max())
    if low < scale[0] or high > scale[-1]:
        raise DataError(
            "people would rate on another scale than the log's, from which systems have learned",
            where=study.written.at("ratings", "scale"),
            found=f"log: {low:g} to {high:g}; scale: {scale[0]:g} to {scale[-1]:g}",
            do="write the log's scale",
        )  # fmt: skip
