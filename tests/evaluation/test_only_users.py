"""only_users restricts whom values are about, and nothing else; users is the table of groups. Everywhere alike."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.audit.make_case import DESIGN, make_case
from trueval.errors import DataError, DefinitionError, TruevalError

METRICS = "ndcg@5,recall@10[beta=0.5],recall@10[cap=true],novelty@5,rr,seen@5"
SOME = [1, 4, 5, 9, 16, 25, 36, 49]  # 49 is in no table, 36 in no test set


class Data:
    """A run, and test and train sets, of 40 users."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        pairs = pl.DataFrame({"user": rng.integers(0, 40, 700), "item": rng.integers(0, 30, 700)}).unique(
            maintain_order=True
        )
        pairs = pairs.with_columns(value=pl.Series(rng.integers(1, 6, len(pairs))).cast(pl.Float64))
        tested = (pl.int_range(pl.len()) % 3 == 0) & (pl.col("user") != 36)
        self.test, self.train = pairs.filter(tested), pairs.filter(~tested)
        users = [user for user in range(40) if user != 25]
        self.run = pl.DataFrame({
            "user": np.repeat(users, 12), "item": np.concatenate([rng.permutation(30)[:12] for _ in users]),
            "score": np.round(rng.random(12 * len(users)), 1),
        })  # fmt: skip
        self.users = pl.DataFrame({"user": range(40), "side": [f"s{u % 2}" for u in range(40)]})

    def evaluate(self, recs: Any = None, **asked: Any) -> tv.Result:
        options = {"train": self.train, "threshold": 3, "metrics": METRICS, "interval": "t", **asked}
        return tv.evaluate_run({"run": self.run if recs is None else recs}, self.test, **options)

    def parts(self) -> tv.Parts:
        return tv.split(self.train, "given", test=self.test)


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


def of_some(result: tv.Result) -> pl.DataFrame:
    return result.per_user.filter(pl.col("user").is_in(SOME))


OPTIONS = [
    {"population": "judged"}, {"population": "all"}, {"ties": "expected"}, {"missing": "drop"}, {"condensed": True},
    {"without_head": 0.2, "metrics": "ndcg@5,novelty@5"}, {"compat": "ranx", "metrics": "ndcg@5,rr"},
    {"propensity": "popularity:0.5", "metrics": "snips(recall)@10"},
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, *OPTIONS], ids=str)
def test_values_of_users_stay_what_they_are(data, options):
    whole, only = data.evaluate(**options), data.evaluate(only_users=SOME, **options)
    assert only.per_user.equals(of_some(whole))
    assert 0 < only.per_user["user"].n_unique() < len(SOME)
    for label in ("ndcg@5", "rr"):
        if label in only.per_user.columns:
            mean = of_some(whole)[label].mean()
            assert only["run", label].value == pytest.approx(mean, rel=1e-12)
    assert only.random.keys() == whole.random.keys()


@pytest.mark.parametrize("population", ["relevant", "all"])
def test_metrics_of_all_lists_are_about_these_lists(data, population):
    asked = {"metrics": "coverage@5,gini@5", "population": population, "interval": "none", "ties": "given"}
    only = data.evaluate(only_users=SOME, **asked)
    shown = data.run.sort("user", -pl.col("score"), maintain_order=True).group_by("user", maintain_order=True).head(5)
    known = {*data.run["item"], *data.test["item"], *data.train["item"]}
    relevant = data.test.filter(pl.col("value") >= 3)["user"]
    people = [user for user in SOME if population == "all" or user in relevant]
    distinct = shown.filter(pl.col("user").is_in(people))["item"].n_unique()
    assert only["run", "coverage@5"].value == pytest.approx(distinct / len(known))


@pytest.mark.parametrize("population", ["relevant", "all"])
def test_all_ways_to_read_a_run_give_the_same_bits(data, tmp_path, population):
    path = tmp_path / "run.parquet"
    data.run.write_parquet(path)
    asked = {"only_users": SOME, "population": population, "metrics": METRICS + ",coverage@5"}
    whole = data.evaluate(**asked)
    for recs, more in ((path, {}), (path, {"sorted_by_user": True})):
        assert data.evaluate(recs, **asked, **more).to_json() == whole.to_json()


def test_every_form_of_a_list_of_users(data, tmp_path):
    table = pl.DataFrame({"uid": SOME, "age": range(len(SOME))})
    table.write_csv(tmp_path / "some.csv")
    table.write_parquet(tmp_path / "some.parquet")
    right = data.evaluate(only_users=SOME)
    forms = [tuple(SOME), np.array(SOME), table["uid"], table, table.to_pandas(), tmp_path / "some.csv",
             str(tmp_path / "some.parquet"), [*SOME, 4, 4]]  # fmt: skip
    for form in forms:
        assert data.evaluate(only_users=form).to_json() == right.to_json()


def test_groups_are_those_of_the_users_that_are_left(data):
    only = data.evaluate(users=data.users, by="side", only_users=SOME, min_group=1)
    per_user = of_some(data.evaluate()).join(data.users, on="user")
    for row in only.by("side").filter(pl.col("metric") == "ndcg@5").rows(named=True):
        right = per_user.filter(pl.col("side") == row["group"])["ndcg@5"].mean()
        assert row["value"] == pytest.approx(right)


@pytest.mark.parametrize("population", ["relevant", "judged", "all"])
def test_systems(data, population):
    systems = {"popularity": "popularity", "run": tv.Run(data.run)}
    asked = {"metrics": "ndcg@5,novelty@5", "threshold": 3, "interval": "none", "population": population}
    whole = tv.evaluate(data.parts(), systems, **asked)
    only = tv.evaluate(data.parts(), systems, only_users=SOME, **asked)
    assert only.per_user.equals(of_some(whole))
    assert only.manifest["only_users"]["users"] == len(SOME)
    assert any("of the 8 users of only_users" in note for note in only.warnings)


@pytest.mark.parametrize("kind", ["recs", "systems"])
def test_audits(data, kind):
    subject = {"recs": {"a": data.run}, "systems": ["popularity"]}
    options: dict[str, Any] = dict.fromkeys(
        ("parts", "systems", "validation", "recs", "relevant_change", "unbiased", "items", "users", "by", "columns")
    )
    options |= {"train": data.train, "test": data.test, "metrics": "ndcg@5", "design": DESIGN, "threshold": 3}
    options |= {"population": "relevant", "missing": "zero", "invalid": "refuse", "ties": "random", "min_group": 30}
    options |= {"seed": 0, "only_users": SOME, kind: subject[kind]}
    case = make_case(options.pop("parts"), options.pop("systems"), **options)
    asked = {"metrics": "ndcg@5", "threshold": 3, "interval": "none", "only_users": SOME}
    right = (
        tv.evaluate_run(subject["recs"], data.test, train=data.train, **asked)["a", "ndcg@5"]
        if kind == "recs"
        else tv.evaluate(data.parts(), ["popularity"], **asked)["popularity", "ndcg@5"]
    )
    (name,) = case.measured.names
    assert case.measured.base.value(name, "ndcg@5") == right.value
    assert case.measured.base.users(name, "ndcg@5") == right.n


def test_experiments(data, tmp_path):
    pl.concat([data.train, data.test]).write_parquet(tmp_path / "log.parquet")
    pl.DataFrame({"user": SOME}).write_csv(tmp_path / "some.csv")
    for name, more in (("whole", ""), ("only", 'only_users = "some.csv"')):
        (tmp_path / f"{name}.toml").write_text(
            f'[data]\npath = "log.parquet"\nthreshold = 3\n[evaluation]\nmetrics = "ndcg@5"\n{more}\n'
            "[systems]\npopularity = {}\n"
        )
    whole, only = (tv.run(tmp_path / f"{name}.toml")["AR-TI-AN"] for name in ("whole", "only"))
    assert only.per_user.equals(of_some(whole))
    broken = (tmp_path / "only.toml").read_text().replace("some.csv", "none.csv")
    (tmp_path / "broken.toml").write_text(broken)
    with pytest.raises(TruevalError, match=r"none\.csv[\s\S]*|\[evaluation\] only_users") as caught:
        tv.run(tmp_path / "broken.toml")
    assert "[evaluation] only_users" in str(caught.value)


def test_commands(data, tmp_path, trueval):
    for name in ("run", "train", "test", "users"):
        getattr(data, name).write_csv(tmp_path / f"{name}.csv")
    pl.DataFrame({"user": SOME}).write_csv(tmp_path / "some.csv")
    words = ["evaluate", tmp_path / "run.csv", "--test", tmp_path / "test.csv", "--train", tmp_path / "train.csv",
             "--threshold", "3", "--metrics", METRICS, "--interval", "t"]  # fmt: skip
    ran = trueval(*words, "--only-users", tmp_path / "some.csv", "--format", "json")
    assert json.loads(ran.out) == data.evaluate(only_users=SOME).to_dict()
    ran = trueval(
        *words, "--users", tmp_path / "users.csv", "--by", "side", "--only-users", tmp_path / "some.csv", "--format",
        "json", "--report", tmp_path / "report.html",
    )  # fmt: skip
    found = json.loads(ran.out)["systems"]["run"]
    assert found["metrics"]["rr"]["n"] == data.evaluate(only_users=SOME)["run", "rr"].n
    assert "side" in json.dumps(found["groups"])
    for command in (words, ["audit", *words[2:6], "--recs", tmp_path / "run.csv"]):
        ran = trueval(*command, "--users", tmp_path / "some.csv")
        assert ran.code == 2
        assert "--only-users" in ran.err


def test_a_table_of_users_without_groups_is_refused(data):
    words = [
        lambda: data.evaluate(users=data.users),
        lambda: tv.evaluate(data.parts(), ["popularity"], users=data.users),
        lambda: tv.audit(train=data.train, test=data.test, recs=data.run, users=data.users),
    ]
    for call in words:
        with pytest.raises(DefinitionError, match=r"only_users"):
            call()


@pytest.mark.parametrize(
    ("users", "words"),
    [([77, 78], "none of these users"), (["a"], "different types"), ([], "no rows|empty"), ([3.5], "ids")],
)
def test_users_that_nobody_knows_are_refused(data, users, words):
    with pytest.raises(DataError, match=words):
        data.evaluate(only_users=users)


def test_results_of_other_users_are_not_compared(data):
    whole, only = data.evaluate(metrics="rr"), data.evaluate(metrics="rr", only_users=SOME)
    other = data.evaluate(metrics="rr", only_users=SOME[:-3])
    for old in (whole, other):
        with pytest.raises(DataError, match="only_users"):
            tv.gate(only, old)
    same = tv.gate(only, data.evaluate(metrics="rr", only_users=pl.DataFrame({"user": SOME})))
    assert same.verdict == "cannot tell"  # that no other user loses much, so few cannot say
