"""τ of αβ-nDCG with itself while ratings go, against the same computed ranking by ranking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

import trueval as tv
from trueval.audit.fewer_ratings import without_rows
from trueval.audit.item_pair_counts import Scores, share_steepest
from trueval.audit.self_correlation import self_correlation
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.simulation.ideal_rankings import ideal_rankings
from trueval.simulation.judged_rankings import judged_facts, judged_inputs
from trueval.simulation.perturbed_rankings import removal_places, shuffled_rankings


def test_each_removal_is_measured_as_alone() -> None:
    ideal = ideal_rankings(tv.simulate("world", users=30, items=50, ratings=500, seed=2).log)
    inputs = judged_inputs(ideal)
    lists = {
        name: np.stack([shuffled_rankings(ideal, seed=seed, alike=name == "alike") for seed in range(6)])
        for name in ("own", "alike")
    }
    specs = {"low": parse("abndcg@3[beta=0.2,profile=test]"), "high": parse("abndcg@3[beta=0.8,profile=test]")}
    found = self_correlation(ideal, lists, specs, inputs, shares=[0.25, 0.5], removals=[0, 1], cutoffs=[3, 10], seed=4)
    assert found.height == 2 * 2 * 2 * 2 * 2
    alone = self_correlation(ideal, lists, specs, inputs, shares=[0.25, 0.5], removals=[1], cutoffs=[3, 10], seed=4)
    assert alone.equals(found.filter(removal=1))
    facts = judged_facts(ideal)

    def order(name: str, text: str, kept: np.ndarray) -> list[float]:
        means = []
        for column in lists[name]:
            left = without_rows(facts.changed(list_item=column.astype(np.int32)), kept)
            values = compute(parse(text), left, inputs).per_unit
            assert values is not None
            means.append(float(np.nanmean(values[np.diff(left.start) > 0])))
        return means

    for name, label, beta, k, share in (("own", "low", 0.2, 3, 0.5), ("alike", "high", 0.8, 10, 0.25)):
        text = f"abndcg@{k}[beta={beta},profile=test]"
        taus = []
        for seed in (4, 5):
            gone = removal_places(ideal, seed=seed) < np.round(share * ideal.length)[ideal.user]
            counted = np.bincount(ideal.user[gone], minlength=len(ideal.length))
            assert np.abs(counted - share * ideal.length).max() <= 0.5
            kept = removal_places(ideal, seed=seed) + 0.5 >= share * ideal.length[ideal.user]
            whole = order(name, text, np.ones(len(kept), bool))
            taus.append(kendalltau(whole, order(name, text, kept)).statistic)
        own = found.filter(systems=name, metric=label, cutoff=k, removed=share).sort("removal")
        assert own["tau"].to_list() == pytest.approx(taus)


@pytest.mark.parametrize("odds", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_steepest_pairs_are_counted_one_by_one(seed: int, odds: bool) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 30, 40)
    liked = (ratings * rng.choice([0.0, 0.2, 0.5, 1.0], 40)).astype(int)
    popularity, average = ratings / 60, liked / ratings
    scores = Scores(popularity, average, np.zeros(40), np.zeros(40))

    def steepness(values: np.ndarray, a: int, b: int) -> float:
        high = max(values[a], values[b])
        return abs(values[a] - values[b]) / high if high else 0.0

    popular = popularity / (1 - popularity) if odds else popularity
    pairs = [(a, b) for a in range(40) for b in range(a)]
    wanted = [
        all(steepness(popular, a, b) > steepness(other, a, b) + 1e-12 for other in (average, 1 - average))
        for a, b in pairs
    ]
    assert share_steepest(scores, odds=odds) == pytest.approx(np.mean(wanted))
