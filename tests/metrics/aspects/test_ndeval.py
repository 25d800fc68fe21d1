"""Agreement with ndeval (through ir-measures' pyndeval provider) on random judgements."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import trueval as tv

ir_measures = pytest.importorskip("ir_measures")
pytest.importorskip("pyndeval", reason="pyndeval is not installed: pip install pyndeval")

USERS, ITEMS, SHOWN, TOPICS = 25, 40, 20, 5
CUTOFFS = (5, 10, 20)  # what ndeval computes


def random_run(seed: int) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, dict[str, int]]]:
    """Topics of items, lists by user, judgements by user."""
    rng = np.random.default_rng(seed)
    items = [f"d{j:02}" for j in range(ITEMS)]
    topics = {item: [f"t{t}" for t in range(TOPICS) if rng.random() < 0.35] for item in items}
    lists = {f"q{u:02}": rng.permutation(items)[:SHOWN].tolist() for u in range(USERS)}
    judged = {q: {i: int(rng.random() < 0.6) for i in rng.permutation(items)[:15]} for q in lists}
    for own in judged.values():
        own[next(i for i in items if topics[i])] = 1
    return topics, lists, judged


def by_ndeval(alpha: float, topics, lists, judged) -> dict[tuple[str, str], dict[str, float]]:
    from ir_measures import ERR_IA, NRBP, Qrel, ScoredDoc, StRecall, alpha_nDCG

    # ndeval's ideal prefers the larger document id among equals, ours the smaller code
    turned = {item: f"d{ITEMS - int(item[1:]):02}" for item in topics}
    qrels = [Qrel(q, turned[i], r, t) for q, own in judged.items() for i, r in own.items() for t in topics[i]]
    run = [ScoredDoc(q, turned[i], -float(r)) for q, own in lists.items() for r, i in enumerate(own)]
    asked = {("nrbp", ""): NRBP(alpha=alpha, beta=0.5)}
    for k in CUTOFFS:
        asked["alpha_ndcg", f"@{k}"] = alpha_nDCG(alpha=alpha) @ k
        if alpha == 0.5:  # ir-measures takes no other for these, and a second call for them returns zeros
            asked["err_ia", f"@{k}"] = ERR_IA @ k
            asked["srecall", f"@{k}"] = StRecall @ k
    named = {str(measure): key for key, measure in asked.items()}
    found: dict[tuple[str, str], dict[str, float]] = {key: {} for key in asked}
    for row in ir_measures.pyndeval.iter_calc(list(asked.values()), qrels, run):
        found[named[str(row.measure)]][row.query_id] = row.value
    return found


@pytest.mark.parametrize("alpha", [0.5, 0.25])
@pytest.mark.parametrize("seed", range(3))
def test_agreement(seed: int, alpha: float):
    topics, lists, judged = random_run(seed)
    theirs = by_ndeval(alpha, topics, lists, judged)
    options = {"srecall": "[relevant_only=true]"}
    labels = {f"{name}{k}{options.get(name, f'[alpha={alpha}]')}": (name, k) for name, k in theirs}
    runs = [(q, i, r) for q, own in lists.items() for r, i in enumerate(own, 1)]
    test = [(q, i, float(r)) for q, own in judged.items() for i, r in own.items()]
    result = tv.evaluate_run(
        pl.DataFrame(runs, schema=["user", "item", "rank"], orient="row"),
        pl.DataFrame(test, schema=["user", "item", "value"], orient="row"),
        items=pl.DataFrame({"item": list(topics), "aspects": list(topics.values())}),
        metrics=list(labels), interval="none",
    )  # fmt: skip
    ours = result.per_user
    assert len(ours) == USERS
    for label, key in labels.items():
        column = next(name for name in ours.columns if name in (label, label.replace("[alpha=0.5]", "")))
        for user, value in ours.select("user", column).rows():
            assert value == pytest.approx(theirs[key][user], abs=1e-9), (label, user)
