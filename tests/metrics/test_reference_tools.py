"""Agreement with trec_eval, ir-measures and scikit-learn where definitions match, user by user.

Means over users, and the rules for short lists, ties and missing users, are compared in tests/presets.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import trueval as tv


@dataclass(frozen=True)
class Data:
    """Judgements and lists (items with distinct scores) by user."""

    judged: dict[str, dict[str, int]]
    lists: dict[str, dict[str, float]]

    def values(self, metrics: list[str], **options) -> dict[str, dict[str, float]]:
        """Our values by metric and user, shuffled in."""
        recs = pl.DataFrame(
            [(u, i, s) for u, row in self.lists.items() for i, s in row.items()],
            schema=["user", "item", "score"],
            orient="row",
        )
        test = pl.DataFrame(
            [(u, i, v) for u, row in self.judged.items() for i, v in row.items()],
            schema=["user", "item", "value"],
            orient="row",
        )
        recs, test = (table.sample(fraction=1, shuffle=True, seed=1) for table in (recs, test))
        found = tv.evaluate_run(recs, test, metrics=metrics, interval="none", **options).per_user
        return {metric: dict(zip(found["user"], found[metric])) for metric in metrics}


def make_data(highest: int) -> Data:
    """A hundred users, of whom five have no relevant item; lists of 1 to 40 of 60 items."""
    rng = np.random.default_rng(highest)
    judged, lists = {}, {}
    for u in range(100):
        items = rng.permutation(60)[: rng.integers(2, 25)]
        grades = rng.integers(0, highest + 1, len(items))
        grades = np.zeros_like(grades) if u % 20 == 0 else grades
        grades[-1] = highest if u % 20 else 0
        judged[f"{100 + u}"] = {f"i{i}": int(g) for i, g in zip(items, grades)}
        shown = rng.permutation(60)[: rng.integers(1, 41)]
        lists[f"{100 + u}"] = {f"i{i}": float(s) for i, s in zip(shown, rng.permutation(len(shown)))}
    return Data(judged, lists)


@pytest.fixture(scope="module", params=[1, 4], ids=["binary", "graded"])
def data(request) -> Data:
    return make_data(request.param)


def assert_equal(ours: dict[str, float], theirs: dict[str, float], metric: str, *, digits: float = 1e-9) -> None:
    assert ours.keys() == theirs.keys()
    wrong = {u: (x, theirs[u]) for u, x in ours.items() if x is None or abs(x - theirs[u]) > digits}
    assert not wrong, f"{metric}: {len(wrong)} users differ, e.g. {list(wrong.items())[:3]}"
    assert len({round(x, 6) for x in ours.values()}) > 1, f"{metric} would agree with anything"


def test_trec_eval(data):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    pairs = {
        "ap": "map",
        "ap@5": "map_cut_5",
        "ap@10": "map_cut_10",
        "ndcg": "ndcg",
        "ndcg@5": "ndcg_cut_5",
        "ndcg@10": "ndcg_cut_10",
        "precision@5": "P_5",
        "precision@30": "P_30",
        "recall@5": "recall_5",
        "recall@30": "recall_30",
        "rr": "recip_rank",
        "rprecision": "Rprec",
        "hit@5": "success_5",
        "bpref": "bpref",
        "infap": "infAP",
    }
    asked = {"map", "map_cut", "ndcg", "ndcg_cut", "P", "recall", "recip_rank", "Rprec", "success", "bpref", "infAP"}
    theirs = pytrec_eval.RelevanceEvaluator(data.judged, asked).evaluate(data.lists)
    ours = data.values(list(pairs), compat="trec_eval")
    for metric, name in pairs.items():
        assert_equal(ours[metric], {user: row[name] for user, row in theirs.items()}, metric)


def test_trec_eval_with_a_threshold():
    """Relevant from grade 3 on; trec_eval's gains do not know the level."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    data = make_data(4)
    evaluator = pytrec_eval.RelevanceEvaluator(
        data.judged, {"map", "P", "recall", "ndcg", "ndcg_cut"}, relevance_level=3
    )
    theirs = evaluator.evaluate(data.lists)
    pairs = {"ap": "map", "precision@10": "P_10", "recall@10": "recall_10", "ndcg": "ndcg", "ndcg@5": "ndcg_cut_5"}
    ours = data.values(list(pairs), compat="trec_eval", threshold=3)
    for metric, name in pairs.items():
        assert_equal(ours[metric], {user: row[name] for user, row in theirs.items()}, metric)


def test_ir_measures(data):
    ir = pytest.importorskip("ir_measures")
    pairs = {
        "ndcg@10": ir.nDCG @ 10,
        "ndcg": ir.nDCG,
        "ap@10": ir.AP @ 10,
        "ap": ir.AP,
        "rr@10": ir.RR @ 10,
        "rr": ir.RR,
        "precision@5": ir.P @ 5,
        "recall@10": ir.R @ 10,
        "rprecision": ir.Rprec,
        "hit@3": ir.Success @ 3,
    }
    ours = data.values(list(pairs), compat="trec_eval")
    theirs: dict[str, dict[str, float]] = {str(measure): {} for measure in pairs.values()}
    for row in ir.iter_calc(list(pairs.values()), data.judged, data.lists):
        theirs[str(row.measure)][row.query_id] = row.value
    for metric, measure in pairs.items():
        # the provider of RR@k does not mention users without relevant items
        assert_equal(ours[metric], dict.fromkeys(data.judged, 0.0) | theirs[str(measure)], metric)


def test_unjudged_as_ir_measures_has_judged():
    ir = pytest.importorskip("ir_measures")
    data = make_data(1)
    theirs = {row.query_id: 1 - row.value for row in ir.iter_calc([ir.Judged @ 5], data.judged, data.lists)}
    assert_equal(data.values(["unjudged@5"], population="judged")["unjudged@5"], theirs, "unjudged@5")


def test_gdeval():
    """ERR and nDCG with exponential gains, which gdeval prints with five decimals; its scale ends at 4."""
    ir = pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("gdeval is a Perl script, and there is no perl here")
    data = make_data(4)
    pairs = {"err@10[gmax=4]": ir.ERR @ 10, "ndcg@10[gain=exp]": ir.nDCG(dcg="exp-log2") @ 10}
    ours = data.values(list(pairs), compat="trec_eval")
    for metric, measure in pairs.items():
        rows = ir.providers.registry["gdeval"].iter_calc([measure], data.judged, data.lists)
        theirs = {row.query_id: row.value for row in rows}
        assert_equal(ours[metric], dict.fromkeys(data.judged, 0.0) | theirs, metric, digits=5.1e-6)


# ---- scikit-learn, which ranks everything and averages over equal scores


@pytest.mark.parametrize("levels", [5, 10_000], ids=["ties", "untied"])
def test_scikit_learn(levels):
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(levels)
    for _ in range(20):
        grades, scores = rng.integers(0, 4, 30), np.sort(rng.integers(0, levels, 30))[::-1].astype(float)
        grades[rng.integers(30)], grades[rng.integers(30)] = 3, 0
        if not (grades == 0).any():
            continue
        items = [f"i{j:02}" for j in range(30)]
        toy = {"scores": scores, "complete": True, "ties": "expected"}

        def ours(metric: str) -> float:
            return tv.measure(metric, items, dict(zip(items, grades.tolist())), **toy)  # noqa: B023

        for k in (1, 5, 30):
            assert ours(f"ndcg@{k}") == pytest.approx(sk.ndcg_score([grades], [scores], k=k), abs=1e-9)
            assert ours(f"dcg@{k}") == pytest.approx(sk.dcg_score([grades], [scores], k=k), abs=1e-9)
        assert ours("ndcg[gain=exp]") == pytest.approx(sk.ndcg_score([2.0**grades - 1], [scores]), abs=1e-9)
        assert ours("auc") == pytest.approx(sk.roc_auc_score(grades > 0, scores), abs=1e-9)
        if levels > 30 and len(set(scores)) == 30:
            assert ours("ap") == pytest.approx(sk.average_precision_score(grades > 0, scores), abs=1e-9)
            assert ours("ap") == pytest.approx(
                sk.label_ranking_average_precision_score([grades > 0], [scores]), abs=1e-9
            )


def test_scikit_learn_rating_errors():
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    actual, predicted = rng.integers(1, 6, 500), rng.normal(3, 1, 500)
    for metric, function in {
        "mae": sk.mean_absolute_error,
        "mse": sk.mean_squared_error,
        "rmse": sk.root_mean_squared_error,
    }.items():
        assert tv.rating_error(metric, predicted, actual) == pytest.approx(function(actual, predicted), abs=1e-12)


def test_scikit_learn_precision_recall_and_f():
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(4)
    items = [f"i{j:02}" for j in range(30)]
    for k in (1, 7, 30):
        relevant = rng.random(30) < 0.3
        relevant[rng.integers(30)] = True
        shown = np.arange(30) < k
        truth = {item for item, yes in zip(items, relevant) if yes}
        assert tv.measure(f"precision@{k}", items, truth) == pytest.approx(sk.precision_score(relevant, shown))
        assert tv.measure(f"recall@{k}", items, truth) == pytest.approx(sk.recall_score(relevant, shown))
        for beta in (0.5, 1, 2):
            theirs = sk.fbeta_score(relevant, shown, beta=beta)
            assert tv.measure(f"fbeta@{k}[beta={beta}]", items, truth) == pytest.approx(theirs)
