"""True values against a second opinion, and what estimators make of a biased log against the truth."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from tests.oracles import naive_metrics as naive

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.simulation import truth as truth_module

METRICS = {
    "precision@5": ("precision", 5, {}), "recall@5": ("recall", 5, {}), "ndcg@5": ("ndcg", 5, {}),
    "ndcg@5[gain=exp]": ("ndcg", 5, {"gain": "exp"}), "dcg@5": ("dcg", 5, {}),
    "ap@5": ("ap", 5, {}), "rr": ("rr", None, {}), "hit@3": ("hit", 3, {}), "rprecision": ("rprecision", None, {}),
    "rbp[p=0.8]": ("rbp", None, {"p": 0.8}), "fbeta@5": ("fbeta", 5, {}), "auc": ("auc", None, {}),
    "antiprecision@5": ("antiprecision", 5, {}), "fallout@5": ("fallout", 5, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> tv.World:
    return tv.simulate("world", users=40, items=30, ratings=300, seed=4)


def ranked_by(world: tv.World, seen: set[tuple[int, int]], scores: np.ndarray) -> dict[int, list[int]]:
    """Unseen items of each user, best first."""
    lists = {}
    for user in range(1, 41):
        unseen = [item for item in range(1, 31) if (user, item) not in seen]
        lists[user] = sorted(unseen, key=lambda item, user=user: -scores[user - 1, item - 1])
    return lists


@pytest.mark.parametrize("metric", METRICS)
def test_truth_of_a_system_is_that_of_the_naive_oracle(world: tv.World, metric: str) -> None:
    """Complete ratings of all unseen items, written out pair by pair."""
    name, k, options = METRICS[metric]
    scores = np.random.default_rng(7).permutation(1200).reshape(40, 30).astype(float)
    seen = set(world.log.frame.select("user", "item").iter_rows())
    lists = ranked_by(world, seen, scores)
    values = []
    for user, ranked in lists.items():
        judged = {item: float(world.ratings([user], [item])[0, 0]) for item in ranked}
        if any(value >= 4 for value in judged.values()):
            values.append(naive.value(name, ranked, judged, k=k, threshold=4, targets=len(ranked), **options))
    known = [value for value in values if not math.isnan(value)]
    system = tv.Function(lambda users: scores[np.asarray(users) - 1], ids=True)
    assert world.truth(system, metric) == pytest.approx(np.mean(known))


def test_truth_of_a_run_is_that_of_the_system_that_made_it(world: tv.World) -> None:
    scores = np.random.default_rng(8).permutation(1200).reshape(40, 30).astype(float)
    seen = set(world.log.frame.select("user", "item").iter_rows())
    rows = [
        (user, item, rank)
        for user, ranked in ranked_by(world, seen, scores).items()
        for rank, item in enumerate(ranked[:10], 1)
    ]
    run = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    system = tv.Function(lambda users: scores[np.asarray(users) - 1], ids=True)
    metrics = ["precision@10", "ndcg@10", "recall@10", "ap@10", "coverage@10", "gini@10"]
    made = world.truths({"system": system}, metrics)["value"].to_list()
    for one in (run, tv.Run(run)):
        assert world.truths({"run": one}, metrics, train=world.log)["value"].to_list() == pytest.approx(made)
    assert world.truth(run, "precision@10") == pytest.approx(made[0])  # nothing else was recommended


def test_a_world_is_observed_anew(world: tv.World) -> None:
    one, two = world.redrawn(1), world.redrawn(2)
    assert not one.log.frame.equals(two.log.frame)
    assert one.log.frame.equals(world.redrawn(1).log.frame)
    assert world.redrawn(world.seed).log.frame.equals(world.log.frame)
    assert (one.complete == world.complete).all()
    both = one.log.frame.join(two.log.frame, on=["user", "item"])
    assert (both["value"] == both["value_right"]).all()


def test_a_perfect_system_is_perfect(world: tv.World) -> None:
    best = tv.Function(lambda users: world.ratings(users), ids=True)
    found = world.truths({"best": best, "popularity": "popularity"}, "ndcg@10,auc,rr")
    assert found["system"].to_list() == ["best"] * 3 + ["popularity"] * 3
    assert found["value"][:3].to_list() == pytest.approx([1, 1, 1])
    assert (found["value"][3:] < 1).all()
    assert found["error"].to_list() == [0.0] * 6


def test_full_observation_measures_the_truth() -> None:
    """Where all pairs that are not in train are in the test set, observed and true values are one."""
    world = tv.simulate("world", users=50, items=40, seed=9)
    parts = tv.split(world.log, "holdout", ratio=0.5, seed=1)
    rest = world.sample(per_user=40).frame.join(parts.train.frame, on=["user", "item"], how="anti")
    full = tv.split(parts.train, "given", test=tv.Interactions.of(rest))
    result = tv.evaluate(
        full, ["average"], design="AR-AI-AN", metrics="ndcg@10,recall@10", threshold=4, interval="none"
    )
    for metric in ("ndcg@10", "recall@10"):
        assert result["average", metric].value == pytest.approx(world.truth("average", metric, train=parts.train))


@pytest.mark.parametrize("value_bias", [0.0, 1.0])
def test_true_propensities_make_ips_unbiased(value_bias: float) -> None:
    """Lists are fixed; logs are drawn again and again. ips has the truth on average, the plain metric does not."""
    observed, weighted = [], []
    repeats = 40
    base = tv.simulate("world", users=100, items=40, ratings=800, value_bias=value_bias, seed=3)
    lists = base.sample(per_user=10, seed=1).frame
    lists = lists.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))
    for seed in range(repeats):
        again = base.redrawn(1000 + seed)
        met = again.log
        found = tv.evaluate_run(
            lists, met, metrics="precision@10,ips(precision)@10", threshold=4, population="all", interval="none",
            propensity=again.propensity, items=base.item_table,
        )  # fmt: skip
        users = met.n_users
        weighted.append(found["run", "ips(precision)@10"].value * users / 100)
        observed.append(found["run", "precision@10"].value * users / 100)
    true = base.truth(lists, "precision@10", population="all")
    error = np.std(weighted, ddof=1) / np.sqrt(repeats)
    assert abs(np.mean(weighted) - true) < 4 * error + 0.002
    assert np.mean(observed) < 0.6 * true


def test_propensities_of_a_held_out_share_make_ips_unbiased() -> None:
    """Systems recommend what is not in train: of such pairs, s p / (1 - (1 - s) p) are in the test set."""
    base = tv.simulate("world", users=150, items=40, ratings=1500, seed=5)
    given, split, product = [], [], []
    for seed in range(40):
        again = base.redrawn(1000 + seed)
        parts = tv.split(again.log, "holdout", ratio=0.2, seed=seed)
        both = tv.split(parts.train, "given", test=parts.test)
        true = again.truth("popularity", "precision@5", train=parts.train, population="all")
        times = again.propensity.table.with_columns(pl.col("p") * 0.2)
        for found, data, p in (
            (given, both, again.propensity_of(parts.test, held_out=0.2)),
            (split, parts, again.propensity),  # evaluate knows what was held out
            (product, both, times),
        ):
            result = tv.evaluate(
                data, ["popularity"], design="AR-AI-AN", metrics="ips(precision)@5", threshold=4, population="all",
                items=base.item_table, propensity=p, interval="none",
            )  # fmt: skip
            users = len(set(parts.train.frame["user"]) | set(parts.test.frame["user"]))
            found.append(result["popularity", "ips(precision)@5"].value * users / 150 - true)
    assert abs(np.mean(given)) < 4 * np.std(given, ddof=1) / np.sqrt(40) + 0.003
    assert split == pytest.approx(given)
    assert np.mean(product) > 0.05  # the product of both probabilities makes too much of the popular
    with pytest.raises(DefinitionError, match="held_out"):
        base.propensity_of(base.log, held_out=0.0)


def test_a_random_sample_is_unbiased() -> None:
    world = tv.simulate("world", users=400, items=60, seed=2)
    sample = world.sample(per_user=15, seed=1)
    assert len(sample) == 6000
    assert not sample.frame.select("user", "item").is_duplicated().any()
    complete = world.complete
    assert sample.frame["value"].mean() == pytest.approx(complete.mean(), abs=4 * complete.std() / np.sqrt(6000))
    assert world.log.frame["value"].mean() > complete.mean() + 0.2  # which is not
    again = world.sample(per_user=15, users=[7, 3], seed=1).frame
    assert again.equals(
        sample.frame.filter(pl.col("user").is_in([3, 7])).sort(pl.col("user") == 3, maintain_order=True)
    )
    counts = np.bincount(sample.frame["item"].to_numpy(), minlength=61)[1:]
    assert np.abs(counts - 100).max() < 5 * np.sqrt(100 * 0.75)
    for number in (0, 61):
        with pytest.raises(DefinitionError, match="cannot be drawn"):
            world.sample(per_user=number)


def test_users_that_are_asked_for(world: tv.World) -> None:
    some = world.truths("popularity", "precision@5", users=[1, 2, 3])
    assert some["users"].to_list() == [3]
    drawn = world.truths("popularity", "precision@5", users=20)
    assert drawn["users"][0] <= 20
    assert drawn["error"][0] > 0
    for wrong in (0, 41):
        with pytest.raises(DefinitionError, match="cannot be drawn"):
            world.truths("popularity", users=wrong)
    with pytest.raises(DataError, match="no such id"):
        world.truths("popularity", users=[99])


def test_drawn_users_estimate_the_truth_of_all() -> None:
    world = tv.simulate("world", users=600, items=50, seed=6)
    true = world.truth("average", "ndcg@10")
    found = [world.truths("average", "ndcg@10", users=100, seed=seed).row(0, named=True) for seed in range(20)]
    errors = [(one["value"] - true) / one["error"] for one in found]
    assert np.std([one["value"] for one in found]) > 0
    assert np.sqrt(np.mean(np.square(errors))) < 1.6


def test_lists_alone_suffice_where_a_metric_looks_at_them_alone(
    world: tv.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit of pairs, ratings of recommended items give the values of complete ratings, for all users."""
    lists = world.sample(per_user=6, seed=2).frame
    lists = lists.select("user", "item", rank=pl.int_range(1, pl.len() + 1).over("user"))
    metrics = ["precision@6", "dcg@6", "coverage@6", "list_length@6"]
    complete = world.truths({"run": lists}, metrics, population="all")
    monkeypatch.setattr(truth_module, "MOST_PAIRS", 300)
    alone = world.truths({"run": lists}, metrics, population="all")
    assert alone["value"].to_list() == pytest.approx(complete["value"].to_list())
    assert alone["users"].to_list() == [40] * 4
    some = world.truths({"run": lists}, ["recall@6"], population="all")
    assert some["users"].to_list() == [10]  # which needs all relevant items: of some users


def test_thresholds_and_populations(world: tv.World) -> None:
    strict, loose = (world.truth("random", "precision@5", threshold=limit) for limit in (5, 3))
    assert strict < world.truth("random", "precision@5") < loose
    assert world.truth("random", "hit@5", threshold=5, population="all") <= world.truth(
        "random", "hit@5", threshold=5, population="relevant"
    )
    with pytest.raises(DefinitionError, match="population"):
        world.truth("random", population="nobody")
    with pytest.raises(DefinitionError, match="unknown"):
        world.truth("randm")


def test_the_world_of_the_demo_tells_its_truth_but_no_probabilities() -> None:
    from trueval.simulation.demo_world import make_world

    world = make_world(users=60, items=40, seed=1)
    assert 0 < world.truth("popularity", "precision@5") < 1
    with pytest.raises(DefinitionError, match="no closed form"):
        _ = world.propensity
