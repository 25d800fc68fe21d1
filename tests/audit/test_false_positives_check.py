"""The check of false positives: opposed popularity is found, and the systems that it favours are named."""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv
from trueval.audit.audit import Audit

SYSTEMS = ["popularity", "average", "itemknn"]


def audited(kind: str, seed: int, **options: float) -> tuple[tv.World, tv.Parts, Audit]:
    world = tv.simulate(kind, users=500, items=250, ratings=7000, seed=seed, **options)
    parts = tv.split(world.log, "holdout", ratio=0.3, seed=1)
    return world, parts, tv.audit(parts, SYSTEMS, metrics="precision@10", threshold=4)


def test_opposed_popularity_is_a_view_that_advises_false_positives() -> None:
    world, parts, found = audited("opposed", 1)
    (one,) = found["false_positives"]
    assert one.verdict == "cannot tell"
    assert one.figures["direction"] == "opposed"
    assert "popularity is better than average on precision@10" in one.sentence
    assert "but worse by antiprecision@10" in one.sentence
    assert "--metrics antiprecision@10" in one.remedy
    true = {name: world.truth(name, "precision@10", train=parts.train) for name in SYSTEMS}
    assert true["average"] > 3 * true["popularity"]  # what it advises is the truth


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_is_said_where_observation_depends_on_nothing(seed: int) -> None:
    _, _, found = audited("world", seed, gamma=0.0, value_bias=0.0)
    (one,) = found["false_positives"]
    assert one.verdict == "fine"
    assert one.remedy == ""


def test_an_observed_alignment_is_no_proof() -> None:
    """Likes among ratings say little of items that are rated when they are liked."""
    _, _, found = audited("world", 2, alignment=0.8, value_bias=0.5)
    (one,) = found["false_positives"]
    assert one.figures["direction"] == "aligned"
    assert one.verdict in ("fine", "cannot tell")
    assert "unless users rate what they like" in one.sentence


def test_opposed_popularity_is_advised_upon_where_no_order_is_reversed() -> None:
    world = tv.simulate("opposed", users=300, items=150, seed=4)
    parts = tv.split(world.log, "holdout", seed=1)
    lists = pl.DataFrame([(u, i, i) for u in range(300) for i in range(1, 11)], ["user", "item", "rank"], orient="row")
    (one,) = tv.audit(parts, recs={"one": lists, "same": lists}, metrics="precision@10", threshold=4)["false_positives"]
    assert one.verdict == "fine"
    assert "--metrics antiprecision@10" in one.remedy


def test_parts_alone_tell_the_direction() -> None:
    world = tv.simulate("opposed", users=300, items=150, seed=4)
    found = tv.audit(tv.split(world.log, "holdout", seed=1), threshold=4)
    (one,) = found["false_positives"]
    assert one.verdict == "cannot tell"
    assert "liked less" in one.sentence


def test_without_ratings_it_cannot_be_told() -> None:
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"]})
    (one,) = tv.audit(train=log.head(3), test=log.tail(1))["false_positives"]
    assert one.verdict == "cannot tell"
    assert one.figures == {"needs": "ratings"}
