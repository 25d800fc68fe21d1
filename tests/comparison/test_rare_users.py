"""Users too rare to be in the sample: verdicts of comparisons and gates where a rare few lose much."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from comparison_worlds import evaluation_of, system_of, world

import trueval as tv
from trueval.api import Result
from trueval.comparison.rare_users import one_in, value_bounds, weight_bound
from trueval.metrics.metric_values import Ratio


def rare_losses(rng, worlds, users, share, loss, *, mean=0.0):
    """By world and user: nearly all gain a little, a rare few lose much."""
    gain = (mean + share * loss) / (1 - share)
    return np.where(rng.random((worlds, users)) < share, -loss, gain + 0.002 * rng.standard_normal((worlds, users)))


def most(repeats, share=0.05):
    return repeats * share + 3 * np.sqrt(repeats * share * (1 - share))


def compared(differences, **options):
    values = {f"ndcg@{w}": 0.5 + own / 2 for w, own in enumerate(differences, 1)}
    base = {name: 0.5 - own / 2 + 0.0 for name, own in zip(values, differences)}
    return Result(world({"base": base, "new": values})).compare("base", correct="none", resamples=299, **options)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation", "bootstrap"])
@pytest.mark.parametrize(("users", "share"), [(15, 0.02), (50, 0.02), (100, 0.01), (300, 0.005)])
def test_no_test_calls_rare_losses_a_gain(test, users, share):
    rng = np.random.default_rng(users)
    found = compared(rare_losses(rng, 60, users, share, 1.0), test=test)
    claims = [c for c in found if c.verdict == "better"]
    assert len(claims) <= most(60)
    open_ = [c for c in found if c.verdict == "cannot tell"]
    assert len(open_) > most(60)  # what p alone would have called better
    for c in open_:
        assert c.p_corrected < 0.05 <= c.p_rare
        kind = "Losses" if c.difference > 0 else "Gains"
        assert f"{kind} of fewer than 1 in {one_in(users, 0.025)} users can be missed" in c.sentence


def test_losses_too_rare_for_their_number_are_better():
    """Everybody gains 0.2: one in six users would have to lose 1 to make up for it, and fifty hold one of them."""
    rng = np.random.default_rng(1)
    for users, verdict in ((15, "cannot tell"), (50, "better")):
        (c,) = compared(0.2 + 0.01 * rng.standard_normal((1, users)))
        assert c.verdict == verdict
    (c,) = compared(-0.2 + 0.01 * rng.standard_normal((1, 15)))
    assert "It cannot be told whether new is worse than base" in c.sentence
    assert "Gains of fewer than 1 in 4 users" in c.sentence


def test_the_correction_counts_rare_users_too():
    rng = np.random.default_rng(2)
    differences = 0.2 + 0.01 * rng.standard_normal((6, 25))
    alone = [c.verdict for c in compared(differences)]
    values = {f"ndcg@{w}": own for w, own in enumerate(differences, 1)}
    nothing = {name: np.zeros(25) for name in values}
    together = Result(world({"base": nothing, "new": values})).compare("base", correct="bonferroni")
    assert alone == ["better"] * 6
    assert [c.verdict for c in together] == ["cannot tell"] * 6


def gates(rng, worlds, users, share, *, mean, margin):
    found = []
    for own in rare_losses(rng, worlds, users, share, 1.0, mean=mean):
        sides = [Result(world({"a": {"ndcg@10": values}})) for values in (0.6 + own, np.full(users, 0.6))]
        found.append(tv.gate(*sides, margin=margin).verdict)
    return found


@pytest.mark.parametrize(("users", "share"), [(15, 0.05), (30, 0.02), (100, 0.02), (300, 0.01), (1000, 0.005)])
def test_the_gate_does_not_pass_rare_losses(users, share):
    """The true loss is the margin."""
    found = gates(np.random.default_rng(users), 60, users, share, mean=-0.005, margin=0.005)
    assert found.count("pass") <= most(60)
    assert found.count("worse") <= most(60)


def test_nor_a_system_that_is_the_same_for_nearly_all():
    """Nothing changes but for 5 % of users, who lose all: of thirty users, one in five samples holds none of them."""
    rng, passed, same = np.random.default_rng(3), 0, 0
    for _ in range(60):
        own = np.where(rng.random(30) < 0.05, 0.0, 1.0)
        sides = [Result(world({"a": {"hit@10": values}})) for values in (own, np.ones(30))]
        passed += tv.gate(*sides, margin="4%").passed
        same += own.all()
    assert same >= 5
    assert passed == 0


def test_the_reason_is_told():
    sides = [Result(world({"a": {"ndcg@10": values}})) for values in (np.full(30, 0.61), np.full(30, 0.6))]
    found = tv.gate(*sides, margin=0.005)
    assert found.verdict == "cannot tell"
    assert "losses of fewer than 1 in 10 users can be missed among 30 users" in str(found).replace("\n", " ")


def test_bounds_of_values_are_those_of_the_metric_or_those_seen():
    pairs = pairs_of(system_of({"ndcg@10": [0.1, 0.4]}), system_of({"ndcg@10": [0.3, 0.2]}), "ndcg@10")
    assert value_bounds(pairs, (0.0, 1.0)) == (0.0, 1.0)
    assert value_bounds(pairs, (0.0, np.inf)) == (0.0, 0.4)
    assert value_bounds(pairs, (-np.inf, np.inf)) == (0.1, 0.4)


def test_who_weighs_more_in_a_ratio_of_sums_can_lose_more():
    sizes = np.array([1.0, 1.0, 1.0, 5.0])
    systems = [system_of({}, ratios={"recall@10": Ratio(own * sizes, sizes)}) for own in (0.5, 0.25)]
    (pair,) = pairs_of(*systems, "recall@10")
    assert weight_bound(pair) == 2.5
    assert weight_bound(pairs_of(*(system_of({"rr": [0.1, 0.4]}) for _ in "ab"), "rr")[0]) == 1.0


def test_a_gate_of_a_ratio_knows_the_heaviest_user():
    """One user in 300 has half of all relevant items; with an unseen one of the kind the answer is open for longer."""
    sizes = {name: np.repeat([2.0, heavy], [299, 1]) for name, heavy in (("even", 2.0), ("one heavy", 30.0))}
    low = {}
    for name, size in sizes.items():
        sides = [Result(evaluation_of({"a": system_of({}, ratios={"recall@10": Ratio(0.5 * size, size)})}))] * 2
        low[name] = tv.gate(*sides, margin="10%").rows[0].low
    assert low["one heavy"] < 3 * low["even"] < 0


def pairs_of(new, old, label):
    from trueval.comparison.pairing import common_users, pair
    from trueval.data.ids import Ids

    users = Ids.of(pl.Series(range(4)))
    return [pair(new, old, label, common_users(new, old, users))]
