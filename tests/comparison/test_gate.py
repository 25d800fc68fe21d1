"""The gate: what passes, what is worse, what cannot be told, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest
from comparison_worlds import evaluation_of, system_of, world
from scipy import stats

import trueval as tv
from trueval.api import Result
from trueval.comparison.gate import GateFailure
from trueval.errors import TruevalError
from trueval.metrics.metric_values import Ratio


def gate(new, old, *, metric="ndcg@10", **options):
    return tv.gate(Result(world({"a": {metric: new}})), Result(world({"a": {metric: old}})), **options)


def users_of(n, *, loss=0.0, noise=0.02, seed=0):
    """Values of an old system and of one that loses this much on average."""
    rng = np.random.default_rng(seed)
    old = rng.uniform(0.2, 0.6, n)
    return old - loss + rng.normal(0, noise, n), old


@pytest.mark.parametrize(
    ("loss", "verdict", "code"), [(0.0, "pass", 0), (0.06, "worse", 1), (0.02, "cannot tell", 3), (-0.1, "pass", 0)]
)
def test_verdicts_and_exit_codes(loss, verdict, code):
    found = gate(*users_of(400, loss=loss), margin="5%")
    assert (found.verdict, found.exit_code, found.passed) == (verdict, code, verdict == "pass")
    assert len(found.rows) == 1
    if verdict == "worse":
        with pytest.raises(GateFailure, match="ndcg@10"):
            found.raise_if_worse()
    else:
        found.raise_if_worse()


@pytest.mark.parametrize(("loss", "verdict"), [(0.0, "pass"), (0.08, "worse")])
def test_lower_is_better_for_some_metrics(loss, verdict):
    new, old = users_of(400, loss=loss)
    found = gate(1 - new, 1 - old, metric="mae", margin="5%")  # more where the other is less
    assert found.rows[0].better == "lower"
    assert found.verdict == verdict
    assert gate(new, old, metric="mae", margin="5%").verdict == "pass"


@pytest.mark.parametrize("margin", ["1%", 0.004])
def test_p_values_of_many_users_are_those_of_students_t(margin):
    """Of 40,000 users, that one is too little to matter; of 300, it is what keeps p above that of t."""
    for n, rel in ((40_000, 0.1), (300, None)):
        new, old = users_of(n, loss=0.0028 if n > 300 else 0.0, noise=0.2 if n > 300 else 0.02, seed=3)
        quantity = new - 0.99 * old if margin == "1%" else new - old + 0.004
        row = gate(new, old, margin=margin).rows[0]
        by_t = stats.ttest_1samp(quantity, 0, alternative="greater").pvalue
        if rel is None:
            assert row.p_pass > 20 * by_t
            continue
        assert row.p_pass == pytest.approx(by_t, rel=rel)
        assert row.p_worse == pytest.approx(1 - by_t, rel=rel)
        ends = stats.ttest_1samp(quantity, 0).confidence_interval(0.9)
        assert (row.low, row.high) == pytest.approx((ends.low - row.margin, ends.high - row.margin), abs=1e-4)
        assert row.margin == pytest.approx(0.01 * old.mean() if margin == "1%" else 0.004)


@pytest.mark.parametrize(("margin", "worst"), [("20%", -0.8), (0.1, -0.9)])
def test_p_is_the_share_of_random_weights_for_which_the_users_and_one_more_are_within_the_margin(margin, worst):
    """The definition by chance: a thousand times as many weights as make a difference."""
    new, old = users_of(12, loss=0.05, noise=0.1, seed=2)
    quantity = np.append(new - 0.8 * old if margin == "20%" else new - old + 0.1, worst)
    weights = np.random.default_rng(0).exponential(size=(200_000, 13))
    row = gate(new, old, margin=margin).rows[0]
    assert row.p_pass == pytest.approx(np.mean(weights @ quantity <= 0), abs=0.004)
    assert 0.1 < row.p_pass < 0.9


def test_interval_and_verdict_agree():
    verdicts = set()
    for seed in range(40):
        row = gate(*users_of(60, loss=0.05 * (seed % 4), seed=seed), margin=0.07).rows[0]
        verdicts.add(row.verdict)
        assert (row.verdict == "pass") == (row.low > -row.margin)
        assert (row.verdict == "worse") == (row.high < -row.margin)
    assert verdicts == {"pass", "worse", "cannot tell"}


def test_a_relative_margin_is_as_uncertain_as_the_old_value():
    """Where the new system is the old one scaled, the error is that of the scaled old value, not of the difference."""
    rng = np.random.default_rng(1)
    old = (rng.random(200_000) < 0.001).astype(float)  # so few users have a value that little is known of its mean
    row = gate(0.95 * old, old, margin="10%").rows[0]
    ends = stats.ttest_1samp(0.05 * old, 0).confidence_interval(0.9)
    assert row.low == pytest.approx(ends.low - row.margin, abs=1e-5)
    assert ends.high - ends.low > 1e-5


def test_one_worse_metric_is_enough_and_all_must_pass():
    new, old = users_of(400)
    worse, _ = users_of(400, loss=0.08, seed=0)
    unclear, _ = users_of(400, loss=0.02, seed=0)
    for others, verdict in ((new, "pass"), (unclear, "cannot tell"), (worse, "worse")):
        values = ({"ndcg@10": one, "recall@10": two} for one, two in ((new, others), (old, old)))
        found = tv.gate(*(Result(world({"a": own})) for own in values), margin="5%")
        assert found.verdict == verdict
        assert [row.verdict for row in found.rows] == ["pass", verdict]


def test_worse_is_corrected_for_the_number_of_metrics():
    new, old = users_of(200, loss=0.0245, seed=5)
    values = ({f"ndcg@{k}": own for k in range(1, 11)} for own in (new, old))
    both = [Result(world({"a": own})) for own in values]
    p = tv.gate(*both, margin=0.004, metrics="ndcg@1").rows[0].p_worse
    assert 0.005 < p < 0.05
    assert tv.gate(*both, margin=0.004).verdict == "cannot tell"
    assert tv.gate(*both, margin=0.004).rows[0].p_corrected == pytest.approx(min(1, 10 * p))
    assert tv.gate(*both, margin=0.004, correct="none").verdict == "worse"


def test_the_same_values_pass_when_unseen_losses_are_too_rare_to_exceed_the_margin():
    """A share of 0.05 of users who lose 1 would be the margin; 59 users hold none of them with a chance of 0.95⁵⁹,
    which is 0.0485, 58 with one of 0.051."""
    values = np.linspace(0, 1, 59)
    rows = [gate(values[:n], values[:n], margin=0.05).rows[0] for n in (58, 59)]
    assert [row.verdict for row in rows] == ["cannot tell", "pass"]
    assert [row.p_pass for row in rows] == pytest.approx([0.95**58, 0.95**59])
    assert [row.low for row in rows] == pytest.approx([0.05 ** (1 / 58) - 1, 0.05 ** (1 / 59) - 1])
    assert rows[1].reason == "no user's value differs"
    assert rows[0].reason.startswith("no user's value differs, but losses of fewer than 1 in 19 users can be missed")


@pytest.mark.parametrize("losing", [0, 1, 4])
def test_losses_of_everything_are_counted_as_by_clopper_and_pearson(losing):
    """Each user has 1, and loses all of it or nothing: the share of those who lose is a binomial one."""
    for n in (30, 300, 1000):
        new = np.where(np.arange(n) < losing, 0.0, 1.0)
        row = gate(new, np.ones(n), margin=0.02).rows[0]
        assert row.p_pass == pytest.approx(stats.binom.cdf(losing, n, 0.02), rel=2e-5)
        low = -stats.beta.ppf(0.95, losing + 1, n - losing)
        assert row.low == pytest.approx(low, rel=1e-6)


def test_a_dozen_users_who_lose_are_worse_unless_an_unseen_gain_could_make_up_for_it():
    old = np.array([0.5, 0.6, 0.4, 0.7, 0.5, 0.6, 0.3, 0.45])
    assert gate(np.full(8, 0.1), old, margin=0.01).verdict == "cannot tell"  # of every fourth user, say
    row = gate(np.zeros(8), np.ones(8), margin=0.01).rows[0]
    assert row.p_worse == pytest.approx((1.01 / 2) ** 8)  # one more who gains 1: 0.99 · E against 1.01 · E
    assert row.verdict == "worse"


def test_exactly_at_the_margin_nothing_is_shown():
    old = np.full(50, 0.3)
    assert gate(old - 0.1, old, margin=0.1).verdict == "cannot tell"
    assert gate(old[:8] - 0.1, old[:8], margin=0.1).verdict == "cannot tell"


def test_users_needed_follow_the_formula_of_normal_tests():
    new, old = users_of(4000, loss=0.004, noise=0.3, seed=0)
    row = gate(new, old, margin=0.004).rows[0]
    sd = np.std(new - old, ddof=1)
    expected = ((stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * sd / 0.004) ** 2
    assert row.needed == pytest.approx(expected, rel=0.03)
    found = gate(*users_of(100, loss=0.004, seed=0), margin=0.004)
    assert found.verdict == "cannot tell"
    assert "users instead of 100" in found.sentence
    assert found.rows[0].needed > 750  # 0.996 to the power of 750 is 0.05


def test_with_the_users_needed_four_of_five_gates_decide():
    """An equal system passes and one that loses twice the margin is worse; the users differ little and much."""
    rng = np.random.default_rng(4)
    for noise in (0.05, 0.4):
        needed = gate(*users_of(10_000, noise=noise), margin=0.03).rows[0].needed
        decided = {0.0: 0, 0.06: 0}
        for loss in decided:
            for seed in rng.integers(0, 10**6, 100):
                new, old = users_of(int(needed), loss=loss, noise=noise, seed=seed)
                verdict = gate(new, old, margin=0.03).verdict
                decided[loss] += verdict == ("worse" if loss else "pass")
        assert 68 <= min(decided.values()) <= max(decided.values()) <= 94, (noise, needed, decided)


def test_pooled_metrics_are_tested_by_pseudo_values():
    rng = np.random.default_rng(2)
    trials = rng.integers(1, 9, 500).astype(float)
    hits = [rng.binomial(trials.astype(int), chance).astype(float) for chance in (0.30, 0.5)]
    sides = [Result(evaluation_of({"a": system_of({}, ratios={"recall@10": Ratio(own, trials)})})) for own in hits]
    row = tv.gate(sides[0], sides[1], margin="5%").rows[0]
    assert row.old == pytest.approx(hits[1].sum() / trials.sum())
    assert row.verdict == "worse"
    assert tv.gate(sides[1], sides[0], margin="5%").passed


# ---- groups ------------------------------------------------------------------------------------------------------


def grouped(loss, n=600):
    new, old = users_of(n)
    old_users = np.arange(n) % 3 == 0
    new = np.where(old_users, new - loss, new)
    users = pl.DataFrame({"user": range(n), "age": np.where(old_users, "old", "young"), "all": ["x"] * n})
    return new, old, users


def test_a_group_that_lost_is_found_and_named():
    new, old, users = grouped(0.08)
    whole = gate(new + 0.03, old, margin="3%")
    assert whole.passed
    found = gate(new + 0.03, old, margin="3%", by="age", users=users)
    assert found.verdict == "worse"
    assert [(row.by, row.group, row.verdict) for row in found.rows] == [
        ("", "", "pass"), ("age", "old", "worse"), ("age", "young", "pass"),
    ]  # fmt: skip
    assert found.worst.group == "old"
    assert "Worst group: age = old" in found.sentence
    assert found.rows[1].old == pytest.approx(old[::3].mean())
    assert found.rows[1].margin == pytest.approx(0.03 * old[::3].mean())


def test_small_groups_are_left_out_with_a_note():
    new, old, users = grouped(0.0)
    found = gate(new, old, by="age", users=users, min_group=201)
    assert [row.group for row in found.rows] == ["", "young"]
    assert "age = old" in found.notes[0]
    with pytest.raises(TruevalError, match="no group"):
        gate(new, old, by="age", users=users, min_group=1000)


# ---- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0.5}, "level"),
        ({"level": 1.0}, "level"),
        ({"correct": "no"}, "unknown correction"),
        ({"metrics": "map"}, "was not measured"),
        ({"metrics": []}, "no metric"),
        ({"margin": "x"}, "no margin"),
        ({"margin": "map=1%"}, "was not measured"),
        ({"system": "b"}, "no system 'b'"),
        ({"by": "age"}, "table of users"),
        ({"users": pl.DataFrame({"user": [1]})}, "without a column"),
        ({"by": "age", "users": pl.DataFrame({"user": [1], "sex": ["f"]})}, "no column 'age'"),
        ({"by": "item:age", "users": pl.DataFrame({"user": [1], "sex": ["f"]})}, "groups of users"),
        ({"min_group": 1}, "at least two users"),
    ],
)
def test_options_are_refused(options, message):
    with pytest.raises(TruevalError, match=message):
        gate([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], **options)


def test_metrics_without_a_better_side_are_refused_or_left_out():
    values = {"ndcg@10": [0.1] * 9, "unjudged@10": [0.5] * 9}
    both = [Result(world({"a": values})) for _ in range(2)]
    found = tv.gate(*both)
    assert [row.metric for row in found.rows] == ["ndcg@10"]
    assert "unjudged@10" in found.notes[0]
    with pytest.raises(TruevalError, match="no better side"):
        tv.gate(*both, metrics="unjudged@10")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"design": "AR-TI-AN"}, "design"),
        ({"data": {"test": "xyz"}}, "data.test"),
        ({"population": "all"}, "population"),
        ({"seed": 1}, "seed or fold in common"),
        ({"definitions": {"ndcg@10": "other"}}, "definitions.ndcg@10"),
    ],
)
def test_results_made_otherwise_are_refused_by_name(rules, message):
    values = {"a": {"ndcg@10": [0.1, 0.2, 0.3]}}
    with pytest.raises(TruevalError, match=message):
        tv.gate(Result(world(values, **rules)), Result(world(values)))


def test_systems_may_be_made_in_other_ways_and_have_other_names():
    values = {"ndcg@10": np.linspace(0, 1, 1000)}
    new = Result(world({"als 2": values}, systems={"a": {"factors": 8}}))
    old = Result(world({"als": values, "pop": values}, systems={"a": {"factors": 4}}))
    assert tv.gate(new, old, system="als 2", old_system="als").passed
    with pytest.raises(TruevalError, match="several systems"):
        tv.gate(new, old)


def test_a_relative_margin_of_nothing_is_refused():
    with pytest.raises(TruevalError, match="above 0"):
        gate([0.0] * 9, [0.0] * 9)


def test_no_common_users_are_refused():
    sides = [Result(world({"a": {"ndcg@10": [0.1, 0.2]}}, users=own)) for own in ([1, 2], [3, 4])]
    with pytest.raises(TruevalError, match="no user in common"):
        tv.gate(*sides)


def test_users_whom_only_one_result_has_are_told():
    values = np.linspace(0.1, 0.9, 30)
    new = Result(world({"a": {"ndcg@10": values[:20]}}, users=range(20)))
    old = Result(world({"a": {"ndcg@10": values}}, users=range(30)))
    found = tv.gate(new, old)
    assert found.rows[0].users == 20
    assert found.rows[0].old == pytest.approx(values[:20].mean())
    assert found.notes == ["10 of 30 users of the old result are not in the new one: left out"]


# ---- repeats, output ---------------------------------------------------------------------------------------------


def test_seeds_count_as_repeats():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.6, 200)

    def several(loss):
        parts = {
            f"seed{s}": world({"a": {"ndcg@10": base - loss + rng.normal(0, 0.02, 200)}}, seed=s) for s in range(4)
        }
        return Result(next(iter(parts.values())), parts)

    old = several(0.0)
    assert tv.gate(several(0.0), old, margin="6%").verdict == "pass"
    found = tv.gate(several(0.06), old, margin="6%")
    assert found.verdict == "worse"
    assert math.isnan(found.rows[0].needed)


def test_output_is_complete_and_frozen():
    found = gate(*users_of(400, loss=0.02), margin="1%")
    record = json.loads(found.to_json())
    assert (record["verdict"], record["exit_code"], record["rows"][0]["metric"]) == ("worse", 1, "ndcg@10")
    assert record["manifest"]["gate"]["margin"] == "1%"
    assert found.table().columns[:4] == ["metric", "better", "by", "group"]
    text, markdown = str(found), found.to_markdown()
    for word in ("ndcg@10", "90 % interval", "margin", "worse", "(1 %)"):
        assert word in text
        assert word in markdown
    assert markdown.count("\n|") == 3
    assert r"\begin{tabular}" in found.to_latex()
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.verdict = "pass"


def test_names_are_escaped():
    values = {"ndcg@10": np.linspace(0, 1, 60)}
    users = pl.DataFrame({"user": range(60), "g": ["<b>`x`\x1b[2J"] * 60})
    both = [Result(world({"[red]a\x1b[2J": values})) for _ in range(2)]
    found = tv.gate(*both, by="g", users=users)
    assert "\x1b" not in str(found) + found.to_markdown()
    assert "<b>" not in found.to_markdown()
    assert "[red]a" in str(found)
