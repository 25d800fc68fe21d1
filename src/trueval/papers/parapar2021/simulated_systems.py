"""The systems of the experiments: ideal rankings, made worse step by step, and what every metric says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from trueval.facts.views import condense
from trueval.metrics.aspects.several_rankings import abndcg_of_several
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.metric_inputs import Inputs
from trueval.papers.parapar2021.constants import (
    AB_NDCG,
    ASPECTS,
    CUTOFFS,
    DEPTH,
    ENDS,
    METRICS,
    REDUNDANT,
    TEST_SHARE,
    MetricForm,
)
from trueval.papers.setting import Setting
from trueval.progress import progress
from trueval.simulation.ideal_rankings import IdealRankings, ideal_rankings
from trueval.simulation.judged_rankings import judged_facts, judged_inputs
from trueval.simulation.perturbed_rankings import can_swap_first, repeated_aspect, swapped_ends, swapped_first
from trueval.splits import split
from trueval.splits.row_hashing import chain, coin
from trueval.statistics.significance_tests import signed_ranks

_SCHEMA = {
    "scenario": pl.String, "step": pl.Int64, "metric": pl.String, "cutoff": pl.Int64, "value": pl.Float64,
    "value_with_step": pl.Float64, "value_with_all_steps": pl.Float64, "p": pl.Float64, "p_of_100_users": pl.Float64,
    "worse": pl.Int64, "better": pl.Int64, "users": pl.Int64,
}  # fmt: skip
_SAMPLE, _SAMPLES = 100, 20


def ground_truth(setting: Setting) -> tuple[IdealRankings, Inputs]:
    """Ideal rankings of a random fifth of the ratings, and what metrics need besides."""
    parts = split(setting.log, "holdout", ratio=TEST_SHARE, seed=setting.seed)
    ideal = ideal_rankings(parts.test)
    return ideal, judged_inputs(ideal, parts.train)


def steps_of(setting: Setting) -> dict[str, int]:
    """How many systems there are in each scenario."""
    many = 12 if setting.quick else 50
    return {ENDS: many, REDUNDANT: many, ASPECTS: 10}


def measured_systems(setting: Setting) -> pl.DataFrame:
    """Every metric of the ideal and of all systems: a row for each, step 0 being the ideal.

    `p` is that of Wilcoxon's one-sided test with the alternative that the system is better than the ideal: it goes to
    1 as the metric sees what was spoilt; `p_of_100_users` is its mean over samples of so many users. Users without so
    many aspects keep the ideal ranking at some steps of the third scenario: `value_with_step` leaves them out of that
    step, `value_with_all_steps` out of all.
    """
    return setting.step("measured systems", _measure, steps=steps_of(setting), cutoffs=CUTOFFS)


def _measure(setting: Setting, *, steps: dict[str, int], cutoffs: tuple[int, ...]) -> pl.DataFrame:
    ideal, inputs = ground_truth(setting)
    rows = []
    for scenario, number in steps.items():
        lists = np.stack([ideal.item, *_perturbed(scenario, ideal, number)])
        exists = np.ones((len(lists), len(ideal.length)), bool)
        if scenario == ASPECTS:
            exists[1:] = [can_swap_first(ideal, step) for step in range(1, number + 1)]
        samples = _samples(len(ideal.length), setting.seed)
        for form, k, values in _values(ideal, inputs, lists, scenario, cutoffs):
            rows += [
                (
                    scenario,
                    step,
                    form.name,
                    k,
                    *_means(own, exists[step], exists[-1]),
                    *_tested(own, values[0], samples),
                )
                for step, own in enumerate(values)
            ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


_SCENARIOS: dict[str, Callable[[IdealRankings, int], Iterator[np.ndarray]]] = {
    ENDS: lambda ideal, steps: swapped_ends(ideal, steps, depth=DEPTH),
    REDUNDANT: repeated_aspect,
    ASPECTS: swapped_first,
}


def _perturbed(scenario: str, ideal: IdealRankings, steps: int) -> Iterator[np.ndarray]:
    return _SCENARIOS[scenario](ideal, steps)


def _values(
    ideal: IdealRankings, inputs: Inputs, lists: np.ndarray, scenario: str, cutoffs: tuple[int, ...]
) -> Iterator[tuple[MetricForm, int, np.ndarray]]:
    """Every metric and cutoff (0 without one), with its values by system and user."""
    others = [(form, k) for form in METRICS if form.name != AB_NDCG for k in (cutoffs if "{k}" in form.text else (0,))]
    found = {(form.name, k): np.empty((len(lists), len(ideal.length))) for form, k in others}
    with progress(scenario, len(lists)) as step:
        for number, item in enumerate(lists):
            facts = judged_facts(ideal, item)
            rated = condense(facts)
            for form, k in others:
                spec = parse(form.text.format(k=k))
                values = compute(spec, rated if form.rated else facts, inputs).per_unit
                assert values is not None
                found[form.name, k][number] = values
            step()
    for form, k in others:
        yield form, k, found[form.name, k]
    unified = METRICS[-1]
    every = abndcg_of_several(
        judged_facts(ideal), lists, parse(unified.text.format(k=cutoffs[0])), inputs, cutoffs=cutoffs
    )
    for place, k in enumerate(cutoffs):
        yield unified, k, every[:, place]


def _means(own: np.ndarray, *some: np.ndarray) -> list[float]:
    """The mean over all users, and over some of them."""
    return [float(np.nanmean(own[who])) if who.any() else float("nan") for who in (np.ones(len(own), bool), *some)]


def _samples(users: int, seed: int) -> list[np.ndarray]:
    """Some users at a time, the same for all systems."""
    chance = [coin(chain(seed + number, "users of a test", np.arange(users))) for number in range(_SAMPLES)]
    return [np.argsort(own, kind="stable")[:_SAMPLE] for own in chance]


def _tested(own: np.ndarray, ideal: np.ndarray, samples: list[np.ndarray]) -> tuple[float, float, int, int, int]:
    """p-values against the ideal, of all users and of samples, and how many users it is worse and better for."""
    difference = np.nan_to_num(own - ideal)
    few = [signed_ranks(difference[sample], tail="greater") for sample in samples]
    return (
        signed_ranks(difference, tail="greater"), float(np.mean(few)), int((difference < 0).sum()),
        int((difference > 0).sum()), int((~np.isnan(own)).sum()),
    )  # fmt: skip
