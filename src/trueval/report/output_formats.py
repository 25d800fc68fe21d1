"""The formats of all output: what each is called, which files have it, and what writes it.

This is the only list: `--format`, the endings that `-o`, `--per-user` and `--report` accept, their help and their
messages follow from it. Nothing heavy is imported, since every command looks here before it starts to work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.errors import DefinitionError, OutputError, suggest

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """One format. `render` makes the text of a result; `write_rows` writes a table of data into a file.

    Files of the format end in one of `endings`, the first of which messages name. Spreadsheets open those that have
    a `separator`.
    """

    name: str
    endings: tuple[str, ...]
    render: Callable[..., str] | None = None
    write_rows: Callable[[pl.DataFrame, Path], None] | None = None
    separator: str = ""

    @property
    def ending(self) -> str:
        """The usual ending."""
        return self.endings[0]


FORMATS = {
    made.name: made
    for made in (
        OutputFormat("table", (".txt",), str),
        OutputFormat("json", (".json",), lambda found, **options: found.to_json(**options)),
        OutputFormat(
            "csv", (".csv",),
            lambda found, **options: found.table(**options).write_csv(),
            lambda frame, path: frame.write_csv(path),
            separator=",",
        ),
        OutputFormat(
            "tsv", (".tsv",),
            lambda found, **options: found.table(**options).write_csv(separator="\t"),
            lambda frame, path: frame.write_csv(path, separator="\t"),
            separator="\t",
        ),
        OutputFormat(
            "jsonl", (".jsonl",),
            lambda found, **options: found.table(**options).write_ndjson(),
            lambda frame, path: frame.write_ndjson(path),
        ),
        OutputFormat("md", (".md", ".markdown"), lambda found, **options: found.to_markdown(**options)),
        OutputFormat("latex", (".tex", ".latex"), lambda found, **options: found.to_latex(**options)),
        OutputFormat("parquet", (".parquet",), write_rows=lambda frame, path: frame.write_parquet(path)),
        OutputFormat("html", (".html", ".htm")),
    )
}  # fmt: skip
RESULTS = tuple(name for name, made in FORMATS.items() if made.render is not None)
ROWS = tuple(name for name, made in FORMATS.items() if made.write_rows is not None)
PAGES = ("html",)
SPREADSHEETS = tuple(name for name, made in FORMATS.items() if made.separator)
# Endings of files that nobody writes here, but that no folder has either.
_OTHER_FILES = (".doc", ".docx", ".gz", ".ods", ".pdf", ".png", ".toml", ".xls", ".xlsx", ".xml", ".zip", ".zst")


def endings(names: Iterable[str]) -> str:
    """The endings of some formats, for messages and help.

    >>> endings(RESULTS)
    '.txt .json .csv .tsv .jsonl .md .tex'
    """
    return " ".join(FORMATS[name].ending for name in names)


def check_format(format: str, known: Iterable[str] = RESULTS) -> None:
    """Refuse a format that does not exist.

    >>> check_format("jsn")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: unknown format 'jsn'
      do:    did you mean json, jsonl?
    """
    if format not in known:
        raise DefinitionError(f"unknown format {format!r}", do=suggest(format, known))


def format_of(path: Path | str, names: Iterable[str], *, option: str = "", do: str = "") -> str:
    """The format, one of those named, that a file has by its ending; another ending, or none, is refused.

    >>> format_of("table.tex", RESULTS)
    'latex'
    >>> format_of("report.pdf", PAGES, option="--report")
    Traceback (most recent call last):
    trueval.errors.OutputError: there is no output format for this file name
      where: --report report.pdf
      found: the ending .pdf
      do:    use one of the available endings: .html
    """
    names = tuple(names)
    ending = Path(path).suffix
    for name in names:
        if ending.lower() in FORMATS[name].endings:
            return name
    hint = f"use one of the available endings: {endings(names)}"
    raise OutputError(
        "there is no output format for this file name",
        where=f"{option} {path}".strip(),
        found=f"the ending {ending}" if ending else "no ending",
        do="; ".join(filter(None, (hint, do))),
    )


def choose_format(format: str | None, output: Path | str | None, *, do: str = "") -> str:
    """The format of a result: as asked for, or by the ending of the file; the two must agree.

    >>> choose_format(None, None), choose_format(None, "out.csv"), choose_format("md", "out")
    ('table', 'csv', 'md')
    >>> choose_format("json", "out.csv")
    Traceback (most recent call last):
    trueval.errors.OutputError: the format and the file name contradict each other
      where: -o out.csv
      found: --format json and the ending .csv
      do:    omit --format, or use the ending .json
    >>> choose_format(None, "out.html")
    Traceback (most recent call last):
    trueval.errors.OutputError: there is no output format for this file name
      where: -o out.html
      found: the ending .html
      do:    use one of the available endings: .txt .json .csv .tsv .jsonl .md .tex; for a page, --report out.html
    """
    if format is not None:
        check_format(format)
    if output is None or (format is not None and not Path(output).suffix):
        return format or "table"
    if Path(output).suffix.lower() in (ending for page in PAGES for ending in FORMATS[page].endings):
        do = f"for a page, --report {output}"
    found = format_of(output, RESULTS, option="-o", do=do)
    if format not in (None, found):
        raise OutputError(
            "the format and the file name contradict each other",
            where=f"-o {output}",
            found=f"--format {format} and the ending {Path(output).suffix}",
            do=f"omit --format, or use the ending {FORMATS[format].ending}",
        )
    return found


def check_folder_name(folder: Path | str) -> None:
    """Refuse the name of a file where a folder is written.

    >>> check_folder_name("results"), check_folder_name("results-1.2")
    (None, None)
    >>> check_folder_name("results.csv")
    Traceback (most recent call last):
    trueval.errors.OutputError: the output must be a folder, but this is the name of a file
      where: -o results.csv
      found: the ending .csv
      do:    name a folder, for example -o results
    """
    path = Path(folder)
    known = {*_OTHER_FILES, *(ending for made in FORMATS.values() for ending in made.endings)}
    if path.is_dir() or path.suffix.lower() not in known:
        return
    raise OutputError(
        "the output must be a folder, but this is the name of a file",
        where=f"-o {path}",
        found=f"the ending {path.suffix}",
        do=f"name a folder, for example -o {path.with_suffix('')}",
    )


def check_csv_safe(csv_safe: bool, formats: Iterable[str | None]) -> None:
    """Refuse what makes CSV safe where none is written.

    >>> check_csv_safe(True, ["json", "csv"]), check_csv_safe(False, ["json"])
    (None, None)
    >>> check_csv_safe(True, ["json", None])
    Traceback (most recent call last):
    trueval.errors.DefinitionError: --csv-safe concerns CSV and TSV, and none is written
      found: json
      do:    leave it out, or use --format csv or the ending .csv
    """
    found = [name for name in formats if name]
    if csv_safe and not set(SPREADSHEETS) & set(found):
        raise DefinitionError(
            "--csv-safe concerns CSV and TSV, and none is written",
            found=", ".join(found),
            do="leave it out, or use --format csv or the ending .csv",
        )


def safe_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """A table that no spreadsheet takes for formulas (see `csv_safe`), with a note on what was changed."""
    from trueval.progress import note
    from trueval.report.csv_safety import csv_safe

    frame, changed = csv_safe(frame)
    cells = "cell begins" if changed == 1 else "cells begin"
    note(f"--csv-safe: {changed:,} {cells} like a formula" + (" and got an apostrophe" if changed else ""))
    return frame


def rendered(
    found: Any, format: str, *, table: Callable[[], str] | None = None, csv_safe: bool = False, **options: Any
) -> str:
    """A result as text in a format, which ends a line. `table` makes the text table where its width matters.

    With `csv_safe`, CSV and TSV hold nothing that a spreadsheet would run.
    """
    if format == "table" and table is not None:
        text = table()
    elif csv_safe and format in SPREADSHEETS:
        text = safe_frame(found.table(**options)).write_csv(separator=FORMATS[format].separator)
    else:
        render = FORMATS[format].render
        assert render is not None
        text = render(found, **options)
    return text if text.endswith("\n") else text + "\n"
