"""Choice of parameters: on a validation part alone, repeatable, and never done twice."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, OutputError
from trueval.evaluation import tuning
from trueval.evaluation.tuning import carve, tune
from trueval.splits.uniform import largest_ratio


def make_log(seed: int = 0, users: int = 60, items: int = 30) -> Interactions:
    """Two tastes, so that the number of neighbours matters."""
    rng = np.random.default_rng(seed)
    chance = np.where((np.arange(users)[:, None] % 2) == (np.arange(items) % 2), 0.45, 0.08)
    user, item = np.nonzero(rng.random((users, items)) < chance)
    frame = pl.DataFrame({"user": user, "item": item, "value": rng.integers(1, 6, len(user)).astype(float)})
    return Interactions.of(frame.with_columns(time=pl.Series(rng.permutation(len(user)))))


GRID = {"k": [1, 5, 20], "shrink": [0.0, 3.0]}


@dataclass
class Shift:
    """Scores are the item codes, moved; it counts how often it is fitted, and keeps what it saw."""

    by: float = 0.0
    seen = []  # noqa: RUF012

    def fit(self, train):
        self.items = len(train.items)
        Shift.seen.append((self.by, train.log.item.size, train.users.values.to_list(), train.items.values.to_list()))
        return self

    def score(self, users):
        return np.tile((np.arange(self.items) + self.by) % self.items, (len(users), 1)).astype(float)


@pytest.fixture(autouse=True)
def forget():
    Shift.seen.clear()


def test_values_are_those_of_an_evaluation_on_the_validation_part():
    parts = tv.split(make_log(), "holdout", ratio=0.2, validation=0.2)
    found = tune("itemknn", GRID, data=parts, threshold=3)
    assert len(found.table) == 6
    assert found.table.columns == ["k", "shrink", "ndcg@10", "seconds"]
    shown = {(k, s): value for k, s, value in found.table.select("k", "shrink", "ndcg@10").rows()}
    held = replace(parts, test=parts.validation, validation=None)
    for (k, shrink), value in shown.items():
        alone = tv.evaluate(
            held, {"x": tv.make_system("itemknn", k=k, shrink=shrink)}, threshold=3, metrics="ndcg@10", interval="none"
        )
        assert alone["x", "ndcg@10"].value == value
    assert found.table["ndcg@10"].to_list() == sorted(shown.values(), reverse=True)
    assert shown[found.best["k"], found.best["shrink"]] == max(shown.values())
    assert found.make() == tv.make_system("itemknn", **found.best)
    assert "itemknn by ndcg@10" in str(found)


@pytest.mark.parametrize("validation", [None, 0.2])
def test_the_test_part_is_never_read(validation):
    parts = tv.split(make_log(), "holdout", ratio=0.3, validation=validation)
    other = make_log(9).frame.with_columns(pl.col("user") + 1000, pl.col("item") + 1000, value=pl.lit(5.0))
    swapped = replace(parts, test=Interactions.of(other))
    gone = replace(parts, test=None)
    assert parts.test.fingerprint() != swapped.test.fingerprint()
    tables = [tune("itemknn", GRID, data=each, threshold=3).table.drop("seconds") for each in (parts, swapped, gone)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    tune(Shift, {"by": [0.0]}, data=swapped, threshold=3)
    ((_, rows, users, items),) = Shift.seen
    assert rows <= len(parts.train)
    assert max(users + items) < 1000


def test_lower_is_better_where_it_is():
    parts = tv.split(make_log(), "holdout", validation=0.2)
    up, down = (tune("itemknn", {"k": [1, 3, 9]}, data=parts, threshold=3, metric=m) for m in
                ("precision@5", "anti(precision)@5"))  # fmt: skip
    assert up.table["precision@5"].is_sorted(descending=True)
    assert down.table["anti(precision)@5"].is_sorted()
    with pytest.raises(DefinitionError, match="neither high nor low values of unjudged@10 are better"):
        tune("itemknn", {"k": [1]}, data=parts, metric="unjudged@10")


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("holdout", {"by": "user"}),
        ("temporal", {"ratio": 0.2}),
        ("user_temporal", {}),
        ("leave_one_out", {"which": "last"}),
        ("uniform_test", {"ratio": 0.1}),
    ],
)
def test_the_validation_part_is_carved_like_the_test_part(how, options):
    parts = tv.split(make_log(), how, **options)
    carved = carve(parts)
    assert carved.how["how"] == how
    assert carved.rows == len(parts.train)
    if how == "temporal":
        assert carved.train.frame["time"].max() < carved.test.frame["time"].min()
    assert carve(parts, seed=4).test.fingerprint() == carve(parts, seed=4).test.fingerprint()


def test_the_validation_part_is_a_share_of_the_train_part():
    """Also when both are drawn with the same seed."""
    log = make_log(users=400)
    for ratio in (0.1, 0.5):
        parts = tv.split(log, "holdout", ratio=ratio, seed=3)
        carved = carve(parts, ratio=0.25, seed=3)
        assert len(carved.test) / len(parts.train) == pytest.approx(0.25, abs=0.05)


def test_other_splits_and_logs_are_carved_by_chance():
    log = make_log()
    folds = tv.split(log, "kfold", n=3)
    assert carve(folds[0]).how["how"] == "holdout"
    assert carve(log, ratio=0.5).rows == len(log)
    assert carve(log, seed=1).test.fingerprint() != carve(log, seed=2).test.fingerprint()
    with pytest.raises(DefinitionError, match=r"one split[^$]*3 splits[^$]*folds\[0\]"):
        tune("itemknn", GRID, data=folds)


def test_finished_trials_are_not_done_again(tmp_path):
    parts = tv.split(make_log(), "holdout")
    first = tune(Shift, {"by": [0.0, 1.0]}, data=parts, folder=tmp_path / "trials")
    again = tune(Shift, {"by": [0.0, 1.0, 2.0]}, data=parts, folder=tmp_path / "trials")
    assert [by for by, *_ in Shift.seen] == [0.0, 1.0, 2.0]
    whole = tune(Shift, {"by": [0.0, 1.0, 2.0]}, data=parts)
    assert again.table.drop("seconds").equals(whole.table.drop("seconds"))
    assert set(first.table["ndcg@10"]) <= set(again.table["ndcg@10"])
    assert not [path for path in (tmp_path / "trials").iterdir() if not path.name.startswith("trial-")]
    kept = [json.loads(path.read_text()) for path in (tmp_path / "trials").iterdir()]
    assert sorted(one["parameters"]["by"] for one in kept) == [0, 1, 2]
    assert all(one["metric"] == "ndcg@10" for one in kept)


@pytest.mark.parametrize("change", ["data", "metric", "threshold", "seed", "design"])
def test_other_rules_or_data_are_other_trials(tmp_path, change):
    parts = tv.split(make_log(), "holdout", validation=0.2)
    rules = {"data": parts, "metric": "ndcg@5", "threshold": 3, "seed": 0, "design": "AR-TI-AN"}
    tune(Shift, {"by": [0.0]}, folder=tmp_path, **rules)
    other = tv.split(make_log(1), "holdout", validation=0.2)
    changed = {"data": other, "metric": "ndcg@6", "threshold": 4, "seed": 1, "design": "AR-AI-AN"}
    tune(Shift, {"by": [0.0]}, folder=tmp_path, **{**rules, change: changed[change]})
    assert len(Shift.seen) == 2
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interruption_loses_the_running_trial_alone(tmp_path, monkeypatch):
    parts = tv.split(make_log(), "holdout")
    plain = Shift.fit

    def stopped(self, train):
        if self.by == 2.0:
            raise KeyboardInterrupt
        return plain(self, train)

    monkeypatch.setattr(Shift, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        tune(Shift, {"by": [0.0, 1.0, 2.0, 3.0]}, data=parts, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(Shift, "fit", plain)
    assert len(tune(Shift, {"by": [0.0, 1.0, 2.0, 3.0]}, data=parts, folder=tmp_path).table) == 4
    assert [by for by, *_ in Shift.seen] == [0.0, 1.0, 2.0, 3.0]


def test_the_seed_and_the_threads_decide_nothing_else():
    log = make_log()
    tables = [
        tune("plsa", {"factors": [2, 3]}, data=log, seed=seed, threads=threads).table.drop("seconds")
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    ]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_grids_are_checked_before_anything_runs(monkeypatch):
    parts = tv.split(make_log(), "holdout")
    monkeypatch.setattr(tuning, "evaluate_systems", lambda *_, **__: pytest.fail("a trial was run"))
    for system, grid, told in [
        ("itemknn", {"k": [5, 0]}, "k of itemknn must be at least 1"),
        ("itemknn", {"kk": [5]}, "itemknn has no parameter 'kk'"),
        ("itemknnn", {"k": [5]}, "did you mean itemknn"),
        ("itemknn", {"k": 5}, "the grid needs a list of values for k"),
        ("itemknn", {"feedback": "implicit"}, "the grid needs a list"),
        ("itemknn", {"k": []}, "the grid is empty"),
        ("itemknn", [], "the grid is empty"),
        ("itemknn", [{"k": 1}, {"k": 1}], "the grid has the same trial twice"),
        ("optimal_true", {"threshold": [3.0]}, "nothing to choose"),
        (Shift(), {"by": [1.0]}, "a name, a class or a function"),
        (7, {"by": [1.0]}, "a name, a class or a function"),
    ]:
        with pytest.raises(DefinitionError, match=told):
            tune(system, grid, data=parts)


def test_the_test_part_cannot_be_asked_for():
    parts = tv.split(make_log(), "holdout")
    with pytest.raises(DefinitionError, match=r"must not be chosen on the test part[^$]*validation part is taken"):
        tune("itemknn", GRID, data=parts, on="test")
    with pytest.raises(DefinitionError, match="cannot be chosen on 'train'"):
        tune("itemknn", GRID, data=parts, on="train")


def test_folders_that_cannot_be_used(tmp_path):
    parts = tv.split(make_log(), "holdout")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="trials cannot be saved in this folder"):
        tune(Shift, {"by": [1.0]}, data=parts, folder=tmp_path / "file")
    assert not Shift.seen


def test_trials_that_are_damaged_are_made_again(tmp_path, capsys):
    parts = tv.split(make_log(), "holdout")
    whole = tune(Shift, {"by": [1.0]}, data=parts, folder=tmp_path).table["ndcg@10"]
    (path,) = tmp_path.iterdir()
    written = path.read_bytes()
    value = written.index(b'"value"')
    damages = [
        written[:at] + bytes([written[at] ^ 1 << at % 8]) + written[at + 1 :] for at in range(value, value + 40, 3)
    ]
    for fits, damaged in enumerate([*damages, b"", b"{", written[:-1]], 2):
        path.write_bytes(damaged)
        again = tune(Shift, {"by": [1.0]}, data=parts, folder=tmp_path).table["ndcg@10"]
        assert again.equals(whole)
        assert len(Shift.seen) == fits
        assert "damaged and is computed again" in capsys.readouterr().err


def test_lists_of_trials_and_functions():
    log = make_log()
    found = tune("userknn[feedback=explicit]", [{"k": 3}, {"k": 9, "shrink": 2.0}], data=log)
    assert found.system == "userknn[feedback=explicit]"
    assert set(found.table.columns) == {"k", "shrink", "ndcg@10", "seconds"}
    assert found.make().feedback == "explicit"
    made = tune(lambda depth: tv.make_system("plsa", factors=depth, iterations=3), {"depth": [1, 4]}, data=log)
    assert made.make().n_factors == made.best["depth"]


def ratings_of_items(log: Interactions) -> set[int]:
    """How often the items of a log were rated."""
    return set(log.frame["item"].value_counts()["count"].to_list())


@pytest.mark.parametrize("how", ["uniform_test", "holdout", "temporal", None])
@pytest.mark.parametrize("design", ["U1R", "UAR"])
def test_uniform_designs_are_tuned_on_a_uniform_validation_part(how, design):
    """Whatever the split, and without the test part."""
    log = make_log()
    data = log if how is None else tv.split(log, how, ratio=0.2, seed=2)
    found = tune("itemknn", GRID, data=data, design=design, metric="rr", threshold=1)
    told = found.manifest["split"]
    assert (told["how"], told["ratio"], found.manifest["design"]) == ("uniform_test", 0.2, design)
    carved = carve(data, uniform=True)
    assert ratings_of_items(carved.test) == {told["eta"]}
    assert carved.test.fingerprint() == found.manifest["validation"]
    assert carved.rows == len(log if how is None else data.train)
    held = {(k, s): tv.evaluate(carved, {"x": tv.make_system("itemknn", k=k, shrink=s)}, design=design, metrics="rr",
                                threshold=1, interval="none")["x", "rr"].value
            for k in GRID["k"] for s in GRID["shrink"]}  # fmt: skip
    assert {(k, s): value for k, s, value in found.table.select("k", "shrink", "rr").rows()} == held
    if how is not None:
        gone = tune("itemknn", GRID, data=replace(data, test=None), design=design, metric="rr", threshold=1)
        assert gone.table.drop("seconds").equals(found.table.drop("seconds"))


def test_popularity_earns_nothing_on_the_validation_part_of_a_uniform_design():
    """Ranked by how often they were rated, the items of a uniform part are hit as by chance; of another, above."""
    rng = np.random.default_rng(3)
    chance = 0.6 / np.sqrt(np.arange(1, 61))
    user, item = np.nonzero(rng.random((600, 60)) < chance)
    log = Interactions.of(pl.DataFrame({"user": user, "item": item}))
    parts = tv.split(log, "uniform_test", ratio=0.2)
    pairs = {}
    for name, carved in (("uniform", carve(parts, uniform=True)), ("plain", carve(replace(parts, how={})))):
        design = "U1R" if name == "uniform" else "1R-TI-AN"
        result = tv.evaluate(carved, ["popularity"], design=design, metrics="auc", interval="t", level=0.999)
        pairs[name] = (result["popularity", "auc"], result.random["auc"])
    (estimate, by_chance), (biased, other) = pairs["uniform"], pairs["plain"]
    assert by_chance == other == 0.5
    assert biased.low > 0.5
    # users have seen more of the popular items, so that popularity is at a disadvantage if anything
    assert estimate.low < 0.5
    assert estimate.value < biased.value


def test_a_uniform_test_part_has_a_uniform_validation_part_under_every_design():
    parts = tv.split(make_log(), "uniform_test", ratio=0.2, eps=0.3, round="nearest", threshold=2)
    carved = carve(parts)
    shared = {name: carved.how[name] for name in ("how", "eps", "round", "threshold")}
    assert shared == {"how": "uniform_test", "eps": 0.3, "round": "nearest", "threshold": 2}
    assert tune("itemknn", {"k": [2]}, data=parts, threshold=2).manifest["split"]["how"] == "uniform_test"


def test_the_share_is_what_a_uniform_part_can_have():
    """A uniform part of a fifth may not exist: the largest is taken. What was asked for is not changed."""
    often = [64, 60, 16, 8, 4, 2]
    rows = [(100 * i + u, i) for i, n in enumerate(often) for u in range(n)]
    few = Interactions.of(pl.DataFrame(rows, schema=["user", "item"], orient="row"))
    largest = 0.2 * 2 * 60 / sum(often)  # (1 - eps) · k · |R(i_k)| / |R|, the most for two items
    assert largest_ratio(few, eps=0.8) == int(1e4 * largest) / 1e4 < 0.2
    uniform = tv.split(few, "uniform_test", ratio=0.1, eps=0.8)
    told = tune("popularity", [{}], data=uniform, design="U1R", metric="auc").manifest["split"]
    assert told["ratio"] == largest_ratio(uniform.train, eps=0.8) < 0.2
    assert told["items"] == 2
    with pytest.raises(DefinitionError, match="the largest possible ratio"):
        tune("popularity", [{}], data=uniform, design="U1R", metric="auc", ratio=0.2)


def test_a_validation_part_that_came_along_must_be_uniform_for_a_uniform_design():
    parts = carve(make_log(), uniform=True)
    mine = replace(parts, validation=parts.test, test=None, how={})
    found = tune("itemknn", {"k": [2]}, data=mine, design="U1R", metric="rr")
    assert found.manifest["validation"] == parts.test.fingerprint()
    other = tv.split(make_log(), "holdout", validation=0.2)
    with pytest.raises(DefinitionError, match=r"needs a uniform[^$]*ratings of an item[^$]*omit the validation part"):
        tune("itemknn", {"k": [2]}, data=other, design="U1R", metric="rr")


def test_trials_of_other_versions_are_removed_after_a_search(tmp_path, monkeypatch, capsys):
    parts = tv.split(make_log(), "holdout")
    with monkeypatch.context() as patched:
        patched.setattr(tv, "__version__", "0.0.1")
        tune(Shift, {"by": [0.0, 1.0]}, data=parts, folder=tmp_path)
    (tmp_path / "trial-notes.json").write_text("mine")
    old = set(tmp_path.iterdir())
    plain = Shift.fit
    monkeypatch.setattr(Shift, "fit", lambda self, train: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tune(Shift, {"by": [0.0]}, data=parts, folder=tmp_path)
    assert set(tmp_path.iterdir()) == old
    monkeypatch.setattr(Shift, "fit", plain)
    tune(Shift, {"by": [0.0]}, data=parts, folder=tmp_path, metric="ndcg@5")
    tune(Shift, {"by": [0.0]}, data=parts, folder=tmp_path)
    assert "removed trials of other versions of trueval: 2" in capsys.readouterr().err
    left = {path.name for path in tmp_path.iterdir()}
    assert len(left) == 3  # one by each metric, and what is not ours
    assert "trial-notes.json" in left
