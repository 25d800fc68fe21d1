"""What runs are held against: the test set and what else is known, read once for all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.judged import Judged, judge
from trueval.data.popularity import item_counts, repeated_pairs, repeats_told
from trueval.data.read import read
from trueval.data.users import read_users
from trueval.design.head import drop_head
from trueval.design.targets import check_inside, check_unseen
from trueval.errors import DataError
from trueval.evaluation.features import item_aspects
from trueval.evaluation.groups import Groups, Known, evaluated_users, find_groups, names_of
from trueval.evaluation.rules import Rules
from trueval.evaluation.weighted import held_out_share
from trueval.evaluation.without_head import NAME, Head, LeftOut
from trueval.facts.truth import Truth
from trueval.metrics.inputs import Inputs, Popularity, Positives, RowPropensity, Share
from trueval.metrics.interest import Interest, Targets
from trueval.propensity.propensity import Propensity
from trueval.splits.folder import saved_parts

Columns = Mapping[str, Any] | None


class TruthSource:
    """Test, train and catalogue. Each run adds its own items to the vocabulary, so a truth is made per run."""

    def __init__(
        self, test: Any, rules: Rules, *, train: Any, items: Any, columns: Columns, without_head: float | None = None,
        seen: str = "exclude",
    ) -> None:  # fmt: skip
        self.rules, self.seen_allowed = rules, seen == "allow"
        self.checked = False  # whether all judged pairs are targets: the same whatever the run
        self.threshold, self.seed = rules.threshold, rules.seed
        self.everyone = rules.averaged_over == "all"
        self.test = read_log(test, columns, name="test")
        self.train = None if train is None else read_log(train, columns, name="train")
        if self.train is not None:
            for role in ("user", "item"):
                where = (self.train.name, self.test.name)
                check_same_kind(self.train.frame[role], self.test.frame[role], role=role, where=where)
        self.pairs = None if self.train is None else self.train.frame.select("user", "item").unique()
        self.item_table = None if items is None else read_items(items)
        self.catalogue = None if self.item_table is None else self.item_table["item"]
        if self.item_table is None and self.train is not None:
            self.item_table = self.train.items
        self.propensity: Propensity | None = None
        self.share: Share | None = None
        if rules.propensity is not None:
            self.propensity = Propensity.read(rules.propensity, train=self.train, test=self.test, columns=columns)
            parts = saved_parts(test) if isinstance(test, (str, Path)) else None
            self.share = None if parts is None else held_out_share(parts)
        self.head = None if without_head is None else Head.of(without_head, self.train, self.test)
        self.left_out: LeftOut | None = None  # the same whatever the run
        self.others: list[pl.Series] = []  # items of the other runs of the evaluation
        self.shown: list[pl.Series] = []  # items of the runs and the test set, of the truth made last

    def truth(self, run_users: pl.Series, run_items: pl.Series) -> Truth:
        """The truth for a run with these users and items."""
        users, items = [self.test.frame["user"]], [self.test.frame["item"], run_items, *self.others]
        self.shown = items.copy()
        if self.everyone:
            users.append(run_users)
        if self.pairs is not None:
            items.append(self.pairs["item"])
            users += [self.pairs["user"]] if self.everyone else []
        if self.catalogue is not None:
            items.append(self.catalogue)
        for column in items[1:]:
            check_same_kind(column, items[0], role="item", where=("the run", self.test.name))
        return self._coded(Ids.of(*users), Ids.of(*items))

    def _coded(self, users: Ids, items: Ids) -> Truth:
        whole = judged = judge(self.test, users, items, threshold=self.threshold)
        head = None
        if self.head is not None:
            head = items.codes(self.head.items)
            judged = drop_head(judged, head, where=NAME)
            self.left_out = LeftOut.of(self.head, whole, judged)
        train = None if self.pairs is None else ByUser.code(self.pairs, users, items)
        listed = None
        if self.catalogue is not None:
            listed = np.zeros(len(items), bool)
            listed[items.codes(self.catalogue)] = True
        if not self.checked:
            self._check_targets(whole, judged, users, items, train, listed)
        return Truth(users, items, judged, train, listed, self.seed, seen_allowed=self.seen_allowed, head=head)

    def _check_targets(
        self, whole: Judged, judged: Judged, users: Ids, items: Ids, train: ByUser | None, listed: np.ndarray | None
    ) -> None:
        """Refuse what designs refuse: judged pairs that are no targets."""
        if listed is not None:
            check_inside(whole, listed, users, items, where=self.test.name)
        if self.train is not None and train is not None and not self.seen_allowed:
            check_unseen(train, judged, users, items, where=f"{self.train.name} and {self.test.name}")
        self.checked = True

    def notes(self) -> list[str]:
        """What a reader should know of the train log: pairs with several rows."""
        if self.train is None or self.pairs is None or len(self.pairs) == len(self.train):
            return []
        return repeats_told(*repeated_pairs(self.train.frame), count=self.train.count)

    def inputs(self, truth: Truth) -> Inputs:
        """What metrics may need besides the facts; popularity counts all train users, judged or not."""
        popularity = None
        if self.train is not None and self.pairs is not None:
            owners = item_counts([self.pairs], truth.items, "rows")  # each pair is there once
            counts = owners if self.train.count == "users" else item_counts([self.train.frame], truth.items, "rows")
            popularity = Popularity(counts, self.pairs["user"].n_unique(), owners)
        aspects = item_aspects(self.item_table, truth.items)
        return Inputs(
            train=truth.train,
            popularity=popularity,
            features=None if aspects is None else aspects.matrix(),
            aspects=aspects,
            interest=Interest.of(self.train, self.test, truth.users, truth.items),
            targets=Targets.of_run(
                truth.items, truth.catalogue, self.shown, None if self.seen_allowed else truth.train
            ),
            positives=Positives.of(self.train, self.test, truth.items, self.threshold),
            propensity=self._chances(truth),
        )

    def _chances(self, truth: Truth) -> RowPropensity | None:
        """Propensities of the relevant pairs, of which those of the head do not count either."""
        made = RowPropensity.make(
            self.propensity, self.test, truth.users, truth.items, threshold=self.threshold, share=self.share
        )
        if made is None or truth.head is None:
            return made
        return replace(made, pairs=made.pairs.where(~np.isin(made.pairs.item, truth.head)))

    def groups(self, truth: Truth, inputs: Inputs) -> list[Groups]:
        """Groups to tell the values apart by, from the tables that came along."""
        if not names_of(self.rules.by):
            return []
        logs = [log for log in (self.train, self.test) if log is not None]
        everything = np.arange(len(truth.items))
        known = Known(
            truth.users,
            truth.items,
            evaluated_users(truth.judged, np.arange(len(truth.users)), self.rules.averaged_over),
            everything if truth.catalogue is None else everything[truth.catalogue],
            inputs,
            user_tables=[
                None if self.rules.users is None else read_users(self.rules.users),
                *(log.users for log in logs),
            ],
            item_tables=[self.item_table, *(log.items for log in logs)],
        )
        return find_groups(self.rules.by, known)


def read_log(source: Any, columns: Columns, *, name: str) -> Interactions:
    """A log whose columns may be named like the run's, or by common names."""
    label = Path(source).name if isinstance(source, (str, Path)) else name
    own = {role: column for role, column in (columns or {}).items() if role in ("user", "item", "value", "time")}
    try:
        return read(source, columns=own or None, name=label)
    except DataError as first:
        if not own:
            raise
        try:
            return read(source, name=label)
        except DataError:
            raise first from None
