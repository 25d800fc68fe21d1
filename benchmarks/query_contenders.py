"""Contenders of `query.py`: six metrics at 10 as an engineer would ask polars for them, and trueval.

From a shell: python query_contenders.py FORM FOLDER   prints the means, as `trueval evaluate` does.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

from worker import Work

METRICS = ("precision@10", "recall@10", "ndcg@10", "ap@10", "rr@10", "hit@10")
_IDEALS = [sum(1 / math.log2(place + 1) for place in range(1, n + 1)) + 0.0 for n in range(11)]


def trueval() -> Work:
    """As a notebook asks for it, with per-user values and all checks of the lists; polars gives no intervals.

    With compiled kernels from the first (tiny) call on: warm means that they are loaded.
    """
    os.environ["TRUEVAL_KERNELS"] = "compiled"
    import trueval as tv

    def run(folder: Path) -> Any:
        return tv.evaluate_run(folder / "recs.parquet", folder / "test.parquet", metrics=list(METRICS), interval="none")

    return Work(run, lambda result: result.per_user)


def polars_rank() -> Work:
    """Rank by score over the user, keep ten, join with the test pairs, sum by user."""
    return _polars("rank")


def polars_lists() -> Work:
    """The same with the first ten of each user from one group_by: the lightest of the forms tried."""
    return _polars("lists")


def _polars(form: str) -> Work:
    return Work(lambda folder: polars_query(folder, form), lambda frame: frame)


def polars_query(folder: Path, form: str) -> Any:
    """Values of every tested user. Nothing is checked: a double row or a NaN goes unnoticed."""
    import polars as pl

    rank, hits, of = pl.col("rank"), pl.col("hits"), pl.col("relevant")
    recs, test = pl.scan_parquet(folder / "recs.parquet"), pl.scan_parquet(folder / "test.parquet")
    if form == "rank":
        ranks = pl.col("score").rank("ordinal", descending=True).over("user")
        top = recs.select("user", "item", rank=ranks).filter(rank <= 10)
    else:
        lists = recs.group_by("user").agg(pl.col("item").sort_by("score", descending=True).head(10))
        top = lists.with_columns(rank=pl.int_ranges(1, pl.col("item").list.len() + 1)).explode("item", "rank")
    sums = (
        top.join(test, on=["user", "item"])
        .group_by("user")
        .agg(
            hits=pl.len(),
            dcg=(1 / (rank + 1).log(2)).sum(),
            precisions=(pl.int_range(1, pl.len() + 1) / rank.sort()).sum(),
            rr=1 / rank.min(),
        )
    )
    ideal = pl.lit(pl.Series(_IDEALS)).gather(pl.min_horizontal(of, pl.lit(10)))
    return (
        test.group_by("user")
        .agg(relevant=pl.len())
        .join(sums, on="user", how="left")
        .with_columns(pl.col("hits", "dcg", "precisions", "rr").fill_null(0))
        .select(
            "user",
            (hits / 10).alias("precision@10"),
            (hits / of).alias("recall@10"),
            (pl.col("dcg") / ideal).alias("ndcg@10"),
            (pl.col("precisions") / of).alias("ap@10"),
            pl.col("rr").alias("rr@10"),
            (hits > 0).cast(float).alias("hit@10"),
        )
        .collect()
    )


if __name__ == "__main__":
    print(polars_query(Path(sys.argv[2]), sys.argv[1]).select(METRICS).mean())
