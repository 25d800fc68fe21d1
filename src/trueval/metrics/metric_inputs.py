"""What some metrics need besides the facts, and what to say when it is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.data.aspects import Aspects
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.lazy import Once
from trueval.data.popularity import item_counts
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.aspect_inputs import Interest, Targets

if TYPE_CHECKING:
    from trueval.propensity.held_out_shares import HeldOutShares
    from trueval.propensity.propensity import Propensity

HOW = {
    "train": ("the train log", "pass train=… (--train FILE)"),
    "popularity": ("the popularity of items in the train log", "pass train=… (--train FILE)"),
    "propensity": ("the chance that each relevant item was observed", "pass propensity=… (--propensity)"),
    "positives": ("relevant ratings of each item in train and test", "pass train=… (--train FILE)"),
    "aspects": (
        "the aspects of items",
        "pass items=… with an `aspects` column, rows of item and aspect, or 0/1 columns aspect_… (--items FILE)",
    ),
    "interest": ("the users' train ratings", "pass train=… (--train FILE), or ask for profile=test"),
    "targets": ("the items that could be recommended", "pass items=… (--items FILE)"),
    "features": ("item features", "pass items=… with an `aspects` column (--items FILE)"),
}


@dataclass(frozen=True, slots=True)
class ItemPopularity:
    """Popularity of each item in train, the users who have it, and the number of train users.

    `counts` is what the log counts, users or rows; `owners` are users, as they are where nothing else is given.
    """

    counts: np.ndarray
    users: int
    owners: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.owners is None:
            object.__setattr__(self, "owners", self.counts)

    def users_of(self, *, metric: str) -> np.ndarray:
        """How many train users have each item: never more than there are."""
        most = self.owners.max(initial=0)
        if most > self.users:
            raise DefinitionError(
                f"{metric} takes shares of the train users, and an item has more users than there are",
                found=f"{most:g} users of an item, {self.users:,} in all",
                do="give users=…, the number of train users that popularity counts",
            )
        return self.owners


@dataclass(frozen=True)
class Positives:
    """Number of relevant ratings of each item in train and in test, counted when first asked for."""

    train: Callable[[], np.ndarray] | None
    test: Callable[[], np.ndarray]

    @staticmethod
    def of(train: Interactions | None, test: Interactions, items: Ids, threshold: float | None) -> Positives:
        """Counts of two logs; relevant are values from the threshold on, without one those above 0.

        What is counted, users or rows, is what the train log counts.
        """
        count = (test if train is None else train).count

        def counted(log: Interactions) -> Once[np.ndarray]:
            return Once(lambda: item_counts([_relevant_rows(log, threshold)], items, count))

        return Positives(None if train is None else counted(train), counted(test))

    def popularity_rank(self, *, metric: str) -> np.ndarray:
        """Rank of each item by relevant train ratings, 1 for most; equals share the mean of their ranks.

        >>> Positives(lambda: np.array([1, 3, 1]), lambda: np.zeros(3)).popularity_rank(metric="").tolist()
        [2.5, 1.0, 2.5]
        """
        fewer = -require(self.train, "positives", metric=metric)()
        order = np.sort(fewer)
        low, high = (np.searchsorted(order, fewer, side=side) for side in ("left", "right"))
        return (low + high + 1) / 2

    def counts(self, source: str) -> np.ndarray:
        """Counts from "all", "test", or "train" (plus one, since test items may have none there)."""
        if source == "test":
            return self.test()
        if self.train is None:
            raise DefinitionError(
                f"relevant ratings cannot be counted from {source}",
                found="no train log",
                do="pass train=… (--train FILE), or use count_from=test",
            )
        return self.train() + 1 if source == "train" else self.train() + self.test()


def _relevant_rows(log: Interactions, threshold: float | None) -> pl.DataFrame:
    if not log.has("value"):
        return log.frame
    return log.frame.filter(pl.col("value") >= threshold if threshold is not None else pl.col("value") > 0)


@dataclass(frozen=True, slots=True)
class RowPropensity:
    """The propensity of every relevant test pair, in codes; `notes` say what a reader should know of them."""

    pairs: ByUser  # value: p
    source: str
    shares: HeldOutShares | None = None
    notes: tuple[str, ...] = ()
    outside_train: bool = False  # of pairs that are not in train, where no others can be recommended
    given_by: str = ""  # the source alone
    relative: bool = False  # known up to a factor only
    train_excluded: bool = False  # whether pairs of train are excluded from what is recommended

    @staticmethod
    def make(
        propensity: Propensity | None, test: Interactions, users: Ids, items: Ids, *, threshold: float | None,
        shares: HeldOutShares | None = None, outside_train: bool = False,
    ) -> RowPropensity | None:  # fmt: skip
        """Look up the relevant rows of a test log; None without propensities, unless its rows were drawn at random.

        Where the test is a random share of the log that propensities speak of, they become the chance to be tested;
        with `outside_train`, the chance of pairs that are not in train. This takes probabilities: relative ones,
        known up to a factor, are multiplied by the share. Rows of a random sample have the chance of its draw.
        """
        frame = _relevant_rows(test, threshold)
        train_excluded = outside_train
        notes: tuple[str, ...] = ()
        if shares is not None and shares.random and not (shares.needs_p and outside_train):
            p, source, relative = pl.Series([1.0] * len(frame)), "", False
        elif propensity is None:
            return None
        else:
            p, source, relative = propensity.of(frame), propensity.source, propensity.relative
            notes = (*propensity.notes, *propensity.unseen_in(frame))
        given_by, outside_train = source, outside_train and not relative
        if shares is not None and not shares.whole:
            p = shares.tested(p, frame, outside_train=outside_train)
            source = ", ".join(part for part in (source, shares.description(outside_train=outside_train)) if part)
        pairs = ByUser.code(frame.select("user", "item", value=p), users, items).distinct()
        return RowPropensity(pairs, source, shares, notes, outside_train, given_by, relative, train_excluded)

    def description(self, clips: Iterable[float] = ()) -> dict[str, Any]:
        """What a reader must know of the weights, for the manifest: as they are, and cut at each limit used."""
        assert self.pairs.value is not None
        from trueval.propensity.weight_diagnostics import Diagnostics

        cut = {f"{clip:g}": asdict(Diagnostics.of(self.pairs.value, clip)) for clip in sorted(set(clips)) if clip}
        return {"source": self.source, **asdict(Diagnostics.of(self.pairs.value)), "clip": cut}

    def of_rows(self, facts: RankingFacts) -> np.ndarray:
        """The propensity of each judged row of facts; 1 where it is not relevant."""
        p = np.ones(len(facts.item))
        rows = np.flatnonzero(facts.relevant)
        place = self.pairs.find(facts.unit_user[facts.unit[rows]], facts.item[rows])
        assert self.pairs.value is not None
        p[rows] = self.pairs.value[place]
        return p


@dataclass(frozen=True, slots=True)
class Inputs:
    """Optional inputs of metrics, under the names that metrics declare in `needs`."""

    train: ByUser | None = None
    popularity: ItemPopularity | None = None
    features: np.ndarray | None = None
    positives: Positives | None = None
    propensity: RowPropensity | None = None
    aspects: Aspects | None = None
    interest: Interest | None = None
    targets: Targets | None = None

    def only(self, names: Iterable[str]) -> Inputs:
        """Some of the inputs, without the others.

        >>> inputs = Inputs(popularity=ItemPopularity(np.array([2]), 3), features=np.eye(2))
        >>> inputs.only({"popularity"}).features is None
        True
        """
        return Inputs(**{field.name: getattr(self, field.name) for field in fields(self) if field.name in set(names)})

    def supply(self, name: str, *, metric: str) -> Any:
        """One input, or an error that says which metric needs it and how to supply it."""
        return require(getattr(self, name), name, metric=metric)


def require(value: Any, name: str, *, metric: str) -> Any:
    """An input that turned out to be needed, or an error that says how to supply it."""
    if value is None:
        what, do = HOW[name]
        raise DefinitionError(f"{metric} needs {what}", do=do)
    return value
