"""One popularity wherever it is counted: the users of an item, or its rows where the log counts those.

Where users count, rows that repeat a pair change nothing: every design, system, metric and propensity is as if they
were not there. Where rows count, the counts are those of a loop over the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import trueval as tv
from trueval.cli.app import make_app
from trueval.data.interactions import Interactions
from trueval.design.design import Design
from trueval.design.popular_head import count_ratings, find_head
from trueval.design.task import make_tasks
from trueval.errors import DefinitionError
from trueval.experiments.experiment import read_experiment
from trueval.metrics.metric_inputs import Positives
from trueval.propensity.propensity import Propensity
from trueval.splits import Parts, load_parts, save_parts

METRICS = (
    "ndcg@5,recall[beta=0.5]@5,novelty@5,epc@5,efd@5,average_popularity@5,popularity_rank@5,head_share@5,tail_share@5,"
    "tail_coverage@5,serendipity@5,cold@5,snips(recall@5)"
)
DESIGNS = ["AR-TI-AN", "AR-AI-AN-head10", "P1R4-TI-NN5", "1R-AI-NN20pop"]
USERS, ITEMS = 40, 60


def once() -> Parts:
    rng = np.random.default_rng(11)
    cells = np.flatnonzero(rng.random(USERS * ITEMS) < np.tile(np.linspace(0.05, 0.6, ITEMS), USERS))
    values = rng.integers(1, 6, len(cells)).astype(float)
    table = pl.DataFrame({"user": cells // ITEMS, "item": cells % ITEMS, "value": values})
    return tv.split(table, "holdout", ratio=0.3, seed=3)


def with_repeats(parts: Parts, *, count: str = "users") -> Parts:
    """The same, with up to twenty rows of some train pairs, most of them of items that few users have."""
    rng = np.random.default_rng(12)
    frame = parts.train.frame
    most = np.where(frame["item"].to_numpy() < 15, 20, 2)
    rows = np.repeat(np.arange(len(frame)), rng.integers(1, most + 1))
    train = parts.train.keep(frame[rows].sample(fraction=1, shuffle=True, seed=1))
    return replace(parts, train=replace(train, count=count), test=replace(parts.test, count=count))


def table(parts: Parts, design: str) -> pl.DataFrame:
    by = {} if design.startswith(("P1R", "1R")) else {"by": ["activity", "taste", "popularity"]}
    metrics = METRICS if by else "ndcg@5,recall@5,rr@5"
    result = tv.evaluate(
        parts, ["popularity", "itemknn", "allrank_pop[factors=5]", "optimal_precision"], design=design, metrics=metrics,
        interval="none", propensity="popularity:1", threshold=4, **by,
    )  # fmt: skip
    return result.table()


@pytest.mark.parametrize("design", DESIGNS)
def test_repeated_rows_change_nothing_where_users_count(design):
    assert table(with_repeats(once()), design).equals(table(once(), design))


@pytest.mark.parametrize("design", DESIGNS)
def test_without_repeats_both_counts_are_the_same(design):
    parts = once()
    rows = replace(parts, train=replace(parts.train, count="rows"), test=replace(parts.test, count="rows"))
    assert table(rows, design).equals(table(parts, design))


def test_repeated_rows_change_what_counts_rows():
    assert not table(with_repeats(once(), count="rows"), DESIGNS[0]).equals(table(once(), DESIGNS[0]))


@pytest.mark.parametrize("count", ["users", "rows"])
def test_every_place_counts_the_same(count):
    parts = with_repeats(once(), count=count)
    rows = parts.train.frame.rows()
    own = Counter(item for _, item, _ in rows) if count == "rows" else Counter(i for _, i in {r[:2] for r in rows})
    test = Counter(item for _, item, _ in parts.test.frame.rows())
    liked = [r[:2] for r in rows if r[2] >= 4]
    relevant = Counter(i for _, i in (liked if count == "rows" else set(liked)))

    (task,) = make_tasks(parts, Design.parse("AR-AI-AN"), threshold=4)
    names = task.items.values.to_list()
    assert count_ratings(parts.train, parts.test, task.items).tolist() == [own[i] + test[i] for i in names]
    positives = Positives.of(parts.train, parts.test, task.items, 4)
    assert positives.train().tolist() == [relevant[i] for i in names]

    p = Propensity.popularity(parts.train, gamma=1)
    most = max(own.values())
    assert dict(p.table.select("item", "p").rows()) == pytest.approx({i: n / most for i, n in own.items()})
    assert f"count as 0.5 {count}" in p.source

    seen: list[np.ndarray] = []

    class Spy:
        def fit(self, train):
            seen.append(train.popularity)
            return self

        def score(self, users):
            return np.zeros((len(users), len(names)), np.float32)

    tv.evaluate(parts, {"spy": Spy()}, metrics="ndcg@5", interval="none", threshold=4)
    assert seen[0].tolist() == [own[i] for i in names]

    head = set(task.items.decode(find_head(np.array([own[i] + test[i] for i in names]), 0.1, where="test")))
    (headless,) = make_tasks(parts, Design.parse("AR-AI-AN-head10"), threshold=4)
    assert set(headless.items.decode(headless.candidates)) == set(names) - head


def test_metrics_of_known_items_count_users_and_others_what_the_log_counts():
    """One list of two items; 'a' has 1 user with 9 rows, 'b' has 3 users, of 4 users in all."""
    train = pl.DataFrame({"user": [1] * 9 + [1, 2, 3, 4], "item": ["a"] * 9 + ["b", "b", "b", "c"]})
    test = pl.DataFrame({"user": [4], "item": ["a"]})
    recs = pl.DataFrame({"user": [4, 4], "item": ["a", "b"], "rank": [1, 2]})
    asked = "novelty@2,epc[relevance=false]@1,efd[relevance=false]@1,average_popularity@2"
    told = {}
    for count in ("users", "rows"):
        result = tv.evaluate_run(recs, test, train=tv.read(train, count=count), metrics=asked, interval="none")
        told[count] = [estimate.value for estimate in result["run"].values()]
    novelty, epc = -(np.log2(1 / 4) + np.log2(3 / 4)) / 2, 1 - 1 / 4
    assert told["users"] == pytest.approx([novelty, epc, -np.log2(1 / 5), (1 + 3) / 2])
    assert told["rows"] == pytest.approx([novelty, epc, -np.log2(9 / 13), (9 + 3) / 2])


def test_repeats_are_told():
    parts = with_repeats(once())
    counts = Counter(row[:2] for row in parts.train.frame.rows())
    several = [rows for rows in counts.values() if rows > 1]
    told = f"{len(several):,} train pairs of user and item have several rows, {sum(several):,} in all"
    (warning,) = [w for w in tv.evaluate(parts, ["popularity"], threshold=4).warnings if "several rows" in w]
    assert (
        warning == f"{told}; systems learn each pair once, with the mean of its values; popularity counts users, "
        'each once per item (count="rows" counts rows)'
    )
    recs = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [1, 2]})
    run = tv.evaluate_run(recs, parts.test, train=parts.train, threshold=4, seen="allow")
    assert [w for w in run.warnings if w.startswith(told)] == [f"{told}; {warning.split('; ')[-1]}"]
    assert not [w for w in tv.evaluate(once(), ["popularity"], threshold=4).warnings if "several rows" in w]


def test_a_uniform_test_draws_ratings_or_rows():
    rng = np.random.default_rng(4)
    parts = once()
    whole = pl.concat([parts.train.frame, parts.test.frame])
    rows = whole[np.repeat(np.arange(len(whole)), rng.integers(1, 5, len(whole)))]
    plain, several = (tv.split(Interactions.of(table), "uniform_test", ratio=0.1) for table in (whole, rows))
    assert several.eta == plain.eta
    pairs = several.test.frame.select("user", "item").unique()
    assert set(Counter(pairs["item"]).values()) == {several.eta}  # judged are pairs, and each item has as many
    assert sorted(several.candidates) == sorted(plain.candidates)
    assert tv.leakage(several)["overlap"].count == 0
    again = tv.split(Interactions.of(rows.sample(fraction=1, shuffle=True, seed=2)), "uniform_test", ratio=0.1)
    assert again.test.frame.sort(pl.all()).equals(several.test.frame.sort(pl.all()))
    each = tv.split(Interactions.of(rows, count="rows"), "uniform_test", ratio=0.1)
    assert set(Counter(each.test.frame["item"]).values()) == {each.eta}
    assert each.eta > plain.eta


def test_the_count_travels_with_the_log(tmp_path):
    log = tv.read(once().train, count="rows")
    assert tv.read(log).count == tv.read(log, name="other").count == "rows"
    assert tv.read(log, count="users").count == "users"
    parts = tv.split(log, "holdout")
    assert parts.train.count == parts.test.count == "rows"
    save_parts(parts, tmp_path / "parts")
    assert load_parts(tmp_path / "parts").train.count == "rows"
    assert log.fingerprint() != tv.read(log, count="users").fingerprint()
    for wrong in ("plays", ""):
        with pytest.raises(DefinitionError, match="users or rows"):
            tv.read(log, count=wrong)
    with pytest.raises(DefinitionError, match="users or rows"):
        Interactions.of(log.frame, count="user")


def test_commands_and_experiment_files_take_the_count(tmp_path):
    parts = with_repeats(once())
    log = tmp_path / "plays.csv"
    parts.train.frame.write_csv(log)
    runner, app = CliRunner(), make_app()
    told = [runner.invoke(app, ["data", "info", str(log), "--count", count]).stdout for count in ("users", "rows")]
    assert "of the users per item" in told[0]
    assert "of the rows per item" in told[1]
    made = ["split", str(log), "--how", "holdout", "--count", "rows", "-o", str(tmp_path / "parts"), "--quiet"]
    assert runner.invoke(app, made).exit_code == 0
    assert load_parts(tmp_path / "parts").train.count == "rows"
    wrong = runner.invoke(app, ["data", "info", str(log), "--count", "plays"])
    assert isinstance(wrong.exception, DefinitionError)

    def written(count):
        chosen = {"data": {"path": str(log), "count": count}, "systems": {"popularity": {}}}
        return {**chosen, "evaluation": {"metrics": ["ndcg@10"]}}

    assert read_experiment(written("rows")).source.read_log().count == "rows"
    with pytest.raises(DefinitionError, match="users or rows"):
        read_experiment(written("plays"))
