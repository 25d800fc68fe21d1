"""What a user's values may depend on: the user's own rows and the train log, not who else is evaluated.

Draws among equal scores are by the place of the user's id among all ids, so they are those of another seed when other
users leave; `docs/design.md` has the table. Without draws nothing changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.metrics.registry import all_metrics

USERS, ITEMS = 40, 30
METRICS = [
    metric.name if metric.cutoff == "none" else f"{metric.name}@5"
    for metric in all_metrics()
    if not metric.exact and metric.family != "errors" and "propensity" not in metric.needs
]


def world() -> dict[str, Any]:
    """Lists of equal scores; the train log is of other users, so that it stays when users leave."""
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((USERS, ITEMS)).round(0)
    rows = [(u, int(i), float(scores[u, i])) for u in range(USERS) for i in rng.choice(ITEMS, 12, replace=False)]
    test = [(u, int(i), float(rng.integers(1, 6))) for u in range(USERS) for i in rng.choice(ITEMS, 8, replace=False)]
    train = [(USERS + u, int(i)) for u in range(30) for i in rng.choice(ITEMS, 6, replace=False)]
    aspects = ["a|b", "b", "c", "a|c", "c|d"]
    return {
        "recs": pl.DataFrame(rows, schema=["user", "item", "score"], orient="row"),
        "test": pl.DataFrame(test, schema=["user", "item", "value"], orient="row"),
        "train": pl.DataFrame(train, schema=["user", "item"], orient="row"),
        "items": pl.DataFrame({"item": range(ITEMS), "aspects": [aspects[i % 5] for i in range(ITEMS)]}),
    }


def by_user(ties: str, stay: list[int], *, metrics: list[str]) -> pl.DataFrame:
    """Every metric of some users, evaluated without the others."""
    own = world()
    for name in ("recs", "test"):
        own[name] = own[name].filter(pl.col("user").is_in(stay))
    result = tv.evaluate_run(**own, ties=ties, metrics=metrics, interval="none", threshold=3)
    return result.per_user.sort("user")


STAY = sorted(np.random.default_rng(8).choice(USERS, 20, replace=False).tolist())


@pytest.mark.parametrize("ties", ["expected", "worst", "best", "given"])
def test_values_without_draws_do_not_change_when_other_users_leave(ties: str) -> None:
    kept = METRICS
    if ties != "given":  # some metrics of lists have no value under these rules
        kept = []
        for metric in METRICS:
            try:
                by_user(ties, STAY, metrics=[metric])
            except tv.TruevalError:
                continue
            kept.append(metric)
    assert len(kept) > 20
    everyone = by_user(ties, list(range(USERS)), metrics=kept).filter(pl.col("user").is_in(STAY))
    alone = by_user(ties, STAY, metrics=kept)
    assert alone.columns == everyone.columns
    assert len(alone.columns) > 15
    assert alone["user"].to_list() == everyone["user"].to_list() == STAY
    for name in [name for name in alone.columns if name not in ("system", "user")]:  # to rounding: sums of other parts
        one, other = (frame[name].fill_null(-99.0).to_numpy() for frame in (alone, everyone))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=name)


def test_draws_are_those_of_another_seed() -> None:
    """Some of the users who stay have another order of their equals; the mean over users is as right as before."""
    metrics = ["ndcg@5"]
    everyone = by_user("random", list(range(USERS)), metrics=metrics).filter(pl.col("user").is_in(STAY))
    alone = by_user("random", STAY, metrics=metrics)
    differ = (alone["ndcg@5"] - everyone["ndcg@5"]).abs() > 1e-12
    before_anyone_left = [user == place for place, user in enumerate(STAY)]
    assert differ.any()
    assert not differ.filter(pl.Series(before_anyone_left)).any()  # whose place among the ids is as it was
