"""Checks that a calibrator is not tested on the rows it was fitted on."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

from trueval.calibration.calibrator import Calibrator
from trueval.calibration.predictions import Predictions
from trueval.calibration.shared_rows import KnownRows, Reuse, find_reuse, same_digits
from trueval.data.column_roles import naming
from trueval.data.ids import check_same_kind
from trueval.errors import DataError, rows_found
from trueval.render.numbers import percent

_FEW = 50  # rows of a table so small that equal predictions and labels in both, of different ids, may be chance
_SAME = ["user", "item", "prediction"]  # that impressions of a pair may have in common
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

    A row is an impression: a user, an item, what was predicted and what happened, and the time where both tables know
    it. Pairs may come again, with another prediction or at another time.
    """
    if not all(key in table.frame.columns for key in ("user", "item") for table in (validation, test)):
        return _judged(find_reuse(KnownRows.of(validation), KnownRows.of(test)), f"{validation.name} and {test.name}")
    left, right, warnings = _rows_apart(validation, test)
    if _come_again(left, right):  # ids tell these rows apart; the ids of all others may be coded anew
        left, right = left.join(right, on=_SAME, how="anti"), right.join(left, on=_SAME, how="anti")
    found = find_reuse(*(KnownRows(one["prediction"].to_numpy(), one["label"].to_numpy()) for one in (left, right)))
    if found.of < _FEW:
        return warnings
    return warnings + _judged(found, f"{validation.name} and {test.name}", known_apart=True)


def _rows_apart(validation: Predictions, test: Predictions) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The rows of both tables, none of which is in both, and what ids leave open; else they are refused."""
    where = f"{validation.name} and {test.name}"
    timed = all("time" in table.frame.columns for table in (validation, test))
    keys = ["user", "item", *(["time"] if timed else [])]
    chosen = [*keys, "prediction", pl.col("label").cast(pl.Float64)]
    left, right = (table.frame.select(chosen) for table in (validation, test))
    for role in ("user", "item"):
        check_same_kind(left[role], right[role], role=role, where=(validation.name, test.name))
    text = [pl.col(key).cast(pl.String) for key in keys if left.schema[key] != right.schema[key]]
    values = same_digits(left["prediction"].to_numpy(), right["prediction"].to_numpy())
    left, right = (
        table.with_columns(*text, pl.Series("prediction", value + 0.0))  # + 0 makes -0 a 0
        for table, value in zip((left, right), values)
    )
    shared = right.join(left.unique(), on=right.columns, how="semi", nulls_equal=True)
    if len(shared) and (timed or not (_repeats(left) or _repeats(right))):
        examples = shared.unique().sort(shared.columns).head(5).rows(named=True)
        rows = [", ".join(f"{key} {row[key]}" for key in (*keys, "prediction")) for row in examples]
        again = "" if timed else f"; if the pair was really shown twice, {_naming_time(validation, test)}"
        raise DataError(
            "validation and test share rows: the calibrator would be tested on its own fitting data",
            where=where, found=rows_found(rows, len(shared)), do=_DO + again,
        )  # fmt: skip
    same = right.join(left.select(keys).unique(), on=keys, how="semi", nulls_equal=True) if timed else shared
    if not len(same):
        return left, right, []
    if timed:
        doubt = "user, item and time of a row of {}, and another prediction or label: if they are the same impressions"
    else:
        doubt = "user, item, prediction and label of a row of {}, as other rows of one table have: if they are the same"
    named = "" if timed else f" ({_naming_time(validation, test)})"
    shared_text = f"{len(same):,} rows of {test.name} have {doubt.format(validation.name)}"
    return left, right, [f"{shared_text}, the calibrator is tested on its own fitting data{named}"]


def _come_again(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    """Whether pairs with one prediction are other impressions in each table: labels of the same row never differ."""
    left, right = (rows.filter(~pl.struct(_SAME).is_duplicated()) for rows in (left, right))
    both = left.join(right, on=_SAME)
    return bool((both["label"] != both["label_right"]).any())


def _repeats(rows: pl.DataFrame) -> bool:
    """Whether impressions of a table are alike in all that is known of them."""
    return bool(rows.is_duplicated().any())


def _naming_time(validation: Predictions, test: Predictions) -> str:
    """How to name the time of impressions, with the column that looks like it."""
    name, lacking = next(
        (name, table)
        for name, table in (("validation", validation), ("predictions", test))
        if "time" not in table.frame.columns
    )
    both = "time" not in test.frame.columns and name == "validation"
    return naming("time", lacking.source.columns, prefix="" if both else f"{name}.")
