"""What an unbiased test set tells besides its own check: orders that it upholds, and how far observed ones are true."""

from __future__ import annotations

import pytest
from audit_worlds import clean_world, judged, one, ranked
from scipy.stats import kendalltau

import trueval as tv
from trueval.audit.finding import Finding

USERS = range(60)


def unjudged(liked_at_random: int) -> Finding:
    """`shown` is better with unjudged items as misses, `hidden` on judged items alone; the unbiased test has one liked
    item of each user, from this number on."""
    test = judged(row for u in USERS for row in ((u, u % 5, 5), (u, 10 + u % 5, 1)))
    shown = {u: [10 + u % 5, u % 5, 30 + u % 3, *range(50, 57)] for u in USERS}
    hidden = {u: [*range(20, 29 - u % 2), 40 + u % 3, u % 5, 10 + u % 5] for u in USERS}
    true = judged([*((u, liked_at_random + u % 3, 5) for u in USERS), (0, 20, 1), (0, 50, 1)])
    recs = {"shown": ranked(shown), "hidden": ranked(hidden)}
    train = judged((u, 90, 5) for u in USERS)
    options = {"threshold": 4, "metrics": "ndcg@12"}
    return one(tv.audit(train=train, test=test, recs=recs, unbiased=true, **options), "unjudged_items")


def test_an_order_that_the_unbiased_test_upholds_is_no_caution() -> None:
    finding = unjudged(30)  # what `shown` has in the third place, and `hidden` nowhere
    assert finding.verdict == "fine"
    assert finding.figures["upheld"] == [["shown", "hidden"]]
    assert finding.figures["reversed"] == []
    assert "The unbiased test upholds the order as evaluated: shown over hidden on ndcg@12 (0.5" in finding.sentence


def test_an_order_that_the_unbiased_test_reverses_stays_a_caution() -> None:
    finding = unjudged(40)  # what `hidden` alone has
    assert finding.verdict == "caution"
    assert "upheld" not in finding.figures


def test_observed_and_true_order_by_true_and_false_positives() -> None:
    world = clean_world(3)
    finding = one(world.audit(), "false_positives")
    found = finding.figures["observed_and_true"]
    sides = {
        name: tv.evaluate_run(
            world.recs, test, train=world.train, metrics="ndcg@5,antiprecision@5", threshold=4, interval="none"
        )
        for name, test in (("observed", world.test), ("true", world.unbiased))
    }
    for metric in ("ndcg@5", "antiprecision@5"):
        values = [[side[name, metric].value for name in world.recs] for side in sides.values()]
        assert found[metric] == pytest.approx(kendalltau(*values).statistic)
    assert "Kendall's τ between observed order and that on the unbiased test" in finding.sentence
    assert "--unbiased" not in finding.remedy
