"""A study's tables as files, with a data dictionary and what a reader of the tables must know of the study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from trueval.report.csv_safety import csv_safe
from trueval.report.folder import write_together
from trueval.study.data_dictionary import dictionary
from trueval.study.definition import Study
from trueval.study.export import export_tables
from trueval.study.position_counts import position_counts

MARKER = "study.json"


def write_export(
    study: Study, folder: Path, *, format: str = "parquet", url: str | None = None, safe: bool = False
) -> dict[str, int]:
    """Write all tables into a folder; returns the number of rows of each.

    With `safe`, CSV files hold nothing that a spreadsheet would run: comments are what anybody wrote.
    """
    tables = export_tables(study, url)
    everything = {**tables, "position_counts": position_counts(tables["shown"]), "dictionary": dictionary()}
    files: dict[str, str | Callable[[Path], Any]] = {
        f"{name}.{format}": _writer(csv_safe(table)[0] if safe else table, format) for name, table in everything.items()
    }
    write_together(folder, files, marker=MARKER, manifest=_about(study, tables))
    return {name: len(table) for name, table in tables.items()}


def _writer(table: pl.DataFrame, format: str) -> Callable[[Path], Any]:
    return table.write_parquet if format == "parquet" else table.write_csv


def _about(study: Study, tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """What the study was: form, systems, plan, and the mix of items that people were offered to rate."""
    people, chosen = tables["participants"], study.ratings
    return {
        "title": study.about.title, "form": study.about.form, "seed": study.about.seed, "study": study.digest,
        "participants": {"planned": study.about.participants, "began": len(people),
                         "finished": int(people["finished"].is_not_null().sum())},
        "systems": {name: entry.text for name, entry in study.systems.items()},
        "lists": {"length": study.lists.length, "visible": study.lists.visible},
        "blanks": study.blanks,
        "checks": {"same": study.checks.same, "random": study.checks.random},
        "ratings": {
            "least": chosen.least, "scale": chosen.scale,
            "offered": f"{chosen.popular:g} of each page from the {chosen.popular_items:g} of all items that most "
            "people of the log have, the others from all the rest; in an order drawn for each participant",
        },
    }  # fmt: skip
