"""Values by chance: the mean over all orders of the user's targets, by enumeration and by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from metric_worlds import every_spec, random_world, stratified_specs
from scipy.stats import hypergeom

import trueval as tv
from oracles import naive_metrics as naive
from trueval.data.interactions import Interactions
from trueval.evaluation import measurements
from trueval.facts.views import random_ranking
from trueval.metrics.compute import compute
from trueval.metrics.grammar import parse
from trueval.metrics.incomplete.expected_ranks import mean_inverse_ranks
from trueval.metrics.measure import toy_facts
from trueval.metrics.metric_inputs import Inputs
from trueval.metrics.popularity_strata import STRATA
from trueval.metrics.registry import all_metrics
from trueval.metrics.spec import Spec

ITEMS = list("abcdef")
USERS = ["u0", "u1", "u2"]
THRESHOLD = 3
JUDGED = ("accuracy", "false_positives", "incomplete")  # families whose metrics have a value by chance
PLAIN = every_spec(*JUDGED, cutoffs=(1, 3))
ACCURACY = [spec for spec in PLAIN if spec.metric.family == "accuracy"]
ANTI = [replace(spec, transforms=("anti",)) for spec in ACCURACY[::3] if "gain=" not in str(spec)]
LISTED = [s for s in [*PLAIN, *ANTI] if not s.metric.exact and s.parameters.get("against") != "judged"]
ALONE = [s for s in ACCURACY if s.parameters.get("against") != "judged"]  # what 1R designs can measure


@dataclass(frozen=True)
class Unit:
    targets: list
    judged: dict


@dataclass(frozen=True)
class ChanceWorld:
    """Three users, six items: what everybody had before, and what was judged then, perhaps once more."""

    train: dict
    test: dict
    repeats: bool

    @staticmethod
    def make(seed: int, *, repeats: bool) -> ChanceWorld:
        rng = np.random.default_rng(seed)
        train, test = {}, {}
        for user in USERS:
            order = rng.permutation(ITEMS).tolist()
            train[user] = order[: rng.integers(1, 3)]
            rest = order if repeats else [item for item in order if item not in train[user]]
            known = rng.permutation(rest)[: rng.integers(1, 4)].tolist()
            test[user] = {item: float(rng.integers(1, 6)) for item in known}
        test["u1"] = dict.fromkeys(test["u1"], 1.0)  # nothing relevant
        test["u2"][next(iter(test["u2"]))] = 5.0
        if repeats:
            test["u0"][train["u0"][0]] = 4.0
        return ChanceWorld(train, test, repeats)

    def targets(self, user: str) -> list:
        return [item for item in ITEMS if self.repeats or item not in self.train[user]]

    def units(self) -> list[Unit]:
        return [Unit(self.targets(user), self.test[user]) for user in USERS]

    @property
    def highest(self) -> float:
        return max(v for judged in self.test.values() for v in judged.values())

    def train_table(self) -> pl.DataFrame:
        return table([(u, i) for u, own in self.train.items() for i in own], "user", "item")

    def test_table(self) -> pl.DataFrame:
        return table([(u, i, v) for u, own in self.test.items() for i, v in own.items()], "user", "item", "value")

    def parts(self) -> tv.Parts:
        logs = (("train", self.train_table()), ("test", self.test_table()))
        return tv.Parts(*(Interactions.of(frame, name=name) for name, frame in logs))

    def run(self, seed: int, *, shown: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        lists = {user: rng.permutation(self.targets(user))[:shown].tolist() for user in USERS}
        lists["u0"] = lists["u0"][: shown if shown >= len(ITEMS) else 1]
        return table([(u, i, r) for u, own in lists.items() for r, i in enumerate(own, 1)], "user", "item", "rank")


def table(rows: list[tuple], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=list(columns), orient="row")


CATALOGUE = pl.DataFrame({"item": ITEMS})


def naive_chance(
    spec: Spec, units: Sequence[Unit], highest: float, *, condensed: bool = False, empty: float = math.nan
) -> float:
    """Mean, over the units where it is defined, of the mean over all orders of the targets."""
    given = {n: v for n, v in spec.parameters.items() if n not in STRATA or "count_from" not in spec.parameters}
    if given.get("gmax") == 0:
        given["gmax"] = 1 if spec.transforms else highest
    if condensed and spec.metric.name == "precision" and given["denom"] in ("k", "list"):
        del given["denom"]
    name = f"anti({spec.metric.name})" if spec.transforms else spec.metric.name
    values = [
        naive.expected(name, [u.targets], u.judged, k=spec.k, threshold=THRESHOLD, condensed=condensed, **given)
        for u in units
    ]
    values = [empty if math.isnan(value) else value for value in values]
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def wrong(result: tv.Result, specs: Sequence[Spec], units: Sequence[Unit], highest: float, **how: Any) -> list:
    """Metrics whose value by chance is not that of the oracle."""
    found = {str(spec): (result.random[str(spec)], naive_chance(spec, units, highest, **how)) for spec in specs}
    return [(name, *both) for name, both in found.items() if both[0] != pytest.approx(both[1], abs=1e-12, nan_ok=True)]


def asked(specs: Sequence[Spec], **more: Any) -> dict[str, Any]:
    return {"metrics": [str(spec) for spec in specs], "threshold": THRESHOLD, "interval": "none", **more}


def of(population: str, units: Sequence[Unit]) -> list[Unit]:
    relevant = [u for u in units if any(v >= THRESHOLD for v in u.judged.values())]
    return {"relevant": relevant, "judged": list(units), "all": list(units)}[population]


# ---- enumeration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [False, True], ids=["new items", "repeats"])
@pytest.mark.parametrize(
    ("seed", "how"),
    [
        (0, {}),
        (1, {"population": "judged"}),
        (2, {"population": "all", "ties": "expected"}),
        (3, {"condensed": True}),
        (4, {"condensed": True, "population": "judged", "ties": "worst"}),
        (5, {"ties": "best"}),
    ],
    ids=str,
)
def test_a_run_by_chance_is_the_mean_over_all_orders(seed, how, repeats):
    world = ChanceWorld.make(seed, repeats=repeats)
    specs = LISTED[seed % 2 :: 2]
    result = tv.evaluate_run(
        world.run(seed, shown=2), world.test_table(), train=world.train_table(), items=CATALOGUE,
        seen="allow" if repeats else "exclude", **asked(specs), **how,
    )  # fmt: skip
    units = of(how.get("population", "relevant"), world.units())
    assert wrong(result, specs, units, world.highest, condensed="condensed" in how) == []


@pytest.mark.parametrize("repeats", [False, True], ids=["new items", "repeats"])
def test_a_complete_run_by_chance(repeats):
    """What needs exact ranks has a value by chance, too."""
    world = ChanceWorld.make(7, repeats=repeats)
    specs = [s for s in PLAIN if s.metric.exact]
    result = tv.evaluate_run(
        world.run(7, shown=6), world.test_table(), train=world.train_table(), items=CATALOGUE,
        seen="allow" if repeats else "exclude", **asked(specs),
    )  # fmt: skip
    assert wrong(result, specs, of("relevant", world.units()), world.highest) == []


def test_without_the_head_its_items_are_targets_that_nobody_judged():
    world = ChanceWorld.make(1, repeats=True)
    more = table([(f"v{j}", "a") for j in range(9)], "user", "item")
    specs = LISTED[::3]
    result = tv.evaluate_run(
        world.run(1, shown=2), world.test_table(), train=pl.concat([world.train_table(), more]), items=CATALOGUE,
        seen="allow", without_head=1 / 6, population="judged", **asked(specs),
    )  # fmt: skip
    assert result.manifest["without_head"]["items"] == 1
    units = [Unit(u.targets, {i: v for i, v in u.judged.items() if i != "a"}) for u in world.units()]
    assert wrong(result, specs, [u for u in units if u.judged], world.highest) == []


def test_rules_of_another_library_hold_for_chance_as_well():
    """ranx counts users without relevant items as 0: so they count by chance."""
    world = ChanceWorld.make(2, repeats=False)
    specs = [parse(text) for text in ("recall@1", "ndcg@3", "ap@3", "precision@1")]
    result = tv.evaluate_run(
        world.run(2, shown=6), world.test_table(), train=world.train_table(), items=CATALOGUE, compat="ranx",
        **asked(specs),
    )  # fmt: skip
    assert wrong(result, specs, world.units(), world.highest, empty=0.0) == []


def relevant_of(unit: Unit) -> list:
    return [item for item, value in unit.judged.items() if value >= THRESHOLD]


def alone(units: Sequence[Unit]) -> list[Unit]:
    """1R: each relevant item against what is not relevant."""
    return [
        Unit([i for i in u.targets if i == one or i not in relevant_of(u)], {one: u.judged[one]})
        for u in units
        for one in relevant_of(u)
    ]


def sampled(units: Sequence[Unit], size: int) -> list[Unit]:
    """As many targets as a sample has; which ones they are makes no difference to what is measured here."""
    return [
        Unit([*relevant_of(u), *[f"other {j}" for j in range(min(size, len(u.targets) - len(relevant_of(u))))]],
             {i: v for i, v in u.judged.items() if v >= THRESHOLD})
        for u in units
    ]  # fmt: skip


@pytest.mark.parametrize("system", ["popularity", "cut run"])
@pytest.mark.parametrize("repeats", [False, True], ids=["new items", "repeats"])
@pytest.mark.parametrize("design", ["AR-AI-AN", "AR-TI-AN", "1R-AI-AN", "AR-AI-NN2", "1R-AI-NN2", "AR-AI-AN-condensed"])
def test_designs_by_chance(design, repeats, system):
    world = ChanceWorld.make(3 + repeats, repeats=repeats)
    one, sample = design.startswith("1R"), "NN" in design
    if system == "cut run" and sample:
        pytest.skip("lists say nothing of sampled targets")
    chosen = ALONE[::2] if one else [*ALONE[::2], *(s for s in PLAIN if s.metric.family != "accuracy")]
    if sample:  # what a user dislikes may be in the sample or not: see the simulation
        chosen = [s for s in chosen if s.metric.family == "accuracy"]
    specs = [s for s in chosen if system == "popularity" or not s.metric.exact]
    systems = ["popularity"] if system == "popularity" else {"run": tv.Run(world.run(5, shown=2))}
    # catalogue: AI ranks all of it, TI what somebody's test has
    result = tv.evaluate(
        world.parts(), systems, design=design + "-seen" * repeats, items=CATALOGUE, **asked(specs)
    )  # fmt: skip
    units = of("relevant", world.units())
    if "TI" in design:
        tested = {item for judged in world.test.values() for item in judged}
        units = [Unit([i for i in u.targets if i in tested], u.judged) for u in units]
    units = sampled(units, 2) if sample else units
    units = alone(units) if one else units
    found = {str(s): result.random[f"{s}|n=2" if sample else str(s)] for s in specs}
    result = replace(result, evaluation=replace(result.evaluation, random=found))
    assert wrong(result, specs, units, world.highest, condensed="condensed" in design) == []


# ---- all metrics -----------------------------------------------------------------------------------------


def every_form() -> dict[str, Spec]:
    """Every form of every metric, weights by popularity and by propensity and turned relevance among them."""
    additive = [
        spec for spec in ACCURACY if spec.metric.terms is not None and str(spec) == str(parse(plain_text(spec)))
    ]
    weighted = [parse(f"{how}({plain_text(s)})") for s in additive for how in ("ips", "snips")]
    means = {"recall", "atop", "auc"}  # of which ips is refused
    weighted = [s for s in weighted if "snips" in s.transforms or s.metric.name not in means]
    specs = [*every_spec(cutoffs=(1, 3)), *stratified_specs(cutoffs=(1, 3)), *ANTI, *weighted]
    return {str(spec): spec for spec in specs}


def plain_text(spec: Spec) -> str:
    return spec.metric.name + (f"@{spec.k}" if spec.k else "")


def test_every_metric_has_a_value_by_chance_or_a_reason_to_have_none():
    """A new metric has one without further ado, or is of a family that the README names as having none."""
    world, specs = random_world(41), every_form()
    inputs = replace(world.inputs(), propensity=world.propensity(lambda user, item: 0.5))
    facts = world.facts().changed(score=np.zeros(sum(map(len, world.judged.values()))))
    found = measurements.measure_facts(facts, specs, population="all", inputs=inputs).random
    assert {label for label, spec in specs.items() if not spec.metric.no_chance} == set(found)
    assert {spec.metric.family for label, spec in specs.items() if label in found} == set(JUDGED)
    for label, measured in found.items():
        assert measured.per_unit is not None
        assert np.isfinite(measured.per_unit[facts.R > 0]).any(), label


def test_the_readme_names_the_families_without_a_value_by_chance():
    text = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    families = {metric.family for metric in all_metrics() if metric.no_chance}
    assert families == {"aspects", "errors", "beyond", "quality"}
    said = "aspect diversity, rating error, beyond accuracy and data quality have none"
    assert said in text


# ---- blocks of equals, of any size -----------------------------------------------------------------------


def exact_inverse_ranks(above: int, size: int, judged: int) -> list[float]:
    """E[1/rank] of the j-th of the judged items, from the number of ways in which it is at each place."""
    ways = math.comb(size, judged)
    return [
        float(
            sum(
                Fraction(math.comb(r - 1, j - 1) * math.comb(size - r, judged - j), above + r)
                for r in range(1, size + 1)
            )
            / ways
        )
        for j in range(1, judged + 1)
    ]


@pytest.mark.parametrize("above", [0, 1, 7, 300])
@pytest.mark.parametrize("size", [1, 2, 9, 40, 120])
def test_mean_inverse_ranks_are_exact(above, size):
    numbers = np.unique(np.linspace(1, size, 7).astype(int))
    found = [[math.nan] * number for number in numbers]
    for rows, place, mean in mean_inverse_ranks(np.full(len(numbers), above), np.full(len(numbers), size), numbers):
        for row, j, value in zip(rows, place, mean):
            assert math.isnan(found[row][j - 1])
            found[row][j - 1] = value
    for number, values in zip(numbers, found):
        assert values == pytest.approx(exact_inverse_ranks(above, size, int(number)), rel=1e-12)


@pytest.mark.parametrize(("targets", "relevant", "others"), [(2000, 30, 12), (500, 200, 190), (60, 1, 0), (60, 60, 0)])
def test_bpref_and_infap_of_many_targets(targets, relevant, others):
    """From the distribution of what stands above one relevant item at each rank."""
    judged = {f"i{j}": float(j < relevant) for j in range(relevant + others)}
    run = [f"i{j}" for j in range(targets)]
    facts = random_ranking(toy_facts(run, judged, complete=True))
    rank, more = np.arange(1, targets + 1)[:, None], relevant + others - 1
    s = np.arange(more + 1)[None, :]
    chance = hypergeom.pmf(s, targets - 1, more, rank - 1) / targets
    good = (s * (relevant - 1) / max(more, 1) + 1e-5) / (s + 2e-5)
    for pool, pooled in (("all", rank - 1), ("judged", s)):
        expected = (chance * np.where(rank == 1, 1.0, 1 / rank + pooled / rank * good)).sum()
        found = compute(parse(f"infap[pool={pool}]"), facts, Inputs()).value()
        assert found == pytest.approx(expected, rel=1e-9), pool
    above = np.arange(others + 1)  # as likely at each place among the disliked
    lost = np.minimum(above, relevant) / max(min(others, relevant), 1)
    assert compute(parse("bpref"), facts, Inputs()).value() == pytest.approx(1 - lost.mean(), rel=1e-12)


# ---- simulation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeats", "how"),
    [(False, {}), (True, {}), (True, {"condensed": True})],
    ids=["new items", "repeats", "condensed"],
)
def test_random_runs_score_what_they_score_by_chance(repeats, how):
    rng = np.random.default_rng(11)
    users, items, known = 3000, 14, 4
    order = np.argsort(rng.random((users, items)), axis=1)
    judged = np.argsort(rng.random((users, items)), axis=1)[:, :5] if repeats else order[:, known : known + 5]
    value = rng.integers(1, 6, judged.shape).astype(float)
    shuffled = np.argsort(rng.random((users, items)), axis=1)
    rows = [
        (u, int(item), rank)
        for u in range(users)
        for rank, item in enumerate([i for i in shuffled[u] if repeats or i not in order[u, :known]], 1)
    ]
    train = pl.DataFrame({"user": np.repeat(np.arange(users), known), "item": order[:, :known].ravel()})
    test = pl.DataFrame({"user": np.repeat(np.arange(users), 5), "item": judged.ravel(), "value": value.ravel()})
    metrics = ["ndcg@5", "precision@3", "recall@4", "hit@2", "rr@4", "ap@5", "f1@3", "rbp@5", "err@5", "anti(hit)@2",
               "antiprecision@3", "fallout@3", "bpref", "infap", "infap[pool=judged]"]  # fmt: skip
    result = tv.evaluate_run(
        table(rows, "user", "item", "rank"), test, train=train, items=pl.DataFrame({"item": range(items)}),
        metrics=metrics, threshold=4, interval="none", seen="allow" if repeats else "exclude", **how,
    )  # fmt: skip
    for metric in metrics:
        values = result.per_user[metric].drop_nulls()
        assert abs(values.mean() - result.random[metric]) < 4.5 * values.std() / len(values) ** 0.5, metric


# ---- what is refused, and what has no value by chance ----------------------------------------------------


def refusals(world: ChanceWorld, *, items: pl.DataFrame, seen: bool, tmp_path: Path) -> list[tv.TruevalError | None]:
    """What a design, a run, a streamed run and the second of two runs say."""
    run, test, train = world.run(0, shown=2), world.test_table(), world.train_table()
    run = run.filter(pl.col("item").is_in(items["item"].implode())).sort("user")
    run.write_parquet(tmp_path / "run.parquet")
    how = {"train": train, "items": items, "seen": "allow" if seen else "exclude", **asked([parse("hit@1")])}
    found: list[tv.TruevalError | None] = []
    for call in (
        lambda: tv.evaluate(
            world.parts(), ["popularity"], design="AR-AI-AN" + "-seen" * seen, items=items, **asked([parse("hit@1")])
        ),
        lambda: tv.evaluate_run(run, test, **how),
        lambda: tv.evaluate_run(tmp_path / "run.parquet", test, sorted_by_user=True, **how),
        lambda: tv.evaluate_run({"one": run, "two": run}, test, **how),
    ):
        try:
            call()
            found.append(None)
        except tv.TruevalError as problem:
            found.append(problem)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seen", [False, True], ids=["exclude", "allow"])
@pytest.mark.parametrize("repeats", [False, True], ids=["new items", "repeats"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole catalogue", "part"])
def test_runs_refuse_what_designs_refuse_in_the_same_words(seed, seen, repeats, whole, tmp_path):
    world = ChanceWorld.make(seed, repeats=repeats)
    tested = sorted({item for judged in world.test.values() for item in judged})
    items = CATALOGUE if whole else CATALOGUE.filter(pl.col("item") != tested[0])
    found = refusals(world, items=items, seen=seen, tmp_path=tmp_path)
    said = [None if problem is None else (problem.what, problem.found, problem.do) for problem in found]
    assert said == said[:1] * 4
    expected = "outside the given catalogue" if not whole else "also in the train set" if repeats and not seen else None
    assert said[0] is None if expected is None else expected in said[0][0]


def test_the_command_line_refuses_and_allows(trueval, tmp_path):
    world = ChanceWorld.make(0, repeats=True)
    for name, frame in (("run", world.run(0, shown=2)), ("test", world.test_table()), ("train", world.train_table())):
        frame.write_csv(tmp_path / f"{name}.csv")
    CATALOGUE.write_csv(tmp_path / "items.csv")
    words = ["evaluate", tmp_path / "run.csv", "--metrics", "hit@1"]
    words += [x for name in ("test", "train", "items") for x in (f"--{name}", tmp_path / f"{name}.csv")]
    refused = trueval(*words)
    assert refused.code == 2
    assert "also in the train set" in refused.err
    assert "--seen allow" in refused.err
    allowed = trueval(*words, "--seen", "allow")
    assert allowed.code == 0
    assert "design given-seen" in allowed.out
    assert trueval(*words, "--seen", "perhaps").code == 2


def test_results_with_another_rule_for_seen_items_cannot_be_compared(tmp_path):
    world = ChanceWorld.make(0, repeats=False)
    for seen in ("exclude", "allow"):
        result = tv.evaluate_run(
            {seen: world.run(0, shown=2)}, world.test_table(), train=world.train_table(), seen=seen, metrics="rr"
        )
        result.save(tmp_path / seen)
    with pytest.raises(tv.TruevalError, match="design"):
        tv.compare([tmp_path / "exclude", tmp_path / "allow"], baseline="exclude")


def test_a_user_without_targets_scores_nothing_by_chance(tmp_path, monkeypatch):
    """Who has seen everything has no targets, which is not the same as targets that nobody knows."""
    run = table([(1, "a", 1), (2, "b", 1), (3, "a", 1)], "user", "item", "rank")
    test = table([(1, "a"), (2, "b")], "user", "item")
    train = table([(3, "a"), (3, "b")], "user", "item")
    how = {"train": train, "items": table([("a",), ("b",)], "item"), "population": "all", "metrics": "hit@1"}
    whole = tv.evaluate_run(run, test, **how)
    assert whole.random == {"hit@1": pytest.approx((1 / 2 + 1 / 2 + 0) / 3)}
    run.write_parquet(tmp_path / "run.parquet")
    monkeypatch.setattr("trueval.evaluation.engines.local.STREAMED_ROWS", 1)
    assert tv.evaluate_run(tmp_path / "run.parquet", test, sorted_by_user=True, **how).random == whole.random


def test_no_value_by_chance_where_nobody_knows_the_targets():
    world = ChanceWorld.make(0, repeats=False)
    assert tv.evaluate_run(world.run(0, shown=2), world.test_table(), metrics="hit@1").random == {}


def test_a_value_by_chance_outside_the_range_is_no_result(monkeypatch):
    """Should a defect slip through, it must not become a number."""
    world = ChanceWorld.make(0, repeats=False)
    shuffle = measurements.random_ranking
    monkeypatch.setattr(measurements, "random_ranking", lambda facts: shuffle(facts).changed(tied=facts.relevant * 1))
    with pytest.raises(tv.TruevalError, match=r"precision@1\[denom=list\] by chance is outside its range"):
        tv.evaluate_run(
            world.run(0, shown=2), world.test_table(), items=CATALOGUE, metrics="precision@1[denom=list]",
            population="judged", threshold=1,
        )  # fmt: skip
