"""What the values of ids may decide: nothing, as long as their order stays; and little, when that changes, too.

Names in another order change draws (of ties, samples, resamples, starting values), as another seed would, and what a
definition leaves to the order of items: the greedy ideals of alpha_ndcg and abndcg, neighbours of equal similarity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.metrics.registry import all_metrics
from trueval.splits import all_splits

USERS, ITEMS = 60, 40
GREEDY = {"alpha_ndcg", "abndcg"}
METRICS = [
    metric.name if metric.cutoff == "none" else f"{metric.name}@5"
    for metric in all_metrics()
    if not metric.exact and metric.family != "errors"
]

Renaming = Callable[[int], Any]
SHUFFLED = np.random.default_rng(99).permutation(1000)
SAME_ORDER: dict[str, Renaming] = {
    "other integers": lambda id: 1000 + 37 * id,
    "large integers": lambda id: 2**63 + id,
    "negative integers": lambda id: id - 10**12,
    "text": lambda id: f"{id:04}",
    "text beyond ascii": lambda id: f"ß {chr(0x100 + id)}",
}
OTHER_ORDER: dict[str, Renaming] = {
    "shuffled": lambda id: int(SHUFFLED[id]),
    "unpadded text": str,
    "shuffled text": lambda id: f"id {SHUFFLED[id]}",
}


def log_of(seed: int = 3) -> pl.DataFrame:
    """Ratings at distinct times, in no order; many items are equally popular."""
    rng = np.random.default_rng(seed)
    pairs = [(u, int(i)) for u in range(USERS) for i in rng.choice(ITEMS, 12, replace=False)]
    log = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    values, times = rng.integers(1, 6, len(log)).astype(float), rng.permutation(len(log))
    return log.with_columns(value=pl.Series(values), time=pl.Series(times)).sort("time")


def run_of(*, ties: bool, seed: int = 4) -> pl.DataFrame:
    """Lists of fifteen for all but two users."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((USERS, ITEMS))
    scores = scores.round(0) if ties else scores
    rows = [(u, int(i), float(scores[u, i])) for u in range(2, USERS) for i in rng.choice(ITEMS, 15, replace=False)]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


def renamed(frame: pl.DataFrame, name: Renaming) -> pl.DataFrame:
    """A table with other ids for users and items, rows in their order."""
    kind = pl.String if isinstance(name(0), str) else pl.UInt64 if name(0) >= 2**63 else pl.Int64
    roles = [role for role in ("user", "item") if role in frame.columns]
    return frame.with_columns(pl.Series(role, [name(id) for id in frame[role]], dtype=kind) for role in roles)


def run_judged(name: Renaming, *, ties: bool, **asked: Any) -> tv.Result:
    """A run file held against a test set under other names, with all that an evaluation may use."""
    log = log_of().drop("time")
    train, test = log.head(len(log) // 2), log.tail(len(log) // 2)
    genres = ["a|b", "b", "c", "a|c", "c|d"]
    items = pl.DataFrame({"item": range(ITEMS), "aspects": [genres[i % 5] for i in range(ITEMS)]})
    users = pl.DataFrame({"user": range(USERS), "country": [f"c{u % 3}" for u in range(USERS)]})
    recs, test, train, items, users = (
        renamed(frame, name) for frame in (run_of(ties=ties), test, train, items, users)
    )  # fmt: skip
    asked = {"by": ["country", "popularity"], "min_group": 1, "resamples": 50, "metrics": METRICS} | asked
    return tv.evaluate_run(recs, test, train=train, items=items, users=users, threshold=4, **asked)


def by_user(result: tv.Result, name: Renaming) -> pl.DataFrame:
    """Every user's values, users by their first names."""
    back = {name(id): id for id in range(USERS)}
    frame = result.per_user.with_columns(pl.Series("user", [back[id] for id in result.per_user["user"]]))
    return frame.sort("system", "user")


def first_name(id: int) -> int:
    return id


def numbers(frame: pl.DataFrame) -> np.ndarray:
    """The numbers of a table, undefined ones as a number that no metric has."""
    return frame.select(pl.selectors.numeric().cast(pl.Float64).fill_null(-99.0)).to_numpy()


def assert_close(one: pl.DataFrame, other: pl.DataFrame) -> None:
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", SAME_ORDER.values(), ids=SAME_ORDER)
def test_names_in_the_same_order_change_no_bit_of_a_run(name: Renaming):
    before, after = (run_judged(names, ties=True) for names in (first_name, name))
    assert before.table().equals(after.table(), null_equal=True)
    assert by_user(before, first_name).equals(by_user(after, name), null_equal=True)
    assert all(before.by(column).equals(after.by(column), null_equal=True) for column in ("country", "popularity"))
    assert before.random == after.random
    assert before.warnings == after.warnings
    assert before.warnings[0].startswith("run: 2 of ")


@pytest.mark.parametrize("name", OTHER_ORDER.values(), ids=OTHER_ORDER)
def test_names_in_another_order_change_only_greedy_ideals_of_a_run(name: Renaming):
    before, after = (run_judged(names, ties=False, interval="t") for names in (first_name, name))
    settled = [label for label in METRICS if label.partition("@")[0] not in GREEDY]
    own = [label for label in settled if label in before.per_user.columns]
    assert_close(by_user(before, first_name).select(own), by_user(after, name).select(own))
    tables = [result.table().filter(pl.col("metric").is_in(settled)) for result in (before, after)]
    assert_close(*(table.select("value", "n", "undefined") for table in tables))
    # intervals of system metrics are by groups of users that are drawn: another draw, like another seed
    assert_close(*(table.filter(pl.col("metric").is_in(own)).select("low", "high") for table in tables))
    assert before.random == pytest.approx(after.random, rel=1e-9)


def split_rows(how: str, options: dict[str, Any], name: Renaming) -> list[list[int]]:
    """The rows of every part of a split, by their times: each row has its own."""
    made = tv.split(renamed(log_of(), name), how, seed=5, **options)
    parts = made if isinstance(made, list) else [made]
    return [sorted(table.frame["time"].to_list()) for part in parts for table in (part.train, part.test)]


RANDOM_SPLITS: list[tuple[str, dict[str, Any]]] = [
    ("holdout", {}), ("holdout", {"by": "user"}), ("kfold", {"n": 3}), ("leave_one_out", {"which": "random"}),
    ("uniform_test", {}),
]  # fmt: skip
SPLITS_BY_TIME: list[tuple[str, dict[str, Any]]] = [
    ("leave_one_out", {}), ("temporal", {}), ("user_temporal", {}), ("rolling", {}),
]  # fmt: skip
LOOKED_AT = {how for how, _ in RANDOM_SPLITS + SPLITS_BY_TIME}
for _how, _record in all_splits().items():  # a split that was added since is tried as it comes
    if _how not in LOOKED_AT and not _record.tables:
        (RANDOM_SPLITS if _record.by == "chance" else SPLITS_BY_TIME).append((_how, {}))


@pytest.mark.parametrize(("how", "options"), RANDOM_SPLITS + SPLITS_BY_TIME)
def test_names_and_splits(how: str, options: dict[str, Any]):
    before = split_rows(how, options, first_name)
    for name in SAME_ORDER.values():
        assert split_rows(how, options, name) == before
    for name in OTHER_ORDER.values():  # draws are others, rows by time are the same
        assert (split_rows(how, options, name) == before) == ((how, options) in SPLITS_BY_TIME)


def fitted(name: Renaming, system: Any, design: str = "AR-TI-AN", **asked: Any) -> pl.DataFrame:
    parts = tv.split(renamed(log_of(), name), "temporal", ratio=0.3)
    metrics = ["ndcg@5", "recall@5", "auc"]
    return tv.evaluate(parts, system, design=design, metrics=metrics, threshold=4, interval="t", **asked).table()


# Systems without draws, and those that start from some or break ties of neighbours by code.
EXACT = [
    "popularity", "average", "ease", "puresvd[factors=5]", "userknn[k=59]", "itemknn[k=39]", "optimal_true",
    "optimal_precision", "optimal_antiprecision",
]  # fmt: skip
DRAWN = [
    "random", "userknn[k=3]", "itemknn[k=3]", "plsa[factors=3]", "svdpp[factors=3]", "mf_rmse[factors=3]",
    "allrank[factors=3]", "allrank_pop[factors=3]", "wrmf[factors=3]", "bpr[factors=3]",
]  # fmt: skip


def test_every_system_is_looked_at():
    assert {text.partition("[")[0] for text in EXACT + DRAWN} == set(tv.systems())


@pytest.mark.parametrize("system", EXACT + DRAWN)
def test_names_and_systems(system: str):
    if system.startswith(("wrmf", "bpr")):
        pytest.importorskip("implicit")
    assert fitted(first_name, system).equals(fitted(SAME_ORDER["text"], system), null_equal=True)
    if system in EXACT:
        one, other = (fitted(name, system, ties="expected") for name in (first_name, OTHER_ORDER["shuffled text"]))
        assert_close(one, other)


@pytest.mark.parametrize(
    "design",
    ["AR-AI-AN", "1R-TI-AN", "AR-TI-AN-condensed", "AR-TI-AN-head10", "AR-TI-NN10", "1R-TI-NN10", "P1R2-TI-NN3"],
)
def test_names_and_designs(design: str):
    for name in (SAME_ORDER["text"], SAME_ORDER["large integers"]):
        assert fitted(first_name, "popularity", design).equals(fitted(name, "popularity", design), null_equal=True)
    if "NN" not in design:  # a sample is a draw
        one, other = (
            fitted(name, "popularity", design, ties="expected") for name in (first_name, OTHER_ORDER["shuffled"])
        )
        assert_close(one, other)
