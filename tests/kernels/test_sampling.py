"""Samples of targets: the right law in every path, nothing barred, nothing twice, the same bits anywhere."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trueval.kernels import choose, plain_sampling, use_kernels


def compiled() -> ModuleType:
    with use_kernels("compiled"):
        return choose("sampling", 0)


def sample(
    kernels: ModuleType, candidates: np.ndarray, weights: np.ndarray | None, barred: list[np.ndarray], *,
    size: int, seed: int = 0, parts: int = 1, streams: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Samples of as many units as there are barred sets, units cut into parts."""
    units = len(barred)
    n_items = 1 + int(max([candidates.max(), *(b.max(initial=0) for b in barred)]))
    start = np.concatenate([[0], np.cumsum([len(b) for b in barred])])
    cumulative = np.empty(0) if weights is None else np.cumsum(weights.astype(np.float64))
    out, pool = np.full((units, size), -7, np.int32), np.full(units, -7)
    streams = np.arange(units) if streams is None else streams
    bounds = np.linspace(0, units, parts + 1).astype(int)
    for first, last in pairwise(bounds):
        kernels.sample_units(
            candidates.astype(np.int32), cumulative, start, np.concatenate(barred).astype(np.int32), streams,
            np.uint64(seed), size, n_items, int(first), int(last), out, pool,
        )  # fmt: skip
    return out, pool


@settings(max_examples=25)
@given(
    n=st.integers(1, 60), size=st.integers(1, 30), weighted=st.sampled_from(["no", "yes", "zeros", "uneven"]),
    seed=st.integers(0, 2**32),
)  # fmt: skip
def test_samples_are_allowed_distinct_and_alike_in_both_forms(n, size, weighted, seed):
    rng = np.random.default_rng(seed)
    candidates = np.sort(rng.choice(2 * n, n, replace=False))
    weights = {
        "no": None,
        "yes": rng.integers(1, 20, n),
        "zeros": rng.integers(0, 2, n),
        "uneven": np.where(np.arange(n) == 0, 10**12, 1),
    }[weighted]
    barred = [rng.choice(2 * n, rng.integers(0, 2 * n), replace=False) for _ in range(6)]
    out, pool = sample(plain_sampling, candidates, weights, barred, size=size, seed=seed)
    for parts in (1, 3, 6):
        again, pool_again = sample(compiled(), candidates, weights, barred, size=size, seed=seed, parts=parts)
        np.testing.assert_array_equal(out, again)
        np.testing.assert_array_equal(pool, pool_again)
    possible = candidates if weights is None else candidates[weights > 0]
    for row, number, closed in zip(out, pool, barred):
        free = set(possible.tolist()) - set(closed.tolist())
        drawn = row[row >= 0].tolist()
        assert number == len(free)
        assert len(drawn) == min(size, number) == len(set(drawn))
        assert set(drawn) <= free
        assert (row[len(drawn) :] == -1).all()


def test_a_sample_depends_on_its_own_stream_and_the_seed_alone():
    candidates, barred = np.arange(50), [np.array([3]), np.array([4]), np.array([4])]
    streams = np.array([8, 9, 8])
    out, _ = sample(compiled(), candidates, None, barred, size=8, streams=streams)
    alone, _ = sample(compiled(), candidates, None, barred[1:2], size=8, streams=streams[1:2])
    assert out[1].tolist() == alone[0].tolist()
    swapped, _ = sample(compiled(), candidates, None, barred[1:], size=8, streams=streams[1:])
    assert swapped.tolist() == out[1:].tolist()
    other, _ = sample(compiled(), candidates, None, barred, size=8, streams=streams, seed=1)
    assert (other != out).any(axis=1).all()
    assert (out[0] != out[1]).any()


UNITS = 40_000
PATHS = {  # candidates, size: whether draws are rejected or the whole pool is ordered depends on these alone
    "rejection": (22, 2),
    "ordered": (22, 3),
}


def ordered_pairs(path: str, weighted: bool) -> tuple[np.ndarray, np.ndarray]:
    """How often each ordered pair of pool items came first and second, and how often it should."""
    n, size = PATHS[path]
    weights = 1 + np.arange(n) % 3
    barred = [np.array([5, 21])] * UNITS  # leaves 20: 2·2 + 16 draw with rejection, 2·3 + 16 do not
    out, pool = sample(compiled(), np.arange(n), weights if weighted else None, barred, size=size, seed=11)
    assert (pool == 20).all()
    free = np.setdiff1d(np.arange(n), [5, 21])
    w = (weights if weighted else np.ones(n))[free].astype(float)
    seen = np.zeros((n, n))
    np.add.at(seen, (out[:, 0], out[:, 1]), 1)
    law = w[:, None] / w.sum() * w[None, :] / (w.sum() - w[:, None])
    off = ~np.eye(len(free), dtype=bool)
    seen = seen[np.ix_(free, free)]
    assert seen.sum() == UNITS
    assert np.trace(seen) == 0
    return seen[off], UNITS * law[off]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_first_and_second_draw_have_the_law_of_drawing_without_replacement(path, weighted):
    seen, wanted = ordered_pairs(path, weighted)
    assert wanted.sum() == pytest.approx(UNITS)
    assert stats.chisquare(seen, wanted).pvalue > 0.001
    # and the test would notice: the other law is refused
    other = ordered_pairs(path, not weighted)[1]
    assert stats.chisquare(seen, other).pvalue < 1e-6


@pytest.mark.parametrize(("n", "size"), [(40, 8), (20, 8)], ids=["rejection", "ordered"])
def test_every_item_is_included_equally_often(n, size):
    out, _ = sample(compiled(), np.arange(n), None, [np.array([0, 1])] * 5000, size=size, seed=3)
    counts = np.bincount(out.ravel(), minlength=n)[2:]
    share = size / (n - 2)
    expected = 5000 * share
    # counts of a simple random sample have variance N·π(1 − π) and sum to a constant
    statistic = np.sum((counts - expected) ** 2) / (expected * (1 - share)) * (n - 3) / (n - 2)
    assert stats.chi2.sf(statistic, n - 3) > 0.001


def test_weights_too_uneven_for_rejection_keep_the_law():
    weights = np.ones(60)
    weights[0] = 1e15  # nearly every draw
    out, _ = sample(compiled(), np.arange(60), weights, [np.array([1])] * 3000, size=2, seed=5)
    assert (out[:, 0] == 0).all()
    counts = np.bincount(out[:, 1], minlength=60)[2:]
    assert stats.chisquare(counts).pvalue > 0.001
