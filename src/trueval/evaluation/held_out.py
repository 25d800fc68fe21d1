"""What runs are evaluated against: the test set and what else is known, read once for all runs, coded for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.coded_column import CodedColumn
from trueval.data.column_roles import LOG_ROLES
from trueval.data.ids import Ids, check_same_kind
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.judgements import Judged, judge
from trueval.data.pair_keys import unique_pairs
from trueval.data.popularity import item_counts, repeat_notes, repeated_pairs
from trueval.data.read import read
from trueval.data.table_columns import columns_of
from trueval.design.design import RunDesign
from trueval.design.popular_head import drop_head
from trueval.design.targets import check_inside, check_unseen
from trueval.errors import DataError
from trueval.evaluation.context import EvaluationContext, KnownData, RankedUnits, make_context, read_known
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.evaluation.weighted_metrics import labels_weighted
from trueval.evaluation.without_head import NAME, Head, RemovedHead
from trueval.facts.invalid_places import REFUSE
from trueval.facts.truth import Truth
from trueval.metrics.aspect_inputs import Targets
from trueval.metrics.metric_inputs import ItemPopularity

Columns = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Test set, train set and catalogue that runs are evaluated against: the same for all runs of an evaluation."""

    known: KnownData
    options: EvaluationOptions
    design: RunDesign
    pairs: pl.DataFrame | None = field(repr=False)  # of train, each once
    head: Head | None
    users: Ids = field(repr=False)  # of test
    items: Ids = field(repr=False)  # likewise
    judged: Judged = field(repr=False)  # test, in the codes of its own users and items
    other_items: tuple[pl.Series, ...] = field(default=(), repr=False)  # of all runs, where one catalogue is for all

    @property
    def catalogue(self) -> pl.Series | None:
        """The items that may be recommended, where they are given."""
        return None if self.known.items is None else self.known.items["item"]


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """What one run is evaluated against. Each run adds its own items to the vocabulary, so it has its own codes."""

    truth: Truth
    context: EvaluationContext
    removed_head: RemovedHead | None  # with the head, where it is removed


def read_held_out(
    test: Any,
    options: EvaluationOptions,
    *,
    train: Any = None,
    items: Any = None,
    columns: Columns = None,
    design: RunDesign = RunDesign(),
) -> HeldOut:
    """Read what runs are evaluated against."""
    test_log = read_log(test, columns, name="test")
    train_log = None if train is None else read_log(train, columns, name="train")
    if train_log is not None:
        for role in ("user", "item"):
            where = (train_log.name, test_log.name)
            check_same_kind(train_log.frame[role], test_log.frame[role], role=role, where=where)
    pairs = None if train_log is None else unique_pairs(train_log.frame)
    table = None if items is None else read_items(items, columns=columns)
    parts = None
    if isinstance(test, (str, Path)) and (options.propensity is not None or labels_weighted(specs_of(options))):
        from trueval.splits.folder import saved_parts

        parts = saved_parts(test)
    known = read_known(
        test_log, train_log, options, items=table, columns=columns, parts=parts, seen=design.seen,
    )  # fmt: skip
    head = None if design.head is None else Head.of(design.head, train_log, test_log)
    coded = {role: CodedColumn.of(test_log.frame[role]) for role in ("user", "item")}
    users, own_items = coded["user"].ids, coded["item"].ids
    judged = judge(test_log, users, own_items, threshold=options.threshold, coded=coded)
    return HeldOut(known, options, design, pairs, head, users, own_items, judged)


def prepare_run(held_out: HeldOut, run_users: pl.Series, run_items: pl.Series) -> PreparedRun:
    """The truth for a run with these users and items, and what metrics need besides the facts."""
    apart = held_out.catalogue is not None and held_out.options.invalid != REFUSE
    if apart:  # what is no item of the catalogue gets no code among them: it would be an item to metrics
        check_same_kind(run_items, held_out.items.values, role="item", where=("the run", held_out.known.test.name))
    item_columns = [held_out.items.values, *([] if apart else [run_items]), *held_out.other_items]
    users, items = _vocabularies(held_out, run_users, item_columns)
    strangers = Ids.of(run_items.filter(pl.Series(items.codes(run_items) < 0))) if apart else None
    truth, removed_head = _truth(held_out, users, items, strangers)
    everything = np.arange(len(items))
    barred = None if truth.seen_allowed else truth.train
    context = make_context(
        held_out.known,
        held_out.options,
        [
            RankedUnits(
                truth.judged,
                np.arange(len(users)),
                everything if truth.catalogue is None else everything[truth.catalogue],
            )
        ],
        users=users,
        items=items,
        train=truth.train,
        popularity=_popularity(held_out, items),
        targets=Targets.of_run(items, truth.catalogue, item_columns, barred),
        head=truth.head,
    )
    return PreparedRun(truth, context, removed_head)


def _vocabularies(held_out: HeldOut, run_users: pl.Series, item_columns: list[pl.Series]) -> tuple[Ids, Ids]:
    """Users who can be evaluated, and all items there are."""
    everyone = held_out.options.averaged_over == "all"
    users, items = [run_users] if everyone else [], item_columns[1:]
    if held_out.pairs is not None:
        items.append(held_out.pairs["item"])
        users += [held_out.pairs["user"]] if everyone else []
    if held_out.catalogue is not None:
        items.append(held_out.catalogue)
    tested = held_out.known.test
    for column in items:
        check_same_kind(column, tested.frame["item"], role="item", where=("the run", tested.name))
    return held_out.users.joined(*users), held_out.items.joined(*items)


def _truth(held_out: HeldOut, users: Ids, items: Ids, strangers: Ids | None) -> tuple[Truth, RemovedHead | None]:
    """The coded judgements, less those of the head; refuses, as designs do, judged pairs that are no targets."""
    known, design = held_out.known, held_out.design
    own = None if users is held_out.users else users.codes(held_out.users.values)
    whole = judged = held_out.judged.recoded(own, len(users), items.codes(held_out.items.values))
    head, removed_head = None, None
    if held_out.head is not None:
        head = items.codes(held_out.head.items)
        judged = drop_head(judged, head, where=NAME)
        removed_head = RemovedHead.of(held_out.head, whole, judged)
    train = None if held_out.pairs is None else ByUser.code(held_out.pairs, users, items)
    in_catalogue = None
    if held_out.catalogue is not None:
        in_catalogue = np.zeros(len(items), bool)
        in_catalogue[items.codes(held_out.catalogue)] = True
        check_inside(whole, in_catalogue, users, items, where=known.test.name)
    allowed = design.seen == "allow"
    if known.train is not None and train is not None and not allowed:
        check_unseen(train, judged, users, items, where=f"{known.train.name} and {known.test.name}")
    truth = Truth(
        users, items, judged, train, in_catalogue, held_out.options.seed, seen_allowed=allowed, head=head,
        strangers=strangers,
    )  # fmt: skip
    return truth, removed_head


def _popularity(held_out: HeldOut, items: Ids) -> ItemPopularity | None:
    """Popularity over all train users, judged or not: the coded train set has those of the vocabulary alone."""
    train = held_out.known.train
    if train is None or held_out.pairs is None:
        return None
    owners = item_counts([held_out.pairs], items, "rows")  # each pair is there once
    counts = owners if train.count == "users" else item_counts([train.frame], items, "rows")
    return ItemPopularity(counts, held_out.pairs["user"].n_unique(), owners)


def notes_on_repeated_pairs(held_out: HeldOut) -> list[str]:
    """What a reader should know of the train log: pairs with several rows."""
    train = held_out.known.train
    if train is None or held_out.pairs is None or len(held_out.pairs) == len(train):
        return []
    return repeat_notes(*repeated_pairs(train.frame), count=train.count)


def read_log(source: Any, columns: Columns, *, name: str) -> Interactions:
    """A log whose columns may be named like the run's, for it alone (test.user), or by common names."""
    label = Path(source).name if isinstance(source, (str, Path)) else name
    named = columns_of(columns, name).only(LOG_ROLES)
    alone = columns_of({role: column for role, column in (columns or {}).items() if "." in role}, name).only(LOG_ROLES)
    try:
        return read(source, columns=named or None, name=label)
    except DataError as first:
        if named == alone:
            raise
        try:
            return read(source, columns=alone or None, name=label)
        except DataError:
            raise first from None
