"""One list, one user, one number: to check a definition by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.aspects import Aspects
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.facts.equal_scores import same_as_next
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.facts.tie_rules import with_ties
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs, ItemPopularity, Positives, RowPropensity
from trueval.metrics.spec import Spec

Judged = Mapping[Any, float] | Collection[Any]


def toy_facts(
    ranked: Sequence[Any],
    judged: Judged,
    *,
    threshold: float | None = None,
    complete: bool = False,
    scores: Sequence[float] | None = None,
    others: Collection[Any] = (),
) -> RankingFacts:
    """Facts of a single user; see `measure`. `others` are further items of the catalogue."""
    _check_list(ranked, scores)
    values = dict(judged) if isinstance(judged, Mapping) else dict.fromkeys(judged, 1.0)
    names = sorted({str(item) for item in (*ranked, *values, *others)})
    code = {name: i for i, name in enumerate(names)}
    position = {str(item): r for r, item in enumerate(ranked, 1)}
    s = np.asarray(scores if scores is not None else -np.arange(len(ranked)), np.float64)
    rows = sorted(values, key=lambda item: (position.get(str(item), len(ranked) + 1), code[str(item)]))
    rank = np.array([position.get(str(item), 0) for item in rows], np.int32)
    value = np.array([values[item] for item in rows], np.float64)
    return RankingFacts(
        unit_user=np.zeros(1, np.int32),
        start=np.array([0, len(rows)]),
        item=np.array([code[str(item)] for item in rows], np.int32),
        value=value,
        relevant=value > 0 if threshold is None else value >= threshold,
        rank=rank,
        above=np.array([np.count_nonzero(s > s[r - 1]) if r else 0 for r in rank], np.int32),
        tied=np.array([np.count_nonzero(s == s[r - 1]) if r else 0 for r in rank], np.int32),
        list_start=np.array([0, len(ranked)]),
        list_item=np.array([code[str(item)] for item in ranked], np.int32),
        targets=np.array([len(ranked) if complete else UNKNOWN]),
        users=Ids(pl.Series(["user"])),
        items=Ids(pl.Series(names, dtype=pl.String)),
        catalogue=len(names),
        exact=complete,
        list_same=same_as_next(np.array([0, len(ranked)]), s),
    )


def _check_list(ranked: Sequence[Any], scores: Sequence[float] | None) -> None:
    twice = [item for at, item in enumerate(ranked) if str(item) in map(str, ranked[:at])]
    if twice:
        raise DataError("an item is recommended twice", found=", ".join(map(repr, twice[:5])), do="keep each item once")
    if scores is None:
        return
    if len(scores) != len(ranked):
        raise DataError("there must be one score per item", found=f"{len(scores)} scores, {len(ranked)} items")
    try:
        s = np.asarray(scores, np.float64)
    except ValueError:
        raise DataError("scores must be numbers", found=str(list(scores))[:60]) from None
    if not np.isfinite(s).all() or (np.diff(s) > 0).any():
        raise DataError("scores must be finite and descend, like the list", found=str(list(scores)))


def _check_numbers(name: str, values: Iterable[Any], *, least: float = -np.inf) -> None:
    """Refuse what is not a finite number, or below the least possible one."""
    for value in values:
        real = isinstance(value, (int, float, np.number)) and np.isfinite(value)
        if not real or value < least:
            what = "finite numbers" if least == -np.inf else f"finite numbers, {least:g} or more"
            raise DataError(f"the values of {name} must be {what}", found=repr(value))


def _check_counts(**counts: Mapping[Any, Any] | None) -> None:
    for name, own in counts.items():
        _check_numbers(name, (own or {}).values(), least=0)


def _check_features(features: Mapping[Any, Sequence[float]]) -> None:
    sizes = {len(own) for own in features.values()}
    if len(sizes) > 1 or 0 in sizes:
        found = ", ".join(f"{size} numbers" for size in sorted(sizes))
        raise DataError("the feature vectors of all items must be of one length, 1 or more", found=found)
    for own in features.values():
        _check_numbers("features", own)


@checked
def measure(
    metric: str | Spec,
    ranked: Sequence[Any],
    judged: Mapping[Any, float] | Collection[Any],
    *,
    threshold: float | None = None,
    complete: bool = False,
    scores: Sequence[float] | None = None,
    ties: str = "random",
    popularity: Mapping[Any, int] | None = None,
    users: int = 1,
    features: Mapping[Any, Sequence[float]] | None = None,
    profile: Collection[Any] | Mapping[Any, float] = (),
    positives: Mapping[Any, int] | None = None,
    aspects: Mapping[Any, str | Collection[str]] | None = None,
    propensity: Mapping[Any, float] | None = None,
) -> float:
    """Compute one metric of one user's ranked list, to check a definition by hand.

    Parameters
    ----------
    metric : text
        For example "ndcg@10", "recall@20[beta=0.5]" or "anti(precision)@5".
    ranked : list of ids
        The recommended items, best first, each once.
    judged : set of ids, or mapping from ids to values
        The relevant items, or the judged items with their values.
    threshold : number, optional
        Relevance threshold: judged items with this value or a higher one are relevant. Default: all values above 0.
    complete : bool, default False
        Whether `ranked` is the whole target set. Metrics that need every rank, such as auc, ask for it.
    scores : list of numbers, optional
        Descending scores of the items, one each: equal ones are ties. Default: no ties.
    ties : {"random", "expected", "worst", "best"}, default "random"
        Order of items with equal scores: as in `ranked`, the exact mean over all orders, relevant items last, or first.
    popularity : mapping from ids to int, optional
        Train users of each item, for novelty and popularity metrics.
    users : int, default 1
        Number of train users that `popularity` counts, for novelty and epc: at least the largest count.
    features : mapping from ids to lists of numbers, optional
        Feature vectors of the items, for metrics of diversity by distance.
    profile : set of ids, or mapping from ids to values, optional
        The user's own train items, with or without values. Default: none.
    positives : mapping from ids to int, optional
        Number of relevant ratings of each item, by all users.
    aspects : mapping from ids to text or lists of text, optional
        Aspects of each item, "a|b" or a list.
    propensity : mapping from ids to numbers, optional
        Chance of each relevant item to be observed, above 0 and up to 1, for ips(…) and snips(…).

    Returns
    -------
    float
        The value, NaN where the metric is undefined.

    Raises
    ------
    TruevalError
        For a metric that does not exist, for one that needs more than was given, and for inputs that cannot be, such
        as negative counts or an item with more users than there are.

    Examples
    --------
    >>> measure("precision@2", ["a", "b", "c"], {"a", "c"})
    0.5
    """
    _check_counts(popularity=popularity, positives=positives)
    for name, values in (("judged", judged), ("profile", profile)):
        if isinstance(values, Mapping):
            _check_numbers(name, values.values())
    if isinstance(users, bool) or not isinstance(users, (int, np.integer)) or users < 1:
        raise DefinitionError("users must be a whole number, 1 or more", found=f"users={users!r}")
    if features:
        _check_features(features)
    others = {*(popularity or ()), *(features or ()), *profile, *(positives or ()), *(aspects or ())}
    facts = toy_facts(ranked, judged, threshold=threshold, complete=complete, scores=scores, others=others)
    names = facts.items.values.to_list()
    rated = {str(item): profile[item] if isinstance(profile, Mapping) else 1.0 for item in profile}
    own = facts.items.codes(pl.Series(sorted(rated), dtype=pl.String))
    train = ByUser(np.array([0, len(own)]), own, np.array([rated[item] for item in sorted(rated)], np.float64))
    counts, known = (_by_name(own or {}, names, 0) for own in (popularity, positives))
    inputs = Inputs(
        positives=Positives(lambda: counts, lambda: known) if popularity or positives else None,
        train=train if len(profile) or popularity else None,
        popularity=None if popularity is None else ItemPopularity(counts, users),
        features=None if not features else _by_name(features, names, [0.0] * len(next(iter(features.values())))),
        aspects=None if aspects is None else _aspects(aspects, facts.items),
        interest=Interest(lambda: train, lambda: _scale([*facts.value.tolist(), *rated.values()])),
        targets=Targets(lambda: np.ones(len(names), bool), train),
        propensity=None if propensity is None else _propensity(facts, propensity),
    )
    return float(compute(parse(metric), with_ties(facts, ties), inputs).value())


def _aspects(aspects: Mapping[Any, str | Collection[str]], items: Ids) -> Aspects:
    rows = [
        (str(item), name)
        for item, own in aspects.items()
        for name in (own.split("|") if isinstance(own, str) else own)
        if name
    ]
    frame = pl.DataFrame(rows, schema={"item": pl.String, "aspect": pl.String}, orient="row")
    return Aspects.of(items.codes(frame["item"]), frame["aspect"], n_items=len(items))


def _propensity(facts: RankingFacts, propensity: Mapping[Any, float]) -> RowPropensity:
    known = {str(item): p for item, p in propensity.items()}
    rows = facts.item[facts.relevant]
    wanted = facts.items.decode(rows)
    wrong = [f"{item}: {known.get(item, 'none')}" for item in wanted if not 0 < known.get(item, 0) <= 1]
    if wrong:
        raise DataError(
            "every relevant item needs a propensity above 0 and up to 1", found=", ".join(wrong[:5]),
            do="give the chance of each relevant item to be observed",
        )  # fmt: skip
    order = np.argsort(rows)
    values = np.array([known[item] for item in wanted], np.float64)
    return RowPropensity(ByUser(np.array([0, len(rows)]), rows[order], values[order]), "given values")


def _scale(values: list[float]) -> tuple[float, float]:
    return min(values, default=1.0), max(values, default=1.0)


def _by_name(values: Mapping[Any, Any], names: list[str], missing: Any) -> np.ndarray:
    known = {str(item): value for item, value in values.items()}
    return np.array([known.get(name, missing) for name in names])
