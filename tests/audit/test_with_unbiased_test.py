"""What an unbiased test set tells besides its own check: orders that it upholds, and how far observed ones are true."""

from __future__ import annotations

import pytest
from audit_worlds import clean_world, judged, one, ranked
from scipy.stats import kendalltau

import trueval as tv
from trueval.audit.finding import Finding

USERS = range(60)


def observed_and_true(liked_at_random: int) -> tuple[Finding, Finding]:
    """What is said of unjudged items and of the unbiased test.

    `shown` is better with unjudged items as misses, `hidden` on judged items alone; the unbiased test has one liked
    item of each user, from this number on.
    """
    test = judged(row for u in USERS for row in ((u, u % 5, 5), (u, 10 + u % 5, 1)))
    shown = {u: [10 + u % 5, u % 5, 30 + u % 3, *range(50, 57)] for u in USERS}
    hidden = {u: [*range(20, 29 - u % 2), 40 + u % 3, u % 5, 10 + u % 5] for u in USERS}
    true = judged([*((u, liked_at_random + u % 3, 5) for u in USERS), (0, 20, 1), (0, 50, 1)])
    recs = {"shown": ranked(shown), "hidden": ranked(hidden)}
    train = judged((u, 90, 5) for u in USERS)
    options = {"threshold": 4, "metrics": "ndcg@12"}
    found = tv.audit(train=train, test=test, recs=recs, unbiased=true, **options)
    return one(found, "unjudged_items"), one(found, "unbiased_order")


def test_an_order_that_the_unbiased_test_upholds_is_no_caution() -> None:
    unjudged, unbiased = observed_and_true(30)  # what `shown` has in the third place, and `hidden` nowhere
    assert unjudged.verdict == "cannot tell"
    assert [order["systems"] for order in unjudged.figures["reversed"]] == [["shown", "hidden"]]
    assert unbiased.verdict == "fine"


def test_an_order_that_the_unbiased_test_reverses_is_a_caution() -> None:
    unjudged, unbiased = observed_and_true(40)  # what `hidden` alone has
    assert unjudged.verdict == "cannot tell"
    assert unbiased.verdict == "caution"


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
