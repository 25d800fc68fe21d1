"""Every metric once more, written straight from the formulas of spec/metrics.md, as slowly as you like.

This is the second opinion that the fast code is tested against, so it must never import or imitate
`trueval`: one user at a time, lists, dicts and `math`, no array library.

One rule decides what an empty denominator means. Counted over the *test set* (R = 0 in recall) there is
nothing to measure: NaN. Counted over the *list* (no hit in ap[denom=hits], nothing shown) the system failed
and scores 0, but for TP + FP of a condensed list, of which nothing is known then: NaN. Properties of the list
itself (novelty, ild, unjudged, seen) are NaN when the list is empty.

    value          one metric for one user                      (metrics.md 2, 3, 4, 5, 7)
    expected, worst_order, best_order                           tie rules
    system_value   one number for all lists                     (7)
    rating_error, pointwise                                     (1, end of 2)
    stratified_recall, snips_value                              (5, 6)
    one_relevant…, lemma_bounds, percentile_mean                the 1R readings
    sampled_expectation, bias_variance, rescaled_rank, …        sampled metrics and their corrections
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Item = Hashable
Judged = Mapping[Item, float]
Groups = Sequence[Sequence[Item]]
Lists = Mapping[Hashable, Sequence[Item]]
NAN = float("nan")
MOST_ORDERS = 50_000


@dataclass(frozen=True)
class Case:
    """What one user was shown (`shown` is the list cut at k) and what is known about that user."""

    ranked: list[Item]
    shown: list[Item]
    relevant: dict[Item, float]
    nonrelevant: set[Item]
    k: int | None
    weights: Mapping[Item, float]

    @property
    def depth(self) -> int:
        """The k that denominators use: without a cutoff, the length of the list."""
        return len(self.ranked) if self.k is None else self.k

    @property
    def hits(self) -> list[int]:
        """Ranks (1-based) of the relevant items shown."""
        return [rank for rank, item in enumerate(self.shown, 1) if item in self.relevant]

    def weigh(self, items: Iterable[Item]) -> float:
        """Sum of item weights: a plain count unless the metric is popularity-stratified."""
        return float(sum(self.weights.get(item, 1.0) for item in items))

    @property
    def weighted_hits(self) -> float:
        return self.weigh(item for item in self.shown if item in self.relevant)


def value(
    name: str,
    ranked: Sequence[Item],
    judged: Judged,
    *,
    k: int | None = None,
    threshold: float | None = None,
    targets: int | None = None,
    condensed: bool = False,
    weights: Mapping[Item, float] | None = None,
    **params: Any,
) -> float:
    """One metric for one user; NaN where it is undefined.

    `condensed` drops unjudged items first. `weights` are the s_i of a popularity-stratified precision,
    recall, atop or auc. `anti(name)` makes the judged non-relevant items the relevant ones, all with gain 1.

    >>> value("precision", "ABCDE", {"B": 1, "C": 1, "E": 1, "G": 1}, k=5)
    0.6
    """
    if len(set(ranked)) != len(ranked):
        raise ValueError("an item appears twice in the ranking")
    if targets is not None and targets != len(ranked):
        raise ValueError("with `targets` the ranking must be the complete ranking of the target set")
    relevant = relevant_items(judged, threshold)
    if name.startswith("anti(") and name.endswith(")"):
        flipped = {item: float(item not in relevant) for item in judged}
        return value(name[5:-1], ranked, flipped, k=k, targets=targets, condensed=condensed, **params)
    name = {"mrr": "rr", "map": "ap"}.get(name, name)
    if weights is not None and name not in ("precision", "recall", "atop", "auc"):
        raise ValueError(f"{name} has no popularity-stratified form")
    order = list(ranked)
    if condensed:
        order = [item for item in order if item in judged]
        if name in ("precision", "antiprecision", "f1", "fbeta"):
            params.setdefault("denom", "judged")
    nonrelevant = set(judged) - set(relevant)
    shown = order if k is None else order[:k]
    return float(METRICS[name](Case(order, shown, relevant, nonrelevant, k, weights or {}), **params))


def relevant_items(judged: Judged, threshold: float | None = None) -> dict[Item, float]:
    """The relevant items of a test set, with their values.

    >>> relevant_items({"a": 5, "b": 3, "c": 0}, 4), relevant_items({"a": 5, "b": 3, "c": 0})
    ({'a': 5}, {'a': 5, 'b': 3})
    """
    return {i: v for i, v in judged.items() if (v > 0 if threshold is None else v >= threshold)}


# ---- metrics.md 2: top-k accuracy -----------------------------------------------------------------------


def _hit(case: Case) -> float:
    return 1.0 if case.hits else 0.0


def _precision(case: Case, denom: str = "k") -> float:
    if denom == "achievable" and not case.relevant:
        return NAN
    if denom == "judged" and not case.shown:
        return NAN
    achievable = min(case.depth, len(case.relevant))
    shown = len(case.shown)
    below = {"k": case.depth, "list": shown, "judged": shown, "achievable": achievable}[denom]
    return case.weighted_hits / below if below else 0.0


def _recall(case: Case, cap: bool = False) -> float:
    if not case.relevant:
        return NAN
    if cap:
        if case.weights:
            raise ValueError("a capped recall has no popularity-stratified form")
        below = min(case.depth, len(case.relevant))
        return len(case.hits) / below if below else 0.0
    return case.weighted_hits / case.weigh(case.relevant)


def _fbeta(case: Case, beta: float = 1.0, denom: str = "k") -> float:
    p, r = _precision(case, denom), _recall(case)
    return 0.0 if p == 0 and r == 0 else (1 + beta**2) * p * r / (beta**2 * p + r)


def _rr(case: Case) -> float:
    return 1 / case.hits[0] if case.hits else 0.0


def _ap(case: Case, denom: str = "relevant") -> float:
    """A cutoff that is not there limits nothing: `min` is then R. `list` is LensKit's min(length shown, R)."""
    if not case.relevant:
        return NAN
    if not case.hits:
        return 0.0
    total = sum(found / rank for found, rank in enumerate(case.hits, 1))
    relevant = len(case.relevant)
    below = {
        "relevant": relevant,
        "min": relevant if case.k is None else min(case.k, relevant),
        "hits": len(case.hits),
        "k": case.depth,
        "list": min(len(case.shown), relevant),
    }
    return total / below[denom]


GAINS: dict[str, Callable[[float], float]] = {
    "linear": lambda grade: grade,
    "exp": lambda grade: 2.0**grade - 1,
    "binary": lambda grade: 1.0,
}
DISCOUNTS: dict[str, Callable[[int], float]] = {
    "log2": lambda rank: 1 / math.log2(rank + 1),
    "lenskit": lambda rank: 1 / max(1.0, math.log2(rank)),
    "none": lambda rank: 1.0,
}


def _dcg(case: Case, gain: str = "linear", discount: str = "log2") -> float:
    return sum(GAINS[gain](case.relevant[case.shown[r - 1]]) * DISCOUNTS[discount](r) for r in case.hits)


def _ndcg(case: Case, gain: str = "linear", ideal: str = "cut", discount: str = "log2") -> float:
    gains = sorted((GAINS[gain](grade) for grade in case.relevant.values()), reverse=True)
    if not gains or gains[0] == 0:
        return NAN  # no gain to be had
    if ideal == "k":
        gains = gains[:1] * case.depth
    elif ideal == "cut":
        gains = gains if case.k is None else gains[: case.k]
    elif ideal != "full":
        raise ValueError(f"no ideal called {ideal}")
    best = sum(g * DISCOUNTS[discount](rank) for rank, g in enumerate(gains, 1))
    # under ideal=k an empty list is one that showed nothing
    return _dcg(case, gain, discount) / best if gains else 0.0


def _rbp(case: Case, p: float = 0.8, gain: str = "binary") -> float:
    return (1 - p) * sum(GAINS[gain](case.relevant[case.shown[r - 1]]) * p ** (r - 1) for r in case.hits)


def _err(case: Case, *, gmax: float) -> float:
    total, going_on = 0.0, 1.0
    for rank, item in enumerate(case.shown, 1):
        stop = (2.0 ** case.relevant.get(item, 0) - 1) / 2.0**gmax
        total += going_on * stop / rank
        going_on *= 1 - stop
    return total


def _rprecision(case: Case) -> float:
    if not case.relevant:
        return NAN
    first = case.ranked[: len(case.relevant)]
    return sum(item in case.relevant for item in first) / len(case.relevant)


def _auc(case: Case, against: str = "unrelevant") -> float:
    """Needs the complete ranking of T_u; a relevant item outside T_u loses every pair."""
    others = [item for item in case.ranked if item not in case.relevant]
    if against == "judged":
        others = [item for item in others if item in case.nonrelevant]
    elif against != "unrelevant":
        raise ValueError(f"auc cannot be taken against {against}")
    if not case.relevant or not others:
        return NAN
    at = {item: rank for rank, item in enumerate(case.ranked, 1)}
    won = 0.0
    for item in case.relevant:
        below = sum(at[item] < at[other] for other in others) if item in at else 0
        won += case.weights.get(item, 1.0) * below / len(others)
    return won / case.weigh(case.relevant)


def _atop(case: Case) -> float:
    """Needs the complete ranking of T_u; a relevant item outside T_u adds 0."""
    if not case.relevant or len(case.ranked) < 2:
        return NAN
    at = {item: rank for rank, item in enumerate(case.ranked, 1)}
    terms = {i: 1 - (at[i] - 1) / (len(at) - 1) if i in at else 0.0 for i in case.relevant}
    return sum(case.weights.get(i, 1.0) * term for i, term in terms.items()) / case.weigh(terms)


# ---- metrics.md 3 and 4: false positives, incomplete judgements -----------------------------------------


def _antiprecision(case: Case, denom: str = "k") -> float:
    if denom == "judged" and not case.shown:
        return NAN
    below = case.depth if denom == "k" else len(case.shown)
    return sum(item in case.nonrelevant for item in case.shown) / below if below else 0.0


def _fallout(case: Case) -> float:
    wrong = sum(item in case.nonrelevant for item in case.shown)
    return wrong / len(case.nonrelevant) if case.nonrelevant else 0.0


def _unjudged(case: Case, denom: str = "list") -> float:
    if not case.shown:
        return NAN
    known = set(case.relevant) | case.nonrelevant
    below = {"list": len(case.shown), "k": case.depth}[denom]
    return sum(item not in known for item in case.shown) / below


def _bpref(case: Case) -> float:
    r, n = len(case.relevant), len(case.nonrelevant)
    if r == 0:
        return NAN
    total, above = 0.0, 0
    for item in case.shown:
        if item in case.nonrelevant:
            above += 1
        elif item in case.relevant:
            total += 1 if above == 0 else 1 - min(above, r) / min(n, r)
    return total / r


def _infap(case: Case, pool: str = "all") -> float:
    if not case.relevant:
        return NAN
    e, total, rel, non = 0.00001, 0.0, 0, 0
    for rank, item in enumerate(case.shown, 1):
        if item in case.relevant:
            if rank == 1:
                total += 1
            else:
                pooled = {"all": rank - 1, "judged": rel + non}[pool]
                share = (rel + e) / (rel + non + 2 * e)
                total += 1 / rank + (rank - 1) / rank * (pooled / (rank - 1)) * share
            rel += 1
        elif item in case.nonrelevant:
            non += 1
    return total / len(case.relevant)


# ---- metrics.md 7: beyond accuracy, one user ------------------------------------------------------------


def _novelty(case: Case, *, popularity: Mapping[Item, int], n_users: int) -> float:
    if not case.shown:
        return NAN
    bits = [-math.log2((popularity.get(item, 0) or 0.5) / n_users) for item in case.shown]
    return sum(bits) / len(bits)


def _rank_aware(case: Case, novelty: Callable[[Item], float], discount: str, aware: bool) -> float:
    above = below = 0.0
    for rank, item in enumerate(case.shown, 1):
        weight = 0.85 ** (rank - 1) if discount == "exp" else DISCOUNTS[discount](rank)
        below += weight
        above += weight * novelty(item) if item in case.relevant or not aware else 0.0
    return above / below if below else 0.0


def _epc(
    case: Case, *, popularity: Mapping[Item, int], n_users: int, discount: str = "log2", aware: bool = True
) -> float:
    return _rank_aware(case, lambda item: 1 - popularity.get(item, 0) / n_users, discount, aware)


def _efd(case: Case, *, popularity: Mapping[Item, int], discount: str = "log2", aware: bool = True) -> float:
    total = sum(popularity.values())
    return _rank_aware(case, lambda item: -math.log2((popularity.get(item, 0) or 0.5) / total), discount, aware)


def _epd(
    case: Case,
    *,
    profile: Sequence[Item],
    similarity: Callable[[Any, Any], float],
    discount: str = "log2",
    aware: bool = True,
) -> float:
    if not profile:
        return NAN

    def distance(item: Item) -> float:
        return sum(1 - similarity(item, other) for other in profile) / len(profile)

    return _rank_aware(case, distance, discount, aware)


def _ild(case: Case, *, similarity: Callable[[Any, Any], float]) -> float:
    """A pair of items whose similarity is undefined (NaN) is left out."""
    pairs = [similarity(a, b) for a, b in itertools.combinations(case.shown, 2)]
    distances = [1 - both for both in pairs if not math.isnan(both)]
    return sum(distances) / len(distances) if distances else NAN


def _serendipity(case: Case, *, baseline: Sequence[Sequence[Item]], denom: str = "k") -> float:
    """`baseline` is what a baseline shows: blocks of items it takes for equal, the best first."""
    chance: dict[Item, float] = {}
    for block in baseline:
        room = len(block) if case.k is None else max(0, case.k - len(chance))
        if room:
            chance |= dict.fromkeys(block, min(1, room / len(block)))
    surprise = {item: 1 - chance.get(item, 0) for item in case.shown}
    below = {"k": case.depth, "unexpected": sum(surprise.values())}[denom]
    return sum(surprise[item] for item in case.shown if item in case.relevant) / below if below else 0.0


def _length(case: Case) -> float:
    return float(len(case.shown))


def _seen(case: Case, *, train: Iterable[Item]) -> float:
    known = set(train)
    return sum(item in known for item in case.shown) / len(case.shown) if case.shown else NAN


METRICS: dict[str, Callable[..., float]] = {
    "hit": _hit,
    "precision": _precision,
    "recall": _recall,
    "f1": lambda case, denom="k": _fbeta(case, 1.0, denom),
    "fbeta": _fbeta,
    "rr": _rr,
    "ap": _ap,
    "ndcg": _ndcg,
    "dcg": _dcg,
    "rbp": _rbp,
    "err": _err,
    "rprecision": _rprecision,
    "auc": _auc,
    "atop": _atop,
    "antiprecision": _antiprecision,
    "fallout": _fallout,
    "unjudged": _unjudged,
    "bpref": _bpref,
    "infap": _infap,
    "novelty": _novelty,
    "epc": _epc,
    "efd": _efd,
    "epd": _epd,
    "ild": _ild,
    "serendipity": _serendipity,
    "length": _length,
    "seen": _seen,
}


def cosine(a: Mapping[Hashable, float], b: Mapping[Hashable, float]) -> float:
    """Cosine of two sparse vectors; 0 when one of them is empty.

    >>> cosine({"x": 1, "y": 1}, {"x": 1, "z": 1})
    0.5
    """
    length = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(v * b.get(key, 0) for key, v in a.items()) / length if length else 0.0


def jaccard(a: Iterable[Hashable], b: Iterable[Hashable]) -> float:
    """Shared share of two feature sets; 0 when both are empty.

    >>> jaccard("ab", "bc")
    0.3333333333333333
    """
    one, two = set(a), set(b)
    return len(one & two) / len(one | two) if one | two else 0.0


# ---- tie rules ------------------------------------------------------------------------------------------


def expected(name: str, groups: Groups, judged: Judged, **options: Any) -> float:
    """Mean of `value` over every order that keeps the tie blocks in order.

    >>> expected("rr", [["a", "b"]], {"a": 1})
    0.75
    """
    if math.prod(math.factorial(len(block)) for block in groups) > MOST_ORDERS:
        raise ValueError("too many orders to try them all")
    orders = itertools.product(*(itertools.permutations(block) for block in groups))
    values = [value(name, [i for block in order for i in block], judged, **options) for order in orders]
    return math.fsum(values) / len(values)


def worst_order(groups: Groups, judged: Judged, *, threshold: float | None = None) -> list[Item]:
    """In each block: judged non-relevant, unjudged, then relevant with the lowest gain first.

    >>> worst_order([["a", "b", "c", "d"]], {"a": 5, "b": 4, "c": 1}, threshold=4)
    ['c', 'd', 'b', 'a']
    """
    relevant = relevant_items(judged, threshold)

    def merit(item: Item) -> tuple[int, float]:
        if item in relevant:
            return 2, relevant[item]
        return (0 if item in judged else 1), 0.0

    return [item for block in groups for item in sorted(block, key=merit)]


def best_order(groups: Groups, judged: Judged, *, threshold: float | None = None) -> list[Item]:
    """In each block: relevant by descending gain, unjudged, then judged non-relevant.

    >>> best_order([["a", "b", "c", "d"]], {"a": 5, "b": 4, "c": 1}, threshold=4)
    ['a', 'b', 'd', 'c']
    """
    return [i for block in groups for i in reversed(worst_order([block], judged, threshold=threshold))]


# ---- metrics.md 7: one number for all lists -------------------------------------------------------------


def gini(counts: Sequence[float]) -> float:
    """Σ_iΣ_j |x_i − x_j| / (2 n² μ); NaN when nothing was counted.

    >>> gini([8, 2, 0, 0, 0])
    0.72
    """
    total = sum(counts)
    return sum(abs(x - y) for x in counts for y in counts) / (2 * len(counts) * total) if total else NAN


def entropy(counts: Sequence[float]) -> float:
    """Shannon entropy, in bits, of the shares that the counts make.

    >>> entropy([1, 1, 1, 1, 0])
    2.0
    """
    total = sum(counts)
    return sum(c / total * math.log2(total / c) for c in counts if c) if total else NAN


def lorenz(counts: Sequence[float]) -> list[float]:
    """Cumulative shares, smallest counts first, from 0 to 1.

    >>> lorenz([8, 2, 0, 0, 0])
    [0.0, 0.0, 0.0, 0.0, 0.2, 1.0]
    """
    smallest_first, total = sorted(counts), sum(counts)
    return [sum(smallest_first[:n]) / total for n in range(len(counts) + 1)]


def popularity_ranks(popularity: Mapping[Item, float]) -> dict[Item, float]:
    """1 = most popular; tied items share the mean of their ranks (what random tie-breaking gives on average).

    >>> popularity_ranks({"a": 9, "b": 4, "c": 4})
    {'a': 1.0, 'b': 2.5, 'c': 2.5}
    """
    ranks = {}
    for item, count in popularity.items():
        more = sum(other > count for other in popularity.values())
        same = sum(other == count for other in popularity.values())
        ranks[item] = more + (same + 1) / 2
    return ranks


def strata_shares(
    popularity: Mapping[Item, float], *, head: float = 0, tail: float = 0
) -> dict[str, dict[Item, float]]:
    """How much of each item is head, mid and tail: each of equally popular items is at each of their places as often.

    >>> strata_shares({"a": 9, "b": 4, "c": 4, "d": 1}, tail=0.5)["tail"]
    {'a': 0.0, 'b': 0.5, 'c': 0.5, 'd': 1.0}
    """
    n = len(popularity)
    first, last = math.floor(Fraction(str(head)) * n), n - math.ceil(Fraction(str(tail)) * n)
    found: dict[str, dict[Item, float]] = {"head": {}, "mid": {}, "tail": {}}
    for item, count in popularity.items():
        more = sum(other > count for other in popularity.values())
        same = sum(other == count for other in popularity.values())
        places = ["head" if p <= first else "mid" if p <= last else "tail" for p in range(more + 1, more + same + 1)]
        for stratum, own in found.items():
            own[item] = places.count(stratum) / same
    return found


def system_value(
    name: str,
    lists: Lists,
    *,
    catalogue: Iterable[Item] = (),
    k: int | None = None,
    popularity: Mapping[Item, float] | None = None,
    ranks: Mapping[Item, float] | None = None,
    strata: Mapping[str, Mapping[Item, float]] | None = None,
) -> float:
    """A metric of all lists together: coverage, gini, exposure_gini, entropy, mean_popularity_rank,
    median_popularity_rank, average_popularity, head_share, mid_share, tail_share, tail_coverage.

    `ranks` defaults to `popularity_ranks(popularity)`; `strata` are those of `strata_shares`.

    >>> system_value("coverage", {"u": ["a", "b"], "v": ["b", "c"]}, catalogue="abcdefghij", k=1)
    0.2
    """
    items = list(dict.fromkeys(catalogue))
    tops = [list(ranked)[: len(ranked) if k is None else k] for ranked in lists.values()]
    slots = [item for top in tops for item in top]
    if name == "coverage":
        return len(set(slots)) / len(items)
    if name in ("gini", "entropy"):
        return {"gini": gini, "entropy": entropy}[name]([slots.count(item) for item in items])
    if name == "exposure_gini":
        return gini([sum(1 / math.log2(t.index(i) + 2) for t in tops if i in t) for i in items])
    if name == "tail_coverage":
        tail = (strata or {})["tail"]
        return sum(tail[item] for item in set(slots)) / sum(tail.values()) if sum(tail.values()) else NAN
    if not slots:
        return NAN
    if name in ("head_share", "mid_share", "tail_share"):
        return sum((strata or {})[name.removesuffix("_share")][item] for item in slots) / len(slots)
    if name == "average_popularity":
        return sum((popularity or {}).get(item, 0) for item in slots) / len(slots)
    at = ranks or popularity_ranks(popularity or {})
    found = sorted(at[item] for item in slots)
    if name == "mean_popularity_rank":
        return sum(found) / len(found)
    if name == "median_popularity_rank":
        return (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2
    raise ValueError(f"no system metric called {name}")


# ---- metrics.md 1 and the pointwise end of 2 ------------------------------------------------------------


def rating_error(name: str, users: Mapping[Hashable, Sequence[tuple[float, float]]], *, macro: bool = False) -> float:
    """mae, mse or rmse of (predicted, actual) pairs: over all pairs, or per user and then averaged.

    >>> rating_error("mse", {"u": [(4, 5), (2, 2), (5, 3), (3, 3)]})
    1.25
    """
    if macro:
        each = [rating_error(name, {user: pairs}) for user, pairs in users.items() if pairs]
        return sum(each) / len(each) if each else NAN
    errors = [predicted - actual for pairs in users.values() for predicted, actual in pairs]
    if not errors:
        return NAN
    mean_square = sum(e * e for e in errors) / len(errors)
    mean_absolute = sum(abs(e) for e in errors) / len(errors)
    return {"mae": mean_absolute, "mse": mean_square, "rmse": math.sqrt(mean_square)}[name]


def pointwise(name: str, users: Mapping[Hashable, Sequence[tuple[float, int]]], *, bins: int = 10) -> float:
    """auc, gauc, logloss, brier or ece (equal-width bins) of (probability, clicked) pairs.

    >>> round(pointwise("auc", {"u": [(0.9, 1), (0.6, 1), (0.7, 0), (0.4, 0), (0.3, 0)]}), 6)
    0.833333
    """
    pairs = [pair for impressions in users.values() for pair in impressions]
    if name == "gauc":
        each = [(pointwise("auc", {user: shown}), len(shown)) for user, shown in users.items()]
        each = [(auc, size) for auc, size in each if not math.isnan(auc)]
        return sum(auc * size for auc, size in each) / sum(size for _, size in each) if each else NAN
    if name == "auc":
        ups, downs = [s for s, y in pairs if y], [s for s, y in pairs if not y]
        won = sum((up > down) + (up == down) / 2 for up in ups for down in downs)
        return won / (len(ups) * len(downs)) if ups and downs else NAN
    if name == "logloss":
        likelihoods = [p if y else 1 - p for p, y in pairs]
        return sum(-math.log(x) if x > 0 else math.inf for x in likelihoods) / len(pairs)
    if name == "brier":
        return sum((p - y) ** 2 for p, y in pairs) / len(pairs)
    if name != "ece":
        raise ValueError(f"no pointwise metric called {name}")
    boxes: dict[int, list[tuple[float, int]]] = {}
    for p, y in pairs:
        boxes.setdefault(min(int(p * bins), bins - 1), []).append((p, y))
    return sum(abs(sum(p for p, _ in box) - sum(y for _, y in box)) for box in boxes.values()) / len(pairs)


# ---- metrics.md 5 and 6: popularity-stratified and propensity-weighted ----------------------------------


def item_weights(
    popularity: Mapping[Item, float], *, beta: float | None = None, gamma: float | None = None
) -> dict[Item, float]:
    """s_i = (N+_i)^(-beta), beta = gamma / (gamma + 1) when gamma is given (infinite gamma: beta 1).

    >>> item_weights({"a": 100, "b": 25}, gamma=1)
    {'a': 0.1, 'b': 0.2}
    """
    if (beta is None) == (gamma is None):
        raise ValueError("give beta or gamma")
    if beta is None:
        assert gamma is not None
        beta = 1.0 if math.isinf(gamma) else gamma / (gamma + 1)
    return {item: count ** (-beta) for item, count in popularity.items()}


def stratified_recall(
    users: Mapping[Hashable, tuple[Sequence[Item], Judged]],
    *,
    weights: Mapping[Item, float],
    k: int | None = None,
    threshold: float | None = None,
    aggregate: str = "pooled",
) -> float:
    """Popularity-stratified recall over users given as (ranked, judged): `pooled` divides the summed
    weights of all hits by those of all relevant items, `mean` averages the users' own recalls.

    >>> users = {"u": ("a", {"a": 1, "b": 1}), "v": ("c", {"c": 1})}
    >>> stratified_recall(users, weights={"a": 1, "b": 3, "c": 4})
    0.625
    """
    population = [(r, j) for r, j in users.values() if relevant_items(j, threshold)]
    if aggregate == "mean":
        each = [value("recall", r, j, k=k, threshold=threshold, weights=weights) for r, j in population]
        return sum(each) / len(each) if each else NAN
    found = total = 0.0
    for ranked, judged in population:
        relevant = relevant_items(judged, threshold)
        total += sum(weights[item] for item in relevant)
        found += sum(weights[item] for item in list(ranked)[:k] if item in relevant)
    return found / total if population else NAN


def drop_head(judged: Judged, most_rated_first: Sequence[Item], share: float) -> dict[Item, float]:
    """A test set without the items of the head: the first floor(share · catalogue) of the given order.

    >>> drop_head({"a": 1, "c": 1}, "abcdefghij", 0.1)
    {'c': 1}
    """
    head = set(most_rated_first[: math.floor(share * len(most_rated_first) + 1e-9)])
    return {item: v for item, v in judged.items() if item not in head}


def snips_value(
    name: str,
    users: Mapping[Hashable, Sequence[tuple[float, int]]],
    *,
    gamma: float,
    k: int | None = None,
    n_items: int | None = None,
) -> float:
    """Self-normalised inverse-propensity mean per user, then the mean over users.

    Each relevant item is a pair (n_train, Z), Z counting the items ranked above it. The propensity is
    n_train^((gamma + 1) / 2), so gamma = -1 is the plain average over all items. The term of an item is
    1[Z < k] for recall, 1 / log2(Z + 2) for dcg and 1 - Z / n_items for auc.

    >>> snips_value("recall", {"u": [(4, 0), (1, 7)]}, gamma=1, k=3)
    0.2
    """

    def term(above: int) -> float:
        if name == "recall":
            return float(k is None or above < k)
        if name == "dcg":
            return 1 / math.log2(above + 2)
        if name != "auc":
            raise ValueError(f"no propensity-weighted {name}")
        assert n_items is not None
        return 1 - above / n_items

    each = []
    for pairs in users.values():
        inverse = [count ** (-(gamma + 1) / 2) for count, _ in pairs]
        each.append(sum(w * term(above) for w, (_, above) in zip(inverse, pairs)) / sum(inverse))
    return sum(each) / len(each)


# ---- the 1R readings (designs.md) -----------------------------------------------------------------------


def one_relevant(
    groups: Groups, judged: Judged, *, threshold: float | None = None
) -> list[tuple[Item, list[list[Item]]]]:
    """For each relevant test item: the item, and the tie blocks without the other relevant items.

    An item outside the target set keeps its place in the average: its ranking just does not hold it.

    >>> one_relevant([["x"], ["a", "b"]], {"a": 1, "b": 1})
    [('a', [['x'], ['a']]), ('b', [['x'], ['b']])]
    """
    relevant = relevant_items(judged, threshold)
    readings = []
    for one in relevant:
        kept = [[item for item in block if item == one or item not in relevant] for block in groups]
        readings.append((one, [block for block in kept if block]))
    return readings


def one_relevant_mean(
    name: str,
    users: Mapping[Hashable, tuple[Groups, Judged]],
    *,
    threshold: float | None = None,
    **options: Any,
) -> float:
    """A metric in the 1R reading, averaged over all (user, relevant test item) pairs, ties in expectation.

    >>> one_relevant_mean("precision", {"u": ([["a"], ["b"], ["x"]], {"a": 1, "b": 1})}, k=1)
    1.0
    """
    each = []
    for groups, judged in users.values():
        relevant = relevant_items(judged, threshold)
        for one, blocks in one_relevant(groups, judged, threshold=threshold):
            alone = {item: v for item, v in judged.items() if item == one or item not in relevant}
            each.append(expected(name, blocks, alone, threshold=threshold, **options))
    return math.fsum(each) / len(each) if each else NAN


def lemma_bounds(
    users: Mapping[Hashable, tuple[Sequence[Item], Judged]], *, k: int, threshold: float | None = None
) -> tuple[float, float]:
    """Lower and upper bound of 1RP@k from the AR rankings of users with at least one relevant item.

    lower = Σ_u P_u@k / |PR|; upper = Σ_u m_u P_u@m_u / (k |PR|) with m_u = k + R_u − 1.

    >>> lemma_bounds({"u": ("xab", {"a": 1, "b": 1})}, k=1)
    (0.0, 0.5)
    """
    pairs, lower, upper = 0, 0.0, 0.0
    for ranked, judged in users.values():
        size = len(relevant_items(judged, threshold))
        if size:
            deep = k + size - 1
            pairs += size
            lower += value("precision", ranked, judged, k=k, threshold=threshold)
            upper += deep * value("precision", ranked, judged, k=deep, threshold=threshold) / k
    return lower / pairs, upper / pairs


def percentile_mean(percentiles: Sequence[Sequence[float]]) -> float:
    """P1R: the mean over popularity percentiles of the mean value of each percentile's test pairs.

    >>> percentile_mean([[1, 0], [0]])
    0.25
    """
    filled = [sum(values) / len(values) for values in percentiles if values]
    return sum(filled) / len(filled)


# ---- sampled metrics and their corrections --------------------------------------------------------------


def rank_metric(name: str, rank: float, *, pool: int, k: int | None = None) -> float:
    """A metric of one relevant item at `rank` among `pool` items (itself included).

    >>> rank_metric("auc", 2, pool=5), rank_metric("recall", 2, pool=5, k=1)
    (0.75, 0.0)
    """
    if name == "auc":
        return (pool - rank) / (pool - 1)
    if name == "recall":
        return float(k is None or rank <= k)
    return {"ap": 1 / rank, "ndcg": 1 / math.log2(rank + 1)}[name]


def sampled_ranks(rank: int, *, n: int, m: int, replacement: bool = True) -> list[float]:
    """P(sampled rank = 1 … m + 1) of the item at `rank` of n items, when m of the n − 1 others are drawn.

    With replacement, r̃ − 1 ~ Binomial(m, (r − 1)/(n − 1)): the convention of golden section I. Without
    it, as the NN designs draw, r̃ − 1 ~ Hypergeometric(n − 1 others, r − 1 of them above, m drawn).

    >>> sampled_ranks(2, n=3, m=2), sampled_ranks(2, n=3, m=2, replacement=False)
    ([0.25, 0.5, 0.25], [0.0, 1.0, 0.0])
    """
    if replacement:
        p = (rank - 1) / (n - 1)
        return [math.comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(m + 1)]
    ways = math.comb(n - 1, m)
    return [math.comb(rank - 1, j) * math.comb(n - rank, m - j) / ways for j in range(m + 1)]


def sampled_expectation(
    name: str, rank: int, *, n: int, m: int, k: int | None = None, replacement: bool = True
) -> float:
    """Expected value of the metric computed on the sampled rank (m drawn items and the relevant one).

    >>> sampled_expectation("auc", 2, n=5, m=2)
    0.75
    """
    chances = sampled_ranks(rank, n=n, m=m, replacement=replacement)
    return math.fsum(p * rank_metric(name, r, pool=m + 1, k=k) for r, p in enumerate(chances, 1))


def rescaled_rank(sampled: int, *, n: int, m: int) -> float:
    """The unbiased estimate of the rank, 1 + (n − 1)(r̃ − 1)/m, whichever way the sample was drawn.

    >>> [rescaled_rank(r, n=20, m=5) for r in (1, 2, 6)]
    [1.0, 4.8, 20.0]
    """
    return 1 + (n - 1) * (sampled - 1) / m


def bias_variance(
    name: str,
    *,
    n: int,
    m: int,
    gamma: float,
    k: int | None = None,
    replacement: bool = True,
    prior: Sequence[float] | None = None,
) -> list[float]:
    """The corrected metric f(r̃) for r̃ = 1 … m + 1, which minimises over f

        Σ_r p(r) { (E[f(r̃) | r] − M(r))² + γ Var[f(r̃) | r] },   r = 1 … n.

    With A[r][j] = P(r̃ = j | r) this is ((1 − γ) AᵀPA + γ diag(Aᵀp)) f = AᵀP M. Golden section I has the
    uniform prior p(r) = 1/n and samples with replacement. γ = 0 is least squares, γ = 1 is E[M(r) | r̃].

    >>> [round(x, 6) for x in bias_variance("auc", n=4, m=3, gamma=0.5, replacement=False)]
    [1.0, 0.666667, 0.333333, 0.0]
    """
    p = list(prior) if prior is not None else [1 / n] * n
    chances = [sampled_ranks(r, n=n, m=m, replacement=replacement) for r in range(1, n + 1)]
    truth = [rank_metric(name, r, pool=n, k=k) for r in range(1, n + 1)]
    columns = range(m + 1)
    left = [[0.0] * (m + 1) for _ in columns]
    right = [0.0] * (m + 1)
    for weight, row, exact in zip(p, chances, truth):
        for i in columns:
            right[i] += weight * row[i] * exact
            left[i][i] += gamma * weight * row[i]
            for j in columns:
                left[i][j] += (1 - gamma) * weight * row[i] * row[j]
    return solve(left, right)


def solve(left: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Linear equations by elimination with row exchange.

    >>> solve([[0, 2], [1, 1]], [4, 5])
    [3.0, 2.0]
    """
    rows = [[*map(float, row), float(end)] for row, end in zip(left, right)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda i: abs(rows[i][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [x / rows[at][at] for x in rows[at]]
        for i in range(size):
            if i != at:
                rows[i] = [x - rows[i][at] * y for x, y in zip(rows[i], rows[at])]
    return [row[-1] for row in rows]


def weighted_rank(draws: Sequence[Item], *, above: Iterable[Item], proposal: Mapping[Item, float]) -> float:
    """Rank from m weighted draws *with replacement*: 1 + (1/m) Σ_draws 1[scored above] / q_j.

    >>> weighted_rank(["a", "b"], above=["a"], proposal={"a": 0.5, "b": 0.5})
    2.0
    """
    higher = set(above)
    return 1 + sum(1 / proposal[item] for item in draws if item in higher) / len(draws)


def mapped_cutoff(k: int, *, n_items: int, pool: int, a: float | None = None) -> float:
    """The full-ranking cutoff that a sampled cutoff k stands for, `pool` counting the relevant item.

    Linear without `a`: 1 + (k − 1)(N − 1)/(pool − 1). With `a`, relative ranks are taken as Beta(a, 1), whose
    expected sampled recall at k is S = Σ_{j<k} C(pool − 1, j) a B(a + j, pool − j), and the cutoff is
    1 + (N − 1) S^(1/a).

    >>> mapped_cutoff(1, n_items=1000, pool=100), round(mapped_cutoff(1, n_items=1000, pool=100, a=1), 6)
    (1.0, 10.99)
    """
    if a is None:
        return 1 + (k - 1) * (n_items - 1) / (pool - 1)
    share = 0.0
    for j in range(k):
        log_beta = math.lgamma(a + j) + math.lgamma(pool - j) - math.lgamma(a + pool)
        share += math.comb(pool - 1, j) * a * math.exp(log_beta)
    return 1 + (n_items - 1) * share ** (1 / a)
