"""Do corrections help? One world, observed in one way: what each correction measures, and what is true.

Systems are fitted once, and every correction measures the same scores on the same train and test part. What is true
comes from the complete ratings of all pairs that are not in train (`World.truths`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import trueval as tv
from trueval.comparison.tau import taus
from trueval.data.by_user import ByUser
from trueval.kernels import use_kernels, use_threads
from trueval.metrics.grammar import parse
from trueval.propensity.popularity_power import popularity_power
from trueval.propensity.propensity import given
from trueval.recommenders.protocol import TrainSet
from trueval.splits.parts import Parts
from trueval.splits.uniform import uniform_part

RATIO = 0.3  # of the log that is tested
LEARNED = ("popularity", "random", "average", "itemknn", "userknn", "puresvd", "plsa")
NOISES = (0.5, 1.5, 3.0)  # of oracles, in standard deviations of the means that they know
ORDER = "ndcg@10"  # by whose true values systems are ordered
RANDOM, PLAIN = "random test of the same size", "nDCG@10"
PER_USER = 5  # random items of each user, from which propensities are fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One way to be observed: popularity to the power of `gamma`, tied to quality or not, and the value."""

    way: str
    gamma: float
    alignment: float = 0.0
    value_bias: float = 0.0

    @property
    def name(self) -> str:
        """The way and its strength."""
        return self.way if self.gamma == 0 else f"{self.way}, γ = {self.gamma:g}"


STRENGTHS = (0.5, 1.0, 2.0)
SEEN = (
    Seen(way="neither", gamma=0.0),
    Seen(way="value", gamma=0.0, value_bias=0.5),
    *(Seen(way="independent", gamma=g) for g in STRENGTHS),
    *(Seen(way="aligned", gamma=g, alignment=0.8) for g in STRENGTHS),
    *(Seen(way="opposed", gamma=g, alignment=-0.8) for g in STRENGTHS),
    *(Seen(way="both", gamma=g, value_bias=0.5) for g in STRENGTHS),
)

# What each correction is taken for, "" where its values have a meaning of their own. In the order of the table.
TARGETS = {
    RANDOM: ORDER,
    "nDCG@10": "ndcg@10", "recall@10": "recall@10", "precision@10": "precision@10",
    "stratified recall, β right": "recall@10[average=pooled]",
    "stratified recall, β − 0.5": "recall@10[average=pooled]",
    "stratified recall, β + 0.5": "recall@10[average=pooled]",
    "IPS, exact": "precision@10", "IPS, exact for the log": "precision@10",
    "IPS, popularity:1": "precision@10", "IPS, popularity fitted": "precision@10",
    "SNIPS, exact": "recall@10[average=pooled]", "SNIPS, exact for the log": "recall@10[average=pooled]",
    "SNIPS, popularity:1": "recall@10[average=pooled]", "SNIPS, popularity fitted": "recall@10[average=pooled]",
    "SNIPS per user, exact": "recall@10",
    "P1R, 10 classes": "", "U1R": "", "head (10 %) removed": "ndcg@10",
    "bpref": "bpref", "condensed nDCG@10": "ndcg@10", "condensed precision@10": "precision@10",
    "condensed precision@3": "precision@3",
    "antiprecision@10": "antiprecision@10", "fallout@10": "fallout@10",
}  # fmt: skip
WEIGHTED = ("ips(precision)@10", "snips(recall)@10")


def study(
    seen: Seen, *, seed: int, users: int = 600, items: int = 300, ratings: int = 15_000,
    only: Sequence[str] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """A row for each correction: τ with the true order, τ of its target with that order, errors against the target.

    `only` names the systems; by default all are measured.
    """
    world = tv.simulate(
        "world", users=users, items=items, ratings=ratings, gamma=seen.gamma, alignment=seen.alignment,
        value_bias=seen.value_bias, seed=seed,
    )  # fmt: skip
    with use_kernels("compiled"), use_threads(1):  # hundreds of small evaluations; the processes share the cores
        parts = tv.split(world.log, "holdout", ratio=RATIO, seed=seed)
        systems = score_all(world, parts.train, seed=seed)
        systems = systems if only is None else {name: systems[name] for name in only}
        wanted = sorted({ORDER, *TARGETS.values()} - {""})
        table = world.truths(systems, wanted, train=parts.train, seed=seed)
        found = measure_all(world, parts, systems, seed=seed)
    true = {metric: table.filter(pl.col("metric") == metric)["value"].to_numpy() for metric in wanted}
    return [
        {"way": seen.way, "gamma": seen.gamma, "seed": seed, "correction": name, **compare(name, found[name], true)}
        for name in TARGETS
    ]


def compare(name: str, measured: np.ndarray, true: Mapping[str, np.ndarray]) -> dict[str, float | None]:
    """τ with the true order, and of the target with it, and with the target's own; errors as shares of its mean."""
    target = true.get(TARGETS[name])
    at_best = None if target is None else tau(sign(TARGETS[name]) * target, true[ORDER])
    row = {"tau": tau(sign(TARGETS[name]) * measured, true[ORDER]), "at_best": at_best}
    if target is None:
        return row | dict.fromkeys(("own", "bias", "square"))
    apart = (measured - target) / target.mean()
    return row | {"own": tau(measured, target), "bias": float(apart.mean()), "square": float((apart**2).mean())}


def sign(metric: str) -> int:
    """-1 for metrics of which lower is better."""
    return -1 if metric and parse(metric).better == "lower" else 1


def tau(one: np.ndarray, other: np.ndarray) -> float | None:
    """Kendall's τ-b; none where all systems are equal."""
    value = float(taus(one[None], other[None])[0][0])
    return None if np.isnan(value) else value


# ---- systems -----------------------------------------------------------------------------------------------------


def score_all(world: tv.World, train: tv.Interactions, *, seed: int) -> dict[str, tv.Scores]:
    """Systems that learned from train, and oracles: with noise, and blended with popularity or against it."""
    rows = ByUser.code(train.frame, world.users, world.items)
    learned_from = TrainSet(world.users, world.items, rows, seed, world.threshold, train.count)
    everybody = np.arange(len(world.users))
    scores = {name: tv.make_system(name).fit(learned_from).score(everybody) for name in LEARNED}
    rng = np.random.default_rng([seed, 1])
    known = standard(world.relevance.astype(float))
    scores |= {f"oracle, noise {size:g}": known + size * rng.standard_normal(known.shape) for size in NOISES}
    fame = standard(np.log(learned_from.popularity + 1.0))
    scores |= {"oracle + popularity": known + fame, "oracle − popularity": known - fame}
    ids: dict[str, Any] = {"user_ids": world.users.values, "item_ids": world.items.values}
    return {name: tv.Scores(np.ascontiguousarray(own), **ids) for name, own in scores.items()}


def standard(values: np.ndarray) -> np.ndarray:
    """Values with mean 0 and standard deviation 1; all 0 where they do not vary."""
    return (values - values.mean()) / max(float(values.std()), 1e-12)


# ---- corrections -------------------------------------------------------------------------------------------------


def measure_all(world: tv.World, parts: Parts, systems: Mapping[str, tv.Scores], *, seed: int) -> dict[str, np.ndarray]:
    """The value of every system by every correction."""

    def values(design: str, population: str, metrics: Mapping[str, str], *, of: Parts = parts, p: Any = None) -> Any:
        result = tv.evaluate(
            of, systems, design=design, metrics=list(metrics.values()), threshold=world.threshold, interval="none",
            population=population, propensity=p, items=world.item_table, seed=seed, threads=1, keep_facts=False,
        )  # fmt: skip
        labels = {name: str(parse(metric)) for name, metric in metrics.items()}
        return {name: np.array([result[one, label].value for one in systems]) for name, label in labels.items()}

    found = values("AR-AI-AN", "relevant", {RANDOM: ORDER}, of=random_part(world, parts, seed=seed))
    beta = right_beta(world, parts)
    strata = {"right": beta, "− 0.5": max(beta - 0.5, 0.0), "+ 0.5": beta + 0.5}
    found |= values("AR-AI-AN", "relevant", {
        "nDCG@10": "ndcg@10", "recall@10": "recall@10", "bpref": "bpref",
        **{f"stratified recall, β {word}": f"recall@10[beta={own:.4f},average=pooled]" for word, own in strata.items()},
    })  # fmt: skip
    plain = {f"{name}@10": f"{name}@10" for name in ("precision", "antiprecision", "fallout")}
    found |= values("AR-AI-AN", "all", plain)
    in_log, unseen = true_propensities(world, parts)
    as_given = replace(parts, how={"how": "given"})  # propensities are of the test part, and taken as they are
    sources = {
        "exact": (as_given, unseen), "exact for the log": (as_given, in_log), "popularity:1": (parts, "popularity:1"),
        "popularity fitted": (parts, f"popularity:{2 * fitted_power(world, parts, seed=seed) - 1:.4f}"),
    }  # fmt: skip
    for word, (of, p) in sources.items():
        names = dict(zip((f"IPS, {word}", f"SNIPS, {word}"), WEIGHTED))
        found |= values("AR-AI-AN", "all", names, of=of, p=p)
    by_user = {"SNIPS per user, exact": "snips(recall)@10[average=mean]"}
    found |= values("AR-AI-AN", "relevant", by_user, of=as_given, p=unseen)
    found |= values("P1R10-AI-AN", "relevant", {"P1R, 10 classes": "ndcg@10"})
    found |= values("U1R", "relevant", {"U1R": "ndcg@10"}, of=uniform_part(parts, threshold=world.threshold, seed=seed))
    found |= values("AR-AI-AN-head10", "relevant", {"head (10 %) removed": "ndcg@10"})
    condensed = {f"condensed {name}": name.lower() for name in ("nDCG@10", "precision@10", "precision@3")}
    return found | values("AR-AI-AN-condensed", "relevant", condensed)


def random_part(world: tv.World, parts: Parts, *, seed: int) -> Parts:
    """The same train part, and about as many ratings of items drawn at random: what chance alone does to the order."""
    per_user = max(1, round(len(parts.test) / len(world.users)))
    known = parts.train.frame.select("user", "item")
    rows = world.sample(per_user=per_user, seed=seed + 1).frame.join(known, on=["user", "item"], how="anti")
    return replace(parts, test=tv.Interactions.of(rows, name="random items"), how={"how": "given"})


def true_propensities(world: tv.World, parts: Parts) -> tuple[tv.Propensity, tv.Propensity]:
    """Of test rows: the probability p to be in the log times r; and to be in test, given that it is not in train.

    Pairs in train are not ranked. Of the others a share p·r / (1 − p·(1 − r)) is tested, r the share of the log.
    """
    pairs = parts.test.frame.select("user", "item").unique(maintain_order=True)
    p = world.probability(*world.codes_of(pairs))
    unseen = p * RATIO / (1 - p * (1 - RATIO))
    return tuple(given(pairs.with_columns(p=pl.Series(own)), "true") for own in (p * RATIO, unseen))  # type: ignore[return-value]


def right_beta(world: tv.World, parts: Parts) -> float:
    """The β with which observed relevant ratings, to the power of β, follow the probability of being observed.

    It knows what everybody likes, and all probabilities; nobody who has only the log does.
    """
    everybody, everything = np.arange(len(world.users))[:, None], np.arange(len(world.items))
    liked = world.ratings(world.users.values, world.items.values) >= world.threshold
    expected = (liked * world.probability(everybody, everything)).sum(axis=0)
    frame = pl.concat([parts.train.frame, parts.test.frame])
    counted = counts(world, frame.filter(pl.col("value") >= world.threshold))
    return max(popularity_power(counted, liked.sum(axis=0).astype(float), expected), 0.0)


def fitted_power(world: tv.World, parts: Parts, *, seed: int) -> float:
    """The power of train popularity that explains what was tested of the liked items of a small random sample.

    Test ratings alone: train ratings are popularity themselves, and would explain their own noise.
    """
    relevant = pl.col("value") >= world.threshold
    liked = counts(world, world.sample(per_user=PER_USER, seed=seed).frame.filter(relevant))
    observed = counts(world, parts.test.frame.filter(relevant))
    return max(popularity_power(counts(world, parts.train.frame), liked, observed), 0.0)


def counts(world: tv.World, frame: pl.DataFrame) -> np.ndarray:
    """Rows of each item."""
    return np.bincount(world.codes_of_items(frame["item"]), minlength=len(world.items)).astype(float)
