"""Results brought together: different systems of one seed, the same systems of several, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from comparison_worlds import evaluation_of, system_of, world
from scipy import stats

import trueval as tv
from trueval.api import Result
from trueval.comparison.join_results import check_comparable
from trueval.comparison.mean_error import nested_mean
from trueval.errors import DataError, DefinitionError

RNG = np.random.default_rng(21)
BASE = RNG.random(40)


def result(values, users=None, **rules):
    return Result(world({n: {"ndcg@10": v} for n, v in values.items()}, users=users, **rules))


def test_different_systems_are_joined_over_common_users():
    a = result({"a": BASE[:30]}, users=range(30))
    b = result({"b": BASE[10:] + 0.1 * BASE[10:] ** 2}, users=range(10, 40))
    (c,) = tv.compare([a, b], baseline="a")
    assert (c.system, c.n) == ("b", 20)
    assert c.difference == pytest.approx((0.1 * BASE[10:30] ** 2).mean())


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("design", ("given", "AR-TI-AN")),
        ("population", ("relevant", "all")),
        ("ties", ("random", "worst")),
        ("threshold", (None, 4)),
        ("split", ({"how": "holdout", "ratio": 0.2, "seed": 1}, {"how": "holdout", "ratio": 0.3, "seed": 1})),
        ("data", ({"test": "abc"}, {"test": "abd"})),
        ("definitions", ({"ndcg@10": "gain=linear"}, {"ndcg@10": "gain=exp2"})),
        ("compat", ("ranx", None)),
        ("propensity", ({"source": "popularity:1"}, {"source": "popularity:2"})),
    ],
)
def test_different_rules_are_refused_by_name(field, values):
    one, other = (result({name: BASE}, **{field: v}) for name, v in zip("ab", values))
    with pytest.raises(DataError) as refused:
        tv.compare([one, other])
    assert field in refused.value.found
    leaves = [next(iter(v.values())) if isinstance(v, dict) and field != "split" else v for v in values]
    if field == "split":
        assert refused.value.found == "split.ratio: 0.2 and 0.3"
    else:
        for leaf in leaves:
            assert ("not given" if leaf is None else str(leaf)) in refused.value.found


def test_every_difference_is_listed():
    one, other = result({"a": BASE}), result({"b": BASE}, design="x", ties="worst", population="all")
    with pytest.raises(DataError) as refused:
        tv.compare([one, other])
    assert refused.value.found.split("\n") == [
        "population: relevant and all", "design: given and x", "ties: random and worst",
    ]  # fmt: skip


def test_versions_and_intervals_may_differ():
    one = result({"a": BASE}, version="1", interval="t", versions={"numpy": "1"}, systems={"a": "x"})
    other = result({"b": BASE}, version="2", interval="none", versions={"numpy": "2"}, systems={"b": "y"})
    assert len(tv.compare([one, other])) == 1


def test_a_system_of_other_parameters_is_not_a_replication():
    one = result({"a": BASE, "b": BASE}, seed=1, systems={"a": "als[factors=8]"})
    other = result({"a": BASE, "b": BASE}, seed=2, systems={"a": "als[factors=9]"})
    with pytest.raises(DataError, match=r"systems\.a: "):
        tv.compare([one, other])


def test_metrics_of_some_results_are_left_out_and_said():
    one = Result(world({"a": {"ndcg@10": BASE, "recall@10": BASE}}))
    other = Result(world({"b": {"ndcg@10": BASE, "precision@10": BASE}}))
    found = tv.compare([one, other])
    assert [c.metric for c in found] == ["ndcg@10"]
    assert any("recall@10, precision@10" in note for note in found.notes)
    with pytest.raises(DataError, match="no metric in common"):
        tv.compare([Result(world({"a": {"recall@10": BASE}})), result({"b": BASE})])


def test_the_same_system_twice():
    with pytest.raises(DataError, match="'a' is in two results of the same seed"):
        tv.compare([result({"a": BASE, "b": BASE}), result({"a": BASE})])


def test_systems_of_different_seeds_cannot_be_paired():
    with pytest.raises(DataError) as refused:
        tv.compare([result({"a": BASE}, seed=1), result({"b": BASE}, seed=2)], baseline="a")
    assert "no results of the same seed" in str(refused.value)
    assert "b: seed 2\na: seed 1" in refused.value.found


def test_other_data_is_no_replication_unless_split_again():
    parts = [{"how": "holdout", "ratio": 0.2, "seed": seed} for seed in (1, 2)]
    runs = [
        result({"a": BASE, "b": BASE + RNG.normal(0, 0.1, 40)}, split=split, data={"test": str(n)})
        for n, split in enumerate(parts)
    ]
    assert tv.compare(runs)[0].repeats == 2
    with pytest.raises(DataError, match=r"data\.test: x and y"):
        tv.compare([result({"a": BASE, "b": BASE}, seed=n, data={"test": v}) for n, v in enumerate("xy")])


def test_user_ids_of_different_types():
    one, other = result({"a": BASE}), result({"b": BASE}, users=[f"u{u}" for u in range(40)])
    with pytest.raises(DataError, match="different types"):
        tv.compare([one, other])


def seeds(differences, *, users=None):
    """Results of several seeds in which b has these differences from a."""
    return [
        result({"a": np.zeros(len(d)), "b": d}, seed=s, users=None if users is None else users[s])
        for s, d in enumerate(differences)
    ]


def test_mean_and_sd_over_seeds():
    means = [0.40, 0.41, 0.42, 0.43, 0.44]
    found = tv.compare([result({"a": [0.0] * 20, "b": [m] * 20}, seed=s) for s, m in enumerate(means)], baseline="a")
    level = next(v for v in found.levels if v.system == "b")
    assert f"{level.value:.3f} {level.sd:.4f}" == "0.420 0.0158"
    assert [f"{level.low:.3f}", f"{level.high:.3f}"] == ["0.400", "0.440"]
    (c,) = found
    assert (c.difference, c.repeats) == (pytest.approx(0.42), 5)
    assert (c.low, c.high) == pytest.approx((level.low, level.high))
    assert "5 repeats" in c.sentence


def test_seeds_without_spread_leave_the_users():
    """The same differences in every seed: the uncertainty is that of the users alone."""
    d = RNG.normal(0.1, 0.3, 40)
    (c,) = tv.compare(seeds([d] * 4), baseline="a")
    once = stats.ttest_1samp(d, 0)
    assert c.error == pytest.approx(d.std(ddof=1) / np.sqrt(40))
    assert c.p == pytest.approx(once.pvalue, rel=1e-6)


def test_seeds_with_their_own_users_leave_the_seeds():
    """Folds that divide the users: the means of folds hold all the uncertainty there is."""
    differences = RNG.normal(0.1, 0.3, (5, 30))
    users = [range(30 * s, 30 * s + 30) for s in range(5)]
    (c,) = tv.compare(seeds(differences, users=users), baseline="a")
    means = differences.mean(axis=1)
    assert c.n == 150
    within = np.sqrt(sum(d.var(ddof=0) / 30 for d in differences)) / 5 * np.sqrt(150 / 149)
    assert c.error == pytest.approx(max(means.std(ddof=1) / np.sqrt(5), within), rel=1e-6)


def test_other_tests_are_for_one_seed():
    runs = seeds(RNG.normal(0, 1, (3, 20)))
    for test in ("wilcoxon", "permutation", "bootstrap"):
        with pytest.raises(DefinitionError, match="one seed"):
            tv.compare(runs, test=test)


@pytest.mark.parametrize(("spread_of_users", "spread_of_seeds"), [(1.0, 0.0), (0.0, 0.3), (1.0, 0.3), (0.2, 0.02)])
def test_nested_intervals_cover(spread_of_users, spread_of_seeds):
    """d = user + seed + noise: 95 % intervals hold the truth in about 95 % of worlds."""
    rng = np.random.default_rng(5)
    n, s, worlds, inside = 40, 5, 600, 0
    who = [np.arange(n)] * s
    for _ in range(worlds):
        u, e = rng.normal(0, spread_of_users, n), rng.normal(0, spread_of_seeds, s)
        d = u + e[:, None] + rng.normal(0, 0.5, (s, n))
        m = nested_mean(d.mean(axis=1), who, list(d), np.eye(s))
        inside += abs(m.value) <= stats.t.ppf(0.975, m.free) * m.error
    assert 0.925 <= inside / worlds <= 0.985


def test_rows_and_seeds_in_any_order():
    differences = RNG.normal(0.1, 0.3, (3, 40))
    runs = seeds(differences)
    turned = [
        result({"a": np.zeros(40), "b": d[::-1]}, seed=s, users=range(39, -1, -1)) for s, d in enumerate(differences)
    ][::-1]
    one, other = (tv.compare(r, baseline="a")[0] for r in (runs, turned))
    assert other.difference == pytest.approx(one.difference, rel=1e-12)
    assert other.error == pytest.approx(one.error, rel=1e-12)


def test_clustered_and_stratified_seeds():
    """Several target sets per user, two seeds: the difference is the mean of the seeds' differences."""
    users = np.repeat(np.arange(10), 3)
    runs, means = [], []
    for s in range(2):
        x, y = RNG.random((2, 30))
        means.append(x.mean() - y.mean())
        systems = {name: system_of({"ndcg@10": own}, users=users) for name, own in (("b", y), ("a", x))}
        runs.append(Result(evaluation_of(systems, seed=s)))
    (c,) = tv.compare(runs, baseline="b")
    assert c.difference == pytest.approx(np.mean(means))


def test_results_of_two_versions_are_compared_where_that_can_be_known():
    """Before `missing` was an option, users without recommendations counted as an empty list: zero."""
    old, new = {"version": "0.0.9", "design": "given"}, {"version": "0.1.0", "design": "given", "missing": "zero"}
    check_comparable(old, new, ("old", "new"))
    check_comparable(new, old, ("new", "old"))
    with pytest.raises(tv.TruevalError) as refused:
        check_comparable(old, {**new, "missing": "drop"}, ("old", "new"))
    assert "missing: zero and drop" in refused.value.found
    assert "old: trueval 0.0.9; new: trueval 0.1.0" in refused.value.found
    with pytest.raises(tv.TruevalError) as refused:
        check_comparable(old, {**old, "design": "AR-TI-AN"}, ("old", "new"))
    assert "versions" not in refused.value.found
