"""What values are computed from besides the facts. Runs and systems are prepared by the same functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.judgements import Judged
from trueval.data.users import read_users
from trueval.evaluation.groups import Groups, Known, evaluated_users, find_groups, names_of
from trueval.evaluation.item_aspects import item_aspects
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.evaluation.population import OnlyUsers
from trueval.evaluation.weighted_metrics import labels_weighted
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.metric_inputs import Inputs, ItemPopularity, Positives, RowPropensity

if TYPE_CHECKING:
    from trueval.propensity.held_out_shares import HeldOutShares
    from trueval.propensity.propensity import Propensity
    from trueval.splits.parts import Parts


@dataclass(frozen=True, slots=True)
class KnownData:
    """Logs, side tables and propensities of an evaluation, read once whatever is evaluated."""

    test: Interactions
    train: Interactions | None = None
    items: pl.DataFrame | None = None  # the table that came along with the logs
    users: pl.DataFrame | None = None  # likewise; read only where values are given by group
    propensity: Propensity | None = None
    shares: HeldOutShares | None = None  # of the log that propensities speak of, where chance held the test set out
    outside_train: bool = False  # whether pairs of train are excluded from what is recommended

    @property
    def logs(self) -> list[Interactions]:
        """The logs there are."""
        return [log for log in (self.train, self.test) if log is not None]

    @property
    def item_table(self) -> pl.DataFrame | None:
        """The table of items that came along, else that of the train log."""
        return self.train.items if self.items is None and self.train is not None else self.items


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What metrics and groups need besides the facts, in the codes of one vocabulary."""

    options: EvaluationOptions
    users: Ids = field(repr=False)
    items: Ids = field(repr=False)
    inputs: Inputs = field(repr=False)
    groups: list[Groups] = field(repr=False)
    only: OnlyUsers | None = field(default=None, repr=False)  # whom the evaluation is restricted to


class RankedUnits(NamedTuple):
    """Units that are ranked: what is judged of each, whose it is, and the codes of what may be recommended."""

    judged: Judged
    unit_user: np.ndarray
    candidates: np.ndarray


def read_known(
    test: Interactions,
    train: Interactions | None,
    options: EvaluationOptions,
    *,
    items: pl.DataFrame | None = None,
    columns: Mapping[str, Any] | None = None,
    parts: Parts | None = None,
    seen: str = "exclude",
) -> KnownData:
    """Read what the options name besides the logs; `parts` say how the test set was drawn, where that is known, and
    `seen` whether a user's train items are recommended."""
    users = read_users(options.users, columns=columns) if options.users is not None and names_of(options.by) else None
    weighted = labels_weighted(specs_of(options))
    if options.propensity is None and not weighted:
        return KnownData(test, train, items, users)
    from trueval.evaluation.shares_of_splits import check_popularity, check_split, held_out_shares
    from trueval.propensity.propensity import Propensity
    from trueval.propensity.sources import reads_test

    shares = None if parts is None else held_out_shares(parts)
    propensity = None
    unused = shares is not None and not shares.needs_p and reads_test(options.propensity)
    if options.propensity is not None and not unused:
        propensity = Propensity.read(options.propensity, train=train, test=test, columns=columns)
    if parts is not None:
        check_split(parts, shares, propensity, weighted, threshold=options.threshold, seen=seen)
        check_popularity(parts, options.propensity, weighted)
    outside_train = seen == "exclude" and (train is not None or parts is not None)
    return KnownData(test, train, items, users, propensity, shares, outside_train)


def make_context(
    known: KnownData,
    options: EvaluationOptions,
    ranked: Sequence[RankedUnits],
    *,
    users: Ids,
    items: Ids,
    train: ByUser | None,
    popularity: ItemPopularity | None,
    targets: Targets,
    head: np.ndarray | None = None,
) -> EvaluationContext:
    """The context of some units; items of a `head` have no judgements, and so no propensities."""
    inputs = make_inputs(
        known, options, users=users, items=items, train=train, popularity=popularity, targets=targets, head=head
    )
    if known.shares is not None:
        from trueval.evaluation.shares_of_splits import check_reach

        reached = {"users": [one.unit_user for one in ranked], "items": [one.candidates for one in ranked]}
        codes = {role: np.concatenate(own) for role, own in reached.items()}
        check_reach(known.shares, labels_weighted(specs_of(options), "ips"), users, items, codes)
    only = None if options.only_users is None else OnlyUsers.of(options.only_users, users)
    groups = make_groups(known, options, ranked, users, items, inputs, only)
    return EvaluationContext(options, users, items, inputs, groups, only)


def make_inputs(
    known: KnownData,
    options: EvaluationOptions,
    *,
    users: Ids,
    items: Ids,
    train: ByUser | None,
    popularity: ItemPopularity | None,
    targets: Targets,
    head: np.ndarray | None = None,
) -> Inputs:
    """What metrics may need besides the facts."""
    threshold = options.threshold
    aspects = item_aspects(known.item_table, items)
    propensity = RowPropensity.make(
        known.propensity, known.test, users, items, threshold=threshold, shares=known.shares,
        outside_train=known.outside_train,
    )  # fmt: skip
    if propensity is not None and head is not None:
        propensity = replace(propensity, pairs=propensity.pairs.where(~np.isin(propensity.pairs.item, head)))
    return Inputs(
        train=train,
        popularity=popularity,
        features=None if aspects is None else aspects.matrix(),
        aspects=aspects,
        interest=Interest.of(known.train, known.test, users, items),
        targets=targets,
        positives=Positives.of(known.train, known.test, items, threshold),
        propensity=propensity,
    )


def make_groups(
    known: KnownData, options: EvaluationOptions, ranked: Sequence[RankedUnits], users: Ids, items: Ids, inputs: Inputs,
    only: OnlyUsers | None = None,
) -> list[Groups]:  # fmt: skip
    """Groups to break the values down by, from the tables given."""
    if not names_of(options.by):
        return []
    evaluated = [evaluated_users(one.judged, one.unit_user, options.averaged_over) for one in ranked]
    everyone = np.unique(np.concatenate(evaluated))
    found = Known(
        users,
        items,
        everyone if only is None else everyone[only.mask[everyone]],
        np.unique(np.concatenate([one.candidates for one in ranked])),
        inputs,
        user_tables=[known.users, *(log.users for log in known.logs)],
        item_tables=[known.items, *(log.items for log in known.logs)],
    )
    return find_groups(options.by, found)
