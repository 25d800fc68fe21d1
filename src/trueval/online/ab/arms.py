"""The arms of a test: who is in which, and which is the control."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.data.ids import as_text
from trueval.errors import DataError, DefinitionError, suggest
from trueval.online.ab.events import Users, one_per_user
from trueval.online.ab.reading import bad_rows

_CONTROLS = ("control", "baseline", "a", "0", "false", "off", "old")
_MOST = 50  # a column with more values than this is something else


def make_arms(
    column: pl.Series, users: Users, *, control: str | None = None, where: str = "table"
) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the arms, the control first, and the arm of every user.

    Without a name, the control is the arm called control, baseline, a, 0, false, off or old, else the first by name.

    >>> make_arms(pl.Series("arm", ["new", "old", "new", "old"]), Users(np.arange(4), 4))[0]
    ('old', 'new')
    """
    if column.null_count():
        missing = column.is_null().to_numpy()
        raise bad_rows(column, missing, "rows belong to no arm", where=where, do="fill the arm or drop these rows")
    own = one_per_user(
        as_text(column, what="arms", where=f"{where}, column {column.name}"), users, what="a user is in two arms",
        where=where, do="drop users who saw both, and find out why they did",
    )  # fmt: skip
    names = own.unique().sort().to_list()
    place = f"{where}, column {column.name}"
    if len(names) < 2:
        raise DataError(
            "there is only one arm", where=place, found=names[0], do="an A/B test compares two arms or more"
        )
    if len(names) > _MOST:
        raise DataError(
            "the column does not look like arms", where=place, found=f"{len(names):,} different values",
            do="name the column that says which version a user saw",
        )  # fmt: skip
    first = _control(names, control, place)
    ordered = (first, *(name for name in names if name != first))
    codes = own.replace_strict(list(ordered), list(range(len(ordered))), return_dtype=pl.Int64).to_numpy()
    counts = np.bincount(codes, minlength=len(ordered))
    if counts.min() < 2:
        lone = ordered[int(counts.argmin())]
        raise DataError(
            "an arm has a single user", where=place, found=f"{lone}: 1 user",
            do="wait for more users, or leave out the arm",
        )  # fmt: skip
    return ordered, codes


def _control(names: list[str], control: str | None, where: str) -> str:
    if control is not None:
        if str(control) not in names:
            raise DefinitionError(f"there is no arm {control!r}", where=where, found=suggest(str(control), names))
        return str(control)
    usual = [name for name in names if name.lower() in _CONTROLS]
    return usual[0] if len(usual) == 1 else names[0]
