"""Metrics weighted by propensities over whole systems: bias, intervals, comparisons, populations, shares held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.evaluation.compat import PRESETS
from trueval.splits import save_parts

ITEMS = 100
CHANCE = 0.6 / np.arange(1, ITEMS + 1) ** 0.75  # that a relevant pair is observed: popular items far more often
P = pl.DataFrame({"item": np.arange(ITEMS), "p": CHANCE})


def observed(users: int, *, seed: int, liked: int = 12) -> pl.DataFrame:
    """Each user likes so many random items, and what is observed of them depends on the item."""
    rng = np.random.default_rng(seed)
    item = np.argsort(rng.random((users, ITEMS)), axis=1)[:, :liked]
    seen = rng.random(item.shape) < CHANCE[item]
    user = np.broadcast_to(np.arange(users)[:, None], item.shape)
    return pl.DataFrame({"user": user[seen], "item": item[seen]})


def lists(users: int, items: list[int]) -> pl.DataFrame:
    """The same list for everybody."""
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), len(items)),
            "item": items * users,
            "rank": list(range(1, len(items) + 1)) * users,
        }
    )


TOP = [0, 1, 2, 3, 4, 5]  # of 100 equally liked items: recall .06
OTHERS = [10, 20, 30, 40, 50, 60]


def test_pooled_snips_mends_what_a_mean_of_users_ratios_keeps():
    users = 4000
    test = observed(users, seed=0)
    number = test["user"].value_counts()["count"]
    assert number.median() <= 2
    asked = "snips(recall)@6,snips(recall)@6[average=mean]"
    found = tv.evaluate_run(lists(users, TOP), test, metrics=asked, propensity=P)
    true = len(TOP) / ITEMS
    assert found["run", "recall@6"].value > 4 * true
    assert found["run", "recall@6[average=pooled]"].value > 4 * true
    assert found["run", "snips(recall)@6[average=mean]"].value > 3 * true  # nearly all of the bias is still there
    pooled = found["run", "snips(recall)@6"]
    assert pooled.value == pytest.approx(true, rel=0.15)
    assert pooled.low < true < pooled.high
    assert any("weights are normalised for each user" in note for note in found.warnings)
    plain = tv.evaluate_run(lists(users, TOP), test, metrics="snips(recall)@6", propensity=P)
    assert not any("user by user" in note for note in plain.warnings)


def held_by(interval: str, rounds: int, metric: str, true: float, *, users: int = 300) -> float:
    inside = 0
    for seed in range(rounds):
        e = tv.evaluate_run(
            lists(users, TOP), observed(users, seed=seed), metrics=metric, propensity=P, interval=interval,
            resamples=300, population="all", level=0.9,
        )["run", metric]  # fmt: skip
        inside += e.low <= true <= e.high
    return inside / rounds


@pytest.mark.parametrize("interval", ["t", "bootstrap"])
def test_intervals_are_those_of_ratios(interval):
    assert held_by(interval, 60, "snips(recall)@6", 0.06) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["t", "bootstrap", "bca"])
@pytest.mark.parametrize("metric", ["snips(recall)@6", "ips(precision)@6", "snips(precision)@6"])
def test_intervals_are_those_of_ratios_in_full(interval, metric):
    """90 % intervals. Of snips(precision) the truth is the limit for many users: Σ p·1[top] / Σ p in place of Σ 1."""
    liked = 12
    true = {"snips(recall)@6": 0.06, "ips(precision)@6": liked / ITEMS}.get(metric)
    if true is None:  # weighted mean item times observed items per user
        true = 0.06 / 6 * liked * CHANCE.mean()
    assert held_by(interval, 400, metric, true) == pytest.approx(0.9, abs=0.06)


@pytest.mark.parametrize("interval", ["t", "bootstrap", "bca"])
def test_a_constant_reward_has_no_spread(interval):
    """All relevant items are shown, two to a user: recall is 1, and precision 1, whatever the weights."""
    users = 50
    test = pl.DataFrame(
        {"user": np.repeat(np.arange(users), 2), "item": [(u + j) % 7 for u in range(users) for j in (0, 1)]}
    )
    recs = test.with_columns(rank=pl.Series([1, 2] * users))
    p = pl.DataFrame({"item": range(7), "p": [0.9, 0.01, 0.3, 0.05, 0.5, 0.02, 0.1]})
    asked = "snips(recall)@2,snips(precision)@2"
    found = tv.evaluate_run(recs, test, metrics=asked, propensity=p, interval=interval)
    for metric in asked.split(","):
        e = found["run", metric]
        assert e.value == pytest.approx(1)
        assert np.isnan([e.low, e.high]).all()  # weighted values have no bound, so that nothing tells the spread
        assert "no interval" in e.note


def brute_value(test: pl.DataFrame, shown: list[int], times: np.ndarray, *, kind: str) -> float:
    """A pooled value by the definition, with users taken so many times."""
    w = 1 / CHANCE[test["item"].to_numpy()] * times[test["user"].to_numpy()]
    hit = np.isin(test["item"].to_numpy(), shown)
    if kind == "recall":
        return float((w * hit).sum() / w.sum())
    number = times[test["user"].to_numpy()].sum()
    return float((w * hit).sum() / len(shown) / (w.sum() / number) / times.sum())


@pytest.mark.parametrize("kind", ["recall", "precision"])
def test_errors_and_tests_are_those_of_leaving_users_out(kind, tmp_path: Path):
    """The t interval of a value is near the jackknife's, and a comparison is the jackknife of the difference."""
    users, metric = 150, f"snips({kind})@6"
    test = observed(users, seed=3)
    runs = {"top": lists(users, TOP), "others": lists(users, OTHERS)}
    found = tv.evaluate_run(runs, test, metrics=metric, propensity=P, interval="t", population="all")
    everyone = np.ones(users)
    without = [everyone - (np.arange(users) == u) for u in range(users)]
    value = {n: brute_value(test, items, everyone, kind=kind) for n, items in (("top", TOP), ("others", OTHERS))}
    left = {
        n: np.array([brute_value(test, items, times, kind=kind) for times in without])
        for n, items in (("top", TOP), ("others", OTHERS))
    }
    for name in runs:
        e = found[name, metric]
        assert e.value == pytest.approx(value[name], rel=1e-12)
        error = np.sqrt((1 - 1 / users) * ((left[name] - left[name].mean()) ** 2).sum())
        assert (e.high - e.low) / 2 == pytest.approx(1.976 * error, rel=0.1)
    (difference,) = [c for c in found.compare("top") if c.metric == metric]
    apart = left["others"] - left["top"]
    assert difference.difference == pytest.approx(value["others"] - value["top"], rel=1e-12)
    used = np.unique(test["user"]) if kind == "recall" else np.arange(users)  # who has a value
    own = apart[used]
    error = np.sqrt((1 - 1 / len(used)) * ((own - own.mean()) ** 2).sum())
    assert difference.error == pytest.approx(error, rel=1e-9)
    # read back, pooled values are still pooled
    for name in runs:
        one = tv.evaluate_run({name: runs[name]}, test, metrics=metric, propensity=P, interval="t", population="all")
        one.save(tmp_path / name)
    again = tv.compare([tmp_path / "top", tmp_path / "others"], baseline="top")
    (read,) = [c for c in again if c.metric == metric]
    assert (read.difference, read.error) == (pytest.approx(difference.difference), pytest.approx(difference.error))


def test_pooled_over_percentiles_groups_and_presets():
    """Equal chances give the plain value wherever sums are taken."""
    users = 80
    log = observed(users, seed=8, liked=40)
    parts = tv.split(log, "holdout", ratio=0.4)
    groups = pl.DataFrame({"user": range(users), "half": ["a", "b"] * (users // 2)})
    metrics = "snips(recall)@5,snips(precision)@5,snips(dcg)@5"
    flat = pl.DataFrame({"item": range(ITEMS), "p": [0.3] * ITEMS})
    for design in ("AR-TI-AN", "AR-AI-AN"):
        found = tv.evaluate(
            parts, ["popularity"], design=design, metrics=metrics, propensity=flat, by="half", users=groups
        )
        for name, beside in (("recall", "recall@5[average=pooled]"), ("precision", "precision@5"), ("dcg", "dcg@5")):
            one, other = found["popularity", f"snips({name})@5"], found["popularity", beside]
            assert (one.value, one.n) == (pytest.approx(other.value, rel=1e-12), other.n)
            assert (one.low, one.high) == (pytest.approx(other.low, rel=0.2), pytest.approx(other.high, rel=0.2))
            by = found.evaluation.systems["popularity"].by("half").estimates
            for half in ("a", "b"):
                assert by[half][f"snips({name})@5"].value == pytest.approx(by[half][beside].value, rel=1e-12)
    run = lists(users, TOP)
    asked = {"metrics": "snips(recall)@5", "propensity": flat, "interval": "none"}
    pooled = tv.evaluate_run(run, parts.test, **asked)["run", "snips(recall)@5"].value
    for compat in ("trec_eval", "recommenders", "recbole"):
        under = tv.evaluate_run(run, parts.test, compat=compat, **asked)
        assert under["run", "snips(recall)@5"].value == pytest.approx(pooled, rel=1e-12)


# ---- over whom ips is averaged ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        {"population": "relevant"},
        {"population": "judged"},
        *({"compat": name} for name, preset in PRESETS.items() if preset.population != "all"),
    ],
)
def test_ips_over_observed_users_is_refused(rules):
    test = pl.DataFrame({"user": [1, 2], "item": [1, 1]})
    with pytest.raises(tv.TruevalError, match=r'(?s)unbiased only over all users.*population="all"'):
        tv.evaluate_run(test.with_columns(rank=1), test, metrics="ips(precision)@1", propensity=P, **rules)
    parts = tv.split(observed(40, seed=0, liked=60), "holdout")
    with pytest.raises(tv.TruevalError, match="unbiased only over all users"):
        tv.evaluate(parts, ["popularity"], metrics="ips(precision)@1", propensity=P, **rules)


def test_ips_is_refused_at_the_command_line(trueval, tmp_path: Path):
    test = pl.DataFrame({"user": [1, 2], "item": [1, 1], "p": [0.5, 0.5]})
    test.write_csv(tmp_path / "test.csv")
    test.select("user", "item", rank=1).write_csv(tmp_path / "run.csv")
    asked = ["evaluate", tmp_path / "run.csv", "--test", tmp_path / "test.csv", "--metrics", "ips(precision)@1"]
    refused = trueval(*asked, "--propensity", "column:p")
    assert (refused.code, "--population all" in refused.err) == (2, True)
    done = trueval(*asked, "--propensity", "column:p", "--population", "all")
    assert done.code == 0
    assert "random share" in done.err + done.out


def test_weights_on_condensed_rankings_are_refused():
    test = observed(50, seed=0)
    with pytest.raises(tv.TruevalError, match="condensed"):
        tv.evaluate_run(lists(50, TOP), test, metrics="snips(precision)@3", propensity=P, condensed=True)


@pytest.mark.parametrize("known", ["in the run", "in train"])
def test_ips_over_all_users_is_unbiased(known):
    """1,000 users whose one-item list is right; each pair is observed with p = .5. The truth is 1."""
    users, rounds, values = 1000, 25, []
    rng = np.random.default_rng(7)
    run = pl.DataFrame({"user": range(users), "item": ["a"] * users, "rank": 1})
    train = pl.DataFrame({"user": range(users), "item": ["z"] * users})
    for _ in range(rounds):
        test = pl.DataFrame({"user": np.flatnonzero(rng.random(users) < 0.5)}).with_columns(item=pl.lit("a"), p=0.5)
        # users who are not in the run got nothing that counts: their lists show another item
        asked = {"train": train} if known == "in train" else {}
        own = run if known == "in the run" else run.filter(pl.col("user").is_in(test["user"].implode()))
        e = tv.evaluate_run(
            own, test, metrics="ips(precision)@1", propensity="column:p", population="all", interval="t", **asked
        )["run", "ips(precision)@1"]
        values.append((e.value, e.low <= 1 <= e.high))
    value, inside = np.mean(values, axis=0)
    assert value == pytest.approx(1, abs=4 * 1 / np.sqrt(users * rounds))
    assert inside > 0.8


@pytest.mark.parametrize("metric", ["precision@6", "dcg@6", "rbp@6[p=0.7]"])
def test_ips_of_every_sum_is_unbiased_over_all_users(metric):
    users, liked, found = 400, 12, []
    name, _, tail = metric.partition("@")
    shown = [0, 30, 60, 90, 5, 77]
    for seed in range(40):
        test = observed(users, seed=seed, liked=liked)
        e = tv.evaluate_run(
            lists(users, shown), test, metrics=f"ips({name})@{tail}", propensity=P, population="all", interval="none"
        )["run", f"ips({name})@{tail}"]
        found.append(e.value)
    rank = np.arange(1, 7)
    each = {"precision": np.full(6, 1 / 6), "dcg": 1 / np.log2(rank + 1), "rbp": 0.3 * 0.7 ** (rank - 1)}[name]
    truth = liked / ITEMS * each.sum()
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / np.sqrt(len(found)))


# ---- the share that was held out -----------------------------------------------------------------------------


EXTRA = (1000, 1001)
MORE = pl.concat([P, pl.DataFrame({"item": EXTRA, "p": [1.0, 1.0]})])


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("holdout", {"ratio": 0.3}),
        ("holdout", {"ratio": 0.5, "by": "user"}),
        ("leave_one_out", {"which": "random"}),
        ("kfold", {"n": 4}),
        ("kfold", {"n": 4, "over": "users"}),
    ],
)
def test_a_random_share_is_allowed_for(how, options, tmp_path: Path):
    """Propensities of the whole log, a test that is part of it, lists that know nothing of train and may have its
    items: over all users ips finds the true precision."""
    users, shown, values, unscaled = 400, [0, 1, 2, 30, 60, 90], [], []
    for seed in range(25):
        log = observed(users, seed=seed, liked=80)
        # where rows are drawn user by user, those with few of them are never tested; a certain pair helps everybody
        log = pl.concat([log, *(pl.DataFrame({"user": range(users), "item": [extra] * users}) for extra in EXTRA)])
        made = tv.split(log, how, seed=seed, **options)
        parts = made[0] if isinstance(made, list) else made
        asked = {"metrics": "ips(precision)@6", "propensity": MORE, "population": "all", "interval": "none"}
        asked["seen"] = "allow"
        folder = tmp_path / str(seed)
        save_parts(parts, folder)
        found = tv.evaluate_run(lists(users, shown), folder / "test.parquet", **asked)
        values.append(found["run", "ips(precision)@6"].value)
        assert not any("random share" in note for note in found.warnings)
        assert "held out" in found.manifest["propensity"]["source"]
        loose = tv.evaluate_run(lists(users, shown), parts.test, **asked)
        unscaled.append(loose["run", "ips(precision)@6"].value)
        assert any("random share" in note for note in loose.warnings)
    truth = 80 / ITEMS
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / 5 + 0.01)
    assert np.mean(unscaled) < 0.6 * truth


def test_users_with_too_few_rows_to_be_tested_are_said():
    log = pl.DataFrame({"user": [1, 1, 1, 2, 3, 3], "item": [0, 1, 2, 0, 1, 2]})
    parts = tv.split(log, "leave_one_out", which="random")
    asked = {"propensity": P, "population": "all", "interval": "none", "design": "AR-TI-AN-seen"}
    found = tv.evaluate(parts, ["popularity"], metrics="ips(precision)@2", **asked)
    assert any(note.startswith("1 of 3 users have too few rows") for note in found.warnings)
    unmoved = tv.evaluate(parts, ["popularity"], metrics="snips(recall)@2", **asked)
    assert not any("too few rows" in note for note in unmoved.warnings)


def test_systems_on_a_split_of_ours_are_weighted_by_the_share():
    log = observed(60, seed=1, liked=50)
    flat = pl.DataFrame({"item": range(ITEMS), "p": [0.5] * ITEMS})
    parts = tv.split(log, "holdout", ratio=0.2)
    asked = {"metrics": "ips(precision)@5,snips(recall)@5", "propensity": flat, "population": "all", "interval": "none"}
    found = tv.evaluate(parts, ["popularity"], **asked)
    weighted, plain = (found["popularity", m].value for m in ("ips(precision)@5", "precision@5"))
    outside = 0.5 * 0.2 / (1 - 0.8 * 0.5)  # tested, of the pairs that are not in train
    assert weighted == pytest.approx(plain / outside)
    assert found.manifest["propensity"]["mean"] == pytest.approx(1 / outside)
    allowed = tv.evaluate(parts, ["popularity"], design="AR-TI-AN-seen", **asked)
    plain_of_all = allowed["popularity", "precision@5"].value
    assert allowed["popularity", "ips(precision)@5"].value == pytest.approx(plain_of_all / (0.5 * 0.2))
    assert not any("random share" in note for note in found.warnings)
    given = tv.evaluate(tv.split(parts.train, "given", test=parts.test), ["popularity"], **asked)
    assert given["popularity", "ips(precision)@5"].value == pytest.approx(plain / 0.5)
    assert given["popularity", "snips(recall)@5"].value == pytest.approx(found["popularity", "snips(recall)@5"].value)
    assert any("random share" in note for note in given.warnings)


# ---- items that train has not seen ---------------------------------------------------------------------------


def test_items_unseen_in_train_have_a_propensity_by_popularity():
    """Items are liked alike and observed by popularity; many are observed once, in the test. Naive is far off."""
    users, values, naive = 1500, [], []
    for seed in range(8):
        parts = tv.split(observed(users, seed=seed, liked=3), "holdout", ratio=0.5, seed=seed)
        found = tv.evaluate_run(
            lists(users, TOP), parts.test, train=parts.train, metrics="snips(recall)@6", propensity="popularity:1",
            interval="none",
        )  # fmt: skip
        values.append(found["run", "snips(recall)@6"].value)
        naive.append(found["run", "recall@6[average=pooled]"].value)
        new = parts.test.frame.filter(~pl.col("item").is_in(parts.train.frame["item"].implode()))
        assert len(new)
        assert any(note.startswith(f"{len(new):,} of {len(parts.test):,} relevant") for note in found.warnings)
    assert np.mean(naive) > 0.2
    assert np.mean(values) == pytest.approx(0.06, abs=0.03)


def test_unseen_items_are_counted_and_said():
    train = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "b"]})
    test = pl.DataFrame({"user": [1, 2, 3], "item": ["b", "new", "newer"]})
    recs = pl.DataFrame({"user": [1, 2, 3], "item": ["b", "new", "c"], "rank": 1})
    found = tv.evaluate_run(recs, test, train=train, metrics="snips(recall)@1", propensity="popularity:1")
    assert found["run", "snips(recall)@1"].value == pytest.approx((2 + 4) / (2 + 4 + 4))  # 1 row, and half a row each
    assert "2 of 3 relevant test rows belong to 2 items unseen in train: their p is 0.25" in found.warnings
    flat = tv.evaluate_run(recs, test, train=train, metrics="snips(recall)@1", propensity="popularity:-1")
    assert flat["run", "snips(recall)@1"].value == pytest.approx(2 / 3)
