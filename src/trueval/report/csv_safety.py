"""Tables of text that spreadsheets do not take for formulas."""

from __future__ import annotations

import polars as pl

# What begins a formula in Excel, LibreOffice or Google Sheets, also after a tab or an end of line that they leave out.
BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
_FORMULA = r"^[=+\-@\t\r\n]"


def csv_safe(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """A table whose texts and names of columns have an apostrophe before what a spreadsheet would run; how many have.

    Numbers stay as they are, negative ones too.

    Parameters
    ----------
    frame : DataFrame
        The table that is going to be written as CSV.

    Returns
    -------
    DataFrame, int
        The table, and the number of cells and names that were changed.

    Examples
    --------
    >>> made, changed = csv_safe(pl.DataFrame({"item": ["=1+1", "a"], "-x": [-1, 2]}))
    >>> made["item"].to_list(), made.columns, changed
    (["'=1+1", 'a'], ['item', "'-x"], 2)
    """
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    frame = frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame
    marked = [pl.col(name).str.contains(_FORMULA) for name in texts]
    changed = sum(frame.select(marked).sum().row(0)) if texts and len(frame) else 0
    if changed:
        frame = frame.with_columns(
            pl.when(mark).then(pl.concat_str(pl.lit("'"), pl.col(name))).otherwise(pl.col(name)).alias(name)
            for name, mark in zip(texts, marked)
        )
    names = {name: _unused(f"'{name}", frame.columns) for name in frame.columns if name.startswith(BEGINNINGS)}
    return frame.rename(names), changed + len(names)


def _unused(name: str, taken: list[str]) -> str:
    while name in taken:
        name = f"'{name}"
    return name
