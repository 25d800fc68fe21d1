"""Checks that a calibrator is not tested on the rows it was fitted on."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

from trueval.calibration.calibrator import Calibrator
from trueval.calibration.predictions import Predictions
from trueval.calibration.shared_rows import KnownRows, Reuse, find_reuse
from trueval.data.ids import check_same_kind
from trueval.errors import DataError, rows_found
from trueval.render.numbers import percent

_FEW = 50  # rows of a table so small that equal predictions and labels in both, of different ids, may be chance
_DO = "fit on a part that is held out from the test part (trueval split --validation …)"


def fingerprint(data: Predictions) -> str:
    """A short digest of what was predicted and what happened, whatever else the table holds and in any order.

    >>> from trueval.calibration.predictions import read_predictions
    >>> one = read_predictions(pl.DataFrame({"p": [0.1, 0.2], "y": [0, 1]}))
    >>> two = read_predictions(pl.DataFrame({"label": [True, False], "score": [0.2, 0.1], "user": [7, 8]}))
    >>> fingerprint(one) == fingerprint(two)
    True
    """
    rows = np.stack([data.value, data.label], axis=1) + 0.0  # sorted by both; + 0 makes -0 a 0
    return hashlib.sha256(np.ascontiguousarray(rows, "<f8").tobytes()).hexdigest()[:16]


def remembered(data: Predictions) -> dict[str, Any]:
    """What a calibrator keeps of the rows it was fitted on, to recognise them: predictions and labels of a sample.

    >>> from trueval.calibration.predictions import read_predictions
    >>> remembered(read_predictions(pl.DataFrame({"p": [0.1, 0.2], "y": [0, 1]})))["labels"]
    '01'
    """
    rows = KnownRows.of(data).sample()
    labels = "".join("1" if label else "0" for label in rows.label)
    return {"limit": rows.limit, "predictions": rows.value.tolist(), "labels": labels}


def refuse_seen_table(calibrator: Calibrator, test: Predictions) -> list[str]:
    """Refuse test rows that a calibrator fitted earlier has seen; warn where that cannot be checked."""
    name = str(calibrator.fitted_on.get("name", "validation"))
    if calibrator.fitted_on.get("fingerprint") == fingerprint(test):
        raise _seen(f"{name} and {test.name}", f"the same {len(test):,} rows")
    kept = calibrator.fitted_on.get("sample")
    if not kept:
        return ["the calibrator was fitted earlier and keeps no sample of rows: only whole tables were compared"]
    rows = KnownRows(np.array(kept["predictions"]), np.array([float(x) for x in kept["labels"]]), int(kept["limit"]))
    return _judged(find_reuse(rows, KnownRows.of(test)), f"{name} and {test.name}", sampled=True)


def _judged(found: Reuse, where: str, *, known_apart: bool = False, sampled: bool = False) -> list[str]:
    """Refuse shared rows, and warn if they cannot be excluded; ids decide where labels are not conclusive."""
    share = f"{percent(found.rows / max(found.of, 1), 0)} of the rows compared" if sampled else f"{found.rows:,} rows"
    if found.verdict == "same":
        raise _seen(where, f"{share} have the same prediction and label, far more than expected by chance")
    if known_apart or found.verdict == "other":
        return []
    if found.verdict == "unknown":
        return [
            f"{share} of both tables have the same prediction, and the labels do not show whether they are the same "
            "rows: if they are, the calibrator is tested on its own fitting data; add user and item columns to check"
        ]
    return ["predictions are too coarse to show whether the tables share rows; add user and item columns to check"]


def _seen(where: str, found: str) -> DataError:
    return DataError("the calibrator was fitted on rows of the test table", where=where, found=found, do=_DO)


def refuse_shared_rows(validation: Predictions, test: Predictions) -> list[str]:
    """Refuse tables that share rows, by ids and by content (see shared_rows.py); warn if neither is conclusive.

    An impression is a user and an item, and the time where both tables know it.
    """
    known_apart = _refuse_shared_ids(validation, test)
    found = find_reuse(KnownRows.of(validation), KnownRows.of(test))
    if known_apart and found.of < _FEW:
        return []
    return _judged(found, f"{validation.name} and {test.name}", known_apart=known_apart)


def _refuse_shared_ids(validation: Predictions, test: Predictions) -> bool:
    """Refuse tables that share impressions; whether ids show that they do not."""
    where = f"{validation.name} and {test.name}"
    known = [all(role in t.frame.columns for t in (validation, test)) for role in ("user", "item", "time")]
    if not (known[0] and known[1]):
        return False
    keys = ["user", "item", *(["time"] if known[2] else [])]
    left, right = (t.frame.select(keys) for t in (validation, test))
    for role in ("user", "item"):
        check_same_kind(left[role], right[role], role=role, where=(validation.name, test.name))
    text = [pl.col(key).cast(pl.String) for key in keys if left.schema[key] != right.schema[key]]
    left, right = left.with_columns(text), right.with_columns(text)
    shared = right.unique().join(left.unique(), on=keys, how="inner", nulls_equal=True)
    if len(shared):
        examples = shared.sort(keys).head(5).rows(named=True)
        rows = [", ".join(f"{key} {row[key]}" for key in keys) for row in examples]
        again = "" if known[2] else "; if a pair was really shown twice, name the time column (--columns time=…)"
        raise DataError(
            "validation and test share rows: the calibrator would be tested on its own fitting data",
            where=where,
            found=rows_found(rows, len(shared)),
            do=_DO + again,
        )
    return True
