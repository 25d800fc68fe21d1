"""The arms of a test: who is in which, and which is the control."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.ids import as_text
from trueval.errors import DataError, DefinitionError, suggest
from trueval.online.ab.events import Users, one_per_user
from trueval.online.ab.read_table import bad_rows

# Names of the arm that gets nothing new, and words that may stand beside them ("Group A", "control_arm").
CONTROLS = frozenset(
    (
        "control", "ctrl", "none", "no", "baseline", "base", "a", "original", "off", "old", "current", "default",
        "placebo", "false", "0",
    )
)  # fmt: skip
_BESIDE = frozenset(("arm", "group", "variant", "variation", "version"))
_MOST = 50  # a column with more values than this is something else


@dataclass(frozen=True, slots=True)
class Arms:
    """The names of the arms, the control first; the arm of every user; why the control is the control."""

    names: tuple[str, ...]
    codes: np.ndarray
    why: str


def make_arms(column: pl.Series, users: Users, *, control: str | None = None, where: str = "table") -> Arms:
    """Who is in which arm, and which arm is the control.

    Unless it is given, the control is the one arm whose name says so (control, none, baseline, a, …). If no name does,
    it is the first in alphabetical order of two arms; with more arms it must be given.

    >>> arms = make_arms(pl.Series("arm", ["new", "old", "new", "old"]), Users(np.arange(4), 4))
    >>> arms.names, arms.why
    (('old', 'new'), 'by its name')
    """
    if column.null_count():
        missing = column.is_null().to_numpy()
        raise bad_rows(column, missing, "some rows have no arm", where=where, do="fill the arm or drop these rows")
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
            do="name the column with the version that a user saw",
        )  # fmt: skip
    first, why = _control(names, control, place)
    ordered = (first, *(name for name in names if name != first))
    codes = own.replace_strict(list(ordered), list(range(len(ordered))), return_dtype=pl.Int64).to_numpy()
    counts = np.bincount(codes, minlength=len(ordered))
    if counts.min() < 2:
        lone = ordered[int(counts.argmin())]
        raise DataError(
            "an arm has a single user", where=place, found=f"{lone}: 1 user",
            do="wait for more users, or leave out the arm",
        )  # fmt: skip
    return Arms(ordered, codes, why)


def is_control(name: str) -> bool:
    """Whether a name says that its arm is the control.

    >>> [is_control(name) for name in ("Control", "group A", "A (control)", "none", "no ad", "banner")]
    [True, True, True, True, False, False]
    """
    words = [word for word in re.split(r"[\W_]+", name.lower()) if word and word not in _BESIDE]
    return bool(words) and all(word in CONTROLS for word in words)


def _control(names: list[str], control: str | None, where: str) -> tuple[str, str]:
    if control is not None:
        if str(control) not in names:
            raise DefinitionError(f"there is no arm {control!r}", where=where, do=suggest(str(control), names))
        return str(control), "as named"
    usual = [name for name in names if is_control(name)]
    if len(usual) == 1:
        return usual[0], "by its name"
    if len(names) == 2:
        which = "both names could be the control" if usual else "neither name identifies the control"
        return names[0], f"alphabetically first, because {which}; choose with control=…, --control …"
    raise DefinitionError(
        "the control cannot be determined from the names of the arms", where=where,
        found=", ".join(names) + (f" (possible controls: {', '.join(usual)})" if usual else ""),
        do=f"name it: control=NAME (--control NAME), NAME being one of {', '.join(names)}",
    )  # fmt: skip
