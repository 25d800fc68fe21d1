"""Results as tables of polars and of pandas, under the names that these libraries use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import polars as pl

from trueval.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """A table as a pandas DataFrame; what is unknown becomes NaN or None, as pandas has it.

    >>> as_pandas(pl.DataFrame({"metric": ["auc"], "value": [0.5]})).shape  # doctest: +SKIP
    (1, 2)
    """
    try:
        import pandas as pd  # noqa: F401
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        raise DataError(
            "a pandas table needs pandas and pyarrow",
            where="to_pandas()",
            found=f"{error.name or 'one of them'} cannot be imported",
            do="pip install pandas pyarrow, or use to_polars()",
        ) from error
    return frame.to_pandas()


def frame_html(lines: str, frame: pl.DataFrame, *, rows: int = 20) -> str:
    """Lines and the first rows of a table, as a notebook shows them.

    >>> made = frame_html("a log", pl.DataFrame({"user": [1, 2], "value": [0.123456, None]}), rows=1)
    >>> "0.1235" in made, "1 row more" in made
    (True, True)
    """
    from trueval.render.notebook import notebook_html
    from trueval.render.terminal import plain_table

    align = "".join("r" if kind.is_numeric() else "l" for kind in frame.schema.values())
    table = plain_table(frame.columns, [[_cell(x) for x in row] for row in frame.head(rows).iter_rows()], align=align)
    more = len(frame) - rows
    return notebook_html(lines, table, *([f"{more:,} row{'s' * (more != 1)} more"] if more > 0 else []))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Tabular(ABC):
    """A result with a table, which polars and pandas can take."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> pl.DataFrame:
        """The result as a table."""

    def to_polars(self) -> pl.DataFrame:
        """The table of `table()`, a polars DataFrame."""
        return self.table()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas DataFrame; needs pandas and pyarrow."""
        return as_pandas(self.table())
