"""Leakage between the parts of a split: one table, one verdict, example rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from trueval.data.exported_tables import Tabular
from trueval.data.pair_keys import repeated_rows
from trueval.errors import DefinitionError
from trueval.forks import needs_threads
from trueval.render.numbers import percent
from trueval.render.shown import Shown
from trueval.splits.given import of_one_type
from trueval.splits.leakage_checks import Check, find_cold, find_duplicates, find_futures, find_overlap, find_repeats
from trueval.splits.parts import OBSERVED, Parts

_SEVERITY = ("ok", "unknown", "caution", "wrong")
# What is learned from first, what it is used on then: no row of the second may be given away by the first.
_LATER = {"validation": ("train",), "test": ("train", "validation"), OBSERVED: ("train", "validation")}


@dataclass(frozen=True)
class Leakage(Tabular, Shown):
    """All checks of one split; `verdict` is the worst of theirs; a check that cannot be made counts as caution."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """ok, caution or wrong."""
        worst = max((check.verdict for check in self.checks), key=_SEVERITY.index)
        return "caution" if worst == "unknown" else worst

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def table(self) -> pl.DataFrame:
        """One row per check: check, count, share, verdict, meaning, do."""
        columns = ("count", "share", "verdict", "meaning", "do")
        rows = [(check.name, *(getattr(check, column) for column in columns)) for check in self.checks]
        kinds = (pl.String, pl.Int64, pl.Float64, pl.String, pl.String, pl.String)
        return pl.DataFrame(rows, schema=dict(zip(("check", *columns), kinds)), orient="row")

    def as_dict(self) -> dict[str, Any]:
        """The verdicts and counts, without examples, for a manifest."""
        checks = {c.name: {"count": c.count, "share": c.share, "verdict": c.verdict} for c in self.checks}
        return {"verdict": self.verdict, "checks": checks}

    def __str__(self) -> str:
        lines = [f"leakage: {self.verdict}"]
        width = max(len(check.name) for check in self.checks)
        for check in self.checks:
            count = "-" if check.count is None else f"{check.count:,}"
            share = "-" if check.share is None else percent(check.share, 2)
            lines.append(f"  {check.verdict:<8} {check.name:<{width}} {count:>10} {share:>8}  {check.meaning}")
            if check.do:
                lines.append(f"{'':<{width + 32}}-> {check.do}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from trueval.render.notebook import notebook_html
        from trueval.render.terminal import plain_table

        rows = []
        for check in self.checks:
            count = "-" if check.count is None else f"{check.count:,}"
            share = "-" if check.share is None else percent(check.share, 2)
            text = f"{check.meaning} → {check.do}" if check.do else check.meaning
            rows.append([check.verdict, check.name, text, count, share])
        head = ["verdict", "check", "meaning", "count", "share"]
        return notebook_html(f"leakage: {self.verdict}", plain_table(head, rows, align="lll"))


@needs_threads
def leakage(parts: Parts) -> Leakage:
    """Look for what should not be there: shared pairs, the future, duplicates, ids without train rows.

    Every two parts are compared: train with validation, and both with test (and with `observed`). A check of train and
    test has a plain name (`overlap`), one of other parts is named after them (`overlap_train_validation`).

    - overlap: the same user and item in both parts, whatever the value and time.
    - own_future, global_future: rows of the earlier part from after the user's first, or anybody's first, row in the
      later one; early_items: rows of the later part from before the item was in the earlier one.
    - duplicates: rows that repeat another one, in one part or in two; repeats: rows with the user and item of another
      one of the same part, but another value or time.
    - new_users, new_items: ids of the test without train rows; of other parts, `new_users_validation`.

    Under a split that promises to respect time (`temporal` and `rolling`; `user_temporal` and `leave_one_out` of the
    last rows for each user's own history) a row from the future is wrong; under any other it is a reason for caution.
    A row at exactly that moment is not from the future, except under `temporal` and `rolling`.

    Parameters
    ----------
    parts : Parts
        The parts of one split.

    Returns
    -------
    Leakage
        The `verdict` ("ok", "caution" or "wrong"), and each check by name: its count, share, verdict, meaning and what
        to do. `table()` has a row per check.

    Raises
    ------
    TruevalError
        If `parts` is not the result of a split.

    Examples
    --------
    >>> from trueval.data.interactions import Interactions
    >>> log = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "time": [1, 2, 3]})
    >>> train, test = Interactions.of(log), Interactions.of(log.filter(pl.col("time") == 2))
    >>> found = leakage(Parts(train, test))
    >>> found.verdict, found["overlap"].count, found["global_future"].count
    ('wrong', 1, 1)
    """
    if not isinstance(parts, Parts):
        raise DefinitionError("leakage needs the parts of a split", found=type(parts).__name__, do="tv.split(log, …)")
    named = {
        name: log for name in ("train", "validation", "test", OBSERVED) if (log := getattr(parts, name)) is not None
    }
    frames = {name: log.frame for name, log in zip(named, of_one_type(*named.values()))}
    pairs = [(first, then) for then in frames for first in _LATER.get(then, ()) if first in frames]
    pairs.sort(key=lambda pair: pair != ("train", "test"))
    checks: list[Check] = []
    near = repeated_rows(frames)  # only pairs that are there twice can be shared or repeated
    rows = {name: len(frame) for name, frame in frames.items()}
    checks += [find_overlap(near, pair, among=rows[pair[1]]) for pair in pairs]
    checks += [check for pair in pairs for check in find_futures(frames, pair, parts.how)]
    own = [name for name in frames if name != OBSERVED]
    checks += [find_duplicates({name: near[name] for name in own}, among=sum(rows[name] for name in own))]
    checks += [find_repeats(near, among=sum(rows.values()))]
    checks += [
        check for name in ("test", "validation", OBSERVED) if name in frames for check in find_cold(parts, frames, name)
    ]
    return Leakage(tuple(checks))
