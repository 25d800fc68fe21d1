"""The files of a rerun: a page, a text for the documentation, statements, tables and charts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from trueval.charts.altair import hindrance
from trueval.data.json_values import json_text
from trueval.papers.experiment_files import experiment_text
from trueval.papers.page import page_of, summary_of
from trueval.papers.reproduction import Reproduction
from trueval.report.folder import Content

PAGE, SUMMARY, STATEMENTS, MANIFEST = "index.html", "summary.md", "statements.csv", "manifest.json"


def files_of(found: Reproduction) -> dict[str, Content]:
    """Contents by name."""
    files: dict[str, Content] = {
        PAGE: page_of(found),
        SUMMARY: summary_of(found),
        STATEMENTS: found.table().write_csv(),
        MANIFEST: json_text(found.manifest) + "\n",
    }
    drawn = not hindrance()
    for figure in found.figures:
        for name, table in figure.tables.items():
            files[f"tables/{name}.parquet"] = partial(_parquet, table)
            files[f"tables/{name}.csv"] = table.write_csv()
        for name, chart in figure.charts.items():
            if drawn:
                files[f"charts/{name}.svg"] = chart.to_svg()
    for name in found.paper.experiments:
        files[f"experiments/{name}.toml"] = experiment_text(name)
    return files


def _parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path)
