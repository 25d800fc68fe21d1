"""W2 contenders: rank every item for every user from factors, train items left out.

`gemm` is the yardstick: the scores alone, thrown away. `torch_topk` also masks and takes the top 100, but
gives no exact ranks, hence no AUC. `naive` is slow and obvious, on a few users, to check the others.
Reading the data is not timed, for anyone.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worker import Work

TOP = 100
METRICS = ("ndcg@10", "recall@20", "auc")


class Data(NamedTuple):
    user_factors: np.ndarray
    item_factors: np.ndarray
    train: tuple[np.ndarray, np.ndarray]  # offsets per user, items
    test: tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=1)
def load(folder: Path) -> Data:
    import polars as pl

    factors = [np.load(folder / f"{side}_factors.npy") for side in ("user", "item")]
    groups = []
    for name in ("train", "test"):
        pairs = pl.read_parquet(folder / f"{name}.parquet").sort("user", "item")
        counts = np.bincount(pairs["user"].to_numpy(), minlength=len(factors[0]))
        groups.append((np.concatenate([[0], np.cumsum(counts)]), pairs["item"].to_numpy()))
    return Data(*factors, *groups)


def gemm(block: int = 128) -> Work:
    """128 users at a time: the block of scores stays in the last-level cache; other sizes were slower."""

    def run(folder: Path) -> None:
        data = load(folder)
        transposed = data.item_factors.T
        scores = np.empty((block, transposed.shape[1]), np.float32)
        for start in range(0, len(data.user_factors), block):
            rows = data.user_factors[start : start + block]
            np.matmul(rows, transposed, out=scores[: len(rows)])

    return Work(run, lambda _: {}, prepare=load)


def torch_topk(block: int = 1024) -> Work:
    import torch

    def run(folder: Path) -> tuple[Data, np.ndarray]:
        data = load(folder)
        users, items = torch.from_numpy(data.user_factors), torch.from_numpy(data.item_factors).T.contiguous()
        offsets, seen = data.train
        seen = torch.from_numpy(seen)
        top = np.empty((len(users), TOP), np.int64)
        scores = torch.empty((block, items.shape[1]))
        for start in range(0, len(users), block):
            stop = min(start + block, len(users))
            part = torch.matmul(users[start:stop], items, out=scores[: stop - start])
            counts = torch.from_numpy(np.diff(offsets[start : stop + 1]))
            part[torch.repeat_interleave(counts), seen[offsets[start] : offsets[stop]]] = -torch.inf
            top[start:stop] = torch.topk(part, TOP, dim=1).indices.numpy()
        return data, top

    return Work(run, lambda result: _top_metrics(*result), prepare=load)


def trueval_ranking() -> Work:
    """Lists, exact ranks and metrics from data already grouped by user, as the other contenders have it."""
    os.environ["TRUEVAL_KERNELS"] = "compiled"  # the tiny run loads them, as it starts the threads of others
    import polars as pl

    import trueval as tv
    from trueval.design.design import Design
    from trueval.design.task import make_tasks
    from trueval.evaluation.measurements import measure_facts
    from trueval.facts.from_scores import rank_system
    from trueval.metrics.grammar import parse_all
    from trueval.metrics.metric_inputs import Inputs

    @lru_cache(maxsize=1)
    def task(folder: Path) -> Any:
        train, test = (pl.read_parquet(folder / f"{name}.parquet") for name in ("train", "test"))
        return make_tasks(tv.split(train, "given", test=test), Design.parse("AR-AI-AN"))[0], load(folder)

    def run(folder: Path) -> dict[str, Any]:
        ready, data = task(folder)
        facts = rank_system(tv.Factors(data.user_factors, data.item_factors), ready, depth=TOP)
        specs = {str(spec): spec for spec in parse_all(list(METRICS))}
        found = measure_facts(facts, specs, population="relevant", inputs=Inputs(), with_random=False)
        return {label: values.per_unit for label, values in found.values.items()}

    return Work(run, lambda columns: columns, prepare=task)


def trueval_w2() -> Work:
    """The public call, from tables: grouping and checking 25M rows included."""
    os.environ["TRUEVAL_KERNELS"] = "compiled"
    import polars as pl

    import trueval as tv

    @lru_cache(maxsize=1)
    def parts(folder: Path) -> Any:
        train, test = (pl.read_parquet(folder / f"{name}.parquet") for name in ("train", "test"))
        return tv.split(train, "given", test=test), load(folder)

    def run(folder: Path) -> Any:
        given, data = parts(folder)
        factors = tv.Factors(data.user_factors, data.item_factors)
        return tv.evaluate(
            given, systems={"factors": factors}, design="AR-AI-AN", metrics=list(METRICS), interval="none"
        )

    return Work(run, lambda result: result.per_user, prepare=parts)


def naive(users: int = 300) -> Work:
    def run(folder: Path) -> dict[str, list[float]]:
        data = load(folder)
        rows = [_naive_user(data, user) for user in range(min(users, len(data.user_factors)))]
        return dict(zip(METRICS, map(list, zip(*[row for row in rows if row]))))

    return Work(run, lambda columns: columns, prepare=load)


def _naive_user(data: Data, user: int) -> tuple[float, float, float] | None:
    """nDCG@10, recall@20 and AUC of one user by a full sort; None when nothing is relevant."""
    seen, relevant = (items[offsets[user] : offsets[user + 1]] for offsets, items in (data.train, data.test))
    if not len(relevant):
        return None
    scores = data.item_factors @ data.user_factors[user]
    scores[seen] = -np.inf
    order = np.argsort(-scores, kind="stable")[: len(scores) - len(seen)]
    ranks = np.flatnonzero(np.isin(order, relevant)) + 1
    gains = 1 / np.log2(np.arange(2, 12))
    others = len(order) - len(ranks)
    above = ranks - np.arange(1, len(ranks) + 1)  # non-relevant items ranked above each relevant one
    dcg = gains[ranks[ranks <= 10] - 1].sum()
    return dcg / gains[: len(ranks)].sum(), (ranks <= 20).sum() / len(ranks), 1 - above.mean() / others


def _top_metrics(data: Data, top: np.ndarray) -> dict[str, np.ndarray]:
    """nDCG@10 and recall@20 of top lists, for the users that have relevant items."""
    offsets, items = data.test
    counts = np.diff(offsets)
    size = len(data.item_factors)
    relevant = np.repeat(np.arange(len(counts)), counts) * size + items
    wanted = np.arange(len(top))[:, None] * size + top[:, :20]
    place = np.minimum(np.searchsorted(relevant, wanted), len(relevant) - 1)
    hits = relevant[place] == wanted
    gains = 1 / np.log2(np.arange(2, 12))
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(counts, 10)]
    judged = counts > 0
    return {
        "ndcg@10": ((hits[:, :10] @ gains) / ideal)[judged],
        "recall@20": hits.sum(axis=1)[judged] / counts[judged],
    }
