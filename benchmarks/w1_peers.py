"""W1 contenders: the libraries people use today, each fed in the quickest way found for it.

All give values per user. With 20 relevant items each, their definitions coincide (RecTools' nDCG assumes
at least k relevant, RePlay divides AP by min(R, k)), so the values must agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worker import Work

NAMES = ("precision@10", "recall@10", "ndcg@10", "ap@100", "rr", "hit@10")


def rectools() -> Work:
    import pandas as pd
    import polars as pl
    from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall
    from rectools.metrics.base import merge_reco
    from rectools.metrics.classification import calc_confusions

    def run(folder: Path) -> dict[str, Any]:
        # polars reads and ranks (pandas needs several times longer); the join and the metrics are RecTools'
        ids = {"user_id": "user", "item_id": "item"}
        ranks = pl.col("score").rank("ordinal", descending=True).over("user").cast(pl.Int64)
        recs = pl.scan_parquet(folder / "recs.parquet").select(**ids, rank=ranks)
        test = pl.scan_parquet(folder / "test.parquet").select(**ids)
        recs, test = (frame.collect(engine="streaming").to_pandas() for frame in (recs, test))
        merged = merge_reco(recs, test)
        confusions = calc_confusions(merged, k=10)
        return {
            "precision@10": Precision(10).calc_per_user_from_confusion_df(confusions),
            "recall@10": Recall(10).calc_per_user_from_confusion_df(confusions),
            "ndcg@10": NDCG(10).calc_per_user_from_merged(merged),
            "ap@100": MAP(100).calc_per_user_from_fitted(MAP.fit(merged, k_max=100)),
            "rr": MRR(100).calc_per_user_from_merged(merged),
            "hit@10": HitRate(10).calc_per_user_from_confusion_df(confusions),
        }

    def values(result: dict[str, Any]) -> dict[str, Any]:
        table = pd.DataFrame(result)
        return {"user": table.index.to_numpy(), **{name: table[name].to_numpy() for name in NAMES}}

    return Work(run, values)


def replay() -> Work:
    import polars as pl
    from replay.metrics import MAP, MRR, NDCG, HitRate, OfflineMetrics, PerUser, Precision, Recall

    def run(folder: Path) -> dict[str, dict[Any, float]]:
        recs, test = pl.read_parquet(folder / "recs.parquet"), pl.read_parquet(folder / "test.parquet")
        kinds = ((Precision, 10), (Recall, 10), (NDCG, 10), (MAP, 100), (MRR, 100), (HitRate, 10))
        metrics = [kind(k, mode=PerUser()) for kind, k in kinds]
        columns = {"query_column": "user", "item_column": "item", "rating_column": "score"}
        return OfflineMetrics(metrics, **columns)(recs, test)

    return Work(run, lambda result: _from_dicts(dict(zip(NAMES, result.values()))))


def ranx() -> Work:
    from ranx import Qrels, Run, evaluate

    metrics = ["precision@10", "recall@10", "ndcg@10", "map@100", "mrr", "hit_rate@10"]

    def run(folder: Path) -> dict[str, dict[str, float]]:
        recs, test = _dicts(folder)
        lists = Run.from_dict(recs)
        evaluate(Qrels.from_dict(test), lists, metrics, return_mean=False)
        return {metric: lists.scores[metric] for metric in metrics}

    return Work(run, lambda scores: _from_dicts(dict(zip(NAMES, scores.values()))))


def ranx_arrays() -> Work:
    """ranx's metric functions on ready arrays: possible only for whole-number ids and equal list lengths."""
    import numpy as np
    import polars as pl
    from ranx import evaluate

    metrics = ["precision@10", "recall@10", "ndcg@10", "map@100", "mrr", "hit_rate@10"]

    def run(folder: Path) -> tuple[Any, dict[str, Any]]:
        recs = pl.scan_parquet(folder / "recs.parquet").sort("user", "score", descending=[False, True]).collect()
        test = pl.scan_parquet(folder / "test.parquet").sort("user").collect()
        users = recs["user"].unique(maintain_order=True).to_numpy()
        lists = np.stack([recs["item"].to_numpy(), recs["score"].to_numpy()], axis=1, dtype=np.float64)
        truth = np.stack([test["item"].to_numpy(), np.ones(len(test))], axis=1, dtype=np.float64)
        shape = (len(users), -1, 2)
        return users, evaluate(truth.reshape(shape), lists.reshape(shape), metrics, return_mean=False)

    return Work(run, lambda result: {"user": result[0], **dict(zip(NAMES, result[1].values()))})


def pytrec_eval() -> Work:
    import pytrec_eval as trec

    measures = ("P_10", "recall_10", "ndcg_cut_10", "map_cut_100", "recip_rank", "success_10")

    def run(folder: Path) -> dict[str, dict[str, float]]:
        recs, test = _dicts(folder)
        return trec.RelevanceEvaluator(test, set(measures)).evaluate(recs)

    def values(result: dict[str, dict[str, float]]) -> dict[str, Any]:
        columns = {name: [row[m] for row in result.values()] for name, m in zip(NAMES, measures)}
        return {"user": list(result), **columns}

    return Work(run, values)


def ir_measures() -> Work:
    import ir_measures as irm
    from ir_measures import AP, RR, P, R, Success, nDCG

    measures = [P @ 10, R @ 10, nDCG @ 10, AP @ 100, RR, Success @ 10]

    def run(folder: Path) -> list[Any]:
        recs, test = _dicts(folder)
        return list(irm.iter_calc(measures, test, recs))

    def values(metrics: list[Any]) -> dict[str, Any]:
        per_measure: dict[Any, dict[str, float]] = {measure: {} for measure in measures}
        for metric in metrics:
            per_measure[metric.measure][metric.query_id] = metric.value
        return _from_dicts(dict(zip(NAMES, per_measure.values())))

    return Work(run, values)


def _dicts(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """{user: {item: score}} and {user: {item: 1}} with text ids, the input of the TREC family."""
    import polars as pl

    def nested(name: str, value: pl.Expr) -> dict:
        text = pl.col("user", "item").cast(pl.String)
        frame = pl.scan_parquet(folder / name).with_columns(text, value=value)
        lists = frame.group_by("user").agg("item", "value").collect(engine="streaming")
        triples = zip(lists["user"].to_list(), lists["item"].to_list(), lists["value"].to_list())
        return {user: dict(zip(items, values)) for user, items, values in triples}

    return nested("recs.parquet", pl.col("score").cast(pl.Float64)), nested("test.parquet", pl.lit(1))


def _from_dicts(columns: dict[str, dict[Any, float]]) -> dict[str, Any]:
    users = list(columns[NAMES[0]])
    return {"user": users, **{name: [values[user] for user in users] for name, values in columns.items()}}
