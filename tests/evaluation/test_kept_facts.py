"""From an evaluation to the facts behind it, for corrections and the bounds of 1R precision; or a reason why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.design.sampled_ranks import bias_variance
from trueval.errors import DefinitionError
from trueval.evaluation import kept_facts
from trueval.facts.one_relevant_bounds import one_relevant_bounds
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.sampling_correction import correct

SYSTEMS = ["popularity", "itemknn"]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    user, item = np.nonzero(rng.random((60, 80)) < np.linspace(0.35, 0.05, 80))
    return pl.DataFrame({"user": user, "item": item, "value": rng.integers(1, 6, len(user)).astype(float)})


@pytest.fixture(scope="module")
def parts(log) -> tv.Parts:
    return tv.split(log, "holdout", ratio=0.3)


@pytest.mark.parametrize("design", ["AR-TI-AN", "1R-TI-AN", "1R-AI-NN10", "P1R3-TI-AN"])
def test_the_facts_are_those_that_the_values_were_measured_from(parts, design):
    result = tv.evaluate(parts, SYSTEMS, design=design, metrics="rr", interval="none")
    assert list(result.facts) == SYSTEMS
    for name, facts in result.facts.items():
        own = result.per_user.filter(pl.col("system") == name)
        assert facts.label["design"] == design
        assert facts.users.decode(facts.unit_user).to_list() == own["user"].to_list()
        first = np.full(len(facts), np.inf)  # reciprocal rank of the best relevant item, straight from the ranks
        ranked = facts.relevant & (facts.rank > 0)
        np.minimum.at(first, facts.unit[ranked], facts.rank[ranked])
        np.testing.assert_allclose(own[own.columns[-1]].to_numpy(), 1 / first)


def test_from_an_evaluation_to_a_correction(parts):
    """The corrected values are those of the estimator at the ranks in the samples."""
    result = tv.evaluate(parts, SYSTEMS, design="1R-AI-NN10", metrics="ndcg@5", interval="none")
    for name in SYSTEMS:
        facts = result.facts[name]
        expected = [
            bias_variance("ndcg@5", pool=int(pool), sample=10, gamma=0.1)[rank - 1]
            for pool, rank in zip(facts.pool, facts.rank)
        ]
        np.testing.assert_allclose(correct(facts, "ndcg@5", gamma=0.1), expected)


def test_from_an_evaluation_to_the_lemma(parts):
    """1RP@n is what an evaluation under the 1R design finds; the bounds hold it."""
    many = tv.evaluate(parts, SYSTEMS, design="AR-TI-AN", metrics="precision@5", interval="none")
    alone = tv.evaluate(parts, SYSTEMS, design="1R-TI-AN", metrics="precision@5", interval="none")
    for name in SYSTEMS:
        low, value, high = one_relevant_bounds(many.facts[name], 5)
        assert value == pytest.approx(alone[name, "precision@5"].value)
        assert low <= value <= high
        own = many.per_user.filter(pl.col("system") == name)["precision@5"]
        pairs = int((parts.test.frame["value"] > 0).sum())
        assert low == pytest.approx(own.sum() / pairs)  # |U| · P@n / |PR|


def test_the_facts_say_nothing_else_when_they_are_kept(parts):
    """What metrics worked out on the way is not held."""
    facts = tv.evaluate(parts, SYSTEMS, metrics=["ndcg@10", "auc"], interval="none").facts["itemknn"]
    assert facts.memory == {}
    assert not {"hits", "unit", "best_gains", "R"} & set(vars(facts))


def test_large_facts_are_not_kept_unless_asked_for(parts, monkeypatch):
    size = kept_facts.size_of(tv.evaluate(parts, SYSTEMS, metrics="rr").facts["popularity"])
    monkeypatch.setattr(kept_facts, "LIMIT", size + size // 2)
    result = tv.evaluate(parts, SYSTEMS, metrics="rr")
    assert list(result.facts) == ["popularity"]
    with pytest.raises(DefinitionError, match=r"'itemknn' were not kept[^$]*MB[^$]*keep_facts=True"):
        result.facts["itemknn"]
    assert list(tv.evaluate(parts, SYSTEMS, metrics="rr", keep_facts=True).facts) == SYSTEMS
    nothing = tv.evaluate(parts, SYSTEMS, metrics="rr", keep_facts=False)
    assert len(nothing.facts) == 0
    with pytest.raises(DefinitionError, match=r"were not kept[^$]*keep_facts=False"):
        nothing.facts["popularity"]
    assert nothing.table().equals(result.table())


def test_the_limit_is_for_all_folds_together(log, monkeypatch):
    folds = tv.split(log, "kfold", n=3)
    whole = tv.evaluate(folds, ["popularity"], metrics="rr")
    with pytest.raises(DefinitionError, match=r'of its own[^$]*fold 1, fold 2, fold 3[^$]*repeats\["fold 1"\]'):
        _ = whole.facts
    sizes = [kept_facts.size_of(one.facts["popularity"]) for one in whole.repeats.values()]
    monkeypatch.setattr(kept_facts, "LIMIT", sum(sizes[:2]))
    some = tv.evaluate(folds, ["popularity"], metrics="rr").repeats.values()
    assert [len(one.facts) for one in some] == [1, 1, 0]


def test_names_that_are_not_there(parts):
    facts = tv.evaluate(parts, SYSTEMS, metrics="rr").facts
    with pytest.raises(DefinitionError, match="did you mean itemknn"):
        facts["itemkn"]
    assert "none" not in list(facts)


def test_where_there_are_no_facts_it_is_said_why(tmp_path: Path, parts, log):
    recs = log.select("user", "item", score=pl.col("value"))
    run = tv.evaluate_run(recs, log, metrics="rr", seen="allow")
    with pytest.raises(DefinitionError, match=r"'run' were not kept[^$]*in chunks[^$]*tv.Run"):
        run.facts["run"]
    run.save(tmp_path / "saved")
    from trueval.report.saved_results import load_result

    with pytest.raises(DefinitionError, match="read from files"):
        load_result(tmp_path / "saved").facts["run"]
    again = tv.evaluate(parts, {"mine": tv.Run(recs)}, design="AR-AI-AN", metrics="rr")  # the way that is advised
    assert isinstance(again.facts["mine"], RankingFacts)


def test_an_experiment_has_them_in_its_folder(tmp_path: Path, log):
    chosen = {
        "data": {"path": log}, "split": {"seeds": [1, 2]}, "systems": {"popularity": {}},
        "evaluation": {"designs": ["AR-TI-AN", "1R-TI-NN10"], "metrics": "rr"},
    }  # fmt: skip
    found = tv.run(chosen, tmp_path / "out")
    facts = found["1R-TI-NN10"].repeats["seed 2"].facts["popularity"]
    assert facts.one_relevant
    assert len(correct(facts, "rr")) == len(facts)
    without = tv.run(chosen)["AR-TI-AN"].repeats["seed 1"].facts
    with pytest.raises(DefinitionError, match=r"no folder[^$]*out=folder"):
        without["popularity"]


def test_both_sides_of_an_unbiased_test_have_their_own(log):
    rng = np.random.default_rng(4)
    everyone = pl.DataFrame({"user": np.repeat(np.arange(60), 3), "item": rng.integers(0, 80, 180)}).unique()
    mar = everyone.join(log, on=["user", "item"], how="anti").with_columns(value=pl.lit(5.0))
    result = tv.evaluate(tv.split(log, "unbiased", mar=mar), ["popularity"], metrics="rr", interval="none")
    true, observed = result.facts["popularity"], result.observed.facts["popularity"]
    assert len(true.item) == len(mar)
    assert len(observed.item) != len(mar)
