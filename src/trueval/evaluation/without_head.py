"""Runs judged without the head: the most-rated items leave the judgements, and the lists stay as they were made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.data.judgements import Judged
from trueval.design.popular_head import count_ratings, find_head
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import SETTLED
from trueval.metrics.list_sums import within
from trueval.metrics.spec import Spec
from trueval.render.numbers import percent

NAME = "without_head"


@dataclass(frozen=True)
class Head:
    """The most-rated share of the items, by ratings in train and test together, as designs count them."""

    share: float
    rated: int  # items that were rated at all
    items: pl.Series

    @staticmethod
    def of(share: float, train: Interactions | None, test: Interactions) -> Head:
        """The head of two logs.

        >>> train = Interactions.of(pl.DataFrame({"user": [1, 2, 3, 3], "item": ["a", "a", "a", "b"]}))
        >>> test = Interactions.of(pl.DataFrame({"user": [1, 2], "item": ["b", "c"]}))
        >>> Head.of(0.4, train, test).items.to_list()
        ['a']
        """
        if train is None:
            raise DefinitionError(
                "the head needs a train log to count popularity",
                where=NAME,
                found="no train log",
                do="pass train=… (--train FILE)",
            )
        items = Ids.of(train.frame["item"], test.frame["item"])
        head = find_head(count_ratings(train, test, items), share, where=NAME)
        return Head(share, len(items), items.decode(head))


@dataclass(frozen=True, slots=True)
class RemovedHead:
    """What was removed with a head."""

    head: Head
    judgements: int
    relevant: int
    all_relevant: int
    users: int  # who had something relevant, and have nothing left

    @staticmethod
    def of(head: Head, whole: Judged, kept: Judged) -> RemovedHead:
        """The difference between all judgements and those that were kept."""
        before, after = (judged.rows.where(judged.relevant).counts for judged in (whole, kept))
        return RemovedHead(
            head,
            judgements=len(whole.relevant) - len(kept.relevant),
            relevant=int(before.sum() - after.sum()),
            all_relevant=int(before.sum()),
            users=int(np.count_nonzero((before > 0) & (after == 0))),
        )

    def record(self, *, condensed: bool) -> dict[str, Any]:
        """For the manifest."""
        return {
            "share": self.head.share,
            "items": len(self.head.items),
            "judgements": self.judgements,
            "relevant": self.relevant,
            "lists": "without unjudged items" if condensed else "as given, head items in them unjudged",
        }

    def notes(self, places: Mapping[str, np.ndarray], *, condensed: bool) -> list[str]:
        """For the reader: what is missing, and how many places of each run (`head_places`) can no longer count."""
        items = f"{len(self.head.items):,} of {self.head.rated:,} items"
        sentence = f"removing the head ({items}) removes {self.relevant:,} of {self.all_relevant:,} relevant judgements"
        if self.users:
            sentence += f", and {self.users:,} {'user has' if self.users == 1 else 'users have'} none left"
        if condensed:
            return [sentence]
        shares = [f"{name} {percent(head / max(every, 1), 0)}" for name, (head, every) in places.items()]
        return [
            sentence,
            f"head items keep their places in the lists as unjudged items; their share: {', '.join(shares)}",
        ]


def head_places(facts: RankingFacts, head: np.ndarray, specs: Iterable[Spec]) -> np.ndarray:
    """How many places of the lists contain items of the head, and how many there are, as far down as metrics look.

    Where equal scores are left open, the number to be expected.

    >>> from trueval.metrics.grammar import parse
    >>> from trueval.metrics.measure import toy_facts
    >>> head_places(toy_facts(["a", "b", "c"], {"b"}), np.array([0]), [parse("hit@1"), parse("rr@2")]).tolist()
    [1, 2]
    """
    deepest = max(spec.k or facts.depth for spec in specs)
    member = np.zeros(len(facts.items), bool)
    member[head] = True
    inside, weight = within(facts if facts.ties in SETTLED else facts.changed(ties="expected"), deepest)
    of_head = member[facts.list_item[inside]]
    return np.array([of_head.sum() if weight is None else weight[of_head].sum(), facts.listed_at(deepest).sum()])
