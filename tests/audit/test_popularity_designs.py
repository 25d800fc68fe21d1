"""What popularity earns under designs that favour popular items less and less."""

from __future__ import annotations

import polars as pl
import pytest
from audit_worlds import clean_world, one

import trueval as tv
from trueval.audit.popularity_designs import PopularityDesigns
from trueval.splits.parts import Parts
from trueval.splits.uniform import uniform_part

SYSTEMS = ["itemknn", "puresvd[factors=4]", "random"]
KINDS = ["AR", "1R", "head", "P1R", "UAR", "U1R"]


@pytest.fixture(scope="module")
def parts() -> Parts:
    """A log in which popular items are rated far more often."""
    world = tv.simulate("world", users=300, items=120, ratings=9000, gamma=1.5, seed=3)
    made = tv.split(world.log, "holdout", ratio=0.3, seed=1)
    assert isinstance(made, Parts)
    return made


@pytest.fixture(scope="module")
def audit(parts: Parts) -> tv.Audit:
    return tv.audit(parts, SYSTEMS, threshold=4, metrics="ndcg@10")


@pytest.fixture(scope="module")
def found(audit: tv.Audit) -> PopularityDesigns:
    record = audit.measured["popularity_designs"]
    assert isinstance(record, PopularityDesigns)
    return record


def test_every_design_is_there(found: PopularityDesigns) -> None:
    assert [row.kind for row in found.rows] == KINDS
    assert not found.missing
    assert set(found.table()["system"]) == {"itemknn", "puresvd[factors=4]"}  # chance and popularity have columns


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_evaluate(parts: Parts, found: PopularityDesigns, kind: str) -> None:
    row = next(row for row in found.rows if row.kind == kind)
    own = parts
    if kind.startswith("U"):
        own = uniform_part(parts, threshold=4, seed=0)
    result = tv.evaluate(
        own, ["popularity", *SYSTEMS], design=row.design, threshold=4, metrics="ndcg@10", interval="none",
        items=parts.train.frame["item"].unique() if kind in ("UAR", "U1R") else None,
    )  # fmt: skip
    assert row.popularity == pytest.approx(result["popularity", "ndcg@10"].value)
    assert row.chance == pytest.approx(result.evaluation.random["ndcg@10"])
    for name, value in row.systems.items():
        assert value == pytest.approx(result[name, "ndcg@10"].value)
        assert row.explained(name) == pytest.approx((row.popularity - row.chance) / (value - row.chance))


def test_a_uniform_test_gives_popularity_next_to_nothing(found: PopularityDesigns) -> None:
    shares = {row.kind: row.explained("puresvd[factors=4]") for row in found.rows}
    assert shares["AR"] > 2 * shares["P1R"]
    lead = {row.kind: (row.popularity - row.chance) / row.chance for row in found.rows}
    assert lead["U1R"] < 0.25 * lead["1R"]


def test_a_uniform_part_has_equally_many_relevant_rows_of_every_item(parts: Parts) -> None:
    drawn = uniform_part(parts, threshold=4, seed=5)
    counts = drawn.test.frame["item"].value_counts()["count"]
    assert counts.n_unique() == 1
    assert drawn.test.frame["value"].min() >= 4
    assert len(drawn.test.frame.join(parts.test.frame, on=["user", "item"], how="semi")) == len(drawn.test)
    assert drawn.train is parts.train


def test_the_finding_tells_what_popularity_has(audit: tv.Audit) -> None:
    finding = one(audit, "popularity_bias")
    assert "over a random ranking on ndcg@10, popularity has" in finding.sentence
    rows = finding.figures["popularity_designs"]["designs"]
    assert [row["kind"] for row in rows] == KINDS
    assert "What popularity explains of ndcg@10" in audit.to_html()


def test_lists_say_what_cannot_be_done() -> None:
    world = clean_world(0)
    found = world.audit().measured["popularity_designs"]
    assert "P1R" not in [row.kind for row in found.rows]
    assert found.missing == ("P1R: lists cannot be ranked again; systems can (--systems)",)
    assert "lists cannot be ranked again" in str(found)


def test_conclusions_that_survive_and_that_do_not() -> None:
    """Two popular items are all that `head` finds, `tail` finds the eight others, further down: of the test rows 4
    in 10 are of the popular ones, of a uniform test 2 in 10."""
    users = range(3000)
    train = pl.DataFrame([(9000 + n, n % 2) for n in range(300)], schema=["user", "item"], orient="row")
    others = {u: (2 + u % 8, 2 + (u + 3) % 8) for u in users}
    rows = [(u, item) for u in users for item in ((0, 1) if u % 5 < 2 else others[u])]
    test = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    lists = {"head": lambda u: [0, 1, 20, 21], "tail": lambda u: [20, 21, *others[u]]}
    recs = {
        name: pl.DataFrame([(u, item, place) for u in users for place, item in enumerate(own(u), 1)],
                           schema=["user", "item", "rank"], orient="row")
        for name, own in lists.items()
    }  # fmt: skip
    found = tv.audit(train=train, test=test, recs=recs, metrics="ndcg@4").measured["popularity_designs"]
    by = {row.kind: row for row in found.rows}
    assert by["AR"].systems["head"] > by["AR"].systems["tail"]
    assert (by["AR"].pairs, by["AR"].hold, by["AR"].reversed) == (1, 1, 0)
    assert (by["UAR"].hold, by["UAR"].reversed) == (0, 1)
    result = tv.evaluate_run(recs, uniform_part(Parts(tv.read(train), tv.read(test))).test, metrics="ndcg@4")
    assert by["UAR"].systems["tail"] == pytest.approx(result["tail", "ndcg@4"].value)
