"""Off-policy estimates: arithmetic, formulas recomputed naively, forms of policies and propensities, traps."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from bandit_worlds import world
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.online.ope.log import read_log
from trueval.online.ope.log_rows import rows_of
from trueval.online.ope.policy import read_policy
from trueval.online.ope.rewards import fit_cells, folds
from trueval.online.ope.weights import tuned_clip
from trueval.propensity.propensity import Propensity

HALF = pl.DataFrame({"item": ["a", "b"], "probability": [0.5, 0.5]})
QUICK = ("ips", "snips")


def shown(items: str, rewards: list[float], p: list[float] | float, **more: list) -> pl.DataFrame:
    chances = p if isinstance(p, list) else [p] * len(items)
    return pl.DataFrame({"item": list(items), "reward": rewards, "propensity": chances, **more})


def test_weights_by_hand() -> None:
    # weights .9/.5 and .1/.5; rewards of a: 1, 0; of b: 1, 1
    log = shown("aabb", [1, 0, 1, 1], 0.5)
    found = tv.ope(log, pl.DataFrame({"item": ["a", "b"], "p": [0.9, 0.1]}), clip=1.0)
    assert found["naive"].value == 0.75
    assert found["ips"].value == pytest.approx((1.8 + 0.2 + 0.2) / 4)
    assert found["snips"].value == pytest.approx(2.2 / 4.0)
    assert found["clipped"].value == pytest.approx((1.0 + 0.2 + 0.2) / 4)
    assert found.support.clipped == 0.5
    assert found.support.removed == pytest.approx(1.6 / 4.0)
    assert found.support.effective == pytest.approx(4.0**2 / (2 * 1.8**2 + 2 * 0.2**2))


def test_totals_of_the_propensity_toy() -> None:
    log = shown("AAB", [1, 1, 1], [0.8, 0.8, 0.2], one=[1.0, 1.0, 1.0])
    of_a = tv.ope(log.filter(pl.col("item") == "A"), "column:one", estimators=["ips"])
    of_b = tv.ope(log.filter(pl.col("item") == "B"), "column:one", estimators=["ips"])
    assert of_a["ips"].value * 2 == pytest.approx(2.5)
    assert of_b["ips"].value == pytest.approx(5.0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-5, 5)), min_size=2, max_size=30))
def test_uniform_log_and_target_give_the_naive_value(rows: list[tuple[str, float]]) -> None:
    items = len({item for item, _ in rows})
    log = shown("".join(item for item, _ in rows), [reward for _, reward in rows], 1 / items)
    found = tv.ope(log, "uniform", estimators=["ips", "snips", "clipped"])
    for name in ("ips", "snips", "clipped"):
        assert found[name].value == pytest.approx(found["naive"].value, abs=1e-9)
    assert found.support.mean == pytest.approx(1.0)


def test_uniform_table_on_uniform_log_is_exactly_naive_in_value_and_interval() -> None:
    log = shown("abab", [1, 0, 0, 1], 0.5)
    found = tv.ope(log, HALF, estimators=QUICK)
    for name in QUICK:
        one, naive = found[name], found["naive"]
        assert (one.value, one.low, one.high) == (naive.value, naive.low, naive.high)
        assert one.verdict == "not shown"


@pytest.mark.parametrize("reward", [1.0, 0.3])
def test_constant_reward_leaves_no_spread_in_snips_but_in_ips(reward: float) -> None:
    log = shown("aabab", [reward] * 5, [0.9, 0.8, 0.1, 0.7, 0.3])
    found = tv.ope(log, HALF, estimators=QUICK)
    assert found["snips"].value == pytest.approx(reward)
    assert math.isnan(found["snips"].low)  # the spread is unknown, not 0
    assert any("snips: no interval" in text for text in found.assumptions)
    assert found["ips"].high - found["ips"].low > 0.1
    again = tv.ope(log, HALF, estimators=QUICK, interval="bootstrap")
    assert math.isnan(again["snips"].low)


def test_few_rewards_are_said() -> None:
    log = shown("ab" * 50, [1] * 3 + [0] * 97, 0.5)
    found = tv.ope(log, HALF, estimators=["ips"])
    assert any("only 3 of 100" in text for text in found.assumptions)
    nothing = tv.ope(shown("ab" * 50, [0] * 100, 0.5), HALF, estimators=["ips"])
    assert (nothing["ips"].value, math.isnan(nothing["ips"].low)) == (0, True)
    many = tv.ope(shown("ab" * 50, [1, 0] * 50, 0.5), HALF, estimators=["ips"])
    assert not any("too few" in text for text in many.assumptions)


def test_snips_interval_is_that_of_a_ratio() -> None:
    from scipy import stats

    w, r = np.array([0.5 / 0.9, 0.5 / 0.8, 5.0, 0.5 / 0.7, 0.5 / 0.3]), np.array([1.0, 0, 1, 0, 0])
    log = shown("aabab", r.tolist(), [0.9, 0.8, 0.1, 0.7, 0.3])
    found = tv.ope(log, HALF, estimators=["snips"], level=0.9)
    value = (w * r).sum() / w.sum()
    error = math.sqrt((w**2 * (r - value) ** 2).sum() * 5 / 4) / w.sum()
    assert found["snips"].value == pytest.approx(value)
    assert found["snips"].high - value == pytest.approx(stats.t.ppf(0.95, 4) * error)


def test_clusters_count_as_one() -> None:
    log = shown("abab" * 5, [1, 0, 0, 1] * 5, 0.5, user=[1, 2, 3, 4] * 5)
    alone = tv.ope(log.drop("user"), HALF, estimators=["ips"])["ips"]
    together = tv.ope(log, HALF, estimators=["ips"])["ips"]
    assert together.value == alone.value
    # every user repeats themselves: 20 rows are 4 observations; t of 3 and of 19 degrees of freedom
    errors = math.sqrt(1 / 3 * 0.25), math.sqrt(1 / 19 * 0.25)
    assert together.high - together.value == pytest.approx(3.182446 * errors[0], rel=1e-5)
    assert alone.high - alone.value == pytest.approx(2.093024 * errors[1], rel=1e-5)


def naive_formulas(log: pl.DataFrame, policy: pl.DataFrame, keys: list[str], clip: float) -> dict[str, float]:
    """The formulas as papers print them, row by row."""
    target = {tuple(row[:-1]): row[-1] for row in policy.select(*keys, "item", "probability").rows()}
    total = dict.fromkeys(("ips", "clipped", "weight"), 0.0)
    for row in log.rows(named=True):
        w = target.get((*(row[k] for k in keys), row["item"]), 0.0) / row["propensity"]
        total["ips"] += w * row["reward"]
        total["clipped"] += min(w, clip) * row["reward"]
        total["weight"] += w
    n = len(log)
    return {"ips": total["ips"] / n, "clipped": total["clipped"] / n, "snips": total["ips"] / total["weight"]}


def test_against_the_formulas_row_by_row() -> None:
    w = world(3)
    log = w.log(500, 1).rename({"click": "reward"})
    found = tv.ope(log, w.policy, clip=2.5, estimators=["ips", "snips", "clipped"])
    expected = naive_formulas(log, w.policy, ["group", "position"], 2.5)
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value)
    for position in (1, 2):
        part = naive_formulas(log.filter(pl.col("position") == position), w.policy, ["group", "position"], 2.5)
        for name, value in part.items():
            assert found[name, f"position {position}"].value == pytest.approx(value)
            assert found[name, f"position {position}"].rows == (log["position"] == position).sum()
    slate = sum(found["snips", f"position {p}"].value for p in (1, 2))
    assert found["snips", "slate"].value == pytest.approx(slate)


def naive_cells(log: pl.DataFrame) -> dict[tuple[int, int], float]:
    """Shrunken means by item and position, from the formulas of the analysis of variance."""

    def shrink(groups: dict, prior: dict) -> dict:
        n = sum(map(len, groups.values()))
        within = sum(sum((x - np.mean(g)) ** 2 for x in g) for g in groups.values()) / (n - len(groups))
        spread = sum(len(g) * (np.mean(g) - prior[k]) ** 2 for k, g in groups.items()) - (len(groups) - 1) * within
        between = max(0, spread) / (n - sum(len(g) ** 2 for g in groups.values()) / n)
        return {k: len(g) / (len(g) + within / between) if between else 0.0 for k, g in groups.items()}

    rows = log.select("item", "position", "reward").rows()
    items = {i: [r for j, _, r in rows if j == i] for i in sorted({row[0] for row in rows})}
    places = {p: [r for _, q, r in rows if q == p] for p in sorted({row[1] for row in rows})}
    cells = {(i, p): [r for j, q, r in rows if (j, q) == (i, p)] for i in items for p in places}
    mean = float(np.mean([row[2] for row in rows]))
    b = shrink(items, dict.fromkeys(items, mean))
    prior = {(i, p): b[i] * (np.mean(items[i]) - mean) + np.mean(places[p]) for i in items for p in places}
    own = shrink({k: g for k, g in cells.items() if g}, prior)
    return {k: own.get(k, 0) * (np.mean(g) if g else 0) + (1 - own.get(k, 0)) * prior[k] for k, g in cells.items()}


def test_direct_and_doubly_robust_against_naive_loops() -> None:
    w = world(4, contexts=1, items=4)
    log = w.log(400, 2).rename({"click": "reward"}).drop("group")
    policy = w.policy.drop("group")
    found = tv.ope(log, policy, estimators=["dm", "dr", "sndr"], seed=3)
    target = {(i, p): x for p, i, x in policy.select("position", "item", "probability").rows()}

    def expected(q: dict, position: int) -> float:
        return sum(x * q[i, p] for (i, p), x in target.items() if p == position)

    q = naive_cells(log)
    values = [expected(q, p) for p in log["position"]]
    assert found["dm"].value == pytest.approx(np.mean(values))
    assert found["dm", "slate"].value == pytest.approx(expected(q, 1) + expected(q, 2))
    table = read_log(log, {})
    rows = rows_of(table.frame, read_policy(policy, table, columns={}), [], ["propensity"])
    fold, ordered = folds(rows, seed=3), rows.frame
    models = [naive_cells(ordered.filter(pl.Series(fold != f))) for f in range(5)]
    terms = []
    for f, row in zip(fold, ordered.rows(named=True)):
        key, q = (row["item"], row["position"]), models[f]
        weight = target[key] / row["propensity"]
        terms.append((expected(q, row["position"]), weight * (row["reward"] - q[key]), weight))
    guess, correction, weight = map(np.array, zip(*terms))
    assert found["dr"].value == pytest.approx((guess + correction).mean())
    assert found["sndr"].value == pytest.approx(guess.mean() + correction.sum() / weight.sum())


def test_interval_of_dm_follows_the_fit() -> None:
    """The linearised error equals the change of the estimate when one reward moves, row by row."""
    w = world(5, contexts=1, items=4)
    log = w.log(300, 2).drop("group")
    rows = rows_of(
        (table := read_log(log, {})).frame, policy := read_policy(w.policy.drop("group"), table, columns={}), []
    )
    model = fit_cells(rows)
    pulls = model.pulls(rows, policy)
    mass = np.zeros((4, 2))
    for p, i, x in w.policy.select("position", "item", "probability").rows():
        mass[i, p - 1] += x * (log["position"] == p).mean()

    def by_place(reward: np.ndarray) -> np.ndarray:
        """The fit with its shrinkage held fixed."""
        n, mean = rows.exposures, reward.mean()
        cells = np.bincount(rows.item * 2 + rows.place, reward, minlength=8).reshape(4, 2)
        item = cells.sum(axis=1) / n.sum(axis=1)
        prior = (model.by_item * (item - mean))[:, None] + cells.sum(axis=0) / n.sum(axis=0)
        q = model.by_cell * np.divide(cells, n, out=np.zeros((4, 2)), where=n > 0) + (1 - model.by_cell) * prior
        return (mass * q).sum(axis=0)

    base = by_place(rows.reward)
    assert base.sum() == pytest.approx((mass * model.value).sum())
    for row in (0, 17, 151, 299):
        moved = rows.reward.copy()
        moved[row] += 1
        assert pulls[:, row] / len(rows) == pytest.approx(by_place(moved) - base)


def test_forms_of_one_policy_agree() -> None:
    w = world(6, contexts=2, positions=1, items=3)
    log = w.log(200, 0).drop("position")
    policy = w.policy.drop("position")
    logged = log.join(policy, on=["group", "item"], how="left", maintain_order="left")["probability"]
    by_table = tv.ope(log, policy, estimators=QUICK)
    by_column = tv.ope(log.with_columns(new=logged), "column:new", estimators=QUICK)
    for name in QUICK:
        assert by_column[name].value == pytest.approx(by_table[name].value)
        assert by_column[name].low == pytest.approx(by_table[name].low)
    best = pl.DataFrame({"group": [0, 1], "item": [2, 1]})
    by_choice_table = tv.ope(log, best)
    wanted = log.join(best.rename({"item": "wish"}), on="group", how="left", maintain_order="left")["wish"]
    by_choice_column = tv.ope(log.with_columns(wish=wanted), "choice:wish")
    as_probabilities = tv.ope(log, best.with_columns(probability=1.0))
    for name in ("ips", "snips", "dm"):
        assert by_choice_column[name].value == pytest.approx(by_choice_table[name].value)
        assert as_probabilities[name] == by_choice_table[name]
    assert tv.ope(log.to_pandas(), policy.to_pandas(), estimators=QUICK)["ips"] == by_table["ips"]


def test_log_of_the_target_policy_gives_its_shares_and_own_value() -> None:
    log = shown("abab", [1, 0, 0, 1], 0.5, position=[1, 1, 2, 2])
    other = pl.DataFrame({"item": list("aaabbb"), "click": [1, 1, 0, 0, 0, 0], "position": [1, 1, 1, 1, 2, 2]})
    found = tv.ope(log, other, estimators=["ips"])
    # a has 3/4 at position 1 and 0 at position 2
    assert found["ips"].value == pytest.approx((0.75 / 0.5 * 1 + 1 / 0.5 * 1) / 4)
    assert found["own log"].value == pytest.approx(2 / 6)
    assert found["own log", "position 1"].value == pytest.approx(2 / 4)
    assert found["own log", "slate"].value == pytest.approx(2 / 4 + 0)
    assert any("approximated" in text for text in found.assumptions)


def test_propensities_from_every_source() -> None:
    log = shown("aaabbc", [1, 0, 1, 0, 1, 0], [0.5, 0.5, 0.5, 1 / 3, 1 / 3, 1 / 6])
    given_column = tv.ope(log, "uniform", estimators=QUICK)
    share = tv.ope(log.drop("propensity"), "uniform", propensity="display_share", estimators=QUICK)
    power = tv.ope(log.drop("propensity"), "uniform", propensity="popularity:1", estimators=QUICK)
    named = tv.ope(log.rename({"propensity": "mu"}), "uniform", propensity="column:mu", estimators=QUICK)
    lookup = tv.ope(log, "uniform", propensity=Propensity.display_share(log), estimators=QUICK)
    table = pl.DataFrame({"item": list("abc"), "p": [1 / 2, 1 / 3, 1 / 6]})
    by_table = tv.ope(log.drop("propensity"), "uniform", propensity=table, estimators=QUICK)
    for found in (share, power, named, lookup, by_table):
        for name in QUICK:
            assert found[name].value == pytest.approx(given_column[name].value)
    equal = tv.ope(log, "uniform", propensity="uniform", estimators=QUICK)
    assert equal["ips"].value == equal["naive"].value
    assert any("estimated" in text for text in share.assumptions)
    assert not any("estimated" in text for text in named.assumptions)


def test_display_share_is_by_position() -> None:
    log = pl.DataFrame({"item": list("aabab"), "position": [1, 1, 1, 2, 2], "reward": [1, 0, 1, 0, 1]})
    found = tv.ope(log, HALF, propensity="display_share", estimators=["ips"])
    assert found["ips", "position 1"].value == pytest.approx((0.5 / (2 / 3) + 0.5 / (1 / 3)) / 3)
    assert found["ips", "position 2"].value == pytest.approx(0.5)


def test_deficient_support_is_reported() -> None:
    log = shown("abab" * 100, [1, 0, 0, 1] * 100, 0.5)
    policy = pl.DataFrame({"item": ["a", "z", "y"], "probability": [0.7, 0.2, 0.1]})
    found = tv.ope(log, policy)
    assert found.support.unsupported == pytest.approx(0.3)
    assert found.support.unsupported_items == ("z", "y")
    assert found.support.mean == pytest.approx(0.7)  # what is missing from 1 is what the log cannot tell
    assert found.trust == "no"
    assert any("30.00 %" in text and "z, y" in text for text in found.warnings)
    assert "30.00 %" in str(found)


def test_support_is_counted_by_position() -> None:
    log = shown("aabb" * 50, [1, 0, 0, 1] * 50, 1.0, position=[1, 1, 2, 2] * 50)
    found = tv.ope(log, HALF, estimators=QUICK)
    assert found.support.unsupported == 0
    assert found.support.unsupported_here == pytest.approx(0.5)
    assert found.trust == "no"


def test_zero_total_weight_is_undefined_not_zero() -> None:
    log = shown("abab", [1, 1, 1, 1], 0.5, wish=list("baba"))
    found = tv.ope(log, "choice:wish", estimators=QUICK)
    assert math.isnan(found["snips"].value)
    assert math.isnan(found["snips"].low)
    assert found.trust == "undefined"
    assert "undefined" in str(found)
    assert found.to_dict()["values"]["all"]["snips"]["value"] is None
    assert any("undefined" in text for text in found.warnings)


def test_ips_without_any_weight_is_undefined_too() -> None:
    log = shown("abab", [1, 1, 1, 1], 0.5, wish=list("baba"))
    found = tv.ope(log, "choice:wish")
    for name in ("ips", "clipped", "dr"):
        assert math.isnan(found[name].value), name
    assert not math.isnan(found["dm"].value)


def test_few_effective_rows_and_few_rewards_are_said() -> None:
    rare = shown("a" * 500 + "b" * 3, [1, 0] * 250 + [1, 1, 1], [0.99] * 500 + [0.01] * 3)
    found = tv.ope(rare, pl.DataFrame({"item": ["a", "b"], "probability": [0.1, 0.9]}), estimators=QUICK)
    assert found.support.effective < 10
    assert found.trust == "no"
    few = tv.ope(shown("ab" * 200, [0] * 398 + [1, 1], 0.5), HALF, estimators=QUICK)
    assert few.support.rewarded == pytest.approx(2)
    assert few.trust == "with care"
    assert any("rewarded rows is 2:" in text for text in few.warnings)


def test_without_intervals_there_is_no_verdict() -> None:
    found = tv.ope(shown("ab" * 50, [1, 0] * 50, 0.5), pl.DataFrame({"item": ["a"], "p": [1.0]}), interval="none")
    assert found["ips"].value == 1
    assert math.isnan(found["ips"].low)
    assert found["ips"].verdict == ""
    assert "higher" not in str(found)
    assert tv.ope(shown("ab" * 50, [1, 0] * 50, 0.5), pl.DataFrame({"item": ["a"]}))["ips"].verdict == "higher"


def test_wrong_propensities_show_in_the_mean_weight() -> None:
    w = world(7, positions=1)
    log = w.log(5000, 0)
    assert tv.ope(log, w.policy, estimators=QUICK).trust == "yes"
    doubled = log.with_columns(pl.col("propensity") / 2)
    found = tv.ope(doubled, w.policy, estimators=QUICK)
    assert found.trust == "no"
    assert any("mean weight" in text for text in found.warnings)


@pytest.mark.parametrize("p", [0.0, -0.1, 1.2, float("nan"), float("inf"), None])
def test_impossible_propensities_are_refused_with_their_row(p: float | None) -> None:
    log = shown("abab", [1, 0, 0, 1], [0.5, 0.5, p, 0.5])
    with pytest.raises(DataError, match=r"(?s)propensit.*row 3: item a"):
        tv.ope(log, HALF)
    with pytest.raises(DataError):
        tv.ope(log.rename({"propensity": "mu"}), HALF, propensity="column:mu")


BAD_POLICIES = {
    "add up to 1": {"item": ["a", "b"], "probability": [0.5, 0.4]},
    "names an item twice": {"item": ["a", "a", "b"], "probability": [0.25, 0.25, 0.5]},
    "between 0 and 1": {"item": ["a", "b"], "probability": [1.5, -0.5]},
    "finite number": {"item": ["a", "b"], "probability": [1.0, float("nan")]},
    "no item of the policy": {"item": ["x", "y"], "probability": [0.5, 0.5]},
    "different types": {"item": [1, 2], "probability": [0.5, 0.5]},
    "which is not a column of the log": {"item": ["a", "b"], "probability": [0.5, 0.5], "device": ["x", "x"]},
    "one item per case": {"item": ["a", "b"]},
    "does not cover some cases": {"item": ["a"], "probability": [1.0], "group": ["g"]},
    "there is no item column": {"thing": ["a"], "probability": [1.0]},
}


@pytest.mark.parametrize("words", BAD_POLICIES)
def test_impossible_policies_are_refused(words: str) -> None:
    log = shown("abab", [1, 0, 0, 1], 0.5, group=list("gghh"))
    with pytest.raises(DataError, match=words):
        tv.ope(log, pl.DataFrame(BAD_POLICIES[words]))


def test_impossible_logs_and_options_are_refused() -> None:
    log = shown("abab", [1, 0, 0, 1], 0.5)
    for bad, words in [
        (log.drop("propensity"), "how likely"),
        (log.drop("reward"), "reward column"),
        (log.drop("item"), "item column"),
        (log.clear(), "empty"),
        (log.with_columns(reward=pl.Series([1.0, None, 0, 0])), "(?s)reward.*row 2"),
        (log.with_columns(reward=pl.lit("x")), "reward must be a finite number"),
        (log.with_columns(item=pl.Series(["a", None, "a", "b"])), "item is missing"),
        (log.with_columns(click=pl.lit(1), converted=pl.lit(1)).drop("reward"), "more than one column"),
    ]:
        with pytest.raises(DataError, match=words):
            tv.ope(bad, HALF)
    for options, words in [
        ({"estimators": ["ipz"]}, "unknown estimator"),
        ({"clip": 0}, "clip"),
        ({"clip": "much"}, "clip"),
        ({"level": 1.5}, "level"),
        ({"interval": "magic"}, "unknown interval"),
        ({"propensity": "guess"}, "unknown source of propensities"),
        ({"propensity": "popularity:x"}, "gamma"),
        ({"context": "reward"}, "cannot be a context"),
        ({"columns": "colour=x"}, "unknown column role"),
    ]:
        with pytest.raises(DefinitionError, match=words):
            tv.ope(log, HALF, **options)
    with pytest.raises(DefinitionError, match="probabilities of all items"):
        tv.ope(log.with_columns(new=pl.lit(0.5)), "column:new", estimators=["dm"])
    with pytest.raises(DataError, match="one column is given two roles"):
        tv.ope(log, HALF, columns="item=item,user=item")
    with pytest.raises(DataError, match="no column 'mu'"):
        tv.ope(log, HALF, propensity="column:mu")
    with pytest.raises(DataError, match="position"):
        tv.ope(log, HALF, propensity="position_model")


def test_what_cannot_be_estimated_is_left_out_and_said() -> None:
    found = tv.ope(shown("abab", [1, 0, 0, 1], 0.5, new=[0.5] * 4), "column:new")
    assert {v.estimator for v in found.values} == {"naive", "ips", "snips", "clipped"}
    assert any("dm and dr are left out" in text for text in found.warnings)
    assert found.support.unsupported is None


def test_rows_in_any_order_give_the_same_bits() -> None:
    w = world(8)
    log = w.log(300, 0, clusters=40)
    found = tv.ope(log, w.policy, interval="bootstrap", resamples=50)
    again = tv.ope(log.sample(fraction=1, shuffle=True, seed=1), w.policy.reverse(), interval="bootstrap", resamples=50)
    assert found.to_json() == again.to_json()
    other = tv.ope(log, w.policy, interval="bootstrap", resamples=50, seed=1)
    assert other["ips"].low != found["ips"].low


def test_bootstrap_and_linearised_intervals_agree_on_much_data() -> None:
    w = world(9, positions=1)
    log = w.log(4000, 0)
    t, b = (tv.ope(log, w.policy, interval=interval) for interval in ("t", "bootstrap"))
    for name in ("ips", "snips", "dm", "dr"):
        assert (b[name].high - b[name].low) / (t[name].high - t[name].low) == pytest.approx(1, abs=0.1)
        assert t[name].value == b[name].value


def test_names_of_columns() -> None:
    log = pl.DataFrame(
        {"visitor": [1, 1, 2, 2], "action": list("abab"), "slot": [1, 2, 1, 2], "bought": [1, 0, 0, 1], "mu": [0.5] * 4}
    )
    found = tv.ope(log, HALF, propensity="column:mu", reward="bought", columns="user=visitor", estimators=QUICK)
    assert found.manifest["clusters"] == 2
    assert found.manifest["positions"] == ["1", "2"]
    without = tv.ope(
        log, HALF, propensity="column:mu", columns={"reward": "bought", "position": None}, estimators=QUICK
    )
    assert [v.scope for v in without.values] == ["all"] * 3


def test_tuned_clip_lowers_the_error_where_weights_are_heavy() -> None:
    live, target = np.array([0.002, 0.499, 0.499]), np.array([0.3, 0.35, 0.35])
    earns = np.array([0.1, 0.1, 0.1])
    rng, truth = np.random.default_rng(0), 0.1
    plain_errors, tuned_errors = [], []
    for _ in range(300):
        item = rng.choice(3, 500, p=live)
        reward = (rng.random(500) < earns[item]).astype(float)
        weight = (target / live)[item]
        clip = tuned_clip(weight, reward)
        plain_errors.append((weight * reward).mean() - truth)
        tuned_errors.append((np.minimum(weight, clip) * reward).mean() - truth)
    assert np.mean(np.square(tuned_errors)) < 0.8 * np.mean(np.square(plain_errors))


@pytest.mark.parametrize("seed", range(6))
def test_tuned_clip_has_the_smallest_error_of_the_candidates(seed: int) -> None:
    """Candidates: 100 from the median of the weights above 0 to the largest, each as many times the one before."""
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random(150) < 0.2, 0.0, rng.lognormal(0, 0.5 + seed / 2, 150))
    reward = rng.random(150) * (rng.random(150) < 0.5) * (-1 if seed == 5 else 1)
    n, size = len(weight), np.abs(reward)
    level = max(size.sum() / n, (weight * size).sum() / weight.sum())

    def error(clip: float) -> float:
        kept = [min(w, clip) for w in weight]
        variance = sum(w * w for w in kept) / n * sum(r * r for r in reward) / n / n
        return variance + ((sum(weight) - sum(kept)) / n * level) ** 2

    low, high = np.median(weight[weight > 0]), weight.max()
    candidates = [low * (high / low) ** (step / 99) for step in range(100)]
    assert tuned_clip(weight, reward) == pytest.approx(min(candidates, key=error), rel=1e-9)


def test_tuned_clip_where_there_is_nothing_to_clip() -> None:
    assert tuned_clip(np.zeros(3), np.ones(3)) == math.inf  # no row shows what the target shows
    assert tuned_clip(np.array([1.0, 2.0, 9.0]), np.zeros(3)) == 9  # nothing was earned: all clips are as good


@pytest.mark.parametrize(("rows", "top"), [(50, 1), (199, 1), (200, 2), (450, 4)])
def test_the_top_share_is_that_of_one_row_in_a_hundred(rows: int, top: int) -> None:
    rng = np.random.default_rng(rows)
    log = pl.DataFrame({"item": ["a", "b"] * (rows // 2) + ["a"] * (rows % 2), "reward": 1.0})
    log = log.with_columns(propensity=pl.Series(rng.uniform(0.05, 1, rows)))
    weights = sorted(0.5 / log["propensity"].to_numpy())
    found = tv.ope(log, HALF, estimators=QUICK).support
    assert found.top_share == pytest.approx(sum(weights[-top:]) / sum(weights), rel=1e-12)


def test_formats() -> None:
    w = world(10)
    found = tv.ope(w.log(500, 0), w.policy)
    record = json.loads(found.to_json())
    assert set(record) == {"values", "support", "trust", "manifest", "warnings", "assumptions"}
    assert set(record["values"]) == {"all", "position 1", "position 2", "slate"}
    assert record["values"]["all"]["dr"]["value"] == found["dr"].value
    table = found.table()
    assert len(table) == 4 * 6
    assert found.to_markdown().splitlines()[0].startswith("| estimator | value |")
    assert r"\toprule" in found.to_latex()
    assert r"\begin{tabular}{lrrrrr}" in found.to_latex()
    assert all(len(line) <= 110 for line in str(found).splitlines())
    with pytest.raises(DefinitionError, match="no such estimate"):
        found["snip"]
