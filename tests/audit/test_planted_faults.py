"""Every check on a case with its fault planted; that none speaks without one is in test_false_alarms.py."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world, judged, one, ranked

import trueval as tv
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import make_system
from trueval.splits.parts import Parts

USERS = range(60)


def test_leaked_pairs() -> None:
    world = clean_world(0)
    hits = world.test.filter(pl.col("value") >= 4)
    found = tv.audit(
        train=pl.concat([world.train, hits.head(40)]), test=world.test, recs=world.recs, threshold=4, metrics="ndcg@5"
    )
    finding = one(found, "leaked_pairs")
    assert (finding.verdict, finding.kind, finding.figures["rows"]) == ("wrong", "fact", 40)
    assert finding.figures["with"]["good"] > finding.figures["without"]["good"]


def test_leaked_pairs_of_systems() -> None:
    world = clean_world(0)
    train = pl.concat([world.train, world.test.filter(pl.col("user") < 40)])
    parts = Parts(tv.read(train), tv.read(world.test), how={"how": "given"})
    finding = one(tv.audit(parts, ["popularity", "average"], threshold=4, metrics="ndcg@5"), "leaked_pairs")
    assert finding.verdict == "wrong"
    assert set(finding.figures["with"]) == {"popularity", "average"}


def test_future_rows_of_a_split_that_promises_time_are_wrong() -> None:
    world = clean_world(0)
    late = world.train.head(3).with_columns(time=pl.lit(3_000_000, dtype=pl.Int64))
    parts = Parts(
        tv.read(pl.concat([world.train, late]).unique(["user", "item"], keep="last")),
        tv.read(world.test), how={"how": "temporal", "ratio": 0.3, "unseen": "drop"},
    )  # fmt: skip
    assert one(tv.audit(parts), "future_rows").verdict == "wrong"


def early_and_late() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Users with four test items, two of them from before a train row of theirs."""
    train = judged((u, 900 + u % 5, 5, 100) for u in USERS)
    rows = [(u, 4 * (u % 3) + j, 5, 50 if j < 2 else 200) for u in USERS for j in range(4)]
    return train, judged(rows)


def test_future_rows_that_decide_an_order() -> None:
    """One system knows what was rated before the train rows, the other one what came later."""
    train, test = early_and_late()
    knows = {u: [4 * (u % 3), 4 * (u % 3) + 1, 50, 51, 52] for u in USERS}
    predicts = {u: [50, 51, 52, 4 * (u % 3) + 2, 53 + u % 2] for u in USERS}
    recs = {"knows": ranked(knows), "predicts": ranked(predicts)}
    found = tv.audit(train=train, test=test, recs=recs, metrics="ndcg@5")
    finding = one(found, "future_rows")
    assert finding.verdict == "caution"
    assert "knows is better than predicts" in finding.sentence
    assert finding.sentence.index("better") < finding.sentence.index("% of the train rows")  # effect first


def test_item_future() -> None:
    """Half of the test rows are older than anything that train knows of their items."""
    train = judged([(u, item, 5, 100) for u in USERS for item in (900, 901)] + [(0, j, 5, 100) for j in range(12)])
    rows = [(u, 4 * (u % 3) + j, 5, 50 if j < 2 else 200) for u in USERS if u for j in range(4)]
    knows = {u: [4 * (u % 3), 4 * (u % 3) + 1, 50, 51 + u % 2] for u in USERS}
    found = tv.audit(train=train, test=judged(rows), recs={"knows": ranked(knows)}, metrics="recall@4")
    finding = one(found, "item_future")
    assert finding.verdict == "caution"
    assert finding.figures["values"][0]["before"] == pytest.approx(0.5)
    assert finding.figures["values"][0]["after"] == pytest.approx(0.0)


def test_duplicates_in_lists() -> None:
    world = clean_world(0)
    recs = {"twice": pl.concat([world.recs["good"], world.recs["good"].head(7)])}
    found = tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5")
    finding = one(found, "duplicates")
    assert (finding.verdict, finding.figures["lists"]) == ("wrong", {"twice": 7})
    once = tv.audit(
        train=world.train, test=world.test, recs={"twice": world.recs["good"]}, threshold=4, metrics="ndcg@5"
    )
    assert one(found, "too_few_users").sentence == one(once, "too_few_users").sentence


def test_duplicates_in_logs_change_nothing() -> None:
    world = clean_world(0)
    found = tv.audit(train=pl.concat([world.train, world.train.head(9)]), test=world.test)
    finding = one(found, "duplicates")
    assert (finding.verdict, finding.figures["rows"]) == ("fine", 9)


def test_ids_that_are_written_differently() -> None:
    world = clean_world(0)
    text = world.test.with_columns(user=pl.format("u{}", "user"))
    upper = pl.when(pl.col("user") < 80).then(pl.format("U{}", "user")).otherwise(pl.format("u{}", "user"))
    recs = world.recs["good"].with_columns(user=upper)
    finding = one(tv.audit(test=text, recs={"good": recs}, threshold=4, metrics="ndcg@5"), "unmet_ids")
    assert finding.verdict == "wrong"
    assert "differ from a known id only by" in finding.sentence
    assert finding.sentence.startswith("ndcg@5 of good counts")


def test_users_of_another_table() -> None:
    """Most users of the lists are in no other table: those of the test set have none."""
    world = clean_world(0)
    recs = world.recs["good"].with_columns(
        user=pl.when(pl.col("user") < 100).then(pl.col("user") + 9000).otherwise("user")
    )
    found = tv.audit(train=world.train, test=world.test, recs={"good": recs}, threshold=4, metrics="ndcg@5")
    finding, tested = one(found, "unmet_ids"), world.test["user"].unique()
    assert finding.verdict == "wrong"
    listed = len(tested.filter(tested >= 100))
    assert finding.sentence.endswith(f": only {listed} of {len(tested)} test users are in the run.")


def test_users_without_a_list_are_no_matter_of_ids() -> None:
    world = clean_world(0)
    recs = world.recs["good"].filter(pl.col("user") < 20)
    found = tv.audit(train=world.train, test=world.test, recs={"good": recs}, threshold=4, metrics="ndcg@5")
    assert one(found, "unmet_ids").verdict == "fine"
    assert one(found, "missing_lists").verdict == "caution"


def test_ids_that_never_meet() -> None:
    world = clean_world(0)
    finding = one(tv.audit(train=world.train.with_columns(item=pl.col("item") + 1000), test=world.test), "unmet_ids")
    assert finding.verdict == "wrong"


def test_dropped_users() -> None:
    world = clean_world(0)
    new = world.test.head(30).with_columns(user=pl.col("user") + 5000)
    parts = tv.split(pl.concat([world.train, world.test, new]), "temporal", at=2_000_000)
    finding = one(tv.audit(parts), "dropped_users")
    assert finding.verdict == "cannot tell"
    assert finding.figures["dropped"] == {"user unseen before the cut": new["user"].n_unique()}


def test_seen_items_take_places() -> None:
    world = clean_world(0)
    seen = (
        world.train.select("user", "item")
        .group_by("user", maintain_order=True)
        .head(4)
        .with_columns(score=pl.lit(99.0))
    )
    recs = {"good": pl.concat([seen.cast({"score": pl.Float64}), world.recs["good"]])}
    finding = one(
        tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5", relevant_change=0.01),
        "seen_items",
    )
    assert finding.verdict == "caution"
    assert finding.figures["share_of_places"]["good"] == pytest.approx(0.8)
    assert finding.figures["values"][0]["change"] > 0


def test_seen_items_that_count_as_hits_are_wrong() -> None:
    world = clean_world(0)
    again = world.train.filter(pl.col("value") >= 4)
    seen = again.select("user", "item").with_columns(score=pl.lit(99.0))
    recs = {"good": pl.concat([seen, world.recs["good"]])}
    found = tv.audit(train=world.train, test=pl.concat([world.test, again]), recs=recs, threshold=4, metrics="ndcg@5")
    assert one(found, "seen_items").verdict == "wrong"


def lacking() -> dict[str, pl.DataFrame]:
    """The better system has lists for a third of the users."""
    world = clean_world(0)
    return {"good": world.recs["good"].filter(pl.col("user") % 3 == 0), "fair": world.recs["fair"]}


def test_different_users() -> None:
    world = clean_world(0)
    found = tv.audit(train=world.train, test=world.test, recs=lacking(), threshold=4, metrics="ndcg@5", missing="drop")
    finding = one(found, "different_users")
    assert finding.verdict == "wrong"
    assert finding.figures["users"]["good"] < finding.figures["users"]["fair"]


def test_missing_lists_that_decide_an_order() -> None:
    """`some` is right for a quarter of the users and silent for the others, `all` finds everything at rank 3."""
    test = judged((u, u % 7, 5) for u in USERS)
    some = {u: [u % 7, 20] for u in USERS if u % 4 == 0}
    everyone = {u: [20, 21, u % 7] for u in USERS}
    recs = {"some": ranked(some), "all": ranked(everyone)}
    found = tv.audit(test=test, recs=recs, metrics="ndcg@3")
    finding = one(found, "missing_lists")
    assert finding.verdict == "caution"
    assert finding.figures["reversed"][0]["systems"] == ["all", "some"]
    assert one(found, "different_users").verdict == "fine"  # missing=zero: all count


def test_ties_at_the_cut() -> None:
    """All items of a list score alike, and stand in the order that suits the test set."""
    test = judged((u, u % 7, 5) for u in USERS)
    lists = ranked({u: [u % 7, *(20 + (u + j) % 15 for j in range(9))] for u in USERS})
    tied = lists.select("user", "item", score=pl.lit(1.0))
    found = tv.audit(test=test, recs={"tied": tied}, metrics="ndcg@3", ties="given")
    finding = one(found, "ties_at_cut")
    assert finding.verdict == "caution"
    assert {one_["after"] for one_ in finding.figures["values"]} == {0.0, 1.0}
    assert "expected" in finding.remedy


def test_lists_drawn_around_the_test_set() -> None:
    rng = np.random.default_rng(0)
    test = judged((u, u % 200, 5) for u in USERS)
    lists = {u: rng.permutation([u % 200, *(200 + rng.choice(400, 20, replace=False))]).tolist() for u in USERS}
    found = tv.audit(test=test, recs={"sampled": ranked(lists)}, metrics="ndcg@10")
    assert one(found, "sampled_candidates").verdict == "wrong"


def test_what_a_sample_would_make_of_a_full_ranking() -> None:
    """Expected values against 100 drawn items, from the ranks of the full ranking, are those of the sampled design."""
    log = tv.simulate("world", users=80, items=400, ratings=4000, seed=3).log
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    systems = ["popularity", "average", "itemknn"]
    found = one(tv.audit(parts, systems, design="1R-AI-AN", metrics="ndcg@10", threshold=4), "sampled_candidates")
    assert found.verdict == "fine"
    assert "τ = " in found.sentence
    options = {"metrics": "ndcg@10", "threshold": 4, "interval": "none"}
    drawn = [tv.evaluate(parts, systems, design="1R-AI-NN100", seed=seed, **options) for seed in range(5)]
    full = tv.evaluate(parts, systems, design="1R-AI-AN", **options)
    for name in systems:
        assert found.figures["against_all_1r"][name] == pytest.approx(full[name, "ndcg@10"].value, abs=1e-9)
        mean = np.mean([result[name, next(iter(result.evaluation.specs))].value for result in drawn])
        assert found.figures["against_100_1r"][name] == pytest.approx(mean, abs=0.02)


def test_sampled_candidates_that_reverse_an_order() -> None:
    """`steady` has the relevant item at rank 30 of 400, `lucky` first for a third of the users and else far down."""
    users, items = 150, 400
    log = pl.DataFrame({"user": np.arange(users), "item": np.arange(users)})
    train = pl.DataFrame({"user": np.arange(users), "item": 200 + np.arange(users) % 100})
    filler = pl.DataFrame({"user": [9999] * items, "item": np.arange(items)})
    parts = Parts(tv.read(pl.concat([train, filler])), tv.read(log), how={"how": "given"})
    rng = np.random.default_rng(1)
    base = rng.random((users + 1, items))
    steady, lucky = base.copy(), base.copy()
    for user in range(users):
        others = np.sort(np.delete(base[user], user))
        steady[user, user] = (others[-30] + others[-31]) / 2
        lucky[user, user] = 2.0 if user % 3 == 0 else others[60]
    systems = {"steady": tv.Scores(steady), "lucky": tv.Scores(lucky)}
    found = tv.audit(parts, systems, metrics="ndcg@10", design="1R-AI-NN20")
    finding = one(found, "sampled_candidates")
    assert finding.verdict == "caution"
    assert finding.figures["reversed"][0]["systems"] == ["steady", "lucky"]
    assert set(finding.figures["corrected"]) == {"steady", "lucky"}


def test_too_few_users() -> None:
    world = clean_world(0, users=12)
    recs = {name: world.recs[name] for name in ("fair", "twin")}
    found = tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5")
    finding = one(found, "too_few_users")
    assert finding.verdict == "cannot tell"
    assert finding.figures["detectable"] > abs(finding.figures["difference"])


def test_close_systems_are_fine_where_the_reader_says_what_matters() -> None:
    world = clean_world(0, users=400)
    recs = {name: world.recs[name] for name in ("fair", "twin")}
    found = tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5", relevant_change=0.2)
    finding = one(found, "too_few_users")
    assert finding.verdict == "fine"
    assert "close" in finding.sentence


def test_a_popularity_baseline_that_wins() -> None:
    train = judged((u, j, 5) for u in range(200, 260) for j in range(3))
    test = judged((u, j, 5) for u in USERS for j in range(2))
    recs = {"mine": ranked({u: [10 + u % 4, 0 if u % 4 == 0 else 20, 30, 31] for u in USERS})}
    found = tv.audit(train=train, test=test, recs=recs, metrics="recall@3")
    finding = one(found, "popularity_baseline")
    assert finding.verdict == "caution"
    assert finding.figures["values"]["popularity"] == pytest.approx(1.0)
    assert finding.sentence.startswith("popularity is better than mine")


def test_the_share_of_a_lead_is_of_the_better_side() -> None:
    """Of antiprecision, which is better where it is lower: 15 of 20 items are disliked, so that chance has 0.75;
    popularity has 1 of 2, and `mine` none."""
    train = judged((u, j, 5) for u in range(200, 260) for j in range(2))
    disliked = [0, *range(5, 19)]
    test = judged((u, j, 1 if j in disliked else 5) for u in USERS for j in range(20))
    recs = {"mine": ranked({u: [2 + u % 2, 4] for u in USERS})}
    items = pl.DataFrame({"item": range(20)})
    options = {"train": train, "recs": recs, "metrics": "antiprecision@2", "threshold": 4, "items": items}
    finding = one(tv.audit(test=test, **options), "popularity_baseline")
    assert finding.figures["share_of_lead"] == pytest.approx((0.75 - 0.5) / 0.75)
    assert "popularity has 33\xa0% of the lead of mine" in finding.sentence
    worse = judged((u, j, 1 if j in (0, 1) else 5) for u in USERS for j in range(20))
    finding = one(
        tv.audit(test=worse, **options), "popularity_baseline"
    )  # popularity has no lead: all of it is disliked
    assert "over a random ranking" not in finding.sentence


def test_shuffled_ids_are_no_better_than_chance() -> None:
    world = clean_world(0, users=2500)
    moved = pl.DataFrame({"user": np.arange(2500), "by": np.random.default_rng(1).integers(1, 50, 2500)})
    mine = world.recs["good"].join(moved, on="user").select("user", (pl.col("item") + pl.col("by")) % 50, "score")
    items = pl.DataFrame({"item": np.arange(50)})
    recs = {"mine": mine, "good": world.recs["good"]}
    found = tv.audit(test=world.test, recs=recs, threshold=4, metrics="ndcg@5", items=items)
    finding = one(found, "random_baseline")
    assert finding.verdict == "caution"
    assert finding.sentence.startswith("mine is hardly better than a random ranking")


class ShuffledScores:
    """A reader's model: mean ratings, which are given to other items of each user."""

    def fit(self, train: TrainSet) -> ShuffledScores:
        self.model = make_system("average").fit(train)
        return self

    def score(self, users: np.ndarray) -> np.ndarray:
        scores = self.model.score(users)
        places = np.random.default_rng(5).integers(1, scores.shape[1], (1000, 1))[users]
        return np.take_along_axis(scores, (np.arange(scores.shape[1]) + places) % scores.shape[1], axis=1)


def test_shuffled_scores_of_a_readers_own_model_are_a_caution() -> None:
    world = tv.simulate("world", users=1000, items=120, ratings=24_000, gamma=0, value_bias=0, alignment=0, seed=2)
    parts = tv.split(world.log, "holdout", ratio=0.3, seed=1)
    systems = {"mine": ShuffledScores(), "average": "average", "ours": "random"}
    finding = one(tv.audit(parts, systems, metrics="ndcg@10", threshold=4), "random_baseline")
    assert finding.verdict == "caution"
    assert finding.sentence.startswith("mine is hardly better than a random ranking")
    assert "scores and ids belong together" in finding.remedy


def test_a_group_that_is_served_worse() -> None:
    world = clean_world(0, users=400)
    good, poor = world.recs["good"], world.recs["poor"]
    theirs = pl.Series(world.users.filter(pl.col("group") == "a")["user"])
    mine = pl.concat([
        good.filter(~pl.col("user").is_in(theirs.implode())), poor.filter(pl.col("user").is_in(theirs.implode()))
    ])  # fmt: skip
    found = tv.audit(
        train=world.train, test=world.test, recs={"mine": mine}, threshold=4, metrics="ndcg@5", users=world.users,
        by="group", relevant_change=0.01,
    )  # fmt: skip
    finding = one(found, "served_groups")
    assert finding.verdict == "caution"
    assert "group = a" in finding.sentence


def test_unjudged_items_that_decide_an_order() -> None:
    """`shown` has a disliked item before the liked one, `hidden` the right order behind unjudged items."""
    test = judged(row for u in USERS for row in ((u, u % 5, 5), (u, 10 + u % 5, 1)))
    shown = {u: [10 + u % 5, u % 5, *range(20, 30)] for u in USERS}
    hidden = {u: [*range(20, 30 - u % 2), u % 5, 10 + u % 5] for u in USERS}
    recs = {"shown": ranked(shown), "hidden": ranked(hidden)}
    finding = one(tv.audit(test=test, recs=recs, threshold=4, metrics="ndcg@10"), "unjudged_items")
    assert finding.verdict == "cannot tell"  # how good these items are
    assert finding.figures["unjudged"] == pytest.approx({"shown": 0.8, "hidden": 0.95})
    assert finding.figures["reversed"][0]["systems"] == ["shown", "hidden"]


def test_an_order_that_comes_from_popular_items() -> None:
    """`head` finds the two popular items, `tail` one rare item of two: popular ones are most of the test set."""
    train = judged([(1000 + n, n % 2, 5) for n in range(200)] + [(2000 + n, 2 + n, 5) for n in range(40)])
    rows = [row for u in USERS for row in ((u, 0, 5), (u, 1, 5), (u, 2 + u % 40, 5))]
    head = {u: [0, 1, 60 + u % 3, 70] for u in USERS}
    tail = {u: [2 + u % 40, 60, 61, 70 + u % 2] for u in USERS}
    recs = {"head": ranked(head), "tail": ranked(tail)}
    finding = one(tv.audit(train=train, test=judged(rows), recs=recs, metrics="recall@4"), "popularity_bias")
    assert finding.verdict == "cannot tell"  # a view, and no caution by itself
    assert "head is better than tail" in finding.sentence


def test_an_observed_order_that_is_not_the_true_one() -> None:
    observed = judged([*((u, u % 3, 5) for u in USERS), (0, 10, 1)])
    true = judged([*((u, 10 + u % 3, 5) for u in USERS), (0, 0, 1)])
    a = {u: [u % 3, 20, 21 + u % 2] for u in USERS}
    b = {u: [20, 10 + u % 3, 21 + u % 2] for u in USERS}
    train = judged((u, 90, 5) for u in USERS)
    found = tv.audit(
        train=train, test=observed, recs={"a": ranked(a), "b": ranked(b)}, unbiased=true, metrics="ndcg@3", threshold=4
    )
    finding = one(found, "unbiased_order")
    assert finding.verdict == "caution"
    assert finding.figures["observed"] == pytest.approx({"a": 1.0, "b": 0.0})
    assert finding.figures["true"]["b"] == pytest.approx(1 / np.log2(3))


def test_an_order_that_depends_on_who_counts() -> None:
    """`many` serves ten users with twelve relevant items each, `few` fifty users with one."""
    busy, others = range(20), range(20, 100)
    rows = [(u, j, 5) for u in busy for j in range(12)] + [(u, 50 + u % 5, 5) for u in others]
    many = {u: list(range(12)) if u in busy else [90, 91 + u % 2, 93] for u in (*busy, *others)}
    few = {u: [90, 91 + u % 2, 93] if u in busy else [50 + u % 5, 91 + u % 2] for u in (*busy, *others)}
    recs = {"many": ranked(many), "few": ranked(few)}
    finding = one(tv.audit(test=judged(rows), recs=recs, metrics="recall@12"), "design_robustness")
    assert finding.verdict == "caution"
    assert finding.figures["reversed"][0]["systems"] == ["few", "many"]
