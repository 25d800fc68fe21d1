"""Mistakes that people make with lists, test sets and options: what each check counts, on lists written out by hand and
in planted worlds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world, judged, one, ranked

import trueval as tv
from trueval.audit.checks.list_places import turned
from trueval.audit.checks.low_ratings import high_rating
from trueval.audit.checks.relevant_items_first import hits_together
from trueval.audit.checks.twin_items import find_twins
from trueval.audit.top_of_lists import TopOfLists
from trueval.data.ids import Ids
from trueval.data.interactions import Interactions
from trueval.metrics.measure import toy_facts
from trueval.splits.parts import Parts

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
planted_mistakes = pytest.importorskip("planted_mistakes")
planted_worlds = pytest.importorskip("planted_worlds")
DEVELOPMENT = planted_worlds.DEVELOPMENT


def table(lists: list[list[int]], relevant: list[set[int]], *, items: int = 40) -> TopOfLists:
    """The first places of some lists, with the relevant items of each."""
    item = np.array(lists)
    hit = np.array([[code in own for code in row] for row, own in zip(lists, relevant)])
    sizes = np.array([len(own) for own in relevant])
    return TopOfLists(item, hit, hit, sizes, np.arange(len(lists)), items, items)


# ---- statistics ------------------------------------------------------------------------------------------------------


def test_runs_of_hits_in_any_order_are_as_many_as_expected() -> None:
    """Over all orders of h hits among k places there are h(k - h + 1)/k runs on average: the ratio is 1."""
    rng = np.random.default_rng(0)
    hit = np.array([rng.permutation([True] * 3 + [False] * 7) for _ in range(20_000)])
    item = np.tile(np.arange(10), (len(hit), 1))
    found = hits_together(TopOfLists(item, hit, hit, np.full(len(hit), 5), np.arange(len(hit)), 40, 40))
    assert found.ratio == pytest.approx(1, abs=0.01)
    assert not found.odd
    first = np.sort(hit, axis=1)[:, ::-1]
    together = hits_together(TopOfLists(item[:300], first[:300], first[:300], np.full(300, 5), np.arange(300), 40, 40))
    assert together.ratio == pytest.approx(1 / 2.4)
    assert together.odd
    assert together.first == 1


def test_judged_items_that_are_not_relevant_are_passed_over() -> None:
    """Hit, disliked, hit, and three unjudged items: one run."""
    hit = np.array([[True, False, True, False, False, False]])
    judged_ = np.array([[True, True, True, False, False, False]])
    found = hits_together(TopOfLists(np.arange(6)[None], hit, judged_, np.array([2]), np.arange(1), 9, 9))
    assert found.ratio == pytest.approx(1 / (2 * 4 / 5))


def test_agreement_is_the_share_of_common_items_among_lists_that_share_one() -> None:
    """Of {0, 1, 2}, {0, 1, 3} and {4, 5, 6}: 0 and 1 come together in both lists, 2 and 3 are nobody else's."""
    lists = table([[0, 1, 2], [0, 1, 3], [4, 5, 6]], [set(), set(), set()])
    # pairs whose first item others have: (0,1), (0,2), (1,0), (1,2) in the first list, likewise in the second
    assert lists.agreement() == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert np.isnan(table([[0, 1], [2, 3]], [set(), set()]).agreement())


def test_lists_turned_round_have_the_ranks_of_reversed_lists() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        order = [str(code) for code in rng.permutation(8)]
        relevant = set(rng.choice(order, 3, replace=False).tolist())
        back = turned(toy_facts(order, relevant))
        direct = toy_facts(order[::-1], relevant)
        ranks = [dict(zip(own.items.decode(own.item), own.rank.tolist())) for own in (back, direct)]
        assert ranks[0] == ranks[1]
        shown = [own.items.decode(own.list_item).to_list() for own in (back, direct)]
        assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("values", "high"),
    [
        ([5, 4, 4, 3, 4, 1, 2], 4.0),
        ([0.5, 3.5, 4, 4, 4.5, 5], 4.0),
        ([10, 8, 8, 7, 6, 2], 8.0),
        ([1, 1, 1, 2, 3, 9], np.nan),  # counts
        ([1, 1, 1], np.nan),
        ([0.31, 0.72, 0.72, 0.9], np.nan),  # no steps
        (list(range(1, 60)), np.nan),
    ],
)
def test_ratings_are_told_from_counts(values: list[float], high: float) -> None:
    log = Interactions.of(pl.DataFrame({"user": 1, "item": range(len(values)), "value": values}))
    assert high_rating(log)[0] == pytest.approx(high, nan_ok=True)


def test_twins_whatever_the_ids_and_the_order_of_rows() -> None:
    world = clean_world(0, users=150, items=80)
    rows = pl.concat([world.train, world.test])
    twins = rows.filter(pl.col("item").is_in([3, 11])).with_columns(pl.col("item") + 1000)
    log = pl.concat([rows, twins])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        users, items = rng.permutation(150), rng.permutation(2000)
        moved = log.with_columns(
            user=pl.Series(users[log["user"].to_numpy()]), item=pl.Series(items[log["item"].to_numpy()])
        ).sample(fraction=1, shuffle=True, seed=seed)
        parts = Parts(tv.read(moved.head(2000)), tv.read(moved.tail(-2000)), how={"how": "given"})
        known = Ids.of(moved["item"])
        found = find_twins(parts, known)
        pairs = {frozenset(known.values.gather(pair)) for pair in zip(found.first, found.second)}
        assert pairs == {frozenset(items[[3, 1003]].tolist()), frozenset(items[[11, 1011]].tolist())}


# ---- audits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plant", "check", "strength", "verdict"),
    [
        ("sampled_lists", "sampled_candidates", 35, "wrong"),
        ("one_sampled", "sampled_candidates", 35, "wrong"),
        ("seen_likes", "relevant_items_first", 0.3, "caution"),
        ("hits_first", "relevant_items_first", 2.0, "wrong"),
        ("backwards", "backward_lists", 20, "caution"),
        ("no_threshold", "low_ratings", 0.4, "caution"),
        ("twin_items", "twin_items", 0.2, "wrong"),
        ("heavy_testers", "active_test_users", 0.2, "caution"),
        ("one_system_twice", "same_lists", 0.95, "caution"),
        ("wrong_users", "wrong_users", 0.25, "wrong"),
        ("wrong_users", "wrong_users", 1.0, "caution"),
    ],
)
def test_a_mistake_of_middle_strength_is_found(plant: str, check: str, strength: float, verdict: str) -> None:
    finding = one(getattr(planted_mistakes, plant)(DEVELOPMENT, 3, strength).audit(), check)
    assert finding.verdict == verdict, finding.sentence
    assert finding.remedy


def test_who_ranks_a_sample_is_named() -> None:
    finding = one(planted_mistakes.one_sampled(DEVELOPMENT, 5, 20).audit(), "sampled_candidates")
    assert "They cannot be compared with other, which rank more items." in finding.sentence


def test_the_share_of_lists_of_the_wrong_users() -> None:
    for share in (0.25, 0.5):
        finding = one(planted_mistakes.wrong_users(DEVELOPMENT, 4, share).audit(), "wrong_users")
        assert finding.figures["mine"]["share"] == pytest.approx(share, abs=0.08)
        assert finding.figures["mine"]["fit"] == pytest.approx(1, abs=0.25)


def test_popular_lists_fit_everybody_alike_and_belong_to_nobody_else() -> None:
    world = clean_world(2, users=200)
    popular = ranked({user: list(range(10)) for user in range(200)})
    found = tv.audit(train=world.train, test=world.test, recs={"same": popular}, threshold=4, metrics="ndcg@5")
    assert one(found, "wrong_users").verdict == "fine"


def test_the_advice_on_short_lists_is_followed() -> None:
    """Lists of three places: a cutoff that all reach is no longer short."""
    world = clean_world(1)
    short = world.recs["good"].group_by("user", maintain_order=True).head(3)
    options = {"train": world.train, "test": world.test, "recs": {"good": short}, "threshold": 4}
    finding = one(tv.audit(**options, metrics="ndcg@5"), "short_lists")
    assert (finding.verdict, finding.kind) == ("wrong", "fact")
    assert finding.remedy.endswith("--metrics ndcg@3")
    assert one(tv.audit(**options, metrics="ndcg@3"), "short_lists").verdict == "fine"


def test_the_advice_on_a_forgotten_threshold_is_followed() -> None:
    world = clean_world(1)
    options = {"train": world.train, "test": world.test, "recs": {"good": world.recs["good"]}, "metrics": "ndcg@5"}
    assert one(tv.audit(**options), "low_ratings").verdict == "caution"
    for threshold in (1, 4):
        assert one(tv.audit(**options, threshold=threshold), "low_ratings").verdict == "fine"


def test_a_title_twice_is_no_leak_unless_users_have_both() -> None:
    world = clean_world(1)
    titles = pl.DataFrame({"item": range(50), "title": ["same" if code < 2 else str(code) for code in range(50)]})
    train, test = (tv.read(frame) for frame in (world.train, world.test))
    parts = Parts(Interactions.of(train.frame, items=titles), test, how={"how": "given"})
    finding = one(tv.audit(parts, threshold=4), "twin_items")
    assert finding.figures["same_title"] == 1
    both = world.train.filter(pl.col("item") < 2).with_columns(twin=1 - pl.col("item"))
    leaked = world.test.join(both.select("user", item="twin"), on=["user", "item"], how="semi")
    assert finding.figures["test_rows"] == len(leaked.unique(["user", "item"]))


def test_the_same_lists_in_another_vocabulary() -> None:
    """Two files of the same lists, one of which names an item more somewhere else."""
    world = clean_world(1)
    good = world.recs["good"]
    more = pl.concat([good, pl.DataFrame({"user": [0], "item": [49], "score": [-999.0]})]).unique(
        ["user", "item"], keep="first", maintain_order=True
    )
    found = tv.audit(
        train=world.train, test=world.test, recs={"mine": good, "copy": more}, threshold=4, metrics="ndcg@5"
    )
    assert one(found, "same_lists").verdict == "wrong"
    other = tv.audit(
        train=world.train, test=world.test, recs={"mine": good, "fair": world.recs["fair"]}, threshold=4,
        metrics="ndcg@5",
    )  # fmt: skip
    assert one(other, "same_lists").verdict == "fine"


def test_a_log_without_lists() -> None:
    found = tv.audit(train=judged([(1, 1, 5), (2, 2, 4)]), test=judged([(1, 2, 5)]))
    assert one(found, "same_lists").verdict == "cannot tell"
