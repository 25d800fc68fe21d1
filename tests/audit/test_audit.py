"""The audit as a whole: what it needs, corrections, formats, acceptance, exit on a verdict."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world, one

import trueval as tv
from trueval.audit.audit import Audit
from trueval.audit.conclusion import conclude
from trueval.audit.finding import HEADINGS, VERDICTS, Draft, Finding
from trueval.audit.registry import all_checks
from trueval.errors import TruevalError


@pytest.fixture(scope="module")
def found() -> Audit:
    return clean_world(3).audit()


def test_every_check_speaks_where_all_is_given(found: Audit) -> None:
    assert {finding.check for finding in found.findings} == {check.name for check in all_checks() if not check.view}
    assert {finding.check for finding in found.views} == {check.name for check in all_checks() if check.view}
    assert not {finding.verdict for finding in found.views} & {"wrong", "caution"}
    assert all(finding.heading in HEADINGS and finding.sentence for finding in found.findings)


def test_a_clean_world_is_not_wrong_and_not_uncertain(found: Audit) -> None:
    assert not [finding for finding in found.findings if finding.verdict in ("wrong", "caution")]


def test_findings_stand_most_severe_first(found: Audit) -> None:
    places = [VERDICTS.index(finding.verdict) for finding in found.findings]
    assert places == sorted(places)


def test_train_and_test_alone_are_enough() -> None:
    world = clean_world(1)
    found = tv.audit(train=world.train, test=world.test)
    assert found["leaked_pairs"][0].verdict == "fine"
    assert {one(found, name).verdict for name in ("ties_at_cut", "popularity_bias", "unbiased_order")} == {
        "cannot tell"
    }
    assert "recommendations or systems" in one(found, "ties_at_cut").sentence


def test_a_test_set_and_lists_are_enough() -> None:
    world = clean_world(1)
    found = tv.audit(test=world.test, recs=world.recs, threshold=4, metrics="ndcg@5")
    assert one(found, "leaked_pairs").verdict == "cannot tell"
    assert one(found, "ties_at_cut").verdict == "fine"


def test_systems_are_audited_on_parts() -> None:
    log = pl.concat([clean_world(2).train, clean_world(2).test])
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    found = tv.audit(parts, ["popularity", "average", "random"], threshold=4, metrics="ndcg@5")
    assert one(found, "future_rows").figures["own_future"]["share"] > 0.5
    assert one(found, "future_rows").verdict in ("fine", "caution")
    assert found.robustness is not None
    assert any("P1R10" in name for name in found.robustness.settings)


def test_a_result_is_audited_with_and_without_its_parts() -> None:
    log = pl.concat([clean_world(2).train, clean_world(2).test])
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    result = tv.evaluate(parts, ["popularity", "average"], threshold=4, metrics="ndcg@5,coverage@5", interval="none")
    alone, whole = result.audit(), result.audit(parts)
    assert one(alone, "leaked_pairs").verdict == "cannot tell"
    assert one(whole, "leaked_pairs").verdict == "fine"
    assert alone.manifest["fingerprint"] == whole.manifest["fingerprint"]
    other = tv.split(log, "holdout", ratio=0.3, seed=2)
    with pytest.raises(TruevalError, match="another train part"):
        result.audit(other)


def test_a_result_with_popularity_is_compared_with_it() -> None:
    log = tv.simulate("world", users=200, items=80, ratings=5000, seed=3).log
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    options = {"metrics": "ndcg@5", "threshold": 4}
    found = tv.evaluate(parts, ["popularity", "average"], interval="none", **options).audit(parts)
    same = tv.audit(parts, ["popularity", "average"], **options)
    for own, other in zip(found["popularity_baseline"], same["popularity_baseline"], strict=True):
        assert own.figures["values"] == pytest.approx(other.figures["values"])
        assert own.verdict == other.verdict
    alone = tv.evaluate(parts, ["average", "itemknn"], interval="none", **options).audit(parts)
    assert "without the popularity baseline" in one(alone, "popularity_baseline").sentence


def test_the_audit_of_a_result_has_the_values_of_the_audit_of_its_systems() -> None:
    log = pl.concat([clean_world(2).train, clean_world(2).test])
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    systems = ["popularity", "average"]
    result = tv.evaluate(parts, systems, threshold=4, metrics="ndcg@5", interval="none")
    direct = tv.audit(parts, systems, threshold=4, metrics="ndcg@5")
    for name in ("ties_at_cut", "unjudged_items", "too_few_users"):
        assert one(result.audit(parts), name).sentence == one(direct, name).sentence


# ---- the correction ----------------------------------------------------------------------------------------------


def _drafts(*p: float) -> list[Finding | Draft]:
    def finding(q: np.ndarray) -> Finding:
        verdict = "caution" if q[0] < 0.05 else "fine"
        return Finding("ties_at_cut", "robustness", verdict, "estimate", "…", {}, "", float(q[0]))

    return [Draft(np.array([one]), finding) for one in p]


def test_holm_runs_over_all_checks_together() -> None:
    found, tests = conclude(_drafts(0.01, 0.03, 0.04, 0.5))
    assert tests == 4
    assert [round(one.p, 6) for one in found] == [0.04, 0.09, 0.09, 0.5]  # 4·0.01, 3·0.03, max(3·0.03, 2·0.04), 0.5
    assert [one.verdict for one in found] == ["caution", "fine", "fine", "fine"]


def test_facts_do_not_count_as_tests() -> None:
    fact = Finding("duplicates", "data", "wrong", "fact", "…")
    found, tests = conclude([fact, *_drafts(0.04)])
    assert tests == 1
    assert [one.verdict for one in found] == ["wrong", "caution"]


# ---- formats -----------------------------------------------------------------------------------------------------


def test_json_has_check_verdict_effect_figures_remedy(found: Audit) -> None:
    record = json.loads(found.to_json())
    assert record["verdict"] == found.verdict
    keys = {"check", "verdict", "effect", "figures", "remedy", "heading", "kind", "p", "statements"}
    assert keys == set(record["findings"][0])
    assert "NaN" not in found.to_json()


def test_tables_pages_and_text(found: Audit) -> None:
    assert found.to_polars().columns == ["check", "heading", "verdict", "kind", "effect", "remedy", "p", "accepted"]
    assert len(found.to_polars()) == len(found.findings) + len(found.views)
    assert str(found).startswith("What may be claimed: ")
    assert "audit: 0 wrong, 0 cautions" in str(found)
    assert "leaked_pairs" in found.to_markdown()
    assert r"\begin{tabular}" in found.to_latex()
    assert "leaked" in found._repr_html_()
    assert "above" in str(found.robustness)


def test_names_of_systems_are_made_visible() -> None:
    world = clean_world(1)
    recs = {"\x1b[31mred": world.recs["good"], "<b>": world.recs["poor"]}
    found = tv.audit(train=world.train, test=world.test, recs=recs, threshold=4, metrics="ndcg@5")
    assert "\x1b" not in str(found)
    assert "<b>" not in found._repr_html_()


def test_nothing_depends_on_the_order_of_rows(found: Audit) -> None:
    world = clean_world(3)
    turned = type(world)(
        world.train.reverse(), world.test.reverse(), world.unbiased.reverse(), world.users.reverse(),
        {name: run.reverse() for name, run in world.recs.items()},
    )  # fmt: skip
    assert turned.audit().to_dict() == found.to_dict()


# ---- verdicts that stop a pipeline, findings that are accepted ---------------------------------------------------


def leaky() -> dict[str, pl.DataFrame]:
    world = clean_world(1)
    return {"train": pl.concat([world.train, world.test.head(5)]), "test": world.test}


def test_raise_on() -> None:
    found = tv.audit(**leaky())
    assert found.reaches("wrong")
    assert found.reaches("caution")
    with pytest.raises(TruevalError, match="wrong"):
        found.raise_on("wrong")
    world = clean_world(1)
    clean = tv.audit(train=world.train, test=world.test)
    assert not clean.reaches("caution")
    clean.raise_on("caution")
    with pytest.raises(TruevalError, match="unknown verdict"):
        clean.raise_on("fine")


def test_an_accepted_finding_is_told_apart_and_returns_with_other_data() -> None:
    first = tv.audit(**leaky())
    accept = {"leaked_pairs": {"reason": "users buy again", "data": first.manifest["fingerprint"]}}
    accepted = tv.audit(**leaky(), accept=accept)
    assert not accepted.reaches("wrong")
    assert accepted.accepted[0].reason == "users buy again"
    assert "users buy again" in str(accepted)
    other = leaky()
    other["train"] = other["train"].head(-1)
    returned = tv.audit(**other, accept=accept)
    assert returned.reaches("wrong")
    assert "accepted for other data" in one(returned, "leaked_pairs").sentence


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ({"leaked": {"reason": "a", "data": "b"}}, "no check 'leaked'"),
        ({"leaked_pairs": "known"}, "needs the data"),
        ({"leaked_pairs": {"data": "b"}}, "needs a reason"),
        ({"leaked_pairs": {"reason": "a", "date": "b"}}, "unknown key 'date'"),
    ],
)
def test_acceptance_without_reason_or_data_is_refused(accept: dict, message: str) -> None:
    with pytest.raises(TruevalError, match=message):
        tv.audit(**leaky(), accept=accept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to audit"),
        ({"systems": ["popularity"], "test": clean_world(1).test}, "fitted on train"),
        ({"systems": ["popularity"], "recs": clean_world(1).recs, "test": clean_world(1).test}, "both given"),
        ({"parts": clean_world(1).test}, "parts of a split"),
        ({"recs": clean_world(1).recs, "test": clean_world(1).test, "design": "1R-TI-AN"}, "lists have no design"),
        ({"recs": clean_world(1).recs, "test": clean_world(1).test, "by": "group"}, "groups need a table of users"),
        ({"recs": clean_world(1).recs, "test": clean_world(1).test, "metrics": "coverage@5"}, "a value for each user"),
        ({"test": clean_world(1).test, "threshold": 9}, "no value reaches the threshold 9"),
        (
            {"test": clean_world(1).test, "unbiased": clean_world(1).test.cast({"user": pl.String})},
            "user ids are of different types",
        ),
    ],
    ids=["nothing", "no train", "both", "no parts", "design", "by", "metrics", "threshold", "unbiased"],
)
def test_what_contradicts_itself_is_refused(options: dict, message: str) -> None:
    with pytest.raises(TruevalError, match=message):
        tv.audit(**options)


def test_the_package_and_the_function_have_one_name() -> None:
    import trueval.audit.finding  # noqa: F401  # which must not put the package in the function's place

    assert callable(tv.audit)
    assert tv.audit.__name__ == "audit"
