"""αβ-nDCG of many rankings at once equals that of each alone, compiled or not, in whatever blocks."""

from __future__ import annotations

import numpy as np
import pytest
from test_aspect_kernels import random_facts

from trueval.kernels import use_kernels, use_threads
from trueval.metrics.aspects import kernel_columns
from trueval.metrics.aspects.several_rankings import abndcg_of_several
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse

TEXT = "abndcg@{k}[alpha={alpha},beta=0.6,profile={profile}]"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("profile", ["train", "test"])
@pytest.mark.parametrize("kind", ["plain", "compiled"])
def test_several_are_as_one_by_one(seed: int, profile: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts, inputs = random_facts(seed)
    rng = np.random.default_rng(seed)
    shuffled = [facts.list_item, *(_shuffled(facts.list_item, facts.list_start, rng) for _ in range(4))]
    cutoffs = [1, 4, 25, 40]
    spec = parse(TEXT.format(k=4, alpha=0.05, profile=profile))
    monkeypatch.setattr(kernel_columns, "BLOCK", 7)
    with use_kernels(kind), use_threads(2):
        found = abndcg_of_several(facts, np.stack(shuffled), spec, inputs, cutoffs=cutoffs)
        for number, items in enumerate(shuffled):
            own = facts.changed(list_item=items.astype(np.int32))
            for place, k in enumerate(cutoffs):
                wanted = compute(parse(TEXT.format(k=k, alpha=0.05, profile=profile)), own, inputs).per_unit
                assert wanted is not None
                np.testing.assert_array_equal(found[number, place], wanted)


def _shuffled(items: np.ndarray, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.permutation(own) for own in np.split(items, start[1:-1])])
