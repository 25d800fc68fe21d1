"""Audits of several folds or seeds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world
from scipy.stats import norm

import trueval as tv
from trueval.audit.audit import audit_repeats
from trueval.audit.finding import Draft, Finding
from trueval.audit.make_case import make_case
from trueval.audit.repeats import combine_repeats, median_p
from trueval.errors import DefinitionError


def said(p: list[float], what: str) -> Draft:
    def conclude(q: np.ndarray) -> Finding:
        verdict = "caution" if np.nanmin(q) < 0.05 else "fine"
        return Finding("ties_at_cut", "robustness", verdict, "estimate", what, {}, "", float(np.nanmin(q)))

    return Draft(np.array(p), conclude)


def test_twice_the_median_holds_its_level_however_repeats_depend() -> None:
    rng = np.random.default_rng(0)
    for same in (0.0, 0.5, 1.0):
        z = np.sqrt(same) * rng.standard_normal((1, 4000)) + np.sqrt(1 - same) * rng.standard_normal((5, 4000))
        assert np.mean(median_p(2 * norm.sf(np.abs(z))) < 0.05) <= 0.055


def test_an_alarm_takes_most_repeats() -> None:
    one = combine_repeats({f"fold {n}": [said([p], f"as in fold {n}")] for n, p in enumerate((0.001, 0.4, 0.9), 1)})
    assert isinstance(one[0], Draft)
    assert one[0].conclude(one[0].p).verdict == "fine"
    most = combine_repeats({f"fold {n}": [said([p], f"as in fold {n}")] for n, p in enumerate((0.001, 0.002, 0.9), 1)})
    assert isinstance(most[0], Draft)
    found = most[0].conclude(most[0].p)
    assert (found.verdict, found.p) == ("caution", pytest.approx(0.004))
    assert found.sentence == "as in fold 2 (fold 2; tested over all 3 repeats)"


def test_drafts_of_different_sizes_are_not_mixed() -> None:
    found = combine_repeats({"a": [said([0.01], "x")], "b": [said([0.01, 0.02], "y")], "c": [said([0.01], "x")]})
    assert [len(one.p) for one in found if isinstance(one, Draft)] == [1, 2]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    world = clean_world(1)
    return pl.concat([world.train, world.test])


def test_facts_are_counted_in_every_fold(log: pl.DataFrame) -> None:
    parts = tv.split(log, "kfold", n=3, seed=1)
    result = tv.evaluate(parts, ["popularity", "average"], metrics="ndcg@5", threshold=4)
    clean = result.audit(list(parts))
    assert clean.manifest["repeats"] == ["fold 1", "fold 2", "fold 3"]
    assert clean["leaked_pairs"][0].verdict == "fine"
    assert "estimates must hold in most" in str(clean)
    other = tv.split(log, "kfold", n=3, seed=2)
    with pytest.raises(tv.TruevalError, match="another train part"):
        result.audit([parts[0], other[1], parts[2]])


def test_a_leaking_seed_is_named(log: pl.DataFrame) -> None:
    none = dict.fromkeys(
        ("parts", "systems", "validation", "recs", "relevant_change", "unbiased", "items", "users", "only_users")
    )
    options = {
        **none, "metrics": "ndcg@5", "design": "AR-TI-AN", "threshold": 4, "population": "relevant", "missing": "zero",
        "invalid": "refuse", "ties": "random", "by": None, "min_group": 30, "columns": None, "seed": 0,
    }  # fmt: skip
    world = clean_world(1)
    cases = {
        "seed 1": make_case(train=world.train, test=world.test, **options),
        "seed 2": make_case(train=pl.concat([world.train, world.test.head(3)]), test=world.test, **options),
    }
    finding = audit_repeats(cases)["leaked_pairs"][0]
    assert finding.verdict == "wrong"
    assert finding.sentence.endswith("(seed 2; in 1 of 2 repeats)")


def test_estimates_are_those_of_most_seeds(log: pl.DataFrame) -> None:
    parts = tv.split(log, "holdout", ratio=0.3, seed=1)
    result = tv.evaluate(parts, ["popularity", "random"], metrics="ndcg@5", threshold=4, seed=[1, 2, 3])
    found = result.audit(parts)
    assert found.manifest["repeats"] == ["seed 1", "seed 2", "seed 3"]
    sentence = found["too_few_users"][0].sentence
    assert "seed" in sentence
    assert "repeats" in sentence
    with pytest.raises(DefinitionError, match="every fold or seed"):
        result.audit([parts])


def test_an_experiment_is_audited_with_its_parts(log: pl.DataFrame) -> None:
    chosen = {
        "data": {"path": log, "threshold": 4}, "split": {"seeds": [1, 2]}, "systems": {"popularity": {}, "average": {}},
        "evaluation": {"designs": ["AR-TI-AN", "1R-TI-AN"], "metrics": ["ndcg@5"]},
    }  # fmt: skip
    found = tv.run(chosen)
    audit = found.audit()
    assert audit.manifest["repeats"] == ["seed 1", "seed 2"]
    assert audit["leaked_pairs"][0].verdict == "fine"  # the parts were there
    assert found.audit("1R-TI-AN").manifest["design"] == "1R-TI-AN"
    assert "What may be claimed, and can the numbers be trusted?" in found.to_html()
