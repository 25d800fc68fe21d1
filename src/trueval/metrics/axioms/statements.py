"""The eight axioms of Parapar & Radlinski (2021), each as a maker of random trials.

Where the document is silent or misprinted, this is how it is read:
- Deep: the two lower ratings are equal, and the two higher ones (the printed formula lacks a sign between them).
- NonPriSatAsp, TopHeav, TopHeavComp speak of a value that exists: a trial offers several, one of which must do.
- TopHeav, TopHeavComp: "non-relevant" is rated 0; the relevant items show the same aspects (or one item with all
  aspects at the top would beat any number with one).
- AspRel: no other item above the lower one of the two shows their aspects.
- MoreAsp: the printed inequality is the reverse of the sentence beside it; the sentence is taken. The remaining
  interest in an aspect is the user's weight less its weight (by rating) in the items above, as printed; an aspect
  is saturated where nothing of it remains, and items with such aspects are not compared.
- Interests of a user differ at most by a factor of three, and none is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from trueval.metrics.axioms.ranking_pairs import HIGHEST, RankingPair, Scene, Trial

NAMES = "abcd"
Statement = Callable[[np.random.Generator, int | None], Trial]


class _Draft:
    """A scene in the making: items are added one by one."""

    def __init__(self, rng: np.random.Generator, *, least: int = 1) -> None:
        self.rng = rng
        self.names = list(NAMES[: rng.integers(least, len(NAMES) + 1)])
        self.interest = {name: float(rng.integers(10, 31)) / 10 for name in self.names}
        self.aspects: dict[str, tuple[str, ...]] = {}
        self.ratings: dict[str, float] = {}

    def add(self, aspects: tuple[str, ...], rating: float | None) -> str:
        name = f"i{len(self.aspects) + 1:03}"
        self.aspects[name] = aspects
        if rating is not None:
            self.ratings[name] = rating
        return name

    def some(self, among: list[str] | None = None) -> tuple[str, ...]:
        """A random set of aspects, never empty unless there is nothing to choose from."""
        names = self.names if among is None else among
        if not names:
            return ()
        chosen = self.rng.permutation(len(names))[: self.rng.integers(1, len(names) + 1)]
        return tuple(sorted(names[j] for j in chosen))

    def fill(self, number: int, among: list[str] | None = None) -> list[str]:
        """Items of any kind: rated or not, of any aspects."""
        return [self.add(self.some(among), [None, *range(6)][self.rng.integers(0, 7)]) for _ in range(number)]

    def stars(self, low: int, high: int) -> float:
        return float(self.rng.integers(low, high + 1))

    def scene(self, *rankings: Sequence[str]) -> Scene:
        """The scene with the items of some rankings; what was drawn and not used is left out."""
        used = {name for ranking in rankings for name in ranking}
        aspects = {name: own for name, own in self.aspects.items() if name in used}
        return Scene(aspects, {name: r for name, r in self.ratings.items() if name in used}, self.interest)


def _length(rng: np.random.Generator, k: int | None, least: int) -> int:
    """Lists are short, so that counter-examples can be read, and within the cutoff."""
    most = min(6, 10 if k is None else k)
    return least if most <= least else int(rng.integers(least, most + 1))


def _swapped(ranking: list[str], p: int, q: int) -> tuple[str, ...]:
    other = ranking.copy()
    other[p], other[q] = other[q], other[p]
    return tuple(other)


def _two_places(rng: np.random.Generator, length: int) -> tuple[int, int]:
    p, q = sorted(rng.choice(length, 2, replace=False).tolist())
    return p, q


def priority(rng: np.random.Generator, k: int | None) -> Trial:
    """Of two items with one and the same aspect, the better rated one should come first."""
    draft = _Draft(rng)
    aspect = (str(rng.choice(draft.names)),)
    low = draft.stars(0, 4)
    ranking = draft.fill(_length(rng, k, 2))
    p, q = _two_places(rng, len(ranking))
    ranking[p], ranking[q] = draft.add(aspect, low), draft.add(aspect, draft.stars(int(low) + 1, 5))
    return Trial(draft.scene(ranking), (RankingPair(_swapped(ranking, p, q), tuple(ranking)),))


def deepness(rng: np.random.Generator, k: int | None) -> Trial:
    """Putting two neighbours with one and the same aspect right counts more near the top."""
    draft = _Draft(rng)
    aspect = (str(rng.choice(draft.names)),)
    low = draft.stars(0, 4)
    high = draft.stars(int(low) + 1, 5)
    ranking = draft.fill(max(4, _length(rng, k, 4)))
    p = int(rng.integers(0, len(ranking) - 3))
    q = int(rng.integers(p + 2, len(ranking) - 1))
    for place in (p, q):
        ranking[place], ranking[place + 1] = draft.add(aspect, low), draft.add(aspect, high)
    return Trial(draft.scene(ranking), (RankingPair(_swapped(ranking, p, p + 1), _swapped(ranking, q, q + 1)),))


def no_priority_on_saturated(rng: np.random.Generator, k: int | None) -> Trial:
    """With enough of an aspect above, a slightly better item of it should not go before one of another aspect."""
    draft = _Draft(rng, least=2)
    one, full = (str(name) for name in rng.choice(draft.names, 2, replace=False))
    between = draft.fill(int(rng.integers(0, 3)))
    room = (10 if k is None else k) - 2 - len(between)
    above = [draft.add((full,), HIGHEST) for _ in range(max(room, 1) if k is not None else 20)]
    rating = draft.stars(1, 4)
    lower = draft.add((one,), rating)
    pairs = []
    for more in (1.0, 0.1, 0.01):
        higher = draft.add((full,), rating + more)
        for number in sorted({1, 2, 3, 5, 8, len(above)}):
            top = above[:number]
            pairs.append(RankingPair((*top, lower, *between, higher), (*top, higher, *between, lower)))
    return Trial(draft.scene(*(pair.better for pair in pairs)), tuple(pairs))


def _heavy(rng: np.random.Generator, numbers: list[int]) -> tuple[Scene, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """For each n: one relevant item at the top of 2n, and n relevant items alike below n non-relevant ones."""
    draft = _Draft(rng)
    rating, aspects = draft.stars(1, 5), draft.some()
    good = [draft.add(aspects, rating) for _ in range(max(numbers))]
    bad = [draft.add(draft.some(), 0.0) for _ in range(2 * max(numbers) - 1)]
    pairs = [((good[0], *bad[: 2 * n - 1]), (*bad[:n], *good[:n])) for n in numbers]
    return draft.scene(good, bad), pairs


def top_heaviness(rng: np.random.Generator, k: int | None) -> Trial:
    """For some n, one relevant item at the top should beat n such items below n non-relevant ones."""
    scene, lists = _heavy(rng, [1, 2, 4, 8, 16, 32, 64] if k is None else sorted({1, 2, 4, 8, k, k + 1}))
    return Trial(scene, tuple(RankingPair(one, many) for one, many in lists))


def top_heaviness_complement(rng: np.random.Generator, k: int | None) -> Trial:
    """For some m, m relevant items below m non-relevant ones should beat one such item at the top."""
    scene, lists = _heavy(rng, [1, 2, 3, 4, 5, 6, 8, 12])
    return Trial(scene, tuple(RankingPair(many, one) for one, many in lists))


def aspect_relevance(rng: np.random.Generator, k: int | None) -> Trial:
    """Of two equally rated items with one new aspect each, that of the aspect the user cares more for comes first."""
    draft = _Draft(rng, least=2)
    one, other = (str(name) for name in rng.choice(draft.names, 2, replace=False))
    if draft.interest[one] == draft.interest[other]:
        draft.interest[one] += 0.1
    if draft.interest[one] < draft.interest[other]:
        one, other = other, one
    rating = draft.stars(1, 5)
    rest = [name for name in draft.names if name not in (one, other)]
    length = _length(rng, k, 2)
    p, q = _two_places(rng, length)
    ranking = [*draft.fill(q, rest), "", *draft.fill(length - q - 1)]
    ranking[p], ranking[q] = draft.add((one,), rating), draft.add((other,), rating)
    return Trial(draft.scene(ranking), (RankingPair(tuple(ranking), _swapped(ranking, p, q)),))


def more_aspects(rng: np.random.Generator, k: int | None) -> Trial:
    """Of two equally rated items, the one whose aspects leave more interest to be satisfied should come first."""
    while True:
        draft = _Draft(rng, least=2)
        length = _length(rng, k, 2)
        p, q = (0, 1) if rng.random() < 0.25 else _two_places(rng, length)
        ranking = draft.fill(length)
        left = _remaining(draft.scene(ranking), ranking[:p])
        choices = _unequal_sets({aspect: rest for aspect, rest in left.items() if rest > 1e-9})
        if not choices:
            continue
        # most trials are close calls, where the axiom is most likely to fail
        most, least = choices[rng.integers(0, min(4, len(choices)) if rng.random() < 0.75 else len(choices))]
        rating = draft.stars(1, 5)
        ranking[p], ranking[q] = draft.add(most, rating), draft.add(least, rating)
        return Trial(draft.scene(ranking), (RankingPair(tuple(ranking), _swapped(ranking, p, q)),))


def _remaining(scene: Scene, above: list[str]) -> dict[str, float]:
    """For each aspect, the user's weight less the weight among the items above."""
    covered = dict.fromkeys(scene.interest, 0.0)
    for other in above:
        for aspect in scene.aspects[other]:
            covered[aspect] += scene.ratings.get(other, 0.0)
    total = sum(covered.values()) or 1.0
    return {aspect: scene.weight(aspect) - covered[aspect] / total for aspect in covered}


def _unequal_sets(left: dict[str, float]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of sets of aspects of which the first leaves more interest, clearly; the closest first."""
    sets = [some for size in range(1, len(left) + 1) for some in combinations(sorted(left), size)]
    sums = [sum(left[aspect] for aspect in some) for some in sets]
    pairs = [(more - less, a, b) for a, more in zip(sets, sums) for b, less in zip(sets, sums) if more - less > 1e-3]
    return [(a, b) for _, a, b in sorted(pairs)]


def missing_over_non_relevant(rng: np.random.Generator, k: int | None) -> Trial:
    """An unrated item with an aspect of interest should come before one that is rated 0."""
    draft = _Draft(rng)
    ranking = draft.fill(_length(rng, k, 2))
    p, q = _two_places(rng, len(ranking))
    ranking[p], ranking[q] = draft.add(draft.some(), 0.0), draft.add(draft.some(), None)
    ranking.append(draft.add(draft.some(), draft.stars(1, 5)))  # metrics of relevant items alone want one
    return Trial(draft.scene(ranking), (RankingPair(_swapped(ranking, p, q), tuple(ranking)),))


AXIOMS: dict[str, Statement] = {
    "Pri": priority,
    "Deep": deepness,
    "NonPriSatAsp": no_priority_on_saturated,
    "TopHeav": top_heaviness,
    "TopHeavComp": top_heaviness_complement,
    "AspRel": aspect_relevance,
    "MoreAsp": more_aspects,
    "MissOverNon": missing_over_non_relevant,
}
