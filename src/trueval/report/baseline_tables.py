"""The table of a result under the names that polars and pandas use, with or without a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trueval.data.exported_tables import as_pandas

if TYPE_CHECKING:
    import pandas as pd


class BaselineTables:
    """A result whose table may have the differences from a baseline."""

    if TYPE_CHECKING:

        def table(self, *, baseline: str | None = None) -> pl.DataFrame: ...

    def to_polars(self, *, baseline: str | None = None) -> pl.DataFrame:
        """The values as a polars table.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.

        Returns
        -------
        DataFrame
            What `table()` returns.
        """
        return self.table(baseline=baseline)

    def to_pandas(self, *, baseline: str | None = None) -> pd.DataFrame:
        """The values as a pandas table; needs pandas and pyarrow.

        Parameters
        ----------
        baseline : text, optional
            Add comparisons with this system. Default: none.

        Returns
        -------
        pandas.DataFrame
            The table of `table()`; what is unknown is NaN or None.

        Raises
        ------
        TruevalError
            Where pandas or pyarrow is not installed.
        """
        return as_pandas(self.table(baseline=baseline))
