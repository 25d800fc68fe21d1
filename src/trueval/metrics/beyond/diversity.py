"""Diversity within lists, and distance from the profile."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.facts.ranking_facts import RankingFacts
from trueval.kernels import blocks
from trueval.metrics.list_sums import discounted_mean
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import discounted


def _unit_length(features: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, norm, out=np.zeros_like(features, dtype=np.float64), where=norm > 0)


@metric(
    family="beyond",
    formula=lambda o: (
        "mean over pairs of top(k), both with features, of 1 - "
        f"{'cosine' if o['similarity'] == 'cosine' else 'Jaccard index'} of their features"
    ),
    range=(0, 1),
    parameters={"similarity": Parameter("cosine", ("cosine", "jaccard"), meaning="of the item features")},
    needs=("features",),
    undefined="fewer than two items with features in the list",
    reference="Ziegler et al. 2005",
    ties="set",
)
def ild(facts: RankingFacts, k: int, *, similarity: str, features: np.ndarray) -> np.ndarray:
    """Intra-list diversity: mean distance between the items of a list.

    An item without features is neither near nor far from any other: its pairs are left out, and a list without
    another pair is undefined.

    >>> from trueval.metrics.measure import measure
    >>> genres = {"a": [1, 0], "b": [0, 1], "c": [1, 1]}
    >>> round(measure("ild@2", ["a", "b", "c"], {"a"}, features=genres), 6)
    1.0
    """
    if facts.misses is not None:  # a last row without features, for the code -1
        features = np.vstack([features, np.zeros((1, features.shape[1]), features.dtype)])
    described = np.any(features > 0 if similarity == "jaccard" else features != 0, axis=1)
    inside = facts.top(k)
    n_described = facts.per_unit(facts.list_unit[inside], described[facts.list_item[inside]])
    pairs = n_described * (n_described - 1) / 2
    together = _cosine_sum(facts, k, features) if similarity == "cosine" else _jaccard_sum(facts, k, features)
    return 1 - np.divide(together, pairs, out=np.full(len(facts), np.nan), where=pairs > 0)


def _cosine_sum(facts: RankingFacts, k: int, features: np.ndarray) -> np.ndarray:
    """Σ over pairs of f_i·f_j = (|Σf|² - Σ|f|²) / 2, so no pair is ever formed."""
    unit_features = _unit_length(features)
    inside = facts.top(k)
    unit, item = facts.list_unit[inside], facts.list_item[inside]
    total = np.zeros((len(facts), features.shape[1]))
    for column in range(features.shape[1]):
        total[:, column] = facts.per_unit(unit, unit_features[item, column])
    squares = facts.per_unit(unit, (unit_features**2).sum(axis=1)[item])
    return ((total**2).sum(axis=1) - squares) / 2


def _jaccard_sum(facts: RankingFacts, k: int, features: np.ndarray) -> np.ndarray:
    """Pairs of places, all lists at once."""
    has = (features > 0).astype(np.float64)
    size = has.sum(axis=1)
    total = np.zeros(len(facts))
    for a in range(min(k, facts.depth)):
        for b in range(a + 1, min(k, facts.depth)):
            rows = np.flatnonzero(facts.length > b)
            i, j = facts.list_item[facts.list_start[rows] + a], facts.list_item[facts.list_start[rows] + b]
            common = np.einsum("ij,ij->i", has[i], has[j])
            either = size[i] + size[j] - common
            total[rows] += np.divide(common, either, out=np.zeros(len(rows)), where=either > 0)
    return total


@metric(
    family="beyond",
    formula=lambda o: discounted(o, "(mean of 1 - cosine to the features of the user's train items)"),
    range=(0, 1),
    parameters={"relevance": Parameter(True, (True, False), meaning="count relevant items only")},
    needs=("features", "train"),
    undefined="an empty profile",
    reference="Vargas & Castells 2011",
    ties="linear",
)
def epd(facts: RankingFacts, k: int, *, relevance: bool, features: np.ndarray, train: ByUser) -> np.ndarray:
    """Expected profile distance: how far from what the user already has.

    An item without features has nothing in common with any other: its distance is 1.

    >>> from trueval.metrics.measure import measure
    >>> measure("epd@1[relevance=false]", ["b"], {"a"}, features={"a": [1, 0], "b": [0, 1]}, profile={"a"})
    1.0
    """
    value = discounted_mean(facts, k, 1 - _nearness(facts, features, train), relevance=relevance)
    return np.where(train.counts[facts.unit_user] > 0, value, np.nan)


def _nearness(facts: RankingFacts, features: np.ndarray, train: ByUser) -> np.ndarray:
    """Mean cosine of every item shown to the user's train items: the same for all cutoffs, so kept."""
    known = facts.memory.get("nearness")
    if known is not None and known[0] is features and known[1] is train:
        return known[2]
    unit_features = _unit_length(features)
    profile = train.pick(facts.unit_user)
    size = np.maximum(profile.counts, 1)[:, None]
    columns = range(features.shape[1])
    mean = np.stack([facts.per_unit(profile.user, unit_features[profile.item, c]) for c in columns], axis=1) / size
    near = np.empty(len(facts.list_item))
    for part in blocks(len(near), 1 << 14):  # few rows at a time: their features stay in the cache
        near[part] = np.einsum("ij,ij->i", unit_features[facts.list_item[part]], mean[facts.list_unit[part]])
    facts.memory["nearness"] = (features, train, near)
    return near
