"""A test set that was tuned on: as a fact, and as a winner that was chosen among many."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import CleanWorld, clean_world, one

import trueval as tv
from trueval.audit.audit import Audit
from trueval.errors import DefinitionError
from trueval.splits.parts import Parts

FAIR, USERS, ITEMS, DEPTH = 1.2, 120, 50, 10


def variants(world: CleanWorld, many: int, seed: int) -> dict[str, pl.DataFrame]:
    """Lists of `fair` as the baseline, and of systems that know as much of the truth, each with noise of its own."""
    rng = np.random.default_rng(seed)
    taste = rng.standard_normal((USERS, 4)) @ rng.standard_normal((4, ITEMS)) / 2 + 0.5 * rng.standard_normal(ITEMS)
    known = np.zeros((USERS, ITEMS), bool)
    known[world.train["user"].to_numpy(), world.train["item"].to_numpy()] = True
    own, recs = np.random.default_rng([seed, 1]), {"baseline": world.recs["fair"]}
    for number in range(many):
        score = np.where(known, -np.inf, taste + FAIR * own.standard_normal(taste.shape))
        top = np.argsort(-score, axis=1)[:, :DEPTH]
        recs[f"variant {number}"] = pl.DataFrame({
            "user": np.repeat(np.arange(USERS), DEPTH), "item": top.ravel(),
            "score": np.take_along_axis(score, top, axis=1).ravel(),
        })  # fmt: skip
    return recs


def audited(many: int, seed: int) -> Audit:
    world = clean_world(seed)
    recs = variants(world, many, seed)
    return tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5")


def test_the_best_of_many_that_differ_by_noise() -> None:
    found = audited(150, seed=1)
    finding = one(found, "selected_on_test")
    assert finding.verdict == "caution"
    assert finding.figures["candidates"] == 150
    assert finding.sentence.startswith(f"ndcg@5 of {finding.figures['winner']}")
    over = {lead["over"]: lead for lead in finding.figures["leads"]}
    assert set(over) == {"the mean of the other 149", "baseline"}
    assert all(lead["without"] < lead["measured"]["value"] for lead in over.values())
    assert found.robustness is not None
    winner = finding.figures["winner"]  # of so many, the order of the winner and each of the others is compared
    assert set(found.robustness.table()["system"]) == {winner}
    assert len(found.robustness.table()) == 150


def test_few_that_differ_by_noise_raise_nothing() -> None:
    for seed in range(8):
        assert one(audited(5, seed), "selected_on_test").verdict != "caution"


def test_the_best_of_many_that_differ() -> None:
    """Systems of quite different quality: hardly anything of how they differ is noise."""
    world = clean_world(0)
    recs = variants(world, 30, 0)
    shuffled = {}
    for at, (name, run) in enumerate(recs.items()):  # worse and worse: the first `at` places are given away
        shuffled[name] = run.with_columns(item=pl.when(pl.int_range(pl.len()).over("user") < at // 4).then(
            1000 + pl.int_range(pl.len()).over("user")).otherwise("item"))  # fmt: skip
    found = tv.audit(train=world.train, test=world.test, recs=shuffled, threshold=4, metrics="ndcg@5")
    finding = one(found, "selected_on_test")
    assert finding.verdict == "fine"
    assert finding.figures["share"] < 0.3


@pytest.mark.parametrize("names", [("poor",), ("good", "poor")])
def test_what_was_tried_and_not_reported_cannot_be_known(names: tuple[str, ...]) -> None:
    """However significant a lead is: significance knows nothing of what was tried, nor of bias."""
    world = clean_world(0, users=400)
    recs = {name: world.recs[name] for name in names}
    found = tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5")
    finding = one(found, "selected_on_test")
    assert finding.verdict == "cannot tell"
    assert finding.sentence.startswith("It cannot be told whether")
    assert "significant" not in finding.sentence


def test_a_relevant_change_of_the_reader_counts() -> None:
    world = clean_world(1)
    recs = variants(world, 150, 1)
    options = {"threshold": 4, "metrics": "ndcg@5", "relevant_change": 0.5}
    found = tv.audit(train=world.train, test=world.test, recs=recs, **options)
    assert one(found, "selected_on_test").verdict == "fine"


# ---- facts -------------------------------------------------------------------------------------------------------


def test_validation_rows_in_the_test_set_are_wrong() -> None:
    world = clean_world(0)
    chosen_on = pl.concat([world.test.head(50), world.unbiased.head(10)])
    found = tv.audit(
        train=world.train, test=world.test, validation=chosen_on, recs=world.recs, threshold=4, metrics="ndcg@5"
    )
    finding = one(found, "tuned_on_test")
    assert (finding.verdict, finding.kind, finding.figures["rows"]) == ("wrong", "fact", 50)
    fresh = tv.evaluate_run(
        {"good": world.recs["good"]}, world.test.tail(-50), train=world.train, threshold=4, metrics="ndcg@5"
    )
    both = finding.figures["as_given_and_on_other_rows"]["good"]
    assert both[1] == pytest.approx(fresh["good", "ndcg@5"].value)
    assert one(found, "duplicates").figures["rows"] == 0


def test_a_validation_part_of_its_own_is_fine() -> None:
    world = clean_world(0)
    parts = Parts(tv.read(world.train), tv.read(world.test), tv.read(world.unbiased), how={"how": "given"})
    assert one(tv.audit(parts), "tuned_on_test").verdict == "fine"
    without = tv.audit(train=world.train, test=world.test)
    assert one(without, "tuned_on_test").verdict == "cannot tell"
    assert without.manifest["fingerprint"] != tv.audit(parts).manifest["fingerprint"]


def test_a_validation_set_needs_train() -> None:
    world = clean_world(0)
    with pytest.raises(DefinitionError, match="train and test"):
        tv.audit(test=world.test, validation=world.unbiased)
