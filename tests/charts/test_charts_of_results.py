"""Charts of evaluations: their numbers against others' computations, and pictures of plain and of hard data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest
from scipy.stats import ecdf, kendalltau

import trueval as tv
from trueval.charts.labels import place_labels
from trueval.charts.offered import OFFERS
from trueval.charts.popularity import by_rank, lorenz_points
from trueval.charts.short_names import short_names
from trueval.charts.users import STEPS, distribution
from trueval.errors import DefinitionError

USERS, ITEMS, K = 90, 30, 5
METRICS = "ndcg@1,ndcg@3,ndcg@5,precision@5,antiprecision@5,coverage@5,gini@5"
LONG = [f'a <very> "long" & odd\x1b name of a system, number {i}, rate=0.00{i}' for i in range(10)]
NAMES = list(OFFERS["result"])


def recommended(quality: float, seed: int) -> pl.DataFrame:
    """Lists with more or fewer of the items that users like in the first place."""
    rng = np.random.default_rng(seed)
    lists = [rng.permutation(ITEMS)[:K] for _ in range(USERS)]
    for user, own in enumerate(lists):
        if rng.random() < quality:
            own[0] = next(i for i in (user % ITEMS, *range(ITEMS)) if i == user % ITEMS or i not in own)
            rest = [i for i in rng.permutation(ITEMS) if i != own[0]]
            own[1:] = rest[: K - 1]
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(USERS), K),
            "item": np.concatenate(lists),
            "rank": np.tile(np.arange(1, K + 1), USERS),
        }
    )


def held_out() -> pl.DataFrame:
    users = np.arange(USERS)
    items = np.stack([users % ITEMS, (users + 7) % ITEMS, (users + 9) % ITEMS], axis=1)
    return pl.DataFrame({"user": np.repeat(users, 3), "item": items.ravel(), "rating": [5, 2, 4] * USERS})


TRAIN = pl.DataFrame({"user": np.arange(USERS), "item": (np.arange(USERS) ** 2) % 17})
GROUPS = pl.DataFrame({"user": range(USERS), "country": [("at", "it", "<b>")[u % 3] for u in range(USERS)]})


def evaluated(runs, **options):
    own = {"metrics": METRICS, "threshold": 4, "train": TRAIN, "seen": "allow", "users": GROUPS, "by": "country"}
    return tv.evaluate_run(runs, held_out(), **(own | {"min_group": 1, "resamples": 100} | options))


@pytest.fixture(scope="module")
def ten() -> tv.Result:
    return evaluated({name: recommended(i / 10, i) for i, name in enumerate(LONG)})


@pytest.mark.parametrize("name", NAMES)
def test_pictures_of_ten_systems_with_long_names(ten, name):
    chart = ten.plot(name, **({"metrics": ["ndcg@5", "coverage@5"]} if name == "differences" else {}))
    svg = chart.to_svg(page=True)
    ET.fromstring(svg)
    ET.fromstring(chart.to_svg())
    assert len(svg) < 40_000
    assert "<very>" not in svg
    assert "\x1b" not in chart.to_html()
    assert chart.name == name
    assert len(chart.description) > 40


@pytest.mark.parametrize("name", NAMES)
def test_nothing_depends_on_intervals(name):
    found = evaluated({"a": recommended(0.2, 1), "b": recommended(0.8, 2)}, interval="none")
    ET.fromstring(found.plot(name).to_svg())
    if name not in ("differences",):
        assert "interval" not in found.plot(name).description


@pytest.mark.parametrize("name", NAMES)
def test_values_that_are_all_zero(name):
    wrong = pl.DataFrame({"user": range(USERS), "item": [(u + 3) % ITEMS for u in range(USERS)], "rank": 1})
    found = evaluated({"a": wrong, "b": wrong, "c": wrong})
    assert found["a", "ndcg@5"].value == 0
    ET.fromstring(found.plot(name).to_svg())


def test_one_system_and_one_metric_say_what_is_missing():
    found = tv.evaluate_run(recommended(0.5, 0), held_out(), threshold=4, metrics="ndcg@5", interval="none")
    for name in ("users", "popularity"):
        ET.fromstring(found.plot(name).to_svg())
    for name, needed in (
        ("differences", "two systems"), ("cutoffs", "several cutoffs"), ("tradeoff", "beyond accuracy"),
        ("false_positives", "antiprecision"), ("groups", "by group"),
    ):  # fmt: skip
        with pytest.raises(DefinitionError, match=needed) as told:
            found.plot(name)
        assert told.value.do


def test_unknown_names_and_options_list_the_known_ones(ten):
    with pytest.raises(DefinitionError, match="no chart") as told:
        ten.plot("pie")
    assert all(f"{name} (needs " in told.value.do for name in NAMES)
    with pytest.raises(DefinitionError, match="no option 'colour'") as told:
        ten.plot("tradeoff", colour="red")
    assert "accuracy, beyond" in told.value.do
    with pytest.raises(DefinitionError, match="must be a string"):
        ten.plot("users", metric=3)
    with pytest.raises(DefinitionError, match="several cutoffs"):
        ten.plot("cutoffs", metric="precision")
    with pytest.raises(DefinitionError, match="one value for a whole system"):
        ten.plot("users", metric="coverage@5")


def test_cutoffs_are_the_values_of_the_table(ten):
    table = {(row["system"], row["metric"]): row for row in ten.table().filter(pl.col("group").is_null()).to_dicts()}
    chart = ten.plot("cutoffs", metric="ndcg@3")
    assert len(chart.data) == 30
    for row in chart.data.to_dicts():
        own = table[row["system"], f"ndcg@{row['cutoff']}"]
        assert (row["value"], row["low"], row["high"]) == (own["value"], own["low"], own["high"])


def test_cutoffs_name_the_lowest_where_lower_is_better():
    found = evaluated({"a": recommended(0.2, 1), "b": recommended(0.8, 2)}, metrics="gini@1,gini@5", interval="none")
    data = found.plot("cutoffs").data.filter(pl.col("cutoff") == 1)
    low = data.sort("value")["system"][0]
    assert found.plot("cutoffs").description.startswith(f"Lowest gini: {low} at 1")


def test_the_distribution_over_users_against_scipy(ten):
    chart = ten.plot("users", metric="ndcg@5")
    for name in LONG:
        values = ten.per_user.filter(pl.col("system") == name)["ndcg@5"].to_numpy()
        expected = ecdf(values).cdf
        own = chart.data.filter(pl.col("system") == name)
        np.testing.assert_allclose(own["users_at_most"], expected.evaluate(own["value"].to_numpy()))
        assert own["users_at_most"][-1] == 1
    assert "% at 0" in chart.description


def test_a_million_users_are_a_few_numbers_and_masses_stay():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1_000_000) < 0.6, 0.0, rng.random(1_000_000))
    values[:100_000] = 1.0
    found = distribution(values)
    assert len(found) <= STEPS + 1
    assert found.row(0) == pytest.approx((0.0, (values == 0).mean()))
    before, last = found["users_at_most"][-2:]
    assert last == 1
    assert found["value"][-1] == 1.0
    assert 0 <= float((values < 1).mean()) - before <= 1 / STEPS
    steps = np.diff(found["users_at_most"].to_numpy()[:-1])
    assert steps.max() <= 1 / STEPS + 1e-6  # between masses


def test_repeats_are_shown_together():
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((40, 30)) < 0.4)
    parts = tv.split(pl.DataFrame({"user": user, "item": item}), "holdout", ratio=0.3)
    found = tv.evaluate(parts, ["popularity", "random"], metrics="ndcg@5,ndcg@10", seed=[1, 2], interval="none")
    chart = found.plot("users", metric="ndcg@5")
    both = found.per_user.filter(pl.col("system") == "random")["ndcg@5"].drop_nulls()
    own = chart.data.filter(pl.col("system") == "random")
    assert own["users_at_most"][0] == pytest.approx(float((both <= own["value"][0]).mean()))
    assert "of 2 repeats together" in chart.description
    ET.fromstring(found.plot("cutoffs").to_svg())
    with pytest.raises(DefinitionError, match="every fold or seed") as told:
        found.plot("popularity")
    assert 'result.repeats["seed 1"]' in told.value.do
    ET.fromstring(tv.Result(found.repeats["seed 1"]).plot("popularity").to_svg())


def test_lorenz_curve_and_gini(ten):
    chart = ten.plot("popularity")
    counts = {name: np.zeros(ITEMS) for name in LONG}
    for i, name in enumerate(LONG):
        np.add.at(counts[name], recommended(i / 10, i)["item"].to_numpy(), 1)
    for name, own in counts.items():
        curve = np.concatenate([[0], np.cumsum(np.sort(own)) / own.sum()])
        drawn = chart.data.filter((pl.col("system") == name) & (pl.col("by") == "share of items"))
        np.testing.assert_allclose(np.interp(drawn["at"], np.arange(ITEMS + 1) / ITEMS, curve), drawn["share"])
        apart = np.abs(own[:, None] - own[None]).sum() / (2 * ITEMS * own.sum())
        assert ten[name, "gini@5"].value == pytest.approx(apart)
    first = np.abs(counts[LONG[0]][:, None] - counts[LONG[0]]).sum() / (2 * ITEMS * counts[LONG[0]].sum())
    assert f"Gini {first:.2f}" in chart.description


def test_frequencies_by_popularity_rank_add_up():
    rng = np.random.default_rng(5)
    counts, popularity = rng.integers(0, 9, 100).astype(float), rng.permutation(100)
    found = by_rank(counts, popularity)
    ordered = counts[np.argsort(-popularity)] / counts.sum()
    ends = [1, 2, 4, 8, 16, 32, 64, 100]
    expected = [ordered[a:b].mean() for a, b in zip([0, *ends], ends)]
    np.testing.assert_allclose(found["share"], expected)
    sizes = np.diff([0, *ends])
    assert found["share"].to_numpy() @ sizes == pytest.approx(1)


def test_few_points_of_a_long_lorenz_curve():
    counts = np.concatenate([np.zeros(50_000), np.arange(1.0, 50_001)])
    found = lorenz_points(counts)
    assert len(found) < 30
    assert (0.5, 0.0) in found.rows()  # where it leaves the axis
    assert found.row(-1) == (1.0, 1.0)


def test_tradeoff_is_the_table(ten):
    chart = ten.plot("tradeoff", accuracy="ndcg@5", beyond="gini@5")
    for row in chart.data.to_dicts():
        assert row["ndcg@5"] == ten[row["system"], "ndcg@5"].value
        assert row["gini@5_low"] == ten[row["system"], "gini@5"].low
    with pytest.raises(DefinitionError, match="two metrics"):
        ten.plot("tradeoff", accuracy="ndcg@5", beyond="ndcg@5")


def test_tau_of_false_positives_against_scipy(ten):
    chart = ten.plot("false_positives")
    liked, disliked = ([ten[name, metric].value for name in LONG] for metric in ("precision@5", "antiprecision@5"))
    tau = kendalltau(liked, [-value for value in disliked]).statistic
    assert chart.title.endswith(f"τ = {tau:.2f}".replace("-", "−"))


def test_groups_are_the_table(ten):
    chart = ten.plot("groups", metric="precision@5")
    table = ten.by("country").filter(pl.col("metric") == "precision@5")
    assert (
        chart.data.select("system", "group", "value", "low", "high").rows()
        == table.select("system", "group", "value", "low", "high").rows()
    )
    assert set(chart.data["users"]) == {30}
    assert "30 users" in chart.to_svg()


def test_short_names_stay_different():
    made = short_names([f"{'x' * 40}{i}{'y' * 40}" for i in range(20)])
    assert len(set(made.values())) == 20
    assert max(map(len, made.values())) <= 30


def test_labels_do_not_hide_each_other():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 560, 8), rng.uniform(0, 340, 8)
    assert place_labels(x.tolist(), y.tolist(), ["a name"] * 8, width=560, height=340) is not None


def test_the_declaration_holds_no_rows_of_users(ten):
    assert len(json.dumps(ten.plot("users").spec())) < 30_000


def test_charts_are_loaded_only_when_drawn():
    code = (
        "import sys, polars as pl, trueval as tv\n"
        "t = pl.DataFrame({'user': [1, 2], 'item': [1, 2]})\n"
        "r = tv.evaluate_run(t.with_columns(rank=1), t, metrics='hit@1', interval='none')\n"
        "print(any(name.startswith('trueval.charts') for name in sys.modules), end=' ')\n"
        "r.plot('users').description\n"
        "print({'altair', 'vl_convert'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False set()"


def test_a_system_may_be_called_train():
    found = evaluated({"train": recommended(0.5, 1), "b": recommended(0.1, 2)})
    svg = found.plot("popularity").to_svg()
    assert re.search(r">train</text>", svg)
    assert "train log</text>" in svg
