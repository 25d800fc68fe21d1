"""Parts: what a split made of a log, with every row accounted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError
from trueval.render.numbers import percent

# Where a row goes; DROPPED + j is dropped for reason j.
TRAIN, VALIDATION, TEST, DROPPED = 0, 1, 2, 3
OBSERVED = "observed"
TESTED_ON = ("test", "validation", OBSERVED)  # parts that systems can be measured on
# Why a split by time drops rows of a part: users and items that systems, which learn from train alone, never saw.
_BOTH = ("user", "item")
COLD = {
    "test": (*(f"{one} unseen before the cut" for one in _BOTH), *(f"{one} first seen in validation" for one in _BOTH)),
    "validation": tuple(f"validation: {one} unseen in train" for one in _BOTH),
}
# A smaller share of lost rows is not worth a warning.
_NOTICEABLE = 0.01


@dataclass(frozen=True, repr=False)
class Parts:
    """What a split made of a log; train + validation + test + observed + dropped are all the rows that came in.

    Prints as counts, with the reasons why rows were dropped.

    Attributes
    ----------
    train, test : Interactions
        What systems learn from, and what they are measured on.
    validation : Interactions or None
        What parameters are chosen on (see `tune`).
    observed : Interactions or None
        The held-out share of a biased log whose `test` is an unbiased sample (split "unbiased").
    dropped : DataFrame or None
        Rows in none of the parts: the columns of the log and a `reason`.
    candidates : Series or None
        The items with test ratings of a uniform test.
    how : mapping
        The split and all its options.

    Examples
    --------
    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> parts = assemble(log, np.array([0, 2, 0]), how={"how": "by hand"})
    >>> parts.report()["test"], parts.rows
    (1, 3)
    >>> parts
    <Parts: by hand, train 2, test 1>
    """

    train: Interactions
    test: Interactions
    validation: Interactions | None = None
    observed: Interactions | None = None
    dropped: pl.DataFrame | None = field(default=None, repr=False)
    candidates: pl.Series | None = field(default=None, repr=False)
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def eta(self) -> int | None:
        """Test ratings of every candidate item, where the split made them equal."""
        return self.how.get("eta")

    @property
    def sides(self) -> dict[str, Parts]:
        """The parts by what they are tested on: "" is `test`, and "observed" the held-out share of a biased log."""
        if self.observed is None:
            return {"": self}
        return {"": self, OBSERVED: self.tested_on(OBSERVED)}

    def tested_on(self, name: str) -> Parts:
        """The same parts with another one as the test part, which takes its place.

        Parameters
        ----------
        name : {"test", "validation", "observed"}
            The part to test on.

        Returns
        -------
        Parts
            Parts whose `how` says what is tested, where that is not the test part.
        """
        part = getattr(self, name)
        if name == "test" or part is None:
            return self
        return replace(self, **{"test": part, name: self.test}, how={**self.how, "tested": name})

    @property
    def rows(self) -> int:
        """Rows of all parts together: the rows that came in."""
        others = (part for part in (self.validation, self.observed, self.dropped) if part is not None)
        return len(self.train) + len(self.test) + sum(map(len, others))

    def __repr__(self) -> str:
        counted = {name: getattr(self, name) for name in ("train", "validation", "test", "observed", "dropped")}
        sizes = [f"{name} {len(part):,}" for name, part in counted.items() if part is not None]
        return f"<Parts: {', '.join([str(self.how.get('how', 'given')), *sizes])}>"

    def __str__(self) -> str:
        return "\n".join([*self.counted(), *(f"  ! {caution}" for caution in self.cautions)])

    def _repr_html_(self) -> str:
        from trueval.render.notebook import notebook_html
        from trueval.render.terminal import plain_table

        report, written = self.report(), self.counted()
        known = [name for name in ("train", "validation", "test", "observed", "dropped") if report[name]]
        rows = [[name, f"{report[name]:,}", percent(report[name] / report["rows"])] for name in known]
        lines = [line.strip() for line in written[len(rows) :]]  # those after the counts, which the table has
        cautions = [f"! {caution}" for caution in self.cautions]
        return notebook_html(plain_table(["part", "rows", "share"], rows), "\n".join([*lines, *cautions]))

    def counted(self) -> list[str]:
        """Lines that say how many rows each part has, why rows were dropped, and who is tested.

        Returns
        -------
        list of text
            What `print(parts)` shows, without its warnings.
        """
        report = self.report()
        lines = []
        for name in ("train", "validation", "test", "observed", "dropped"):
            rows = report[name]
            if rows:
                share = percent(rows / report["rows"])
                lines.append(f"  {name:<11}{rows:>13,} rows {share:>7}")
        for reason, rows in report["reasons"].items():
            users = self.dropped.filter(reason=reason)["user"].n_unique() if self.dropped is not None else 0
            lines.append(f"    {rows:>13,} dropped: {reason} ({users:,} user{'s' * (users != 1)})")
        unseen = f"{report['unseen_users']:,} users and {report['unseen_items']:,} items"
        tested = f"{report['test_users']:,} users, {report['test_items']:,} items"
        lines.append(f"  tested: {tested}; {unseen} unseen in train")
        if report["untested_users"]:
            lines.append(f"  not tested: {report['untested_users']:,} users of train")
        return lines

    @property
    def cautions(self) -> list[str]:
        """What a reader should know of rows that a split by time could not test."""
        reasons, cautions = self._reasons(), []
        for name, part in (("test", self.test), ("validation", self.validation)):
            own = {reason: reasons[reason] for reason in COLD[name] if reason in reasons}
            after = sum(own.values()) + (0 if part is None else len(part))
            if sum(own.values()) > _NOTICEABLE * after:
                why = ", ".join(f"{reason.removeprefix('validation: ')} {rows:,}" for reason, rows in own.items())
                lost, stay = self._users_lost(name), 0 if part is None else part.n_users
                cautions.append(
                    f"{sum(own.values()):,} of {after:,} later rows were dropped from {name}: {why}; "
                    f'{lost:,} of {lost + stay:,} users have no row left in it (unseen="keep" keeps them)'
                )
        return cautions

    def unseen_dropped(self, name: str, role: str) -> int:
        """How many users or items a split by time dropped from a part because train does not have them.

        Parameters
        ----------
        name : {"test", "validation"}
            The part.
        role : {"user", "item"}
            What to count.

        Returns
        -------
        int
            The number of distinct users or items.
        """
        reasons = [reason for reason in COLD.get(name, ()) if role in reason.split()]
        return 0 if self.dropped is None else self.dropped.filter(pl.col("reason").is_in(reasons))[role].n_unique()

    def _users_lost(self, name: str) -> int:
        """Users with no row left in a part, because a split by time dropped all that they had there."""
        assert self.dropped is not None
        part = getattr(self, name)
        users = self.dropped.filter(pl.col("reason").is_in(COLD[name]))["user"].unique()
        return len(users) if part is None else int((~users.is_in(part.frame["user"].unique().implode())).sum())

    def _reasons(self) -> dict[str, int]:
        if self.dropped is None:
            return {}
        return dict(self.dropped["reason"].value_counts().sort("reason").iter_rows())

    def report(self) -> dict[str, Any]:
        """Counts of rows, users and items.

        Returns
        -------
        dict
            Rows of each part (`train`, `validation`, `test`, `observed`, `dropped`) and of all (`rows`), the `reasons`
            of drops, users and items of train and test, and those of the test without train rows (`unseen_users`, …).
        """
        train, test = self.train.frame, self.test.frame
        users, items = train["user"].unique(), train["item"].unique()
        cold_user = ~test["user"].is_in(users.implode())
        cold_item = ~test["item"].is_in(items.implode())
        reasons = self._reasons()
        return {
            "rows": self.rows,
            "train": len(train),
            "validation": 0 if self.validation is None else len(self.validation),
            "test": len(test),
            "observed": 0 if self.observed is None else len(self.observed),
            "dropped": sum(reasons.values()),
            "reasons": reasons,
            "train_users": len(users),
            "train_items": len(items),
            "test_users": test["user"].n_unique(),
            "test_items": test["item"].n_unique(),
            "unseen_users": test["user"].filter(cold_user).n_unique(),
            "unseen_items": test["item"].filter(cold_item).n_unique(),
            "unseen_rows": int((cold_user | cold_item).sum()),
            "untested_users": len(users) - int(users.is_in(test["user"].unique().implode()).sum()),
        }


def assemble(
    log: Interactions,
    place: np.ndarray,
    *,
    how: Mapping[str, Any],
    reasons: Sequence[str] = (),
    candidates: pl.Series | None = None,
) -> Parts:
    """Parts of a log from the place of each row, no row lost and none used twice.

    >>> log = Interactions.of(pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1]}))
    >>> assemble(log, np.array([0, 2, 3]), how={}, reasons=["too new"]).dropped["reason"].to_list()
    ['too new']
    """

    def part(code: int, name: str) -> Interactions | None:
        chosen = place == code
        return log.keep(log.frame.filter(chosen), name=f"{log.name}, {name}") if chosen.any() else None

    train, validation, test = part(TRAIN, "train"), part(VALIDATION, "validation"), part(TEST, "test")
    if train is None or test is None or (validation is None and how.get("validation")):
        raise empty_part(log, "train" if train is None else "test" if test is None else "validation", how)
    out = place >= DROPPED
    dropped = None
    if out.any():
        names = pl.Series("reason", [reasons[code - DROPPED] for code in np.unique(place[out])], pl.String)
        which = np.unique(place[out], return_inverse=True)[1]
        dropped = log.frame.filter(out).with_columns(names.gather(pl.Series(which, dtype=pl.UInt32)))
    parts = Parts(train, test, validation, dropped=dropped, candidates=candidates, how=how)
    if parts.rows != len(log):
        raise RuntimeError(f"split {how.get('how')}: {len(log)} rows in, {parts.rows} out")
    return parts


def empty_part(log: Interactions, name: str, how: Mapping[str, Any]) -> DataError:
    """The error for a split that leaves a part without rows."""
    options = ", ".join(f"{key}={value}" for key, value in how.items() if key != "how")
    keep = 'unseen="keep", ' if how.get("unseen") == "drop" and name != "train" else ""
    return DataError(
        f"the split leaves no row for {name}",
        where=f"split {how.get('how')} of {log.name}",
        found=f"{len(log):,} rows; {options}",
        do=f"use another ratio, {keep}another split, or more data",
    )


def with_dropped(parts: Parts, rows: pl.DataFrame, *, options: Mapping[str, Any]) -> Parts:
    """The same parts with the rows that were dropped before the split, and the options that dropped them."""
    frames = [rows] if parts.dropped is None else [rows, parts.dropped]
    return replace(parts, dropped=pl.concat(frames) if any(map(len, frames)) else None, how={**parts.how, **options})


def check_parts(parts: Any) -> None:
    """Refuse what is not the parts of a split, and say which function is for it."""
    if isinstance(parts, Parts) or (isinstance(parts, (list, tuple)) and all(isinstance(p, Parts) for p in parts)):
        return
    raise DefinitionError(
        "evaluate needs the parts of a split",
        found=type(parts).__name__,
        do="parts = tv.split(log, …); recommendations already made: tv.evaluate_run(recs, test)",
    )
