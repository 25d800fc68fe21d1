"""W1 contenders that work on columns: trueval, and the same metrics written in polars expressions."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from worker import Work

METRICS = ("precision@10", "recall@10", "ndcg@10", "ap@100", "rr", "hit@10")


def trueval(**options: Any) -> Work:
    """With compiled kernels from the first (tiny) call on, so that loading numba is start-up, as it is for ranx."""
    os.environ["TRUEVAL_KERNELS"] = "compiled"
    import trueval as tv

    def run(folder: Path) -> Any:
        return tv.evaluate_run(
            folder / "recs.parquet", folder / "test.parquet", metrics=list(METRICS), interval="none", **options
        )

    return Work(run, lambda result: result.per_user)


def trueval_streamed() -> Work:
    return trueval(sorted_by_user=True)


def polars() -> Work:
    """The best by processor time of 18 lazy forms tried on this data (the first few are within noise).

    Whole numbers: lists ordered by score inside one group_by, exploded with their ranks, then joined with
    the test pairs on a single packed key, which took a third less than a join on two columns. Other ids:
    ranks by a window over the user and a join on both columns (packing categorical codes cost more than
    it saved). Sorting the whole table and computing everything inside one aggregation were slower. The key
    must fit 64 bits; nothing is validated.
    """
    import polars as pl

    rank = pl.col("rank")

    def ranked_hits(recs: pl.LazyFrame, test: pl.LazyFrame) -> pl.LazyFrame:
        if not recs.collect_schema()["item"].is_integer():
            ranks = pl.col("score").rank("ordinal", descending=True).over("user")
            return recs.select("user", "item", rank=ranks).join(test, on=["user", "item"])
        largest = pl.concat([recs.select("item"), test.select("item")]).max().collect(engine="streaming").item()
        key = (pl.col("user") * (largest + 1) + pl.col("item")).alias("key")
        lists = recs.group_by("user").agg(pl.col("item").sort_by("score", descending=True))
        rows = lists.with_columns(rank=pl.int_ranges(1, pl.col("item").list.len() + 1)).explode("item", "rank")
        return rows.select("user", "rank", key).join(test.select(key), on="key")

    def run(folder: Path) -> pl.DataFrame:
        recs, test = pl.scan_parquet(folder / "recs.parquet"), pl.scan_parquet(folder / "test.parquet")
        gain = pl.when(rank <= 10).then(1 / (rank + 1).log(2)).otherwise(0.0)
        sums = (
            ranked_hits(recs, test)
            .group_by("user")
            .agg(
                hits=(rank <= 10).sum(),
                dcg=gain.sum(),
                precisions=(pl.int_range(1, pl.len() + 1) / rank.sort()).sum(),
                rr=1 / rank.min(),
            )
        )
        ideals = pl.Series([sum((1 / math.log2(r + 1) for r in range(1, n + 1)), 0.0) for n in range(11)])
        relevant = test.group_by("user").agg(relevant=pl.len())
        hits, of = pl.col("hits"), pl.col("relevant")
        return (
            relevant.join(sums, on="user", how="left")
            .with_columns(pl.col("hits", "dcg", "precisions", "rr").fill_null(0))
            .select(
                "user",
                (hits / 10).alias("precision@10"),
                (hits / of).alias("recall@10"),
                (pl.col("dcg") / pl.lit(ideals).gather(pl.min_horizontal(of, pl.lit(10)))).alias("ndcg@10"),
                (pl.col("precisions") / of).alias("ap@100"),
                "rr",
                (hits > 0).cast(float).alias("hit@10"),
            )
            .collect(engine="streaming")
        )

    return Work(run, lambda frame: frame)
