"""A group of users that is served worse than the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import ALPHA, Draft, Finding
from trueval.audit.registry import check
from trueval.audit.sentences import counted, first_of
from trueval.comparison.pairing import shares_of, user_codes
from trueval.data.ids import check_same_kind
from trueval.errors import DefinitionError, suggest
from trueval.render.numbers import number
from trueval.statistics.significance_tests import t_test
from trueval.statistics.student import t_quantile

_REMEDY = "report values by group (--by of evaluate), and train or tune for these users"
_MOST = 100  # groups of a column
_LEAST = 0.1  # of the value of the others: the smallest gap that is told, where the reader names no relevant change


@dataclass(frozen=True, slots=True)
class GroupGap:
    """One group against all other users; `gap` above 0: the group is served worse. p of a gap beyond `relevant`."""

    system: str
    metric: str
    column: str
    group: str
    value: float
    others: float
    gap: float
    low: float
    high: float
    users: int
    relevant: float
    p: float


@check(heading="robustness", kind="estimate", needs=("systems", "groups"), question="Is a group of users served worse?")
def served_groups(case: Case) -> Iterable[Finding | Draft]:
    """Every group against all other users, for every system."""
    gaps = list(_gaps(case))
    if not gaps:
        sentence = f"It cannot be told whether a group is served worse: no group has {case.min_group} users."
        yield Finding("served_groups", "robustness", "cannot tell", "estimate", sentence, {}, "--min-group 10")
        return

    def conclude(q: np.ndarray) -> Finding:
        figures = {"groups": [asdict(one) for one in gaps]}
        least = float(np.nanmin(q)) if not np.isnan(q).all() else math.nan
        worse = sorted((one for one, at in zip(gaps, q) if at < ALPHA), key=lambda one: -one.gap)
        if not worse:
            tested = counted(len({(one.column, one.group) for one in gaps}), "group")
            largest = max(gaps, key=lambda one: one.gap)
            sentence = (
                f"No group is shown to be served worse by more than is relevant ({tested} tested); the largest gap is "
                f"that of {largest.column} = {largest.group} under {largest.system}: {_ends(largest)}."
            )
            return Finding("served_groups", "robustness", "fine", "estimate", sentence, figures, "", least)
        sentence = first_of([_sentence(one) for one in worse], "gap")
        return Finding("served_groups", "robustness", "caution", "estimate", sentence, figures, _REMEDY, least)

    yield Draft(np.array([one.p for one in gaps]), conclude)


def _sentence(one: GroupGap) -> str:
    return (
        f"{one.metric} of {one.system} is {number(one.value)} for {one.column} = {one.group} ({one.users:,} users) and "
        f"{number(one.others)} for the others: a gap of {_ends(one)}, more than the smallest relevant change of "
        f"{number(one.relevant)}"
    )


def _ends(one: GroupGap) -> str:
    return f"{number(one.gap)} [{number(one.low)}, {number(one.high)}]"


def _gaps(case: Case) -> Iterator[GroupGap]:
    subject, table = case.measured, case.users
    assert table is not None
    users = subject.base.joined.users
    check_same_kind(table["user"], users.values, role="user", where=("users", "the test set"))
    for column in case.by:
        if column not in table.columns:
            known = [name for name in table.columns if name != "user"]
            raise DefinitionError(f"there is no column {column!r} to group by", where="by", do=suggest(column, known))
        rows = table.select("user", pl.col(column).cast(pl.String).alias("group")).drop_nulls().unique("user")
        codes = users.codes(rows["user"])
        labels = sorted(rows["group"].unique().to_list())
        if len(labels) > _MOST:
            raise DefinitionError(
                f"{column} has too many groups", where="by", found=f"{len(labels):,}", do=f"use at most {_MOST}"
            )
        for group in labels:
            inside = np.zeros(len(users), bool)
            own = codes[(rows["group"] == group).to_numpy()]
            inside[own[own >= 0]] = True
            yield from _of_group(case, column, group, inside)


def _of_group(case: Case, column: str, group: str, inside: np.ndarray) -> Iterator[GroupGap]:
    subject = case.measured
    for label in subject.labels:
        side = -1 if subject.specs[label].better == "lower" else 1
        for name in subject.names:
            system = subject.base.systems[name]
            values, member = shares_of(system.sums[label]), inside[user_codes(system, subject.base.joined.users)]
            known = ~np.isnan(values)
            one, other = values[known & member], values[known & ~member]
            if min(len(one), len(other)) < max(case.min_group, 2):
                continue
            gap = side * float(other.mean() - one.mean())
            spread = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
            error = math.sqrt(sum(spread))
            if not error > 0:
                continue
            free = sum(spread) ** 2 / (spread[0] ** 2 / (len(one) - 1) + spread[1] ** 2 / (len(other) - 1))
            reach = t_quantile(level=0.95, freedom=free) * error
            # a mean of all users has a smaller error than a gap: what these users could detect of the first is too much
            # to ask of the second
            relevant = case.relevant(label) if case.relevant_change is not None else _LEAST * abs(float(other.mean()))
            p = t_test(gap - relevant, error, free, "greater")
            yield GroupGap(
                name, label, column, group, float(one.mean()), float(other.mean()), gap, gap - reach, gap + reach,
                len(one), relevant, p,
            )  # fmt: skip
