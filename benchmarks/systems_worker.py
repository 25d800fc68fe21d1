"""Fits and judges one system in a process of its own, and prints what it cost as one line of JSON.

Called by systems_table.py: python systems_worker.py NAME DATA_FOLDER   (or: als DATA_FOLDER)
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np


def measure_system(name: str, folder: str) -> dict[str, Any]:
    """nDCG@10 under AR-TI-AN on an 80/20 split, ratings of 4 and more being relevant; cost of the fit alone."""
    import trueval as tv
    from trueval.progress import set_quiet

    set_quiet(True)
    cost = _watch_fit(tv.systems(name).make)
    _judge(tv.split(_tiny(), "holdout", ratio=0.2), name)  # loads libraries and compiled kernels
    parts = tv.split(tv.read(folder), "holdout", ratio=0.2, seed=1)
    estimate = _judge(parts, name)
    return {"ndcg": estimate.value, "low": estimate.low, "high": estimate.high, **cost}


def _judge(parts: Any, name: str) -> Any:
    import trueval as tv

    return tv.evaluate(parts, [name], metrics=["ndcg@10"], threshold=4)[name, "ndcg@10"]


def _watch_fit(system: Any) -> dict[str, float]:
    """Time, processor time and memory of the last fit of a class of systems."""
    cost: dict[str, float] = {}
    fit = system.fit

    def watched(self: Any, train: Any) -> Any:
        with _HighestMemory() as memory:
            wall, cpu = time.perf_counter(), time.process_time()
            fitted = fit(self, train)
            cost.update(seconds=time.perf_counter() - wall, cpu=time.process_time() - cpu)
        cost.update(added=memory.highest - memory.before)
        return fitted

    system.fit = watched
    return cost


class _HighestMemory:
    """Highest resident memory while something runs, looked at every few milliseconds: the peak that the system
    keeps is the process's, and reading the data has its own."""

    def __enter__(self) -> _HighestMemory:
        self.before = self.highest = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.005):
            self.highest = max(self.highest, self._now())

    @staticmethod
    def _now() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _tiny() -> Any:
    import polars as pl

    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((150, 120)) < 0.3)
    return pl.DataFrame({"user": user, "item": item, "value": rng.integers(1, 6, len(user)).astype(float)})


def measure_als(folder: str, *, width: int = 50, sweeps: int = 3, rounds: int = 3) -> dict[str, Any]:
    """Seconds of one sweep of AllRank and of implicit's ALS, in turn, and of the scores of one new user."""
    import trueval as tv
    from trueval.data.by_user import ByUser
    from trueval.data.ids import Ids
    from trueval.kernels import threads
    from trueval.progress import set_quiet
    from trueval.recommenders.factor_models.allrank import AllRank
    from trueval.recommenders.protocol import TrainSet

    set_quiet(True)
    frame = tv.read(folder).frame
    users, items = Ids.of(frame["user"]), Ids.of(frame["item"])
    train = TrainSet(users, items, ByUser.code(frame, users, items))
    contenders = {
        "AllRank": lambda n: AllRank(n_factors=width, sweeps=n).fit(train),
        "implicit, conjugate gradient (its default)": _implicit(train, width, cg=True),
        "implicit, exact": _implicit(train, width, cg=False),
    }
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, fit in contenders.items():
            best[name] = min(best[name], _timed(lambda fit=fit: fit(1 + sweeps)) - _timed(lambda fit=fit: fit(1)))
    return {"threads": threads(), "sweep": {n: s / sweeps for n, s in best.items()}, "fold_in": _new_user(width)}


def _timed(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _implicit(train: Any, width: int, *, cg: bool) -> Any:
    from implicit.als import AlternatingLeastSquares
    from scipy import sparse
    from threadpoolctl import threadpool_limits

    rows = np.full(len(train.log.item), 10, np.float32), train.log.item, train.log.start
    matrix = sparse.csr_matrix(rows, shape=(len(train.users), len(train.items)))

    def fit(sweeps: int) -> None:
        with threadpool_limits(1, user_api="blas"):
            model = AlternatingLeastSquares(factors=width, use_cg=cg, iterations=sweeps, random_state=0, use_gpu=False)
            model.fit(matrix, show_progress=False)

    return fit


def _new_user(width: int, *, n_items: int = 20_000, rated: int = 200) -> float:
    """Seconds from a new user's ratings to the scores of all items."""
    import polars as pl

    from trueval.data.by_user import ByUser
    from trueval.data.ids import Ids
    from trueval.recommenders.factor_models.allrank import AllRank
    from trueval.recommenders.protocol import TrainSet

    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 500, 200_000), rng.integers(0, n_items, 200_000)
    log = ByUser.of(user, item, rng.integers(1, 6, len(user)).astype(float), n_users=500).distinct()
    train = TrainSet(Ids(pl.Series(range(500))), Ids(pl.Series(range(n_items))), log)
    model = AllRank(n_factors=width, sweeps=1).fit(train)
    items, values = rng.choice(n_items, rated, replace=False), rng.integers(1, 6, rated).astype(float)
    factors = model.factors()[1]
    return min(_timed(lambda: factors @ model.fold_in(items, values)) for _ in range(20))


if __name__ == "__main__":
    name, folder = sys.argv[1:3]
    print("RESULT " + json.dumps(measure_als(folder) if name == "als" else measure_system(name, folder)))
