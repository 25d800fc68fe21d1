"""Small worlds of one user, pairs of rankings in them, and what a metric says of the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trueval.data.aspects import Aspects
from trueval.data.by_user import ByUser
from trueval.data.ids import Ids
from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import UNKNOWN, RankingFacts
from trueval.metrics.aspect_inputs import Interest, Targets
from trueval.metrics.compute import compute
from trueval.metrics.metric_inputs import Inputs, ItemPopularity
from trueval.metrics.spec import Spec

LOWEST, HIGHEST = 0.0, 5.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One user: aspects of items, ratings of some of them, and how much the user cares for each aspect."""

    aspects: dict[str, tuple[str, ...]]
    ratings: dict[str, float]
    interest: dict[str, float]

    def weight(self, aspect: str) -> float:
        """Share of the user's interest."""
        return self.interest[aspect] / sum(self.interest.values())


@dataclass(frozen=True, slots=True)
class RankingPair:
    """Two rankings of a scene; an axiom says that the first must score higher."""

    better: tuple[str, ...]
    worse: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A scene in which an axiom has something to say: about its one pair, or about at least one of several."""

    scene: Scene
    pairs: tuple[RankingPair, ...]


@dataclass(frozen=True)
class Bench:
    """Trials made ready for any metric: all their rankings as units of one evaluation."""

    trials: tuple[Trial, ...]
    facts: RankingFacts
    inputs: Inputs

    @staticmethod
    def of(trials: Sequence[Trial]) -> Bench:
        """Put trials together."""
        return Bench(tuple(trials), *_together(trials))

    def scores(self, spec: Spec) -> list[np.ndarray]:
        """Values of all pairs, trial by trial: one row per pair, (better, worse); lower-is-better ones are turned."""
        if spec.metric.system:
            raise DefinitionError(
                f"{spec} has one value for all lists", do="axioms apply only to metrics of one user's list"
            )
        if spec.parameters.get("profile") == "test":
            raise DefinitionError(
                f"the axioms cannot be checked for {spec}",
                found="profile=test: the interest would change with the ratings of the items compared",
                do="check it with profile=train",
            )
        values = compute(spec, self.facts, self.inputs).per_unit
        assert values is not None
        values = -values if spec.better == "lower" else values
        ends = np.cumsum([2 * len(trial.pairs) for trial in self.trials])
        return [part.reshape(-1, 2) for part in np.split(values, ends[:-1])]


def _together(trials: Sequence[Trial]) -> tuple[RankingFacts, Inputs]:
    """All rankings as units of one evaluation; every scene has items, and every unit a profile, of its own."""
    columns: dict[str, list] = {name: [] for name in ("item", "value", "rank", "listed", "targets", "seen", "stars")}
    counts: dict[str, list[int]] = {name: [] for name in ("judged", "listed", "targets", "seen")}
    rows: list[tuple[int, str]] = []
    first = 0
    for trial in trials:
        scene = trial.scene
        names = sorted(scene.aspects)
        code = {name: first + j for j, name in enumerate(names)}
        profile = {aspect: first + len(names) + j for j, aspect in enumerate(scene.interest)}
        rows += [(code[name], aspect) for name in names for aspect in scene.aspects[name]]
        rows += [(item, aspect) for aspect, item in profile.items()]
        first += len(names) + len(profile)
        for ranking in (ranking for pair in trial.pairs for ranking in (pair.better, pair.worse)):
            place = {name: rank for rank, name in enumerate(ranking, 1)}
            judged = sorted(scene.ratings, key=lambda name: (place.get(name, len(names) + 1), name))
            columns["item"] += [code[name] for name in judged]
            columns["value"] += [scene.ratings[name] for name in judged]
            columns["rank"] += [place.get(name, 0) for name in judged]
            columns["listed"] += [code[name] for name in ranking]
            columns["targets"] += code.values()
            columns["seen"] += profile.values()
            columns["stars"] += scene.interest.values()
            for name, number in zip(counts, (len(judged), len(ranking), len(names), len(profile))):
                counts[name].append(number)
    start = {name: np.concatenate([[0], np.cumsum(number)]).astype(np.int64) for name, number in counts.items()}
    item, rank, listed, targets, seen = (
        np.array(columns[n], np.int32) for n in ("item", "rank", "listed", "targets", "seen")
    )
    value, units = np.array(columns["value"], np.float64), len(start["judged"]) - 1
    facts = RankingFacts(
        unit_user=np.arange(units, dtype=np.int32), start=start["judged"], item=item, value=value, relevant=value > 0,
        rank=rank, above=np.maximum(rank - 1, 0), tied=np.minimum(rank, 1),
        list_start=start["listed"], list_item=listed,
        targets=np.full(units, UNKNOWN), users=Ids(pl.Series(range(units))), items=Ids(pl.Series(range(first))),
        catalogue=first, exact=False,
    )  # fmt: skip
    codes, aspect = (list(column) for column in zip(*rows))
    aspects = Aspects.of(np.array(codes), pl.Series(aspect, dtype=pl.String), n_items=first)
    train = ByUser(start["seen"], seen, np.array(columns["stars"], np.float64))
    popularity = ItemPopularity(np.bincount(seen, minlength=first), int(np.count_nonzero(train.counts)))
    return facts, Inputs(
        train=train, popularity=popularity, aspects=aspects, features=aspects.matrix(),
        interest=Interest(lambda: train, lambda: (LOWEST, HIGHEST)),
        targets=Targets(lambda: np.zeros(first, bool), None, ByUser(start["targets"], targets)),
    )  # fmt: skip
