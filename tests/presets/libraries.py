"""What each library says of a world: its own values for every metric that it shares with trueval.

One function per library, from a world to the library's mean by our name for the metric. The library is imported
inside, since no environment has them all. Metrics of lists alone (coverage, entropy…) are there where every list is
of a tested user: the libraries take all lists, we take those of the population. Where a metric takes a grade or a
divisor as an option there, each choice that we have, too, is in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from worlds import CATALOGUE, CUTOFFS, World

Values = dict[str, float]


def trec_eval(world: World) -> Values:
    """pytrec_eval: only users with judgements and a list are in its output."""
    import pytrec_eval

    names = {"ap": "map", "ndcg": "ndcg", "rr": "recip_rank", "rprecision": "Rprec", "bpref": "bpref", "infap": "infAP"}
    cut = {
        "ap": "map_cut", "ndcg": "ndcg_cut", "precision": "P", "recall": "recall", "hit": "success",
        "precision[denom=achievable]": "relative_P",
    }  # fmt: skip
    asked = {*names.values(), *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in cut.values())}
    found = pytrec_eval.RelevanceEvaluator(world.judged, asked, relevance_level=world.level).evaluate(world.lists)
    names |= {at(metric, k): f"{name}_{k}" for metric, name in cut.items() for k in CUTOFFS}
    return {
        metric: pytrec_eval.compute_aggregated_measure(name, [row[name] for row in found.values()])
        for metric, name in names.items()
    }


def ranx(world: World) -> Values:
    """evaluate(make_comparable=True): users without a list have an empty one, users without judgements leave."""
    from ranx import Qrels, Run, evaluate

    names = {
        "ap": "map", "ndcg": "ndcg", "ndcg[gain=exp]": "ndcg_burges", "dcg": "dcg", "dcg[gain=exp]": "dcg_burges",
        "rr": "mrr", "rprecision": "r-precision", "rbp": "rbp.80", "rbp[p=0.5]": "rbp.50",
    }  # fmt: skip
    cut = {
        "ap": "map", "ndcg": "ndcg", "ndcg[gain=exp]": "ndcg_burges", "dcg": "dcg", "precision": "precision",
        "recall": "recall", "f1": "f1", "hit": "hit_rate", "rr": "mrr",
    }  # fmt: skip
    names |= {at(metric, k): f"{name}@{k}" for metric, name in cut.items() for k in CUTOFFS}
    if world.level > 1:
        names = {metric: f"{name}-l{world.level}" for metric, name in names.items()}
    found = evaluate(Qrels(world.judged), Run(world.lists), list(names.values()), make_comparable=True)
    return {metric: float(found[name]) for metric, name in names.items()}


def recbole(world: World) -> Values:
    """The evaluator on scores of all items. It knows no short lists: items that nobody likes fill them up.

    How it orders equal scores is left to torch.topk, so it is given ranks; but for GAUC, where they count half.
    """
    import torch
    from recbole.evaluator import Collector, Evaluator

    tests = world.relevant
    columns = {item: place for place, item in enumerate(CATALOGUE, 1)}  # 0 is RecBole's padding
    filling = range(len(columns) + 1, len(columns) + 1 + max(CUTOFFS))
    scores = torch.full((len(tests), filling.stop), -torch.inf)
    places = []
    for row, (user, liked) in enumerate(tests.items()):
        shown = world.lists.get(user, {})
        if world.complete:
            for item, score in shown.items():
                scores[row, columns[item]] = score
        else:
            scores[row, filling.start :] = -torch.arange(len(filling)) - 1000.0
            for rank, item in enumerate(world.ranked.get(user, [])):
                scores[row, columns[item]] = -float(rank)
        places += [(row, columns[item]) for item in liked]
    kinds = {"hit": "Hit", "rr": "MRR", "ap": "MAP", "recall": "Recall", "ndcg": "NDCG", "precision": "Precision"}
    config: dict[str, Any] = {
        "metrics": ["GAUC", "AveragePopularity"] if world.complete else list(kinds.values()), "topk": list(CUTOFFS),
        "metric_decimal_place": 15, "eval_args": {"mode": {"test": "full"}}, "device": "cpu",
    }  # fmt: skip
    collector = Collector(config)
    users, items = (torch.tensor(column) for column in zip(*places))
    collector.eval_batch_collect(scores, None, users, items)
    collected = collector.get_data_struct()
    collected.set("data.count_items", Counter(columns[item] for _, item in world.seen))
    found = Evaluator(config).evaluate(collected)
    if world.complete:
        popularity = {} if world.tied else {at("average_popularity", k): f"averagepopularity@{k}" for k in CUTOFFS[:3]}
        return {metric: float(found[name]) for metric, name in {"auc": "gauc", **popularity}.items()}
    return {at(metric, k): float(found[f"{name.lower()}@{k}"]) for metric, name in kinds.items() for k in CUTOFFS}


def lenskit(world: World) -> Values:
    """RunAnalysis: the mean of its summary, over all lists; what is undefined counts as 0 there.

    AveragePrecision and graded DCG fail on lists of users without test items, so they have worlds of their own.
    """
    from lenskit.data import ItemList, ItemListCollection
    from lenskit.metrics import DCG, NDCG, RBP, Hit, ListGini, ListLength, Precision, Recall, RecipRank, RunAnalysis
    from lenskit.metrics.ranking import AveragePrecision

    tests = {
        user: ItemList(item_ids=list(row), rating=[float(g) for g in row.values()])
        for user, row in world.relevant.items()
    }
    lists = {user: ItemList(item_ids=items, ordered=True) for user, items in world.ranked.items()}
    outputs, test = (ItemListCollection.from_dict(part, "user_id") for part in (lists, tests))
    kinds: dict[str, Callable[..., Any]] = {
        "precision": Precision, "recall": Recall, "hit": Hit, "rr": RecipRank, "rbp": RBP,
        "rbp[p=0.5]": lambda k: RBP(k, patience=0.5), "ndcg": lambda k: NDCG(k, gain="rating"),
        "ndcg[gain=binary]": NDCG, "dcg[gain=binary]": DCG,
    }  # fmt: skip
    if world.only_tested:
        kinds |= {"ap": AveragePrecision, "dcg": lambda k: DCG(k, gain="rating")}
    measures = {at(metric, k): kind(k) for metric, kind in kinds.items() for k in CUTOFFS}
    measures |= {name: kind(None) for name, kind in kinds.items() if name not in ("precision", "recall", "hit")}
    analysis = RunAnalysis()
    for name, measure in measures.items():
        analysis.add_metric(measure, label=name)
    analysis.add_metric(ListLength(), label="list_length")
    for k in CUTOFFS:
        analysis.add_metric(ListGini(k, items=len(CATALOGUE)), label=at("gini", k))
    found = analysis.measure(outputs, test)
    means, totals = found.list_summary()["mean"], found.global_metrics()
    return {name: float(means[name]) for name in [*measures, "list_length"]} | {
        at("gini", k): float(totals[at("gini", k)]) for k in CUTOFFS
    }


def rectools(world: World) -> Values:
    """calc_metrics of lists with ranks: test users, 0 without a list."""
    import pandas as pd
    from rectools import metrics as library

    kinds: dict[str, Callable[..., Any]] = {
        "precision": library.Precision, "recall": library.Recall, "f1": library.F1Beta, "hit": library.HitRate,
        "precision[denom=achievable]": lambda k: library.Precision(k=k, r_precision=True),
        "fbeta[beta=2]": lambda k: library.F1Beta(k=k, beta=2.0), "rr": library.MRR, "ap": library.MAP,
        "ap[denom=k]": lambda k: library.MAP(k=k, divide_by_k=True), "ndcg": library.NDCG,
        "ndcg[ideal=cut]": lambda k: library.NDCG(k=k, divide_by_achievable=True),
    }  # fmt: skip
    if world.only_tested:
        kinds |= {
            "coverage": lambda k: library.CatalogCoverage(k=k, normalize=True),
            "average_popularity": library.AvgRecPopularity,
        }
    lists = [(user, item, rank) for user, row in world.ranked.items() for rank, item in enumerate(row, 1)]
    tests = [(user, item) for user, row in world.relevant.items() for item in row]
    return library.calc_metrics(
        {at(metric, k): kind(k=k) for metric, kind in kinds.items() for k in CUTOFFS},
        reco=pd.DataFrame(lists, columns=["user_id", "item_id", "rank"]),
        interactions=pd.DataFrame(tests, columns=["user_id", "item_id"]),
        prev_interactions=pd.DataFrame(world.seen, columns=["user_id", "item_id"]),
        catalog=list(world.catalogue),
    )


def replay(world: World) -> Values:
    """Metrics of scored lists, as pandas tables: test users, 0 without a list."""
    import pandas as pd
    from replay.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

    kinds = {"precision": Precision, "recall": Recall, "hit": HitRate, "ap": MAP, "rr": MRR, "ndcg": NDCG}
    lists = [(user, item, score) for user, row in world.lists.items() for item, score in row.items()]
    tests = [(user, item) for user, row in world.relevant.items() for item in row]
    recs = pd.DataFrame(lists, columns=["query_id", "item_id", "rating"])
    truth = pd.DataFrame(tests, columns=["query_id", "item_id"])
    found = {metric: kind(list(CUTOFFS))(recs, truth) for metric, kind in kinds.items()}
    return {at(metric, k): found[metric][f"{kinds[metric].__name__}@{k}"] for metric in kinds for k in CUTOFFS}


def recommenders(world: World) -> Values:
    """python_evaluation: precision, recall and MAP over common users, nDCG over test users."""
    import pandas as pd
    from recommenders.evaluation import python_evaluation as library

    kinds: dict[str, Callable[..., float]] = {
        "precision": library.precision_at_k, "recall": library.recall_at_k, "ap": library.map,
        "ap[denom=min]": library.map_at_k, "ndcg": library.ndcg_at_k,
        "ndcg[gain=linear]": lambda *data, k: library.ndcg_at_k(*data, k=k, score_type="raw"),
        "ndcg[gain=exp]": lambda *data, k: library.ndcg_at_k(*data, k=k, score_type="exp"),
    }  # fmt: skip
    truth = [(user, item, grade) for user, row in world.relevant.items() for item, grade in row.items()]
    lists = [(user, item, score) for user, row in world.lists.items() for item, score in row.items()]
    tables = (
        pd.DataFrame(truth, columns=["userID", "itemID", "rating"]),
        pd.DataFrame(lists, columns=["userID", "itemID", "prediction"]),
    )
    found = {at(metric, k): float(kind(*tables, k=k)) for metric, kind in kinds.items() for k in CUTOFFS}
    if world.only_tested:  # it knows no cutoff
        longest = max(40, *map(len, world.lists.values()))
        train = pd.DataFrame(world.seen, columns=["userID", "itemID"])
        found[f"entropy@{longest}"] = float(library.distributional_coverage(train, tables[1][["userID", "itemID"]]))
    return found


def spark(world: World, context: Any) -> Values:
    """RankingMetrics: a row for each user with judgements, whose arrays may be empty.

    PySpark loses the grades on their way, so that graded nDCG is asked of Scala. Its ideal is in the order of labels.
    """
    from py4j.java_collections import ListConverter
    from pyspark.mllib.evaluation import RankingMetrics

    def java(part: list) -> Any:
        return ListConverter().convert(part, context._gateway._gateway_client)

    rows = []
    for user in world.judged:
        liked = sorted(world.relevant.get(user, {}).items(), key=lambda pair: -pair[1])
        rows.append((world.ranked.get(user, []), [item for item, _ in liked], [float(grade) for _, grade in liked]))
    plain = RankingMetrics(context.parallelize([(shown, liked) for shown, liked, _ in rows], 1))
    triples = context._jsc.parallelize(java([context._jvm.scala.Tuple3(*map(java, row)) for row in rows]))
    graded = context._jvm.org.apache.spark.mllib.evaluation.RankingMetrics.of(triples)
    found = {"ap": plain.meanAveragePrecision}
    for k in CUTOFFS:
        found |= {
            at("ap", k): plain.meanAveragePrecisionAt(k),
            at("precision", k): plain.precisionAt(k),
            at("recall", k): plain.recallAt(k),
            at("ndcg", k): plain.ndcgAt(k),
            at("ndcg[gain=exp]", k): graded.ndcgAt(k),
        }
    return found


def at(metric: str, k: int) -> str:
    """A metric with a cutoff, before its parameters."""
    name, bracket, rest = metric.partition("[")
    return f"{name}@{k}{bracket}{rest}"
