"""What a metric can do is said in its record: other parts read it there, and decide by no name and no family."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from metric_worlds import random_world

from trueval.errors import DefinitionError
from trueval.evaluation.group_measures import looks_for
from trueval.metrics import inverse_propensity, registry
from trueval.metrics.compute import has_meaning_in_1r
from trueval.metrics.grammar import parse
from trueval.metrics.registry import FINDINGS, LOOKS_FOR, all_metrics, metric

SOURCE = Path(__file__).parents[2] / "src" / "trueval"
# Where names are the matter itself: the rules of other libraries, axioms of single metrics, a listing by family, the
# figure that sets precision against antiprecision.
BY_NAME = {
    "evaluation/compat.py", "evaluation/measurements.py", "metrics/axioms/check.py", "metrics/registry.py",
    "cli/metrics.py", "charts/false_positives.py", "report/sampled_corrections.py",
}  # fmt: skip


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place for metrics of a test: the register is as it was afterwards."""
    registry.names()
    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))


def shown(facts, k):
    return facts.listed_at(k).astype(np.float64)


def test_a_metric_has_what_its_family_has_unless_it_says_otherwise(registered):
    make = {"formula": "x", "range": (0, 1), "reference": "y"}
    metric(family="accuracy", name="as_usual", **make)(shown)
    own = {"ties": "order", "one_relevant": False, "looks_for": "judged", "transformed": False}
    metric(family="accuracy", name="otherwise", **make, **own)(shown)
    metric(family="accuracy", name="of_all", system=True, **make)(shown)
    usual, other = parse("as_usual@5"), parse("otherwise@5")
    assert (usual.metric.ties, other.metric.ties) == ("judged", "order")
    assert (has_meaning_in_1r(usual), has_meaning_in_1r(other)) == (True, False)
    assert [looks_for(spec) for spec in (usual, other, parse("of_all@5"))] == ["relevant", "judged", ""]
    assert str(parse("anti(as_usual)@5")) == "anti(as_usual)@5"
    with pytest.raises(DefinitionError, match="takes an accuracy metric"):
        parse("anti(otherwise)@5")


@pytest.mark.parametrize("wrong", [{"looks_for": "anything"}, {"finding": "a story"}])
def test_a_record_with_an_unknown_word_is_refused(registered, wrong):
    with pytest.raises(TypeError, match="must be one of"):
        metric(family="accuracy", name="odd", formula="x", range=(0, 1), reference="y", **wrong)(shown)


def test_one_relevant_item_may_depend_on_parameters():
    assert has_meaning_in_1r(parse("auc"))
    assert not has_meaning_in_1r(parse("auc[against=judged]"))
    assert not has_meaning_in_1r(parse("anti(ndcg)@5"))


@pytest.mark.parametrize("entry", [m for m in all_metrics() if m.terms is not None], ids=lambda m: m.name)
def test_plain_sums_are_those_whose_terms_are_no_mean(entry):
    spec = parse(f"snips({entry.name})" + ("" if entry.cutoff == "none" else "@5"))
    terms = inverse_propensity._terms(spec, random_world(3).facts())
    assert entry.plain_sum is not terms.mean


def test_what_the_records_say_today():
    by_field = {
        "greedy_ideal": {m.name for m in all_metrics() if m.greedy_ideal},
        "finding": {m.name: m.finding for m in all_metrics() if m.finding},
    }
    assert by_field["greedy_ideal"] == {"alpha_ndcg", "abndcg"}
    assert by_field["finding"] == {"unjudged": "never judged", "coverage": "catalogue shown"}
    assert {m.looks_for for m in all_metrics()} == set(LOOKS_FOR)
    assert set(FINDINGS) - {""} == set(by_field["finding"].values())


def test_nothing_decides_by_a_metrics_family_or_name():
    """Only its own record and parser may; elsewhere a comparison with either is a field that is missing."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            told = [ast.unparse(side) for side in sides]
            if any(text.endswith(("metric.name", "metric.family", "m.family")) for text in told):
                found.add(path.relative_to(SOURCE).as_posix())
    assert {name for name in found if not name.startswith("online/ab")} <= BY_NAME
