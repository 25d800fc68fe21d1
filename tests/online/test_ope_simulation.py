"""Off-policy estimates in worlds whose truth is known: bias, variance, coverage."""

from __future__ import annotations

import functools

import numpy as np
import polars as pl
import pytest
from bandit_worlds import World, softmax, world

import trueval as tv
from trueval.online.ope.result import OffPolicy
from trueval.propensity.propensity import Propensity

ESTIMATORS = ("ips", "snips", "dm", "dr", "sndr")
MANY = 150_000


def plain_world() -> World:
    """No context: the cell means of the reward model can be right."""
    return world(21, contexts=1, positions=1, items=6, sharp=0.8)


@functools.cache
def repeated(runs: int) -> dict[str, np.ndarray]:
    """Value, low and high of every estimator in many logs of one world: estimator -> runs × 3."""
    w = plain_world()
    policy = w.policy.drop("group", "position")
    found: dict[str, list] = {name: [] for name in (*ESTIMATORS, "mean weight")}
    for run in range(runs):
        one = tv.ope(w.log(1500, run).drop("group", "position"), policy, estimators=ESTIMATORS)
        for name in ESTIMATORS:
            found[name].append((one[name].value, one[name].low, one[name].high))
        found["mean weight"].append((one.support.mean, one.support.mean_low, one.support.mean_high))
    return {name: np.array(rows) for name, rows in found.items()}


def check_coverage(runs: int, low: float, high: float) -> None:
    w = plain_world()
    for name, rows in repeated(runs).items():
        truth = 1.0 if name == "mean weight" else w.value
        covered = np.mean((rows[:, 1] <= truth) & (truth <= rows[:, 2]))
        assert low <= covered <= high, (name, covered)


def test_intervals_cover() -> None:
    check_coverage(500, 0.93, 0.97)


@pytest.mark.slow
def test_intervals_cover_in_many_runs() -> None:
    check_coverage(2000, 0.93, 0.97)


def test_weighted_and_doubly_robust_estimates_are_unbiased() -> None:
    truth = plain_world().value
    for name in ("ips", "dr"):
        values = repeated(500)[name][:, 0]
        assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(len(values)), name


def test_normalising_and_modelling_lower_the_variance() -> None:
    spread = {name: rows[:, 0].std() for name, rows in repeated(500).items()}
    assert spread["snips"] < 0.9 * spread["ips"]
    assert spread["dr"] < 0.9 * spread["ips"]


def off_by(found: OffPolicy, name: str, truth: float) -> float:
    """Distance from the truth in standard errors."""
    one = found[name]
    return abs(one.value - truth) / ((one.high - one.low) / 2 / 1.96)


def test_a_wrong_model_misleads_the_direct_method_but_not_the_doubly_robust_one() -> None:
    w = world(2, contexts=3, positions=1, items=5)  # rewards depend on a group that the model does not see
    found = tv.ope(w.log(MANY, 0), w.policy, estimators=ESTIMATORS)
    assert off_by(found, "dm", w.value) > 10
    for name in ("ips", "snips", "dr", "sndr"):
        assert off_by(found, name, w.value) < 3.5, name


def test_wrong_propensities_mislead_weights_but_not_the_doubly_robust_one_with_a_right_model() -> None:
    w = plain_world()
    log = w.log(MANY, 0).drop("group", "position")
    found = tv.ope(log, w.policy.drop("group", "position"), propensity="uniform", estimators=ESTIMATORS)
    assert off_by(found, "ips", w.value) > 10
    for name in ("dm", "dr"):
        assert off_by(found, name, w.value) < 3.5, name


def test_context_makes_the_model_right() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(5)
    items, groups = 5, 3
    score = rng.normal(size=items)[None] + rng.normal(size=groups)[:, None] * 2  # effects that add up in log odds
    w = World(softmax(rng.normal(size=(groups, items))), softmax(score * 1.5), 1 / (1 + np.exp(1 - score)), groups, 1)
    log = w.log(20_000, 0).with_columns(group=pl.format("g{}", "group"))
    policy = w.policy.with_columns(group=pl.format("g{}", "group"))
    blind = tv.ope(log, policy, estimators=["dm"])
    seeing = tv.ope(log, policy, estimators=["dm", "dr"], context=["group"], propensity="uniform")
    assert off_by(blind, "dm", w.value) > 4
    assert off_by(seeing, "dm", w.value) < 3.5
    assert off_by(seeing, "dr", w.value) < 3.5


def test_interval_of_the_regression_matches_its_spread() -> None:
    pytest.importorskip("sklearn")
    w = world(12, contexts=2, positions=2, items=4, sharp=0.7)
    logs = [w.log(800, run).with_columns(group=pl.format("g{}", "group")) for run in range(40)]
    policy = w.policy.with_columns(group=pl.format("g{}", "group"))
    found = [tv.ope(log, policy, estimators=["dm"], context="group") for log in logs]
    for scope in ("all", "position 1", "slate"):
        values = np.array([one["dm", scope].value for one in found])
        half = np.mean([(one["dm", scope].high - one["dm", scope].low) / 2 / 1.96 for one in found])
        assert half / values.std() == pytest.approx(1, abs=0.35), scope


def test_rows_of_one_user_are_not_independent() -> None:
    rng = np.random.default_rng(0)
    values, clustered, alone = [], [], []
    for _ in range(60):
        likes = np.repeat(rng.beta(0.5, 0.5, 50), 10)
        log = pl.DataFrame(
            {
                "user": np.repeat(np.arange(50), 10),
                "item": rng.integers(0, 3, 500),
                "reward": (rng.random(500) < likes).astype(int),
                "propensity": [1 / 3] * 500,
            }
        )
        policy = pl.DataFrame({"item": [0, 1, 2], "probability": [0.5, 0.3, 0.2]})
        together, apart = (tv.ope(data, policy, estimators=["snips"])["snips"] for data in (log, log.drop("user")))
        values.append(together.value)
        clustered.append((together.high - together.low) / 2 / 2.01)
        alone.append((apart.high - apart.low) / 2 / 1.965)
    spread = np.std(values)
    assert np.mean(clustered) / spread == pytest.approx(1, abs=0.2)
    assert np.mean(alone) / spread < 0.6


def examined_world() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    look, like = np.array([1.0, 0.6, 0.3]), rng.uniform(0.1, 0.8, 6)
    return look, like, softmax(rng.normal(size=(3, 6))), softmax(2 * rng.normal(size=(3, 6)))


def examined_log(rows: int, live: np.ndarray, look: np.ndarray, like: np.ndarray, seed: int) -> pl.DataFrame:
    w = World(live, live, look[:, None] * like[None], 1, 3)
    return w.log(rows, seed).drop("group", "propensity")


def test_position_based_model_pools_positions() -> None:
    look, like, live, target = examined_world()
    log = examined_log(MANY, live, look, like, 0)
    policy = World(live, target, live, 1, 3).policy.drop("group")
    by_position = look * (target @ like)
    # a slice in which every item was as likely at every place tells the places' shares of looks
    slice_ = examined_log(MANY, np.full((3, 6), 1 / 6), look, like, 1)
    given = Propensity.randomised(slice_)
    for propensity in ("position_model", given):
        found = tv.ope(log, policy, propensity=propensity)
        assert {v.estimator for v in found.values} == {"naive", "ips", "snips", "clipped", "dm"}
        for name in ("ips", "snips"):
            assert found[name].value == pytest.approx(by_position.mean(), rel=0.03)
            assert found[name, "slate"].value == pytest.approx(by_position.sum(), rel=0.03)
            for place in range(3):
                assert found[name, f"position {place + 1}"].value == pytest.approx(by_position[place], rel=0.05)
        assert found.support.mean == pytest.approx(1, abs=0.02)
    # pooled rows tell more than those of a position alone
    alone = tv.ope(log, policy, propensity="display_share", estimators=["ips"])
    pooled, apart = found["ips", "position 3"], alone["ips", "position 3"]
    assert pooled.high - pooled.low < 0.8 * (apart.high - apart.low)


def test_position_based_weights_by_the_formula() -> None:
    look, like, live, target = examined_world()
    log = examined_log(300, live, look, like, 3)
    table = pl.DataFrame({"position": [1, 2, 3], "p": look})
    policy = World(live, target, live, 1, 3).policy.drop("group")
    found = tv.ope(log, policy, propensity=table, estimators=["ips", "snips"])
    n = len(log)
    share = [(log["position"] == k).sum() / n for k in (1, 2, 3)]
    above = below = 0.0
    for row in log.rows(named=True):
        a = row["item"]
        seen = sum(look[k] * ((log["item"] == a) & (log["position"] == k + 1)).sum() / n for k in range(3))
        w = sum(share[k] * look[k] * target[k, a] for k in range(3)) / seen
        above += w * row["click"]
        below += w * look[row["position"] - 1]
    assert found["ips"].value == pytest.approx(above / n)
    assert found["snips"].value == pytest.approx(above / below * np.dot(share, look))


def weak_world(items: int, scale: float, positions: int) -> World:
    """Items earn nearly the same, and the target policy concentrates on the better ones."""
    rng = np.random.default_rng(3)
    taste = rng.normal(size=(positions, items))
    earns = 1 / (1 + np.exp(-(scale * taste - 1)))
    return World(softmax(0.5 * rng.normal(size=(positions, items))), softmax(2 * taste), earns, 1, positions)


@pytest.mark.parametrize(
    ("items", "scale", "rows", "positions", "runs"),
    [(20, 0.3, 600, 1, 60), (60, 0.5, 600, 1, 40), (6, 0.3, 900, 3, 40)],
)
def test_the_interval_of_the_direct_method_covers_where_means_are_shrunken(
    items: int, scale: float, rows: int, positions: int, runs: int
) -> None:
    """Shrunken means are too near to each other: with the interval of their noise, 0 to 50 % were covered."""
    w = weak_world(items, scale, positions)
    keys = ["group"] if positions > 1 else ["group", "position"]
    truth = w.value - float((w.live * w.earns).sum(axis=1).mean())
    known = covered = 0
    for run in range(runs):
        one = tv.ope(w.log(rows, run).drop(keys), w.policy.drop(keys), estimators=["dm"])["dm"]
        if np.isnan(one.difference_low):
            continue
        known += 1
        covered += one.difference_low <= truth <= one.difference_high
        assert one.low <= one.value <= one.high
        assert one.difference_low <= one.difference <= one.difference_high
    assert known > 0.7 * runs
    assert covered >= 0.86 * known, (covered, known)


def test_a_model_without_differences_gives_no_verdict() -> None:
    """Three items earn the same to the row: no policy is better by the model, and nothing says how sure that is."""
    log = pl.DataFrame({"item": ["a", "b", "c", "a", "b", "c"] * 40, "reward": [0, 0, 0, 1, 1, 1] * 40})
    log = log.with_columns(propensity=1 / 3)
    policy = pl.DataFrame({"item": ["a", "b"], "probability": [0.9, 0.1]})
    for interval in ("t", "bootstrap"):
        found = tv.ope(log, policy, interval=interval, resamples=50)
        one = found["dm"]
        assert one.value == pytest.approx(0.5)
        assert np.isnan([one.low, one.high, one.difference_low, one.difference_high]).all()
        assert one.verdict == ""
        assert any("dm cannot tell the policies apart" in text for text in found.assumptions)
        assert "dm cannot tell the policies apart" in str(found)
        assert found["dr"].verdict == "not shown"
        assert found.to_dict()["values"]["all"]["dm"]["verdict"] is None
    differing = tv.ope(log.with_columns(reward=(pl.col("item") == "a").cast(int) * pl.col("reward")), policy)
    assert differing["dm"].verdict == "higher"
    assert not any("cannot tell" in text for text in differing.assumptions)
