"""Runs judged without the head: which items go, what goes with them, and what stays."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueval as tv
from trueval.design.popular_head import find_head

METRICS = ["ndcg@5", "recall@5", "precision@5", "rr", "ap@5", "antiprecision@5"]
Rows = list[tuple[int, int, float]]


def make_logs(seed: int, *, users: int = 30, items: int = 25, levels: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Train and test ratings of items of which the first are far more popular."""
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.arange(items))
    rows: Rows = []
    for user in range(users):
        own = rng.choice(items, 10, replace=False, p=chance / chance.sum())
        rows += [(user, int(item), float(rng.integers(1, levels + 1))) for item in own]
    held = rng.random(len(rows)) < 0.4
    frames = [[row for row, h in zip(rows, held) if h == wanted] for wanted in (False, True)]
    train, test = (pl.DataFrame(part, schema=["user", "item", "value"], orient="row") for part in frames)
    return train, test


def make_run(seed: int, *, users: int = 30, items: int = 25, length: int = 12) -> pl.DataFrame:
    """Lists of distinct items; every fifth user has none."""
    rng = np.random.default_rng(seed)
    rows = [
        (user, int(item), rank)
        for user in range(users)
        if user % 5
        for rank, item in enumerate(rng.permutation(items)[:length], start=1)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def naive_head(train: pl.DataFrame, test: pl.DataFrame, share: float) -> set:
    """The most-rated items; those rated equally often go together, while this comes closer to the share."""
    counts = Counter([*train["item"], *test["item"]])
    wanted, head = round(share * len(counts)), []
    for number in sorted(set(counts.values()), reverse=True):
        group = [item for item, n in counts.items() if n == number]
        if abs(len(head) + len(group) - wanted) >= abs(len(head) - wanted):
            break
        head += group
    return set(head)


def naive_values(run: pl.DataFrame, test: pl.DataFrame, head: set, threshold: float) -> dict[str, float]:
    """Means over users who have a relevant item outside the head; lists as they are."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for user in sorted(set(test["user"])):
        judged = {i: v for u, i, v in test.rows() if u == user and i not in head}
        relevant = {i: v for i, v in judged.items() if v >= threshold}
        if not relevant:
            continue
        listed = [item for _, _, item in sorted((r, u, i) for u, i, r in run.rows() if u == user)]
        hits = [item in relevant for item in listed]
        five = hits[:5]
        found["precision@5"].append(sum(five) / 5)
        found["recall@5"].append(sum(five) / len(relevant))
        found["antiprecision@5"].append(sum(i in judged and i not in relevant for i in listed[:5]) / 5)
        found["rr"].append(1 / (hits.index(True) + 1) if any(hits) else 0)
        found["ap@5"].append(sum(sum(five[: r + 1]) / (r + 1) for r, hit in enumerate(five) if hit) / len(relevant))
        gains = [relevant.get(item, 0) for item in listed[:5]]
        ideal = sorted(relevant.values(), reverse=True)[:5]
        dcg, best = (sum(g / math.log2(r + 2) for r, g in enumerate(some)) for some in (gains, ideal))
        found["ndcg@5"].append(dcg / best)
    return {name: sum(values) / len(values) for name, values in found.items()} | {"n": len(found["rr"])}


def measured(run, test, train, **how) -> dict[str, float]:
    result = tv.evaluate_run(run, test, train=train, metrics=METRICS, interval="none", **how)
    return {name: result["run", name].value for name in METRICS} | {"n": result["run", "rr"].n}


@pytest.mark.parametrize("share", [0.1, 0.3, 0.55])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_values_are_those_of_a_naive_count(share, seed):
    (train, test), run = make_logs(seed), make_run(seed)
    head = naive_head(train, test, share)
    if not head:
        with pytest.raises(tv.TruevalError, match="the head to remove is empty"):
            measured(run, test, train, without_head=share)
        return
    wanted = naive_values(run, test, head, threshold=3)
    assert measured(run, test, train, without_head=share, threshold=3) == pytest.approx(wanted, abs=1e-12)


def test_it_equals_a_test_set_from_which_the_head_was_taken_by_hand():
    (train, test), run = make_logs(3), make_run(3)
    head = naive_head(train, test, 0.2)
    assert head
    by_hand = test.filter(~pl.col("item").is_in(list(head)))
    asked = {"threshold": 3, "population": "judged"}
    assert measured(run, test, train, without_head=0.2, **asked) == measured(run, by_hand, train, **asked)
    assert measured(run, test, train, **asked) != measured(run, by_hand, train, **asked)


def test_the_head_is_that_of_designs():
    """A complete run, its head items taken out, measures like the same run under a design without the head."""
    train, test = make_logs(8)
    items = list(range(25))
    rng = np.random.default_rng(0)
    seen = set(train.select("user", "item").rows())
    rows = [(u, i, float(rng.random())) for u in range(30) for i in items if (u, i) not in seen]
    run = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    parts = tv.split(train, "given", test=test)
    metrics = ["ndcg@5", "recall@5", "rr", "ap"]
    design = tv.evaluate(parts, {"run": tv.Run(run)}, design="AR-AI-AN-head20", metrics=metrics, interval="none")
    tail = run.filter(~pl.col("item").is_in(list(naive_head(train, test, 0.2))))
    given_run = tv.evaluate_run(tail, test, train=train, without_head=0.2, metrics=metrics, interval="none")
    for metric in metrics:
        assert given_run["run", metric].value == pytest.approx(design["run", metric].value, abs=1e-12)
        assert given_run["run", metric].n == design["run", metric].n


def test_lists_keep_head_items_as_unjudged_ones():
    train = pl.DataFrame({"user": [1, 2, 3, 4], "item": ["hit", "hit", "hit", "b"]})
    test = pl.DataFrame({"user": [5, 5, 6], "item": ["hit", "a", "hit"]})
    run = pl.DataFrame({"user": [5, 5, 6], "item": ["hit", "a", "hit"], "rank": [1, 2, 1]})
    asked = {"train": train, "metrics": ["rr", "unjudged@1", "recall@1"], "interval": "none"}
    whole = tv.evaluate_run(run, test, **asked)
    assert (whole["run", "rr"].value, whole["run", "rr"].n) == (1, 2)
    result = tv.evaluate_run(run, test, without_head=0.34, **asked)  # one of three items
    assert (result["run", "rr"].value, result["run", "rr"].n) == (0.5, 1)  # user 6 has nothing relevant left
    assert result["run", "unjudged@1"].value == 1
    assert result["run", "recall@1"].value == 0
    condensed = tv.evaluate_run(run, test, without_head=0.34, condensed=True, **asked)
    assert condensed["run", "rr"].value == 1
    note, places = result.warnings
    assert "(1 of 3 items) removes 2 of 3 relevant judgements, and 1 user has none left" in note
    assert "head items keep their places" in places
    assert "run 67 %" in places  # two of three
    assert "run 100 %" in tv.evaluate_run(run, test, without_head=0.34, **asked | {"metrics": "hit@1"}).warnings[1]
    assert sum("head" in warning for warning in condensed.warnings) == 1
    assert condensed.manifest["without_head"]["lists"] == "without unjudged items"
    told = result.manifest["without_head"]
    assert (told["share"], told["items"], told["judgements"], told["relevant"]) == (0.34, 1, 2, 2)
    assert "as given" in told["lists"]
    assert result.manifest["design"] == "given-head34"
    assert condensed.manifest["design"] == "given-head34-condensed"


def test_a_list_of_nothing_but_head_items_is_worth_nothing_and_allowed():
    (train, test), run = make_logs(5), make_run(5)
    head = naive_head(train, test, 0.2)
    only = run.filter(pl.col("item").is_in(list(head)))
    assert len(only) > 20
    values = measured(only, test, train, without_head=0.2)
    assert values["rr"] == values["recall@5"] == 0
    strangers = only.with_columns(pl.col("item") + 1000)
    with pytest.raises(tv.TruevalError, match="the two tables have no item in common"):
        measured(strangers, test, train, without_head=0.2)


def test_order_of_rows_names_of_items_and_threads_change_nothing():
    (train, test), run = make_logs(11), make_run(11)
    base = measured(run, test, train, without_head=0.3)
    turned = pl.col("item").replace_strict({i: (7 * i + 3) % 25 for i in range(25)})
    for change in ([pl.col("item")], [turned], [(100 - pl.col("item"))]):
        tables = [frame.with_columns(*change).sample(fraction=1, shuffle=True, seed=4) for frame in (run, test, train)]
        values = measured(*tables, without_head=0.3, threads=2)
        assert values == pytest.approx(base, abs=1e-12)
        assert values["n"] == base["n"]


@settings(max_examples=60)
@given(counts=st.lists(st.integers(0, 6), min_size=1, max_size=30), share=st.floats(0.01, 0.99))
def test_the_head_depends_on_ratings_alone(counts, share):
    ratings = np.array(counts)
    wanted, rated = round(share * np.count_nonzero(ratings)), int(np.count_nonzero(ratings))
    try:
        head = find_head(ratings, share, where="here")
    except tv.TruevalError:
        most = int((ratings == ratings.max()).sum()) if rated else 0
        assert wanted == 0 or most >= 2 * wanted  # none is as close as all of the most rated
        return
    inside = np.zeros(len(ratings), bool)
    inside[head] = True
    assert ratings[inside].min() > max(0, ratings[~inside].max(initial=0))  # equals are together, nothing unrated
    size = inside.sum()
    levels = [int((ratings >= level).sum()) for level in set(counts) - {0}]
    assert abs(size - wanted) == min(abs(n - wanted) for n in [0, *levels])
    np.testing.assert_array_equal(find_head(ratings[::-1], share, where="here"), np.flatnonzero(inside[::-1]))


@pytest.mark.parametrize("ties", ["random", "expected"])
@pytest.mark.parametrize("population", ["relevant", "all"])
def test_streamed_files_give_the_same(tmp_path: Path, monkeypatch, ties, population):
    (train, test), run = make_logs(2), make_run(2)
    run = run.select("user", "item", score=-(pl.col("rank") // 3)).sort("user", maintain_order=True)
    run.write_parquet(tmp_path / "run.parquet")
    asked = {"train": train, "metrics": [*METRICS, "coverage@5"], "ties": ties, "population": population}
    asked |= {"without_head": 0.2, "threshold": 3}
    whole = tv.evaluate_run(tmp_path / "run.parquet", test, **asked)
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 70)
    pieces = tv.evaluate_run(tmp_path / "run.parquet", test, sorted_by_user=True, **asked)
    monkeypatch.setattr("trueval.data.whole_runs.MANY_ROWS", 100)
    unasked = tv.evaluate_run(tmp_path / "run.parquet", test, **asked)
    for other in (pieces, unasked):
        assert whole.table().equals(other.table())
        assert whole.per_user.sort("user").equals(other.per_user.sort("user"))
        assert whole.manifest == other.manifest
        assert whole.warnings == other.warnings


def test_weights_of_the_head_are_not_counted():
    (train, test), run = make_logs(6), make_run(6)
    head = naive_head(train, test, 0.2)
    test = test.with_columns(p=pl.lit(0.5))
    asked = {"train": train, "metrics": "snips(recall)@5", "propensity": "column:p", "interval": "none"}
    result = tv.evaluate_run(run, test, without_head=0.2, **asked)
    left = test.filter(~pl.col("item").is_in(list(head)))
    assert result.manifest["propensity"]["n"] == len(left) < len(test)


def test_results_with_another_head_cannot_be_compared(tmp_path: Path):
    (train, test), run = make_logs(4), make_run(4)
    for name, share in (("none", None), ("ten", 0.1), ("twenty", 0.2), ("again", 0.2)):
        runs = {name: run if name != "again" else make_run(9)}
        tv.evaluate_run(runs, test, train=train, metrics="rr", without_head=share).save(tmp_path / name)
    with pytest.raises(tv.TruevalError, match="design: given and given-head10"):
        tv.compare([tmp_path / "none", tmp_path / "ten"])
    with pytest.raises(tv.TruevalError, match="design: given-head10 and given-head20"):
        tv.compare([tmp_path / "ten", tmp_path / "twenty"])
    assert len(tv.compare([tmp_path / "twenty", tmp_path / "again"])) == 1


@pytest.mark.parametrize("share", [0, 0.0, -0.1, 1, 1.5, math.nan, math.inf, True, "0.1"])
def test_a_share_is_between_0_and_1(share):
    (train, test), run = make_logs(0), make_run(0)
    with pytest.raises(
        tv.TruevalError, match=r"above 0 and below 1[^$]*where: without_head|must be a (finite )?number"
    ) as caught:
        measured(run, test, train, without_head=share)
    assert caught.value.found == repr(share)


def test_heads_that_the_data_does_not_allow():
    (train, test), run = make_logs(0), make_run(0)
    with pytest.raises(tv.TruevalError, match=r"needs a train log[^$]*no train log[^$]*--train"):
        measured(run, test, None, without_head=0.1)
    with pytest.raises(tv.TruevalError, match=r"is empty[^$]*0.001 of \d+ rated items"):
        measured(run, test, train, without_head=0.001)
    with pytest.raises(tv.TruevalError, match="no relevant test item is left once the head is removed"):
        measured(run, test, train, without_head=0.999)


def test_the_command_line(trueval, files):
    """The items of the files are rated equally often, but for i0, which two more users have in train."""
    extra = pl.DataFrame({"user": ["x", "y"], "item": ["i0", "i0"], "value": [4.0, 4.0]})
    pl.concat([pl.read_csv(files / "train.csv"), extra]).write_csv(files / "more.csv")
    base = ("evaluate", files / "recs.csv", "--test", files / "test.csv", "--metrics", "recall@5,hit@1")
    ran = trueval(*base, "--train", files / "more.csv", "--without-head", "0.1", "--format", "json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    test = pl.read_csv(files / "test.csv").rows()
    counts = Counter([item for _, item, _ in test] + [i for _, i, _ in pl.read_csv(files / "more.csv").rows()])
    head = {item for item, n in counts.items() if n == max(counts.values())}
    assert head == {"i0"}
    assert record["manifest"]["without_head"]["items"] == 1
    lost = sum(item in head for _, item, _ in test)
    assert any(f"{lost} of {len(test)} relevant judgements" in warning for warning in record["warnings"])
    first = {u: i for u, i, s in pl.read_csv(files / "recs.csv").rows() if s == 1}
    hit = sum((u, first[u]) in {(u, i) for u, i, _ in test if i not in head} for u in first) / len(first)
    assert record["systems"]["recs"]["metrics"]["hit@1"]["value"] == pytest.approx(hit)
    shown = trueval(*base, "--train", files / "more.csv", "--without-head", "0.1")
    assert "design given-head10" in shown.out
    for arguments, words in (
        (("--train", files / "more.csv", "--without-head", "0"), "above 0 and below 1"),
        (("--train", files / "more.csv", "--without-head", "-0.1"), "above 0 and below 1"),
        (("--train", files / "more.csv", "--without-head", "10"), "above 0 and below 1"),
        (("--train", files / "more.csv", "--without-head", "much"), "without-head"),
        (("--train", files / "more.csv", "--without-head", "0.01"), "the head to remove is empty"),
        (("--without-head", "0.1"), "--train"),
    ):
        refused = trueval(*base, *arguments, "-o", files / "out.txt")
        assert refused.code == 2
        assert refused.out == ""
        assert words in refused.err
        assert not (files / "out.txt").exists()
    assert "--without-head" in trueval("evaluate", "--help").out
