"""One small report of each kind, for tests of pages."""

from __future__ import annotations

import numpy as np
import polars as pl

import trueval as tv
from trueval.report.html_result import result_page
from trueval.report.origin import Origin
from trueval.report.pages import page_of

MADE_FROM = Origin("trueval evaluate 'a b.csv' --test test.csv", ("a b.csv (2 kB)", "test.csv (1 kB)"))
METRICS = "ndcg@5,ndcg@10,precision@5,antiprecision@5,coverage@5"


def made_result(*, systems: int = 3, users: int = 60, metrics: str = METRICS, names: str = "system {}") -> tv.Result:
    """Systems that find the liked items more and more often, on ratings with likes and dislikes."""
    rng = np.random.default_rng(3)
    items = 40
    test = pl.DataFrame({
        "user": np.repeat(np.arange(users), 6),
        "item": np.concatenate([rng.permutation(items)[:6] for _ in range(users)]),
        "value": np.tile([5, 5, 4, 2, 1, 3], users),
    })  # fmt: skip
    liked = test.filter(pl.col("value") >= 4)
    train = pl.DataFrame({"user": rng.integers(0, users, 400), "item": rng.zipf(1.5, 400) % items}).unique(
        maintain_order=True
    )
    runs = {}
    for number in range(systems):
        keep = rng.random(len(liked)) < (number + 1) / (systems + 1)
        found = liked.filter(pl.Series(keep)).select("user", "item")
        guesses = pl.DataFrame({"user": np.repeat(np.arange(users), 8), "item": rng.integers(0, items, users * 8)})
        lists = pl.concat([found, guesses]).join(train, on=["user", "item"], how="anti")
        lists = lists.unique(["user", "item"], keep="first", maintain_order=True)
        runs[names.format(number)] = lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    test = test.join(train, on=["user", "item"], how="anti")
    sides = pl.DataFrame({"user": np.arange(users), "age": np.where(np.arange(users) % 2, "old", "young")})
    return tv.evaluate_run(runs, test, train=train, threshold=4, metrics=metrics, users=sides, by="age")


def made_pages() -> dict[str, str]:
    """Pages by kind."""
    result = made_result()
    rng = np.random.default_rng(5)
    n = 400
    users = pl.DataFrame({
        "arm": np.where(np.arange(n) % 2, "new", "control"), "country": np.where(np.arange(n) % 3, "DE", "FR"),
        "bought": (rng.random(n) < 0.2 + 0.1 * (np.arange(n) % 2)).astype(int), "user": np.arange(n),
    }).with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("user") % 9))  # fmt: skip
    log = pl.DataFrame({"item": ["a", "b"] * 100, "reward": [1, 0, 0, 1] * 50, "propensity": [0.5] * 200})
    policy = pl.DataFrame({"item": ["a", "b"], "probability": [0.8, 0.2]})
    p = rng.random(n)
    predictions = pl.DataFrame({"user": np.arange(n), "item": 0, "p": p, "label": (rng.random(n) < p**2).astype(int)})
    world = tv.simulate("opposed", users=150, items=80, ratings=3000, seed=1)
    parts = tv.split(world.log, "holdout", ratio=0.3)
    records = {
        "comparisons": result.compare("system 0"),
        "agreement": result.agreement(),
        "ab_test": tv.ab_test(users, arm="arm", metrics="bought", user="user", time="day", segments="country"),
        "study": tv.study_analysis(
            tv.study_answers({"new": 0.7, "old": 0.0, "older": -0.7}, same=True, random=True, careless=0.2, leave=0.05),
            first="new",
        ),
        "ope": tv.ope(log, policy),
        "calibration": tv.calibrate(predictions[:200], validation=predictions[200:]),
        "pointwise": tv.pointwise(predictions),
        "audit": tv.audit(parts, ["popularity", "average", "itemknn"], metrics="precision@5", threshold=4),
    }
    pages = {kind: page_of(kind, record, origin=MADE_FROM) for kind, record in records.items()}
    return {"result": result_page(result, title="Three systems", origin=MADE_FROM), **pages}
