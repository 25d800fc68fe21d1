"""Facts of real data: MovieLens 1M under the designs of the literature."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import trueval as tv
from trueval.design.design import Design
from trueval.design.task import make_tasks
from trueval.evaluation.evaluate_systems import rank_tasks
from trueval.facts.one_relevant_bounds import one_relevant_bounds
from trueval.facts.sampling_correction import correct
from trueval.facts.views import one_relevant, select
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system
from trueval.splits.parts import Parts

pytestmark = pytest.mark.data

Z = 3.2905  # the 99.9 % interval of a normal
THRESHOLD = 4.0


@pytest.fixture(scope="module")
def parts(data_folder: Callable[[str], Path]) -> Parts:
    """One rating in five of MovieLens 1M held out."""
    return tv.split(tv.read(data_folder("ml-1m")), "holdout", ratio=0.2, seed=1)


def within(values: np.ndarray, groups: np.ndarray, wanted: float) -> bool:
    """Whether a mean agrees with what is wanted; units of one user belong together."""
    names, group = np.unique(groups, return_inverse=True)
    sums, sizes = np.bincount(group, values), np.bincount(group)
    mean = sums.sum() / sizes.sum()
    error = np.sqrt(np.sum((sums - mean * sizes) ** 2) * len(names) / (len(names) - 1)) / sizes.sum()
    return abs(mean - wanted) < Z * error


@pytest.mark.parametrize("design", ["AR-TI-AN", "1R-TI-NN100"])
def test_the_random_system_measures_its_expectation(parts, design):
    result = tv.evaluate(
        parts, ["random"], design=design, metrics=["precision@10"], threshold=THRESHOLD, interval="none", seed=2
    )
    label = next(iter(result.random))
    per_user = result.per_user
    assert within(per_user[label].to_numpy(), per_user["user"].to_numpy(), result.random[label])
    assert not within(per_user[label].to_numpy(), per_user["user"].to_numpy(), 1.25 * result.random[label])


def test_expected_precision_is_the_share_of_relevant_targets(parts):
    tasks = make_tasks(parts, Design.parse("AR-TI-AN"), threshold=THRESHOLD)
    facts = facts_of("popularity", tasks, "AR-TI-AN")
    kept = facts.R > 0
    result = tv.evaluate(
        parts, ["popularity"], metrics=["precision@10"], threshold=THRESHOLD, interval="none", design="AR-TI-AN"
    )
    assert result.random["precision@10"] == pytest.approx(np.mean(facts.R[kept] / facts.targets[kept]), rel=1e-12)
    # every target is a test item that the user has not seen in train
    tested = parts.test.frame["item"].n_unique()
    seen = tasks[0].barred.where(np.isin(tasks[0].barred.item, tasks[0].candidates)).counts
    np.testing.assert_array_equal(facts.targets, tested - seen)


def facts_of(system: str, tasks, design: str):
    train = TrainSet(tasks[0].users, tasks[0].items, tasks[0].train, 0)
    fitted = make_system(system).fit(train)
    return rank_tasks(fitted, tasks, Design.parse(design), depth=10, ties="random", name=system)


@pytest.mark.parametrize("system", ["popularity", "average"])
def test_one_relevant_precision_lies_between_its_bounds(parts, system):
    tasks = make_tasks(parts, Design.parse("AR-TI-NN100"), threshold=THRESHOLD)
    facts = facts_of(system, tasks, "AR-TI-NN100")
    lower, value, upper = one_relevant_bounds(facts, 10)
    assert 0 < lower < value < upper < 0.1
    alone = one_relevant(facts)
    assert value == pytest.approx(np.mean(alone.rank <= 10) / 10)
    result = tv.evaluate(
        parts, [system], design="1R-TI-NN100", metrics=["precision@10"], threshold=THRESHOLD, interval="none"
    )
    assert result[system, "precision@10|n=100"].value == pytest.approx(value)


def test_corrected_values_of_a_sample_come_close_to_the_full_ranking(parts):
    full = facts_of("popularity", make_tasks(parts, Design.parse("1R-TI-AN"), threshold=THRESHOLD), "1R-TI-AN")
    sampled = facts_of("popularity", make_tasks(parts, Design.parse("1R-TI-NN100"), threshold=THRESHOLD), "1R-TI-NN100")
    exact = float(np.mean(1 / np.log2(full.rank + 1)))
    auc = float(np.mean((full.targets - full.rank) / (full.targets - 1)))
    naively = float(np.mean(1 / np.log2(sampled.rank + 1)))
    assert naively > 2 * exact
    # pools differ by what each user has seen; a hundred of them tell as much as all
    few = np.isin(sampled.unit_user, np.unique(sampled.unit_user)[::50])
    assert abs(correct(sampled, "ndcg", method="rescale").mean() - exact) < 0.5 * (naively - exact)
    part = select(sampled, few)
    truth = float(np.mean(1 / np.log2(full.rank[np.isin(full.unit_user, part.unit_user)] + 1)))
    assert abs(correct(part, "ndcg").mean() - truth) < 0.1 * (naively - truth)
    assert abs(correct(sampled, "auc", method="rescale").mean() - auc) < 0.002
