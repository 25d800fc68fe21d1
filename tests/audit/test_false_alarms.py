"""How often audits of worlds with nothing planted raise an alarm: at most 5 % of them, whatever is tested."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world

import trueval as tv
from trueval.audit.audit import Audit
from trueval.simulation.demo_world import make_world


def alarms(found: Audit) -> list[str]:
    """Checks that spoke without a reason."""
    return [finding.check for finding in found.findings if finding.verdict in ("wrong", "caution")]


def check_rate(raised: list[list[str]]) -> None:
    """At most 5 % of the audits, whichever check spoke."""
    assert sum(map(bool, raised)) <= 0.05 * len(raised), [names for names in raised if names]


@pytest.mark.parametrize(("metrics", "worlds"), [("ndcg@5", 60), ("recall@10,rr", 20)])
def test_lists_of_clean_worlds(metrics: str, worlds: int) -> None:
    raised = [alarms(clean_world(seed, users=60 + seed % 3 * 30).audit(metrics=metrics)) for seed in range(worlds)]
    check_rate(raised)


def test_lists_of_equal_systems() -> None:
    """Systems that do not differ: every order is noise, in every setting."""
    raised = []
    for seed in range(24):
        world = clean_world(1000 + seed, users=80)
        recs = {name: world.recs[name] for name in ("fair", "twin")}
        raised.append(alarms(type(world)(world.train, world.test, world.unbiased, world.users, recs).audit()))
    check_rate(raised)


def uniform_log(seed: int, users: int) -> pl.DataFrame:
    """Ratings of pairs that were drawn uniformly, whatever their value or popularity."""
    world = make_world(
        users=users, items=60, interactions=users * 20, popularity=0.0, choice=0.0, alignment=0.0, seed=seed
    )
    return world.log.frame


def audit_fitted(seed: int, users: int) -> Audit:
    parts = tv.split(uniform_log(seed, users), "holdout", ratio=0.3, by="user", seed=seed)
    return tv.audit(parts, ["average", "puresvd[factors=4]", "random"], threshold=4, metrics="ndcg@5", seed=seed)


def test_fitted_systems_of_clean_worlds() -> None:
    check_rate([alarms(audit_fitted(seed, 60)) for seed in range(8)])


def uniform_world(seed: int, users: int) -> tv.Parts:
    """Ratings observed with one probability, whatever the item's popularity or value: nobody can learn who rates what,
    and systems that look for it rank by chance."""
    size = {"users": users, "items": users * 2 // 5}
    world = tv.simulate("world", gamma=0, value_bias=0, alignment=0, drift=0, seed=seed, **size)
    return tv.split(world.log, "holdout", seed=seed)


OWN = ["popularity", "random", "average", "itemknn", "userknn", "plsa"]


def test_own_systems_that_are_hardly_better_than_chance_are_a_result() -> None:
    hardly = 0
    for seed in range(8):
        found = tv.audit(uniform_world(seed, 300 + 300 * (seed % 2)), OWN, threshold=4)
        assert alarms(found) == []
        (finding,) = found["random_baseline"]
        hardly += finding.verdict == "fine" and "hardly better than a random ranking" in finding.sentence
    assert hardly  # some of these worlds would be cautioned if the lists came from elsewhere


def test_a_finished_result_knows_which_systems_are_our_own() -> None:
    for seed in (1, 6, 7):
        parts = uniform_world(seed, 300)
        result = tv.evaluate(parts, OWN, metrics="ndcg@10", threshold=4, interval="none", keep_facts=True)
        assert alarms(result.audit(parts)) == []


@pytest.mark.slow
def test_many_fitted_systems_of_clean_worlds() -> None:
    check_rate([alarms(audit_fitted(seed, 80 + 40 * (seed % 3))) for seed in range(200)])


@pytest.mark.slow
@pytest.mark.parametrize("users", [40, 120, 400])
def test_many_lists_of_clean_worlds(users: int) -> None:
    check_rate([alarms(clean_world(5000 + seed, users=users).audit()) for seed in range(300)])


def test_p_values_of_reversals_hold_their_size() -> None:
    """Two settings of systems that do not differ: a reversal at 5 % in at most 5 % of the draws."""
    from trueval.audit.changes import Difference, reversals
    from trueval.statistics.student import t_p_value

    rng = np.random.default_rng(0)
    rejected = 0
    draws = 2000
    for _ in range(draws):
        both = rng.standard_normal((2, 40)) + np.array([[0.0], [0.3]])  # no difference here, a true one there
        sides = []
        for values in both:
            error = float(values.std(ddof=1)) / np.sqrt(len(values))
            p = t_p_value(float(values.mean()) / error, freedom=39, tail="two-sided")
            sides.append({("a", "b"): Difference("a", "b", float(values.mean()), -1.0, 1.0, p, 40, error, 39.0)})
        (found,) = reversals("ndcg", sides[0], sides[1], setting="there")
        rejected += found.p < 0.05
    assert rejected / draws < 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)
    assert rejected > 0
