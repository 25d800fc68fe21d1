"""How few ratings the test set has, and what that alone does to metrics (Bellogín et al. 2017, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.audit.fewer_ratings import by_chance, check_from_facts, fewer_ratings, value_of
from trueval.audit.item_ratings import item_ratings
from trueval.audit.larger_targets import larger_targets
from trueval.audit.render_sparsity import sparsity_text
from trueval.data.exported_tables import Tabular
from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.population import check_population, in_population
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.views import select, target_numbers
from trueval.metrics.grammar import parse, split_list
from trueval.pictures import draw
from trueval.render.shown import Shown
from trueval.splits.parts import Parts

REMOVED = (0.0, 0.2, 0.4, 0.6, 0.8)
SIZES = (100, 200, 400, 700, 1000)


@dataclass(frozen=True, slots=True)
class Sparsity(Tabular, Shown):
    """Size of target sets, density of known relevance, and how metrics follow both.

    Attributes
    ----------
    design : {"AR", "1R"}
        Whether all relevant items of a user are ranked together, or each alone.
    units : int
        Users averaged over; in 1R relevant items of users.
    sigma : float or None
        σ, the share of the ratings that is in the test part; None without `parts`.
    targets : mapping
        Smallest, median, mean and largest |T_u|; empty where unknown.
    t : float or None
        1/t is the mean of 1/|T_u|.
    delta : float or None
        δ = |PR| / (t·|U|), the density of known relevance in train and test; None without `parts`.
    rho : float or None
        ρ, the mean share of relevant items in the target sets.
    k : int
        Cutoff of `chance_precision` and `unjudged`.
    chance_precision : float or None
        Expected precision@k of a random ranking: ρ, where no target set is smaller than k.
    unjudged : mapping from systems to numbers
        Share of unjudged items among the first k; empty in 1R.
    fewer : DataFrame
        Metrics by system with shares of the test ratings removed (see `fewer_ratings`).
    larger : DataFrame or None
        1R metrics by system and size of the target sets (see `larger_targets`); None where not all ranks are known.
    notes : list of text
        What could not be measured, and why.

    Examples
    --------
    >>> from trueval.metrics.measure import toy_facts
    >>> found = sparsity({"mine": toy_facts(list("abcd"), {"a", "c"}, complete=True)}, metrics="precision@2", k=2)
    >>> found.t, found.rho, found.chance_precision, found.unjudged
    (4.0, 0.5, 0.5, {'mine': 0.5})
    """

    design: str
    units: int
    sigma: float | None
    targets: dict[str, float]
    t: float | None
    delta: float | None
    rho: float | None
    k: int
    chance_precision: float | None
    unjudged: dict[str, float]
    fewer: pl.DataFrame
    larger: pl.DataFrame | None
    notes: list[str]

    def __str__(self) -> str:
        return sparsity_text(self)

    def table(self) -> pl.DataFrame:
        """Both curves in one table: changed ("removed" or "targets"), at, system, metric, value, by_chance, units."""
        columns = ["changed", "at", "metric", "system", "value", "by_chance", "units"]
        frames = []
        for name, frame in (("removed", self.fewer), ("targets", self.larger)):
            if frame is not None:
                own = frame.with_columns(pl.lit(name).alias("changed"), pl.col(name).cast(pl.Float64).alias("at"))
                frames.append(own.with_columns(pl.col("units").cast(pl.Float64)).select(columns))
        return pl.concat(frames).with_columns(pl.col("value", "by_chance").fill_nan(None))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        single = ("design", "units", "sigma", "targets", "t", "delta", "rho", "k", "chance_precision", "unjudged")
        numbers = pl.selectors.float()
        return {
            **{name: getattr(self, name) for name in single},
            "fewer": self.fewer.with_columns(numbers.fill_nan(None)).to_dicts(),
            "larger": None if self.larger is None else self.larger.with_columns(numbers.fill_nan(None)).to_dicts(),
            "notes": self.notes,
        }

    def plot(self, name: str = "sparsity", **options: Any) -> Any:
        """Draw metrics against removed test ratings, and against the size of the target sets."""
        return draw("sparsity", self, name, options)


@checked
def sparsity(
    facts: Mapping[str, RankingFacts],
    *,
    parts: Parts | None = None,
    threshold: float | None = None,
    metrics: str | Sequence[str] = "precision@10",
    removed: Sequence[float] = REMOVED,
    sizes: Sequence[int] = SIZES,
    k: int = 10,
    repeats: int = 5,
    population: str = "relevant",
    seed: int = 0,
) -> Sparsity:
    """Measure how sparse the test set is, and how far metric values follow that alone.

    Parameters
    ----------
    facts : mapping from systems to RankingFacts
        Rankings under one design, as `result.evaluation.facts` keeps them.
    parts : Parts, optional
        The split behind them, for σ and δ.
    threshold : number, optional
        Relevance threshold, for δ.
    metrics : text or list of text, default "precision@10"
        Metrics to follow while test ratings are removed; those of one relevant item also by the size of target sets.
    removed : list of numbers, default 0, 0.2, 0.4, 0.6, 0.8
        Shares of the test ratings to remove, from 0 to below 1.
    sizes : list of int, default 100, 200, 400, 700, 1000
        Sizes of the target sets; the largest possible one is added.
    k : int, default 10
        Cutoff of the expected precision and of the share of unjudged items.
    repeats : int, default 5
        How often each share is removed anew.
    population : {"relevant", "judged", "all"}, default "relevant"
        The users to average over, with all ratings as well as with fewer: those with a relevant test item, with any, or
        all that were ranked.
    seed : int, default 0
        Seed of the removals.

    Returns
    -------
    Sparsity
        Numbers and curves. Prints as text.

    Raises
    ------
    TruevalError
        For no systems, no relevant items, and metrics that need more than rankings.

    Examples
    --------
    >>> from trueval.metrics.measure import toy_facts
    >>> facts = {"mine": toy_facts(list("abcdefgh"), {"a", "c", "d"}, complete=True)}
    >>> found = sparsity(facts, metrics="precision@1", sizes=[3], removed=[0])
    >>> [(size, round(value, 4)) for size, value in found.larger.select("targets", "value").rows()]
    [(3, 0.7333), (6, 0.3333)]
    """
    labels = split_list(metrics) if isinstance(metrics, str) else list(metrics)
    shares = _shares(removed)
    if k < 1 or repeats < 1:
        raise DefinitionError("k and repeats must be at least 1", found=f"k = {k}, repeats = {repeats}")
    check_population(population)
    own = {name: select(one, in_population(one, population)) for name, one in facts.items()}
    first = _first(own)
    specs = {label: parse(label) for label in labels}
    for spec in specs.values():
        check_from_facts(spec)
    numbers, notes = target_numbers(first), []
    if numbers is None:
        notes.append("sizes of the target sets, ρ and values by chance are not known: lists were given, not scores")
    t = None if numbers is None else float(1 / np.mean(1 / np.maximum(numbers, 1)))
    larger = _larger(own, labels, sizes, notes)
    return Sparsity(
        design="1R" if first.one_relevant else "AR",
        units=len(first),
        sigma=None if parts is None else len(parts.test) / (len(parts.train) + len(parts.test)),
        targets={} if numbers is None else _spread(numbers),
        t=t,
        delta=None if parts is None or t is None else _density(parts, threshold, t),
        rho=None if numbers is None else _relevant_share(first, numbers),
        k=k,
        chance_precision=None if numbers is None else by_chance(parse(f"precision@{k}"), first),
        unjudged=_unjudged(own, k),
        fewer=fewer_ratings(own, specs, shares, repeats=repeats, seed=seed),
        larger=larger,
        notes=notes,
    )


def _first(facts: Mapping[str, RankingFacts]) -> RankingFacts:
    if not facts:
        raise DataError(
            "there are no rankings to look at", found="no facts", do="tv.evaluate(…, keep_facts=…) keeps them"
        )
    name, first = next(iter(facts.items()))
    if not first.relevant.any():
        raise DataError("no user has a relevant item", where=name, do="lower the threshold")
    return first


def _shares(removed: Sequence[float]) -> list[float]:
    shares = sorted({0.0, *map(float, removed)})
    if not all(0 <= share < 1 for share in shares):
        raise DefinitionError("shares to remove must be from 0 to below 1", found=", ".join(map(str, removed)))
    return shares


def _spread(numbers: np.ndarray) -> dict[str, float]:
    return {
        "min": float(numbers.min()), "median": float(np.median(numbers)), "mean": float(numbers.mean()),
        "max": float(numbers.max()),
    }  # fmt: skip


def _density(parts: Parts, threshold: float | None, t: float) -> float:
    """δ = |PR| / (t·|U|) over all users of train and test."""
    liked = sum(int(item_ratings(log, threshold=threshold).liked.sum()) for log in (parts.train, parts.test))
    return liked / (t * len(Ids.of(parts.train.frame["user"], parts.test.frame["user"])))


def _relevant_share(facts: RankingFacts, numbers: np.ndarray) -> float:
    """ρ: relevant targets over targets, averaged over units."""
    ranked = facts.relevant & ((facts.rank > 0) | (not facts.exact))
    inside = np.bincount(facts.unit[ranked], minlength=len(facts))
    return float(np.mean(inside / np.maximum(numbers, 1)))


def _unjudged(facts: Mapping[str, RankingFacts], k: int) -> dict[str, float]:
    spec = parse(f"unjudged@{k}")
    return {name: value_of(spec, own)[0] for name, own in facts.items() if not own.one_relevant}


def _larger(
    facts: Mapping[str, RankingFacts], labels: Sequence[str], sizes: Sequence[int], notes: list[str]
) -> pl.DataFrame | None:
    """The curve over sizes, of those metrics that have one; what stands in the way goes into the notes."""
    from trueval.design.sampled_ranks import read_metric

    usable = []
    for label in labels:
        try:
            usable += [label] if read_metric(label)[1] is not None else []
        except DefinitionError:
            continue
    if not usable:
        notes.append("no metric depends on the rank of one relevant item alone: no curve by size of the target sets")
        return None
    try:
        return larger_targets(facts, usable, sizes)
    except DefinitionError as error:
        notes.append(f"no curve by size of the target sets: {error.what} ({error.found})")
        return None
