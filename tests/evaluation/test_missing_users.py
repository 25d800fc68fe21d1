"""Users without recommendations: counted, told first, and 0, left out or refused as the rule says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.run_notes import _alike, notes_on_seen
from trueval.metrics.registry import all_metrics

USERS, ITEMS, LISTED = 60, 50, 23
METRICS = [
    metric.name if metric.cutoff == "none" else f"{metric.name}@5"
    for metric in all_metrics()
    if not metric.exact and metric.family != "errors"
]


def table(rows: list[tuple[Any, ...]], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(columns), orient="row")


@pytest.fixture(scope="module")
def world() -> dict[str, pl.DataFrame]:
    """Ratings, a run for everybody, and one for the first users only; no test pair is in train."""
    rng = np.random.default_rng(1)
    train, test, recs = [], [], []
    for user in range(USERS):
        items = [int(item) for item in rng.permutation(ITEMS)]
        train += [(user, item, 5.0) for item in items[:8]]
        test += [(user, item, float(rng.integers(1, 6))) for item in items[8:18]] + [(user, items[18], 5.0)]
        recs += [(user, item, rank) for rank, item in enumerate(rng.permutation(items[8:])[:10].tolist(), 1)]
    whole = table(recs, "user", "item", "rank")
    genres = ["a|b", "b", "c", "a|c", "c|d"]
    return {
        "train": table(train, "user", "item", "value"),
        "test": table(test, "user", "item", "value"),
        "whole": whole,
        "part": whole.filter(pl.col("user") < LISTED),
        "items": pl.DataFrame({"item": range(ITEMS), "aspects": [genres[i % 5] for i in range(ITEMS)]}),
        "users": pl.DataFrame({"user": range(USERS), "country": [f"c{u % 3}" for u in range(USERS)]}),
    }


def judged(world: dict[str, pl.DataFrame], run: Any = "part", **asked: Any) -> tv.Result:
    recs = world[run] if isinstance(run, str) else run
    known = {"train": world["train"], "items": world["items"], "threshold": 4.0, "metrics": METRICS, "interval": "t"}
    return tv.evaluate_run(recs, asked.pop("test", world["test"]), **(known | asked))


def hits_at_5(world: dict[str, pl.DataFrame], user: int) -> float:
    relevant = world["test"].filter((pl.col("user") == user) & (pl.col("value") >= 4))["item"].to_list()
    shown = world["part"].filter((pl.col("user") == user) & (pl.col("rank") <= 5))["item"].to_list()
    return len(set(shown) & set(relevant)) / 5


def test_zero_and_drop_by_hand(world):
    own = [hits_at_5(world, user) for user in range(LISTED)]
    zero, drop = (judged(world, missing=rule, metrics="precision@5")["run", "precision@5"] for rule in ("zero", "drop"))
    assert (zero.value, zero.n) == (pytest.approx(sum(own) / USERS), USERS)
    assert (drop.value, drop.n) == (pytest.approx(sum(own) / LISTED), LISTED)


@pytest.mark.parametrize(
    "asked", [{}, {"population": "all"}, {"condensed": True}, {"by": "country,popularity"}], ids=str
)
def test_dropped_users_leave_every_metric_as_if_nobody_had_asked_for_them(world, asked):
    """Another way to the same: a test set that does not have them."""
    asked = asked | ({"users": world["users"], "min_group": 1} if "by" in asked else {})
    known = world["test"].filter(pl.col("user") < LISTED)
    rule = "drop" if "population" in asked else "error"  # users of the train set are among all
    drop, cut = judged(world, missing="drop", **asked), judged(world, test=known, missing=rule, **asked)
    for label, found in drop.evaluation.systems["run"].estimates.items():
        other = cut["run", label]
        assert found.n == other.n, label
        values = [(found.value, other.value), (found.low, other.low), (found.high, other.high)]
        assert all(math.isclose(a, b, rel_tol=1e-9) or (math.isnan(a) and math.isnan(b)) for a, b in values), label
    if "by" in asked:
        for column in ("country", "popularity"):
            one, two = (result.by(column).select("metric", "group", "n", "value") for result in (drop, cut))
            assert one.drop("value").equals(two.drop("value"))
            np.testing.assert_allclose(*(t["value"].fill_null(-1).fill_nan(-1) for t in (one, two)), rtol=1e-9)


def test_zero_is_what_an_empty_list_has_and_the_warning_says_so(world):
    result = judged(world)
    empty = result.per_user.filter(pl.col("user") >= LISTED)
    first = result.warnings[0]
    assert first.startswith(f"run: {USERS - LISTED} of {USERS} users have no recommendations: counted as 0, which is")
    best = first.partition("which is the best value of ")[2].partition(";")[0].split(", ")
    out = first.partition("excluded from ")[2].removesuffix(" (missing=zero)").split(", ")
    other = first.partition("as an empty list by ")[2].partition(";")[0].split(", ")
    lower = {metric.name for metric in all_metrics() if metric.better == "lower"}
    for label in empty.columns[2:]:
        values = empty[label].drop_nulls()
        if not len(values):
            assert label in out
        elif values.to_list() != [0.0] * len(values):
            assert label in other
        else:
            assert (label in best) == (label.partition("@")[0] in lower), label
            assert label not in out + other
    assert {"antiprecision@5", "fallout@5"} <= set(best)
    assert "novelty@5" in out
    accuracy = [m.name for m in all_metrics() if m.family == "accuracy" and not m.exact]
    assert not {label.partition("@")[0] for label in out + other} & set(accuracy)


@pytest.mark.parametrize("rule", ["zero", "drop", "error"])
def test_one_user_of_many_is_told_everywhere(world, trueval, tmp_path: Path, rule):
    run = world["whole"].filter(pl.col("user") != 7)
    for name, frame in {"run": run, "test": world["test"]}.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    report = tmp_path / "report.html"
    command = ["evaluate", tmp_path / "run.csv", "--test", tmp_path / "test.csv", "--metrics", "ndcg@5,coverage@5",
               "--threshold", 4]  # fmt: skip
    shown = trueval(*command, "--missing", rule, "--report", report)
    if rule == "error":
        assert shown.code == 2
        assert f"1 of {USERS} users: 7" in shown.err
        assert not report.exists()
        return
    told = f"run: 1 of {USERS} users have no recommendations"
    assert shown.out.partition("! ")[2].startswith(told)
    assert told in report.read_text()
    record = json.loads(trueval(*command, "--missing", rule, "--format", "json").out)
    assert record["warnings"][0].startswith(told)
    assert record["manifest"]["missing"] == rule
    trueval(*command, "--missing", rule, "-o", f"{tmp_path}/folder/")
    assert json.loads((tmp_path / "folder" / "summary.json").read_text())["warnings"][0].startswith(told)


def test_nothing_is_said_where_everybody_has_a_list(world):
    assert judged(world, "whole", missing="error").warnings == judged(world, "whole").warnings == []


def test_rules_that_do_not_exist_or_contradict(world):
    with pytest.raises(tv.TruevalError, match="unknown rule for users without recommendations: 'drp'"):
        judged(world, missing="drp")
    with pytest.raises(tv.TruevalError, match="compat=lenskit decides"):
        judged(world, missing="drop", compat="lenskit", metrics="ndcg@5")
    with pytest.raises(tv.TruevalError, match="have no recommendations"):
        judged(world, missing="error", compat="lenskit", metrics="ndcg@5")
    said = judged(world, compat="lenskit", metrics="ndcg@5").warnings[0]
    assert said.endswith("no recommendations: excluded from ndcg@5 (compat=lenskit)")
    nothing = pl.when(pl.col("user") == 0).then(1.0).otherwise("value")  # is relevant to the one with a list
    alone = world["whole"].filter(pl.col("user") == 0)
    with pytest.raises(tv.TruevalError, match="no user of the population has recommendations"):
        judged(world, alone, missing="drop", metrics="ndcg@5", test=world["test"].with_columns(value=nothing))


def test_results_under_different_rules_are_not_compared(world, tmp_path: Path):
    judged(world, {"one": world["whole"]}, metrics="ndcg@5").save(tmp_path / "one")
    judged(world, {"two": world["part"]}, metrics="ndcg@5", missing="drop").save(tmp_path / "two")
    with pytest.raises(tv.TruevalError, match="missing: zero and drop"):
        tv.compare([tmp_path / "one", tmp_path / "two"])


def test_systems_over_different_users_are_compared_over_common_ones(world):
    runs = {"whole": world["whole"], "part": world["part"].with_columns(item=(pl.col("item") + 1) % ITEMS)}
    runs["part"] = runs["part"].join(world["train"].select("user", "item"), on=["user", "item"], how="anti")
    result = judged(world, runs, metrics="precision@5,coverage@5", missing="drop")
    assert "systems are averaged over different users" in result.warnings[1]
    (found,) = [c for c in result.compare("whole") if c.metric == "precision@5"]
    own = result.per_user.filter(pl.col("user") < LISTED).pivot("system", index="user", values="precision@5")
    assert found.n == LISTED
    assert found.difference == pytest.approx((own["part"] - own["whole"]).mean())


@pytest.mark.parametrize("rule", ["zero", "drop"])
@pytest.mark.parametrize("population", ["relevant", "all"])
def test_streamed_runs_say_and_count_the_same(world, tmp_path: Path, monkeypatch, rule, population):
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 70)
    seen = world["train"].filter(pl.col("user") < LISTED).with_columns(rank=10 + pl.int_range(pl.len()).over("user"))
    mostly = pl.concat([world["part"].filter(pl.col("rank") < 4), seen.drop("value")], how="diagonal_relaxed")
    mostly.sort("user").write_parquet(tmp_path / "run.parquet")
    asked = {"missing": rule, "population": population, "metrics": [*METRICS, "ndcg@20"], "interval": "bootstrap"}
    whole = judged(world, tmp_path / "run.parquet", **asked)
    pieces = judged(world, tmp_path / "run.parquet", sorted_by_user=True, **asked)
    assert whole.table().equals(pieces.table(), null_equal=True)
    assert whole.warnings == pieces.warnings
    assert whole.random == pieces.random
    assert f"run: {8 * LISTED} of {11 * LISTED} recommended items are in their users' train rows" in whole.warnings[-1]


# ---- runs beside systems -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(world) -> tv.Parts:
    return tv.split(world["train"], "given", test=world["test"])


@pytest.mark.parametrize("design", ["AR-TI-AN", "1R-TI-AN", "AR-AI-AN-condensed", "AR-AI-AN-head10"])
def test_a_run_under_a_design(world, parts, design):
    systems = {"popularity": "popularity", "mine": tv.Run(world["part"])}
    asked = {"design": design, "metrics": ["recall@5", "rr"], "threshold": 4, "interval": "none"}
    zero, drop = (tv.evaluate(parts, systems, missing=rule, **asked) for rule in ("zero", "drop"))
    assert zero.warnings[0].startswith(f"mine: {USERS - LISTED} of {USERS} users have no recommendations: counted as 0")
    assert drop.warnings[0].startswith(f"mine: {USERS - LISTED} of {USERS} users have no recommendations: excluded")
    for metric in asked["metrics"]:
        assert zero["popularity", metric] == drop["popularity", metric]
        own = zero.per_user.filter((pl.col("system") == "mine") & (pl.col("user") < LISTED))[metric]
        assert drop["mine", metric].value == pytest.approx(own.mean(), rel=1e-9)
        assert drop["mine", metric].n == len(own)
    with pytest.raises(tv.TruevalError, match="users of the population have no recommendations"):
        tv.evaluate(parts, systems, missing="error", **asked)


def test_lists_of_seen_items_are_no_recommendations(world, parts):
    seen = world["train"].with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).drop("value")
    mixed = pl.concat(
        [seen.filter(pl.col("user") > 0), world["whole"].filter(pl.col("user") == 0)], how="diagonal_relaxed"
    )
    found = tv.evaluate(parts, {"mine": tv.Run(mixed)}, metrics="recall@5", threshold=4, interval="none")
    assert found.warnings[0].startswith(f"mine: {USERS - 1} of {USERS} users have no recommendations")
    assert (
        f"mine: {8 * (USERS - 1)} of {8 * (USERS - 1) + 10} recommended items are in their users'" in found.warnings[1]
    )


def test_over_seeds_they_are_told_first_too(world, parts):
    systems = {"optimal": "optimal_true", "mine": tv.Run(world["part"])}
    found = tv.evaluate(parts, systems, metrics="recall@5", threshold=4, seed=[1, 2])
    assert found.warnings[0].startswith(f"mine: {USERS - LISTED} of {USERS} users")
    folds = tv.split(world["test"], "kfold", n=2)  # not everybody has a relevant item in both
    found = tv.evaluate(folds, systems, metrics="recall@5", threshold=5)
    assert [note.partition(": mine: ")[0] for note in found.warnings[:2]] == ["fold 1", "fold 2"]
    assert all("no recommendations" in note for note in found.warnings[:2])


def test_experiments_know_the_rule(world, tmp_path: Path):
    world["part"].write_parquet(tmp_path / "mine.parquet")
    for name in ("train", "test"):
        world[name].write_parquet(tmp_path / f"{name}.parquet")
    chosen: dict[str, Any] = {
        "data": {"path": tmp_path / "train.parquet", "threshold": 4},
        "split": {"how": "given", "test": str(tmp_path / "test.parquet")},
        "systems": {"popularity": {}, "mine": {"run": str(tmp_path / "mine.parquet")}},
        "evaluation": {"metrics": ["recall@5"], "missing": "drop"},
    }
    for _ in range(2):  # the second time from facts that were kept
        found = tv.run(chosen, tmp_path / "out", resume=(tmp_path / "out").exists())["AR-TI-AN"]
        assert found["mine", "recall@5"].n == LISTED
        assert found.warnings[0].startswith(
            f"mine: {USERS - LISTED} of {USERS} users have no recommendations: excluded"
        )
        assert any(f"mine: only {LISTED} of {USERS} test users are in the run" in note for note in found.warnings)
    chosen["evaluation"]["missing"] = "error"
    with pytest.raises(tv.TruevalError, match="users of the population have no recommendations") as caught:
        tv.run(chosen)
    assert "mine.parquet" in caught.value.where
    chosen["evaluation"] |= {"missing": "drop", "compat": "lenskit"}
    with pytest.raises(tv.TruevalError, match="compat=lenskit decides") as caught:
        tv.run(chosen)
    assert "missing" in caught.value.where


# ---- ids that do not meet, items already seen ----------------------------------------------------------------


def test_few_common_users_are_told(world):
    told = f"run: only {LISTED} of {USERS} test users are in the run: are the ids the same?"
    assert told in judged(world, metrics="rr").warnings
    half = world["whole"].filter(pl.col("user") < USERS / 2)
    assert not any("test users are in the run" in note for note in judged(world, half, metrics="rr").warnings)


def test_few_common_items_are_told(world):
    strange = world["whole"].with_columns(
        item=pl.when(pl.col("rank") > 2).then(pl.col("item") + 1000).otherwise("item")
    )
    items = strange["item"].unique()
    known = (items < 1000).sum()
    found = judged(world, strange, items=None, train=None, metrics="rr").warnings
    assert 2 * known <= len(items)
    assert f"run: only {known} of {len(items)} recommended items are in the test set" in found or 2 * known == len(
        items
    )


SPELLINGS = {
    "spaces": (lambda id: f"user {id}", lambda id: f" user {id} "),
    "case": (lambda id: f"user {id}", lambda id: f"USER {id}"),
    "unicode": (lambda id: f"ué{id}", lambda id: f"ue\u0301{id}"),
    "width": (lambda id: f"u{id}", lambda id: f"ｕ{id}"),
    "floats": (lambda id: f"{id}x" if id == 3 else str(id), lambda id: f"{id}.0"),
    "zeros": (lambda id: f"{id}x" if id == 3 else str(id), lambda id: f"{id:05}"),
}


@pytest.mark.parametrize(("ours", "theirs"), SPELLINGS.values(), ids=SPELLINGS)
def test_ids_that_would_meet_are_told(world, ours, theirs):
    """Ten users and ten items of the run are written otherwise."""
    frames = {}
    for name in ("test", "whole"):
        spell = theirs if name == "whole" else ours
        columns = {}
        for role in ("user", "item"):
            odd = [10 <= id < 20 for id in world[name][role]]
            columns[role] = [spell(id) if o else ours(id) for id, o in zip(world[name][role], odd)]
        frames[name] = world[name].with_columns(**{role: pl.Series(ids) for role, ids in columns.items()})
    found = tv.evaluate_run(frames["whole"], frames["test"], metrics="rr", interval="none", threshold=1).warnings
    assert found[0].startswith(f"run: 10 of {USERS} users have no recommendations")
    for role in ("user", "item"):
        (told,) = [note for note in found if f"10 {role} ids of the run differ from a known id only by" in note]
        assert f"{theirs(10)!r} and {ours(10)!r}" in told
    clean = tv.evaluate_run(frames["test"].with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).drop("value"),
                            frames["test"], metrics="rr", interval="none", threshold=1)  # fmt: skip
    assert clean.warnings == []


def test_what_is_alike():
    assert _alike("7") == _alike("07") == _alike("7.0") == _alike(" 7") == "7"
    assert _alike("0") == _alike("00") == _alike("0.00") == "0"
    assert len({_alike(text) for text in ("a", "b", "1a", "01a", "1.5", "1.50", "-1", "1")}) == 8


def test_half_seen_is_the_limit():
    assert notes_on_seen(np.array([49, 99])) == []
    assert notes_on_seen(np.array([0, 0])) == []
    assert len(notes_on_seen(np.array([50, 99]))) == len(notes_on_seen(np.array([50, 100]))) == 1


def test_seen_items_are_counted_within_the_deepest_cutoff(world):
    """Five seen items lead every list of ten: 5 of 5 at 5, 5 of 10 at 10, 5 of 12 at 12."""
    seen = world["train"].with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).filter(pl.col("rank") <= 5)
    behind = world["whole"].with_columns(rank=pl.col("rank") + 5)
    run = pl.concat([seen.select("user", "item", "rank"), behind], how="diagonal_relaxed")
    told = {
        k: [note for note in judged(world, run, metrics=f"precision@{k},rr@1").warnings if "train rows" in note]
        for k in (5, 10, 12)
    }
    assert f"{5 * USERS} of {5 * USERS} recommended" in told[5][0]
    assert f"{5 * USERS} of {10 * USERS} recommended" in told[10][0]
    assert told[12] == []
