"""Intervals: 10,000 resamples of 100,000 users, means of 10 metrics, from a matrix of values in memory.

Values are like those of ranking metrics: most users have nothing, the others something skewed. All contenders make
all resamples. `scipy` is called as its documentation advises for speed (vectorized), with the batch that was fastest
(one resample of ten metrics at a time; larger ones fall out of the cache). `indexing` is what one writes in NumPy.
Ends of intervals vary with the draws: they must agree to a tenth of an interval's width.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from worker import Work

RESAMPLES, METRICS = 10_000, 10


def make_values(folder: Path, *, users: int = 100_000) -> None:
    """Write values.npy: a row for each user, a column for each metric."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_240_503)
    share = np.linspace(0.1, 0.9, METRICS)
    values = np.where(rng.random((users, METRICS)) < share, rng.beta(1, 3, size=(users, METRICS)), 0.0)
    np.save(folder / "values.npy", values)
    (folder / "done").touch()


@lru_cache(maxsize=1)
def load(folder: Path) -> np.ndarray:
    return np.load(folder / "values.npy")


def _ends(bounds: Any) -> dict[str, np.ndarray]:
    """Ends in units of the interval's width at 100,000 users, so that one tolerance fits all metrics."""
    low, high = (np.asarray(side) for side in bounds)
    return {"low": low / SCALE, "high": high / SCALE}


SCALE = 0.0022  # about the mean width of the intervals


def trueval(method: str = "bootstrap") -> Work:
    from trueval.evaluation.estimate import Sums, estimate_all
    from trueval.evaluation.interval_method import IntervalMethod
    from trueval.kernels import use_kernels
    from trueval.metrics.metric_values import same

    def run(folder: Path) -> Any:
        values = load(folder)
        ones = np.ones((len(values), 1))
        all_sums = [Sums(values[:, [m]], ones, same, len(values), 0) for m in range(METRICS)]
        with use_kernels("compiled"):  # tiny data, which starts the compiled kernels, would not need them
            found = estimate_all(all_sums, IntervalMethod(method, 0, RESAMPLES if len(values) > 1000 else 50))
        return [e.low for e in found], [e.high for e in found]

    return Work(run, _ends, prepare=load)


def trueval_bca() -> Work:
    return trueval("bca")


def scipy() -> Work:
    from scipy.stats import bootstrap

    def run(folder: Path) -> Any:
        values = np.ascontiguousarray(load(folder).T)
        number = RESAMPLES if values.shape[1] > 1000 else 50
        found = bootstrap(
            (values,), np.mean, n_resamples=number, batch=1, vectorized=True, axis=-1, method="percentile",
            rng=np.random.default_rng(0),
        )  # fmt: skip
        return found.confidence_interval.low, found.confidence_interval.high

    return Work(run, _ends, prepare=load)


def indexing() -> Work:
    def run(folder: Path) -> Any:
        values = load(folder)
        rng = np.random.default_rng(0)
        number = RESAMPLES if len(values) > 1000 else 50
        drawn = [values[rng.integers(0, len(values), len(values))].mean(axis=0) for _ in range(number)]
        return np.quantile(drawn, [0.025, 0.975], axis=0)

    return Work(run, _ends, prepare=load)
