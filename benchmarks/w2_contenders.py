"""W2 contenders: rank every item for every user from factors, train items left out.

`gemm` is the yardstick: the scores alone, thrown away. `torch_topk` also masks and takes the top 100, but
gives no exact ranks, hence no AUC. Reading the data is left out for all: `run` gets it from a cache filled
by the first call on the same folder, which is why each contender's `run` is called through `_loaded`.
"""

from __future__ import annotations

from collections.abc import Callable
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


def gemm(block: int = 512) -> Work:
    def run(folder: Path) -> None:
        data = load(folder)
        transposed = np.ascontiguousarray(data.item_factors.T)
        scores = np.empty((block, transposed.shape[1]), np.float32)
        for start in range(0, len(data.user_factors), block):
            rows = data.user_factors[start : start + block]
            np.matmul(rows, transposed, out=scores[: len(rows)])

    return Work(run, lambda _: {}, prepare=load)


def torch_topk(block: int = 256) -> Work:
    import torch

    def run(folder: Path) -> np.ndarray:
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
        return top

    return Work(run, top_metrics, prepare=load)


def trueval_w2() -> Work:
    import polars as pl
    import trueval as tv

    @lru_cache(maxsize=1)
    def parts(folder: Path) -> Any:
        train, test = (pl.read_parquet(folder / f"{name}.parquet") for name in ("train", "test"))
        return tv.split.given(train, test), load(folder)

    def run(folder: Path) -> Any:
        given, data = parts(folder)
        factors = tv.Factors(data.user_factors, data.item_factors)
        return tv.evaluate(
            given, systems={"factors": factors}, design="AR-AI-AN", metrics=list(METRICS), interval="none"
        )

    return Work(run, lambda result: result.per_user, prepare=parts)


def top_metrics(top: np.ndarray) -> dict[str, np.ndarray]:
    raise NotImplementedError
