"""Every metric of two joined systems against its margin: over all common users, and over the users of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.comparison.gate import Tried
from trueval.comparison.join_results import Joined, Replicate
from trueval.comparison.margins import Margin, largest_fall
from trueval.comparison.non_inferiority import NEW, OLD, MarginTest, only, tallies_tested, users_tested
from trueval.comparison.paired_tests import possible_difference
from trueval.comparison.pairing import Common, common_users
from trueval.data.ids import Ids
from trueval.data.users import read_users
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.groups import By, Groups, Known, find_groups, names_of
from trueval.metrics.metric_inputs import Inputs


@dataclass(frozen=True)
class GatedPair:
    """Both systems, joined, and their common users in every repeat."""

    joined: Joined
    level: float
    parts: list[Replicate]
    shared: list[Common]  # users of both, by repeat

    @staticmethod
    def of(joined: Joined, *, level: float) -> GatedPair:
        """The repeats with both systems."""
        parts = _common_replicates(joined)
        shared = [common_users(part.systems[NEW], part.systems[OLD], joined.users) for part in parts]
        return GatedPair(joined, level, parts, shared)

    def left_out(self) -> list[str]:
        """A note on users of one result who are not in the other: nothing is known of what changed for them."""
        notes = []
        for who, other in ((NEW, OLD), (OLD, NEW)):
            own = [len(np.unique(part.systems[who].unit_user)) for part in self.parts]
            most = max(count - len(shared.users) for count, shared in zip(own, self.shared))
            if most:
                notes.append(f"{most:,} of {max(own):,} users of the {who} result are not in the {other} one: left out")
        return notes

    def tested(self, label: str, margin: Margin, members: np.ndarray | None = None) -> MarginTest | None:
        """One metric, of all users or of some; None where it cannot be tested."""
        spec = self.joined.specs[label]
        shared = self.shared if members is None else [only(who, members) for who in self.shared]
        if all(label in part.systems[who].sums for part in self.parts for who in (NEW, OLD)):
            tested = users_tested(self.parts, shared, label, spec, margin, level=self.level)
        elif members is not None:
            return None
        else:
            tested = tallies_tested(self.parts, shared, label, spec, margin, level=self.level)
        if tested is None:
            return None
        ends = possible_difference((tested.low, tested.high), tested.difference, spec.range)
        return replace(tested, low=ends[0], high=ends[1])


def _common_replicates(joined: Joined) -> list[Replicate]:
    both = joined.having(NEW, OLD)
    if not both:
        raise DataError(
            "the two results have no seed or fold in common",
            found="\n".join(f"{who}: {_seeds(joined, who)}" for who in (NEW, OLD)),
            do="evaluate both with the same seed and on the same split",
        )
    return both


def _seeds(joined: Joined, name: str) -> str:
    labels = [part.label for part in joined.having(name)]
    return "; ".join(", ".join(f"{key} {value}" for key, value in one.items()) or "no seed" for one in labels)


def try_metrics(pair: GatedPair, margins: Mapping[str, Margin], asked: Any) -> tuple[list[Tried], list[str]]:
    """Every metric over all common users; what cannot be tested is refused where it was asked for, else noted."""
    if not any(len(who.users) for who in pair.shared):
        raise DataError("the two results have no user in common", do="evaluate both on the same users")
    tried: list[Tried] = []
    untested: list[str] = []
    for label, margin in margins.items():
        found = pair.tested(label, margin)
        if found is None:
            untested.append(label)
        elif margin.relative and not found.old > 0:
            raise DataError(
                f"a margin of {margin} of the old value needs an old value above 0",
                where=label, found=f"{found.old:g}", do=f"give a difference, as margin={label}=0.005",
            )  # fmt: skip
        elif margin.exceeds(fall := largest_fall(found.old, pair.joined.specs[label])):
            raise DataError(
                f"no fall of {label} could exceed the margin",
                where=f"margin {margin}", found=f"old value {found.old:.4g}: it can fall by {fall:.4g} at most",
                do=f"write a share of the old value with %, as margin={label}=1%, or give a smaller difference",
            )  # fmt: skip
        else:
            tried.append(Tried(label, pair.joined.specs[label].better, margin, found))
    if untested and (asked is not None or not tried):
        raise DataError(
            f"{', '.join(untested)} cannot be tested",
            found="neither values of common users nor an interval over the same users",
            do="evaluate with an interval, both on the same users, or choose other metrics",
        )
    notes = pair.left_out()
    left = f"not tested, since they have no interval or are over different users: {', '.join(untested)}"
    return tried, [*notes, left] if untested else notes


def try_groups(
    pair: GatedPair, tried: Sequence[Tried], by: By, users: Any, min_group: int
) -> tuple[list[Tried], list[str]]:
    """The same metrics over the users of each group that is large enough."""
    if by is None:
        return [], []
    found: list[Tried] = []
    small: list[str] = []
    zero: list[str] = []
    wide: list[str] = []
    for groups in _groups(pair, by, users):
        name = groups.name.removeprefix("user:")
        for place, label in enumerate(groups.labels):
            for one in tried:
                own = pair.tested(one.metric, one.margin, groups.members(place))
                if own is None and one.found.test == "jackknife":
                    continue
                if own is None or own.users < min_group:
                    small.append(f"{name} = {label}")
                elif one.margin.relative and not own.old > 0:
                    zero.append(f"{one.metric} of {name} = {label}")
                elif one.margin.exceeds(largest_fall(own.old, pair.joined.specs[one.metric])):
                    wide.append(f"{one.metric} of {name} = {label}")
                else:
                    found.append(replace(one, found=own, by=name, group=label))
    whole = [one.metric for one in tried if one.found.test == "jackknife"]
    said = (
        (f"groups of fewer than {min_group} users are not tested", small),
        ("no relative margin of an old value of 0", zero),
        ("not tested, since no fall could exceed the margin", wide),
        ("metrics of the whole system are not tested by group", whole),
    )
    notes = [f"{text}: {', '.join(dict.fromkeys(which))}" for text, which in said if which]
    if not found:
        raise DataError("there is no group to test", where=f"by {by}", found="; ".join(notes), do="lower --min-group")
    return found, notes


def _groups(pair: GatedPair, by: By, users: Any) -> list[Groups]:
    names = names_of(by)
    if items := [name for name in names if name.startswith("item:")]:
        raise DefinitionError("the gate tests groups of users", found=", ".join(items), do="name a column of users")
    everyone = np.unique(np.concatenate([who.users for who in pair.shared]))
    known = Known(
        users=pair.joined.users, items=Ids.of(pl.Series([0])), evaluated=everyone,
        recommendable=np.zeros(0, np.int64), inputs=Inputs(), user_tables=[read_users(users)],
    )  # fmt: skip
    return find_groups([name if name.startswith("user:") else f"user:{name}" for name in names], known)
