"""The guard: what a calibrator was fitted on must not be what it is judged on."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from trueval.calibration.calibrator import Calibrator
from trueval.calibration.predictions import Predictions
from trueval.data.columns import PREDICTION_ROLES
from trueval.data.ids import check_same_kind
from trueval.errors import DataError, rows_found

_DO = "fit on a part that is held out from the test part (trueval split --validation …)"


def fingerprint(data: Predictions) -> str:
    """A short digest of the set of rows, whatever their order (the same as long as polars' hashes are).

    >>> from trueval.calibration.predictions import read_predictions
    >>> one = read_predictions(pl.DataFrame({"p": [0.1, 0.2], "y": [0, 1]}))
    >>> two = read_predictions(pl.DataFrame({"label": [True, False], "score": [0.2, 0.1]}))
    >>> fingerprint(one) == fingerprint(two)
    True
    """
    columns = [role for role in PREDICTION_ROLES if role in data.frame.columns]
    typed = {"prediction": pl.Float64, "label": pl.Float64, "weight": pl.Float64, "time": pl.String}
    rows = data.frame.select(pl.col(role).cast(typed[role]) if role in typed else role for role in columns)
    hashes = rows.hash_rows(seed=0).to_numpy()
    mixed = (int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes)))
    return hashlib.sha256(f"{columns}{len(hashes)}{mixed}".encode()).hexdigest()[:16]


def refuse_same_table(calibrator: Calibrator, test: Predictions) -> None:
    """Refuse a test table that is the very one the calibrator was fitted on."""
    if calibrator.fitted_on.get("fingerprint") == fingerprint(test):
        raise DataError(
            "the calibrator was fitted on the table it would be judged on",
            where=f"{calibrator.fitted_on.get('name', 'validation')} and {test.name}",
            found=f"the same {len(test):,} rows",
            do=_DO,
        )


def refuse_shared_rows(validation: Predictions, test: Predictions) -> list[str]:
    """Refuse tables that share impressions; warn where that cannot be seen.

    An impression is a user and an item, and the time where both tables know it.
    """
    where = f"{validation.name} and {test.name}"
    known = [all(role in t.frame.columns for t in (validation, test)) for role in ("user", "item", "time")]
    if not (known[0] and known[1]):
        return ["no user and item columns in both tables: only identical tables could be told from separate ones"]
    keys = ["user", "item", *(["time"] if known[2] else [])]
    left, right = (t.frame.select(keys) for t in (validation, test))
    for role in ("user", "item"):
        check_same_kind(left[role], right[role], role=role, where=(validation.name, test.name))
    text = [pl.col(key).cast(pl.String) for key in keys if left.schema[key] != right.schema[key]]
    left, right = left.with_columns(text), right.with_columns(text)
    shared = right.unique().join(left.unique(), on=keys, how="inner", nulls_equal=True)
    if len(shared):
        shown = shared.sort(keys).head(5).rows(named=True)
        rows = [", ".join(f"{key} {row[key]}" for key in keys) for row in shown]
        again = "" if known[2] else "; where a pair was really shown twice, name the time column (--columns time=…)"
        raise DataError(
            "validation and test share rows: the calibrator would be judged on what it was fitted on",
            where=where,
            found=rows_found(rows, len(shared)),
            do=_DO + again,
        )
    return []
