"""Look for counter-examples to the axioms in random worlds, and set the verdicts beside the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np

from trueval.arguments import checked
from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.metrics.axioms.explained import EXPLANATIONS, Explanation
from trueval.metrics.axioms.ranking_pairs import Bench, RankingPair, Scene, Trial
from trueval.metrics.axioms.regions import Region, failing, regions
from trueval.metrics.axioms.statements import AXIOMS
from trueval.metrics.grammar import parse
from trueval.metrics.spec import Spec
from trueval.render.shown import Shown

# Table 1 of the paper: the metrics in the forms it analyses ("adapted to graded relevance", the parameters of its
# section 5.2; the cutoff lies behind all lists but those of TopHeav), and which axioms it prints as satisfied.
_FIVE = (True,) * 5 + (False,) * 3
TABLE_1: dict[str, tuple[str, tuple[bool, ...]]] = {
    "α-nDCG@k": ("alpha_ndcg@30[gain=probabilistic]", _FIVE),
    "S-Recall@k": ("srecall@30", (False,) * 8),
    "S-RR@100%": ("srr@30", (False,) * 8),
    "NRBP": ("nrbp[alpha=0.25,beta=0.9,gain=probabilistic]", _FIVE),
    "EU": ("eu@30[gain=probabilistic]", (True,) * 7 + (False,)),
    "RBU@k": ("rbu@30", (True,) * 7 + (False,)),
    "αβ-nDCG@k": ("abndcg@30", (True,) * 8),
}


@dataclass(frozen=True, slots=True)
class CounterExample:
    """Two rankings of one user's items; the first should score higher and does not."""

    scene: Scene
    pair: RankingPair
    better: float
    worse: float
    tried: int  # pairs of this world, none of which obeys the axiom

    @property
    def items(self) -> tuple[str, ...]:
        """The items that the two rankings show."""
        return tuple(dict.fromkeys((*self.pair.better, *self.pair.worse)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one axiom: it held in so many worlds, or there is a counter-example."""

    axiom: str
    worlds: int
    failures: int
    counter_example: CounterExample | None = None
    printed: bool | None = None  # what the paper's Table 1 says
    explanation: Explanation | None = None  # of a verdict that differs from it

    @property
    def holds(self) -> bool:
        """Whether no counter-example was found."""
        return self.counter_example is None


@dataclass(frozen=True)
class AxiomReport(Shown):
    """Verdicts on one metric, by axiom.

    >>> report = check_axioms("srecall@10", worlds=20)
    >>> report["AspRel"].holds
    False
    """

    spec: Spec
    verdicts: dict[str, Verdict]
    worlds: int = 200
    seed: int = 0

    def regions(self, axiom: str) -> list[Region]:
        """The parameters on which the verdict depends, with the values for which the axiom holds in these worlds.

        >>> [str(region) for region in check_axioms("nrbp", worlds=20).regions("AspRel")]
        []
        """
        return regions(self.spec, _bench(axiom, self.spec.k, self.worlds, self.seed))

    def __getitem__(self, axiom: str) -> Verdict:
        return self.verdicts[axiom]

    def __str__(self) -> str:
        from trueval.metrics.axioms.text import report_text

        return report_text(self)


@dataclass(frozen=True)
class AxiomTable(Shown):
    """Reports on the metrics of the paper's Table 1, by the names they have there."""

    reports: dict[str, AxiomReport]

    def __getitem__(self, metric: str) -> AxiomReport:
        return self.reports[metric]

    def __str__(self) -> str:
        from trueval.metrics.axioms.text import table_text

        return table_text(self)


@overload
def check_axioms(metric: None = None, *, worlds: int = 200, seed: int = 0) -> AxiomTable: ...


@overload
def check_axioms(metric: str | Spec, *, worlds: int = 200, seed: int = 0) -> AxiomReport: ...


@checked
def check_axioms(metric: str | Spec | None = None, *, worlds: int = 200, seed: int = 0) -> AxiomReport | AxiomTable:
    """Check the eight axioms of a unified accuracy-and-diversity metric in random small worlds.

    Parameters
    ----------
    metric : text, optional
        The metric to check. Default: the seven metrics of the paper's Table 1, which print as that table beside the
        paper's own.
    worlds : int, default 200
        Number of random worlds to look for counter-examples in.
    seed : int, default 0
        Seed of the worlds.

    Returns
    -------
    AxiomReport or AxiomTable
        Verdicts by axiom, or reports by metric where none was given. A verdict is the number of worlds in which the
        axiom held, or a concrete counter-example: one user's items, aspects, ratings and interests, two rankings, and
        their scores.

    Raises
    ------
    TruevalError
        For a metric that does not exist, and for fewer than one world.

    Examples
    --------
    >>> report = check_axioms("abndcg@10", worlds=20)
    >>> report["Pri"].holds, report["Pri"].worlds
    (True, 20)
    >>> check_axioms(worlds=5)["S-Recall@k"]["Pri"].holds
    False
    """
    if worlds < 1:
        raise DefinitionError("axioms are checked in at least one world", found=f"worlds={worlds}")
    if metric is None:
        return AxiomTable({name: check_axioms(text, worlds=worlds, seed=seed) for name, (text, _) in TABLE_1.items()})
    spec = parse(metric)
    printed = next((row for text, row in TABLE_1.values() if parse(text).metric is spec.metric), (None,) * len(AXIOMS))
    verdicts = {
        name: _verdict(name, _bench(name, spec.k, worlds, seed), spec, row) for name, row in zip(AXIOMS, printed)
    }
    return AxiomReport(spec, verdicts, worlds, seed)


@lru_cache(maxsize=2 * len(AXIOMS))  # metrics of a table share their worlds
def _bench(axiom: str, k: int | None, worlds: int, seed: int) -> Bench:
    rng = np.random.default_rng([int(derive(seed, "axioms")), list(AXIOMS).index(axiom)])
    return Bench.of([AXIOMS[axiom](rng, k) for _ in range(worlds)])


def _verdict(name: str, bench: Bench, spec: Spec, printed: bool | None) -> Verdict:
    worlds = sum(not np.isnan(pairs).any(axis=1).all() for pairs in bench.scores(spec))
    failures = [
        _example(bench.trials[number], at, pairs, tried=int((~np.isnan(pairs).any(axis=1)).sum()))
        for number, at, pairs in failing(spec, bench)
    ]
    explanation = EXPLANATIONS.get((spec.metric.name, name)) if failures and printed else None
    counter_example = min(failures, key=_size, default=None)
    if explanation is not None and explanation.example is not None:
        own = Bench.of([explanation.example])
        counter_example = next(
            (_example(explanation.example, at, pairs, 1) for _, at, pairs in failing(spec, own)), counter_example
        )
    return Verdict(name, worlds, len(failures), counter_example, printed, explanation)


def _example(trial: Trial, at: int, pairs: np.ndarray, tried: int) -> CounterExample:
    better, worse = pairs[at].tolist()
    return CounterExample(trial.scene, trial.pairs[at], better, worse, tried)


def _size(example: CounterExample) -> tuple[int, int, int]:
    """Short lists first, then few aspects, then ratings as low as can be."""
    items = example.items
    ratings = sum(int(example.scene.ratings.get(item, 0)) for item in items)
    return len(items), sum(len(example.scene.aspects[item]) for item in items), ratings
