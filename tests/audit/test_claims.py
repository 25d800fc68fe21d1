"""What may be claimed: answers in small worlds with a known truth, and what must not change them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.audit.audit import Audit, audit
from trueval.audit.claims import ANSWERS, CANNOT_TELL, DEPENDS, HOLDS, Claim, Claims, combine_claims, make_claims
from trueval.audit.make_case import make_case
from trueval.audit.readings import AS_JUDGED, AS_MET, AS_RATED, RANDOM, SELF_SELECTED, Estimate
from trueval.errors import TruevalError

LIKED = 4
GOOD, FAIR, POPULAR, BLIND = "good", "fair", "popular", "blind"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "audit.schema.json").read_text())


@dataclass(frozen=True)
class SmallWorld:
    """Train, test, a test of items drawn at random, lists of ten, and how good they are in truth."""

    train: pl.DataFrame
    test: pl.DataFrame
    unbiased: pl.DataFrame
    recs: Mapping[str, pl.DataFrame]
    truth: Mapping[str, np.ndarray]  # by user, on the complete ratings

    def side(self, first: str, second: str) -> int:
        """1 where the first system is better in truth, -1 where the second is, 0 where they are too close."""
        apart = self.truth[first] - self.truth[second]
        t = apart.mean() / (apart.std() / math.sqrt(len(apart)))
        return int(np.sign(t)) if abs(t) > 2 else 0

    def audit(self, **options: Any) -> Audit:
        chosen = {"threshold": LIKED, "metrics": "ndcg@10", "recs": self.recs, **options}
        return audit(train=self.train, test=self.test, **chosen)

    def claims(self, **options: Any) -> Claims:
        """The answers alone, without the checks."""
        chosen = {"threshold": LIKED, "metrics": "ndcg@10", "recs": self.recs, "unbiased": None, **options}
        return claims_of(self.train, self.test, **chosen)


def claims_of(train: pl.DataFrame, test: pl.DataFrame, **options: Any) -> Claims:
    case = make_case(
        None, None, train=train, test=test, validation=None, design="AR-TI-AN", relevant_change=None,
        population="relevant", missing="zero", invalid="refuse", ties="random", items=None, users=None, only_users=None,
        by=None, min_group=30, columns=None, seed=0, **options,
    )  # fmt: skip
    return make_claims(case)


def small_world(
    seed: int = 0, *, popularity: float = 0.0, quality: float = 0.0, value: float = 0.0, selected: float = 0.0,
    users: int = 600, items: int = 150, rows: int = 24, likes_only: bool = False,
) -> SmallWorld:  # fmt: skip
    """Pairs are observed by popularity to a power, by their value, and rare ones by those who like them.

    `quality` is the correlation of popularity and quality. `good` and `fair` know what users like, with noise;
    `popular` recommends what has most ratings, `blind` items by lot.
    """
    rng = np.random.default_rng(seed)
    fame = rng.permutation(np.log(1 / (4 + np.arange(items))))
    fame = (fame - fame.mean()) / fame.std()
    worth = quality * fame + math.sqrt(1 - quality**2) * rng.standard_normal(items)
    means = 0.7 * worth + rng.standard_normal((users, 5)) @ rng.standard_normal((5, items)) / math.sqrt(5)
    felt = means + 0.6 * rng.standard_normal(means.shape)
    values = 1.0 + np.searchsorted(np.quantile(felt, [0.2, 0.5, 0.75, 0.9]), felt)
    rare = 1 - np.argsort(np.argsort(fame)) / items
    weight = np.exp(popularity * fame + value * values + selected * rare * means / means.std())
    chance = weight * rows / weight.sum(axis=1, keepdims=True)
    observed = rng.random(means.shape) < chance.clip(0, 0.9)
    if likes_only:
        observed &= values >= LIKED
    in_test = observed & (rng.random(means.shape) < 0.4)
    in_train = observed & ~in_test
    counts = in_train.sum(axis=0)
    scores = {
        GOOD: means + 0.3 * rng.standard_normal(means.shape), FAIR: means + 2.5 * rng.standard_normal(means.shape),
        POPULAR: np.broadcast_to(counts, means.shape), BLIND: rng.standard_normal(means.shape),
    }  # fmt: skip
    recs, truth = {}, {}
    for name, own in scores.items():
        order = np.argsort(np.where(in_train, np.inf, -own), axis=1, kind="stable")[:, :10]
        user = np.repeat(np.arange(users), 10)
        recs[name] = pl.DataFrame({"user": user, "item": order.ravel(), "rank": np.tile(np.arange(1, 11), users)})
        truth[name] = (np.take_along_axis(values >= LIKED, order, axis=1) / np.log2(np.arange(2, 12))).sum(axis=1)
    by_lot = ~in_train & (rng.random(means.shape) < 0.15)
    return SmallWorld(*(rows_of(values, pairs) for pairs in (in_train, in_test, by_lot)), recs, truth)


def rows_of(values: np.ndarray, pairs: np.ndarray) -> pl.DataFrame:
    user, item = np.nonzero(pairs)
    return pl.DataFrame({"user": user, "item": item, "value": values[user, item]})


def answers(found: Claims) -> dict[tuple[str, str], str]:
    return {(claim.better, claim.worse): claim.answer for claim in found.pairs}


# ---- worlds of each kind -----------------------------------------------------------------------------------------

KINDS = {
    "nothing": {}, "value": {"value": 0.6},
    "popularity, aligned": {"popularity": 1.0, "quality": 0.7}, "popularity, independent": {"popularity": 1.0},
    "popularity, opposed": {"popularity": 1.0, "quality": -0.7}, "both": {"popularity": 0.8, "value": 0.5},
    "self-selected": {"popularity": 0.6, "selected": 2.0},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_is_true(kind):
    for seed in (1, 2):
        world = small_world(seed, **KINDS[kind])
        found = world.claims()
        held = found.of(HOLDS)
        assert held, kind
        assert not any(world.side(claim.better, claim.worse) < 0 for claim in held)
        if kind in ("nothing", "value"):  # as rated is right there: nothing is reversed
            assert not found.of(DEPENDS)
            assert (GOOD, BLIND) in answers(found)


def test_what_popularity_earns_depends():
    world = small_world(3, popularity=1.0)
    found = world.claims()
    assert answers(found)[POPULAR, FAIR] == DEPENDS
    assert world.side(POPULAR, FAIR) == -1
    claim = next(one for one in found.pairs if (one.better, one.worse) == (POPULAR, FAIR))
    assert claim.reversed_under
    assert claim.readings[AS_RATED].difference > 0
    assert claim.labels is not None
    assert claim.labels > 0


def test_every_significant_pair_has_one_answer():
    found = small_world(1, popularity=1.0).claims(metrics=["ndcg@10", "precision@5"])
    pairs = [(claim.metric, frozenset((claim.better, claim.worse))) for claim in found.pairs]
    assert len(pairs) == len(set(pairs))
    assert len(pairs) + found.undecided == 2 * 6
    assert {claim.answer for claim in found.pairs} <= set(ANSWERS)
    for claim in found.pairs:
        assert list(claim.readings) == [AS_RATED, AS_JUDGED, SELF_SELECTED]
        others = [claim.readings[AS_JUDGED], claim.readings[SELF_SELECTED]]
        significant = [math.copysign(1, one.difference) if one.p < 0.05 else 0 for one in others]
        expected = DEPENDS if min(significant) < 0 else HOLDS if min(significant) > 0 else CANNOT_TELL
        assert claim.answer == expected


def test_lower_is_better_where_the_metric_says_so():
    world = small_world(2)
    found = world.claims(metrics="anti(precision)@10")
    assert answers(found)[GOOD, BLIND] == HOLDS
    assert all(claim.readings[AS_JUDGED].difference > 0 for claim in found.of(HOLDS))
    opposed = small_world(3, popularity=1.2, quality=0.7).claims(metrics="anti(precision)@10")
    depending = [line for line in opposed.sentences() if line.startswith("Depends")]
    assert depending
    assert "if an item without a rating counts as not disliked" in depending[0]


# ---- logs of likes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_likes_alone_never_make_an_order_hold(kind):
    world = small_world(4, likes_only=True, **KINDS[kind])
    for without in (False, True):
        own = world
        if without:
            own = replace(world, train=world.train.drop("value"), test=world.test.drop("value"))
        found = own.claims(threshold=None if without else LIKED)
        assert found.pairs
        assert not found.of(HOLDS)
        assert all(list(claim.readings) == [AS_RATED, AS_MET] for claim in found.pairs)
        assert any("liked items only" in line for line in found.sentences())


def test_an_unbiased_test_decides_where_there_are_likes_alone():
    world = small_world(4, likes_only=True)
    found = world.claims(unbiased=world.unbiased)
    assert answers(found)[GOOD, BLIND] == HOLDS


# ---- an unbiased test --------------------------------------------------------------------------------------------


def test_an_unbiased_test_overrules_all_readings():
    world = small_world(5, popularity=1.2, quality=-0.7)
    before, after = world.claims(), world.claims(unbiased=world.unbiased)
    assert answers(before)[POPULAR, GOOD] != HOLDS
    assert answers(after)[GOOD, POPULAR] == HOLDS
    claim = next(one for one in after.pairs if (one.better, one.worse) == (GOOD, POPULAR))
    assert claim.readings[RANDOM].difference > 0 > claim.readings[AS_RATED].difference
    assert claim.labels is None
    assert any("the other way round" in line for line in after.sentences())
    assert not any(world.side(one.better, one.worse) < 0 for one in after.of(HOLDS))


def test_an_unbiased_test_without_a_difference_overrules_nothing():
    world = small_world(5, popularity=1.0)
    few = world.unbiased.sample(60, seed=1)
    before, after = world.claims(), world.claims(unbiased=few)
    significant = {(c.better, c.worse) for c in after.pairs if c.readings[RANDOM].p < 0.05}
    for pair, answer in answers(before).items():
        if pair not in significant and pair[::-1] not in significant:
            assert answers(after)[pair] == answer


# ---- nothing to answer -------------------------------------------------------------------------------------------


def test_one_system_has_no_order():
    world = small_world()
    found = world.claims(recs={GOOD: world.recs[GOOD]})
    assert len(found) == 0
    assert found.sentences() == [
        "What may be claimed: no order, for there is one system. Add the lists of a system to compare with."
    ]


def test_data_alone_have_no_claims():
    world = small_world()
    found = audit(train=world.train, test=world.test, threshold=LIKED)
    assert found.claims.sentences() == []
    assert found.to_dict()["claims"] == []


@pytest.mark.parametrize("design", ["1R-TI-AN", "P1R10-TI-AN"])
def test_designs_without_lists_of_users_have_no_other_reading(design):
    world = small_world(1, rows=40)
    parts = tv.Parts(*(tv.read(one) for one in (world.train, world.test)), how={"how": "given"})
    found = audit(parts, ["popularity", "average"], design=design, threshold=LIKED, metrics="ndcg@10").claims
    assert found.pairs
    assert {claim.answer for claim in found.pairs} == {CANNOT_TELL}
    assert all(list(claim.readings) == [AS_RATED] for claim in found.pairs)
    assert "no other reading is known" in " ".join(found.sentences())


def test_metrics_that_are_not_about_likes_have_no_other_reading():
    world = small_world(1)
    found = world.claims(metrics="novelty@10")
    assert {claim.answer for claim in found.pairs} <= {CANNOT_TELL}


# ---- what must not matter ----------------------------------------------------------------------------------------


def as_text(world: SmallWorld) -> SmallWorld:
    """Ids as text, whose order differs from that of numbers."""

    def changed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(
            user=pl.format("u{}", 7919 * pl.col("user") % 1009), item=pl.format("i{}", 61 * pl.col("item") % 151)
        )

    tables = (changed(one) for one in (world.train, world.test, world.unbiased))
    return SmallWorld(*tables, {name: changed(run) for name, run in world.recs.items()}, world.truth)


def shuffled(world: SmallWorld) -> SmallWorld:
    """The rows of all tables in another order."""
    tables = (one.sample(fraction=1, shuffle=True, seed=3) for one in (world.train, world.test, world.unbiased))
    runs = {name: run.sample(fraction=1, shuffle=True, seed=4) for name, run in world.recs.items()}
    return SmallWorld(*tables, runs, world.truth)


@pytest.mark.parametrize("change", [as_text, shuffled])
def test_ids_and_the_order_of_rows_change_nothing(change):
    world = small_world(6, popularity=1.0, users=300, items=150)
    before, after = (own.claims(unbiased=own.unbiased).records() for own in (world, change(world)))
    assert [_answer(one) for one in before] == [_answer(one) for one in after]
    for one, other in zip(before, after):
        for name, reading in one["readings"].items():
            assert list(other["readings"][name].values()) == pytest.approx(list(reading.values()), rel=1e-9, abs=1e-15)


def _answer(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("better", "worse", "metric", "answer", "labels"))


def test_threads_change_nothing():
    world = small_world(6, popularity=1.0, users=300)
    one, two = (world.audit(threads=threads).claims.records() for threads in (1, 2))
    assert one == two


def test_the_order_of_systems_changes_no_answer():
    world = small_world(6, popularity=1.0)
    turned = world.claims(recs=dict(reversed(world.recs.items())))
    assert answers(turned) == answers(world.claims())


def test_a_scale_of_ratings_changes_nothing():
    """The readings are about likes: ratings of 20 to 100 with the threshold at 80 are the same likes."""
    world = small_world(6, popularity=1.0, users=300)
    train, test = (one.with_columns(value=20 * pl.col("value")) for one in (world.train, world.test))
    found = claims_of(train, test, recs=world.recs, threshold=80, metrics="ndcg@10", unbiased=None)
    assert answers(found) == answers(world.claims())


# ---- repeats -----------------------------------------------------------------------------------------------------


def claim_of(better: str, worse: str, answer: str) -> Claim:
    return Claim(better, worse, "ndcg@10", answer, {AS_RATED: Estimate(0.1, 0.05, 0.15, 0.001)})


def combined(*repeats: list[Claim], undecided: int = 0) -> Claims:
    return combine_claims([Claims(tuple(one), ("a", "b", "c"), ("ndcg@10",), undecided=undecided) for one in repeats])


def test_repeats_have_the_answer_of_most_of_them():
    holds, depends = claim_of("a", "b", HOLDS), claim_of("a", "b", DEPENDS)
    assert combined([holds], [holds], [depends]).pairs == (holds,)
    assert combined([holds], [depends], [depends]).pairs == (depends,)
    assert combined([holds]).pairs == (holds,)


def test_repeats_that_disagree_cannot_tell():
    holds, other = claim_of("a", "b", HOLDS), claim_of("b", "a", HOLDS)
    (one,) = combined([holds], [other]).pairs
    assert one.answer == CANNOT_TELL
    (one,) = combined([holds], [claim_of("a", "b", DEPENDS)], [claim_of("a", "b", CANNOT_TELL)]).pairs
    assert one.answer == CANNOT_TELL


def test_a_difference_in_few_repeats_is_none():
    holds = claim_of("a", "b", HOLDS)
    found = combined([holds], [], [], undecided=2)
    assert found.pairs == ()
    assert found.undecided == 3


def test_folds_are_answered_together():
    world = tv.simulate("world", users=250, items=80, ratings=6000, gamma=0.0, value_bias=0.0, seed=5)
    parts = tv.split(world.log, "kfold", n=3, seed=1)
    result = tv.evaluate(parts, ["average", "popularity", "random"], threshold=4, metrics="ndcg@10")
    found = result.audit(parts)
    assert found.manifest["repeats"]
    assert len({(claim.metric, frozenset((claim.better, claim.worse))) for claim in found.claims.pairs}) == len(
        found.claims
    )


# ---- sentences and records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_five_lines_say_what_may_be_claimed(kind):
    world = small_world(1, **KINDS[kind])
    for options in ({}, {"unbiased": world.unbiased}, {"metrics": ["ndcg@10", "recall@5"]}):
        lines = world.claims(**options).sentences()
        assert 1 <= len(lines) <= 5
        assert lines[0].startswith("What may be claimed: ")


def test_the_safest_order_puts_nobody_before_whom_he_loses_to():
    world = small_world(1)
    found = world.claims()
    groups = found.safest_order("ndcg@10")
    place = {name: number for number, group in enumerate(groups) for name in group}
    assert len(groups) > 1
    assert set(place) <= set(world.recs)
    placed = [claim for claim in found.of(HOLDS) if {claim.better, claim.worse} <= set(place)]
    assert all(place[claim.better] < place[claim.worse] for claim in placed)


def audits() -> dict[str, Audit]:
    """Audits of every kind: records of all of them have one type."""
    world, likes = small_world(1, popularity=1.0, users=300), small_world(2, likes_only=True, users=300)
    parts = tv.Parts(*(tv.read(one) for one in (world.train, world.test)), how={"how": "given"})
    leaked = pl.concat([world.test, world.train.head(5)])
    found = {
        "data": audit(train=world.train, test=world.test, threshold=LIKED),
        "one list": world.audit(recs={GOOD: world.recs[GOOD]}),
        "lists": world.audit(metrics=["ndcg@10", "recall@5"]), "unbiased": world.audit(unbiased=world.unbiased),
        "likes": likes.audit(), "leaked": audit(train=world.train, test=leaked, recs=world.recs, threshold=LIKED),
        "opposed": small_world(5, popularity=1.2, quality=-0.7, users=300).audit(),
        "systems": audit(parts, ["popularity", "average", "itemknn"], threshold=LIKED),
        "one relevant": audit(parts, ["popularity", "average"], threshold=LIKED, design="1R-TI-AN"),
        "simulated": audit(parts, ["popularity", "average"], threshold=LIKED, simulate=1),
    }  # fmt: skip
    data = found["leaked"].manifest["fingerprint"]
    accept = {"leaked_pairs": {"reason": "a test", "data": data}}
    found["accepted"] = audit(train=world.train, test=leaked, recs=world.recs, threshold=LIKED, accept=accept)
    return found


def test_records_have_the_published_schema():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    found = audits()
    for name, one in found.items():
        record = json.loads(one.to_json())
        wrong = [f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message}"
                 for error in validator.iter_errors(record)]  # fmt: skip
        assert not wrong, wrong[:5]
    assert found["accepted"].accepted
    assert "simulation" in found["simulated"].to_dict()
    spoiled = json.loads(found["lists"].to_json())
    spoiled["claims"][0]["answer"] = "perhaps"
    assert not validator.is_valid(spoiled)


def test_the_command_line_prints_the_same_record(tmp_path, trueval):
    jsonschema = pytest.importorskip("jsonschema")
    world = small_world(1, popularity=1.0, users=200)
    for name, table in {"train": world.train, "test": world.test, **world.recs}.items():
        table.write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in world.recs]
    train, test = str(tmp_path / "train.csv"), str(tmp_path / "test.csv")
    arguments = ["audit", "--train", train, "--test", test, "--recs", *files, "--threshold", "4", "--format", "json"]
    record = json.loads(trueval(*arguments).out)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert record["claims"]


def test_an_order_that_depends_can_end_a_pipeline():
    found = small_world(3, popularity=1.0).audit()
    assert found.claims.of(DEPENDS)
    with pytest.raises(TruevalError, match="depend"):
        found.raise_on("depends")


@pytest.mark.parametrize("seed", range(30))
def test_the_safest_order_says_nothing_that_does_not_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = tuple("abcdef"[: rng.integers(2, 7)])
    pairs = [
        Claim(better, worse, "ndcg@10", str(rng.choice(["holds", "depends", "cannot tell"], p=[0.6, 0.2, 0.2])), {})
        for better, worse in itertools.combinations(rng.permutation(names).tolist(), 2)
    ]
    groups = Claims(tuple(pairs), names, ("ndcg@10",)).safest_order("ndcg@10")
    holding = {(claim.better, claim.worse) for claim in pairs if claim.answer == "holds"}
    for first, second in itertools.combinations(groups, 2):
        assert set(itertools.product(first, second)) <= holding
