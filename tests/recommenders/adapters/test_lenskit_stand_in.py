"""The logic of ids and missing scores of the LensKit adapter, with stand-ins: LensKit itself brings torch.

The stand-ins have the methods that the adapter calls; `test_lenskit_models.py` calls LensKit's own, where it is there.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from adapter_worlds import parts, told, with_strangers, world

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.adapters import lenskit as adapter


class Vocabulary:
    def __init__(self, ids: list[Any]) -> None:
        self._ids = ids

    def ids(self) -> np.ndarray:
        return np.array(self._ids)

    def number(self, one: Any) -> int:
        return self._ids.index(one)

    def __len__(self) -> int:
        return len(self._ids)


class ItemList:
    def __init__(self, numbers: np.ndarray, scores: np.ndarray | None = None) -> None:
        self._numbers, self._scores = numbers, scores

    @staticmethod
    def from_vocabulary(vocabulary: Vocabulary) -> ItemList:
        return ItemList(np.arange(len(vocabulary)))

    def numbers(self, *, vocabulary: Vocabulary) -> np.ndarray:
        return self._numbers

    def scores(self) -> np.ndarray | None:
        return self._scores


class Pipeline:
    """A trained pipeline: a part that looks up histories, and one that scores, in an order of its own."""

    def __init__(self, users: list[Any], items: list[Any], table: np.ndarray) -> None:
        matrix = SimpleNamespace(row_vocabulary=Vocabulary(users), col_vocabulary=Vocabulary(items))
        self.parts = {"lookup": SimpleNamespace(interactions=matrix), "scorer": SimpleNamespace()}
        self.users, self.table = users, table

    def nodes(self) -> list[str]:
        return list(self.parts)

    def node(self, name: str, *, missing: str) -> str | None:
        return name if name in self.parts else None

    def component(self, name: str) -> Any:
        return self.parts[name]

    def run(self, name: str, *, query: Any, items: ItemList) -> ItemList:
        order = np.random.default_rng(0).permutation(len(items._numbers))
        return ItemList(order, self.table[self.users.index(query)][order])


Pipeline.__module__ = "lenskit.pipeline.stand_in"


@pytest.fixture(autouse=True)
def library(monkeypatch):
    monkeypatch.setattr(adapter, "require", lambda module, extra: SimpleNamespace(ItemList=ItemList))


def shuffled(train, seed: int = 0):
    rng = np.random.default_rng(seed)
    users, items = train.users.values.to_list(), train.items.values.to_list()
    users, items = [users[k] for k in rng.permutation(50)], [items[k] for k in rng.permutation(35)]
    return users, items, rng.random((50, 35))


@pytest.mark.parametrize("integers", [False, True])
def test_scores_are_found_by_id(integers):
    train, _ = world(integers=integers)
    users, items, table = shuffled(train)
    scores = tv.adapt(Pipeline(users, items, table)).fit(train).score(np.arange(50))
    for code in (0, 17, 49):
        row = table[users.index(train.users.values[code])]
        wanted = [row[items.index(item)] for item in train.items.values]
        np.testing.assert_array_equal(scores[code], wanted)


def test_items_without_a_score_rank_last():
    train, _ = world()
    users, items, table = shuffled(train)
    table[:, 5] = np.nan
    table[users.index("u04")] = np.nan
    scores = tv.adapt(Pipeline(users, items, table)).fit(train).score(np.arange(50))
    column = train.items.values.to_list().index(items[5])
    others = np.delete(scores, column, axis=1)
    assert (np.delete(scores[:, column] < others.min(axis=1), 4)).all()
    assert len(np.unique(scores[4])) == 1


def test_the_unknown_and_the_untrained():
    train, _ = told(with_strangers(parts()))
    users, items, table = shuffled(train)
    system = tv.adapt(Pipeline(users, items, table), unknown="last").fit(train)
    assert "'i99': ranked last" in system.caution
    assert "'u99': all tied" in system.caution
    with pytest.raises(DataError, match="knows none of the users"):
        tv.adapt(Pipeline([f"x{k}" for k in range(50)], items, table)).fit(train)
    blind = Pipeline(users, items, table)
    del blind.parts["scorer"]
    with pytest.raises(DefinitionError, match="no scorer"):
        tv.adapt(blind).fit(train)
    scorer = type("BiasScorer", (), {"__module__": "lenskit.basic", "items": Vocabulary(items)})
    with pytest.raises(DataError, match=r"dataset=the Dataset"):
        tv.adapt(scorer()).fit(train)
